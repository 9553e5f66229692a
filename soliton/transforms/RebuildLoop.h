//===- RebuildLoop.h - A loop as its schedule says it ------------------------------===//
//
// Puts prologue, kernel and epilogue of a peeled program in the place of the loop they came from. Addresses follow by
// substitution: an access of iteration n names n where the loop named its iteration. Values that are used in a later
// trip than they are computed in are carried from trip to trip (rotating registers):
//
//   kernel   load@t+1 … store@t+1, use@t      the value of the load crosses no trip: not carried
//   kernel   use@t … load@t+1                 computed one trip before it is used: carried once
//
// Shared tiles with several buffers: iteration n touches buffer n mod B.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"
#include "soliton/transforms/LoopProblem.h"

namespace soliton {

struct RebuildOptions {
  /// The kernel's, for the index values that addresses speak of.
  const Geometry *geometry = nullptr;
  /// Copies of the kernel in one trip of the loop.
  int unroll = 1;
  /// How many copies are left over by that: trips of the kernel modulo `unroll`.
  int rest = 0;
  /// Buffers of each region.
  std::vector<int> buffers;
  /// Nothing moves from one cluster of the kernel to another.
  bool fenceClusters = false;
  /// Waves of the workgroup, and the first one of each wave group.
  int64_t waves = 1;
  std::vector<int> groupStart = {0};
  /// Its number among the pipelines of the kernel.
  int64_t pipeline = 0;
};

/// Builds the program before `loop`, and gives what stands for the loop's results. The loop itself stays, for the
/// caller to erase. `program` is for every trip count from `program.peeled` on, or for exactly one.
FailureOr<SmallVector<Value>> rebuildLoop(OpBuilder &builder, wave::IterateOp loop, const LoopProblem &problem,
                                          const sched::Program &program, const RebuildOptions &options);

} // namespace soliton
