//===- Bounds.h - How short an interval can be -----------------------------===//
//
// No schedule starts iterations closer together than
//
//   resources    ceil(busy cycles of a resource / its units), for all waves that share it
//   recurrences  ceil(latencies / distances) of every cycle of dependences
//
//   mma -> mma, latency 16, distance 1:  recurrence bound 16
//   32 mma of 8 cycles on one unit:      resource bound 256
//
// Both come with a witness that anyone can add up again: the resource, or the cycle of dependences.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Dependences.h"

namespace soliton::sched {

struct Bounds {
  int resource = 1;
  /// The resource that gives it; -1 if none is used.
  int resourceIndex = -1;
  int recurrence = 1;
  /// Indices into the dependences; empty if there is no recurrence.
  std::vector<int> cycle;
  /// A cycle that no interval satisfies (no distance in it); the problem is then impossible.
  bool impossible = false;

  int lower() const { return resource > recurrence ? resource : recurrence; }
};

/// Largest interval that is tried; a problem that needs more is reported.
inline constexpr int kMaxInterval = 1 << 24;

/// Cycles in which even one op after the other fits: no interval beyond it is worth trying.
int64_t sequentialLength(const Problem &problem);

Bounds lowerBounds(const Problem &problem, std::span<const Dependence> dependences);

/// Sum of latencies and distances along a cycle of dependence indices.
struct CycleSum {
  int64_t latency = 0;
  int64_t distance = 0;
};
CycleSum sumCycle(std::span<const Dependence> dependences, std::span<const int> cycle);

/// A cycle whose latencies exceed interval times its distances (edge indices into graph.edges()); empty if none.
/// Where there is none, `times` are the earliest starts under the dependences alone.
std::vector<int> findPositiveCycle(const Graph &graph, int interval, std::vector<int64_t> &times);

} // namespace soliton::sched
