//===- ScheduleList.cpp - One iteration, as tight as it gets ---------------===//
//
// List scheduling without overlap of iterations: ops in the order of their distance to the end (longest latency path
// first), each at the earliest cycle that its operands and the units allow.
//
//   load 0..100, mul (needs load) 100, store (needs mul) 104     interval 105: the next iteration starts after it
//
// The interval is the last issue + 1, or more where the next iteration must wait for a latency or a unit.
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/ResourceTable.h"

#include <algorithm>
#include <queue>

namespace soliton::sched {
namespace {
/// Longest latency path inside the iteration that starts at each op.
std::vector<int64_t> heights(const Graph &graph, const std::vector<int> &order) {
  std::vector<int64_t> height(graph.numOps(), 0);
  for (auto it = order.rbegin(); it != order.rend(); ++it)
    for (const Edge &edge : graph.from(*it))
      if (edge.distance <= 0)
        height[*it] = std::max(height[*it], height[edge.to] + edge.latency);
  return height;
}

std::vector<int> orderOf(const Graph &graph) {
  std::vector<int> ranks = topologicalRanks(graph), order(ranks.size());
  for (size_t op = 0; op < ranks.size(); ++op)
    order[ranks[op]] = static_cast<int>(op);
  return order;
}

std::vector<int64_t> place(const Problem &problem, const Graph &graph, int length) {
  std::vector<int> order = orderOf(graph);
  std::vector<int64_t> height = heights(graph, order), time(graph.numOps(), 0);
  std::vector<int> pending(graph.numOps(), 0);
  for (const Edge &edge : graph.edges())
    pending[edge.to] += edge.distance <= 0;
  using Item = std::pair<int64_t, int>;
  std::priority_queue<Item> ready;
  for (int op = 0; op < graph.numOps(); ++op)
    if (pending[op] == 0)
      ready.emplace(height[op], -op);
  ResourceTable table(problem, length);
  while (!ready.empty()) {
    int op = -ready.top().second;
    ready.pop();
    // Ops are not placed in order of time, so a long reservation may run past the end of a horizon that others left.
    time[op] = table.firstFit(op, time[op]).value_or(time[op]);
    table.place(op, time[op]);
    for (const Edge &edge : graph.from(op)) {
      if (edge.distance > 0)
        continue;
      time[edge.to] = std::max(time[edge.to], time[op] + edge.latency);
      if (--pending[edge.to] == 0)
        ready.emplace(height[edge.to], -edge.to);
    }
  }
  return time;
}

/// The shortest interval at which the next iteration may follow: issue span, carried latencies, units still busy.
int shortestInterval(const Problem &problem, const Graph &graph, const std::vector<int64_t> &time, int64_t limit) {
  int64_t interval = 1;
  for (int64_t start : time)
    interval = std::max(interval, start + 1);
  for (const Edge &edge : graph.edges())
    if (edge.distance > 0) {
      int64_t need = time[edge.from] + edge.latency - time[edge.to];
      interval = std::max(interval, (need + edge.distance - 1) / edge.distance);
    }
  for (; interval < limit; ++interval) {
    ResourceTable table(problem, static_cast<int>(interval));
    bool fits = table.allPossible();
    for (int op = 0; op < problem.numOps() && fits; ++op) {
      fits = table.fits(op, time[op]);
      table.place(op, time[op]);
    }
    if (fits)
      break;
  }
  return static_cast<int>(interval);
}
} // namespace

Scheduled scheduleList(const Problem &problem) {
  Scheduled result;
  std::vector<Dependence> dependences;
  if (!prepare(problem, dependences, result))
    return result;
  Graph graph(problem.numOps(), dependences);
  int64_t length = sequentialLength(problem);
  if (length > kMaxInterval) {
    result.diagnostics.push_back({Severity::error,
                                  DiagId::ScheduleInfeasible,
                                  {},
                                  "one iteration of `" + problem.loop + "` takes more than " +
                                      std::to_string(kMaxInterval) + " cycles, more than the model counts",
                                  "check the latencies",
                                  {}});
    return result;
  }
  std::vector<int64_t> time = place(problem, graph, static_cast<int>(length));
  int interval = shortestInterval(problem, graph, time, length);
  Schedule schedule = emptySchedule(problem, "list", interval, Timing::Cycles);
  for (int op = 0; op < problem.numOps(); ++op)
    schedule.slots[op] = {0, static_cast<int>(time[op]), 0, 0};
  accept(problem, std::move(schedule), result);
  return result;
}

} // namespace soliton::sched
