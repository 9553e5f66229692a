//===- MakeBroadcastsExplicit.cpp - Every operand has the dimensions of its op --------===//
//
// An operand that lacks a dimension of what is computed is constant along it. From here on an op says so:
//
//   %2 = wave.binary add %0, %1 : [M, N], [M]       becomes   %b = wave.broadcast %1 : [M] -> [M, N]
//                                                             %2 = wave.binary add %0, %b : [M, N], [M, N]
//
// So do the values that a gather's or scatter's indices are made of: each element of the tile gets its own.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Access.h"
#include "soliton/ir/Forms.h"

namespace soliton {
#define GEN_PASS_DEF_MAKEBROADCASTSEXPLICITPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

/// Gives the operand the dimensions of `wide`, in its order. What that takes belongs to the op, so it has its tags.
static void widen(mlir::OpOperand &operand, TileType wide) {
  auto type = cast<TileType>(operand.get().getType());
  if (type.getDims() == wide.getDims())
    return;
  Operation *op = operand.getOwner();
  OpBuilder builder(op);
  auto to = TileType::get(op->getContext(), wide.getDims(), type.getElementType(), LayoutAttr());
  auto tags = op->getAttrOfType<ArrayAttr>("tags");
  if (type.getRank() == wide.getRank())
    operand.set(PermuteOp::create(builder, op->getLoc(), to, operand.get(), tags, OriginAttr()));
  else
    operand.set(BroadcastOp::create(builder, op->getLoc(), to, operand.get(), tags, OriginAttr()));
}

namespace {
struct MakeBroadcastsExplicitPass final : impl::MakeBroadcastsExplicitPassBase<MakeBroadcastsExplicitPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(requireForm(getOperation(), Form::Traced)))
      return signalPassFailure();
    getOperation().walk([](TileOpInterface op) {
      // Both tiles of an op that names dimensions in another order are as they should be.
      if (op.getWork() == TileWork::rename)
        return;
      LayoutRelations relations;
      op.relateLayouts(relations);
      for (auto [wide, narrow] : relations.alike)
        for (mlir::OpOperand &operand : op->getOpOperands())
          if (operand.get() == narrow)
            widen(operand, cast<TileType>(wide.getType()));
    });
  }
};
} // namespace
} // namespace soliton
