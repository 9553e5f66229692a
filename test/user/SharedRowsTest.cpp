//===- SharedRowsTest.cpp - Several waves on one row that a loop walks --------------------------------------===//
//
// A wave constraint on a dimension that a loop walks: the tile of an iteration is shared by waves. What is carried from
// one iteration to the next is what the text says, whoever has added which part of it, also where a program looks at it
// before the loop is over. Rows of sizes that fill their tiles, do not, are tiny, empty, or known only at launch.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <cmath>
#include <functional>

namespace soliton::test {
namespace {

constexpr int64_t kHeight = 6;

/// Tiles of `columns`, shared by `waves`; `rowWaves` share the rows.
struct Tiles {
  int64_t columns, waves, rowWaves = 1;
};

std::ostream &operator<<(std::ostream &out, const Tiles &tiles) {
  return out << tiles.columns << " by " << tiles.waves << ", rows by " << tiles.rowWaves;
}

const Tiles kTiles[] = {{128, 4}, {64, 2, 2}, {96, 3}, {8, 4}};

Floats numbers(DType type, int64_t size, int64_t low, int64_t high) {
  Floats result(type, {kHeight, size});
  std::mt19937 engine(11);
  for (int64_t i = 0; i < result.size(); ++i)
    result.set(i, static_cast<double>(low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1))));
  return result;
}

class SharedRows : public ForTarget {
protected:
  static std::vector<Constraint> constraints(const Tiles &tiles) {
    auto [M, N] = symbols<"M N">();
    return {WorkgroupConstraint(M, 4, 0), TilingConstraint(N, tiles.columns), WaveConstraint(M, 4 / tiles.rowWaves),
            WaveConstraint(N, tiles.columns / tiles.waves), HardwareConstraint{}};
  }

  /// `check` gets the kernel at sizes of N that are bound, and at others that the launch says.
  void atSizes(const Kernel &kernel, const std::function<void(const CompiledKernel &, int64_t)> &check) const {
    auto [M, N] = symbols<"M N">();
    for (int64_t size : {256, 300}) {
      SCOPED_TRACE(size);
      check(compiled(kernel, options({{M, kHeight}, {N, size}})), size);
    }
    CompiledKernel atLaunch = compiled(kernel, options({{M, kHeight}}, {N}));
    for (int64_t size : {0, 1, 37, 384}) {
      SCOPED_TRACE("at launch " + std::to_string(size));
      check(atLaunch, size);
    }
  }
};

TEST_P(SharedRows, SumsAndExtremesThatALoopCarries) {
  for (const Tiles &tiles : kTiles) {
    SCOPED_TRACE(testing::PrintToString(tiles));
    auto [M, N] = symbols<"M N">();
    Kernel kernel{"carried", constraints(tiles)};
    auto a = kernel.memory("a", {M, N}, global, i32);
    auto [total, most, least] =
        kernel.iterate(N, {kernel.fill({M}, i32, 1000), kernel.fill({M}, i32, 3), kernel.fill({M}, i32, -2)},
                       [&](Value t, Value m, Value l) {
                         Value x = read(a);
                         return std::tuple{sum(x, t, N), max(x, m, N), min(x, l, N)};
                       });
    write(total, kernel.memory("total", {M}, global, i32));
    write(most, kernel.memory("most", {M}, global, i32));
    write(least, kernel.memory("least", {M}, global, i32));
    atSizes(kernel, [](const CompiledKernel &run, int64_t size) {
      Floats x = numbers(DType::i32, size, -50, 50);
      Floats t(DType::i32, {kHeight}, -1), m(DType::i32, {kHeight}, -1), l(DType::i32, {kHeight}, -1);
      run(x.tensor(), t.tensor(), m.tensor(), l.tensor());
      for (int64_t row = 0; row < kHeight; ++row) {
        double total = 1000, most = 3, least = -2;
        for (int64_t n = 0; n < size; ++n) {
          total += x[row * size + n];
          most = std::max(most, x[row * size + n]);
          least = std::min(least, x[row * size + n]);
        }
        ASSERT_EQ(t[row], total) << "row " << row;
        ASSERT_EQ(m[row], most) << "row " << row;
        ASSERT_EQ(l[row], least) << "row " << row;
      }
    });
  }
}

TEST_P(SharedRows, ProductsAndTruthsThatALoopCarries) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"carried", constraints({128, 4})};
  auto a = kernel.memory("a", {M, N}, global, i32);
  auto [product, every] = kernel.iterate(N, {kernel.fill({M}, i32, 5), kernel.fill({M}, i1, 1)}, [&](Value p, Value t) {
    Value x = read(a);
    return std::tuple{prod(x, p, N), all(x < 3, t, N)};
  });
  write(product, kernel.memory("p", {M}, global, i32));
  write(cast(every, i32), kernel.memory("t", {M}, global, i32));
  atSizes(kernel, [](const CompiledKernel &run, int64_t size) {
    Floats x = numbers(DType::i32, size, 1, 2), p(DType::i32, {kHeight}, -1), t(DType::i32, {kHeight}, -1);
    if (size > 0)
      x.set(5 * size - 1, 3); // the last of row 4
    run(x.tensor(), p.tensor(), t.tensor());
    for (int64_t m = 0; m < kHeight; ++m) {
      uint32_t want = 5;
      for (int64_t n = 0; n < size; ++n)
        want *= static_cast<uint32_t>(x[m * size + n]);
      ASSERT_EQ(p[m], static_cast<int32_t>(want)) << "row " << m;
      ASSERT_EQ(t[m], size == 0 || m != 4) << "row " << m;
    }
  });
}

/// The sum so far is written in every iteration, so waves must have met by then.
TEST_P(SharedRows, SumsThatTheLoopLooksAt) {
  auto [M, N, T] = symbols<"M N T">();
  Kernel kernel{"looks", constraints({64, 2})};
  auto a = kernel.memory("a", {M, N}, global, i32), so = kernel.memory("so", {T, M}, global, i32);
  auto i = IndexMapping::iterator(0);
  IndexMapping to{.num_iterators = 1, .inputs = {{M, i}}, .outputs = {{T, iteration(N)}, {M, i}}};
  write(kernel.iterate(N, kernel.fill({M}, i32, 7),
                       [&](Value before) {
                         Value now = sum(read(a), before, N);
                         write(now, so, {.mapping = to});
                         return now;
                       }),
        kernel.memory("o", {M}, global, i32));
  constexpr int64_t size = 150;
  CompiledKernel run = compiled(kernel, options({{M, kHeight}, {N, size}, {T, 3}}));
  Floats x = numbers(DType::i32, size, -9, 9), each(DType::i32, {3, kHeight}, -1), o(DType::i32, {kHeight}, -1);
  run(x.tensor(), each.tensor(), o.tensor());
  for (int64_t m = 0; m < kHeight; ++m) {
    double sum = 7;
    for (int64_t n = 0; n < size; ++n) {
      sum += x[m * size + n];
      if (n % 64 == 63 || n + 1 == size)
        ASSERT_EQ(each[n / 64 * kHeight + m], sum) << "row " << m << ", iteration " << n / 64;
    }
    ASSERT_EQ(o[m], sum) << "row " << m;
  }
}

TEST_P(SharedRows, RunningSumsAndPlacesOfExtremes) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"running", constraints({128, 4})};
  auto a = kernel.memory("a", {M, N}, global, i32), b = kernel.memory("b", {M, N}, global, i32);
  auto [total, value, index] =
      kernel.iterate(N, {kernel.fill({M}, i32, 0), kernel.fill({M}, i32, INT32_MIN), kernel.fill({M}, i32, INT32_MAX)},
                     [&](Value t, Value v, Value i) {
                       Value x = read(a);
                       write(cumsum(x, t, N), b);
                       Extreme found = argmax(x, {v, i}, N);
                       return std::tuple{sum(x, t, N), found.value, found.index};
                     });
  write(index, kernel.memory("where", {M}, global, i32));
  atSizes(kernel, [](const CompiledKernel &run, int64_t size) {
    if (size == 0)
      return;
    Floats x = numbers(DType::i32, size, -9, 9), sums(DType::i32, {kHeight, size}, -1), where(DType::i32, {kHeight});
    run(x.tensor(), sums.tensor(), where.tensor());
    for (int64_t m = 0; m < kHeight; ++m) {
      double sum = 0;
      int64_t best = 0;
      for (int64_t n = 0; n < size; ++n) {
        ASSERT_EQ(sums[m * size + n], sum += x[m * size + n]) << "row " << m << ", column " << n;
        best = x[m * size + n] > x[m * size + best] ? n : best;
      }
      ASSERT_EQ(where[m], best) << "row " << m;
    }
  });
}

/// The largest so far is needed in every iteration, the sum below it only at the end.
TEST_P(SharedRows, WhatIsCarriedIntoTheLoopIsScaledWithTheRest) {
  for (int64_t first : {0, 5}) {
    auto [M, N] = symbols<"M N">();
    Kernel kernel{"scaled", constraints({128, 4})};
    auto a = kernel.memory("a", {M, N}, global, i32);
    Value total = kernel.iterate(N, kernel.fill({M}, i32, static_cast<double>(first)),
                                 [&](Value acc) { return sum(read(a), acc * 3, N); });
    write(total, kernel.memory("total", {M}, global, i32));
    atSizes(kernel, [&](const CompiledKernel &run, int64_t size) {
      Floats x = numbers(DType::i32, size, -9, 9), found(DType::i32, {kHeight}, -1);
      run(x.tensor(), found.tensor());
      for (int64_t m = 0; m < kHeight; ++m) {
        double want = static_cast<double>(first);
        for (int64_t n = 0; n < size; ++n)
          want = (n % 128 == 0 ? 3 * want : want) + x[m * size + n];
        ASSERT_EQ(found[m], want) << "row " << m << " from " << first;
      }
    });
  }
}

TEST_P(SharedRows, SoftmaxInOnePass) {
  for (const char *schedule : {"none", "prefetch", "modulo"}) {
    SCOPED_TRACE(schedule);
    auto [M, N] = symbols<"M N">();
    Kernel kernel{"softmax", constraints({128, 4})};
    auto a = kernel.memory("a", {M, N}, global, f32), b = kernel.memory("b", {M, N}, global, f32);
    auto [largest, total] =
        kernel.iterate(N, {kernel.fill({M}, f32, -INFINITY), kernel.fill({M}, f32, 0.0)}, [&](Value before, Value acc) {
          Value x = read(a), now = max(x, before, N);
          return std::tuple{now, sum(exp(x - now), acc * exp(before - now), N)};
        });
    kernel.iterate(N, [&] { write(exp(read(a) - largest) / total, b); });
    for (int64_t size : {512, 300}) {
      CompileOptions with = options({{M, kHeight}, {N, size}});
      with.schedule.name = schedule;
      CompiledKernel run = compiled(kernel, with);
      Floats x = Floats::random(DType::f32, {kHeight, size}), y(DType::f32, {kHeight, size}, -1);
      run(x.tensor(), y.tensor());
      for (int64_t m = 0; m < kHeight; ++m) {
        double sum = 0;
        for (int64_t n = 0; n < size; ++n)
          sum += std::exp(x[m * size + n]);
        for (int64_t n = 0; n < size; ++n)
          ASSERT_NEAR(y[m * size + n], std::exp(x[m * size + n]) / sum, 1e-5) << "row " << m << ", column " << n;
      }
    }
  }
}

TEST_P(SharedRows, RowsOfLoopsInsideEachOther) {
  auto [M, N, T] = symbols<"M N T">();
  Kernel kernel{"nested", constraints({64, 2})};
  auto a = kernel.memory("a", {M, N}, global, i32);
  // T times the sum of the row, each time from what was there before.
  Value total = kernel.iterate(
      T, kernel.fill({M}, i32, 1),
      [&](Value outer) { return kernel.iterate(N, outer, [&](Value acc) { return sum(read(a), acc, N); }); },
      {.count = T});
  write(total, kernel.memory("o", {M}, global, i32));
  CompiledKernel run = compiled(kernel, options({{M, kHeight}}, {N, T}));
  Floats x = numbers(DType::i32, 100, -9, 9), o(DType::i32, {kHeight}, -1);
  run(x.tensor(), o.tensor(), {T, 3});
  for (int64_t m = 0; m < kHeight; ++m) {
    double sum = 0;
    for (int64_t n = 0; n < 100; ++n)
      sum += x[m * 100 + n];
    ASSERT_EQ(o[m], 1 + 3 * sum) << "row " << m;
  }
}

/// Workgroups share the row too: each has four tiles of it.
TEST_P(SharedRows, RowsOfSeveralWorkgroups) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"parts",
                {WorkgroupConstraint(M, 4, 0), WorkgroupConstraint(N, 256, 1), TilingConstraint(N, 64, {.iters = 4}),
                 WaveConstraint(N, 32), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, i32), o = kernel.memory("o", {M}, global, i32);
  atomic_add(kernel.iterate(N, kernel.fill({M}, i32, 0), [&](Value acc) { return sum(read(a), acc, N); }), o);
  CompiledKernel run = compiled(kernel, options({{M, kHeight}}, {N}));
  for (int64_t size : {512, 700, 5}) {
    Floats x = numbers(DType::i32, size, -9, 9), sums(DType::i32, {kHeight}, 0);
    run(x.tensor(), sums.tensor());
    for (int64_t m = 0; m < kHeight; ++m) {
      double sum = 0;
      for (int64_t n = 0; n < size; ++n)
        sum += x[m * size + n];
      ASSERT_EQ(sums[m], sum) << "row " << m << " of " << size;
    }
  }
}

//===-- Products --------------------------------------------------------------------------------------------===//

/// c = 2 + a bᵀ with K shared by waves; sums are exact.
Kernel product(int64_t rowWaves, int64_t depthWaves, AddressSpace space) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"product",
                {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 128),
                 WaveConstraint(M, 32 / rowWaves), WaveConstraint(K, 128 / depthWaves), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, space, f16), b = kernel.memory("b", {N, K}, space, f16);
  auto c = kernel.memory("c", {M, N}, global, f32);
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 2.0), [&](Value acc) { return mma(read(a), read(b), acc); }), c);
  return kernel;
}

void checkProduct(const CompiledKernel &run, int64_t m, int64_t n, int64_t k) {
  auto small = [](int64_t rows, int64_t columns, unsigned seed) {
    Floats result(DType::f16, {rows, columns});
    std::mt19937 engine(seed);
    for (int64_t i = 0; i < result.size(); ++i)
      result.set(i, static_cast<double>(engine() % 7) - 3);
    return result;
  };
  Floats a = small(m, k, 1), b = small(n, k, 2), c(DType::f32, {m, n}, NAN);
  run(a.tensor(), b.tensor(), c.tensor());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 2;
      for (int64_t x = 0; x < k; ++x)
        sum += a[i * k + x] * b[j * k + x];
      ASSERT_EQ(c[i * n + j], sum) << i << " " << j;
    }
}

TEST_P(SharedRows, ProductsWhoseDepthWavesShare) {
  auto [M, N, K] = symbols<"M N K">();
  for (auto [rowWaves, depthWaves] : {std::pair{1, 2}, {1, 4}, {2, 2}})
    for (AddressSpace space : {shared, global}) {
      SCOPED_TRACE(std::to_string(rowWaves) + " by " + std::to_string(depthWaves));
      Kernel kernel = product(rowWaves, depthWaves, space);
      checkProduct(compiled(kernel, options({{M, 64}, {N, 32}, {K, 512}})), 64, 32, 512);
      checkProduct(compiled(kernel, options({{M, 33}, {N, 40}, {K, 200}})), 33, 40, 200);
      CompiledKernel atLaunch = compiled(kernel, options({}, {M, N, K}));
      for (int64_t depth : {1, 0, 128, 300})
        checkProduct(atLaunch, 33, 20, depth);
    }
}

TEST_P(SharedRows, ProductsWhoseDepthWavesShareUnderSchedules) {
  auto [M, N, K] = symbols<"M N K">();
  for (const char *schedule : {"prefetch", "four_stage", "list", "modulo"}) {
    SCOPED_TRACE(schedule);
    CompileOptions with = options({{M, 64}, {N, 32}, {K, 1100}});
    with.schedule.name = schedule;
    checkProduct(compiled(product(1, 2, shared), with), 64, 32, 1100);
  }
}

/// What is multiplied outside of loops, or looked at inside, is whole.
TEST_P(SharedRows, ProductsThatTheLoopLooksAt) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"largest",
                {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 64),
                 WaveConstraint(K, 32), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto [sum, most] =
      kernel.iterate(K, {kernel.fill({M, N}, f32, 0.0), kernel.fill({M, N}, f32, -1e9)}, [&](Value acc, Value before) {
        Value now = mma(read(a), read(b), acc);
        return std::tuple{now, maximum(before, now)};
      });
  write(most, kernel.memory("c", {M, N}, global, f32));
  constexpr int64_t size = 32, depth = 150;
  CompiledKernel run = compiled(kernel, options({{M, size}, {N, size}, {K, depth}}));
  Floats x(DType::f16, {size, depth}), y(DType::f16, {size, depth}), c(DType::f32, {size, size}, NAN);
  std::mt19937 engine(3);
  for (int64_t i = 0; i < size * depth; ++i) {
    x.set(i, static_cast<double>(engine() % 7) - 3);
    y.set(i, static_cast<double>(engine() % 7) - 3);
  }
  run(x.tensor(), y.tensor(), c.tensor());
  for (int64_t m = 0; m < size; ++m)
    for (int64_t n = 0; n < size; ++n) {
      double sum = 0, most = -1e9;
      for (int64_t k = 0; k < depth; ++k) {
        sum += x[m * depth + k] * y[n * depth + k];
        if (k % 64 == 63 || k + 1 == depth)
          most = std::max(most, sum);
      }
      ASSERT_EQ(c[m * size + n], most) << m << " " << n;
    }
}

/// Each wave's part is a whole number of instructions, of the first that fits it.
TEST_P(SharedRows, PartsOfTheDepthAreWholeInstructions) {
  auto [M, N, K] = symbols<"M N K">();
  auto bytes = [&](int64_t part) {
    Kernel kernel{"bytes",
                  {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 4 * part),
                   WaveConstraint(K, part), HardwareConstraint{}}};
    auto a = kernel.memory("a", {M, K}, shared, i8), b = kernel.memory("b", {N, K}, shared, i8);
    auto c = kernel.memory("c", {M, N}, global, i32);
    write(kernel.iterate(K, kernel.fill({M, N}, i32, 0), [&](Value acc) { return mma(read(a), read(b), acc); }), c);
    return kernel;
  };
  CompileOptions sizes = options({{M, 32}, {N, 32}, {K, 77}});
  EXPECT_EQ(refusal(bytes(8), sizes), "tile-not-multiple-of-mma");
  CompiledKernel run = compiled(bytes(32), sizes);
  Floats x(DType::i8, {32, 77}), y(DType::i8, {32, 77}), z(DType::i32, {32, 32}, -1);
  for (int64_t i = 0; i < x.size(); ++i) {
    x.set(i, static_cast<double>(i * 7 % 11) - 5);
    y.set(i, static_cast<double>(i * 5 % 13) - 6);
  }
  run(x.tensor(), y.tensor(), z.tensor());
  for (int64_t m = 0; m < 32; ++m)
    for (int64_t n = 0; n < 32; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < 77; ++k)
        sum += x[m * 77 + k] * y[n * 77 + k];
      ASSERT_EQ(z[m * 32 + n], sum) << m << " " << n;
    }
}

/// Scales of 32 neighbours lie with the waves that hold these.
TEST_P(SharedRows, ScaledProductsWhoseDepthWavesShare) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"scaled",
                {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 256),
                 WaveConstraint(K, 128), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, shared, f8e4m3fn), b = kernel.memory("b", {N, K}, shared, f8e4m3fn);
  auto s = kernel.memory("s", {M, K / 32}, shared, i8), t = kernel.memory("t", {N, K / 32}, shared, i8);
  auto body = [&](Value acc) {
    return scaled_mma(read(a), bitcast(read(s), f8e8m0fnu), read(b), bitcast(read(t), f8e8m0fnu), acc);
  };
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), body), kernel.memory("c", {M, N}, global, f32));
  constexpr int64_t size = 32, depth = 608, blocks = depth / 32;
  CompiledKernel run = compiled(kernel, options({{M, size}, {N, size}, {K, depth}}));
  Floats x(DType::f8e4m3fn, {size, depth}), y(DType::f8e4m3fn, {size, depth}), c(DType::f32, {size, size}, NAN);
  Floats u(DType::i8, {size, blocks}), v(DType::i8, {size, blocks});
  for (int64_t i = 0; i < x.size(); ++i) {
    x.set(i, static_cast<double>(i * 7 % 5) - 2);
    y.set(i, static_cast<double>(i * 5 % 7) - 3);
  }
  for (int64_t i = 0; i < u.size(); ++i) { // 2 to the power of the byte less 127
    u.set(i, static_cast<double>(124 + i % 4));
    v.set(i, static_cast<double>(125 + i % 3));
  }
  run(x.tensor(), y.tensor(), u.tensor(), v.tensor(), c.tensor());
  for (int64_t m = 0; m < size; ++m)
    for (int64_t n = 0; n < size; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += std::ldexp(x[m * depth + k], static_cast<int>(u[m * blocks + k / 32]) - 127) *
               std::ldexp(y[n * depth + k], static_cast<int>(v[n * blocks + k / 32]) - 127);
      ASSERT_EQ(c[m * size + n], sum) << m << " " << n;
    }
}

//===-- Attention -------------------------------------------------------------------------------------------===//

/// Keys of an iteration are shared by waves: sums and outputs are rescaled in each, and added up behind the loop.
TEST_P(SharedRows, AttentionWhoseKeysWavesShare) {
  auto [Q, S, D] = symbols<"Q S D">();
  Kernel kernel{"attention",
                {WorkgroupConstraint(Q, 32, 0), WorkgroupConstraint(D, 32, 1), TilingConstraint(S, 64),
                 WaveConstraint(S, 32), HardwareConstraint{}}};
  auto q = kernel.memory("q", {Q, D}, global, f16), k = kernel.memory("k", {S, D}, shared, f16);
  auto v = kernel.memory("v", {D, S}, shared, f16), o = kernel.memory("o", {Q, D}, global, f32);
  auto [largest, total, out] =
      kernel.iterate(S, {kernel.fill({Q}, f32, -1e9), kernel.fill({Q}, f32, 0.0), kernel.fill({Q, D}, f32, 0.0)},
                     [&](Value before, Value sums, Value acc) {
                       Value x = mma(read(q), read(k), kernel.fill({Q, S}, f32, 0.0));
                       Value now = max(x, before, S), factor = exp(before - now), p = exp(x - now);
                       return std::tuple{now, sum(p, sums * factor, S), mma(cast(p, f16), read(v), acc * factor)};
                     });
  write(out / total, o);
  constexpr int64_t queries = 40, depth = 32;
  for (int64_t keys : {128, 100}) {
    CompiledKernel run = compiled(kernel, options({{Q, queries}, {S, keys}, {D, depth}}));
    Floats a = Floats::random(DType::f16, {queries, depth}, 1), b = Floats::random(DType::f16, {keys, depth}, 2);
    Floats c = Floats::random(DType::f16, {depth, keys}, 3), result(DType::f32, {queries, depth}, NAN);
    run(a.tensor(), b.tensor(), c.tensor(), result.tensor());
    for (int64_t m = 0; m < queries; ++m) {
      std::vector<double> weights;
      double sum = 0;
      for (int64_t s = 0; s < keys; ++s) {
        double dot = 0;
        for (int64_t d = 0; d < depth; ++d)
          dot += a[m * depth + d] * b[s * depth + d];
        weights.push_back(std::exp(dot));
        sum += weights.back();
      }
      for (int64_t d = 0; d < depth; ++d) {
        double want = 0;
        for (int64_t s = 0; s < keys; ++s)
          want += weights[static_cast<size_t>(s)] / sum * c[d * keys + s];
        ASSERT_NEAR(result[m * depth + d], want, 2e-3) << m << " " << d;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SharedRows, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
