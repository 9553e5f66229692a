#include "soliton/analysis/DependentLaunches.h"

#include "soliton/ir/Diagnose.h"

namespace soliton {
using namespace wave;

LogicalResult addStable(KernelOp kernel, const std::vector<std::string> &names) {
  std::vector<std::string> memories;
  auto given = kernel.block().getArguments().take_front(kernel.numGivenParameters());
  for (auto [argument, name] : llvm::zip(given, kernel.getArgNames()))
    if (isa<MemoryType>(argument.getType()))
      memories.push_back(cast<StringAttr>(name).str());
  llvm::SetVector<Attribute> stable;
  if (kernel.getStable())
    stable.insert(kernel.getStable()->begin(), kernel.getStable()->end());
  for (const std::string &name : names) {
    if (!llvm::is_contained(memories, name)) {
      std::optional<std::string> guess = nearest(name, memories);
      return report(kernel.getLoc(), DiagId::StableMemory).hint("its memories are " + listOf(memories))
             << "the kernel has no memory `" << name << "` that could be stable"
             << (guess ? "; did you mean `" + *guess + "`?" : "");
    }
    stable.insert(StringAttr::get(kernel.getContext(), name));
  }
  if (!stable.empty())
    kernel.setStableAttr(ArrayAttr::get(kernel.getContext(), stable.getArrayRef()));
  return success();
}

LogicalResult checkDependentLaunch(KernelOp kernel, const Target &target) {
  if (kernel.getDependent() && !target.hasDependentLaunches)
    return report(kernel.getLoc(), DiagId::NotSupportedHere).hint("leave dependent launches out for this target")
           << "launches of `" << target.name << "` begin when those ahead of them have ended";
  mlir::WalkResult walked = kernel.walk([&](AccessOpInterface access) {
    for (const MemoryUse &use : access.getMemoryUses()) {
      auto argument = dyn_cast<BlockArgument>(use.memory);
      if (!use.isWrite || !argument || argument.getOwner() != &kernel.block() || !kernel.isStable(argument))
        continue;
      report(access.getLoc(), DiagId::StableMemory)
              .hint("call those memories stable that no launch writes: weights")
              .note(argument.getLoc(), "declared here")
          << "`" << cast<StringAttr>(kernel.getArgNames()[argument.getArgNumber()]).getValue()
          << "` is stable, and the kernel writes it here";
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

} // namespace soliton
