//===- AmdTranslator.cpp - The kernel as AMD launches it -------------------------===//

#include "soliton/backend/amd/AmdTranslator.h"

#include "soliton/backend/amd/Order.h"

#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"

namespace soliton::backend {

using llvm::LogicalResult;
using mlir::success;
namespace I = llvm::Intrinsic;

void AmdTranslator::declareShared() {
  auto *type = llvm::ArrayType::get(builder.getInt8Ty(), kernel.getSharedBytes());
  shared =
      new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
                               "shared", nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  shared->setAlignment(llvm::Align(16));
}

void AmdTranslator::setAttributes() {
  // Version 5 is what every ROCm 6 loads.
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", 500);
  function->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  function->addFnAttr("target-cpu", target.name);
  std::string lanes = std::to_string(kernel.getWaves() * kernel.getWaveSize());
  function->addFnAttr("amdgpu-flat-work-group-size", lanes + "," + lanes);
  function->addFnAttr("uniform-work-group-size", "true");
  int64_t waves = options.workgroupsPerUnit * kernel.getWaves(), simds = target.simdsPerComputeUnit;
  if (waves > 0)
    function->addFnAttr("amdgpu-waves-per-eu", std::to_string((waves + simds - 1) / simds));
  for (llvm::StringRef unused :
       {"amdgpu-no-dispatch-ptr", "amdgpu-no-queue-ptr", "amdgpu-no-implicitarg-ptr", "amdgpu-no-dispatch-id",
        "amdgpu-no-heap-ptr", "amdgpu-no-hostcall-ptr", "amdgpu-no-multigrid-sync-arg", "amdgpu-no-default-queue",
        "amdgpu-no-completion-action", "amdgpu-no-lds-kernel-id", "amdgpu-no-workitem-id-y", "amdgpu-no-workitem-id-z"})
    function->addFnAttr(unused);
  auto size = [&](uint64_t value) { return llvm::ConstantAsMetadata::get(builder.getInt32(value)); };
  function->setMetadata("reqd_work_group_size",
                        llvm::MDNode::get(context, {size(kernel.getWaves() * kernel.getWaveSize()), size(1), size(1)}));
}

void AmdTranslator::beginBody() {
  countsAccesses = keepsOrder(kernel);
  kernel.walk([&](mlir::Operation *op) {
    if (maySkip(op))
      (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<machine::BufferType>) ? globalMaySkip : sharedMaySkip) = true;
  });
  llvm::MDBuilder metadata(context);
  llvm::MDNode *domain = metadata.createAnonymousAliasScopeDomain("soliton");
  asyncScope = llvm::MDNode::get(context, {metadata.createAnonymousAliasScope(domain, "copy_async")});
  // Scalar loads tick the counter of shared accesses too, and out of order. A wait that leaves some of those pending is
  // only right when no argument is still on its way: have them all before anything else.
  bool countsShared = false;
  kernel.walk([&](machine::WaitOp wait) {
    countsShared |= wait.getCounter() == machine::Counter::shared && wait.getCount() > 0;
  });
  if (!countsShared)
    return;
  llvm::SmallVector<llvm::Value *> args;
  std::string constraints;
  for (llvm::Argument &argument : function->args()) {
    unsigned width = module.getDataLayout().getTypeSizeInBits(argument.getType());
    if (width != 32 && width != 64)
      continue;
    args.push_back(&argument);
    constraints += "s,";
  }
  assembly(builder.getVoidTy(), "", constraints + "~{memory}", args, AsmEffect::memory);
}

llvm::Value *AmdTranslator::fastExp2(llvm::Value *x) {
  return call(I::amdgcn_exp2, {x->getType()}, {x});
}
llvm::Value *AmdTranslator::fastReciprocal(llvm::Value *x) {
  return call(I::amdgcn_rcp, {x->getType()}, {x});
}
llvm::Value *AmdTranslator::fastReciprocalRoot(llvm::Value *x) {
  return call(I::amdgcn_rsq, {x->getType()}, {x});
}

LogicalResult AmdTranslator::translateMachine(mlir::Operation *op) {
  return llvm::TypeSwitch<mlir::Operation *, LogicalResult>(op)
      .Case<machine::LoadOp, machine::MmaOp, machine::StoreOp, machine::BufferOp, machine::CopyAsyncOp,
            machine::LoadMatrixOp, machine::IdOp, machine::ShuffleOp, machine::UniformOp, machine::PinOp,
            machine::BallotOp, machine::SwapOp, machine::ConvertOp, machine::BarrierOp, machine::WaitOp,
            machine::FenceOp>([&](auto typed) { return translate(typed); })
      .Case<machine::AtomicOp>([&](machine::AtomicOp atomic) {
        mlir::LogicalResult result = translateAtomic(atomic, {"agent", 32});
        keepApart();
        return result;
      })
      .Case<machine::PrefetchOp>([](auto) { return success(); }) // gfx9 has no such instruction
      .Case<machine::SchedBarrierOp, machine::SchedGroupOp, machine::PriorityOp>(
          [&](auto) { return translateHint(op); })
      .Default([&](auto) -> LogicalResult {
        return unsupported(op) << "`" << op->getName().getStringRef() << "` does not exist on " << target.name;
      });
}

} // namespace soliton::backend
