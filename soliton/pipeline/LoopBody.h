//===- LoopBody.h - Ops and edges of one trip, with their times --------------------===//
//
// The graph that strategies order. Only edges inside a trip count for times; each takes its producer's latency.
//
//   load 200 -> frag 20 -> mma 16       asap 0, 200, 220   makespan 236
//
// A body whose edges run in a circle inside one trip has no times: validate() names the circle.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Edges.h"

#include <optional>

namespace soliton::pipe {

struct LoopBody {
  std::vector<OpDesc> ops;
  std::vector<DepEdge> edges;

  int size() const { return static_cast<int>(ops.size()); }
  /// Earliest start of each op.
  std::vector<int> asap() const;
  /// Latest start of each op that still ends by `makespan`.
  std::vector<int> alap(int makespan) const;
  /// Edges that point nowhere, an op that waits for itself, a circle inside one trip.
  std::vector<Diagnostic> validate() const;
};

/// The ops of a circle of edges inside one trip, each before the next; empty if there is none.
std::vector<int> findCycle(int numOps, std::span<const DepEdge> edges);

struct Metrics {
  int makespan = 0;
  int vgprPeak = 0;
  bool operator==(const Metrics &) const = default;
};

/// Units and registers while the ops of an order issue one after the other.
struct IssueClock {
  /// Cycles from one memory op to the next; 0: any number at once.
  int penalty = 0;
  int mmaFree = 0, valuFree = 0, memoryFree = 0;
  int live = 0;
  Metrics metrics;

  bool isContended(const OpDesc &op) const {
    return penalty > 0 && (op.resource == ResourceKind::Shared || op.resource == ResourceKind::GlobalMem);
  }
  /// The cycle at which `op` starts, its producers being done at `ready`.
  int issue(const OpDesc &op, int ready);
};

/// What an order costs: ops start when their producers are done and their unit is free; with a penalty, memory ops also
/// that many cycles after the one before.
Metrics evaluate(const LoopBody &body, std::span<const int> order, int penalty = 0);

/// No order is shorter: critical path, serial units, memory ops at the penalty's rate.
int lowerBound(const LoopBody &body, int penalty = 0);

/// What of an op's slack and of the longest chain a report shows.
struct CostRow {
  int op = 0;
  int asap = 0;
  int alap = 0;
  int slack() const { return alap - asap; }
};
struct CostReport {
  std::vector<CostRow> rows;
  Metrics metrics;
  int bound = 0;
  /// A longest chain of ops.
  std::vector<int> criticalPath;
};
CostReport costReport(const LoopBody &body, std::span<const int> order, int penalty = 0);

} // namespace soliton::pipe
