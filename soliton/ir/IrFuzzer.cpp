// Feeds any text to the parsers and verifiers of both dialects. Text that is a program must print to text that reads
// back to the same.
#include "soliton/ir/Machine.h"
#include "soliton/ir/Wave.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <cstdio>
#include <cstdlib>

/// One context for many runs: creating it costs more than parsing. Renewed now and then because it keeps every type.
static mlir::MLIRContext &context() {
  static std::unique_ptr<mlir::MLIRContext> instance;
  static unsigned runs = 0;
  if (runs++ % 8192 == 0) {
    instance = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    instance->loadDialect<soliton::wave::WaveDialect, soliton::machine::MachineDialect, mlir::arith::ArithDialect,
                          mlir::func::FuncDialect>();
  }
  return *instance;
}

static std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::ParserConfig config(&context());
  mlir::ScopedDiagnosticHandler silence(&context(), [](mlir::Diagnostic &) { return mlir::success(); });
  // A copy, because MLIR's lexer looks for the 0 behind the text.
  std::string input(reinterpret_cast<const char *>(data), size);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(input, config);
  if (!module)
    return 0;
  std::string first = textOf(*module);
  mlir::OwningOpRef<mlir::ModuleOp> again = mlir::parseSourceString<mlir::ModuleOp>(first, config);
  if (again && textOf(*again) == first)
    return 0;
  std::fprintf(stderr, "does not read back:\n%s\n", first.c_str());
  std::abort();
}
