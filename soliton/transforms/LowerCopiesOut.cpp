//===- LowerCopiesOut.cpp - Boxes that leave shared memory, asked for by one lane --------------===//
//
// Neighbouring copies are one branch, which the first lane of the first wave takes, or of each team's; groups and waits
// are those of its counter, which the other lanes have too, empty:
//
//   wave.copy_out %s, %C               scf.if %first {
//   wave.copy_out %s, %C                 machine.store_tile %map [%n, %m], [%s]
//   wave.commit bulk          becomes    machine.store_tile %map [%n1, %m], [%s1]
//   wave.wait bulk, 0                  }
//                                      machine.commit bulk
//                                      machine.wait bulk, 0 {read}
//
// A wait is for what the copies have read. Nobody in the kernel looks at what they have written. A box that may lie in
// front of its tensor is asked for where it does not: the engine faults on it.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace soliton {
using namespace wave;
namespace arith = mlir::arith;

void MachineLowering::lowerCopyOut(CopyOutOp copy) {
  Location loc = copy.getLoc();
  Box box = boxOf(copy, geometry);
  SmallVector<Value> coordinates =
      llvm::map_to_vector(box.coordinates, [&](sym::Expr place) { return exprs.emitI32(place, loc); });
  // A box in front of its tensor is wholly there (Boxes.cpp), and none that the engine writes.
  sym::Expr isInside = 1;
  for (sym::Expr place : box.coordinates)
    isInside = sym::logicalAnd(isInside, sym::le(0, place));
  isInside = sym::simplify(isInside, geometry.factsAt(copy));
  Address from = sharedAddress(copy, copy.getSource(), sourceOffset(copy, geometry));
  Value source = from.lane;
  if (from.immediate != 0)
    source = arith::AddIOp::create(builder, loc, source, number(from.immediate, loc));
  Value map = mapOf(copy.getDestination(), copy.getSource().getType(), box, loc);
  OpBuilder::InsertionGuard guard(builder);
  if (!isInside.isConstant(1)) {
    auto branch = mlir::scf::IfOp::create(builder, loc, exprs.emitI1(isInside, loc), /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  machine::StoreTileOp::create(builder, loc, map, coordinates, source, /*add=*/false);
}

/// The copy and its neighbours.
void MachineLowering::lowerCopiesOut(CopyOutOp first) {
  Location loc = first.getLoc();
  sym::Expr isFirstWave = sym::eq(sym::mod(waveSymbol(), first.wavesPerPart()), 0);
  sym::Expr asks = sym::simplify(sym::logicalAnd(sym::eq(laneSymbol(), 0), isFirstWave), geometry.facts());
  auto branch = mlir::scf::IfOp::create(builder, loc, exprs.emitI1(asks, loc), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  exprs.enterLoop(branch);
  builder.setInsertionPointToStart(branch.thenBlock());
  for (auto copy = first; copy && copy.wavesPerPart() == first.wavesPerPart();
       copy = dyn_cast_or_null<CopyOutOp>(copy->getNextNode())) {
    lowerCopyOut(copy);
    done.insert(copy);
  }
  exprs.leaveLoop();
}

} // namespace soliton
