//===- PassesTest.cpp - After every pass the kernel computes what was traced ---------------------===//
#include "soliton/transforms/Passes.h"
#include "soliton/driver/CheckPasses.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "test/e2e/Plans.h"
#include "test/e2e/Support.h"

#include "mlir/Pass/Pass.h"

namespace soliton::test {
namespace {
using kernels::Sizes;

class Passes : public testing::Test {
protected:
  Passes() : context(mlir::MLIRContext::Threading::DISABLED) {}

  mlir::OwningOpRef<mlir::ModuleOp> traced(const Case &which, const Sizes &sizes,
                                           const std::vector<std::string> &dynamic = {}) {
    CompileOptions options = which.options(sizes, dynamic);
    EmittedKernel emitted =
        emitKernel(which.entry->build(*which.variant), context, {options.subs, options.dynamic, options.target, {}});
    EXPECT_TRUE(emitted.module) << format(emitted.diagnostics);
    return std::move(emitted.module);
  }

  /// What the check has to say; empty if every pass is right.
  std::string verdict(const Case &which, const Sizes &sizes, const std::vector<std::string> &dynamic = {},
                      const PassCheckOptions &options = {}) {
    mlir::OwningOpRef<mlir::ModuleOp> module = traced(which, sizes, dynamic);
    if (!module)
      return "not traced";
    DiagnosticCollector collector(&context);
    bool right = mlir::succeeded(checkPasses(*module, options));
    EXPECT_EQ(right, !collector.hasErrors()) << format(collector.diagnostics());
    return format(collector.take());
  }

  Case gemm(const char *target = "gfx942") const {
    Case which{
        kernels::findKernel("gemm"), nullptr, findTarget(target), {{"BLOCK_M", 64}, {"BLOCK_N", 64}, {"BLOCK_K", 32}}};
    which.variant = which.entry->findVariant("f16");
    return which;
  }

  mlir::MLIRContext context;
};

//===-- Every kernel ------------------------------------------------------------------------------------===//

class EveryKernel : public Passes, public testing::WithParamInterface<Case> {};

/// Small tiles keep the interpreter quick.
Case smallTiles(Case which) {
  which.tiles = planFor(*which.entry).smallTiles;
  return which;
}

TEST_P(EveryKernel, WholeTiles) {
  Case which = smallTiles(GetParam());
  EXPECT_EQ(verdict(which, planFor(*which.entry).smallWhole), "");
}

TEST_P(EveryKernel, OddSizes) {
  Case which = smallTiles(GetParam());
  EXPECT_EQ(verdict(which, planFor(*which.entry).smallOdd), "");
}

TEST_P(EveryKernel, DynamicSizes) {
  Case which = smallTiles(GetParam());
  EXPECT_EQ(verdict(which, planFor(*which.entry).one, which.entry->dynamicSizes()), "");
}

INSTANTIATE_TEST_SUITE_P(All, EveryKernel, testing::ValuesIn(mainCases()), caseName);

//===-- The check can fail ------------------------------------------------------------------------------===//

/// A pass that does what its function does to every kernel.
template <typename Function>
struct BrokenPass final : mlir::PassWrapper<BrokenPass<Function>, mlir::OperationPass<wave::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BrokenPass)
  explicit BrokenPass(Function function) : function(function) {}
  llvm::StringRef getArgument() const override { return "broken"; }
  void runOnOperation() override { function(this->getOperation()); }
  Function function;
};

/// What `build` builds, with a broken pass at its end.
template <typename Function>
PassCheckOptions broken(Function function, void (*build)(mlir::OpPassManager &)) {
  PassCheckOptions options;
  options.build = [=](mlir::OpPassManager &pm) {
    build(pm);
    pm.nest<wave::KernelOp>().addPass(std::make_unique<BrokenPass<Function>>(function));
  };
  return options;
}

/// A pass that leaves nothing.
struct Eraser final : mlir::PassWrapper<Eraser, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Eraser)
  llvm::StringRef getArgument() const override { return "eraser"; }
  void runOnOperation() override { getOperation().getBody()->clear(); }
};

void bindOnly(mlir::OpPassManager &pm) {
  pm.nest<wave::KernelOp>().addPass(createBindSymbolsPass());
}

TEST_F(Passes, SwappedOperandsAreReportedByThePassThatSwapped) {
  Case softmax{kernels::findKernel("row_softmax"), nullptr, findTarget("gfx942")};
  softmax.variant = softmax.entry->findVariant("f32");
  auto swap = [](wave::KernelOp kernel) {
    kernel.walk([](wave::BinaryOp op) {
      if (op.getKind() != wave::BinaryKind::sub)
        return mlir::WalkResult::advance();
      mlir::Value left = op.getLhs();
      op.getLhsMutable().assign(op.getRhs());
      op.getRhsMutable().assign(left);
      return mlir::WalkResult::interrupt();
    });
  };
  std::string said = verdict(smallTiles(softmax), {{"M", 5}, {"N", 9}}, {}, broken(swap, bindOnly));
  EXPECT_NE(said.find("error: `broken` changed what the kernel computes: element 0 of `b` is"), std::string::npos)
      << said;
  EXPECT_NE(said.find("[pass-changed-meaning]"), std::string::npos) << said;
  EXPECT_EQ(said.find("wave-bind-symbols"), std::string::npos) << said;
}

TEST_F(Passes, ADroppedBoundIsReported) {
  auto drop = [](wave::KernelOp kernel) { kernel.walk([](wave::WriteOp op) { op.removeGuardsAttr(); }); };
  std::string said = verdict(gemm(), {{"M", 33}, {"N", 17}, {"K", 32}}, {}, broken(drop, buildWavePipeline));
  EXPECT_NE(said.find("`broken` changed what the kernel computes: it cannot be executed"), std::string::npos) << said;
}

TEST_F(Passes, ADroppedMatrixInstructionIsReported) {
  auto drop = [](wave::KernelOp kernel) {
    kernel.walk([](wave::MmaOp op) {
      op.getResult().replaceAllUsesWith(op.getAcc());
      op.erase();
      return mlir::WalkResult::interrupt();
    });
  };
  std::string said = verdict(gemm(), {{"M", 64}, {"N", 64}, {"K", 64}}, {}, broken(drop, buildWavePipeline));
  EXPECT_NE(said.find("`broken` changed what the kernel computes: element 0 of `c` is"), std::string::npos) << said;
}

TEST_F(Passes, AMissingBarrierIsReportedOfTheMachineForm) {
  // The interpreter has no waves: only the emulator can see that nothing orders them.
  auto drop = [](wave::KernelOp kernel) {
    llvm::SmallVector<mlir::Operation *> barriers;
    kernel.walk([&](wave::BarrierOp op) { barriers.push_back(op); });
    for (mlir::Operation *op : barriers)
      op->erase();
  };
  PassCheckOptions options = broken(drop, buildWavePipeline);
  options.build = [build = options.build](mlir::OpPassManager &pm) {
    build(pm);
    buildMachinePipeline(pm);
  };
  std::string said = verdict(gemm(), {{"M", 64}, {"N", 64}, {"K", 64}}, {}, options);
  EXPECT_NE(said.find("`wave-lower-to-machine` changed what the kernel computes: the emulator objects:"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("[missing-barrier]"), std::string::npos) << said;
}

TEST_F(Passes, AFormThatIsNotKeptIsReported) {
  auto claim = [](wave::KernelOp kernel) { setForm(kernel, Form::Placed); };
  std::string said = verdict(gemm(), {{"M", 64}, {"N", 64}, {"K", 32}}, {}, broken(claim, bindOnly));
  EXPECT_NE(said.find("`broken` left a kernel that is not in the form it claims"), std::string::npos) << said;
}

TEST_F(Passes, AKernelThatDisappearsIsReported) {
  PassCheckOptions options;
  options.build = [](mlir::OpPassManager &pm) { pm.addPass(std::make_unique<Eraser>()); };
  std::string said = verdict(gemm(), {{"M", 64}, {"N", 64}, {"K", 32}}, {}, options);
  EXPECT_NE(said.find("after `eraser` there are 0 kernels, expected the one to check"), std::string::npos) << said;
}

} // namespace
} // namespace soliton::test
