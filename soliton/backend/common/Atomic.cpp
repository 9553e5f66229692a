//===- Atomic.cpp - Read-modify-write ---------------------------------------------===//
//
// `atomicrmw` on the plain address, in a branch where there is a mask: LLVM picks the instruction, or a
// compare-and-swap loop where the target has none (floating-point min and max).
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/common/Translator.h"

namespace soliton::backend {

using llvm::AtomicRMWInst;
using mlir::success;

static AtomicRMWInst::BinOp operationOf(machine::AtomicKind kind, llvm::Type *type) {
  bool isFloat = type->isFPOrFPVectorTy();
  switch (kind) {
  case machine::AtomicKind::add:
    return isFloat ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
  case machine::AtomicKind::min:
    return isFloat ? AtomicRMWInst::FMin : AtomicRMWInst::Min;
  case machine::AtomicKind::max:
    return isFloat ? AtomicRMWInst::FMax : AtomicRMWInst::Max;
  case machine::AtomicKind::umin:
    return AtomicRMWInst::UMin;
  case machine::AtomicKind::umax:
    return AtomicRMWInst::UMax;
  case machine::AtomicKind::exchange:
    return AtomicRMWInst::Xchg;
  case machine::AtomicKind::bit_and:
    return AtomicRMWInst::And;
  case machine::AtomicKind::bit_or:
    return AtomicRMWInst::Or;
  case machine::AtomicKind::bit_xor:
    return AtomicRMWInst::Xor;
  case machine::AtomicKind::cas: // no `atomicrmw`
    break;
  }
  return AtomicRMWInst::BAD_BINOP;
}

llvm::LogicalResult Translator::translateAtomic(machine::AtomicOp op, const Atomics &has) {
  llvm::Value *value = hidden(get(op.getValue()));
  llvm::Type *type = value->getType();
  bool isPair =
      type->isVectorTy() && countOf(type) == 2 && type->getScalarSizeInBits() == 16 && type->isFPOrFPVectorTy();
  if (type->isVectorTy() && !(isPair && op.getKind() == machine::AtomicKind::add))
    return unsupported(op) << "an atomic on " << op.getValue().getType()
                           << ", expected one element, or two of f16 or bf16 to add";
  if (bitsOf(type) < has.leastBits)
    return unsupported(op) << "an atomic on " << op.getValue().getType() << ", expected " << has.leastBits
                           << " bits or more";
  if (!op.getBuffer() && !shared)
    return unsupported(op) << "an access to shared memory in a kernel that has none";

  auto immediate = static_cast<int64_t>(op.getImmediate());
  auto emit = [&]() -> llvm::Value * {
    llvm::Value *address = op.getBuffer()
                               ? globalAddress(bufferBase(op.getBuffer()), op.getLane(), op.getUniform(), immediate)
                               : sharedAddress(addressOf(op.getLane(), op.getUniform()), immediate);
    llvm::SyncScope::ID id = context.getOrInsertSyncScopeID(op.getBuffer() ? has.scope : llvm::StringRef());
    if (op.getKind() == machine::AtomicKind::cas) {
      auto *exchange =
          builder.CreateAtomicCmpXchg(address, hidden(get(op.getExpected())), value, llvm::MaybeAlign(bitsOf(type) / 8),
                                      llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic, id);
      return builder.CreateExtractValue(exchange, 0);
    }
    auto *rmw = builder.CreateAtomicRMW(operationOf(op.getKind(), type), address, value,
                                        llvm::MaybeAlign(bitsOf(type) / 8), llvm::AtomicOrdering::Monotonic, id);
    // Plain device memory, and the target's own way with subnormals: lets AMD use its floating-point instructions.
    llvm::MDNode *none = llvm::MDNode::get(context, {});
    rmw->setMetadata("amdgpu.no.fine.grained.memory", none);
    rmw->setMetadata("amdgpu.no.remote.memory", none);
    if (type->isFPOrFPVectorTy())
      rmw->setMetadata("amdgpu.ignore.denormal.mode", none);
    return rmw;
  };
  set(op.getResult(), op.getMask() ? predicated(get(op.getMask()), type, emit) : emit());
  return success();
}

} // namespace soliton::backend
