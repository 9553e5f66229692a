//===- KernelsTest.cpp - Every kernel, on every target, at every kind of size --------------===//
//
// From the kernel's text to numbers: compiled by the public door, run by the emulator with all of its checks and an
// adversarial scheduler, and held against the kernel's own reference.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/Plans.h"
#include "test/e2e/Support.h"

#include <sstream>

namespace soliton::test {
namespace {
using kernels::Sizes;

class Kernels : public testing::TestWithParam<Case> {
protected:
  /// Compiles for these sizes and checks at them.
  void check(const Case &which, const Sizes &sizes) {
    if (std::optional<CompileResult> compiled = which.compile(sizes))
      checkOnEmulator(which, *compiled, sizes);
  }

  /// Compiles once and checks at five sizes, the smallest among them.
  void checkDynamic() {
    ASSERT_EQ(plan().dynamic.size(), 5u);
    std::vector<std::string> open = GetParam().entry->dynamicSizes();
    std::optional<CompileResult> compiled = GetParam().compile(plan().dynamic.front(), open);
    ASSERT_TRUE(compiled);
    EXPECT_EQ(compiled->image.symbols.size(), open.size());
    for (const Sizes &sizes : plan().dynamic)
      checkOnEmulator(GetParam(), *compiled, sizes);
  }

  Plan plan() const { return planFor(*GetParam().entry); }
};

/// Loads and stores of the machine form's text, atomics among them, and those with a mask.
struct Accesses {
  int loads = 0, stores = 0, maskedLoads = 0, maskedStores = 0;
};
Accesses accessesOf(const std::string &machine) {
  Accesses found;
  std::istringstream lines(machine);
  for (std::string line; std::getline(lines, line);) {
    bool load = line.find("machine.load ") != std::string::npos,
         store = line.find("machine.store ") != std::string::npos || line.find("machine.atomic ") != std::string::npos;
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
  check(GetParam(), plan().one);
}

TEST_P(Kernels, SeveralOtherTiles) {
  Case other = GetParam();
  other.tiles = plan().tiles;
  check(other, plan().larger);
}

TEST_P(Kernels, CompiledOnceRunAtFiveSizes) {
  checkDynamic();
}

TEST_P(Kernels, MasksAreWhereTheyAreNeeded) {
  Accesses whole = machineAccesses(GetParam(), plan().aligned), odd = machineAccesses(GetParam(), plan().odd);
  EXPECT_GT(whole.loads, 0);
  EXPECT_GT(whole.stores, 0);
  EXPECT_EQ(whole.maskedLoads, 0);
  // Every lane of a group has what a row becomes; one of them writes it.
  bool isOnePerRow = GetParam().entry->name == "row_sum" || GetParam().entry->name == "row_argmax";
  EXPECT_EQ(whole.maskedStores, isOnePerRow ? whole.stores : 0);
  EXPECT_GT(odd.maskedLoads, 0);
  EXPECT_GT(odd.maskedStores, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(mainCases()), caseName);

class KernelsWithOptions : public Kernels {};

TEST_P(KernelsWithOptions, WholeTiles) {
  check(GetParam(), plan().aligned);
}

TEST_P(KernelsWithOptions, OddSizes) {
  check(GetParam(), plan().odd);
}

TEST_P(KernelsWithOptions, CompiledOnceRunAtFiveSizes) {
  checkDynamic();
}

INSTANTIATE_TEST_SUITE_P(All, KernelsWithOptions, testing::ValuesIn(optionCases()), caseName);

class KernelsOfOtherTypes : public Kernels {};

TEST_P(KernelsOfOtherTypes, OddSizes) {
  check(GetParam(), plan().odd);
}

INSTANTIATE_TEST_SUITE_P(All, KernelsOfOtherTypes, testing::ValuesIn(otherTypes()), caseName);

} // namespace
} // namespace soliton::test
