//===- Barriers.h - The fewest barriers that order all waves ---------------===//
//
// After ordering, never before: every cross-wave hazard X -> Y needs a barrier between X and Y, which is an interval of
// slots on the cyclic axis of the kernel (slot i is in front of entry i). The kernel gets the smallest number of
// barriers that hits all intervals (Stabbing.h); barriers that the author wrote count and stay. Groups that are
// staggered by d barriers need 1 + d of them between X and Y.
//
//   kernel  shared load, load, mma, shared store
//   RAW  store -> next shared load   slots {0}         WAR  shared load -> store   slots {1, 2, 3}
//   two barriers: in front of the shared load and in front of the store (as late as possible)
//
// In the prologue a barrier stands in front of each op that needs newer data than the last one covers (it runs once,
// and waiting for less is worth more than a barrier); the epilogue repeats the kernel's slots where they still order
// something. Waits are a second step (Waits.h), which hangs on where the barriers are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

struct BarrierOptions {
  /// Only in front of the first op of a cluster; where a hazard lies inside one cluster, in front of its second op.
  bool clusterEntriesOnly = false;
  /// Cost of a barrier in front of each kernel entry, to choose between equally few; may be empty.
  std::vector<int> slotCost;
  /// Number of loop iterations, if it is known.
  std::optional<int> tripCount;
  /// Say what was added.
  bool remarks = true;
};

struct BarrierResult {
  /// Kernel positions (before insertion) in front of which barriers were put.
  std::vector<int> kernelSlots;
  /// Cross-wave hazards of one iteration, and the kernel's own barriers that were there already.
  int hazards = 0;
  int fixed = 0;
  /// One remark per barrier that was added.
  std::vector<Diagnostic> remarks;
};

/// Adds to `program` the barriers that are missing.
BarrierResult deriveBarriers(const Problem &problem, const Schedule &schedule, Program &program,
                             const BarrierOptions &options = {});

/// The same where the context is known.
struct PathContext;
BarrierResult deriveBarriers(const PathContext &context, Program &program, const BarrierOptions &options);

} // namespace soliton::sched
