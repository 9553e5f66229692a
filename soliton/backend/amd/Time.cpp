//===- Time.cpp - Waits, barriers and the scheduler's hints -------------------------===//
//
// Exactly the waits and barriers that the program has, and no others: LLVM's fences between lanes would add `s_waitcnt`
// of their own, so the order of memory accesses around each is kept by empty assembly.
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/amd/AmdTranslator.h"
#include "soliton/ir/Counters.h"

#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace soliton::backend {

using llvm::LogicalResult;
using mlir::failed;
using mlir::failure;
using mlir::success;
namespace I = llvm::Intrinsic;

LogicalResult AmdTranslator::translate(machine::BarrierOp op) {
  auto waves = static_cast<int64_t>(op.getWaves().value_or(kernel.getWaves()));
  if (op.getId() != 0 || op.getPlus() || op.getArrives() || waves != static_cast<int64_t>(kernel.getWaves()))
    return unsupported(op) << "barrier " << static_cast<int64_t>(op.getId()) << " of " << waves << " waves, "
                           << target.name << " has only one for all " << static_cast<int64_t>(kernel.getWaves())
                           << " of them";
  orderFence();
  call(I::amdgcn_s_barrier, {}, {});
  orderFence();
  return success();
}

/// The operand of `s_waitcnt` on GFX9; a counter at its largest value is not waited for.
static uint32_t encodeWait(int64_t vm, int64_t exports, int64_t lgkm) {
  return static_cast<uint32_t>((vm & 0xf) | (exports & 0x7) << 4 | (lgkm & 0xf) << 8 | (vm >> 4 & 0x3) << 14);
}

/// Waits in a row are one instruction, which is made for the first of them.
LogicalResult AmdTranslator::translate(machine::WaitOp op) {
  constexpr int64_t exportMax = 7;
  if (failed(requireCounter(op, kindOf(op.getCounter()))))
    return failure();
  for (auto [value, result] : llvm::zip_equal(op.getValues(), op.getResults()))
    set(result, get(value));
  if (llvm::isa_and_nonnull<machine::WaitOp>(op->getPrevNode()))
    return success();
  int64_t vm = 63, lgkm = 15;
  for (auto each = op; each; each = llvm::dyn_cast_or_null<machine::WaitOp>(each->getNextNode())) {
    bool isVm = each.getCounter() == machine::Counter::vm;
    int64_t &pending = isVm ? vm : lgkm;
    bool isCertain = isVm ? !globalMaySkip : !sharedMaySkip;
    pending = std::min(pending, isCertain ? static_cast<int64_t>(each.getCount()) : 0);
  }
  orderFence();
  call(I::amdgcn_s_waitcnt, {}, {i32(encodeWait(vm, exportMax, lgkm))});
  orderFence();
  return success();
}

LogicalResult AmdTranslator::translate(machine::FenceOp op) {
  if (op.getSpace() == machine::FenceSpace::shared_async)
    return unsupported(op) << target.name << " has no asynchronous proxy to order shared memory with";
  llvm::StringRef scope = op.getSpace() == machine::FenceSpace::global ? "agent" : "workgroup";
  builder.CreateFence(llvm::AtomicOrdering::AcquireRelease, context.getOrInsertSyncScopeID(scope));
  return success();
}

LogicalResult AmdTranslator::translateHint(mlir::Operation *op) {
  if (auto barrier = llvm::dyn_cast<machine::SchedBarrierOp>(op))
    call(I::amdgcn_sched_barrier, {}, {i32(static_cast<int64_t>(barrier.getMask()))});
  else if (auto group = llvm::dyn_cast<machine::SchedGroupOp>(op))
    call(I::amdgcn_sched_group_barrier, {},
         {i32(static_cast<int64_t>(group.getMask())), i32(static_cast<int64_t>(group.getCount())),
          i32(static_cast<int64_t>(group.getSync()))});
  else if (auto priority = llvm::dyn_cast<machine::PriorityOp>(op)) {
    auto level = static_cast<int64_t>(priority.getLevel());
    if (level < 0 || level > 3)
      return unsupported(op) << "priority " << level << ", expected 0 to 3";
    call(I::amdgcn_s_setprio, {}, {builder.getInt16(static_cast<uint16_t>(level))});
  }
  return success();
}

} // namespace soliton::backend
