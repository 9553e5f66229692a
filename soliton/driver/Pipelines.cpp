//===- Pipelines.cpp - The road a kernel takes, as a story ---------------------------===//

#include "soliton/driver/Pipelines.h"

#include "soliton/ir/Wave.h"
#include "soliton/transforms/Passes.h"
#include "soliton/transforms/ScheduleLoops.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include <algorithm>
#include <cctype>

namespace soliton {

/// Who computes what. After this every value has a layout and every access a start: `Indexed`.
static void addWho(mlir::OpPassManager &kernel, bool explainLayouts) {
  kernel.addPass(createSplitOverClusterPass());
  kernel.addPass(createBindSymbolsPass());
  kernel.addPass(createDecomposeOpsPass());
  kernel.addPass(createDropUnusedPass());
  kernel.addPass(createMakeBroadcastsExplicitPass());
  kernel.addPass(createAssignLayoutsPass({explainLayouts}));
}

void buildIndexedPipeline(mlir::OpPassManager &pm) {
  addWho(pm.nest<wave::KernelOp>(), /*explainLayouts=*/false);
}

void buildOrderedPipeline(mlir::OpPassManager &pm, const sched::ScheduleRequest &schedule, bool explainLayouts) {
  mlir::OpPassManager &kernel = pm.nest<wave::KernelOp>();
  addWho(kernel, explainLayouts);

  // Where data lives. What loops do not change leaves them first, so that it is moved and bounded once. Bounds come
  // before movement is planned, since a reduction must know its whole dimension.
  kernel.addPass(createHoistInvariantsPass());
  kernel.addPass(createPromoteToSharedPass());
  kernel.addPass(createMaskAccessesPass());
  // A schedule speaks of loops as the author wrote them; where there is none, those that run once need not be there.
  if (schedule.isNone()) {
    kernel.addPass(createDissolveLoopsPass());
    kernel.addPass(mlir::createCSEPass());
  }
  kernel.addPass(createCombineLatePass());
  kernel.addPass(createPlanMovementPass());
  kernel.addPass(mlir::createCSEPass());
  kernel.addPass(createUseDirectCopiesPass({.inOrder = schedule.placement.copiesInOrder}));
  kernel.addPass(createStoreInBoxesPass());
  kernel.addPass(createPlaceSharedPass({.noSwizzle = !schedule.placement.swizzle})); // `Placed`

  // The one expansion into instructions: `Expanded`. Pieces that nobody uses are no instructions.
  kernel.addPass(createExpandTilesPass({.keepOutside = !schedule.file.empty()}));
  kernel.addPass(createDropUnusedPass());

  // When things happen: `Scheduled`.
  kernel.addPass(createScheduleLoopsPass(schedule));
  kernel.addPass(createSplitLoopsPass());
}

void buildScheduledPipeline(mlir::OpPassManager &pm, const sched::ScheduleRequest &schedule, bool explainLayouts) {
  buildOrderedPipeline(pm, schedule, explainLayouts);
  // Barriers and waits are derived last, and the whole is proven: `Synchronized`.
  pm.nest<wave::KernelOp>().addPass(createSynchronizePass({.strict = schedule.strict}));
  // What is proven of a workgroup's waves holds for those of a cluster, if all of them come to the same barriers.
  pm.nest<wave::KernelOp>().addPass(createMulticastCopiesPass());
}

void buildWavePipeline(mlir::OpPassManager &pm) {
  buildScheduledPipeline(pm, {});
}

void buildMachinePipeline(mlir::OpPassManager &pm, bool wideOffsets) {
  // How it is said: one lane's program.
  pm.addPass(createLowerToMachinePass({wideOffsets}));
  pm.addPass(mlir::createCSEPass());
  pm.nest<machine::KernelOp>().addPass(createWaitForLaunchesPass());
}

std::vector<std::string> passNames() {
  mlir::OpPassManager manager(mlir::ModuleOp::getOperationName());
  buildScheduledPipeline(manager, {});
  buildMachinePipeline(manager);
  std::string text;
  llvm::raw_string_ostream stream(text);
  manager.printAsTextualPipeline(stream);
  // `builtin.module(wave.kernel(wave-bind-symbols,cse{option=1}),…)`: names are what neither opens a list nor is an
  // option.
  std::vector<std::string> names;
  std::string word;
  int options = 0;
  for (char c : text) {
    options += c == '{' ? 1 : 0;
    bool isOfWord = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    if (options == 0 && isOfWord) {
      word += c;
      continue;
    }
    if (!word.empty() && c != '(' && std::ranges::find(names, word) == names.end())
      names.push_back(word);
    word.clear();
    options -= c == '}' ? 1 : 0;
  }
  return names;
}

void registerPipelines() {
  registerSolitonPasses();
  mlir::PassPipelineRegistration<>("wave-pipeline", "from `Traced` to `Synchronized`", buildWavePipeline);
  mlir::PassPipelineRegistration<>("machine-pipeline", "from `Synchronized` to the machine form",
                                   [](mlir::OpPassManager &pm) { buildMachinePipeline(pm); });
}

} // namespace soliton
