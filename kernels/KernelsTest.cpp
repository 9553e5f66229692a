//===- KernelsTest.cpp - The kernels' texts, data and references ------------------===//
#include "kernels/Kernels.h"

#include "soliton/frontend/Bind.h"
#include "soliton/frontend/Program.h"
#include "soliton/support/Float.h"

#include "gtest/gtest.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

using namespace soliton;
using namespace soliton::kernels;

namespace {

Problem problemOf(const char *kernel, const char *variant, const Sizes &sizes, const ProblemOptions &options = {}) {
  const KernelEntry &entry = *findKernel(kernel);
  return makeProblem(entry, *entry.findVariant(variant), sizes, options);
}

TEST(Kernels, AreFoundByName) {
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
      for (const Target *target : allTargets()) {
        Substitutions subs;
        for (const DefaultSize &size : entry->sizes)
          subs.emplace_back(symbol(size.name), size.value);
        for (const DefaultSize &tile : entry->tilesFor(variant, *target))
          subs.emplace_back(symbol(tile.name), tile.value);
        for (const auto &derived : entry->derivedSubs())
          subs.push_back(derived);
        std::vector<Diagnostic> found;
        frontend::bindProgram(*kernel.program(), {.subs = subs, .target = target->name}, found);
        EXPECT_EQ(format(found), "") << entry->name << " " << variant.name << " " << target->name;
      }
    }
}

/// Tiles of keys that 4,096 causal queries by 192 see: the tile with the fewest queries is the one that sees one.
TEST(Kernels, CausalTilesEndWithTheQueries) {
  const KernelEntry &entry = *findKernel("attention_causal");
  Kernel kernel = entry.build(*entry.findVariant("f16"));
  auto [Q, KV, BQ, BKV] = symbols<"Q KV BLOCK_Q BLOCK_KV">();
  const auto *queries = kernel.program()->findFor<WorkgroupConstraint>(Q);
  const auto *keys = kernel.program()->findFor<TilingConstraint>(KV);
  auto at = [Q = Q, KV = KV, BQ = BQ, BKV = BKV](Expr expr, int64_t workgroup) {
    return sym::evaluate(expr, {{Q, 4096}, {KV, 4096}, {BQ, 192}, {BKV, 128}, {workgroup_id(0), workgroup}});
  };
  EXPECT_EQ(at(queries->options.apply_fn(workgroup_id(0)), 0), 64 - 192);
  EXPECT_EQ(at(queries->options.apply_fn(workgroup_id(0)), 21), 4096 - 192);
  int64_t steps = 0;
  for (int64_t workgroup = 0; workgroup < 22; ++workgroup)
    steps += at(*keys->options.iters, workgroup);
  EXPECT_EQ(at(*keys->options.iters, 0), 1);
  EXPECT_EQ(at(*keys->options.iters, 21), 32);
  EXPECT_EQ(steps, 363);
}

TEST(Kernels, ParametersAreWhatTheEntrySays) {
  for (const KernelEntry *entry : allKernels())
    for (const Variant &variant : entry->variants) {
      Kernel kernel = entry->build(variant);
      std::vector<ArgumentInfo> arguments = entry->arguments(variant);
      std::vector<frontend::Parameter> parameters = kernel.program()->parameters;
      std::erase_if(parameters, [](const frontend::Parameter &each) { return each.isAllocated; });
      ASSERT_EQ(parameters.size(), arguments.size()) << entry->name;
      for (size_t i = 0; i != arguments.size(); ++i) {
        const frontend::Parameter &parameter = parameters[i];
        EXPECT_EQ(parameter.name, arguments[i].name);
        EXPECT_EQ(parameter.type, arguments[i].type);
        ASSERT_EQ(parameter.shape.size(), arguments[i].dims.size());
        for (size_t d = 0; d != parameter.shape.size(); ++d)
          EXPECT_EQ(parameter.shape[d], sym::parse(arguments[i].dims[d]));
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
          sizes[size.name] =
              size.least == 1 && !entry->fixedSizes.empty() ? size.value : std::max<int64_t>(size.least, 9);
        Problem problem = makeProblem(*entry, variant, sizes, {.integers = integers, .nativeF8 = DType::f8e4m3fnuz});
        for (const Array &array : problem.arrays)
          EXPECT_EQ(decodeArray(array.type, encodeArray(array), array.shape), array.values);
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

TEST(Data, BeyondTheLargestNumberIsInfinity) {
  Problem problem;
  problem.arguments = {{"c", {"M"}, DType::f16, /*isOutput=*/true}};
  problem.arrays = {{.type = DType::f16}};
  Expected expected = roundedOutput(problem, {77129, 65503, -1e6, 3}, {8, 64, 8, 0.5}, /*exact=*/false);
  EXPECT_TRUE(compare(expected, std::vector<double>{INFINITY, INFINITY, -INFINITY, 3}).ok);
  EXPECT_TRUE(compare(expected, std::vector<double>{INFINITY, 65504, -INFINITY, 3}).ok);
  EXPECT_EQ(compare(expected, std::vector<double>{65504, 65504, -INFINITY, 3}).firstWrong, 0u);
  EXPECT_EQ(compare(expected, std::vector<double>{INFINITY, std::nan(""), -INFINITY, 3}).firstWrong, 1u);
  EXPECT_EQ(compare(expected, std::vector<double>{INFINITY, INFINITY, INFINITY, INFINITY}).firstWrong, 2u);
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

TEST(References, GemmMxfp4) {
  Problem problem = problemOf("gemm_mxfp4", "f4", {{"M", 1}, {"N", 1}, {"K", 64}});
  for (Array &array : problem.arrays)
    std::fill(array.values.begin(), array.values.end(), 0);
  problem.arrays[0].values[0] = 0x72;          // a[0] = 1, a[1] = 6
  problem.arrays[0].values[16] = -113;         // 0x8f: a[32] = -6, a[33] = -0
  problem.arrays[1].values[0] = 0x15;          // b[0] = 3, b[1] = 0.5
  problem.arrays[1].values[16] = 0x04;         // b[32] = 2
  problem.arrays[2].values = {127, 126};       // 1, 1/2
  problem.arrays[3].values = {128 - 256, 127}; // 2, 1
  EXPECT_EQ(findKernel("gemm_mxfp4")->reference(problem).values, (std::vector<double>{2 * (3 + 3) - 6}));
}

TEST(Data, ElementsThatShareBytesArePacked) {
  Array array{DType::f6e2m3fn, {2, 4}, {1, 0, 0, 0.125, 7.5, -7.5, 0, 0}};
  std::vector<std::byte> bytes = encodeArray(array);
  ASSERT_EQ(bytes.size(), 6u);
  EXPECT_EQ(bytes[0], std::byte{0x08});
  EXPECT_EQ(bytes[2], std::byte{0x04});
  EXPECT_EQ(decodeArray(array.type, bytes, array.shape), array.values);
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

/// Attention of one head with q, k, v as given, each [rows][1].
Problem attentionProblem(const char *kernel, std::vector<double> q, std::vector<double> k, std::vector<double> v,
                         Sizes more = {}) {
  Sizes sizes{
      {"B", 1}, {"H", 1}, {"Q", static_cast<int64_t>(q.size())}, {"KV", static_cast<int64_t>(k.size())}, {"D", 1}};
  sizes.merge(more);
  Problem problem = problemOf(kernel, "f16", sizes);
  problem.arrays[0].values = std::move(q);
  problem.arrays[1].values = std::move(k);
  problem.arrays[2].values = std::move(v);
  for (size_t i = 0; i != problem.arguments.size(); ++i)
    if (problem.arguments[i].name == "scale")
      problem.arrays[i].values = {1};
  return problem;
}

TEST(References, AttentionIsTheMeanByWeights) {
  Problem problem = attentionProblem("attention", {1}, {std::log(3.0), 0}, {4, 8});
  Expected expected = findKernel("attention")->reference(problem);
  EXPECT_NEAR(expected.values[0], 5, 1e-12);
  EXPECT_LT(expected.bounds[0], 0.02);
}

TEST(References, CausalAttentionSeesNoLaterKey) {
  Problem problem = attentionProblem("attention_causal", {1, 1}, {0, 0, 50}, {4, 8, 1000});
  Expected expected = findKernel("attention_causal")->reference(problem);
  EXPECT_NEAR(expected.values[0], 4, 1e-12);
  EXPECT_NEAR(expected.values[1], 6, 1e-12);
}

TEST(References, AWindowWithoutKeysGivesZero) {
  Problem problem = attentionProblem("attention_window", {1, 1, 1}, {0}, {4}, {{"WINDOW", 2}});
  Expected expected = findKernel("attention_window")->reference(problem);
  EXPECT_NEAR(expected.values[1], 4, 1e-12);
  EXPECT_EQ(expected.values[2], 0);
}

TEST(References, SharedHeadsAreNeighbours) {
  Problem problem = problemOf("attention_gqa", "f16", {{"B", 1}, {"H", 4}, {"H_KV", 2}, {"Q", 1}, {"KV", 1}, {"D", 1}});
  problem.arrays[2].values = {5, 7};
  EXPECT_EQ(findKernel("attention_gqa")->reference(problem).values, (std::vector<double>{5, 5, 7, 7}));
}

/// Sets an argument of a problem.
void set(Problem &problem, std::string_view name, const std::vector<double> &values) {
  for (size_t i = 0; i != problem.arguments.size(); ++i)
    if (problem.arguments[i].name == name)
      problem.arrays[i].values = values;
}

/// What both problems call the same.
void setAll(Problem &problem, const Problem &from, std::initializer_list<const char *> names) {
  for (const char *name : names)
    set(problem, name, from[name].values);
}

/// That numbers are how much the sum of `slopes` · the output grows with each element of an argument.
void expectSlopes(const KernelEntry &forward, Problem given, const char *argument, const std::vector<double> &slopes,
                  const std::vector<double> &expected) {
  auto total = [&] {
    std::vector<double> output = forward.reference(given).values;
    return std::inner_product(output.begin(), output.end(), slopes.begin(), 0.0);
  };
  std::vector<double> values = given[argument].values;
  for (size_t i = 0; i != values.size(); ++i) {
    std::vector<double> moved = values;
    moved[i] = values[i] + 1e-5;
    set(given, argument, moved);
    double above = total();
    moved[i] = values[i] - 1e-5;
    set(given, argument, moved);
    EXPECT_NEAR(expected[i], (above - total()) / 2e-5, 1e-7) << forward.name << " " << argument << " " << i;
  }
}

TEST(References, BackwardAttentionIsTheSlopeOfTheForwardOne) {
  Sizes sizes{{"B", 1}, {"H", 2}, {"Q", 3}, {"KV", 4}, {"D", 2}};
  for (std::string kind : {"attention", "attention_causal"}) {
    const KernelEntry &forward = *findKernel(kind + "_lse");
    Problem queries = problemOf((kind + "_backward_dq").c_str(), "f16", sizes, {.seed = 3});
    Problem keys = problemOf((kind + "_backward_dkv").c_str(), "f16", sizes);
    Problem given = problemOf(forward.name.c_str(), "f16", sizes);
    setAll(given, queries, {"q", "k", "v", "scale"});
    Expected o = forward.reference(given);
    set(queries, "o", o.values);
    set(queries, "lse", o.more[0].values);
    Expected ofQueries = findKernel(kind + "_backward_dq")->reference(queries);
    setAll(keys, queries, {"q", "k", "v", "do", "lse", "scale"});
    set(keys, "delta", ofQueries.more[0].values);
    Expected ofKeys = findKernel(kind + "_backward_dkv")->reference(keys);
    expectSlopes(forward, given, "q", queries["do"].values, ofQueries.values);
    expectSlopes(forward, given, "k", queries["do"].values, ofKeys.values);
    expectSlopes(forward, given, "v", queries["do"].values, ofKeys.more[0].values);
  }
}

TEST(References, BackwardNormsAreTheSlopesOfTheForwardOnes) {
  Sizes sizes{{"M", 3}, {"N", 4}};
  for (std::string kind : {"layer_norm", "rms_norm"}) {
    bool centred = kind == "layer_norm";
    const KernelEntry &forward = *findKernel(kind);
    Problem rows = problemOf((kind + "_backward").c_str(), "f32", sizes, {.seed = 2});
    Problem columns = problemOf((kind + "_backward_weights").c_str(), "f32", sizes);
    Problem given = problemOf(kind.c_str(), "f32", sizes, {.seed = 4});
    setAll(given, rows, {"a", "weight", "epsilon"});
    Expected ofRows = findKernel(kind + "_backward")->reference(rows);
    setAll(columns, rows, {"a", "db"});
    set(columns, "factor", ofRows.more.back().values);
    if (centred)
      set(columns, "mean", ofRows.more.front().values);
    Expected ofColumns = findKernel(kind + "_backward_weights")->reference(columns);
    expectSlopes(forward, given, "a", rows["db"].values, ofRows.values);
    expectSlopes(forward, given, "weight", rows["db"].values, ofColumns.values);
    if (centred)
      expectSlopes(forward, given, "shift", rows["db"].values, ofColumns.more[0].values);
  }
}

TEST(References, DecodeInTwoPhasesIsAttention) {
  Problem split = problemOf("attention_decode_split", "f16",
                            {{"B", 2}, {"H_KV", 2}, {"GROUP", 3}, {"SPLITS", 3}, {"KV", 7}, {"D", 2}}, {.seed = 5});
  set(split, "lengths", {4, 7});
  Problem combine =
      problemOf("attention_decode_combine", "f32", {{"B", 2}, {"H", 6}, {"SPLITS", 3}, {"D", 2}}, {.seed = 5});
  Expected parts = findKernel("attention_decode_split")->reference(split);
  set(combine, "part", parts.values);
  set(combine, "lse", parts.more[0].values);
  Problem whole =
      problemOf("attention_paged", "f16",
                {{"B", 2}, {"H", 6}, {"H_KV", 2}, {"Q", 1}, {"KV", 7}, {"D", 2}, {"PAGES", 2}, {"PAGE", 7}});
  setAll(whole, split, {"q", "k", "v", "lengths", "scale"});
  set(whole, "table", {0, 1});
  std::vector<double> expected = findKernel("attention_paged")->reference(whole).values;
  std::vector<double> found = findKernel("attention_decode_combine")->reference(combine).values;
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i != found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-12);
}

TEST(References, SlotsAreSortedByExpertsAndKeepTheirOrder) {
  Problem problem = problemOf("moe_sort", "i32", {{"M", 5}, {"E", 3}});
  set(problem, "experts", {2, 0, 2, 0, 0});
  Expected expected = findKernel("moe_sort")->reference(problem);
  EXPECT_EQ(expected.values, (std::vector<double>{0, 3, 3, 5}));
  EXPECT_EQ(expected.more[0].values, (std::vector<double>{1, 3, 4, 0, 2}));
}

TEST(References, AMixtureOfExpertsIsTheSumOfItsExpertsByWeights) {
  Sizes sizes{{"E", 2}, {"M", 4}, {"N", 1}, {"K", 1}, {"TOPK", 2}};
  Problem gather = problemOf("moe_gemm_gather", "f16", sizes);
  set(gather, "x", {1, 10});
  set(gather, "w", {2, 3});
  set(gather, "starts", {0, 1, 4});
  set(gather, "order", {1, 0, 2, 3});
  Expected rows = findKernel("moe_gemm_gather")->reference(gather);
  EXPECT_EQ(rows.values, (std::vector<double>{2, 3, 30, 30}));
  Problem scatter = problemOf("moe_gemm_scatter", "f16", sizes);
  set(scatter, "x", rows.values);
  set(scatter, "w", {1, 1});
  set(scatter, "starts", {0, 1, 4});
  set(scatter, "order", {1, 0, 2, 3});
  set(scatter, "weights", {0.25, 0.75, 0.5, 0.5});
  EXPECT_EQ(findKernel("moe_gemm_scatter")->reference(scatter).values, (std::vector<double>{2.25, 30}));
}

TEST(References, ALayerOfExpertsGoesFromLogitsToTokens) {
  Problem route = problemOf("moe_route", "f32", {{"T", 3}, {"E", 4}, {"TOPK", 2}}, {.seed = 9});
  Expected chosen = findKernel("moe_route")->reference(route);
  Problem sort = problemOf("moe_sort", "i32", {{"M", 6}, {"E", 4}});
  set(sort, "experts", chosen.values);
  Expected order = findKernel("moe_sort")->reference(sort);
  Sizes sizes{{"E", 4}, {"M", 6}, {"N", 2}, {"K", 2}, {"TOPK", 2}};
  Problem gather = problemOf("moe_gemm_gather", "f16", sizes, {.seed = 10}),
          scatter = problemOf("moe_gemm_scatter", "f16", sizes, {.seed = 11});
  for (Problem *problem : {&gather, &scatter}) {
    set(*problem, "starts", order.values);
    set(*problem, "order", order.more[0].values);
  }
  set(scatter, "x", findKernel("moe_gemm_gather")->reference(gather).values);
  set(scatter, "weights", chosen.more[0].values);
  std::vector<double> found = findKernel("moe_gemm_scatter")->reference(scatter).values;
  // Token by token, each expert that it goes to.
  auto matrix = [](const Problem &problem, double expert, size_t row, size_t column) {
    return problem["w"].values[static_cast<size_t>(expert) * 4 + row * 2 + column];
  };
  for (size_t t = 0; t != 3; ++t)
    for (size_t n = 0; n != 2; ++n) {
      double expected = 0;
      for (size_t slot = 2 * t; slot != 2 * t + 2; ++slot)
        for (size_t j = 0; j != 2; ++j)
          for (size_t k = 0; k != 2; ++k)
            expected += chosen.more[0].values[slot] * matrix(scatter, chosen.values[slot], n, j) *
                        matrix(gather, chosen.values[slot], j, k) * gather["x"].values[2 * t + k];
      EXPECT_NEAR(found[2 * t + n], expected, 1e-12);
    }
}

TEST(References, SpeculativeSamplingKeepsWhatIsLikelyAndDrawsByTheDifference) {
  Problem problem = problemOf("speculative_sampling", "f32", {{"B", 2}, {"S", 2}, {"V", 3}});
  set(problem, "draft", {0, 1, 2, 0});
  set(problem, "p", {0.5, 0.25, 0.25, 0.25, 0.25, 0.5, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0.25, 0.25, 0.5});
  set(problem, "q", {0.5, 0.5, 0, 0, 1, 0, 0, 0, 1, 0.5, 0.5, 0});
  set(problem, "u", {0.9, 0.5, 0.9, 0.9});
  set(problem, "r", {0.5, 0.75});
  Expected expected = findKernel("speculative_sampling")->reference(problem);
  // The second token is kept with 1/4 only, and in its place comes 0 (1/4) or 2 (1/2); then all are kept.
  EXPECT_EQ(expected.values, (std::vector<double>{0, 2, -1, 2, 0, 2}));
  EXPECT_EQ(expected.bounds, std::vector<double>(6));
  EXPECT_EQ(expected.more[0].values, (std::vector<double>{1, 2}));
}

TEST(References, PreshuffledWeightsComeInRunsOfEight) {
  Problem problem = problemOf("gemm_preshuffled", "f16", {{"M", 1}, {"N", 2}, {"K", 9}});
  std::vector<double> b(512);
  b[1] = 1;            // row 0, k = 1
  b[8 + 7] = 10;       // row 1, k = 7
  b[16 * 8] = 100;     // row 0, k = 8
  b[16 * 8 + 1] = 1e4; // row 0, k = 9, which is outside
  set(problem, "a", {1, 2, 3, 4, 5, 6, 7, 8, 9});
  set(problem, "b", b);
  EXPECT_EQ(findKernel("gemm_preshuffled")->reference(problem).values, (std::vector<double>{902, 80}));
}

TEST(References, GemmTnReadsBothByK) {
  Problem problem = problemOf("gemm_tn", "f16", {{"M", 2}, {"N", 1}, {"K", 2}});
  problem.arrays[0].values = {1, 2, 3, 4};
  problem.arrays[1].values = {10, 100};
  EXPECT_EQ(findKernel("gemm_tn")->reference(problem).values, (std::vector<double>{310, 420}));
}

TEST(References, FourBitWeightsAreSignedAndTheEvenOneIsLow) {
  Problem problem = problemOf("gemm_w4", "f16", {{"M", 1}, {"N", 1}, {"K", 3}, {"GROUP", 2}});
  problem.arrays[0].values = {1, 10, 100};
  problem.arrays[1].values = {static_cast<int8_t>(0x7f), 0x08}; // -1, 7, then -8 and nothing
  problem.arrays[2].values = {1, 0.5};
  EXPECT_EQ(findKernel("gemm_w4")->reference(problem).values, (std::vector<double>{-1 + 70 - 400}));
}

TEST(References, LayerNorm) {
  Problem problem = problemOf("layer_norm", "f32", {{"M", 1}, {"N", 2}});
  problem.arrays[0].values = {1, 3};
  problem.arrays[1].values = {1, 2};
  problem.arrays[2].values = {0, 5};
  problem.arrays[3].values = {3};
  Expected expected = findKernel("layer_norm")->reference(problem);
  EXPECT_NEAR(expected.values[0], -0.5, 1e-15);
  EXPECT_NEAR(expected.values[1], 6, 1e-15);
}

TEST(References, RopeTurnsPairs) {
  for (const auto &[kernel, turned] : {std::pair("rope", std::vector<double>{-3, -4, 1, 2}),
                                       std::pair("rope_interleaved", std::vector<double>{-2, 1, -4, 3})}) {
    Problem problem = problemOf(kernel, "f32", {{"B", 1}, {"S", 1}, {"H", 1}, {"D", 4}});
    problem.arrays[0].values = {1, 2, 3, 4};
    problem.arrays[1].values = {0, 0};
    problem.arrays[2].values = {1, 1};
    EXPECT_EQ(findKernel(kernel)->reference(problem).values, turned) << kernel;
  }
}

TEST(References, ConvolutionPadsWithZeros) {
  Problem problem = problemOf(
      "conv1d", "f16", {{"B", 1}, {"W", 3}, {"C", 1}, {"F", 1}, {"S", 2}, {"STRIDE", 1}, {"PAD", 1}, {"DILATION", 2}});
  problem.arrays[0].values = {1, 2, 3};
  problem.arrays[1].values = {1, 10};
  EXPECT_EQ(problem.output().shape, (std::vector<int64_t>{1, 3, 1}));
  EXPECT_EQ(findKernel("conv1d")->reference(problem).values, (std::vector<double>{20, 31, 2}));
}

/// What docs/kernels.md has to say, between its marks.
std::string tableOfKernels() {
  auto listed = [](const auto &list, auto name) {
    std::string text;
    for (const auto &each : list)
      text += (text.empty() ? "" : ", ") + std::string(name(each));
    return text;
  };
  std::string text = "<!-- kernels -->\n| family | kernel | computes | types | sizes | fixed |\n"
                     "| --- | --- | --- | --- | --- | --- |\n";
  for (const KernelEntry *entry : allKernels()) {
    auto nameOf = [](const auto &each) { return each.name; };
    text += "| " + entry->family + " | `" + entry->name + "` | " + entry->description + " | " +
            listed(entry->variants, nameOf) + " | " + listed(entry->sizes, nameOf) + " | " +
            listed(entry->fixedSizes, [](const std::string &name) { return name; }) + " |\n";
  }
  return text + "<!-- /kernels -->";
}

TEST(Documentation, ListsEveryKernel) {
  std::filesystem::path page = std::filesystem::path(__FILE__).parent_path() / "../docs/kernels.md";
  std::ifstream file(page);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string table = tableOfKernels();
  EXPECT_NE(text.find(table), std::string::npos) << "the page lacks this table:\n" << table;
}

} // namespace
