#include "soliton/driver/CheckPasses.h"

#include "soliton/driver/Pipelines.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/ir/Names.h"
#include "soliton/transforms/Passes.h"

#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassRegistry.h"

namespace soliton {
namespace {

/// Judges the kernel after each pass until one of them was wrong.
class PassJudge final : public mlir::PassInstrumentation {
public:
  PassJudge(const Oracle &oracle, bool &failed) : oracle(oracle), failed(failed) {}

  void runAfterPass(mlir::Pass *pass, Operation *op) override {
    // The adaptor that runs the passes of a nested pipeline, each of which was judged by itself.
    if (failed || pass->getName().contains("OpToOpPassAdaptor"))
      return;
    std::string name = (pass->getArgument().empty() ? pass->getName() : pass->getArgument()).str();
    int kernels = 0;
    auto judge = [&](auto kernel) {
      ++kernels;
      if (!failed)
        judgeKernel(kernel, name);
    };
    op->walk([&](wave::KernelOp kernel) { judge(kernel); });
    op->walk([&](machine::KernelOp kernel) { judge(kernel); });
    if (kernels != 1) {
      failed = true;
      report(op->getLoc(), DiagId::PassChangedMeaning)
          << "after `" << name << "` there are " << kernels << " kernels, expected the one to check";
    }
  }

private:
  void judgeKernel(wave::KernelOp kernel, StringRef pass) {
    if (mlir::failed(verifyForm(kernel, getForm(kernel)))) {
      failed = true;
      report(kernel.getLoc(), DiagId::PassChangedMeaning)
          << "`" << pass << "` left a kernel that is not in the form it claims";
      return;
    }
    accept(kernel.getLoc(), pass, oracle.disagreement(kernel));
  }
  void judgeKernel(machine::KernelOp kernel, StringRef pass) {
    accept(kernel.getLoc(), pass, oracle.disagreement(kernel));
  }

  void accept(Location loc, StringRef pass, const std::optional<std::string> &wrong) {
    if (!wrong)
      return;
    failed = true;
    report(loc, DiagId::PassChangedMeaning) << "`" << pass << "` changed what the kernel computes: " << *wrong;
  }

  const Oracle &oracle;
  bool &failed;
};

void buildWholeRoad(mlir::OpPassManager &pm) {
  buildWavePipeline(pm);
  buildMachinePipeline(pm);
}
} // namespace

LogicalResult checkPasses(mlir::ModuleOp module, const PassCheckOptions &options) {
  auto kernels = llvm::to_vector(module.getOps<wave::KernelOp>());
  if (kernels.size() != 1)
    return report(module.getLoc(), DiagId::InvalidIr)
           << "the module has " << kernels.size() << " kernels of the wave dialect, expected 1";
  FailureOr<Oracle> oracle = Oracle::of(kernels.front(), options.oracle);
  if (failed(oracle))
    return failure();
  bool wrong = false;
  mlir::PassManager manager(module.getContext());
  manager.addInstrumentation(std::make_unique<PassJudge>(*oracle, wrong));
  (options.build ? options.build : buildWholeRoad)(manager);
  return success(succeeded(manager.run(module)) && !wrong);
}

namespace {
/// The check as a pass, so that `soliton-opt` has it as a flag.
struct CheckWithEmulatorPass final : mlir::PassWrapper<CheckWithEmulatorPass, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckWithEmulatorPass)

  CheckWithEmulatorPass() = default;
  CheckWithEmulatorPass(const CheckWithEmulatorPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "check-with-emulator"; }
  StringRef getDescription() const override {
    return "run the passes and compare, after each of them, with what the traced program computes";
  }
  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                    mlir::vector::VectorDialect>();
  }

  void runOnOperation() override {
    PassCheckOptions options;
    options.oracle.seed = seed;
    mlir::OpPassManager chosen(mlir::ModuleOp::getOperationName());
    if (!passes.empty()) {
      if (failed(mlir::parsePassPipeline(passes, chosen, llvm::errs())))
        return signalPassFailure();
      options.build = [&](mlir::OpPassManager &pm) { pm = chosen; };
    }
    if (failed(checkPasses(getOperation(), options)))
      signalPassFailure();
  }

  Option<unsigned> seed{*this, "seed", llvm::cl::desc("of the inputs"), llvm::cl::init(1)};
  Option<std::string> passes{*this, "passes", llvm::cl::desc("a pipeline to run in place of the compiler's"),
                             llvm::cl::init("")};
};
} // namespace

void registerPassCheck() {
  mlir::PassRegistration<CheckWithEmulatorPass>();
}

} // namespace soliton
