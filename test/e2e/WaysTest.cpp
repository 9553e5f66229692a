//===- WaysTest.cpp - What is proven compiles for AMD ----------------------------------------------===//
//
// Loops in sequence and nested, static and dynamic trip counts from none upwards, under every algorithm: LLVM joins,
// copies and removes blocks of these programs, and the check of the code object must see that nothing counted has
// changed. And a mapped read that loads the same elements twice beside direct copies, whose waits count each of them.
//
//===----------------------------------------------------------------------===//
#include "soliton/soliton.h"
#include "soliton/support/Float.h"
#include "test/e2e/Support.h"

#include <cmath>
#include <random>

namespace soliton::test {
namespace {

enum class Shape { one, sequence, nested };

struct Row {
  Shape shape;
  const char *target, *schedule;
  /// 0 if all sizes are known only at launch.
  int depth;
};

std::string rowName(const testing::TestParamInfo<Row> &info) {
  static constexpr const char *kShapes[] = {"one", "sequence", "nested"};
  return std::string(kShapes[static_cast<int>(info.param.shape)]) + "_" + info.param.target + "_" +
         info.param.schedule + "_" + (info.param.depth ? std::to_string(info.param.depth) : "dynamic");
}

class Ways : public testing::TestWithParam<Row> {};

CompileAttempt compileRow(const Row &row) {
  auto [M, N, K, L] = symbols<"M N K L">();
  bool nested = row.shape == Shape::nested;
  std::vector<Constraint> constraints = {WorkgroupConstraint(M, 64, 0), TilingConstraint(K, 32)};
  if (nested) {
    constraints.insert(constraints.end(), {TilingConstraint(N, 64), WaveConstraint(M, 16)});
  } else {
    constraints.insert(constraints.end(), {WorkgroupConstraint(N, 64, 1), TilingConstraint(L, 32),
                                           WaveConstraint(M, 32), WaveConstraint(N, 32)});
  }
  Kernel kernel{"ways", constraints};
  MemoryRef a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto product = [&](Value start) {
    return kernel.iterate(K, start, [&](Value sum) { return mma(read(a), read(b), sum); });
  };
  CompileOptions options{.target = row.target, .schedule = {.name = "none"}};
  std::vector<Expr> sizes = {M, N, K};
  if (nested) {
    MemoryRef c = kernel.memory("c", {M}, global, f32);
    Value lowest = kernel.fill({M}, f32, -INFINITY);
    write(kernel.iterate(N, lowest, [&](Value best) { return max(product(kernel.fill({M, N}, f32, 0.0)), best, N); }),
          c);
  } else {
    MemoryRef c = kernel.memory("c", {M, N}, global, f32);
    Value sum = product(kernel.fill({M, N}, f32, 0.0));
    if (row.shape == Shape::sequence) {
      MemoryRef d = kernel.memory("d", {M, L}, shared, f16), e = kernel.memory("e", {N, L}, shared, f16);
      sum = kernel.iterate(L, sum, [&](Value x) { return mma(read(d), read(e), x); });
      sizes.push_back(L);
    }
    write(sum, c);
  }
  for (const Expr &size : sizes) {
    if (row.depth == 0)
      options.dynamic.push_back(size);
    else
      options.subs.push_back({size, size == K ? row.depth : size == L ? 256 : 128});
  }
  options.schedule.name = row.schedule;
  return compileImage(kernel, options, rt::ImageKind::hsaco);
}

TEST_P(Ways, AreTheProgramsOwn) {
  CompileAttempt attempt = compileRow(GetParam());
  EXPECT_TRUE(attempt) << format(attempt.diagnostics);
}

std::vector<Row> rows() {
  std::vector<Row> list;
  for (Shape shape : {Shape::one, Shape::sequence, Shape::nested})
    for (const char *target : {"gfx942", "gfx950"})
      for (const char *schedule : {"none", "prefetch", "modulo", "four_stage", "list"})
        for (int depth : {0, 32, 64, 96, 1024})
          list.push_back({shape, target, schedule, depth});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, Ways, testing::ValuesIn(rows()), rowName);

//===-- What is counted ------------------------------------------------------------------------------===//

/// y = a · (b scaled by groups): the scales are loaded once for each of the 32 elements of a group.
void runScaled(const char *target, const char *schedule) {
  auto [M, N, K, G] = symbols<"M N K G">();
  constexpr int m = 40, n = 48, k = 128;
  Kernel kernel{
      "scaled",
      {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 32), WaveConstraint(M, 16)}};
  MemoryRef a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16),
            scales = kernel.memory("scales", {N, G}, global, f16), y = kernel.memory("y", {M, N}, global, f32);
  Expr i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  IndexMapping groups{.num_iterators = 2, .inputs = {{N, i}, {G, floordiv(j, 32)}}, .outputs = {{N, i}, {K, j}}};
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0),
                       [&](Value sum) { return mma(read(a), read(b) * read(scales, {.mapping = groups}), sum); }),
        y);
  CompileOptions options{.target = target, .subs = {{M, m}, {N, n}, {K, k}, {G, k / 32}}, .device = "emulator"};
  options.schedule.name = schedule;
  options.directCopies = true;
  CompileAttempt binary = compileImage(kernel, options, rt::ImageKind::hsaco);
  EXPECT_TRUE(binary) << format(binary.diagnostics);
  CompiledKernel run = compile(kernel, options);

  std::mt19937 random(3);
  std::uniform_int_distribution<int> small(-4, 4);
  auto halves = [&](size_t count) {
    std::vector<uint16_t> list(count);
    for (uint16_t &each : list)
      each = floatToHalf(static_cast<float>(small(random)));
    return list;
  };
  std::vector<uint16_t> A = halves(m * k), B = halves(n * k), S = halves(n * (k / 32));
  std::vector<float> Y(m * n, NAN);
  auto half = [](std::vector<uint16_t> &list, std::initializer_list<int64_t> shape) {
    return rt::Tensor::of(list, shape).as(DType::f16);
  };
  run(half(A, {m, k}), half(B, {n, k}), half(S, {n, k / 32}), rt::Tensor::of(Y, {m, n}));
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      float want = 0;
      for (int z = 0; z < k; ++z)
        want += halfToFloat(A[row * k + z]) * halfToFloat(B[column * k + z]) * halfToFloat(S[column * 4 + z / 32]);
      ASSERT_EQ(Y[row * n + column], want) << row << ", " << column;
    }
}

TEST(CountedAccesses, OfTheSamePlaceAreAllIssued) {
  for (const char *target : {"gfx942", "gfx950"})
    for (const char *schedule : {"none", "prefetch"}) {
      SCOPED_TRACE(std::string(target) + " " + schedule);
      runScaled(target, schedule);
    }
}

} // namespace
} // namespace soliton::test
