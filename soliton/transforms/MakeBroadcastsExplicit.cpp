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

/// Gives the operand the dimensions of `wide`, in its order.
static void widen(mlir::OpOperand &operand, TileType wide) {
  auto type = cast<TileType>(operand.get().getType());
  if (type.getDims() == wide.getDims())
    return;
  Operation *op = operand.getOwner();
  OpBuilder builder(op);
  auto to = TileType::get(op->getContext(), wide.getDims(), type.getElementType(), LayoutAttr());
  if (type.getRank() == wide.getRank())
    operand.set(PermuteOp::create(builder, op->getLoc(), to, operand.get(), ArrayAttr(), OriginAttr()));
  else
    operand.set(BroadcastOp::create(builder, op->getLoc(), to, operand.get(), ArrayAttr(), OriginAttr()));
}

/// The operands that are combined element by element, and the tile whose elements they are combined for.
static std::pair<mlir::MutableArrayRef<mlir::OpOperand>, TileType> combinedOperands(Operation *op) {
  if (isa<BinaryOp, CompareOp, SelectOp>(op))
    return {op->getOpOperands(), cast<TileType>(op->getResult(0).getType())};
  if (auto apply = dyn_cast<ApplyExprOp>(op))
    return {op->getOpOperands().take_front(apply.getInputs().size()), apply.getResult().getType()};
  if (auto read = dyn_cast<ReadOp>(op))
    return {op->getOpOperands().slice(1, read.getDynamicValues().size()), read.getResult().getType()};
  if (auto write = dyn_cast<WriteOp>(op))
    return {op->getOpOperands().slice(2, write.getDynamicValues().size()), write.getValue().getType()};
  return {};
}

namespace {
struct MakeBroadcastsExplicitPass final : impl::MakeBroadcastsExplicitPassBase<MakeBroadcastsExplicitPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(requireForm(getOperation(), Form::Traced)))
      return signalPassFailure();
    getOperation().walk([](Operation *op) {
      auto [operands, wide] = combinedOperands(op);
      for (mlir::OpOperand &operand : operands)
        widen(operand, wide);
    });
  }
};
} // namespace
} // namespace soliton
