#include "soliton/schedule/Bounds.h"

#include <algorithm>

namespace soliton::sched {
namespace {
int64_t ceilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

void boundByResources(const Problem &problem, Bounds &bounds) {
  std::vector<int64_t> busy(problem.resources.size(), 0);
  for (const Operation &op : problem.operations)
    for (const Reservation &use : op.reservations)
      busy[use.resource] += int64_t{problem.busyCycles(op, use)} * use.units;
  for (size_t r = 0; r < busy.size(); ++r) {
    int64_t need = ceilDiv(busy[r], problem.resources[r].units);
    if (need > bounds.resource) {
      bounds.resource = static_cast<int>(std::min<int64_t>(need, kMaxInterval));
      bounds.resourceIndex = static_cast<int>(r);
    }
  }
}

/// The cycle of parent edges through `op`, in forward order.
std::vector<int> collectCycle(const Graph &graph, const std::vector<int> &parent, int op) {
  std::vector<int> cycle;
  int at = op;
  do {
    cycle.push_back(parent[at]);
    at = graph.edges()[parent[at]].from;
  } while (at != op);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

/// An op on a cycle of the parent graph; -1 if it is a forest.
int onParentCycle(const Graph &graph, const std::vector<int> &parent) {
  std::vector<int> mark(parent.size(), -1);
  for (size_t start = 0; start < parent.size(); ++start) {
    int at = static_cast<int>(start);
    while (at >= 0 && mark[at] < 0) {
      mark[at] = static_cast<int>(start);
      at = parent[at] < 0 ? -1 : graph.edges()[parent[at]].from;
    }
    if (at >= 0 && mark[at] == static_cast<int>(start))
      return at;
  }
  return -1;
}
} // namespace

std::vector<int> findPositiveCycle(const Graph &graph, int interval, std::vector<int64_t> &times) {
  times.assign(graph.numOps(), 0);
  std::vector<int> parent(graph.numOps(), -1);
  std::span<const Edge> edges = graph.edges();
  // Edges are sorted by source op, which is nearly topological: one sweep settles everything inside an iteration.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t e = 0; e < edges.size(); ++e) {
      const Edge &edge = edges[e];
      int64_t earliest = times[edge.from] + edge.latency - int64_t{edge.distance} * interval;
      if (earliest <= times[edge.to])
        continue;
      // A loop of one op never becomes a parent cycle by relaxation alone.
      if (edge.from == edge.to)
        return {static_cast<int>(e)};
      times[edge.to] = earliest;
      parent[edge.to] = static_cast<int>(e);
      changed = true;
    }
    if (!changed)
      break;
    if (int op = onParentCycle(graph, parent); op >= 0)
      return collectCycle(graph, parent, op);
  }
  return {};
}

CycleSum sumCycle(std::span<const Dependence> dependences, std::span<const int> cycle) {
  CycleSum sum;
  for (int index : cycle) {
    sum.latency += dependences[index].latency;
    sum.distance += dependences[index].distance;
  }
  return sum;
}

int64_t sequentialLength(const Problem &problem) {
  int64_t total = 1;
  for (const Operation &op : problem.operations) {
    int64_t busy = std::max(op.latency, 1);
    for (const Reservation &use : op.reservations)
      busy = std::max<int64_t>(busy, int64_t{use.start} + problem.busyCycles(op, use));
    total += busy;
  }
  return total;
}

Bounds lowerBounds(const Problem &problem, std::span<const Dependence> dependences) {
  Bounds bounds;
  boundByResources(problem, bounds);
  Graph graph(problem.numOps(), dependences);
  std::vector<int64_t> times;
  // Newton's way: each cycle found raises the interval to what that cycle needs; few rounds suffice.
  int interval = 1;
  while (true) {
    std::vector<int> cycle = findPositiveCycle(graph, interval, times);
    if (cycle.empty())
      break;
    for (int &edge : cycle)
      edge = graph.edges()[edge].dependence;
    bounds.cycle = std::move(cycle);
    CycleSum sum = sumCycle(dependences, bounds.cycle);
    if (sum.distance <= 0 || ceilDiv(sum.latency, sum.distance) > kMaxInterval) {
      bounds.impossible = true;
      break;
    }
    interval = static_cast<int>(ceilDiv(sum.latency, sum.distance));
    bounds.recurrence = interval;
  }
  return bounds;
}

} // namespace soliton::sched
