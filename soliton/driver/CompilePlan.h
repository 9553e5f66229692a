//===- CompilePlan.h - Several kernels as one launch --------------------------------------===//
//
// What is compiled as one kernel may launch several: copies of tensors whose rows are not aligned, the kernel that
// reads the copies and, where only the launch knows whether they pay, the kernel that does not.
//
//   gemm, dynamic K    →    gemm_rows_a, gemm_rows_b, gemm_on_rows    where the copies pay
//                           gemm                                      elsewhere
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Compile.h"
#include "soliton/transforms/PadRows.h"

namespace soliton {

/// In which launches a kernel of a plan runs.
enum class StepUse : uint8_t { always, wherePlanPays, elsewhere };

struct PlanStep {
  CompileResult compiled;
  StepUse use = StepUse::always;
};

/// The steps one after the other, as one result: what they need of a launch together, and the last one's name and
/// figures. `pays` tells apart the launches that not all of them are for.
CompileResult asOne(std::vector<PlanStep> steps, const rt::LaunchExpr &pays);

/// What a plan needs of whoever compiles its kernels.
struct PlanCompiler {
  /// One kernel through all passes and its back end.
  std::function<mlir::FailureOr<CompileResult>(mlir::ModuleOp)> compile;
  /// The last attempt failed and is done without: its errors are no more than remarks about this.
  std::function<void(std::string_view what)> doWithout;
};

/// All kernels of a plan for the kernel of `module`, which is changed.
mlir::FailureOr<CompileResult> compilePlan(mlir::ModuleOp module, const PaddingPlan &plan,
                                           const PlanCompiler &compiler);

} // namespace soliton
