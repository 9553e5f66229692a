// What the tests of the back end share: kernels from text, and what their machine form holds.
#pragma once

#include "soliton/backend/Backend.h"
#include "soliton/backend/amd/Disassemble.h"
#include "soliton/backend/amd/Hsaco.h"
#include "soliton/ir/Diagnose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace soliton::backend {

inline std::string replaceAll(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// The text of an input under test/backend.
inline std::string readInput(const std::string &file) {
  std::ifstream stream(std::string(SOLITON_BACKEND_INPUTS) + "/" + file);
  EXPECT_TRUE(stream) << file;
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The text for another target: its name, its wave size and the `%size` that stands for it.
inline std::string retarget(std::string text, const Target &target) {
  for (const Target *other : allTargets()) {
    text = replaceAll(text, "target = \"" + other->name + "\"", "target = \"" + target.name + "\"");
    text = replaceAll(text, "wave_size = " + std::to_string(other->waveSize),
                      "wave_size = " + std::to_string(target.waveSize));
    text = replaceAll(text, "%size = arith.constant " + std::to_string(other->waveSize),
                      "%size = arith.constant " + std::to_string(target.waveSize));
  }
  return text;
}

/// A kernel of one wave, or as many as asked for, with the given parameters and body.
inline std::string kernelText(const Target &target, const std::string &parameters, const std::string &body,
                              int shared = 0, int waves = 1) {
  std::string names;
  for (size_t at = parameters.find('%'); at != std::string::npos; at = parameters.find('%', at + 1))
    names += (names.empty() ? "\"" : ", \"") + parameters.substr(at + 1, parameters.find(':', at) - at - 1) + "\"";
  return "machine.kernel @kernel attributes {arg_names = [" + names +
         "], wave_size = " + std::to_string(target.waveSize) + " : i64, waves = " + std::to_string(waves) +
         " : i64, shared_bytes = " + std::to_string(shared) + " : i64, target = \"" + target.name + "\"} {\n^bb0(" +
         parameters + "):\n" + body + "\n}\n";
}

/// One kernel with its context and whatever was said about it.
struct Program {
  explicit Program(const std::string &text, const std::string &name = "test.mlir")
      : context(mlir::MLIRContext::Threading::DISABLED), collector(&context) {
    context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                        mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context), name);
    if (module)
      kernel = *module->getOps<machine::KernelOp>().begin();
    EXPECT_TRUE(kernel) << said() << text;
  }

  std::string said() const { return format(collector.diagnostics()); }
  bool saidId(DiagId id) const {
    return llvm::any_of(collector.diagnostics(), [&](const Diagnostic &d) { return d.id == id; });
  }
  /// Compiles for the kernel's own target; what went wrong is in `said`.
  mlir::FailureOr<CodeObject> compile(const Options &options = {}) {
    const Target &target = *findTarget(std::string_view(kernel.getTarget()));
    return target.vendor == Vendor::amd ? compileToHsaco(kernel, target, options)
                                        : compileToPtx(kernel, target, options);
  }
  template <typename Op, typename Filter>
  size_t count(Filter filter) {
    size_t sum = 0;
    kernel.walk([&](Op op) { sum += filter(op) ? 1 : 0; });
    return sum;
  }
  template <typename Op>
  size_t count() {
    return count<Op>([](Op) { return true; });
  }

  mlir::MLIRContext context;
  DiagnosticCollector collector;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  machine::KernelOp kernel;
};

inline const Target &chip(const char *name) {
  return *findTarget(name);
}

/// The error that compiling gives, as text; a failure of the test if there is none.
inline std::string errorOf(const std::string &text, DiagId id) {
  Program program(text);
  if (!program.kernel)
    return "";
  EXPECT_TRUE(failed(program.compile())) << text;
  EXPECT_TRUE(program.saidId(id)) << program.said();
  return program.said();
}

/// Assembles, or says that there is nothing to assemble with.
#define SOLITON_ASSEMBLE(program, code)                                                                                \
  do {                                                                                                                 \
    if (!findPtxas())                                                                                                  \
      GTEST_SKIP() << "no ptxas";                                                                                      \
    const Target &assembled = *findTarget(std::string_view((program).kernel.getTarget()));                             \
    ASSERT_TRUE(succeeded(assembleCubin(code, (program).kernel, assembled))) << (program).said() << (code).assembly;   \
    EXPECT_EQ((code).spillBytes, 0u);                                                                                  \
    EXPECT_GT((code).vgprs, 0u);                                                                                       \
  } while (false)

using Kind = InstructionKind;

/// A code object and what it says about itself.
struct Compiled {
  CodeObject code;
  HsacoKernel facts;
  Disassembly listing;
};
Compiled compileAmd(Program &program, const Options &options = {});
std::string print(const Disassembly &listing);
/// What the driver reads about the kernel is what the launch was told.
void expectLaunch(const Compiled &compiled, Program &program);

/// A test for each AMD chip.
class Gfx9 : public ::testing::TestWithParam<const char *> {
protected:
  const Target &target() const { return chip(GetParam()); }
};

/// A kernel that multiplies fragments read from memory with one native instruction and writes the accumulator.
std::string mmaText(const Target &target, const MmaKind &kind);

} // namespace soliton::backend
