//===- InPlaceTest.cpp - One array as input and as output -----------------------------===//
//
// A launch takes one array for an input and an output where each element is read before the same wave writes it; then
// the result is what it is with an array of its own. Every other overlap is refused. The emulator judges the accesses:
// it knows which views are one memory.
//
//===----------------------------------------------------------------------===//
#include "soliton/soliton.h"
#include "soliton/target/Target.h"

#include "gtest/gtest.h"

#include <cmath>
#include <numeric>

namespace soliton::test {
namespace {

class InPlace : public testing::TestWithParam<const Target *> {
protected:
  CompiledKernel compiled(const Kernel &kernel, lang::Substitutions subs, const std::vector<Expr> &dynamic = {}) {
    CompileOptions options;
    options.target = GetParam()->name;
    options.subs = std::move(subs);
    options.dynamic = dynamic;
    options.device = "emulator";
    return compile(kernel, options);
  }

  /// Two dimensions in tiles, four waves one above the other.
  static std::vector<Constraint> tiles() {
    auto [M, N] = symbols<"M N">();
    return {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), WaveConstraint(M, 16), HardwareConstraint{}};
  }

  static std::vector<float> numbers(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
  }

  /// The id of what a launch reports; empty if it runs.
  template <typename... Arguments>
  static std::string refusal(const CompiledKernel &run, const Arguments &...arguments) {
    try {
      run(arguments...);
    } catch (const CompileError &error) {
      return std::string(idText(error.diagnostics().front().id));
    }
    return "";
  }
};

TEST_P(InPlace, Add) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"add", tiles()};
  auto a = kernel.memory("a", {M, N}, global, f32), b = kernel.memory("b", {M, N}, global, f32);
  auto c = kernel.memory("c", {M, N}, global, f32);
  write(read(a) + read(b), c);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{128, 128}, {70, 131}}) {
    CompiledKernel run = compiled(kernel, {{M, m}, {N, n}});
    std::vector<float> x = numbers(m * n), y(x.size(), 0.5f), before = x;
    rt::Tensor both = rt::Tensor::of(x, {m, n});
    run(both, rt::Tensor::of(y, {m, n}), both);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(x[i], before[i] + 0.5f) << i;
    // All three.
    run(both, both, both);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(x[i], 2 * (before[i] + 0.5f)) << i;
  }
}

TEST_P(InPlace, SizesThatAreKnownAtLaunch) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"halve", tiles()};
  auto a = kernel.memory("a", {M, N}, global, f32), b = kernel.memory("b", {M, N}, global, f32);
  write(read(a) * 0.5, b);
  CompiledKernel run = compiled(kernel, {}, {M, N});
  std::vector<float> x = numbers(33 * 65), before = x;
  rt::Tensor both = rt::Tensor::of(x, {33, 65});
  run(both, both);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(x[i], before[i] / 2) << i;
}

TEST_P(InPlace, SoftmaxReadsARowTwiceBeforeItIsWritten) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"softmax",
                {WorkgroupConstraint(M, 16, 0), TilingConstraint(N, 256), WaveConstraint(M, 4), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, f32), b = kernel.memory("b", {M, N}, global, f32);
  auto [largest, total] =
      kernel.iterate(N, {kernel.fill({M}, f32, -INFINITY), kernel.fill({M}, f32, 0.0)}, [&](Value before, Value acc) {
        Value x = read(a), now = max(x, before, N);
        return std::tuple{now, sum(exp(x - now), acc * exp(before - now), N)};
      });
  kernel.iterate(N, [&] { write(exp(read(a) - largest) / total, b); });
  int64_t m = 19, n = 601;
  CompiledKernel run = compiled(kernel, {{M, m}, {N, n}});
  std::vector<float> x(static_cast<size_t>(m * n)), apart(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i));
  run(rt::Tensor::of(x, {m, n}), rt::Tensor::of(apart, {m, n}));
  rt::Tensor both = rt::Tensor::of(x, {m, n});
  run(both, both);
  EXPECT_EQ(x, apart);
}

TEST_P(InPlace, TranspositionIsRefused) {
  auto [M, N] = symbols<"M N">();
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  for (int64_t wave : {64, 16}) {
    Kernel kernel{
        "transpose",
        {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), WaveConstraint(M, wave), HardwareConstraint{}}};
    auto a = kernel.memory("a", {M, N}, global, f32), b = kernel.memory("b", {M, N}, global, f32);
    write(
        read(a, {.mapping = IndexMapping{.num_iterators = 2, .inputs = {{M, j}, {N, i}}, .outputs = {{M, i}, {N, j}}}}),
        b);
    CompiledKernel run = compiled(kernel, {{M, 128}, {N, 128}});
    std::vector<float> x = numbers(128 * 128), y(x.size());
    rt::Tensor square = rt::Tensor::of(x, {128, 128});
    EXPECT_EQ(refusal(run, square, rt::Tensor::of(y, {128, 128})), "");
    EXPECT_EQ(y[1], x[128]);
    EXPECT_EQ(refusal(run, square, square), "argument-overlap");
  }
}

TEST_P(InPlace, WhatOthersReadIsRefused) {
  auto [M, N, K] = symbols<"M N K">();
  // Neighbours: the element before is another wave's, or another workgroup's.
  Kernel shift{"shift", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
  auto x = shift.memory("x", {M}, global, f32), y = shift.memory("y", {M}, global, f32);
  auto i = IndexMapping::iterator(0);
  write(read(x, {.mapping = IndexMapping{.num_iterators = 1, .inputs = {{M, i - 1}}, .outputs = {{M, i}}}}), y);
  CompiledKernel run = compiled(shift, {{M, 256}});
  std::vector<float> line = numbers(256);
  EXPECT_EQ(refusal(run, rt::Tensor::of(line, {256}), rt::Tensor::of(line, {256})), "argument-overlap");
  // A product: every workgroup of a row reads that row of `a`.
  Kernel product{
      "product",
      {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 32), HardwareConstraint{}}};
  auto a = product.memory("a", {M, K}, global, f16), b = product.memory("b", {N, K}, global, f16);
  auto c = product.memory("c", {M, N}, global, f16);
  write(cast(product.iterate(K, product.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); }),
             f16),
        c);
  CompiledKernel multiply = compiled(product, {{M, 64}, {N, 64}, {K, 64}});
  std::vector<uint16_t> half(64 * 64), other(64 * 64);
  rt::Tensor square = rt::Tensor::dense(half.data(), DType::f16, {64, 64});
  EXPECT_EQ(refusal(multiply, square, rt::Tensor::dense(other.data(), DType::f16, {64, 64}), square),
            "argument-overlap");
}

TEST_P(InPlace, OtherOverlapsAreRefused) {
  auto [M] = symbols<"M">();
  Kernel kernel{"twice", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M}, global, f32), b = kernel.memory("b", {M}, global, f32);
  auto c = kernel.memory("c", {M}, global, f32);
  Value value = read(a);
  write(value + 1.0, b);
  write(value + 2.0, c);
  CompiledKernel run = compiled(kernel, {{M, 128}});
  std::vector<float> memory = numbers(512);
  auto at = [&](int64_t first) { return rt::Tensor::dense(memory.data() + first, DType::f32, {128}); };
  EXPECT_EQ(refusal(run, at(0), at(0), at(128)), "");
  EXPECT_EQ(refusal(run, at(0), at(128), at(0)), "");
  EXPECT_EQ(refusal(run, at(0), at(64), at(256)), "argument-overlap");
  // Which of two writes of one element is the last one, nobody says.
  EXPECT_EQ(refusal(run, at(0), at(128), at(128)), "argument-overlap");
  EXPECT_EQ(refusal(run, at(0), at(0), at(0)), "argument-overlap");
}

TEST_P(InPlace, ImagesSayWhatIsReadAndWritten) {
  auto [M] = symbols<"M">();
  Kernel kernel{"update", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M}, global, f32), b = kernel.memory("b", {M}, global, f32);
  auto c = kernel.memory("c", {M}, global, f32);
  write(read(a) + read(b), b);
  write(kernel.fill({M}, f32, 1.0), c);
  CompiledKernel run = compiled(kernel, {{M, 128}});
  const rt::KernelImage &image = run.compiled().image;
  auto flags = [&](size_t n) { return std::pair{image.arguments[n].isRead, image.arguments[n].isOutput}; };
  EXPECT_EQ(flags(0), std::pair(true, false));
  EXPECT_EQ(flags(1), std::pair(true, true));
  EXPECT_EQ(flags(2), std::pair(false, true));
}

INSTANTIATE_TEST_SUITE_P(All, InPlace, testing::ValuesIn(allTargets()),
                         [](const auto &info) { return info.param->name; });

} // namespace
} // namespace soliton::test
