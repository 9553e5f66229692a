//===- Lanes.cpp - Who am I, and what do the others hold ----------------------------------===//

#include "soliton/backend/nvidia/NvidiaTranslator.h"

#include "soliton/analysis/Persistent.h"

#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace soliton::backend {

using llvm::LogicalResult;
using llvm::Value;
using mlir::success;
namespace I = llvm::Intrinsic;

static constexpr int64_t kAllLanes = 0xffffffff;

static void setRange(llvm::CallInst *call, uint64_t end) {
  call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, end)));
}

Value *NvidiaTranslator::threadId() {
  llvm::CallInst *thread = call(I::nvvm_read_ptx_sreg_tid_x, {}, {});
  setRange(thread, kernel.getWaves() * kernel.getWaveSize());
  return thread;
}

Value *NvidiaTranslator::laneId() {
  Value *thread = threadId();
  return kernel.getWaves() == 1 ? thread
                                : builder.CreateAnd(thread, i32(static_cast<int64_t>(kernel.getWaveSize()) - 1));
}

Value *NvidiaTranslator::broadcastFirst(Value *word) {
  return call(I::nvvm_shfl_sync_idx_i32, {}, {i32(kAllLanes), word, i32(0), i32(0x1f)});
}

/// The special register of a number that is the same in all lanes.
static I::ID registerOf(machine::IdKind kind) {
  switch (kind) {
  case machine::IdKind::workgroup0:
    return I::nvvm_read_ptx_sreg_ctaid_x;
  case machine::IdKind::workgroup1:
    return I::nvvm_read_ptx_sreg_ctaid_y;
  case machine::IdKind::workgroup2:
    return I::nvvm_read_ptx_sreg_ctaid_z;
  case machine::IdKind::grid0:
    return I::nvvm_read_ptx_sreg_nctaid_x;
  case machine::IdKind::grid1:
    return I::nvvm_read_ptx_sreg_nctaid_y;
  case machine::IdKind::grid2:
    return I::nvvm_read_ptx_sreg_nctaid_z;
  case machine::IdKind::cluster_rank:
    return I::nvvm_read_ptx_sreg_cluster_ctarank;
  case machine::IdKind::cluster0:
    return I::nvvm_read_ptx_sreg_clusterid_x;
  case machine::IdKind::cluster1:
    return I::nvvm_read_ptx_sreg_clusterid_y;
  case machine::IdKind::cluster2:
    return I::nvvm_read_ptx_sreg_clusterid_z;
  case machine::IdKind::lane:
  case machine::IdKind::wave:
    break;
  }
  llvm_unreachable("a number of the wave");
}

LogicalResult NvidiaTranslator::translate(machine::IdOp op) {
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
  case machine::IdKind::wave:
    // Through a shuffle, so that ptxas knows it to be the same in all lanes.
    set(op, kernel.getWaves() == 1
                ? i32(0)
                : broadcastFirst(builder.CreateLShr(threadId(), llvm::Log2_64(kernel.getWaveSize()))));
    break;
  default:
    set(op, workgroup(registerOf(op.getKind())));
    break;
  }
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::ShuffleOp op) {
  // One small float takes a register as it is or as f32.
  Value *value = wideOf(op.getValue());
  bool isWide = value && countOf(value->getType()) == 1;
  if (!isWide)
    value = get(op.getValue());
  auto size = static_cast<int64_t>(kernel.getWaveSize());
  auto offset = static_cast<int64_t>(op.getOffset().value_or(0));
  llvm::SmallVector<Value *> words = wordList(value);
  if (op.getMode() != machine::ShuffleMode::idx && (offset < 0 || offset >= size)) {
    set(op, get(op.getValue())); // every source is outside the wave
    return success();
  }
  I::ID id = op.getMode() == machine::ShuffleMode::bfly   ? I::nvvm_shfl_sync_bfly_i32
             : op.getMode() == machine::ShuffleMode::up   ? I::nvvm_shfl_sync_up_i32
             : op.getMode() == machine::ShuffleMode::down ? I::nvvm_shfl_sync_down_i32
                                                          : I::nvvm_shfl_sync_idx_i32;
  Value *source = i32(offset);
  if (op.getIndex()) // the instruction counts lanes modulo 32: outside means the lane itself
    source = builder.CreateSelect(builder.CreateICmpULT(get(op.getIndex()), i32(size)), get(op.getIndex()), laneId());
  Value *clamp = i32(op.getMode() == machine::ShuffleMode::up ? 0 : 0x1f);
  for (Value *&word : words)
    word = call(id, {}, {i32(kAllLanes), word, source, clamp});
  Value *moved = fromElements(words, vectorOf(builder.getInt32Ty(), words.size()));
  if (isWide)
    setWide(op, bits(moved, value->getType()));
  else
    set(op, fromWords(moved, value->getType()));
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::PinOp op) {
  // Immediates reach everything here. What is to be computed anew comes out of somewhere unknown.
  Value *value = get(op.getValue());
  if (op->hasAttr(kAnew))
    value = assembly(value->getType(), "", "=r,0", {value}, AsmEffect::memory);
  set(op, value);
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::UniformOp op) {
  Value *value = get(op.getValue());
  llvm::SmallVector<Value *> words = wordList(value);
  for (Value *&word : words)
    word = broadcastFirst(word);
  set(op, fromWords(fromElements(words, vectorOf(builder.getInt32Ty(), words.size())), value->getType()));
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::BallotOp op) {
  Value *votes = call(I::nvvm_vote_ballot_sync, {}, {i32(kAllLanes), get(op.getPredicate())});
  set(op, builder.CreateZExt(votes, builder.getInt64Ty()));
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::ElectOp op) {
  set(op, builder.CreateExtractValue(call(I::nvvm_elect_sync, {}, {i32(kAllLanes)}), 1));
  return success();
}

} // namespace soliton::backend
