//===- GridTest.cpp - Kernels whose workgroups choose their work -----------------------------===//
//
// A fixed number of workgroups that take tile after tile, groups of rows of which data say how long they are, work that
// whoever comes first takes. Every program is compiled for the chip and run by the emulator.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <algorithm>
#include <numeric>

namespace soliton::test {
namespace {

using sym::ceildiv, sym::floordiv, sym::lt, sym::mod;

class Grid : public ForTarget {
protected:
  /// Rows of `a` times rows of `b`, where both say.
  static double dot(const Floats &a, int64_t row, const Floats &b, int64_t column, int64_t depth) {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += a[row * depth + k] * b[column * depth + k];
    return sum;
  }
};

IndexMapping rowsFrom(Expr row, Expr column, Expr first) {
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  return {.num_iterators = 2, .inputs = {{row, i + first}, {column, j}}, .outputs = {{row, i}, {column, j}}};
}

/// A product by `G` workgroups; `drive` says which tiles of the result each of them computes.
Kernel productBy(const std::function<void(Kernel &, const std::function<void(Expr)> &)> &drive) {
  auto [M, N, K, G] = symbols<"M N K G">();
  Kernel k{"persistent",
           {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), GridConstraint(G), TilingConstraint(K, 32),
            WaveConstraint(M, 16), HardwareConstraint{}}};
  auto a = k.memory("a", {M, K}, shared, f16), b = k.memory("b", {N, K}, shared, f16);
  auto c = k.memory("c", {M, N}, global, f32);
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  drive(k, [&](Expr tile) {
    Expr row = 32 * floordiv(tile, ceildiv(N, 32)), column = 32 * mod(tile, ceildiv(N, 32));
    Value sum = k.iterate(K, k.fill({M, N}, f32, 0.0), [&](Value acc) {
      return mma(read(a, {.mapping = rowsFrom(M, K, row)}), read(b, {.mapping = rowsFrom(N, K, column)}), acc);
    });
    IndexMapping there{.num_iterators = 2, .inputs = {{M, i}, {N, j}}, .outputs = {{M, i + row}, {N, j + column}}};
    write(sum, c, {.mapping = there});
  });
  return k;
}

TEST_P(Grid, AFixedNumberOfWorkgroupsTakesAllTiles) {
  auto [M, N, K, G, T] = symbols<"M N K G T">();
  Expr tiles = ceildiv(M, 32) * ceildiv(N, 32);
  Kernel k = productBy([&](Kernel &kernel, const auto &compute) {
    kernel.iterate(T, [&] { compute(workgroup_id(0) + G * iteration(T)); },
                   {.count = ceildiv(tiles - workgroup_id(0), G)});
  });
  for (bool dynamic : {false, true}) {
    CompiledKernel run =
        compiled(k, dynamic ? options({{G, 5}}, {M, N, K}) : options({{G, 5}, {M, 100}, {N, 130}, {K, 70}}));
    Floats a = Floats::random(DType::f16, {100, 70}), b = Floats::random(DType::f16, {130, 70}, 2);
    Floats c(DType::f32, {100, 130}, -7);
    run(a.tensor(), b.tensor(), c.tensor());
    for (int64_t m = 0; m < 100; ++m)
      for (int64_t n = 0; n < 130; ++n)
        ASSERT_NEAR(c[m * 130 + n], dot(a, m, b, n, 70), 1e-3) << m << " " << n;
  }
}

/// The loop along K is pipelined for each tile anew.
TEST_P(Grid, TheLoopInsideIsScheduled) {
  auto [M, N, K, G, T] = symbols<"M N K G T">();
  Expr tiles = ceildiv(M, 32) * ceildiv(N, 32);
  Kernel k = productBy([&](Kernel &kernel, const auto &compute) {
    kernel.iterate(T, [&] { compute(workgroup_id(0) + G * iteration(T)); },
                   {.count = ceildiv(tiles - workgroup_id(0), G)});
  });
  for (const char *schedule : {"prefetch", "modulo"}) {
    CompileOptions all = options({{G, 5}, {M, 100}, {N, 130}, {K, 200}});
    all.schedule.name = schedule;
    CompiledKernel run = compiled(k, all);
    Floats a = Floats::random(DType::f16, {100, 200}), b = Floats::random(DType::f16, {130, 200}, 2);
    Floats c(DType::f32, {100, 130}, -7);
    run(a.tensor(), b.tensor(), c.tensor());
    for (int64_t m = 0; m < 100; ++m)
      for (int64_t n = 0; n < 130; ++n)
        ASSERT_NEAR(c[m * 130 + n], dot(a, m, b, n, 200), 2e-3) << schedule << ": " << m << " " << n;
  }
}

/// A counter that all of them advance gives out the tiles.
TEST_P(Grid, WhoeverComesFirstTakesTheNextTile) {
  auto [M, N, K, G, ONE] = symbols<"M N K G ONE">();
  Expr tiles = ceildiv(M, 32) * ceildiv(N, 32);
  Kernel k = productBy([&](Kernel &kernel, const auto &compute) {
    auto counter = kernel.memory("counter", {ONE}, global, i32);
    auto ticket = [&] {
      return atomic_add(kernel.fill({}, i32, 1), counter,
                        {.mapping = IndexMapping{.num_iterators = 0, .inputs = {{ONE, 0}}}});
    };
    kernel.iterate_while(
        {ticket()}, [&](Value tile) { return lt(index_of(tile), tiles); },
        [&](Value tile) {
          compute(index_of(tile));
          return ticket();
        });
  });
  CompiledKernel run = compiled(k, options({{G, 3}, {M, 100}, {N, 70}, {K, 40}, {ONE, 1}}));
  Floats a = Floats::random(DType::f16, {100, 40}), b = Floats::random(DType::f16, {70, 40}, 2);
  Floats c(DType::f32, {100, 70}, -7);
  std::vector<int32_t> next = {0};
  run(a.tensor(), b.tensor(), c.tensor(), rt::Tensor::of(next, {1}));
  for (int64_t m = 0; m < 100; ++m)
    for (int64_t n = 0; n < 70; ++n)
      ASSERT_NEAR(c[m * 70 + n], dot(a, m, b, n, 40), 1e-3) << m << " " << n;
  EXPECT_EQ(next[0], 12 + 3);
}

/// c[rows of group g] = a[rows of group g] · b[g]ᵀ; the rows of a group lie together, `starts` says where.
TEST_P(Grid, GroupsOfRowsWithAWeightEach) {
  auto [E, P, M, N, K] = symbols<"E P M N K">();
  Kernel k{"grouped",
           {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), WorkgroupConstraint(E, 1, 2),
            TilingConstraint(K, 32), WaveConstraint(M, 16), HardwareConstraint{}}};
  auto a = k.memory("a", {M, K}, shared, f16), b = k.memory("b", {E, N, K}, shared, f16);
  auto c = k.memory("c", {M, N}, global, f32), starts = k.memory("starts", {P}, global, i32);
  Expr expert = workgroup_id(2), from = index_of(read_at(starts, {expert})),
       to = index_of(read_at(starts, {expert + 1}));
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  k.conditional(lt(32 * workgroup_id(0), to - from), [&] {
    IndexMapping weight{.num_iterators = 2, .inputs = {{E, expert}, {N, i}, {K, j}}, .outputs = {{N, i}, {K, j}}};
    Value sum = k.iterate(K, k.fill({M, N}, f32, 0.0), [&](Value acc) {
      return mma(read(a, {.mapping = rowsFrom(M, K, from)}), read(b, {.mapping = weight}), acc);
    });
    IndexMapping there{.num_iterators = 2, .inputs = {{M, i}, {N, j}}, .outputs = {{M, i + from}, {N, j}}};
    write(sum, c, {.mapping = there, .bounds = {{{M, to - from}, {N, N}}}});
  });
  CompiledKernel run = compiled(k, options({{E, 4}, {P, 5}, {N, 50}, {K, 40}}, {M}));
  std::vector<int32_t> places = {0, 40, 40, 41, 100};
  Floats left = Floats::random(DType::f16, {100, 40}), right = Floats::random(DType::f16, {4, 50, 40}, 2);
  Floats got(DType::f32, {100, 50}, -7);
  run(left.tensor(), right.tensor(), got.tensor(), rt::Tensor::of(places, {5}));
  for (int64_t m = 0; m < 100; ++m) {
    int64_t group = std::upper_bound(places.begin(), places.end(), m) - places.begin() - 1;
    for (int64_t n = 0; n < 50; ++n)
      ASSERT_NEAR(got[m * 50 + n], dot(left, m, right, group * 50 + n, 40), 1e-3) << m << " " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Grid, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
