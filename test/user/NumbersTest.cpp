//===- NumbersTest.cpp - Loops, branches and places that data decide ----------------------===//
//
// Rows of lengths that a tensor holds, parts that it places, searches that end when they have found: `index_of`,
// counts of loops, `continue_while`, `iterate_while`. Every program is compiled for the chip and run by the emulator.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <algorithm>
#include <numeric>

namespace soliton::test {
namespace {

using sym::ceildiv, sym::lt, sym::le;

class Numbers : public ForTarget {};

/// Sums of the first elements of each row, of which there are as many as `lengths` says.
TEST_P(Numbers, RowsOfGivenLengths) {
  auto [B, N] = symbols<"B N">();
  Kernel k{"lengths", {WorkgroupConstraint(B, 1, 0), TilingConstraint(N, 64), HardwareConstraint{}}};
  auto x = k.memory("x", {B, N}, global, f32), out = k.memory("out", {B}, global, f32);
  auto lengths = k.memory("lengths", {B}, global, i32);
  Expr length = index_of(read_at(lengths, {workgroup_id(0)}));
  Value total =
      k.iterate(N, k.fill({B}, f32, 0.0), [&](Value acc) { return acc + sum(read(x, {.bounds = {{{N, length}}}}), N); },
                {.count = ceildiv(length, 64)});
  write(total, out);
  for (bool dynamic : {false, true}) {
    CompiledKernel run = compiled(k, dynamic ? options({}, {B, N}) : options({{B, 5}, {N, 300}}));
    std::vector<int32_t> counts = {0, 1, 64, 130, 300};
    Floats values = Floats::random(DType::f32, {5, 300}), sums(DType::f32, {5}, -1);
    run(values.tensor(), sums.tensor(), rt::Tensor::of(counts, {5}));
    for (int64_t b = 0; b < 5; ++b) {
      double want = 0;
      for (int64_t i = 0; i < counts[static_cast<size_t>(b)]; ++i)
        want += values[b * 300 + i];
      EXPECT_NEAR(sums[b], want, 1e-4) << b;
    }
  }
}

/// Parts of a tensor one behind the other, of which each has its first place in `starts`: each is put into a row.
TEST_P(Numbers, PartsWhoseStartsAreData) {
  auto [P, T, R, L] = symbols<"P T R L">();
  Kernel k{"parts",
           {WorkgroupConstraint(R, 1, 0), WorkgroupConstraint(L, 128, 1), WaveConstraint(L, 64), HardwareConstraint{}}};
  auto x = k.memory("x", {T}, global, f16), out = k.memory("out", {R, L}, global, f16);
  auto starts = k.memory("starts", {P}, global, i32);
  Expr from = index_of(read_at(starts, {workgroup_id(0)})), to = index_of(read_at(starts, {workgroup_id(0) + 1}));
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  IndexMapping part{.num_iterators = 2, .inputs = {{T, j + from}}, .outputs = {{R, i}, {L, j}}};
  write(read(x, {.mapping = part, .bounds = {{{R, R}, {L, to - from}}}}), out);
  CompiledKernel run = compiled(k, options({{P, 4}, {R, 3}, {L, 200}}, {T}));
  std::vector<int32_t> places = {0, 150, 151, 340};
  Floats values = Floats::random(DType::f16, {340}), rows(DType::f16, {3, 200}, -1);
  run(values.tensor(), rows.tensor(), rt::Tensor::of(places, {4}));
  for (int64_t r = 0; r < 3; ++r)
    for (int64_t l = 0; l < 200; ++l) {
      int64_t at = places[static_cast<size_t>(r)] + l;
      ASSERT_EQ(rows[r * 200 + l], at < places[static_cast<size_t>(r) + 1] ? values[at] : 0) << r << " " << l;
    }
}

/// A scalar parameter decides, and so does a sum of what was read.
TEST_P(Numbers, BranchesThatDataDecide) {
  auto [M, ONE] = symbols<"M ONE">();
  Kernel k{"branch", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
  auto x = k.memory("x", {M}, global, i32), out = k.memory("out", {M}, global, i32);
  Value mode = k.scalar("mode", i32);
  Value tile = read(x);
  Expr total = index_of(sum(tile, M));
  Value chosen = k.conditional(
      sym::logicalAnd(sym::eq(index_of(mode), 2), lt(total, 100)), [&] { return tile + 1; }, [&] { return tile * 2; });
  write(chosen, out);
  CompiledKernel run = compiled(k, options({{M, 128}}));
  for (int64_t asked : {1, 2}) {
    std::vector<int32_t> in(128, 1), got(128, 0);
    std::fill(in.begin() + 64, in.end(), 2); // their sum is 128
    run(rt::Tensor::of(in, {128}), rt::Tensor::of(got, {128}), asked);
    for (size_t i = 0; i < 128; ++i)
      ASSERT_EQ(got[i], asked == 2 && i < 64 ? in[i] + 1 : in[i] * 2) << asked << " " << i;
  }
}

/// How many blocks of a row it takes until their sum reaches a limit.
TEST_P(Numbers, ALoopThatEndsWhenItHasFound) {
  auto [B, N] = symbols<"B N">();
  Kernel k{"search", {WorkgroupConstraint(B, 1, 0), TilingConstraint(N, 64), HardwareConstraint{}}};
  auto x = k.memory("x", {B, N}, global, i32), out = k.memory("out", {B}, global, i32);
  Value limit = k.scalar("limit", i32);
  auto [sums, blocks] = k.iterate(N, {k.fill({B}, i32, 0), k.fill({B}, i32, 0)}, [&](Value acc, Value seen) {
    Value next = acc + sum(read(x), N);
    k.continue_while(lt(index_of(sum(next, B)), index_of(limit)));
    return std::tuple{next, seen + 1};
  });
  write(blocks, out);
  CompiledKernel run = compiled(k, options({{B, 3}}, {N}));
  for (int64_t size : {64, 500}) {
    std::vector<int32_t> values(static_cast<size_t>(3 * size), 1), got(3, -1);
    std::fill_n(values.begin() + size, size, 2);
    std::fill_n(values.begin() + 2 * size, size, 0);
    run(rt::Tensor::of(values, {3, size}), rt::Tensor::of(got, {3}), 150);
    std::vector<int32_t> want = size == 64 ? std::vector<int32_t>{1, 1, 1} : std::vector<int32_t>{3, 2, 8};
    EXPECT_EQ(got, want) << size;
  }
}

/// A chain through a tensor, as long as it is: from each start, how many steps to a negative entry.
TEST_P(Numbers, AChainThatDataLink) {
  auto [B, N] = symbols<"B N">();
  Kernel k{"chain", {WorkgroupConstraint(B, 1, 0), HardwareConstraint{}}};
  auto next = k.memory("next", {N}, global, i32), out = k.memory("out", {B}, global, i32);
  auto starts = k.memory("starts", {B}, global, i32);
  auto [at, steps] = k.iterate_while(
      {read_at(starts, {workgroup_id(0)}), k.fill({B}, i32, 0)},
      [&](Value place, Value) { return le(0, index_of(place)); },
      [&](Value place, Value count) { return std::tuple{read_at(next, {index_of(place)}), count + 1}; });
  (void)at;
  write(steps, out);
  CompiledKernel run = compiled(k, options({{B, 4}, {N, 6}}));
  std::vector<int32_t> links = {3, 0, -1, 5, 1, 2}, from = {-1, 2, 3, 4}, got(4, -7), want = {0, 1, 3, 6};
  run(rt::Tensor::of(links, {6}), rt::Tensor::of(got, {4}), rt::Tensor::of(from, {4}));
  EXPECT_EQ(got, want);
}

/// A loop that nothing ends is stopped after some seconds, or after as many instructions as the user says, and named.
TEST_P(Numbers, ALoopWithoutAnEndIsNamed) {
  auto [B, N] = symbols<"B N">();
  Kernel k{"endless", {WorkgroupConstraint(B, 1, 0), HardwareConstraint{}}};
  auto next = k.memory("next", {N}, global, i32), out = k.memory("out", {B}, global, i32);
  int line = __LINE__ + 1;
  auto [place, steps] = k.iterate_while(
      {read_at(next, {0}), k.fill({B}, i32, 0)}, [&](Value place, Value) { return le(0, index_of(place)); },
      [&](Value place, Value count) { return std::tuple{read_at(next, {index_of(place)}), count + 1}; });
  (void)place;
  write(steps, out);
  CompiledKernel run = compiled(k, options({{B, 1}, {N, 2}}));
  std::vector<int32_t> circle = {1, 0}, got(1);
  auto launch = [&] { run(rt::Tensor::of(circle, {2}), rt::Tensor::of(got, {1})); };
  ::setenv("SOLITON_EMULATOR_STEPS", "20000", 1);
  try {
    launch();
    ADD_FAILURE() << "it has no end";
  } catch (const CompileError &error) {
    const Diagnostic &found = error.diagnostics().front();
    EXPECT_EQ(idText(found.id), "emulator-finding");
    EXPECT_NE(found.message.find("stopped after 20000 instructions, in this loop"), std::string::npos) << found.message;
    EXPECT_EQ(found.place.file, __FILE__);
    EXPECT_EQ(found.place.line, line);
    EXPECT_NE(found.hint.find("SOLITON_EMULATOR_STEPS"), std::string::npos) << found.hint;
  }
  ::setenv("SOLITON_EMULATOR_STEPS", "many", 1);
  EXPECT_THROW(launch(), CompileError);
  ::unsetenv("SOLITON_EMULATOR_STEPS");
}

/// A loop inside a loop that data end, with matrix products and tiles in shared memory: powers of a matrix until the
/// number of steps that a tensor says.
TEST_P(Numbers, ProductsInALoopThatDataEnd) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel k{"steps",
           {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 32),
            WaveConstraint(M, 16), HardwareConstraint{}}};
  auto a = k.memory("a", {M, K}, shared, f16), b = k.memory("b", {N, K}, shared, f16);
  auto c = k.memory("c", {M, N}, global, f32);
  auto times = k.memory("times", {M}, global, i32);
  auto [left, sums] = k.iterate_while(
      {read_at(times, {0}), k.fill({M, N}, f32, 0.0)}, [&](Value left, Value) { return lt(0, index_of(left)); },
      [&](Value left, Value acc) {
        Value product = k.iterate(K, acc, [&](Value inner) { return mma(read(a), read(b), inner); });
        return std::tuple{left - 1, product};
      });
  (void)left;
  write(sums, c);
  CompiledKernel run = compiled(k, options({{M, 50}, {N, 40}, {K, 70}}));
  for (int32_t count : {0, 1, 3}) {
    Floats lhs = Floats::random(DType::f16, {50, 70}), rhs = Floats::random(DType::f16, {40, 70}, 2);
    Floats got(DType::f32, {50, 40}, -1);
    std::vector<int32_t> often(50, count);
    run(lhs.tensor(), rhs.tensor(), got.tensor(), rt::Tensor::of(often, {50}));
    for (int64_t i = 0; i < 50; ++i)
      for (int64_t j = 0; j < 40; ++j) {
        double want = 0;
        for (int64_t x = 0; x < 70; ++x)
          want += count * lhs[i * 70 + x] * rhs[j * 70 + x];
        ASSERT_NEAR(got[i * 40 + j], want, 2e-3) << count << ": " << i << " " << j;
      }
  }
}

/// A dimension that was set has fewer tiles and narrower bounds; it may be set again, and keeps its strides.
TEST_P(Numbers, SetDimensionsAreShorter) {
  auto [B, N, LENGTH] = symbols<"B N LENGTH">();
  Kernel k{"set", {WorkgroupConstraint(B, 1, 0), TilingConstraint(N, 32), HardwareConstraint{}}};
  auto x = k.memory("x", {B, N}, global, i32), y = k.memory("y", {B, N}, global, i32);
  auto ends = k.memory("ends", {B}, global, i32), trips = k.memory("trips", {B}, global, i32);
  Value end = read_at(ends, {workgroup_id(0)});
  set_symbol(N, end);
  Value count = k.iterate(N, k.fill({B}, i32, 0), [&](Value n) {
    write(read(x) + 1, y);
    return n + 1;
  });
  set_symbol(LENGTH, end + 5);
  set_symbol(N, floordiv(end, 2));
  k.iterate(N, [&] { write(apply_expr(read(y), [&](Expr e) { return e + 10 * LENGTH; }), y); });
  write(count, trips);
  CompiledKernel run = compiled(k, options({}, {B, N}));
  std::vector<int32_t> lengths = {0, 31, 64, 100}, in(400, 1), out(400, -1), counts(4);
  run(rt::Tensor::of(in, {4, 100}), rt::Tensor::of(out, {4, 100}), rt::Tensor::of(lengths, {4}),
      rt::Tensor::of(counts, {4}));
  for (int b = 0; b < 4; ++b) {
    EXPECT_EQ(counts[static_cast<size_t>(b)], (lengths[static_cast<size_t>(b)] + 31) / 32);
    for (int n = 0; n < 100; ++n) {
      int length = lengths[static_cast<size_t>(b)];
      int want = n >= length ? -1 : n >= length / 2 ? 2 : 2 + 10 * (length + 5);
      ASSERT_EQ(out[static_cast<size_t>(b * 100 + n)], want) << b << " " << n;
    }
  }
}

/// Sums, extremes and scans along a dimension that was set count what lies before it, whatever lies behind; so does a
/// loop that begins and ends where set symbols say. The tile with one place along `B` is one number.
TEST_P(Numbers, WhatLiesBehindASetDimensionDoesNotCount) {
  auto [B, N, FIRST, COUNT] = symbols<"B N FIRST COUNT">();
  Kernel k{"behind",
           {WorkgroupConstraint(B, 1, 0), TilingConstraint(N, 32, {.iters = sym::ceildiv(COUNT, 32), .start = FIRST}),
            HardwareConstraint{}}};
  auto x = k.memory("x", {B, N}, global, i32), sums = k.memory("sums", {B}, global, i32);
  auto least = k.memory("least", {B}, global, i32), largest = k.memory("largest", {B}, global, i32);
  auto scanned = k.memory("scanned", {B, N}, global, i32);
  auto begins = k.memory("begins", {B}, global, i32), ends = k.memory("ends", {B}, global, i32);
  Value begin = read(begins), end = read(ends);
  set_symbol(FIRST, begin);
  set_symbol(COUNT, end - begin);
  set_symbol(N, end);
  // Beyond its bounds a read is 0, so one is added to see what counts; places are those of the memory.
  auto elements = [&] { return read(x) + 1 + broadcast(k.self_index(N), {B, N}) * 0; };
  auto [total, low, high] =
      k.iterate(N, {k.fill({B}, i32, 0), k.fill({B}, i32, 1000), k.fill({B}, i32, -1000)},
                [&](Value sum_, Value min_, Value max_) {
                  Value index = broadcast(k.self_index(N), {B, N});
                  write(cumsum(elements(), sum_, N), scanned);
                  return std::tuple{sum(elements(), sum_, N), min(index, min_, N), max(index, max_, N)};
                });
  write(total, sums);
  write(low, least);
  write(high, largest);
  CompiledKernel run = compiled(k, options({}, {B, N}));
  std::vector<int32_t> in(4 * 100), first = {0, 5, 33, 60}, last = {0, 70, 100, 61};
  std::vector<int32_t> total_(4), low_(4), high_(4), scan(4 * 100, -1);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<int32_t>(i % 7);
  run(rt::Tensor::of(in, {4, 100}), rt::Tensor::of(total_, {4}), rt::Tensor::of(low_, {4}), rt::Tensor::of(high_, {4}),
      rt::Tensor::of(scan, {4, 100}), rt::Tensor::of(first, {4}), rt::Tensor::of(last, {4}));
  for (size_t b = 0; b < 4; ++b) {
    int32_t sum = 0;
    for (int32_t n = 0; n < 100; ++n) {
      bool counts = n >= first[b] && n < last[b];
      size_t at = b * 100 + static_cast<size_t>(n);
      sum += counts ? in[at] + 1 : 0;
      ASSERT_EQ(scan[at], counts ? sum : -1) << b << " " << n;
    }
    EXPECT_EQ(total_[b], sum);
    EXPECT_EQ(low_[b], first[b] < last[b] ? first[b] : 1000);
    EXPECT_EQ(high_[b], first[b] < last[b] ? last[b] - 1 : -1000);
  }
}

/// A product contracts what lies before, also of operands that were computed.
TEST_P(Numbers, ProductsAlongASetDimension) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel k{
      "product",
      {WorkgroupConstraint(M, 16, 0), WorkgroupConstraint(N, 16, 1), TilingConstraint(K, 32), HardwareConstraint{}}};
  auto a = k.memory("a", {M, K}, global, f16), b = k.memory("b", {N, K}, shared, f16);
  auto lengths = k.memory("lengths", {M / 16}, global, i32);
  auto c = k.memory("c", {M, N}, global, f32);
  set_symbol(K, read_at(lengths, {workgroup_id(0)}));
  write(k.iterate(K, k.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a) + 1.0, read(b), acc); }), c);
  CompiledKernel run = compiled(k, options({{M, 48}, {N, 20}, {K, 100}}));
  Tensor<half> left({48, 100}, [](int64_t i, int64_t j) { return static_cast<float>((i + j) % 3); });
  Tensor<half> right({20, 100}, [](int64_t i, int64_t j) { return static_cast<float>((i * j) % 5 - 2); });
  std::vector<int32_t> counts = {0, 37, 100};
  Tensor<float> out({48, 20});
  run(left, right, counts, out);
  for (int64_t i = 0; i < 48; ++i)
    for (int64_t j = 0; j < 20; ++j) {
      float want = 0;
      for (int64_t n = 0; n < counts[static_cast<size_t>(i / 16)]; ++n)
        want += (static_cast<float>(left(i, n)) + 1) * static_cast<float>(right(j, n));
      ASSERT_EQ(out(i, j), want) << i << " " << j;
    }
}

TEST_P(Numbers, ALoopThatBeginsWhereNothingIsSetIsRefused) {
  auto [N, FIRST] = symbols<"N FIRST">();
  Kernel k{"nowhere", {TilingConstraint(N, 32, {.start = FIRST}), HardwareConstraint{}}};
  auto x = k.memory("x", {N}, global, i32), y = k.memory("y", {N}, global, i32);
  k.iterate(N, [&] { write(read(x), y); });
  set_symbol(FIRST, k.fill({}, i32, 1));
  EXPECT_EQ(refusal(k, options({{N, 100}, {FIRST, 0}})), "set-symbol");
}

/// A binding holds to the end of the body that it stands in; the next iteration begins with what held outside.
TEST_P(Numbers, SetSymbolsAreLexical) {
  auto [B, N, S] = symbols<"B N S">();
  Kernel k{"lexical", {WorkgroupConstraint(B, 64, 0), TilingConstraint(N, 1), HardwareConstraint{}}};
  auto x = k.memory("x", {N, B}, global, i32), y = k.memory("y", {N, B}, global, i32);
  auto z = k.memory("z", {B}, global, i32);
  set_symbol(S, k.fill({}, i32, 7));
  Value zero = k.fill({B}, i32, 0);
  k.iterate(N, [&] {
    Value before = apply_expr(read(x), [&](Expr e) { return e + S; });
    set_symbol(S, k.fill({}, i32, 100));
    write(apply_expr(before, [&](Expr e) { return e + S; }), y);
  });
  write(apply_expr(zero, [&](Expr e) { return e + S; }), z);
  CompiledKernel run = compiled(k, options({{N, 3}}, {B}));
  std::vector<int32_t> in(3 * 70, 1), out(3 * 70), last(70);
  run(rt::Tensor::of(in, {3, 70}), rt::Tensor::of(out, {3, 70}), rt::Tensor::of(last, {70}));
  EXPECT_TRUE(std::ranges::all_of(out, [](int32_t each) { return each == 108; }));
  EXPECT_TRUE(std::ranges::all_of(last, [](int32_t each) { return each == 7; }));
}

INSTANTIATE_TEST_SUITE_P(All, Numbers, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
