//===- Lanes.cpp - Who am I, and what do the others hold ---------------------------===//
//
// A butterfly is the cheapest instruction that does it:
//
//   offset    1 … 15          one or two DPP moves inside rows of 16
//             16 … 31         ds_swizzle inside groups of 32
//             32 … 63         permlane32_swap where there is one, then the rest as above; otherwise ds_bpermute
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/amd/AmdTranslator.h"

#include "soliton/analysis/Persistent.h"

#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace soliton::backend {

using llvm::LogicalResult;
using llvm::Value;
using mlir::success;
namespace I = llvm::Intrinsic;

static void setRange(llvm::CallInst *call, uint64_t end) {
  unsigned width = call->getType()->getIntegerBitWidth();
  call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(width, 0), llvm::APInt(width, end)));
}

Value *AmdTranslator::laneId() {
  llvm::CallInst *thread = call(I::amdgcn_workitem_id_x, {}, {});
  setRange(thread, kernel.getWaves() * kernel.getWaveSize());
  if (kernel.getWaves() == 1)
    return thread;
  return builder.CreateAnd(thread, i32(static_cast<int64_t>(kernel.getWaveSize()) - 1));
}

LogicalResult AmdTranslator::translate(machine::IdOp op) {
  auto workgroup = [&](I::ID id) {
    llvm::CallInst *value = call(id, {}, {});
    if (auto upper = op.getUpper(); upper && *upper > 0)
      setRange(value, *upper);
    return value;
  };
  switch (op.getKind()) {
  case machine::IdKind::lane:
    set(op, laneId());
    break;
  case machine::IdKind::wave: {
    if (kernel.getWaves() == 1) {
      set(op, i32(0));
      break;
    }
    llvm::CallInst *thread = call(I::amdgcn_workitem_id_x, {}, {});
    setRange(thread, kernel.getWaves() * kernel.getWaveSize());
    Value *wave = builder.CreateLShr(thread, llvm::Log2_64(kernel.getWaveSize()));
    llvm::CallInst *uniform = call(I::amdgcn_readfirstlane, {wave->getType()}, {wave});
    setRange(uniform, kernel.getWaves());
    set(op, uniform);
    break;
  }
  case machine::IdKind::workgroup0:
    set(op, workgroup(I::amdgcn_workgroup_id_x));
    break;
  case machine::IdKind::workgroup1:
    set(op, workgroup(I::amdgcn_workgroup_id_y));
    break;
  case machine::IdKind::workgroup2:
    set(op, workgroup(I::amdgcn_workgroup_id_z));
    break;
  default:
    return unsupported(op) << "the number `" << machine::stringifyIdKind(op.getKind()) << "` does not exist on "
                           << target.name << ", expected that of a lane, a wave or a workgroup";
  }
  return success();
}

//===-- Shuffles ----------------------------------------------------------------===//

Value *AmdTranslator::dpp(Value *word, unsigned control) {
  return call(I::amdgcn_update_dpp, {word->getType()},
              {llvm::PoisonValue::get(word->getType()), word, i32(control), i32(0xf), i32(0xf), builder.getTrue()});
}

Value *AmdTranslator::permute(Value *word, Value *lane) {
  return call(I::amdgcn_ds_bpermute, {}, {builder.CreateShl(lane, 2), word});
}

bool AmdTranslator::hasPermlaneSwap() const {
  return target.name == "gfx950";
}

Value *AmdTranslator::butterfly(Value *word, unsigned offset) {
  constexpr unsigned quadPerm[4] = {0xe4, 0xb1, 0x4e, 0x1b}; // identity, xor 1, xor 2, xor 3
  constexpr unsigned rowMirror = 0x140, rowHalfMirror = 0x141, rowRotate8 = 0x128;
  if (offset >= 32 && !hasPermlaneSwap())
    return permute(word, builder.CreateXor(laneId(), offset));
  if (offset >= 32) {
    // The swap exchanges the upper half of the first with the lower half of the second: of two copies, each lane then
    // finds its partner's value in the one that it did not keep.
    Value *pair = call(I::amdgcn_permlane32_swap, {}, {word, word, builder.getFalse(), builder.getFalse()});
    Value *isUpper = builder.CreateICmpUGE(laneId(), i32(32));
    word = builder.CreateSelect(isUpper, builder.CreateExtractValue(pair, 0), builder.CreateExtractValue(pair, 1));
    offset -= 32;
  }
  if (offset >= 16)
    return call(I::amdgcn_ds_swizzle, {}, {word, i32((offset << 10) | 0x1f)});
  unsigned row = offset & ~3u; // 0, 4, 8 or 12 of it by one move, the rest inside quads
  unsigned quad = offset & 3u;
  if (row == 4) { // half-mirror is xor 7
    word = dpp(word, rowHalfMirror);
    quad ^= 3;
  } else if (row == 8) {
    word = dpp(word, rowRotate8);
  } else if (row == 12) { // mirror is xor 15
    word = dpp(word, rowMirror);
    quad ^= 3;
  }
  return quad ? dpp(word, quadPerm[quad]) : word;
}

LogicalResult AmdTranslator::translate(machine::ShuffleOp op) {
  // One small float takes a register as it is or as f32.
  Value *value = wideOf(op.getValue());
  bool isWide = value && countOf(value->getType()) == 1;
  if (!isWide)
    value = get(op.getValue());
  llvm::SmallVector<Value *> words = wordList(value);
  auto size = static_cast<int64_t>(kernel.getWaveSize());
  auto offset = static_cast<int64_t>(op.getOffset().value_or(0));
  if (op.getMode() == machine::ShuffleMode::bfly) {
    if (offset >= 0 && offset < size)
      for (Value *&word : words)
        word = butterfly(word, static_cast<unsigned>(offset));
  } else {
    Value *lane = laneId();
    Value *source = op.getMode() == machine::ShuffleMode::idx  ? get(op.getIndex())
                    : op.getMode() == machine::ShuffleMode::up ? builder.CreateSub(lane, i32(offset))
                                                               : builder.CreateAdd(lane, i32(offset));
    Value *inside = builder.CreateICmpULT(source, i32(size));
    source = builder.CreateSelect(inside, source, lane);
    for (Value *&word : words)
      word = permute(word, source);
  }
  Value *moved = fromElements(words, vectorOf(builder.getInt32Ty(), words.size()));
  if (isWide)
    setWide(op, bits(moved, value->getType()));
  else
    set(op, fromWords(moved, value->getType()));
  shuffleExtreme(op);
  return success();
}

LogicalResult AmdTranslator::translate(machine::PinOp op) {
  // No instruction: a register that comes out of somewhere unknown.
  auto *type = llvm::FunctionType::get(builder.getInt32Ty(), {builder.getInt32Ty()}, false);
  set(op, builder.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", op->hasAttr(kAnew)), {get(op.getValue())}));
  return success();
}

LogicalResult AmdTranslator::translate(machine::UniformOp op) {
  Value *value = get(op.getValue());
  set(op, call(I::amdgcn_readfirstlane, {value->getType()}, {value}));
  return success();
}

LogicalResult AmdTranslator::translate(machine::BallotOp op) {
  set(op, call(I::amdgcn_ballot, {builder.getInt64Ty()}, {get(op.getPredicate())}));
  return success();
}

LogicalResult AmdTranslator::translate(machine::SwapOp op) {
  auto width = static_cast<int64_t>(op.getWidth());
  if (!hasPermlaneSwap())
    return unsupported(op) << target.name << " has no instruction that swaps halves of registers between lanes";
  if (width != 16 && width != 32)
    return unsupported(op) << "a swap between groups of " << width << " lanes, expected 16 or 32";
  I::ID id = width == 32 ? I::amdgcn_permlane32_swap : I::amdgcn_permlane16_swap;
  Value *pair = call(id, {}, {get(op.getFirst()), get(op.getSecond()), builder.getFalse(), builder.getFalse()});
  set(op.getNewFirst(), builder.CreateExtractValue(pair, 0));
  set(op.getNewSecond(), builder.CreateExtractValue(pair, 1));
  return success();
}

} // namespace soliton::backend
