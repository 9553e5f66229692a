//===- Extremes.cpp - Maxima and minima that keep NaN, on chips without such an instruction --===//
//
// `v_max_f32` drops a NaN. One compare and one select for each maximum would keep it; a chain of maxima needs a compare
// for each pair of its leaves and one select at its end:
//
//   max(max(max(a, b), c), d)   =   v_max3 v_max,  v_cmp_u a, b | v_cmp_u c, d,  v_cndmask
//
// What the compares find is a mask of lanes in scalar registers. A butterfly moves the lanes of the mask by scalar
// instructions, so that a reduction across lanes is one vector instruction a step. Each value is also made whole where
// it stands; LLVM drops what nobody uses.
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/amd/AmdTranslator.h"

#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace soliton::backend {

using llvm::Value;
namespace I = llvm::Intrinsic;
namespace arith = mlir::arith;

/// The lanes in which one of two numbers is NaN.
Value *AmdTranslator::lanesWithNan(Value *a, Value *b) {
  return call(I::amdgcn_ballot, {builder.getInt64Ty()}, {builder.CreateFCmpUNO(a, b)});
}

static Value *either(llvm::IRBuilder<> &builder, Value *a, Value *b) {
  return !a ? b : !b ? a : builder.CreateOr(a, b);
}

AmdTranslator::Extreme AmdTranslator::extremeOf(mlir::Value value, bool isMax) {
  auto known = extremes.find(value);
  if (known != extremes.end() && known->second.isMax == isMax)
    return known->second;
  return {get(value), nullptr, get(value), isMax};
}

Value *AmdTranslator::nanLanes(const Extreme &extreme) {
  Value *alone = extreme.unpaired ? lanesWithNan(extreme.unpaired, extreme.unpaired) : nullptr;
  return either(builder, extreme.nan, alone);
}

bool AmdTranslator::translateExtreme(mlir::Operation *op) {
  bool isMax = llvm::isa<arith::MaximumFOp>(op);
  if (hasMaximum() || !get(op->getOperand(0))->getType()->isFloatTy())
    return false;
  Extreme a = extremeOf(op->getOperand(0), isMax), b = extremeOf(op->getOperand(1), isMax);
  Extreme result{nullptr, either(builder, a.nan, b.nan), nullptr, isMax};
  if (a.unpaired && b.unpaired)
    result.nan = either(builder, result.nan, lanesWithNan(a.unpaired, b.unpaired));
  else
    result.unpaired = a.unpaired ? a.unpaired : b.unpaired;
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder);
  builder.setFastMathFlags({});
  llvm::CallInst *number = call(isMax ? I::maxnum : I::minnum, {builder.getFloatTy()}, {a.number, b.number});
  // Where there is a NaN this is not used; without the flag LLVM would quiet both operands first.
  number->setHasNoNaNs(true);
  result.number = number;
  extremes[op->getResult(0)] = result;
  set(op->getResult(0), wholeOf(result));
  return true;
}

Value *AmdTranslator::wholeOf(const Extreme &extreme) {
  Value *isNan = call(I::amdgcn_inverse_ballot, {builder.getInt64Ty()}, {nanLanes(extreme)});
  return builder.CreateSelect(isNan, llvm::ConstantFP::getNaN(builder.getFloatTy()), extreme.number);
}

/// Bits of lanes l and l ^ offset exchanged.
Value *AmdTranslator::butterflyMask(Value *mask, unsigned offset) {
  for (unsigned step = 1; step < 64; step *= 2) {
    if (!(offset & step))
      continue;
    uint64_t low = 0;
    for (unsigned lane = 0; lane < 64; ++lane)
      low |= lane & step ? 0 : 1ull << lane;
    Value *up = builder.CreateShl(builder.CreateAnd(mask, builder.getInt64(low)), step);
    Value *down = builder.CreateAnd(builder.CreateLShr(mask, step), builder.getInt64(low));
    mask = builder.CreateOr(up, down);
  }
  return mask;
}

void AmdTranslator::shuffleExtreme(machine::ShuffleOp op) {
  auto known = extremes.find(op.getValue());
  auto offset = static_cast<unsigned>(op.getOffset().value_or(0));
  if (known == extremes.end() || op.getMode() != machine::ShuffleMode::bfly || offset >= kernel.getWaveSize())
    return;
  Extreme moved = known->second;
  llvm::Type *word = builder.getInt32Ty();
  moved.nan = butterflyMask(nanLanes(moved), offset);
  moved.unpaired = nullptr;
  moved.number = bits(butterfly(bits(moved.number, word), offset), builder.getFloatTy());
  extremes[op.getResult()] = moved;
}

} // namespace soliton::backend
