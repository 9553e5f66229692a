//===- LoopsTest.cpp - Several loops, and loops inside loops, under schedules ----------------------===//
//
// Two loops behind each other share accumulator and shared memory; a loop inside another runs its prologue again each
// time, while the epilogue of the run before may still be read.
//
//===----------------------------------------------------------------------===//
#include "soliton/soliton.h"
#include "soliton/support/Float.h"

#include "gtest/gtest.h"

#include <cmath>

namespace soliton::test {
namespace {

struct Loops {
  const char *target;
  const char *schedule;
  bool directCopies;
};
void PrintTo(const Loops &which, std::ostream *stream) {
  *stream << which.target << " " << which.schedule << (which.directCopies ? " with direct copies" : "");
}

std::vector<Constraint> tiles() {
  auto [M, N, K, L, T] = symbols<"M N K L T">();
  return {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 32),
          TilingConstraint(L, 32),       TilingConstraint(T, 1),        WaveConstraint(M, 32),
          WaveConstraint(N, 32),         HardwareConstraint{}};
}

/// c = a · bᵀ + p · qᵀ, one loop for each product.
Kernel twoLoops() {
  auto [M, N, K, L] = symbols<"M N K L">();
  Kernel kernel{"two_loops", tiles()};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto p = kernel.memory("p", {M, L}, shared, f16), q = kernel.memory("q", {N, L}, shared, f16);
  auto c = kernel.memory("c", {M, N}, global, f32);
  Value first = kernel.iterate(K, kernel.fill({M, N}, f32, 0), [&](Value acc) { return mma(read(a), read(b), acc); });
  write(kernel.iterate(L, first, [&](Value acc) { return mma(read(p), read(q), acc); }), c);
  return kernel;
}

/// c = T times a · bᵀ: the inner loop runs T times.
Kernel nestedLoops() {
  auto [M, N, K, T] = symbols<"M N K T">();
  Kernel kernel{"nested_loops", tiles()};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto c = kernel.memory("c", {M, N}, global, f32);
  auto outer = [&](Value acc) {
    return kernel.iterate(K, acc, [&](Value inner) { return mma(read(a), read(b), inner); });
  };
  write(kernel.iterate(T, kernel.fill({M, N}, f32, 0), outer), c);
  return kernel;
}

using Matrix = std::vector<uint16_t>;
Matrix numbers(int64_t rows, int64_t columns, int modulus) {
  Matrix matrix(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = floatToHalf(static_cast<float>(static_cast<int>(i * 7 % modulus) - modulus / 2));
  return matrix;
}

void addProduct(std::vector<float> &sum, const Matrix &a, const Matrix &b, int64_t m, int64_t n, int64_t k,
                float times) {
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column)
      for (int64_t depth = 0; depth < k; ++depth)
        sum[row * n + column] += times * halfToFloat(a[row * k + depth]) * halfToFloat(b[column * k + depth]);
}

class LoopsUnderSchedules : public testing::TestWithParam<Loops> {
protected:
  std::optional<CompiledKernel> compiled(const Kernel &kernel, Substitutions subs) {
    CompileOptions options;
    options.target = GetParam().target;
    options.device = "emulator";
    options.schedule.name = GetParam().schedule;
    options.directCopies = GetParam().directCopies;
    options.subs = std::move(subs);
    CompileOutcome outcome = tryCompile(kernel, options);
    EXPECT_TRUE(outcome) << format(outcome.diagnostics);
    return std::move(outcome.kernel);
  }
  static rt::Tensor half(Matrix &matrix, int64_t rows, int64_t columns) {
    return rt::Tensor::of(matrix, {rows, columns}).as(DType::f16);
  }
};

TEST_P(LoopsUnderSchedules, BehindEachOther) {
  auto [M, N, K, L] = symbols<"M N K L">();
  const int64_t m = 72, n = 64, k = 160, l = 104;
  auto run = compiled(twoLoops(), {{M, m}, {N, n}, {K, k}, {L, l}});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->compiled().loops.size(), GetParam().schedule == std::string("none") ? 0u : 2u);
  Matrix a = numbers(m, k, 5), b = numbers(n, k, 7), p = numbers(m, l, 3), q = numbers(n, l, 9);
  std::vector<float> c(m * n, NAN), expected(m * n, 0);
  addProduct(expected, a, b, m, n, k, 1);
  addProduct(expected, p, q, m, n, l, 1);
  (*run)(half(a, m, k), half(b, n, k), half(p, m, l), half(q, n, l), rt::Tensor::of(c, {m, n}));
  EXPECT_EQ(c, expected);
}

TEST_P(LoopsUnderSchedules, InsideEachOther) {
  auto [M, N, K, T] = symbols<"M N K T">();
  for (int64_t k : {32, 64, 160}) {
    const int64_t m = 64, n = 72, times = 3;
    auto run = compiled(nestedLoops(), {{M, m}, {N, n}, {K, k}, {T, times}});
    ASSERT_TRUE(run);
    Matrix a = numbers(m, k, 5), b = numbers(n, k, 7);
    std::vector<float> c(m * n, NAN), expected(m * n, 0);
    addProduct(expected, a, b, m, n, k, static_cast<float>(times));
    (*run)(half(a, m, k), half(b, n, k), rt::Tensor::of(c, {m, n}));
    EXPECT_EQ(c, expected) << k;
  }
}

std::vector<Loops> allLoops() {
  std::vector<Loops> list;
  for (const char *target : {"gfx942", "gfx950", "sm_90a"})
    for (const char *schedule : {"none", "prefetch", "four_stage", "list", "modulo"})
      for (bool copies : {false, true})
        list.push_back({target, schedule, copies});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, LoopsUnderSchedules, testing::ValuesIn(allLoops()), [](const auto &info) {
  return std::string(info.param.target) + "_" + info.param.schedule + (info.param.directCopies ? "_direct" : "");
});

} // namespace
} // namespace soliton::test
