//===- OrderTest.cpp - What the author said is what the chip does ---------------------------------===//
//
// Every schedule's code object for AMD, disassembled and mapped back to the machine form by line: global accesses,
// direct copies, shared accesses, matrix instructions and barriers one to one and in order, counted waits with their
// counts, nothing spilled, and no wait for global memory that LLVM put in by itself.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/amd/Order.h"
#include "soliton/backend/Backend.h"
#include "soliton/ir/Diagnose.h"
#include "test/e2e/Support.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

namespace soliton::test {
namespace {
using kernels::Sizes;

std::vector<Case> amdSchedules() {
  std::vector<Case> cases = scheduledCases();
  std::erase_if(cases, [](const Case &which) { return which.target->vendor != Vendor::amd; });
  // The tiles of the measures.
  for (const Case &each : std::vector<Case>(cases)) {
    Case large = each;
    bool small = each.target->sharedBytes < 96 << 10;
    large.tiles["BLOCK_M"] = large.tiles["BLOCK_N"] = small ? 128 : 256;
    large.tiles["BLOCK_K"] = small ? 32 : 64;
    // Three or four buffers have to fit, and twice the fragments.
    if (large.schedule == "async_two_cluster_triple_buffer")
      large.tiles["BLOCK_N"] = 128;
    if (large.schedule == "cp_async_multistage" || large.schedule == "gemm_unroll")
      large.tiles["BLOCK_M"] = large.tiles["BLOCK_N"] = 128;
    if (large.tiles != each.tiles)
      cases.push_back(large);
  }
  return cases;
}

std::string orderName(const testing::TestParamInfo<Case> &info) {
  const auto &tiles = info.param.tiles;
  return info.param.name() + "_" + std::to_string(tiles.at("BLOCK_M")) + "x" + std::to_string(tiles.at("BLOCK_N"));
}

class Order : public testing::TestWithParam<Case> {
protected:
  Order() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                        mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  }

  /// The machine form, every op at a line of its own.
  mlir::OwningOpRef<mlir::ModuleOp> machineForm(const Sizes &sizes) {
    CompileOptions options = GetParam().options(sizes);
    options.keep = {Artefact::machine};
    CompileAttempt attempt =
        compileImage(GetParam().entry->build(*GetParam().variant), options, rt::ImageKind::emulator);
    EXPECT_TRUE(attempt) << format(attempt.diagnostics);
    return attempt ? mlir::parseSourceString<mlir::ModuleOp>(attempt.result->artefacts.front().second,
                                                             mlir::ParserConfig(&context), "machine")
                   : nullptr;
  }

  mlir::MLIRContext context;
};

TEST_P(Order, IsTheChips) {
  Sizes sizes;
  for (const char *dim : {"M", "N"})
    sizes[dim] = 2 * GetParam().tiles.at(std::string("BLOCK_") + dim);
  sizes["K"] = 16 * GetParam().tiles.at("BLOCK_K");
  mlir::OwningOpRef<mlir::ModuleOp> module = machineForm(sizes);
  ASSERT_TRUE(module);
  machine::KernelOp kernel = *module->getOps<machine::KernelOp>().begin();
  EXPECT_TRUE(kernel.getKeepOrder());
  DiagnosticCollector collector(&context);
  mlir::FailureOr<backend::CodeObject> code = backend::compileToHsaco(kernel, *GetParam().target, {});
  ASSERT_TRUE(mlir::succeeded(code)) << format(collector.diagnostics());
  EXPECT_EQ(code->spillBytes, 0u);
  std::string error;
  std::optional<backend::Disassembly> listing = backend::disassembleHsaco(code->bytes, GetParam().target->name, error);
  ASSERT_TRUE(listing) << error;
  EXPECT_TRUE(backend::placedOps(kernel) == backend::placedInstructions(*listing)) << "another order";
  std::optional<std::string> mismatch = backend::scheduleMismatch(kernel, *listing);
  EXPECT_FALSE(mismatch) << *mismatch;
  for (const backend::Instruction &wait : backend::addedWaits(kernel, *listing))
    ADD_FAILURE() << "LLVM added `" << wait.mnemonic << " " << wait.operands << "`";
}

INSTANTIATE_TEST_SUITE_P(All, Order, testing::ValuesIn(amdSchedules()), orderName);

} // namespace
} // namespace soliton::test
