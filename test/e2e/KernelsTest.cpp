//===- KernelsTest.cpp - Every kernel, on every target, at every kind of size --------------===//
//
// From the kernel's text to numbers: compiled by the public door, run by the emulator with all of its checks and an
// adversarial scheduler, and held against the kernel's own reference.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/Support.h"

#include <sstream>

namespace soliton::test {
namespace {
using kernels::Sizes;

/// The sizes at which one kernel is tried.
struct Plan {
  /// Whole tiles, more than one of them along some dimension.
  Sizes aligned;
  Sizes odd;
  /// Beyond one tile in every direction; with `tiles` in place of the defaults.
  Sizes larger, tiles;
  /// Five sizes for one compilation.
  std::vector<Sizes> dynamic;
};

const Plan &planFor(const std::string &kernel) {
  static const Plan elementwise{{{"M", 128}, {"N", 192}},
                                {{"M", 111}, {"N", 813}},
                                {{"M", 70}, {"N", 131}},
                                {{"BLOCK_M", 32}, {"BLOCK_N", 128}},
                                {{{"M", 64}, {"N", 64}},
                                 {{"M", 1}, {"N", 1}},
                                 {{"M", 111}, {"N", 813}},
                                 {{"M", 63}, {"N", 65}},
                                 {{"M", 200}, {"N", 7}}}};
  static const Plan rows{{{"M", 32}, {"N", 512}},
                         {{"M", 111}, {"N", 813}},
                         {{"M", 35}, {"N", 601}},
                         {{"BLOCK_M", 8}, {"BLOCK_N", 512}},
                         {{{"M", 16}, {"N", 256}},
                          {{"M", 1}, {"N", 1}},
                          {{"M", 37}, {"N", 813}},
                          {{"M", 5}, {"N", 1000}},
                          {{"M", 33}, {"N", 255}}}};
  static const Plan line{{{"M", 4096}},
                         {{"M", 111 * 813}},
                         {{"M", 1025}},
                         {{"BLOCK_M", 512}},
                         {{{"M", 1024}}, {{"M", 1}}, {{"M", 813}}, {{"M", 2049}}, {{"M", 5000}}}};
  static const Plan product{{{"M", 128}, {"N", 256}, {"K", 128}},
                            {{"M", 127}, {"N", 131}, {"K", 77}},
                            {{"M", 70}, {"N", 130}, {"K", 135}},
                            {{"BLOCK_M", 64}, {"BLOCK_N", 64}},
                            {{{"M", 128}, {"N", 128}, {"K", 64}},
                             {{"M", 1}, {"N", 1}, {"K", 1}},
                             {{"M", 127}, {"N", 131}, {"K", 77}},
                             {{"M", 130}, {"N", 133}, {"K", 65}},
                             {{"M", 64}, {"N", 200}, {"K", 100}}}};
  if (kernel.starts_with("gemm"))
    return product;
  if (kernel.starts_with("row"))
    return rows;
  return kernel == "axpy" ? line : elementwise;
}

class Kernels : public testing::TestWithParam<Case> {
protected:
  /// Compiles for these sizes and checks at them.
  void check(const Case &which, const Sizes &sizes) {
    if (std::optional<CompileResult> compiled = which.compile(sizes))
      checkOnEmulator(which, *compiled, sizes);
  }

  const Plan &plan() const { return planFor(GetParam().entry->name); }
};

/// Loads and stores of the machine form's text, and those among them with a mask.
struct Accesses {
  int loads = 0, stores = 0, maskedLoads = 0, maskedStores = 0;
};
Accesses accessesOf(const std::string &machine) {
  Accesses found;
  std::istringstream lines(machine);
  for (std::string line; std::getline(lines, line);) {
    bool load = line.find("machine.load ") != std::string::npos,
         store = line.find("machine.store ") != std::string::npos;
    bool masked = line.find("] mask %") != std::string::npos;
    found.loads += load;
    found.stores += store;
    found.maskedLoads += load && masked;
    found.maskedStores += store && masked;
  }
  return found;
}

/// The machine form of the kernel at these sizes.
Accesses machineAccesses(const Case &which, const Sizes &sizes) {
  std::optional<CompileResult> compiled = which.compile(sizes, {}, {Artefact::machine});
  return compiled ? accessesOf(compiled->artefacts.front().second) : Accesses();
}

TEST_P(Kernels, WholeTiles) {
  check(GetParam(), plan().aligned);
}

TEST_P(Kernels, OddSizes) {
  check(GetParam(), plan().odd);
}

TEST_P(Kernels, OneElement) {
  Sizes one = plan().odd;
  for (auto &[name, size] : one)
    size = 1;
  check(GetParam(), one);
}

TEST_P(Kernels, SeveralOtherTiles) {
  Case other = GetParam();
  other.tiles = plan().tiles;
  check(other, plan().larger);
}

TEST_P(Kernels, CompiledOnceRunAtFiveSizes) {
  ASSERT_EQ(plan().dynamic.size(), 5u);
  std::optional<CompileResult> compiled = GetParam().compile(plan().dynamic.front(), GetParam().sizeNames());
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->image.symbols.size(), GetParam().sizeNames().size());
  for (const Sizes &sizes : plan().dynamic)
    checkOnEmulator(GetParam(), *compiled, sizes);
}

TEST_P(Kernels, MasksAreWhereTheyAreNeeded) {
  Accesses whole = machineAccesses(GetParam(), plan().aligned), odd = machineAccesses(GetParam(), plan().odd);
  EXPECT_GT(whole.loads, 0);
  EXPECT_GT(whole.stores, 0);
  EXPECT_EQ(whole.maskedLoads, 0);
  // Every lane of a group has the sum of a row; one of them writes it.
  EXPECT_EQ(whole.maskedStores, GetParam().entry->name == "row_sum" ? whole.stores : 0);
  EXPECT_GT(odd.maskedLoads, 0);
  EXPECT_GT(odd.maskedStores, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(allCases()), caseName);

} // namespace
} // namespace soliton::test
