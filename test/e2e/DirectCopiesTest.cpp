//===- DirectCopiesTest.cpp - Tiles that go to shared memory past the registers -------------------===//
//
// Every gemm with direct copies: right on the emulator at all kinds of sizes, after every pass, and copied where it can
// be: the machine form says which tiles go through registers.
//
//===----------------------------------------------------------------------===//
#include "soliton/driver/CheckPasses.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Wave.h"
#include "test/e2e/Support.h"

#include <sstream>

namespace soliton::test {
namespace {
using kernels::Sizes;

/// Copies and global loads of the machine form.
struct Movement {
  int copies = 0, masked = 0, loads = 0;
};

Movement movementOf(const std::string &machine) {
  Movement found;
  std::istringstream lines(machine);
  for (std::string line; std::getline(lines, line);) {
    bool copy = line.find("machine.copy_async") != std::string::npos;
    found.copies += copy;
    found.masked += copy && line.find("] mask %") != std::string::npos;
    found.loads += line.find("machine.load %") != std::string::npos;
  }
  return found;
}

class DirectCopies : public testing::TestWithParam<Case> {
protected:
  /// Compiles, checks at the sizes, and says how tiles move.
  Movement check(const Case &which, const Sizes &sizes, const std::vector<std::string> &dynamic = {},
                 const std::vector<Sizes> &further = {}) {
    std::optional<CompileResult> compiled = which.compile(sizes, dynamic, {Artefact::machine});
    if (!compiled)
      return {};
    checkOnEmulator(which, *compiled, sizes);
    for (const Sizes &other : further)
      checkOnEmulator(which, *compiled, other);
    return movementOf(compiled->artefacts.front().second);
  }

  /// The right operand's rows lie along K as the left one's do.
  bool isTransposed() const { return GetParam().entry->name == "gemm"; }
  /// What lies along N can be copied as it is where a collective load transposes it.
  bool hasTransposingLoad() const {
    int bits = soliton::bits(GetParam().problem({{"M", 1}, {"N", 1}, {"K", 1}}, true)["b"].type);
    return std::ranges::any_of(GetParam().target->matrixAccesses, [&](const MatrixAccess &access) {
      return access.transposed && !access.store && access.elementBits == bits;
    });
  }
};

TEST_P(DirectCopies, WholeTiles) {
  Movement found = check(GetParam(), {{"M", 128}, {"N", 256}, {"K", 128}});
  EXPECT_GT(found.copies, 0);
  EXPECT_EQ(found.masked, 0);
  EXPECT_EQ(found.loads == 0, isTransposed() || hasTransposingLoad());
}

TEST_P(DirectCopies, TheEndIsZeros) {
  // Whole chunks of 16 bytes along K, but neither whole tiles nor whole rows.
  Movement found = check(GetParam(), {{"M", 127}, {"N", 131}, {"K", 80}});
  EXPECT_GT(found.masked, 0);
  EXPECT_EQ(found.loads == 0, isTransposed());
}

TEST_P(DirectCopies, RowsThatAreNotAlignedGoThroughRegisters) {
  Movement found = check(GetParam(), {{"M", 127}, {"N", 131}, {"K", 77}});
  EXPECT_EQ(found.copies, 0);
  EXPECT_GT(found.loads, 0);
  check(GetParam(), {{"M", 1}, {"N", 1}, {"K", 1}});
}

TEST_P(DirectCopies, OtherTiles) {
  Case other = GetParam();
  other.tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}};
  EXPECT_GT(check(other, {{"M", 70}, {"N", 130}, {"K", 160}}).copies, 0);
}

TEST_P(DirectCopies, RowsThatAreKnownAtLaunch) {
  Sizes first = {{"M", 128}, {"N", 128}, {"K", 96}};
  Movement found = check(
      GetParam(), first, {"M", "N"},
      {{{"M", 1}, {"N", 1}, {"K", 96}}, {{"M", 127}, {"N", 131}, {"K", 96}}, {{"M", 130}, {"N", 133}, {"K", 96}}});
  EXPECT_GT(found.masked, 0);
  EXPECT_EQ(found.loads == 0, isTransposed());
}

TEST_P(DirectCopies, AllSizesAreKnownAtLaunch) {
  check(GetParam(), {{"M", 128}, {"N", 128}, {"K", 64}}, {"M", "N", "K"},
        {{{"M", 1}, {"N", 1}, {"K", 1}}, {{"M", 127}, {"N", 131}, {"K", 77}}, {{"M", 64}, {"N", 200}, {"K", 128}}});
}

TEST_P(DirectCopies, EveryPassIsRight) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Case which = GetParam();
  which.tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}};
  for (const Sizes &sizes : {Sizes{{"M", 64}, {"N", 64}, {"K", 64}}, Sizes{{"M", 21}, {"N", 77}, {"K", 80}}}) {
    CompileOptions options = which.options(sizes);
    EmittedKernel emitted =
        emitKernel(which.entry->build(*which.variant), context, {options.subs, options.dynamic, options.target, {}});
    ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
    (*emitted.module->getOps<wave::KernelOp>().begin()).setDirectCopies(true);
    DiagnosticCollector collector(&context);
    EXPECT_TRUE(mlir::succeeded(checkPasses(*emitted.module, {}))) << format(collector.diagnostics());
  }
}

INSTANTIATE_TEST_SUITE_P(All, DirectCopies, testing::ValuesIn(directCases()), caseName);

//===-- Bank conflicts ----------------------------------------------------------------------------------===//

/// What the bank model says about all shared accesses of a kernel.
int64_t conflictsOf(const Case &which, const kernels::Sizes &sizes) {
  CompileOptions options = which.options(sizes);
  options.countBankConflicts = true;
  CompileAttempt attempt = compileImage(which.entry->build(*which.variant), options, rt::ImageKind::emulator);
  EXPECT_TRUE(attempt && !attempt.result->bankConflicts.empty()) << format(attempt.diagnostics);
  int64_t conflicts = 0;
  for (const BankConflicts &access : attempt.result->bankConflicts)
    conflicts += access.conflicts;
  return conflicts;
}

TEST(SharedBanks, RowsThatLanesWalkByTwoStridesAreFree) {
  // `b` lies transposed: it is stored along its rows and loaded, or transposed in registers and stored, across them.
  for (const Target *target : allTargets()) {
    Case which{kernels::findKernel("gemm_nn"), nullptr, target};
    which.variant = which.entry->findVariant("f16");
    EXPECT_EQ(conflictsOf(which, {{"M", 512}, {"N", 512}, {"K", 512}}), 0) << target->name;
  }
}

TEST(DirectCopiesBanks, ReadsOfTheBenchmarksAreFree) {
  for (auto [target, variant, tile, depth] :
       {std::tuple("gfx950", "bf16", 256, 64), std::tuple("gfx942", "f16", 128, 32),
        std::tuple("sm_90a", "f16", 128, 64)}) {
    Case which{kernels::findKernel("gemm"), nullptr, findTarget(target)};
    which.variant = which.entry->findVariant(variant);
    which.tiles = {{"BLOCK_M", tile}, {"BLOCK_N", tile}, {"BLOCK_K", depth}};
    which.directCopies = true;
    EXPECT_EQ(conflictsOf(which, {{"M", 4096}, {"N", 4096}, {"K", 4096}}), 0) << target;
  }
}

} // namespace
} // namespace soliton::test
