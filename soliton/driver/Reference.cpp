#include "soliton/driver/Reference.h"

#include "soliton/driver/Auto.h"
#include "soliton/driver/Compilation.h"
#include "soliton/driver/Oracle.h"
#include "soliton/frontend/Emit.h"

#include "mlir/Parser/Parser.h"

namespace soliton {

static std::optional<ReferenceResult> ask(mlir::ModuleOp module, const ReferenceRequest &request) {
  auto kernels = module.getOps<wave::KernelOp>();
  if (kernels.empty())
    return std::nullopt;
  OracleOptions options;
  options.symbols = request.symbols;
  options.arguments = request.arguments;
  options.mayDiffer = true;
  options.integers = request.integers;
  mlir::FailureOr<Oracle> oracle = Oracle::of(*kernels.begin(), options);
  if (mlir::failed(oracle))
    return std::nullopt;
  ReferenceResult result{oracle->expected(), oracle->tolerance()};
  result.tolerance.resize(result.arguments.size());
  return result;
}

ReferenceOutcome referenceOf(const Kernel &kernel, const CompileOptions &options, const ReferenceRequest &request) {
  sym::ThrowMistakes scope;
  mlir::MLIRContext &context = threadContext();
  DiagnosticCollector collector(&context);
  // Whichever tiles are chosen, the program means the same.
  CompileOptions bound = withDefaults(options);
  EmittedKernel emitted = emitKernel(kernel, context, {bound.subs, bound.dynamic, bound.target, bound.place});
  ReferenceOutcome outcome;
  if (emitted.module)
    outcome.result = ask(*emitted.module, request);
  outcome.diagnostics = std::move(emitted.diagnostics);
  for (Diagnostic &diagnostic : collector.take())
    outcome.diagnostics.push_back(std::move(diagnostic));
  return outcome;
}

ReferenceOutcome referenceOf(std::string_view text, std::string_view fileName, const CompileOptions &options,
                             const ReferenceRequest &request) {
  sym::ThrowMistakes scope;
  mlir::MLIRContext &context = threadContext();
  DiagnosticCollector collector(&context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text.data(), text.size()), &context,
                                                        llvm::StringRef(fileName.data(), fileName.size()));
  ReferenceOutcome outcome;
  if (module) {
    for (wave::KernelOp kernel : module->getOps<wave::KernelOp>())
      if (!options.target.empty())
        kernel.setTarget(options.target);
    outcome.result = ask(*module, request);
  }
  outcome.diagnostics = collector.take();
  return outcome;
}

} // namespace soliton
