//===- DecomposeSums.cpp - Sums in few bits go on in f32 ---------------------------------===//
//
// A matrix instruction whose accumulator is short begins anew with every tile of the contracted dimension; what it made
// of one is added in f32, as an addition like any other:
//
//   %d = wave.mma %a, %b, %c          becomes          %z = wave.fill 0.0
//                                                      %p = wave.mma %a, %b, %z
//                                                      %d = wave.binary add %c, %p
//
// With `short_sums` the author takes the sums as the instruction makes them.
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/InPlace.h"
#include "soliton/transforms/Decompose.h"

namespace soliton {
using namespace wave;

void decomposeShortSum(MmaOp op, const Geometry &geometry) {
  if (!op.getKind() || mmaKindOf(op, geometry.target()).sumBits == 0 || isZero(op.getAcc()))
    return;
  Decomposer before(op, geometry);
  TileType type = op.getAcc().getType();
  Value sum = op.getAcc();
  op.getAccMutable().assign(before.number(type, 0));
  before.builder.setInsertionPointAfter(op);
  Value next = before.binary(BinaryKind::add, sum, op.getResult(), type);
  op.getResult().replaceAllUsesExcept(next, next.getDefiningOp());
}

} // namespace soliton
