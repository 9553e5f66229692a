//===- LowerMovement.cpp - Values that change their holders ---------------------------===//
//
// Carries out the plans of layout/Convert.h and layout/Reduce.h: registers that only get new names, exchanges between
// the lanes of a wave, reductions of a lane's registers and then of lanes.
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Diagnose.h"
#include "soliton/layout/Convert.h"
#include "soliton/layout/Reduce.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace soliton {
using namespace wave;
namespace arith = mlir::arith;

Value MachineLowering::picked(Value vector, ArrayRef<int64_t> positions, Location loc) {
  return mlir::vector::ShuffleOp::create(builder, loc, vector, vector, positions);
}

Value MachineLowering::registerOf(Value tile, int64_t index, Location loc) {
  // What was joined is taken from its piece, so that no vector of all registers is made for it.
  while (auto join = tile.getDefiningOp<JoinOp>())
    for (Value piece : join.getPieces()) {
      tile = piece;
      int64_t count = cast<TileType>(piece.getType()).layout().regs();
      if (index < count)
        break;
      index -= count;
    }
  Value held = vector(tile);
  if (cast<mlir::VectorType>(held.getType()).getNumElements() == 1)
    return held;
  return slice(held, index, 1, loc);
}

Value MachineLowering::slice(Value whole, int64_t first, int64_t count, Location loc) {
  return builder.createOrFold<mlir::vector::ExtractStridedSliceOp>(loc, whole, first, count, 1);
}

Value MachineLowering::laneFunction(const LaneFunction &function, Location loc) {
  sym::Expr value = function.base;
  for (const LaneFunction::Term &term : function.terms) {
    sym::Expr position = term.axis == Axis::wave ? waveSymbol() : laneSymbol();
    sym::Expr digit = sym::mod(sym::floordiv(position, term.divisor), term.extent);
    if (term.flip)
      digit = sym::bitXor(digit, term.flip);
    value = value + digit * term.scale;
  }
  return exprs.emitI32(sym::simplify(value, geometry.facts()), loc);
}

static SmallVector<Dim> dimsOf(TileType type) {
  return llvm::map_to_vector(type.getDims(), [](StringAttr name) { return Dim(name.getValue().str()); });
}

/// One of several registers (or groups of them), chosen by a number that differs between lanes.
static Value choose(OpBuilder &builder, Location loc, ArrayRef<Value> options, Value which) {
  Value chosen = options.front();
  for (size_t i = 1; i < options.size(); ++i) {
    Value number = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(i));
    Value isIt = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, which, number);
    chosen = builder.createOrFold<arith::SelectOp>(loc, isIt, options[i], chosen);
  }
  return chosen;
}

LogicalResult MachineLowering::lowerRemap(Operation *op) {
  Location loc = op->getLoc();
  auto from = cast<TileType>(op->getOperand(0).getType()), to = cast<TileType>(op->getResult(0).getType());
  // Pieces of a tile are no whole boxes; the tile was checked when its movement was planned.
  ConvertPlan plan =
      planConvert(from.layout(), inDimsOf(to.layout(), dimsOf(from)),
                  {.elementBits = static_cast<int>(elementBits(from.getElementType())), .trusted = true});
  Value source = vector(op->getOperand(0));
  if (mlir::DenseElementsAttr same; matchPattern(source, mlir::m_Constant(&same)) && same.isSplat()) {
    auto everywhere = mlir::DenseElementsAttr::get(vectorType(to), same.getSplatValue<mlir::Attribute>());
    define(op->getResult(0), arith::ConstantOp::create(builder, loc, everywhere));
    return success();
  }
  if (plan.kind == ConvertKind::rename) {
    define(op->getResult(0), picked(source, plan.registers, loc));
    return success();
  }
  if (plan.kind != ConvertKind::shuffle)
    return report(loc, DiagId::NotSupportedHere)
           << "a conversion through shared memory was not planned before this point: " << plan.reason;

  SmallVector<Value> groups, slots(plan.slots);
  for (int64_t begin = 0; begin < from.layout().regs(); begin += plan.granule)
    groups.push_back(slice(source, begin, plan.granule, loc));
  Value nothing = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(groups.front().getType()));
  llvm::fill(slots, nothing);
  for (const ShuffleRound &round : plan.rounds) {
    Value offered = round.sendGroup.isConstant() ? groups[round.sendGroup.base]
                                                 : choose(builder, loc, groups, laneFunction(round.sendGroup, loc));
    if (round.crossesLanes) {
      if (std::optional<int64_t> mask = round.sourceLane.xorMask(geometry.waveSize()))
        offered = machine::ShuffleOp::create(builder, loc, offered.getType(), machine::ShuffleMode::bfly, offered,
                                             Value(), builder.getI64IntegerAttr(*mask));
      else
        offered = machine::ShuffleOp::create(builder, loc, offered.getType(), machine::ShuffleMode::idx, offered,
                                             laneFunction(round.sourceLane, loc), mlir::IntegerAttr());
    }
    Value taken;
    for (const ShuffleRound::Guard &guard : round.guards) {
      Value number = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(guard.value));
      Value holds =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, laneFunction(guard.function, loc), number);
      taken = taken ? arith::AndIOp::create(builder, loc, taken, holds).getResult() : holds;
    }
    for (int64_t slot = 0; slot < plan.slots; ++slot) {
      if (round.slot.isConstant() && round.slot.base != slot)
        continue;
      Value here = taken;
      if (!round.slot.isConstant()) {
        Value number = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(slot));
        Value isIt =
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, laneFunction(round.slot, loc), number);
        here = here ? arith::AndIOp::create(builder, loc, here, isIt).getResult() : isIt;
      }
      slots[slot] = here ? builder.createOrFold<arith::SelectOp>(loc, here, offered, slots[slot]) : offered;
    }
  }
  Value result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType(to)));
  for (auto [group, slot] : llvm::enumerate(plan.slotOf))
    result = mlir::vector::InsertStridedSliceOp::create(builder, loc, slots[slot], result,
                                                        {static_cast<int64_t>(group) * plan.granule}, {1});
  define(op->getResult(0), result);
  return success();
}

void MachineLowering::lowerReduce(ReduceOp op) {
  Location loc = op.getLoc();
  TileType source = op.getSource().getType();
  ReducePlan plan = planReduce(source.layout(), Dim(op.getDim().str()), op.getResult().getType().layout());
  Value x = registerOf(op.getSource(), 0, loc);
  for (int64_t i = 1; i < source.layout().regs(); ++i)
    x = combine(op.getKind(), x, registerOf(op.getSource(), i, loc), loc);
  Value first = x;
  for (const LaneStep &step : plan.lanes) {
    if (step.first)
      first = x;
    if (step.kind == LaneStep::Kind::butterfly) {
      Value other = machine::ShuffleOp::create(builder, loc, x.getType(), machine::ShuffleMode::bfly, x, Value(),
                                               builder.getI64IntegerAttr(step.mask));
      x = combine(op.getKind(), x, other, loc);
      continue;
    }
    // The digit of the lane moves on by `shift`; the other digits stay.
    sym::Expr lane = laneSymbol();
    sym::Expr digit = sym::mod(sym::floordiv(lane, step.divisor), step.extent);
    sym::Expr moved = step.kind == LaneStep::Kind::broadcast ? sym::Expr(0) : sym::mod(digit + step.shift, step.extent);
    sym::Expr from = sym::simplify(lane + (moved - digit) * step.divisor, geometry.facts());
    Value read = machine::ShuffleOp::create(builder, loc, x.getType(), machine::ShuffleMode::idx,
                                            step.kind == LaneStep::Kind::joinFirst ? first : x,
                                            exprs.emitI32(from, loc), mlir::IntegerAttr());
    x = step.kind == LaneStep::Kind::broadcast ? read : combine(op.getKind(), x, read, loc);
  }
  define(op.getResult(), x);
}

} // namespace soliton
