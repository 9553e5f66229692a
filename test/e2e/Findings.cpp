#include "test/e2e/Findings.h"

#include "soliton/backend/emulator/Translate.h"
#include "soliton/ir/Machine.h"
#include "soliton/target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

namespace soliton::test {

/// The text with every `from` replaced.
static void replaceAll(std::string &text, const Change &change) {
  int changed = 0;
  for (size_t at = 0; !change.from.empty() && (at = text.find(change.from, at)) != std::string::npos;
       at += change.to.size(), ++changed)
    text.replace(at, change.from.size(), change.to);
  EXPECT_EQ(changed > 0, !change.from.empty()) << change.from;
}

std::vector<emu::FindingKind> findingsOf(std::string machine, const Change &change,
                                         const std::vector<emu::Buffer> &buffers) {
  replaceAll(machine, change);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(machine, &context);
  EXPECT_TRUE(module);
  if (!module)
    return {};
  int gone = 0;
  module->walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == change.erased) {
      op->erase();
      ++gone;
    }
  });
  EXPECT_EQ(gone > 0, !change.erased.empty()) << change.erased;
  mlir::FailureOr<emu::Program> program =
      translateToEmulator(*module->getOps<machine::KernelOp>().begin(), *findTarget("sm_90a"));
  EXPECT_TRUE(mlir::succeeded(program));
  std::vector<emu::FindingKind> kinds;
  for (const emu::Finding &finding :
       emu::run(*program, {.buffers = buffers, .checks = true, .adversarial = true}).findings)
    kinds.push_back(finding.kind);
  return kinds;
}

} // namespace soliton::test
