//===- ScheduleModulo.cpp - Overlapping iterations -------------------------===//
//
// Iterative modulo scheduling (Rau 1994): at a candidate interval place ops by priority, each at the first cycle of
// [earliest, earliest + II) in which its units are free; where there is none, force it in and take out whom it
// disturbs. When the budget of placements is used up, try another priority, then a larger interval.
//
//   load (latency 4), mul, add (carried, latency 2), one memory and one arithmetic unit
//   bounds: arithmetic 2 ops / 1 unit = 2, recurrence 2      II = 2: load 0, mul 4, add 5   (three stages)
//
// Deterministic. Where long reservations nearly fill a resource, their starts are aligned to their length, because a
// gap shorter than one op is lost. At the end ops move later where that frees registers.
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/ResourceTable.h"

#include <algorithm>
#include <queue>

namespace soliton::sched {
namespace {
constexpr int64_t kUnplaced = std::numeric_limits<int64_t>::min();
/// Below this size more effort per interval costs nothing that anyone notices.
constexpr int kSmall = 64;

/// One attempt: which op goes first, and whether long reservations are aligned.
struct Variant {
  bool align = false;
  /// 0: longest path first; otherwise longest path plus a reproducible disturbance.
  uint32_t disturb = 0;
  bool recurrencesFirst = false;
};

class Attempt {
public:
  Attempt(const Problem &problem, const Graph &graph, int interval)
      : problem(problem), graph(graph), interval(interval), table(problem, interval) {
    computeHeights();
    computeGrain();
  }

  bool possible() const { return table.allPossible(); }
  bool alignable() const { return hasGrain; }

  /// Times of all ops, or nothing within `budget` placements.
  std::optional<std::vector<int64_t>> run(const Variant &variant, int64_t budget) {
    start(variant);
    while (!queue.empty()) {
      int op = queue.top().op;
      queue.pop();
      if (time[op] != kUnplaced)
        continue;
      if (budget-- == 0)
        return std::nullopt;
      placeOne(op, variant.align);
    }
    return time;
  }

private:
  struct Item {
    int64_t priority;
    int op;
    bool operator<(const Item &other) const {
      return priority != other.priority ? priority < other.priority : op > other.op;
    }
  };

  void computeHeights() {
    height.assign(graph.numOps(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (int op = graph.numOps() - 1; op >= 0; --op)
        for (const Edge &edge : graph.from(op)) {
          int64_t through = height[edge.to] + edge.latency - int64_t{edge.distance} * interval;
          if (through > height[op]) {
            height[op] = through;
            changed = true;
          }
        }
    }
  }

  /// The length to which starts on a nearly full resource are aligned; 1: free.
  void computeGrain() {
    std::vector<int64_t> busy(problem.resources.size(), 0);
    std::vector<int> length(problem.resources.size(), 0);
    for (const Operation &op : problem.operations)
      for (const Reservation &use : op.reservations) {
        int cycles = problem.busyCycles(op, use);
        busy[use.resource] += int64_t{cycles} * use.units;
        length[use.resource] = length[use.resource] == 0 || length[use.resource] == cycles ? cycles : 1;
      }
    grain.assign(graph.numOps(), 1);
    anchorOf.assign(graph.numOps(), -1);
    for (int op = 0; op < graph.numOps(); ++op)
      for (const Reservation &use : problem.operations[op].reservations) {
        bool full = busy[use.resource] * 4 > int64_t{interval} * problem.resources[use.resource].units * 3;
        if (full && length[use.resource] > grain[op]) {
          grain[op] = length[use.resource];
          anchorOf[op] = use.resource;
          hasGrain = true;
        }
      }
  }

  void start(const Variant &variant) {
    table = ResourceTable(problem, interval);
    time.assign(graph.numOps(), kUnplaced);
    last.assign(graph.numOps(), kUnplaced);
    anchor.assign(problem.resources.size(), kUnplaced);
    placedOn.assign(problem.resources.size(), {});
    priority = height;
    uint32_t state = variant.disturb;
    for (int op = 0; op < graph.numOps() && variant.disturb != 0; ++op) {
      state = state * 1664525u + 1013904223u;
      priority[op] += (state >> 16) % static_cast<uint32_t>(interval + 2);
    }
    if (variant.recurrencesFirst)
      for (const Edge &edge : graph.edges())
        if (edge.distance > 0)
          for (int op : {edge.from, edge.to})
            priority[op] = std::max(priority[op], height[op] + (int64_t{1} << 40));
    queue = {};
    for (int op = 0; op < graph.numOps(); ++op)
      queue.push({priority[op], op});
  }

  int64_t earliest(int op) const {
    int64_t bound = 0;
    for (const Edge &edge : graph.to(op))
      if (time[edge.from] != kUnplaced && edge.from != op)
        bound = std::max(bound, time[edge.from] + edge.latency - int64_t{edge.distance} * interval);
    return bound;
  }

  void placeOne(int op, bool align) {
    int64_t from = earliest(op);
    std::optional<int64_t> slot = align ? alignedFit(op, from) : table.firstFit(op, from);
    bool forced = !slot.has_value();
    // Coming back to where it was thrown out would repeat the same dispute.
    int64_t at = slot.value_or(last[op] == kUnplaced ? from : std::max(from, last[op] + 1));
    if (forced)
      evictCollisions(op, at);
    put(op, at);
    evictSuccessors(op);
  }

  std::optional<int64_t> alignedFit(int op, int64_t from) const {
    if (grain[op] <= 1 || anchor[anchorOf[op]] == kUnplaced)
      return table.firstFit(op, from);
    for (int64_t at = from; at < from + interval;) {
      std::optional<int64_t> slot = table.firstFit(op, at);
      if (!slot || *slot >= from + interval)
        return std::nullopt;
      int64_t phase = ((*slot - anchor[anchorOf[op]]) % interval + interval) % interval;
      if (phase % grain[op] == 0)
        return slot;
      at = *slot + std::min<int64_t>(grain[op] - phase % grain[op], interval - phase);
    }
    return std::nullopt;
  }

  void put(int op, int64_t at) {
    time[op] = last[op] = at;
    table.place(op, at);
    for (const Reservation &use : problem.operations[op].reservations)
      placedOn[use.resource].push_back(op);
    if (anchorOf[op] >= 0 && anchor[anchorOf[op]] == kUnplaced)
      anchor[anchorOf[op]] = at;
  }

  void takeOut(int op) {
    table.remove(op, time[op]);
    time[op] = kUnplaced;
    for (const Reservation &use : problem.operations[op].reservations)
      std::erase(placedOn[use.resource], op);
    queue.push({priority[op], op});
  }

  void evictCollisions(int op, int64_t at) {
    while (!table.fits(op, at)) {
      auto [resource, cycle] = *table.conflict(op, at);
      int victim = -1;
      for (int other : placedOn[resource])
        if (table.collide(op, at, other, time[other]) && (victim < 0 || priority[other] < priority[victim]))
          victim = other;
      takeOut(victim);
    }
  }

  void evictSuccessors(int op) {
    for (const Edge &edge : graph.from(op))
      if (edge.to != op && time[edge.to] != kUnplaced &&
          time[edge.to] < time[op] + edge.latency - int64_t{edge.distance} * interval)
        takeOut(edge.to);
  }

  const Problem &problem;
  const Graph &graph;
  int interval;
  ResourceTable table;
  std::vector<int64_t> height, priority, time, last, anchor;
  std::vector<int> grain, anchorOf;
  bool hasGrain = false;
  std::vector<std::vector<int>> placedOn;
  std::priority_queue<Item> queue;
};

/// Moves ops later where the registers they write are more than those whose life they end.
class Sink {
public:
  Sink(const Problem &problem, const Graph &graph, int interval, std::vector<int64_t> &time)
      : problem(problem), graph(graph), interval(interval), time(time), table(problem, interval) {
    for (int op = 0; op < graph.numOps(); ++op)
      table.place(op, time[op]);
  }

  void run() {
    std::vector<int> order(graph.numOps());
    for (int op = 0; op < graph.numOps(); ++op)
      order[op] = op;
    std::sort(order.begin(), order.end(), [&](int a, int b) { return time[a] != time[b] ? time[a] > time[b] : a < b; });
    for (int op : order)
      if (gain(op) > 0)
        sink(op);
  }

private:
  static constexpr int kTries = 128;

  int64_t gain(int op) const {
    int64_t value = 0;
    for (const Access &access : problem.operations[op].accesses)
      if (problem.regions[access.region].space == Space::Register && problem.regions[access.region].rotating)
        value += (access.write ? 1 : -1) * problem.regions[access.region].size;
    return value;
  }

  void sink(int op) {
    int64_t latest = kUnplaced;
    for (const Edge &edge : graph.from(op)) {
      if (edge.to == op)
        continue;
      int64_t bound = time[edge.to] - edge.latency + int64_t{edge.distance} * interval;
      latest = latest == kUnplaced ? bound : std::min(latest, bound);
    }
    if (latest == kUnplaced || latest <= time[op])
      return;
    table.remove(op, time[op]);
    if (std::optional<int64_t> slot = table.lastFit(op, time[op] + 1, latest, kTries))
      time[op] = *slot;
    table.place(op, time[op]);
  }

  const Problem &problem;
  const Graph &graph;
  int interval;
  std::vector<int64_t> &time;
  ResourceTable table;
};

class ModuloScheduler {
public:
  ModuloScheduler(const Problem &problem, const ScheduleOptions &options) : problem(problem), options(options) {}

  Scheduled run() {
    Scheduled result;
    std::vector<Dependence> dependences;
    if (!prepare(problem, dependences, result))
      return result;
    Graph graph(problem.numOps(), dependences);
    // Without overlap there is always a schedule; nothing longer is worth trying.
    Scheduled sequential = scheduleList(problem);
    int64_t limit = sequential.schedule ? sequential.schedule->interval
                                        : std::min<int64_t>(sequentialLength(problem), kMaxInterval);
    if (options.maxInterval > 0)
      limit = std::min(limit, options.maxInterval + 1);
    int interval = std::max(result.bounds.lower(), options.minInterval);
    std::vector<Diagnostic> reasons = sequential.diagnostics;
    for (int tried = 0; interval < limit && tried < kMaxTried; ++tried) {
      if (std::optional<Schedule> schedule = tryInterval(graph, interval))
        if (accept(problem, std::move(*schedule), result))
          return result;
      if (!result.diagnostics.empty())
        reasons = result.diagnostics;
      // One by one near the bound, then faster: far from it a cycle more or less is not worth a search.
      interval += tried < 16 ? 1 : 1 + interval / 16;
    }
    fallBack(sequential, std::move(reasons), result);
    return result;
  }

private:
  static constexpr int kMaxTried = 256;

  std::optional<Schedule> tryInterval(const Graph &graph, int interval) {
    Attempt attempt(problem, graph, interval);
    if (!attempt.possible())
      return std::nullopt;
    int count = problem.numOps();
    int ratio = options.budgetRatio > 0 ? options.budgetRatio : count <= kSmall ? 40 : 6;
    for (const Variant &variant : variants(attempt.alignable()))
      if (std::optional<std::vector<int64_t>> time = attempt.run(variant, int64_t{ratio} * std::max(count, 1))) {
        Sink(problem, graph, interval, *time).run();
        return fromTimes("modulo", interval, *time);
      }
    return std::nullopt;
  }

  std::vector<Variant> variants(bool alignable) const {
    std::vector<Variant> list;
    if (alignable)
      list.push_back({.align = true});
    list.push_back({});
    if (problem.numOps() > kSmall)
      return list;
    list.push_back({.recurrencesFirst = true});
    for (uint32_t seed = 1; seed <= 6; ++seed)
      list.push_back({.align = alignable && seed % 2 == 0, .disturb = seed * 7919u, .recurrencesFirst = seed % 3 == 0});
    return list;
  }

  void fallBack(Scheduled &sequential, std::vector<Diagnostic> reasons, Scheduled &result) {
    if (sequential.schedule) {
      result.schedule = std::move(sequential.schedule);
      result.schedule->algorithm = "modulo";
      result.diagnostics = sequential.diagnostics;
      return;
    }
    result.schedule.reset();
    result.diagnostics = std::move(reasons);
  }

  const Problem &problem;
  const ScheduleOptions &options;
};
} // namespace

Scheduled scheduleModulo(const Problem &problem, const ScheduleOptions &options) {
  return ModuloScheduler(problem, options).run();
}

} // namespace soliton::sched
