//===- CheckPasses.h - Every pass keeps the kernel's meaning --------------------------------===//
//
// Runs the compiler's passes on a kernel and, after each of them, executes it and compares with what the traced program
// computes: with the reference interpreter while it is a `wave.kernel`, with the emulator once it is a
// `machine.kernel`.
//
//   soliton-opt gemm.mlir --check-with-emulator
//   gemm.mlir:4:3: error: `wave-mask-accesses` changed what the kernel computes: element 17 of `c` is 3, …
//   [pass-changed-meaning]
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Oracle.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>

namespace soliton {

struct PassCheckOptions {
  OracleOptions oracle = {};
  /// The passes to run; none means the whole road, buildWavePipeline and buildMachinePipeline.
  std::function<void(mlir::OpPassManager &)> build = {};
};

/// Runs the passes on the module, which must hold one kernel, and checks it after each; reports the first pass after
/// which the kernel computes something else, breaks the form that it claims, or cannot be executed. The module is
/// changed.
mlir::LogicalResult checkPasses(mlir::ModuleOp module, const PassCheckOptions &options = {});

/// Makes `--check-with-emulator` known to the command line of `soliton-opt`.
void registerPassCheck();

} // namespace soliton
