//===- ScheduleExact.cpp - The shortest interval, proven -------------------===//
//
// At each interval from the lower bound on, a depth-first search over the start cycles (modulo II) of the ops that
// compete for units. Everything else follows: with those cycles fixed, times are the least solution of the dependences
// in which fixed ops round up to their cycle, and if there is none a cycle of dependences says so.
//
//   two ops of two cycles each on one unit, a -> b -> a with latencies 1 + 2, distance 1:  bounds 4 and 3, II = 4
//
// A search that ends without a schedule leaves its tree as a refutation (Certificate.h). One that runs out of budget
// proves nothing, and the bound stays where it was. The budget counts steps, never time: every machine gives the same
// answer. The proof is about dependences and units; limits on registers and
// shared memory may force a longer interval, which is then said not to be proven.
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Certificate.h"
#include "soliton/schedule/ResourceTable.h"

#include <algorithm>
#include <tuple>

namespace soliton::sched {
namespace {
/// What a search pays: a step is a relaxed dependence, a probe of the units costs as much as several.
constexpr int64_t kProbe = 8, kCellsPerStep = 8;

enum class Outcome : uint8_t { Found, Refuted, OutOfBudget };

class IntervalSearch {
public:
  IntervalSearch(const Problem &problem, const Graph &graph, int interval, int64_t &budget)
      : problem(problem), graph(graph), interval(interval), budget(budget), table(problem, interval),
        row(graph.numOps(), -1) {
    proof.interval = interval;
    chooseOps();
    budget -= int64_t{interval} * static_cast<int64_t>(problem.resources.size()) / kCellsPerStep + graph.numOps();
  }

  Outcome run() {
    State state{std::vector<int64_t>(graph.numOps(), 0), std::vector<int>(graph.numOps(), -1)};
    for (int op = 0; op < graph.numOps(); ++op)
      if (!table.possible(op)) {
        proof.steps.push_back({ProofStep::Kind::Split, op, 0, {}});
        proof.steps.push_back(selfOverlap(op));
        return Outcome::Refuted;
      }
    if (std::vector<int> cycle; !settle(state, cycle))
      return Outcome::OutOfBudget;
    return descend(state, 0);
  }

  std::vector<int64_t> times;
  Refutation proof;

private:
  struct State {
    std::vector<int64_t> time;
    std::vector<int> parent;
  };

  /// Ops that can never be in each other's way need no decision.
  void chooseOps() {
    std::vector<int64_t> demand(problem.resources.size(), 0);
    std::vector<int64_t> busy(graph.numOps(), 0);
    for (int op = 0; op < graph.numOps(); ++op)
      for (const Reservation &use : problem.operations[op].reservations) {
        int length = problem.busyCycles(problem.operations[op], use);
        demand[use.resource] += int64_t{use.units} * ((length + interval - 1) / interval);
        busy[op] += int64_t{length} * use.units;
      }
    std::vector<int> carried(graph.numOps(), 0);
    for (const Edge &edge : graph.edges())
      if (edge.distance > 0)
        ++carried[edge.from], ++carried[edge.to];
    for (int op = 0; op < graph.numOps(); ++op)
      for (const Reservation &use : problem.operations[op].reservations)
        if (demand[use.resource] > problem.resources[use.resource].units) {
          open.push_back(op);
          break;
        }
    std::sort(open.begin(), open.end(), [&](int a, int b) {
      return std::tuple(-busy[a], -carried[a], a) < std::tuple(-busy[b], -carried[b], b);
    });
  }

  Outcome descend(const State &state, size_t depth) {
    if (depth == open.size()) {
      times = state.time;
      return Outcome::Found;
    }
    int op = pick(depth);
    proof.steps.push_back({ProofStep::Kind::Split, op, 0, {}});
    int rows = depth == 0 ? 1 : interval;
    for (int at = 0; at < rows; ++at) {
      budget -= kProbe;
      if (budget <= 0)
        return Outcome::OutOfBudget;
      if (std::optional<std::pair<int, int>> conflict = table.conflict(op, at)) {
        proof.steps.push_back({ProofStep::Kind::Units, conflict->first, conflict->second, {}});
        continue;
      }
      row[op] = at;
      State next = state;
      budget -= graph.numOps() / kCellsPerStep;
      next.time[op] = roundUp(op, next.time[op]);
      std::vector<int> cycle;
      if (!settle(next, cycle)) {
        row[op] = -1;
        if (cycle.empty())
          return Outcome::OutOfBudget;
        proof.steps.push_back(contradiction(cycle));
        continue;
      }
      table.place(op, at);
      Outcome outcome = descend(next, depth + 1);
      table.remove(op, at);
      row[op] = -1;
      if (outcome != Outcome::Refuted)
        return outcome;
    }
    return Outcome::Refuted;
  }

  /// The undecided op with the fewest free cycles goes next.
  int pick(size_t depth) {
    size_t best = depth;
    int fewest = interval + 1;
    for (size_t i = depth; i < open.size() && depth > 0; ++i) {
      int free = 0, at = 0;
      for (; at < interval && free < fewest && budget > 0; ++at)
        free += table.fits(open[i], at);
      budget -= at * kProbe;
      if (free < fewest) {
        fewest = free;
        best = i;
      }
    }
    // Rotating instead of swapping keeps the order of the rest.
    std::rotate(open.begin() + depth, open.begin() + best, open.begin() + best + 1);
    return open[depth];
  }

  int64_t roundUp(int op, int64_t time) const {
    if (row[op] < 0)
      return time;
    return time + (((row[op] - time) % interval) + interval) % interval;
  }

  /// Least times under the dependences with fixed rows; false with the cycle that forbids them.
  bool settle(State &state, std::vector<int> &cycle) const {
    std::span<const Edge> edges = graph.edges();
    for (int sweep = 0; sweep < kMostSweeps && budget > 0; ++sweep) {
      bool changed = false;
      budget -= static_cast<int64_t>(edges.size()) + graph.numOps();
      for (size_t e = 0; e < edges.size(); ++e) {
        const Edge &edge = edges[e];
        int64_t earliest = roundUp(edge.to, state.time[edge.from] + edge.latency - int64_t{edge.distance} * interval);
        if (earliest <= state.time[edge.to])
          continue;
        if (edge.from == edge.to) {
          cycle = {static_cast<int>(e)};
          return false;
        }
        state.time[edge.to] = earliest;
        state.parent[edge.to] = static_cast<int>(e);
        changed = true;
      }
      if (!changed)
        return true;
      if (findCycle(state, cycle))
        return false;
    }
    return false;
  }

  /// A cycle of parents that really comes back later than it left.
  bool findCycle(const State &state, std::vector<int> &cycle) const {
    std::vector<int> mark(graph.numOps(), -1);
    for (int start = 0; start < graph.numOps(); ++start) {
      int at = start;
      while (at >= 0 && mark[at] < 0) {
        mark[at] = start;
        at = state.parent[at] < 0 ? -1 : graph.edges()[state.parent[at]].from;
      }
      if (at < 0 || mark[at] != start)
        continue;
      cycle.clear();
      int walk = at;
      do {
        cycle.push_back(state.parent[walk]);
        walk = graph.edges()[state.parent[walk]].from;
      } while (walk != at);
      std::reverse(cycle.begin(), cycle.end());
      if (contradicts(cycle))
        return true;
      cycle.clear();
    }
    return false;
  }

  bool contradicts(const std::vector<int> &cycle) const {
    size_t first = 0;
    while (first < cycle.size() && row[graph.edges()[cycle[first]].from] < 0)
      ++first;
    int64_t begin = first < cycle.size() ? row[graph.edges()[cycle[first]].from] : 0, time = begin;
    for (size_t i = 0; i < cycle.size(); ++i) {
      const Edge &edge = graph.edges()[cycle[(first + i) % cycle.size()]];
      time = roundUp(edge.to, time + edge.latency - int64_t{edge.distance} * interval);
    }
    return time > begin;
  }

  ProofStep contradiction(const std::vector<int> &cycle) const {
    ProofStep step{ProofStep::Kind::Cycle, 0, 0, {}};
    for (int e : cycle)
      step.hops.push_back({graph.edges()[e].from, graph.edges()[e].to, graph.edges()[e].distance});
    return step;
  }

  ProofStep selfOverlap(int op) const {
    for (size_t r = 0; r < problem.resources.size(); ++r) {
      std::vector<int> used(interval, 0);
      for (const Reservation &use : problem.operations[op].reservations)
        if (use.resource == static_cast<int>(r))
          for (int i = 0; i < problem.busyCycles(problem.operations[op], use); ++i)
            used[(use.start + i) % interval] += use.units;
      for (int cycle = 0; cycle < interval; ++cycle)
        if (used[cycle] > problem.resources[r].units)
          return {ProofStep::Kind::Units, static_cast<int>(r), cycle, {}};
    }
    return {};
  }

  static constexpr int kMostSweeps = 4096;

  const Problem &problem;
  const Graph &graph;
  int interval;
  /// Steps that are left, of this and all further searches.
  int64_t &budget;
  ResourceTable table;
  std::vector<int> row;
  std::vector<int> open;
};

Certificate certify(const Problem &problem, std::span<const Dependence> dependences, const Bounds &bounds,
                    const Schedule &schedule, int bound, std::vector<Refutation> refutations) {
  Certificate certificate;
  certificate.interval = schedule.interval;
  certificate.bound = bound;
  for (int op = 0; op < problem.numOps(); ++op)
    certificate.start.push_back(schedule.time(op));
  certificate.boundResource = bounds.resourceIndex;
  certificate.resourceBound = bounds.resource;
  for (int index : bounds.cycle)
    certificate.boundCycle.push_back({dependences[index].from, dependences[index].to, dependences[index].distance});
  certificate.recurrenceBound = bounds.recurrence;
  certificate.refutations = std::move(refutations);
  return certificate;
}
} // namespace

Scheduled scheduleExact(const Problem &problem, const ScheduleOptions &options) {
  Scheduled result;
  std::vector<Dependence> dependences;
  if (!prepare(problem, dependences, result))
    return result;
  Graph graph(problem.numOps(), dependences);
  Scheduled heuristic = scheduleModulo(problem, options);
  int limit = heuristic.schedule ? heuristic.schedule->interval : kMaxInterval;
  std::vector<Refutation> refutations;
  bool proving = true;
  int64_t budget = options.exactBudget;
  for (int interval = result.bounds.lower(); interval < limit && !result.schedule && budget > 0; ++interval) {
    IntervalSearch search(problem, graph, interval, budget);
    Outcome outcome = search.run();
    if (outcome == Outcome::Found && interval >= options.minInterval)
      accept(problem, fromTimes("exact", interval, search.times), result);
    if (outcome == Outcome::Refuted && proving) {
      refutations.push_back(std::move(search.proof));
      result.provenBound = interval + 1;
    }
    proving &= outcome == Outcome::Refuted;
    if (!proving && interval > result.provenBound + 64)
      break;
  }
  if (!result.schedule && heuristic.schedule) {
    result.schedule = std::move(heuristic.schedule);
    result.schedule->algorithm = "exact";
    result.diagnostics = heuristic.diagnostics;
  }
  if (result.schedule)
    result.certificate = toString(
        certify(problem, dependences, result.bounds, *result.schedule, result.provenBound, std::move(refutations)));
  else if (result.diagnostics.empty())
    result.diagnostics = heuristic.diagnostics;
  return result;
}

} // namespace soliton::sched
