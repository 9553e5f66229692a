//===- LanguageTest.cpp - Short programs, each right or refused -------------------------===//
//
// What a user writes in an afternoon: batches, shifts, gathers, remainders, grids of many dimensions. Every program is
// compiled for the chip and run by the emulator, which judges each access, and held against loops in plain C++.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <cmath>

namespace soliton::test {
namespace {

class Language : public ForTarget {};

void expectNear(const Floats &got, const std::vector<double> &want, double bound) {
  ASSERT_EQ(got.size(), static_cast<int64_t>(want.size()));
  for (int64_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[static_cast<size_t>(i)], bound) << "at " << i;
}

//===-- Products in batches -------------------------------------------------------------------------------===//

/// c[b] = a[b] b[b]^T
struct Batch {
  int64_t count, rows, columns, depth;
};

std::vector<double> products(const Floats &a, const Floats &b, Batch n) {
  std::vector<double> c(static_cast<size_t>(n.count * n.rows * n.columns));
  for (int64_t q = 0; q < n.count; ++q)
    for (int64_t i = 0; i < n.rows; ++i)
      for (int64_t j = 0; j < n.columns; ++j)
        for (int64_t k = 0; k < n.depth; ++k)
          c[static_cast<size_t>((q * n.rows + i) * n.columns + j)] +=
              a[(q * n.rows + i) * n.depth + k] * b[(q * n.columns + j) * n.depth + k];
  return c;
}

TEST_P(Language, ABatchOfProductsPerWorkgroup) {
  auto [B, M, N, K] = symbols<"B M N K">();
  for (Expr space : {shared, global})
    for (int64_t tile : {2, 3}) {
      Kernel kernel{"batch",
                    {WorkgroupConstraint(M, 16, 0), WorkgroupConstraint(N, 16, 1), WorkgroupConstraint(B, tile, 2),
                     TilingConstraint(K, 16), HardwareConstraint{}}};
      auto a = kernel.memory("a", {B, M, K}, space, f16), b = kernel.memory("b", {B, N, K}, space, f16);
      auto c = kernel.memory("c", {B, M, N}, global, f32);
      write(kernel.iterate(K, kernel.fill({B, M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); }),
            c);
      Batch n{5, 16, 32, 48};
      CompiledKernel run = compiled(kernel, options({{B, n.count}, {M, n.rows}, {N, n.columns}, {K, n.depth}}));
      Floats x = Floats::random(DType::f16, {5, 16, 48}, 1), y = Floats::random(DType::f16, {5, 32, 48}, 2);
      Floats z(DType::f32, {5, 16, 32}, NAN);
      run(x.tensor(), y.tensor(), z.tensor());
      expectNear(z, products(x, y, n), 1e-3);
    }
}

TEST_P(Language, ABatchThatNoConstraintDistributes) {
  auto [B, M, N, K] = symbols<"B M N K">();
  Kernel kernel{
      "whole_batch",
      {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 32), HardwareConstraint{}}};
  auto a = kernel.memory("a", {B, M, K}, shared, f16), b = kernel.memory("b", {B, N, K}, shared, f16);
  auto c = kernel.memory("c", {B, M, N}, global, f32);
  write(kernel.iterate(K, kernel.fill({B, M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); }), c);
  CompiledKernel run = compiled(kernel, options({{B, 3}, {M, 32}, {N, 32}, {K, 64}}));
  Floats x = Floats::random(DType::f16, {3, 32, 64}, 3), y = Floats::random(DType::f16, {3, 32, 64}, 4);
  Floats z(DType::f32, {3, 32, 32}, NAN);
  run(x.tensor(), y.tensor(), z.tensor());
  expectNear(z, products(x, y, {3, 32, 32, 64}), 1e-3);
}

TEST_P(Language, WhatPaddingOfTheContractionBecomesDoesNotCount) {
  auto [M, N, K] = symbols<"M N K">();
  // exp(0) is 1, log(0) is -inf: neither may reach the sum.
  for (bool isLog : {false, true})
    for (int64_t depth : {64, 33, 1}) {
      Kernel kernel{"computed",
                    {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 32),
                     HardwareConstraint{}}};
      auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, global, f16);
      auto c = kernel.memory("c", {M, N}, global, f32);
      auto apply = [&](Value value) {
        Value wide = cast(value, f32);
        return cast(isLog ? log(wide) : exp(wide), f16);
      };
      write(kernel.iterate(K, kernel.fill({M, N}, f32, 0.0),
                           [&](Value acc) { return mma(apply(read(a)), apply(read(b)), acc); }),
            c);
      CompiledKernel run = compiled(kernel, options({{M, 40}, {N, 40}, {K, depth}}));
      Floats x = Floats::random(DType::f16, {40, depth}, 5), y = Floats::random(DType::f16, {40, depth}, 6);
      Floats u(DType::f64, {40, depth}), v(DType::f64, {40, depth});
      for (int64_t i = 0; i < x.size(); ++i) {
        x.set(i, std::abs(x[i]) + 0.25);
        y.set(i, std::abs(y[i]) + 0.25);
        u.set(i, isLog ? std::log(x[i]) : std::exp(x[i]));
        v.set(i, isLog ? std::log(y[i]) : std::exp(y[i]));
      }
      Floats z(DType::f32, {40, 40}, NAN);
      run(x.tensor(), y.tensor(), z.tensor());
      // Each operand is rounded to f16: a relative error of 2^-11, twice.
      double most = isLog ? 2 : 4;
      expectNear(z, products(u, v, {1, 40, 40, depth}), 1.01 * static_cast<double>(depth) * most * most * 0x1p-10);
    }
}

//===-- Places --------------------------------------------------------------------------------------------===//

TEST_P(Language, PlacesOutsideReadZeroAndAreNotWritten) {
  auto [M] = symbols<"M">();
  auto i = IndexMapping::iterator(0);
  for (int64_t shift : {1, -1, 3, 64, -127})
    for (bool isWrite : {false, true}) {
      Kernel kernel{"shift", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
      auto x = kernel.memory("x", {M}, global, f32), y = kernel.memory("y", {M}, global, f32);
      IndexMapping from{.num_iterators = 1, .inputs = {{M, i - shift}}, .outputs = {{M, i}}};
      IndexMapping to{.num_iterators = 1, .inputs = {{M, i}}, .outputs = {{M, i - shift}}};
      if (isWrite)
        write(read(x), y, {.mapping = to});
      else
        write(read(x, {.mapping = from}), y);
      CompiledKernel run = compiled(kernel, options({{M, 128}}));
      Floats a = Floats::random(DType::f32, {128}), b(DType::f32, {128}, 7);
      run(a.tensor(), b.tensor());
      std::vector<double> want(128, isWrite ? 7 : 0);
      for (int64_t k = 0; k < 128; ++k)
        if (int64_t other = isWrite ? k + shift : k - shift; other >= 0 && other < 128)
          want[static_cast<size_t>(k)] = a[other];
      expectNear(b, want, 0);
    }
}

/// A table, numbers of its rows, and what comes of them.
struct Gather {
  Expr T, V, D;
  Kernel kernel;
  MemoryRef ids, table, out;
};

Gather gather(ElementType idType = i32, bool bound = false) {
  auto [T, V, D] = symbols<"T V D">();
  std::vector<Constraint> constraints = {WorkgroupConstraint(T, 64, 0), WorkgroupConstraint(D, 64, 1),
                                         HardwareConstraint{}};
  if (bound)
    constraints.push_back(IteratorBindings({{IndexMapping::iterator(0), T}, {IndexMapping::iterator(1), D}}));
  Kernel kernel{"gather", constraints};
  auto ids = kernel.memory("ids", {T}, global, idType), table = kernel.memory("table", {V, D}, global, f16),
       out = kernel.memory("out", {T, D}, global, f16);
  return {T, V, D, std::move(kernel), ids, table, out};
}

IndexMapping rowsOfTable(const Gather &g, bool saysWhichValue) {
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  IndexMapping rows{
      .num_iterators = 2, .inputs = {{g.V, IndexMapping::dynamic_val(0)}, {g.D, j}}, .outputs = {{g.T, i}, {g.D, j}}};
  if (saysWhichValue)
    rows.dynamic_val_mappings = {{{g.T, i}}};
  return rows;
}

TEST_P(Language, RowsByTheirNumbers) {
  for (int form : {0, 1, 2}) {
    Gather g = gather(i32, form == 2);
    Value numbers = read(g.ids);
    if (form == 2)
      write(read(g.table, {.source = {numbers, IndexMapping::iterator(1)},
                           .target = {IndexMapping::iterator(0), IndexMapping::iterator(1)}}),
            g.out);
    else
      write(read(g.table, {.mapping = rowsOfTable(g, form == 1), .mapping_dynamic_vals = {numbers}}), g.out);
    CompiledKernel run = compiled(g.kernel, options({{g.T, 100}, {g.V, 70}, {g.D, 80}}));
    std::vector<int32_t> ids(100);
    for (size_t t = 0; t < ids.size(); ++t)
      ids[t] = static_cast<int32_t>(t * 37 % 72) - 1; // now and then none of the table's
    Floats table = Floats::random(DType::f16, {70, 80}), out(DType::f16, {100, 80}, NAN);
    run(rt::Tensor::of(ids, {100}), table.tensor(), out.tensor());
    std::vector<double> want;
    for (int32_t id : ids)
      for (int64_t d = 0; d < 80; ++d)
        want.push_back(id >= 0 && id < 70 ? table[id * 80 + d] : 0);
    expectNear(out, want, 0);
  }
}

TEST_P(Language, RowsToTheirNumbers) {
  Gather g = gather();
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  IndexMapping to{
      .num_iterators = 2, .inputs = {{g.T, i}, {g.D, j}}, .outputs = {{g.V, IndexMapping::dynamic_val(0)}, {g.D, j}}};
  write(read(g.out), g.table, {.mapping = to, .mapping_dynamic_vals = {read(g.ids)}});
  CompiledKernel run = compiled(g.kernel, options({{g.T, 64}, {g.V, 100}, {g.D, 64}}));
  std::vector<int32_t> ids(64);
  for (size_t t = 0; t < ids.size(); ++t)
    ids[t] = static_cast<int32_t>(t * 3 % 101); // different ones; one of them is no row
  Floats table(DType::f16, {100, 64}, 7), rows = Floats::random(DType::f16, {64, 64});
  run(rt::Tensor::of(ids, {64}), table.tensor(), rows.tensor());
  std::vector<double> want(100 * 64, 7);
  for (size_t t = 0; t < ids.size(); ++t)
    for (int64_t d = 0; d < 64 && ids[t] < 100; ++d)
      want[static_cast<size_t>(ids[t] * 64 + d)] = rows[static_cast<int64_t>(t) * 64 + d];
  expectNear(table, want, 0);
}

/// Row i of every tile begins with its i-th element: through a tile of the author's, in a loop that uses it again.
TEST_P(Language, AnAuthorsTileIsReadInAnotherOrder) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"rotated",
                {WorkgroupConstraint(M, 32, 0), TilingConstraint(N, 16), WaveConstraint(M, 16), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, f32), b = kernel.memory("b", {M, N}, global, f32);
  auto tile = kernel.allocate("tile", {M, N}, f32);
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  IndexMapping rotated{
      .num_iterators = 2, .inputs = {{M, mod(i, 32)}, {N, mod(i + j, 16)}}, .outputs = {{M, i}, {N, j}}};
  kernel.iterate(N, [&] {
    write(read(a), tile);
    write(read(tile, {.mapping = rotated}), b);
  });
  CompiledKernel run = compiled(kernel, options({{M, 64}, {N, 48}}));
  Floats from = Floats::random(DType::f32, {64, 48}), to(DType::f32, {64, 48}, NAN);
  run(from.tensor(), to.tensor());
  std::vector<double> want;
  for (int64_t m = 0; m < 64; ++m)
    for (int64_t n = 0; n < 48; ++n)
      want.push_back(from[m * 48 + n / 16 * 16 + (m + n) % 16]);
  expectNear(to, want, 0);
}

TEST_P(Language, AnAssumptionThatTheBoundSizesContradict) {
  auto [M] = symbols<"M">();
  Kernel kernel{"copy", {WorkgroupConstraint(M, 64, 0), Assumption(eq(mod(M, 8), 0)), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M}, global, f32), b = kernel.memory("b", {M}, global, f32);
  write(read(a), b);
  EXPECT_EQ(refusal(kernel, options({{M, 64}})), "");
  EXPECT_EQ(refusal(kernel, options({{M, 60}})), "assumption-invalid");
}

TEST_P(Language, GathersThatSayTooLittle) {
  Gather without = gather();
  write(read(without.table, {.mapping = rowsOfTable(without, false)}), without.out);
  EXPECT_EQ(refusal(without.kernel, options({{without.T, 64}, {without.V, 70}, {without.D, 64}})), "mapping-arity");
  Gather real = gather(f32);
  write(read(real.table, {.mapping = rowsOfTable(real, false), .mapping_dynamic_vals = {read(real.ids)}}), real.out);
  EXPECT_EQ(refusal(real.kernel, options({{real.T, 64}, {real.V, 70}, {real.D, 64}})), "mapping-dims");
}

TEST_P(Language, GridsOfFourDimensions) {
  auto [P, Q, R, M] = symbols<"P Q R M">();
  for (bool isDynamic : {false, true}) {
    Kernel kernel{"grid",
                  {WorkgroupConstraint(P, 1, 0), WorkgroupConstraint(Q, 1, 1), WorkgroupConstraint(R, 1, 2),
                   WorkgroupConstraint(M, 64, 3), HardwareConstraint{}}};
    auto a = kernel.memory("a", {P, Q, R, M}, global, f32), c = kernel.memory("c", {P, Q, R, M}, global, f32);
    write(read(a), c);
    CompiledKernel run = isDynamic ? compiled(kernel, options({}, {P, Q, R, M}))
                                   : compiled(kernel, options({{P, 2}, {Q, 3}, {R, 2}, {M, 130}}));
    Floats from = Floats::random(DType::f32, {2, 3, 2, 130}), to(DType::f32, {2, 3, 2, 130}, NAN);
    run(from.tensor(), to.tensor());
    for (int64_t i = 0; i < from.size(); ++i)
      ASSERT_EQ(to[i], from[i]) << i;
  }
}

//===-- Arithmetic ----------------------------------------------------------------------------------------===//

template <typename Integer>
void checkFloors(const CompiledKernel &run, int64_t divisor) {
  std::vector<Integer> numbers{-4, -3, -2, -1, 0, 1, 2, 3, 4};
  std::vector<std::vector<Integer>> results(4, std::vector<Integer>(9));
  run(rt::Tensor::of(numbers, {9}), rt::Tensor::of(results[0], {9}), rt::Tensor::of(results[1], {9}),
      rt::Tensor::of(results[2], {9}), rt::Tensor::of(results[3], {9}));
  for (size_t i = 0; i < 9; ++i) {
    auto quotient = static_cast<int64_t>(std::floor(static_cast<double>(numbers[i]) / static_cast<double>(divisor)));
    int64_t rest = numbers[i] - quotient * divisor;
    EXPECT_EQ(results[0][i], rest);
    EXPECT_EQ(results[1][i], quotient);
    EXPECT_EQ(results[2][i], rest);
    EXPECT_EQ(results[3][i], quotient);
  }
}

TEST_P(Language, RemaindersAndQuotientsRoundDown) {
  auto [M] = symbols<"M">();
  for (int64_t divisor : {3, 4, -3})
    for (ElementType type : {i8, i16, i32, i64}) {
      Kernel kernel{"floors", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
      auto a = kernel.memory("a", {M}, global, type);
      std::vector<MemoryRef> outs;
      for (const char *name : {"c", "d", "e", "f"})
        outs.push_back(kernel.memory(name, {M}, global, type));
      write(read(a) % divisor, outs[0]);
      write(floordiv(read(a), divisor), outs[1]);
      write(apply_expr(read(a), [&](Expr x) { return x % divisor; }), outs[2]);
      write(apply_expr(read(a), [&](Expr x) { return floordiv(x, divisor); }), outs[3]);
      CompiledKernel run = compiled(kernel, options({{M, 9}}));
      if (type == i8)
        checkFloors<int8_t>(run, divisor);
      else if (type == i16)
        checkFloors<int16_t>(run, divisor);
      else if (type == i32)
        checkFloors<int32_t>(run, divisor);
      else
        checkFloors<int64_t>(run, divisor);
    }
}

//===-- Schedules -----------------------------------------------------------------------------------------===//

/// y = a (b s)^T with a scale for each 32 elements of a row of b.
struct Scaled {
  Expr M, N, K, G;
  Kernel kernel;
};

Scaled scaledProduct(bool isByte, bool isScaled) {
  auto [M, N, K, G] = symbols<"M N K G">();
  Kernel kernel{"scaled",
                {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 32),
                 WaveConstraint(M, 16), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, isByte ? i8 : f16);
  auto s = kernel.memory("s", {N, G}, global, f16), y = kernel.memory("y", {M, N}, global, f32);
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  IndexMapping group{.num_iterators = 2, .inputs = {{N, i}, {G, floordiv(j, 32)}}, .outputs = {{N, i}, {K, j}}};
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0.0),
                       [&](Value acc) {
                         Value right = cast(read(b), f16);
                         if (isScaled)
                           right = right * read(s, {.mapping = group});
                         return mma(read(a), right, acc);
                       }),
        y);
  return {M, N, K, G, std::move(kernel)};
}

TEST_P(Language, DirectCopiesBesideMappedReadsInASchedule) {
  for (bool isByte : {false, true})
    for (bool isScaled : {false, true})
      for (auto [m, n] : {std::pair<int64_t, int64_t>{32, 32}, {40, 48}})
        for (const char *schedule : {"none", "prefetch"}) {
          Scaled given = scaledProduct(isByte, isScaled);
          CompileOptions with = options({{given.M, m}, {given.N, n}, {given.K, 128}, {given.G, 4}});
          with.schedule.name = schedule;
          with.directCopies = true;
          CompileAttempt code = compileImage(given.kernel, with, binary());
          EXPECT_TRUE(code) << format(code.diagnostics);
          CompiledKernel run = compile(given.kernel, with);
          Floats a = Floats::random(DType::f16, {m, 128}, 7), b = Floats::random(DType::f16, {n, 128}, 8);
          Floats scale = Floats::random(DType::f16, {n, 4}, 9), y(DType::f32, {m, n}, NAN);
          std::vector<int8_t> bytes(static_cast<size_t>(n) * 128);
          for (size_t k = 0; k < bytes.size(); ++k)
            bytes[k] = static_cast<int8_t>(k % 5) - 2;
          Floats right(DType::f16, {n, 128});
          for (int64_t k = 0; k < right.size(); ++k)
            right.set(k, (isByte ? bytes[static_cast<size_t>(k)] : b[k]) * (isScaled ? scale[k / 32] : 1));
          run(a.tensor(), isByte ? rt::Tensor::of(bytes, {n, 128}) : b.tensor(), scale.tensor(), y.tensor());
          expectNear(y, products(a, right, {1, m, n, 128}), 1e-3);
        }
}

/// Two elements a byte, the even one in the low half; numbers wrap on the way back.
TEST_P(Language, HalfBytesAreNumbers) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"halves", {WorkgroupConstraint(M, 4, 0), HardwareConstraint{}}};
  auto x = kernel.memory("x", {M, N}, global, i4), y = kernel.memory("y", {M, N}, global, f32);
  auto z = kernel.memory("z", {M, N}, global, i4);
  Value wide = cast(read(x), f32);
  write(wide * 0.5, y);
  write(cast(cast(wide, i32) * 3, i4), z);
  CompiledKernel run = compiled(kernel, options({{N, 32}}, {M}));
  std::vector<uint8_t> in(7 * 16), out(7 * 16);
  std::vector<float> halves(7 * 32);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<uint8_t>(i * 37);
  run(rt::Tensor::dense(in.data(), DType::i4, {7, 32}), rt::Tensor::of(halves, {7, 32}),
      rt::Tensor::dense(out.data(), DType::i4, {7, 32}));
  auto element = [](const std::vector<uint8_t> &bytes, size_t i) {
    int half = bytes[i / 2] >> (i % 2 * 4) & 15;
    return half < 8 ? half : half - 16;
  };
  for (size_t i = 0; i < halves.size(); ++i) {
    ASSERT_EQ(halves[i], static_cast<float>(element(in, i)) / 2) << i;
    ASSERT_EQ(element(out, i), ((element(in, i) * 3 + 8) & 15) - 8) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Language, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
