//===- PaddedRowsTest.cpp - Rows that are not aligned, copied to some that are --------------------===//
//
// Matrix products whose plans copy their operands first: right on the emulator at odd sizes, with tiles that go past
// the registers although no row of the tensors is aligned, and only where that pays.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/Support.h"

namespace soliton::test {
namespace {
using kernels::Sizes;

class PaddedRows : public testing::TestWithParam<Case> {
protected:
  static Case always() {
    Case which = GetParam();
    which.paddedRows = RowPadding::always;
    return which;
  }
};

bool contains(const std::string &text, const char *word) {
  return text.find(word) != std::string::npos;
}

TEST_P(PaddedRows, OddSizesAreRight) {
  for (const Sizes &sizes : {Sizes{{"M", 127}, {"N", 131}, {"K", 77}}, Sizes{{"M", 1}, {"N", 1}, {"K", 1}},
                             Sizes{{"M", 70}, {"N", 129}, {"K", 197}}}) {
    std::optional<CompileResult> compiled = always().compile(sizes);
    ASSERT_TRUE(compiled);
    // Two copies, then the product.
    EXPECT_EQ(compiled->image.further.size(), 2u);
    EXPECT_GT(compiled->image.workspace.bytes.constantValue().value_or(0), 0);
    checkOnEmulator(always(), *compiled, sizes);
  }
}

TEST_P(PaddedRows, SizesKnownAtLaunchAreRight) {
  std::optional<CompileResult> compiled = always().compile({{"M", 0}, {"N", 0}, {"K", 0}}, {"M", "N", "K"});
  ASSERT_TRUE(compiled);
  for (const Sizes &sizes : {Sizes{{"M", 127}, {"N", 131}, {"K", 77}}, Sizes{{"M", 64}, {"N", 128}, {"K", 64}},
                             Sizes{{"M", 1}, {"N", 1}, {"K", 1}}})
    checkOnEmulator(always(), *compiled, sizes);
}

/// Those whose tiles can go past the registers.
class PaddedCopies : public PaddedRows {};

TEST_P(PaddedCopies, TilesGoPastTheRegisters) {
  Sizes sizes{{"M", 127}, {"N", 131}, {"K", 77}};
  std::optional<CompileResult> compiled = always().compile(sizes, {}, {Artefact::machine});
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(contains(compiled->artefacts.front().second, "machine.copy_async"));
  EXPECT_FALSE(contains(compiled->artefacts.front().second, "machine.load %"));
}

TEST_P(PaddedRows, AlignedRowsStayWhereTheyAre) {
  std::optional<CompileResult> compiled = always().compile({{"M", 127}, {"N", 128}, {"K", 64}});
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(compiled->image.further.empty());
  EXPECT_FALSE(compiled->image.workspace.exists());
}

std::vector<Case> products() {
  std::vector<Case> cases;
  for (const Target *target : allTargets())
    for (const char *name : {"gemm", "gemm_nn"})
      for (const char *variant : {"f16", "i8"})
        for (bool direct : {false, true}) {
          const kernels::KernelEntry *entry = kernels::findKernel(name);
          cases.push_back({entry, entry->findVariant(variant), target, {}, direct});
        }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, PaddedRows, testing::ValuesIn(products()), caseName);

std::vector<Case> directProducts() {
  std::vector<Case> cases = products();
  std::erase_if(cases, [](const Case &which) { return !which.directCopies || which.entry->name != "gemm"; });
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, PaddedCopies, testing::ValuesIn(directProducts()), caseName);

/// The smallest tiles, so that few elements are many workgroups.
Case smallTiles(const Target &target) {
  const kernels::KernelEntry *entry = kernels::findKernel("gemm");
  return {entry, entry->findVariant("f16"), &target, {{"BLOCK_M", 32}, {"BLOCK_N", 32}}};
}

/// What a launch at these sizes takes of the workspace.
int64_t workspaceOf(const CompileResult &compiled, Sizes sizes) {
  std::vector<int64_t> values;
  for (const rt::SymbolSpec &symbol : compiled.image.symbols)
    values.push_back(sizes.at(symbol.name));
  return compiled.image.workspace.bytes.evaluate(values).value;
}

class PaddedRowsOnTarget : public testing::TestWithParam<const Target *> {};

TEST_P(PaddedRowsOnTarget, TheLaunchKnowsWhetherTheyPay) {
  Case which = smallTiles(*GetParam());
  std::optional<CompileResult> compiled = which.compile({{"M", 0}, {"N", 0}, {"K", 0}}, {"M", "N", "K"});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(workspaceOf(*compiled, {{"M", 64}, {"N", 64}, {"K", 64}}), 0);
  EXPECT_EQ(workspaceOf(*compiled, {{"M", 1}, {"N", 100000}, {"K", 1}}), 0);
  EXPECT_GT(workspaceOf(*compiled, {{"M", 4095}, {"N", 4097}, {"K", 4099}}), 2 * 4096 * 4099 * 2);
  checkOnEmulator(which, *compiled, {{"M", 33}, {"N", 65}, {"K", 35}});
}

TEST(PaddedRowsAtLaunch, OneImageHasBothVersions) {
  Case which = smallTiles(*findTarget("sm_90a"));
  std::optional<CompileResult> compiled = which.compile({{"M", 0}, {"N", 0}, {"K", 0}}, {"M", "N", "K"});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->image.further.size(), 3u);
  Sizes large{{"M", 1500}, {"N", 1501}, {"K", 701}}, small{{"M", 150}, {"N", 151}, {"K", 71}};
  ASSERT_GT(workspaceOf(*compiled, large), 0);
  ASSERT_EQ(workspaceOf(*compiled, small), 0);
  std::shared_ptr<rt::Device> device = rt::makeEmulatorDevice({.checks = false});
  std::unique_ptr<rt::LoadedKernel> kernel = device->load(compiled->image);
  for (const Sizes &sizes : {large, small})
    EXPECT_TRUE(which.launch(*device, *kernel, sizes, /*integers=*/true));
}

/// Its loop is as long as the workgroup's place says.
TEST_P(PaddedRowsOnTarget, ALoopThatDependsOnTheWorkgroupIsWeighedWithoutOne) {
  const kernels::KernelEntry *entry = kernels::findKernel("attention_causal");
  Case which{entry, entry->findVariant("f16"), GetParam()};
  Sizes sizes{{"B", 1}, {"H", 2}, {"Q", 70}, {"KV", 70}, {"D", 33}};
  std::optional<CompileResult> compiled = which.compile(sizes, {"B", "H", "Q", "KV"});
  ASSERT_TRUE(compiled);
  EXPECT_FALSE(compiled->image.further.empty());
  checkOnEmulator(which, *compiled, sizes);
}

TEST_P(PaddedRowsOnTarget, SizesThatAreKnownDecideAtOnce) {
  Case which = smallTiles(*GetParam());
  std::optional<CompileResult> small = which.compile({{"M", 33}, {"N", 65}, {"K", 35}}),
                               large = which.compile({{"M", 4095}, {"N", 4097}, {"K", 4099}});
  ASSERT_TRUE(small && large);
  EXPECT_TRUE(small->image.further.empty());
  EXPECT_EQ(large->image.further.size(), 2u);
  which.paddedRows = RowPadding::never;
  large = which.compile({{"M", 4095}, {"N", 4097}, {"K", 4099}});
  ASSERT_TRUE(large);
  EXPECT_TRUE(large->image.further.empty());
}

INSTANTIATE_TEST_SUITE_P(All, PaddedRowsOnTarget, testing::ValuesIn(allTargets()),
                         [](const auto &info) { return info.param->name; });

/// Rows that begin where data say have no price to be weighed by.
TEST(PaddedRowsOfGroups, RowsThatDataPlaceStayWhereTheyAre) {
  const kernels::KernelEntry *grouped = kernels::findKernel("gemm_grouped");
  for (const Target *target : allTargets()) {
    Case which{grouped, &grouped->variants.front(), target};
    which.tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}, {"WAVES_M", 1}, {"WAVES_N", 2}};
    Sizes sizes{{"E", 2}, {"M", 64}, {"N", 167}, {"K", 77}};
    std::optional<CompileResult> compiled = which.compile(sizes, {"E", "K"});
    ASSERT_TRUE(compiled);
    EXPECT_TRUE(compiled->image.further.empty());
    checkOnEmulator(which, *compiled, sizes);
  }
}

} // namespace
} // namespace soliton::test
