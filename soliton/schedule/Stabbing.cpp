#include "soliton/schedule/Stabbing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace soliton::sched {
namespace {
class Stabber {
public:
  explicit Stabber(const StabbingProblem &input) : input(input), size(input.slots) {
    std::vector<Interval> sorted = input.intervals;
    std::sort(sorted.begin(), sorted.end(),
              [](const Interval &a, const Interval &b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
    // Of equal intervals the largest demand counts.
    for (const Interval &interval : sorted) {
      if (intervals.empty() || intervals.back().begin != interval.begin || intervals.back().end != interval.end) {
        intervals.push_back(interval);
        continue;
      }
      intervals.back().demand = std::max(intervals.back().demand, interval.demand);
      intervals.back().weight = std::max(intervals.back().weight, interval.weight);
    }
    findTight();
  }

  std::optional<std::vector<int>> run() {
    if (size == 0)
      return intervals.empty() ? std::optional(std::vector<int>{}) : std::nullopt;
    int most = std::accumulate(input.capacity.begin(), input.capacity.end(), 0);
    for (int total = lowerBound(); total <= most; ++total)
      if (std::optional<std::vector<int>> points = solve(total, -1))
        return slide(best(total, *points));
    return std::nullopt;
  }

private:
  /// An interval that holds another one of at least its demand is hit whenever that one is, in this lap or another.
  void findTight() {
    int least = std::numeric_limits<int>::max();
    std::map<int, int> earliestEnd; // by demand: of the intervals that begin later
    for (auto it = intervals.rbegin(); it != intervals.rend(); ++it) {
      bool implied = false;
      for (auto inner = earliestEnd.lower_bound(it->demand); inner != earliestEnd.end(); ++inner)
        implied |= inner->second <= it->end;
      if (!implied)
        tight.push_back(*it);
      int &end = earliestEnd.try_emplace(it->demand, least).first->second;
      end = std::min(end, it->end);
    }
    std::reverse(tight.begin(), tight.end());
  }

  /// What one lap needs at least, looking at no interval that leaves it.
  int lowerBound() const {
    std::vector<int> before(size + 1, 0);
    std::vector<std::vector<const Interval *>> endingAt(size);
    for (const Interval &interval : tight)
      if (interval.end < size)
        endingAt[interval.end].push_back(&interval);
    for (int i = 0; i < size; ++i) {
      before[i + 1] = before[i] + input.fixed[i];
      for (const Interval *interval : endingAt[i])
        before[i + 1] = std::max(before[i + 1], before[interval->begin] + interval->demand);
    }
    return before[size];
  }

  /// Points per slot with `total` in all and one at `forced`, or nothing.
  std::optional<std::vector<int>> solve(int total, int forced) const {
    std::vector<int> sum(size + 1, 0);
    auto raise = [&](int node, int value, bool &changed) {
      if (value > sum[node]) {
        sum[node] = value;
        changed = true;
      }
    };
    // The least sums; if the first, which is 0 by definition, must rise there is no solution.
    for (bool changed = true; changed;) {
      changed = false;
      for (int i = 0; i < size; ++i)
        raise(i + 1, sum[i] + std::max(input.fixed[i], i == forced ? 1 : 0), changed);
      raise(size, total, changed);
      for (const Interval &interval : tight) {
        int laps = (interval.end + 1) / size, node = (interval.end + 1) % size;
        int value = sum[interval.begin] + interval.demand - laps * total;
        // The end of a lap is a node of its own.
        if (node == 0)
          raise(size, value + total, changed);
        else
          raise(node, value, changed);
      }
      for (int i = size; i > 0; --i)
        raise(i - 1, sum[i] - input.capacity[i - 1], changed);
      if (sum[0] > 0 || sum[size] > total)
        return std::nullopt;
    }
    std::vector<int> points(size);
    for (int i = 0; i < size; ++i)
      points[i] = sum[i + 1] - sum[i];
    return points;
  }

  /// The best of the solutions that have a point at the right end of an interval inside the shortest one: moved to the
  /// right as far as it goes, every solution is one of them.
  std::vector<int> best(int total, std::vector<int> chosen) const {
    const Interval *shortest = nullptr;
    for (const Interval &interval : intervals)
      if (!shortest || interval.end - interval.begin < shortest->end - shortest->begin)
        shortest = &interval;
    if (!shortest)
      return chosen;
    std::set<int> ends;
    for (const Interval &interval : intervals)
      for (int lap : {-size, 0, size})
        if (int end = interval.end % size + (shortest->begin / size) * size + lap;
            end >= shortest->begin && end <= shortest->end)
          ends.insert(end % size);
    auto score = scoreOf(chosen);
    for (int end : ends)
      if (input.capacity[end] > 0)
        if (std::optional<std::vector<int>> points = solve(total, end))
          if (auto other = scoreOf(*points); other < score) {
            score = other;
            chosen = *points;
          }
    return chosen;
  }

  /// Does every interval have the points that it demands?
  bool satisfies(const std::vector<int> &points) const {
    std::vector<int> before(2 * size + 1, 0);
    for (int i = 0; i < 2 * size; ++i)
      before[i + 1] = before[i] + points[i % size];
    return std::all_of(tight.begin(), tight.end(), [&](const Interval &interval) {
      int laps = (interval.end - interval.begin) / size, end = interval.end - laps * size;
      int first = interval.begin % size, last = end - (interval.begin - first);
      return before[last + 1] - before[first] + laps * before[size] >= interval.demand;
    });
  }

  /// Solutions above have points at right ends only. A point that may lie elsewhere moves to the cheapest such slot,
  /// the nearest one on its left where several are.
  std::vector<int> slide(std::vector<int> points) const {
    if (input.cost.empty())
      return points;
    for (int at = 0; at < size; ++at) {
      if (points[at] <= input.fixed[at])
        continue;
      int best = at;
      for (int step = 1; step < size; ++step) {
        int slot = (at - step + size) % size;
        if (input.cost[slot] >= input.cost[best] || points[slot] >= input.capacity[slot])
          continue;
        std::vector<int> moved = points;
        --moved[at];
        ++moved[slot];
        if (satisfies(moved))
          best = slot;
      }
      --points[at];
      ++points[best];
    }
    return points;
  }

  std::tuple<int64_t, int64_t, std::vector<int>> scoreOf(const std::vector<int> &points) const {
    int64_t cost = 0, slack = 0;
    std::vector<int> slots;
    for (int i = 0; i < size; ++i)
      if (points[i] > 0) {
        cost += input.cost.empty() ? 0 : int64_t{points[i]} * input.cost[i];
        slots.push_back(i);
      }
    // By slot: how far back the last point lies, itself included.
    std::vector<int> back(size, size);
    for (int i = 0, steps = size; i < 2 * size; ++i) {
      steps = points[i % size] > 0 ? 0 : steps + 1;
      back[i % size] = std::min(steps, size);
    }
    for (const Interval &interval : intervals) {
      int at = std::max(interval.begin, interval.end - back[interval.end % size]);
      if (slots.empty())
        at = interval.begin;
      slack += int64_t{interval.weight} * (at - interval.begin);
    }
    return {cost, -slack, slots};
  }

  const StabbingProblem &input;
  int size;
  std::vector<Interval> intervals;
  /// Those that decide whether points are enough.
  std::vector<Interval> tight;
};
} // namespace

std::optional<std::vector<int>> stabIntervals(const StabbingProblem &problem) {
  return Stabber(problem).run();
}

} // namespace soliton::sched
