//===- KernelsTest.cpp - The kernels' texts, data and references ------------------===//
#include "kernels/Kernels.h"

#include "soliton/frontend/Bind.h"
#include "soliton/frontend/Program.h"
#include "soliton/support/Float.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace soliton;
using namespace soliton::kernels;

namespace {

Problem problemOf(const char *kernel, const char *variant, const Sizes &sizes, const ProblemOptions &options = {}) {
  const KernelEntry &entry = *findKernel(kernel);
  return makeProblem(entry, *entry.findVariant(variant), sizes, options);
}

TEST(Kernels, AreFoundByName) {
  EXPECT_EQ(allKernels().size(), 8u);
  for (const KernelEntry *entry : allKernels())
    EXPECT_EQ(findKernel(entry->name), entry);
  EXPECT_EQ(findKernel("gem"), nullptr);
  EXPECT_EQ(findKernel("gemm")->findVariant("f17"), nullptr);
}

TEST(Kernels, EveryVariantIsRightOnEveryTarget) {
  for (const KernelEntry *entry : allKernels())
    for (const Variant &variant : entry->variants) {
      Kernel kernel = entry->build(variant);
      EXPECT_EQ(format(kernel.diagnostics()), "") << entry->name << " " << variant.name;
      EXPECT_EQ(kernel.name(), entry->name);
      Substitutions subs;
      for (const DefaultSize &size : entry->sizes)
        subs.emplace_back(symbol(size.name), size.value);
      for (const DefaultSize &tile : entry->tilesFor(variant))
        subs.emplace_back(symbol(tile.name), tile.value);
      for (const Target *target : allTargets()) {
        std::vector<Diagnostic> found;
        frontend::bindProgram(*kernel.program(), {.subs = subs, .target = target->name}, found);
        EXPECT_EQ(format(found), "") << entry->name << " " << variant.name << " " << target->name;
      }
    }
}

TEST(Kernels, ParametersAreWhatTheEntrySays) {
  for (const KernelEntry *entry : allKernels())
    for (const Variant &variant : entry->variants) {
      Kernel kernel = entry->build(variant);
      std::vector<ArgumentInfo> arguments = entry->arguments(variant);
      ASSERT_EQ(kernel.program()->parameters.size(), arguments.size()) << entry->name;
      for (size_t i = 0; i != arguments.size(); ++i) {
        const frontend::Parameter &parameter = kernel.program()->parameters[i];
        EXPECT_EQ(parameter.name, arguments[i].name);
        EXPECT_EQ(parameter.type, arguments[i].type);
        ASSERT_EQ(parameter.shape.size(), arguments[i].dims.size());
        for (size_t d = 0; d != parameter.shape.size(); ++d)
          EXPECT_EQ(parameter.shape[d], symbol(arguments[i].dims[d]));
      }
    }
}

TEST(Data, SameSeedSameNumbers) {
  Problem first = problemOf("gemm", "f16", {{"M", 3}, {"N", 4}, {"K", 5}}, {.seed = 7});
  Problem again = problemOf("gemm", "f16", {{"M", 3}, {"N", 4}, {"K", 5}}, {.seed = 7});
  Problem other = problemOf("gemm", "f16", {{"M", 3}, {"N", 4}, {"K", 5}}, {.seed = 8});
  EXPECT_EQ(first["a"].values, again["a"].values);
  EXPECT_NE(first["a"].values, other["a"].values);
  EXPECT_EQ(first["b"].shape, (std::vector<int64_t>{4, 5}));
  EXPECT_TRUE(first["c"].values.empty());
}

TEST(Data, NumbersAreRepresentable) {
  for (const KernelEntry *entry : allKernels())
    for (const Variant &variant : entry->variants)
      for (bool integers : {false, true}) {
        Sizes sizes;
        for (const DefaultSize &size : entry->sizes)
          sizes[size.name] = 9;
        Problem problem = makeProblem(*entry, variant, sizes, {.integers = integers, .nativeF8 = DType::f8e4m3fnuz});
        for (const Array &array : problem.arrays)
          EXPECT_EQ(decodeArray(array.type, encodeArray(array)), array.values);
      }
}

TEST(Data, ComparisonRejectsWhatIsWrong) {
  Expected expected{.values = {1, 2}, .bounds = {0.1, 0}};
  EXPECT_TRUE(compare(expected, std::vector<double>{1.05, 2}).ok);
  EXPECT_DOUBLE_EQ(compare(expected, std::vector<double>{1.05, 2}).errorBound, 0.1);
  EXPECT_FALSE(compare(expected, std::vector<double>{1.2, 2}).ok);
  EXPECT_FALSE(compare(expected, std::vector<double>{1, std::nan("")}).ok);
  EXPECT_EQ(compare(expected, std::vector<double>{1, 2.5}).firstWrong, 1u);
  EXPECT_FALSE(compare(expected, std::vector<double>{1}).ok);
}

TEST(Data, HalfUlp) {
  EXPECT_EQ(halfUlp(DType::f32, 1.0), 0x1p-24);
  EXPECT_EQ(halfUlp(DType::f16, 1.5), 0x1p-11);
  EXPECT_EQ(halfUlp(DType::f16, 0.0), 0x1p-25);
  EXPECT_EQ(halfUlp(DType::i32, 5.0), 0.0);
}

TEST(References, Gemm) {
  Problem problem = problemOf("gemm", "f16", {{"M", 1}, {"N", 2}, {"K", 3}});
  problem.arrays[0].values = {1, 2, 3};
  problem.arrays[1].values = {1, 0, -1, 4, 5, 6};
  Expected expected = findKernel("gemm")->reference(problem);
  EXPECT_EQ(expected.values, (std::vector<double>{-2, 32}));
  EXPECT_DOUBLE_EQ(expected.bounds[1], 6 * 0x1p-24 * 32 + 0x1p-19);
}

TEST(References, GemmNn) {
  Problem problem = problemOf("gemm_nn", "i8", {{"M", 1}, {"N", 2}, {"K", 3}});
  problem.arrays[0].values = {1, 2, 3};
  problem.arrays[1].values = {1, 4, 0, 5, -1, 6};
  Expected expected = findKernel("gemm_nn")->reference(problem);
  EXPECT_EQ(expected.values, (std::vector<double>{-2, 32}));
  EXPECT_EQ(expected.bounds, (std::vector<double>{0, 0}));
}

TEST(References, IntegersAreExact) {
  Problem problem = problemOf("gemm", "bf16-bf16", {{"M", 1}, {"N", 1}, {"K", 1}}, {.integers = true});
  problem.arrays[0].values = {3};
  problem.arrays[1].values = {257}; // 771 is no bf16: the right result is the nearest one
  Expected expected = findKernel("gemm")->reference(problem);
  EXPECT_EQ(expected.values[0], roundTo(DType::bf16, 771));
  EXPECT_EQ(expected.bounds[0], 0);
}

TEST(References, Transpose) {
  Problem problem = problemOf("transpose", "f32", {{"M", 2}, {"N", 3}});
  problem.arrays[0].values = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(findKernel("transpose")->reference(problem).values, (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(References, Axpy) {
  Problem problem = problemOf("axpy", "f32", {{"M", 2}}, {.integers = true});
  problem.arrays[0].values = {2};
  problem.arrays[1].values = {1, -3};
  problem.arrays[2].values = {5, 7};
  EXPECT_EQ(findKernel("axpy")->reference(problem).values, (std::vector<double>{7, 1}));
}

TEST(References, Gelu) {
  Problem problem = problemOf("gelu", "f32", {{"M", 1}, {"N", 3}});
  problem.arrays[0].values = {0, 1, -1};
  Expected expected = findKernel("gelu")->reference(problem);
  EXPECT_EQ(expected.values[0], 0);
  EXPECT_NEAR(expected.values[1], 0.8413447460685429, 1e-15);
  EXPECT_NEAR(expected.values[2], -0.15865525393145707, 1e-15);
}

TEST(References, RowSum) {
  Problem problem = problemOf("row_sum", "f16", {{"M", 2}, {"N", 3}});
  problem.arrays[0].values = {1, 2, 3, -4, 5, -6};
  EXPECT_EQ(findKernel("row_sum")->reference(problem).values, (std::vector<double>{6, -5}));
}

TEST(References, RowSoftmax) {
  Problem problem = problemOf("row_softmax", "f32", {{"M", 1}, {"N", 2}});
  problem.arrays[0].values = {std::log(3.0), 0};
  Expected expected = findKernel("row_softmax")->reference(problem);
  EXPECT_NEAR(expected.values[0], 0.75, 1e-15);
  EXPECT_NEAR(expected.values[1], 0.25, 1e-15);
  EXPECT_LT(expected.bounds[0], 1e-5);
}

} // namespace
