//===- LowerTurns.cpp - Barriers that hand turns on -----------------------------------===//
//
// Each team has a barrier, at which it waits for its turn and the team before arrives; the last team's turn is followed
// by the first one's next. Which barrier it is a wave computes from its number. For two teams:
//
//   scf.if %team == 1 { arrives at 0 }          the first team may begin
//   loop {
//     barrier plus %team                        waves of two teams are counted
//     mma_async …, commit
//     barrier plus %next {arrives}
//     …
//   }
//   scf.if %team == 0 { barrier 0 }             every arrival is waited for
//
// All teams execute the same turns, so each barrier sees the same number of waits and arrivals, in turn: loops that
// come one after the other, and tiles that a workgroup walks, go on where the last one ended.
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace soliton {
using namespace wave;
namespace arith = mlir::arith;

LogicalResult MachineLowering::planTurns() {
  FailureOr<Turns> found = findTurns(kernel, geometry);
  if (failed(found))
    return failure();
  turns = *found;
  for (Turn turn : turns.turns) {
    turnBegins.insert(turn.first);
    turnEnds.insert(turn.last);
  }
  return success();
}

bool MachineLowering::takesTurns() const {
  return crew != Crew::Copying && !turnBegins.empty();
}

/// Waits at the barrier of that team, or arrives there.
void MachineLowering::meetForTurn(sym::Expr team, bool arrives, Location loc) {
  team = sym::simplify(team, geometry.facts());
  Value plus = exprs.emitI32(team, loc);
  machine::BarrierOp::create(builder, loc, plus, static_cast<uint64_t>(turns.firstBarrier),
                             builder.getI64IntegerAttr(2 * turns.wavesPerTeam), arrives);
}

void MachineLowering::beginTurn(Location loc) {
  meetForTurn(sym::floordiv(waveSymbol(), turns.wavesPerTeam), /*arrives=*/false, loc);
}

void MachineLowering::endTurn(Location loc) {
  meetForTurn(sym::mod(sym::floordiv(waveSymbol(), turns.wavesPerTeam) + 1, turns.teams), /*arrives=*/true, loc);
}

/// One team's part in the first or last turn: the last team lets the first one begin, which takes what comes last.
void MachineLowering::closeTurns(int64_t team, bool arrives) {
  if (!takesTurns())
    return;
  Location loc = kernel.getLoc();
  sym::Expr isTeam = sym::simplify(sym::eq(sym::floordiv(waveSymbol(), turns.wavesPerTeam), team), geometry.facts());
  auto branch = mlir::scf::IfOp::create(builder, loc, exprs.emitI1(isTeam, loc), /*withElseRegion=*/false);
  OpBuilder inside = branch.getThenBodyBuilder();
  machine::BarrierOp::create(inside, loc, Value(), static_cast<uint64_t>(turns.firstBarrier),
                             builder.getI64IntegerAttr(2 * turns.wavesPerTeam), arrives);
}

} // namespace soliton
