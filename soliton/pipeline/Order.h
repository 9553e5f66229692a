//===- Order.h - Strategies that order a body --------------------------------------===//
//
// Identity keeps the declared order. Greedy takes the first op that is ready, half by half, block by block. Csp
// searches all orders that keep halves apart for the shortest makespan, then for the fewest live registers, and stops
// early where the lower bound is met.
//
//   ping-pong, one load a block:   0 1 2 3 | 4 6 | 7 5 8 9 | 10 11 …   420 cycles, which is the bound
//
// Where no order exists (ops that never become ready, too few registers) that is an error with the op that is stuck.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/LoopBody.h"

namespace soliton::pipe {

struct OrderOptions {
  /// Loads between two compute ops of a half; 0: no cap.
  int maxGlobals = 0;
  int penalty = 0;
  int maxVgpr = kUnlimited;
  int64_t nodeBudget = 500'000;
  /// Equal slices of the body that are kept apart, each within its own positions; 1: all ops mix.
  int partitions = 2;
};

struct OrderResult {
  std::vector<int> order;
  Metrics metrics;
  int bound = 0;
  /// No order within the options is shorter.
  bool optimal = false;
  int64_t nodes = 0;
  /// Infeasible: error. Budget spent: remark.
  std::vector<Diagnostic> diagnostics;
};

/// 0, 1, 2, …
std::vector<int> identityOrder(int size);
/// In each partition, `blocks` times: the lowest op that is ready, until a compute op was placed. What never becomes
/// ready is missing from the result.
std::vector<int> greedyOrder(const LoopBody &body, int blocks = 4, int partitions = 2);
/// The lowest op that is ready, with no structure.
std::vector<int> simpleGreedyOrder(const LoopBody &body);

/// The best order by exhaustive search with bounds, from the greedy one on.
OrderResult searchOrder(const LoopBody &body, const OrderOptions &options);

/// The order that `config` asks for.
OrderResult orderBody(const LoopBody &body, const PipelineConfig &pipeline, const ScheduleConfig &config);

} // namespace soliton::pipe
