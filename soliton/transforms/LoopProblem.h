//===- LoopProblem.h - A loop as the scheduling core sees it -----------------------===//
//
// The instructions of one expanded loop as a sched::Problem: what each occupies and how long it takes by the target's
// table, which counters it ticks, which values and shared tiles it touches. Dependences follow from those accesses.
//
//   %5 = wave.read %s            operation `read_a/shared_load/M1`: reads region `%s` (completes on `shared`), writes
//                                register region `read_a/shared_load/M1`
//   wave.mma %5, %6, %acc        reads the regions of %5 and %6, and that of the value which the iteration before
//                                yielded for %acc (offset -1)
//
// Slices, joins and constants are no operations: they belong to whoever uses them and are repeated there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Access.h"
#include "soliton/schedule/Problem.h"
#include "soliton/transforms/Touches.h"

namespace soliton {

struct LoopProblem {
  sched::Problem problem;
  /// The instruction of each operation; null for those that a schedule put in.
  std::vector<Operation *> instructions;
  /// The shared tile of each region; null for registers and global memory.
  std::vector<wave::AllocateOp> tiles;
};

/// Gives each value that the loop hands on an op of its body that makes it, so that it has a time: what comes from
/// outside, or from the iteration before, is copied by a `wave.convert` that changes nothing.
void computeHandedOn(wave::IterateOp loop);

/// Builds the problem of a loop without inner loops. `twin` is another form of the same loop, of which one will stay.
FailureOr<LoopProblem> makeLoopProblem(wave::IterateOp loop, const Geometry &geometry, wave::IterateOp twin = {});

/// Belongs to whoever uses it: costs nothing and has no time of its own.
bool floatsToItsUsers(Operation *op);

} // namespace soliton
