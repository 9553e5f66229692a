//===- Emit.h - From a recorded kernel to a `wave.kernel` ---------------------------===//
//
// The border between the language and MLIR: everything above it is plain C++, everything below a module in the form
// Traced.
//
//   EmittedKernel emitted = emitKernel(gemm, context, {.subs = {{M, 1024}}, .target = "gfx942"});
//   if (!emitted.module)
//     throw CompileError(emitted.diagnostics);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Bind.h"
#include "soliton/frontend/Kernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace soliton {

using EmitOptions = frontend::BindOptions;

struct EmittedKernel {
  /// Null if there is an error among the diagnostics.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// All that was found while tracing and binding.
  std::vector<Diagnostic> diagnostics;
};

/// The module of a traced kernel. Loads the dialects it needs into `context`.
EmittedKernel emitKernel(const Kernel &kernel, mlir::MLIRContext &context, const EmitOptions &options);

} // namespace soliton
