//===- AutoRowsTest.cpp - Tiles that `auto` takes for rows and streams ------------------===//
#include "soliton/driver/Auto.h"
#include "soliton/soliton.h"
#include "soliton/support/Float.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace soliton {
namespace {

/// b[M, N] = a - the largest of the row: one loop finds it, one writes.
Kernel belowLargest() {
  auto [M, N, BM, BN, WM, WN] = symbols<"M N BM BN WM WN">();
  Kernel rows{"below_largest",
              {WorkgroupConstraint(M, BM, 0), TilingConstraint(N, BN), WaveConstraint(M, BM / WM),
               WaveConstraint(N, BN / WN), HardwareConstraint{}}};
  auto a = rows.memory("a", {M, N}, global, f16), b = rows.memory("b", {M, N}, global, f16);
  Value lowest = rows.fill({M}, f32, -std::numeric_limits<double>::infinity());
  Value largest = rows.iterate(N, lowest, [&](Value before) { return max(cast(read(a), f32), before, N); });
  rows.iterate(N, [&] { write(cast(cast(read(a), f32) - largest, f16), b); });
  return rows;
}

/// b = a, or its transpose.
Kernel moved(bool turned) {
  auto [M, N, BM, BN] = symbols<"M N BM BN">();
  Kernel kernel{
      "moved",
      {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, f16);
  auto b = turned ? kernel.memory("b", {N, M}, global, f16) : kernel.memory("b", {M, N}, global, f16);
  write(turned ? permute(read(a), {N, M}) : read(a), b);
  return kernel;
}

/// o[M, D] = (q[M, D] · k[N, D]ᵀ) · v[D, N]ᵀ by one wave, which walks N.
Kernel chain() {
  auto [M, N, D, BN] = symbols<"M N D BN">();
  Kernel kernel{"chain",
                {WorkgroupConstraint(M, 16, 0), WorkgroupConstraint(D, 32, 1, {.iters = 1}), TilingConstraint(N, BN),
                 HardwareConstraint{}}};
  auto q = kernel.memory("q", {M, D}, global, f16);
  auto k = kernel.memory("k", {N, D}, shared, f16), v = kernel.memory("v", {D, N}, shared, f16);
  auto o = kernel.memory("o", {M, D}, global, f32);
  Value query = read(q);
  Value sums = kernel.iterate(N, kernel.fill({M, D}, f32, 0.0), [&](Value acc) {
    Value scores = mma(query, read(k), kernel.fill({M, N}, f32, 0.0));
    return mma(cast(scores, f16), read(v), acc);
  });
  write(sums, o);
  return kernel;
}

CompileOptions options(int64_t m, int64_t n, const std::string &target = "sm_90a") {
  auto [M, N, BM, BN, WM, WN] = symbols<"M N BM BN WM WN">();
  CompileOptions options{.target = target, .subs = {{M, m}, {N, n}}, .device = "emulator"};
  options.defaults = {{BM, 16}, {BN, 64}, {WM, 4}, {WN, 1}};
  options.schedule.name = "auto";
  options.cache = false;
  return options;
}

int64_t boundTo(const AutoChoice &choice, const std::string &name) {
  for (const auto &[symbol, value] : choice.options.subs)
    if (symbol.symbolName() == name)
      return *value.constantValue();
  return -1;
}

TEST(AutoRows, FewWavesKeepARow) {
  AutoChoice wide = chooseAutomatically(belowLargest(), options(8192, 8192)).front();
  EXPECT_EQ(boundTo(wide, "BM"), 1);
  EXPECT_EQ(boundTo(wide, "BN"), 8192);
  EXPECT_EQ(boundTo(wide, "WN"), 8);
  EXPECT_EQ(wide.options.workgroupsPerUnit, 4);
  EXPECT_EQ(wide.options.schedule.name, "none");
  AutoChoice narrow = chooseAutomatically(belowLargest(), options(65536, 1024)).front();
  EXPECT_EQ(boundTo(narrow, "BN"), 1024);
  EXPECT_EQ(boundTo(narrow, "WN"), 2);
  EXPECT_EQ(narrow.options.workgroupsPerUnit, 0);
  // The tile is larger than the row, which ends inside of it.
  AutoChoice odd = chooseAutomatically(belowLargest(), options(100, 777)).front();
  EXPECT_EQ(boundTo(odd, "BN"), 1024);
  // As many waves as the row needs.
  AutoChoice five = chooseAutomatically(belowLargest(), options(100, 5000)).front();
  EXPECT_EQ(boundTo(five, "BN"), 5120);
  EXPECT_EQ(boundTo(five, "WN"), 5);
  // One wave a row: several rows a workgroup.
  AutoChoice low = chooseAutomatically(belowLargest(), options(100, 500)).front();
  EXPECT_EQ(boundTo(low, "BM"), 4);
  EXPECT_EQ(boundTo(low, "WM"), 4);
  EXPECT_EQ(boundTo(low, "BN"), 512);
}

TEST(AutoRows, OtherwiseTilesAreTheKernels) {
  auto [N, BN] = symbols<"N BN">();
  auto only = [](const CompileOptions &options) { return chooseAutomatically(belowLargest(), options); };
  // Rows that are too short or too long to be worth it.
  for (int64_t n : {8, 60, 40000}) {
    ASSERT_EQ(only(options(64, n)).size(), 1u) << n;
    EXPECT_EQ(boundTo(only(options(64, n)).front(), "BN"), 64) << n;
  }
  // The author's tile, and a length that only the launch knows.
  CompileOptions said = options(64, 1024);
  said.subs.emplace_back(BN, 128);
  ASSERT_EQ(only(said).size(), 1u);
  EXPECT_EQ(boundTo(only(said).front(), "BN"), 128);
  CompileOptions open = options(64, 1024);
  std::erase_if(open.subs, [&](const auto &bound) { return bound.first == N; });
  open.dynamic = {N};
  ASSERT_EQ(only(open).size(), 1u);
  EXPECT_EQ(boundTo(only(open).front(), "BN"), 64);
}

TEST(AutoRows, Streams) {
  AutoChoice copy = chooseAutomatically(moved(false), options(8192, 8192)).front();
  EXPECT_EQ(boundTo(copy, "BM"), 4);
  EXPECT_EQ(boundTo(copy, "BN"), 256);
  EXPECT_EQ(copy.options.raster, 1);
  AutoChoice transpose = chooseAutomatically(moved(true), options(8192, 8192)).front();
  EXPECT_EQ(boundTo(transpose, "BM"), 64);
  EXPECT_EQ(boundTo(transpose, "BN"), 128);
  EXPECT_EQ(transpose.options.raster, 0);
  EXPECT_EQ(boundTo(chooseAutomatically(moved(false), options(64, 100)).front(), "BN"), 64);
}

/// Integers up to `most`.
std::vector<uint16_t> numbers(int64_t count, int most = 100, uint32_t seed = 7) {
  std::mt19937 engine(seed);
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t &value : values)
    value = static_cast<uint16_t>(encode(DType::f16, static_cast<int>(engine() % (2 * most + 1)) - most));
  return values;
}

/// Runs on the emulator, which finds races; returns what `b` holds.
std::vector<double> run(const Kernel &kernel, const CompileOptions &options, std::vector<uint16_t> &a, int64_t m,
                        int64_t n, bool turned = false) {
  std::vector<uint16_t> b(a.size(), 0xffff);
  compile(kernel, options)(rt::Tensor::dense(a.data(), DType::f16, {m, n}),
                           rt::Tensor::dense(b.data(), DType::f16, {turned ? n : m, turned ? m : n}));
  std::vector<double> values;
  for (uint16_t bits : b)
    values.push_back(decode(DType::f16, bits));
  return values;
}

TEST(AutoRows, Right) {
  for (auto [m, n, target] : {std::tuple(2, 8192, "sm_90a"),
                              {5, 1000, "sm_90a"},
                              {6, 511, "sm_90a"},
                              {1, 1, "sm_90a"},
                              {3, 2049, "sm_90a"},
                              {5, 1000, "gfx942"}}) {
    std::vector<uint16_t> a = numbers(int64_t{m} * n);
    std::vector<double> found = run(belowLargest(), options(m, n, target), a, m, n);
    for (size_t row = 0; row < static_cast<size_t>(m); ++row) {
      auto at = [&](size_t column) { return decode(DType::f16, a[row * static_cast<size_t>(n) + column]); };
      double largest = at(0);
      for (size_t column = 0; column < static_cast<size_t>(n); ++column)
        largest = std::max(largest, at(column));
      for (size_t column = 0; column < static_cast<size_t>(n); ++column)
        ASSERT_EQ(found[row * static_cast<size_t>(n) + column], at(column) - largest)
            << m << " by " << n << ": " << column;
    }
  }
}

TEST(AutoRows, StreamsRight) {
  for (bool turned : {false, true})
    for (auto [m, n] : {std::pair(64, 256), {70, 300}, {3, 1}}) {
      std::vector<uint16_t> a = numbers(int64_t{m} * n);
      std::vector<double> found = run(moved(turned), options(m, n), a, m, n, turned);
      for (int64_t i = 0; i < int64_t{m} * n; ++i) {
        int64_t to = turned ? i % n * m + i / n : i;
        ASSERT_EQ(found[static_cast<size_t>(to)], decode(DType::f16, a[static_cast<size_t>(i)])) << m << " by " << n;
      }
    }
}

/// One wave that multiplies what streams by copies it past its registers, some tiles ahead.
TEST(AutoRows, Keys) {
  auto [D] = symbols<"D">();
  CompileOptions wide = options(16, 4096);
  wide.subs.emplace_back(D, 32);
  AutoChoice choice = chooseAutomatically(chain(), wide).front();
  EXPECT_EQ(choice.options.schedule.name, "ring");
  EXPECT_TRUE(choice.options.directCopies);
  EXPECT_EQ(choice.options.workgroupsPerUnit, 4);
  EXPECT_EQ(boundTo(choice, "BN"), 16);
  // Whole tiles, one that ends inside, fewer than a ring has.
  for (int64_t n : {160, 77, 1}) {
    constexpr int64_t m = 16, d = 32;
    std::vector<uint16_t> q = numbers(m * d, 1, 1), k = numbers(n * d, 1, 2), v = numbers(d * n, 1, 3);
    std::vector<float> o(m * d, -1);
    CompileOptions each = options(m, n);
    each.subs.emplace_back(D, d);
    compile(chain(),
            each)(rt::Tensor::dense(q.data(), DType::f16, {m, d}), rt::Tensor::dense(k.data(), DType::f16, {n, d}),
                  rt::Tensor::dense(v.data(), DType::f16, {d, n}), rt::Tensor::dense(o.data(), DType::f32, {m, d}));
    auto at = [](const std::vector<uint16_t> &values, int64_t i) {
      return decode(DType::f16, values[static_cast<size_t>(i)]);
    };
    for (int64_t i = 0; i < m * d; ++i) {
      double want = 0;
      for (int64_t j = 0; j < n; ++j) {
        double score = 0;
        for (int64_t c = 0; c < d; ++c)
          score += at(q, i / d * d + c) * at(k, j * d + c);
        want += score * at(v, i % d * n + j);
      }
      ASSERT_EQ(o[static_cast<size_t>(i)], want) << n << " keys, element " << i;
    }
  }
}

} // namespace
} // namespace soliton
