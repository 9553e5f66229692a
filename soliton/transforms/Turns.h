//===- Turns.h - Teams issue their products in turn ------------------------------------===//
//
// Teams of waves (Teams.h) that compute side by side ask for the matrix unit at the same time and leave it idle at the
// same time. With turns, each waits in front of its products in a loop until the team before has issued its own, and
// hands the turn on behind them: what it does with its sums is done under the products of others.
//
//   loop {                                     loop {
//     mma, commit        scores                  turn begins: wait for the team before
//     mma, commit        weights · values        mma, commit, mma, commit
//     wait mma, 1                    becomes     turn ends: the next team's
//     softmax                                    wait mma, 1
//     …                                          softmax, …
//   }                                          }
//
// A turn holds nothing that waits for another team, nor anything that another team waits for, as a barrier or a
// release. So whatever a turn waits for lies in front of it in the program, and turns come in one order, by trip and
// team: none of them is in front of itself. All teams execute the same turns, since loops and branches are the same for
// the whole workgroup. Nothing is proven by turns, and no proof knows of them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"

namespace soliton {

/// Products of a block that are issued in one turn, with their commits.
struct Turn {
  Operation *first = nullptr, *last = nullptr;
};

struct Turns {
  int64_t teams = 0, wavesPerTeam = 0;
  /// The number of the first team's barrier; those of the others follow.
  int64_t firstBarrier = 0;
  SmallVector<Turn> turns;
};

/// Those of a kernel with `turns`; refuses one in which there are no teams, or in which waves run behind others. A
/// kernel has none where no loop is left around its products.
FailureOr<Turns> findTurns(wave::KernelOp kernel, const Geometry &geometry);

} // namespace soliton
