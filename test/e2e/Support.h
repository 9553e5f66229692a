//===- Support.h - Kernels of the library, compiled and run for tests -----------------===//
//
// One kernel for one target, and one launch of it between guard zones:
//
//   Case gemm{findKernel("gemm"), variant, target};
//   CompileResult compiled = gemm.compile({{"M", 127}, {"N", 131}, {"K", 77}});
//   EXPECT_TRUE(gemm.launch(*device->load(compiled.image), sizes, {.integers = true}));
//
//===----------------------------------------------------------------------===//
#pragma once

#include "kernels/Kernels.h"
#include "soliton/driver/Compile.h"
#include "soliton/runtime/EmulatorDevice.h"
#include "soliton/target/Target.h"

#include "gtest/gtest.h"

namespace soliton::test {

/// What is compiled; everything but the sizes.
struct Case {
  const kernels::KernelEntry *entry;
  const kernels::Variant *variant;
  const Target *target;
  /// Tiles that differ from the variant's.
  kernels::Sizes tiles = {};
  bool directCopies = false;
  /// An algorithm or a schedule that ships.
  std::string schedule = "none";
  RowPadding paddedRows = RowPadding::automatic;

  /// `gemm_nn_f8_f16_gfx942`, as a test may be called.
  std::string name() const;
  /// Sizes that are in `dynamic` are left to the launch.
  CompileOptions options(const kernels::Sizes &sizes, const std::vector<std::string> &dynamic = {}) const;
  /// Fails the test where it does not compile.
  std::optional<CompileResult> compile(const kernels::Sizes &sizes, const std::vector<std::string> &dynamic = {},
                                       const std::vector<Artefact> &keep = {}) const;
  /// The problem at these sizes; f8 is the target's.
  kernels::Problem problem(const kernels::Sizes &sizes, bool integers, uint64_t seed = 1) const;
  /// Whether the result is right, guard zones are intact and inputs untouched; the output starts as NaN patterns.
  testing::AssertionResult launch(rt::Device &device, rt::LoadedKernel &kernel, const kernels::Sizes &sizes,
                                  bool integers) const;
};

/// Compiled for these sizes (or any), run by the emulator with its checks and held against the reference: exact and
/// random inputs, under one interleaving of the waves; under two where the problem is small.
void checkOnEmulator(const Case &which, const CompileResult &compiled, const kernels::Sizes &sizes);

/// Every kernel of the library, every choice of element types, every target.
std::vector<Case> allCases();
/// Those that get every test: kernels with a text of their own; of the later ones one choice of element types.
std::vector<Case> mainCases();
/// Kernels that differ from one of those by an option.
std::vector<Case> optionCases();
/// The other choices of element types.
std::vector<Case> otherTypes();
/// The matrix products, with direct copies.
std::vector<Case> directCases();

/// `gemm` for a target under a schedule: two matrix instructions along K at least, as many waves as the schedule wants.
Case scheduled(const Target &target, const std::string &schedule, const char *variant = "f16");
/// The matrix product under every algorithm and every schedule that ships, on every target.
std::vector<Case> scheduledCases();

/// How a test's parameter is called.
inline std::string caseName(const testing::TestParamInfo<Case> &info) {
  return info.param.name();
}
inline void PrintTo(const Case &which, std::ostream *stream) {
  *stream << which.name();
}

} // namespace soliton::test
