//===- NvidiaTranslator.cpp - The kernel as NVIDIA launches it ---------------------===//

#include "soliton/backend/nvidia/NvidiaTranslator.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/FormatVariadic.h"

namespace soliton::backend {

using llvm::LogicalResult;
using mlir::success;
namespace I = llvm::Intrinsic;

std::string ptxFeatures(machine::KernelOp kernel) {
  // 8.4 has all but the short 8-bit float shape, and older drivers load it.
  bool needsNewer = false;
  kernel.walk([&](machine::MmaOp op) {
    llvm::StringRef kind = op.getKind();
    needsNewer |= kind.contains("m16n8k16") && (kind.contains("e4m3") || kind.contains("e5m2"));
  });
  return needsNewer ? "+ptx87" : "+ptx84";
}

std::string operandList(unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

std::string plus(int64_t immediate) {
  return immediate ? " + " + std::to_string(immediate) : "";
}

void NvidiaTranslator::declareShared() {
  auto *type = llvm::ArrayType::get(builder.getInt8Ty(), 0);
  shared = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr, "shared", nullptr,
                                    llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  shared->setAlignment(llvm::Align(1024)); // what the widest swizzle repeats by
}

void NvidiaTranslator::setAttributes() {
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->addFnAttr("nvvm.maxntid", std::to_string(kernel.getWaves() * kernel.getWaveSize()) + ",1,1");
  // Otherwise ptxas spills rather than let one workgroup have more than half of the registers, and ignores a register
  // budget since it does not know what it starts with.
  function->addFnAttr("nvvm.minctasm", std::to_string(std::max<int64_t>(options.workgroupsPerUnit, 1)));
  if (kernel.clusterSize() > 1) {
    llvm::ArrayRef<int64_t> size = *kernel.getCluster();
    function->addFnAttr("nvvm.cluster_dim", llvm::formatv("{0},{1},{2}", size[0], size[1], size[2]).str());
  }
}

llvm::Value *NvidiaTranslator::fastExp2(llvm::Value *x) {
  return call(I::nvvm_ex2_approx_ftz, {x->getType()}, {x});
}
llvm::Value *NvidiaTranslator::fastReciprocal(llvm::Value *x) {
  return call(I::nvvm_rcp_approx_ftz_f, {}, {x});
}
llvm::Value *NvidiaTranslator::fastReciprocalRoot(llvm::Value *x) {
  return call(I::nvvm_rsqrt_approx_f, {}, {x});
}

LogicalResult NvidiaTranslator::translateMachine(mlir::Operation *op) {
  return llvm::TypeSwitch<mlir::Operation *, LogicalResult>(op)
      .Case<machine::LoadOp, machine::MmaOp, machine::StoreOp, machine::MmaAsyncOp, machine::BufferOp,
            machine::CopyAsyncOp, machine::CopyTileOp, machine::LoadMatrixOp, machine::StoreMatrixOp, machine::IdOp,
            machine::ShuffleOp, machine::UniformOp, machine::PinOp, machine::BallotOp, machine::ConvertOp,
            machine::BarrierOp, machine::CommitOp, machine::WaitOp, machine::MbarrierInitOp, machine::MbarrierArriveOp,
            machine::MbarrierWaitOp, machine::FenceOp, machine::RegistersOp, machine::PrefetchOp, machine::SharedTileOp,
            machine::StoreTileOp, machine::ElectOp, machine::ClusterArriveOp, machine::ClusterWaitOp,
            machine::GridWaitOp, machine::GridLaunchOp>([&](auto typed) { return translate(typed); })
      .Case<machine::AtomicOp>([&](machine::AtomicOp atomic) { return translateAtomic(atomic, {"device", 16}); })
      // ptxas schedules by itself and takes no hints.
      .Case<machine::SchedBarrierOp, machine::SchedGroupOp, machine::PriorityOp>([](auto) { return success(); })
      .Default([&](auto) -> LogicalResult {
        return unsupported(op) << "`" << op->getName().getStringRef() << "` does not exist on " << target.name;
      });
}

} // namespace soliton::backend
