//===- ReductionsTest.cpp - Rows that become one number, and rows that add up -----------------------------===//
//
// Every kind of reduction over rows that registers, lanes and waves share, of sizes that fill their tiles, do not, are
// tiny, or are known only at launch. What lies beyond the end of a row never counts.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <cmath>
#include <functional>

namespace soliton::test {
namespace {

/// How a row of N is shared: a tile of `columns`, by `waves` along it.
struct Rows {
  int64_t size, columns, waves;
  bool isDynamic = false;
};

std::ostream &operator<<(std::ostream &out, const Rows &rows) {
  return out << rows.size << " of " << rows.columns << " by " << rows.waves << (rows.isDynamic ? " at launch" : "");
}

const Rows kRows[] = {{8, 8, 1},   {64, 64, 1},   {256, 256, 4},      {37, 64, 1},       {1, 64, 1},
                      {3, 4, 1},   {200, 256, 4}, {5, 256, 2},        {37, 64, 1, true}, {200, 256, 4, true},
                      {48, 48, 1}, {96, 96, 3},   {256, 256, 1, true}};

constexpr int64_t kHeight = 6;

class Reductions : public ForTarget {
protected:
  /// A kernel over rows of a tile: `body` gets it and the dimensions M and N.
  CompiledKernel rowKernel(const Rows &rows, const std::function<void(Kernel &, Expr, Expr)> &body) const {
    auto [M, N] = symbols<"M N">();
    Kernel kernel{"rows",
                  {WorkgroupConstraint(M, 4, 0), WorkgroupConstraint(N, rows.columns, 1),
                   WaveConstraint(N, rows.columns / rows.waves)}};
    body(kernel, M, N);
    Substitutions subs{{M, kHeight}};
    if (!rows.isDynamic)
      subs.emplace_back(N, rows.size);
    return compiled(kernel, options(subs, rows.isDynamic ? std::vector<Expr>{N} : std::vector<Expr>{}));
  }
};

/// Numbers from `low` to `high` that differ from row to row.
Floats numbers(DType type, const Rows &rows, int64_t low, int64_t high) {
  Floats result(type, {kHeight, rows.size});
  std::mt19937 engine(7);
  for (int64_t i = 0; i < result.size(); ++i)
    result.set(i, static_cast<double>(low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1))));
  return result;
}

TEST_P(Reductions, ProductsOfRows) {
  for (const Rows &rows : kRows) {
    SCOPED_TRACE(testing::PrintToString(rows));
    CompiledKernel run = rowKernel(rows, [](Kernel &kernel, Expr M, Expr N) {
      auto a = kernel.memory("a", {M, N}, global, i32);
      write(prod(read(a), N), kernel.memory("o", {M}, global, i32));
    });
    Floats a = numbers(DType::i32, rows, 1, 3), o(DType::i32, {kHeight}, -1);
    run(a.tensor(), o.tensor());
    for (int64_t m = 0; m < kHeight; ++m) {
      uint32_t want = 1;
      for (int64_t n = 0; n < rows.size; ++n)
        want *= static_cast<uint32_t>(a[m * rows.size + n]);
      ASSERT_EQ(o[m], static_cast<int32_t>(want)) << "row " << m;
    }
  }
}

TEST_P(Reductions, WhetherOneOrAllOfARowHold) {
  for (const Rows &rows : kRows) {
    SCOPED_TRACE(testing::PrintToString(rows));
    CompiledKernel run = rowKernel(rows, [](Kernel &kernel, Expr M, Expr N) {
      auto a = kernel.memory("a", {M, N}, global, f32);
      Value x = read(a);
      write(cast(any(x > 8.0, N), i32), kernel.memory("some", {M}, global, i32));
      write(cast(all(x > 0.0, N), i32), kernel.memory("every", {M}, global, i32));
    });
    Floats a = numbers(DType::f32, rows, 1, 7), some(DType::i32, {kHeight}, -1), every(DType::i32, {kHeight}, -1);
    a.set(2 * rows.size + rows.size - 1, 9); // the last of row 2 is large
    a.set(3 * rows.size + rows.size / 2, 0); // one of row 3 is not positive
    run(a.tensor(), some.tensor(), every.tensor());
    for (int64_t m = 0; m < kHeight; ++m) {
      ASSERT_EQ(some[m], m == 2) << "row " << m;
      ASSERT_EQ(every[m], m != 3) << "row " << m;
    }
  }
}

TEST_P(Reductions, ProductsAndTruthsThatALoopCarries) {
  for (int64_t size : {64, 37, 1, 0}) {
    SCOPED_TRACE(size);
    auto [M, N] = symbols<"M N">();
    Kernel kernel{"carried", {WorkgroupConstraint(M, 4, 0), TilingConstraint(N, 16), HardwareConstraint{}}};
    auto a = kernel.memory("a", {M, N}, global, i32);
    auto [product, every] =
        kernel.iterate(N, {kernel.fill({M}, i32, 5), kernel.fill({M}, i1, 1)}, [&](Value p, Value t) {
          Value x = read(a);
          return std::tuple{prod(x, p, N), all(x < 3, t, N)};
        });
    write(product, kernel.memory("p", {M}, global, i32));
    write(cast(every, i32), kernel.memory("t", {M}, global, i32));
    CompiledKernel run = compiled(kernel, options({{M, kHeight}}, {N}));
    Rows rows{size, 16, 1};
    Floats x = numbers(DType::i32, rows, 1, 2), p(DType::i32, {kHeight}, -1), t(DType::i32, {kHeight}, -1);
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
  }
}

//===-- Where extremes are ------------------------------------------------------------------------------===//

/// The first place of the largest or smallest of a row; NaN counts as either.
int64_t placeOf(const Floats &a, int64_t row, int64_t size, bool largest) {
  int64_t best = 0;
  for (int64_t n = 1; n < size; ++n) {
    double x = a[row * size + n], y = a[row * size + best];
    if (!std::isnan(y) && (std::isnan(x) || (largest ? x > y : x < y)))
      best = n;
  }
  return best;
}

TEST_P(Reductions, WhereTheExtremesOfRowsAre) {
  for (const Rows &rows : kRows) {
    SCOPED_TRACE(testing::PrintToString(rows));
    CompiledKernel run = rowKernel(rows, [](Kernel &kernel, Expr M, Expr N) {
      auto a = kernel.memory("a", {M, N}, global, f32);
      Value x = read(a);
      auto [largest, high] = argmax(x, N);
      auto [smallest, low] = argmin(x, N);
      write(largest, kernel.memory("largest", {M}, global, f32));
      write(high, kernel.memory("high", {M}, global, i32));
      write(smallest, kernel.memory("smallest", {M}, global, f32));
      write(low, kernel.memory("low", {M}, global, i32));
    });
    // Few numbers, so that most rows have their extreme more than once; none is 0, as what lies beyond a row is.
    Floats a = numbers(DType::f32, rows, 1, 3), largest(DType::f32, {kHeight}), smallest(DType::f32, {kHeight});
    Floats high(DType::i32, {kHeight}), low(DType::i32, {kHeight});
    for (int64_t n = 0; n < rows.size; ++n) {
      a.set(rows.size + n, -a[rows.size + n]); // row 1 is below 0
      a.set(4 * rows.size + n, -INFINITY);
    }
    a.set(3 * rows.size + rows.size / 2, NAN);
    a.set(3 * rows.size + rows.size - 1, NAN);
    run(a.tensor(), largest.tensor(), high.tensor(), smallest.tensor(), low.tensor());
    for (int64_t m = 0; m < kHeight; ++m) {
      int64_t first = placeOf(a, m, rows.size, true), last = placeOf(a, m, rows.size, false);
      ASSERT_EQ(high[m], first) << "row " << m;
      ASSERT_EQ(low[m], last) << "row " << m;
      double most = a[m * rows.size + first], least = a[m * rows.size + last];
      ASSERT_TRUE(largest[m] == most || (std::isnan(most) && std::isnan(largest[m]))) << "row " << m;
      ASSERT_TRUE(smallest[m] == least || (std::isnan(least) && std::isnan(smallest[m]))) << "row " << m;
    }
  }
}

TEST_P(Reductions, WhereTheExtremeOfAllThatALoopReadIs) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"carried", {WorkgroupConstraint(M, 4, 0), TilingConstraint(N, 16), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, f16);
  auto [value, index] =
      kernel.iterate(N, {kernel.fill({M}, f16, -INFINITY), kernel.fill({M}, i32, INT32_MAX)}, [&](Value v, Value i) {
        Extreme found = argmax(read(a), {v, i}, N);
        return std::tuple{found.value, found.index};
      });
  write(value, kernel.memory("v", {M}, global, f16));
  write(index, kernel.memory("i", {M}, global, i32));
  CompiledKernel run = compiled(kernel, options({{M, kHeight}}, {N}));
  for (int64_t size : {64, 37, 1}) {
    SCOPED_TRACE(size);
    Floats x = numbers(DType::f16, {size, 16, 1}, -4, 4), v(DType::f16, {kHeight}), i(DType::i32, {kHeight}, -1);
    run(x.tensor(), v.tensor(), i.tensor());
    for (int64_t m = 0; m < kHeight; ++m) {
      ASSERT_EQ(i[m], placeOf(x, m, size, true)) << "row " << m;
      ASSERT_EQ(v[m], x[m * size + static_cast<int64_t>(i[m])]) << "row " << m;
    }
  }
}

//===-- Scans ---------------------------------------------------------------------------------------------===//

TEST_P(Reductions, RunningSumsAndExtremesOfRows) {
  for (const Rows &rows : kRows) {
    SCOPED_TRACE(testing::PrintToString(rows));
    CompiledKernel run = rowKernel(rows, [](Kernel &kernel, Expr M, Expr N) {
      auto a = kernel.memory("a", {M, N}, global, i32);
      Value x = read(a);
      write(cumsum(x, N), kernel.memory("sums", {M, N}, global, i32));
      write(cumprod(x, N), kernel.memory("products", {M, N}, global, i32));
      write(cummax(x, N), kernel.memory("most", {M, N}, global, i32));
      write(cummin(cast(x, f32), N), kernel.memory("least", {M, N}, global, f32));
    });
    Floats a = numbers(DType::i32, rows, -9, -1);
    std::vector<int64_t> shape = {kHeight, rows.size};
    Floats sums(DType::i32, shape), products(DType::i32, shape), most(DType::i32, shape), least(DType::f32, shape, NAN);
    run(a.tensor(), sums.tensor(), products.tensor(), most.tensor(), least.tensor());
    for (int64_t m = 0; m < kHeight; ++m) {
      double sum = 0, high = -INFINITY, low = INFINITY;
      uint32_t product = 1;
      for (int64_t n = 0, at = m * rows.size; n < rows.size; ++n, ++at) {
        product *= static_cast<uint32_t>(static_cast<int32_t>(a[at]));
        ASSERT_EQ(sums[at], sum += a[at]) << "row " << m << " at " << n;
        ASSERT_EQ(products[at], static_cast<int32_t>(product)) << "row " << m << " at " << n;
        ASSERT_EQ(most[at], high = std::max(high, a[at])) << "row " << m << " at " << n;
        ASSERT_EQ(least[at], low = std::min(low, a[at])) << "row " << m << " at " << n;
      }
    }
  }
}

TEST_P(Reductions, RunningSumsOfColumns) {
  // The dimension that is not the fastest one, of which lanes hold parts of other rows.
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"columns", {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 32, 1), WaveConstraint(M, 32)}};
  auto a = kernel.memory("a", {M, N}, global, f32);
  write(cumsum(read(a), M), kernel.memory("o", {M, N}, global, f32));
  CompiledKernel run = compiled(kernel, options({{M, 53}, {N, 37}}));
  Floats x(DType::f32, {53, 37}), o(DType::f32, {53, 37}, NAN);
  for (int64_t i = 0; i < x.size(); ++i)
    x.set(i, static_cast<double>(i % 7 - 3));
  run(x.tensor(), o.tensor());
  for (int64_t n = 0; n < 37; ++n) {
    double sum = 0;
    for (int64_t m = 0; m < 53; ++m)
      ASSERT_EQ(o[m * 37 + n], sum += x[m * 37 + n]) << m << ", " << n;
  }
}

TEST_P(Reductions, RunningSumsThatALoopCarries) {
  for (int64_t waves : {1, 2}) {
    auto [M, N] = symbols<"M N">();
    Kernel kernel{
        "carried",
        {WorkgroupConstraint(M, 4, 0), TilingConstraint(N, 128), WaveConstraint(M, 4 / waves), HardwareConstraint{}}};
    auto a = kernel.memory("a", {M, N}, global, f32), o = kernel.memory("o", {M, N}, global, f32);
    kernel.iterate(N, kernel.fill({M}, f32, 5.0), [&](Value before) {
      Value x = read(a);
      write(cumsum(x, before, N), o);
      return sum(x, before, N);
    });
    CompiledKernel run = compiled(kernel, options({{M, kHeight}}, {N}));
    for (int64_t size : {256, 300, 37, 1}) {
      SCOPED_TRACE(size);
      Floats x = numbers(DType::f32, {size, 128, 1}, -4, 4), y(DType::f32, {kHeight, size}, NAN);
      run(x.tensor(), y.tensor());
      for (int64_t m = 0; m < kHeight; ++m) {
        double sum = 5;
        for (int64_t n = 0; n < size; ++n)
          ASSERT_EQ(y[m * size + n], sum += x[m * size + n]) << "row " << m << " at " << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reductions, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
