//===- SortTest.cpp - Rows in order ---------------------------------------------------------===//
//
// Sorted rows of every type, on one wave and on several, with what they carry, beyond the end of the tensor, and the
// first few of them. The expected order is that of a stable sort.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace soliton::test {
namespace {

class Sort : public ForTarget {};

/// Places of `row` in order; NaN is the largest, equal elements keep their order.
template <typename T>
std::vector<size_t> orderOf(const std::vector<T> &row, bool descending) {
  auto before = [](T a, T b) { return a < b || (b != b && a == a); };
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [&](size_t x, size_t y) { return descending ? before(row[y], row[x]) : before(row[x], row[y]); });
  return order;
}

template <typename T>
std::vector<T> fewNumbers(size_t count, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::vector<T> numbers(count);
  for (T &number : numbers)
    number = static_cast<T>(static_cast<int>(engine() % 19) - 9);
  return numbers;
}

template <typename T>
void expectSorted(const CompiledKernel &run, std::vector<T> in, size_t rows, bool descending, size_t kept) {
  size_t columns = in.size() / rows;
  std::vector<T> values(rows * kept, T(77));
  std::vector<int32_t> places(rows * kept, -1);
  auto m = static_cast<int64_t>(rows), n = static_cast<int64_t>(columns), k = static_cast<int64_t>(kept);
  run(rt::Tensor::of(in, {m, n}), rt::Tensor::of(values, {m, k}), rt::Tensor::of(places, {m, k}));
  for (size_t row = 0; row < rows; ++row) {
    std::vector<T> own(in.begin() + static_cast<ptrdiff_t>(row * columns),
                       in.begin() + static_cast<ptrdiff_t>((row + 1) * columns));
    std::vector<size_t> order = orderOf(own, descending);
    for (size_t i = 0; i < kept; ++i) {
      T want = i < columns ? own[order[i]] : T(0), found = values[row * kept + i];
      ASSERT_EQ(places[row * kept + i], i < columns ? static_cast<int32_t>(order[i]) : 0) << row << " " << i;
      ASSERT_TRUE(std::memcmp(&want, &found, sizeof(T)) == 0 || (want != want && found != found)) << row << " " << i;
    }
  }
}

template <typename T>
void sortRows(const Sort &, ElementType type,
              const std::function<CompiledKernel(const Kernel &, lang::Substitutions, std::vector<Expr>)> &make) {
  for (bool descending : {false, true}) {
    auto [M, N] = symbols<"M N">();
    Kernel kernel{"rows", {WorkgroupConstraint(M, 4, 0), WaveConstraint(M, 2), HardwareConstraint{}}};
    auto a = kernel.memory("a", {M, N}, global, type), b = kernel.memory("b", {M, N}, global, type);
    auto c = kernel.memory("c", {M, N}, global, i32);
    auto [value, index] = sort(read(a), N, {.descending = descending});
    write(value, b);
    write(index, c);
    for (int64_t columns : {1, 6, 50, 128})
      expectSorted(make(kernel, {{N, columns}}, {M}), fewNumbers<T>(static_cast<size_t>(5 * columns)), 5, descending,
                   static_cast<size_t>(columns));
  }
}

TEST_P(Sort, RowsOfEveryWidth) {
  auto make = [&](const Kernel &kernel, lang::Substitutions subs, std::vector<Expr> dynamic) {
    return compiled(kernel, options(std::move(subs), dynamic));
  };
  sortRows<float>(*this, f32, make);
  sortRows<int32_t>(*this, i32, make);
}

TEST_P(Sort, RowsOfWideAndNarrowNumbers) {
  auto make = [&](const Kernel &kernel, lang::Substitutions subs, std::vector<Expr> dynamic) {
    return compile(kernel, options(std::move(subs), dynamic));
  };
  sortRows<double>(*this, f64, make);
  sortRows<int64_t>(*this, i64, make);
  sortRows<int8_t>(*this, i8, make);
}

TEST_P(Sort, SpecialNumbersHaveTheirPlaces) {
  auto [M, N] = symbols<"M N">();
  for (bool descending : {false, true}) {
    Kernel kernel{"special", {WorkgroupConstraint(M, 1, 0), HardwareConstraint{}}};
    auto a = kernel.memory("a", {M, N}, global, f32), b = kernel.memory("b", {M, N}, global, f32);
    auto c = kernel.memory("c", {M, N}, global, i32);
    auto [value, index] = sort(read(a), N, {.descending = descending});
    write(value, b);
    write(index, c);
    float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    std::vector<float> row{0.0f, nan, -0.0f, 1, -inf, -nan, inf, -1, 0.0f, 1e-40f, -1e-40f, -0.0f};
    expectSorted(compiled(kernel, options({{M, 1}, {N, 12}})), row, 1, descending, 12);
  }
}

/// A row that four waves share, of which the last workgroup has a part.
TEST_P(Sort, PartsOfRowsThatWavesShare) {
  auto [N] = symbols<"N">();
  Kernel kernel{"parts", {WorkgroupConstraint(N, 256, 0), WaveConstraint(N, 64), HardwareConstraint{}}};
  auto a = kernel.memory("a", {N}, global, i32), b = kernel.memory("b", {N}, global, i32);
  auto c = kernel.memory("c", {N}, global, i32);
  auto [value, index] = sort(read(a), N);
  write(value, b);
  write(index, c);
  CompiledKernel run = compiled(kernel, options({}, {N}));
  for (size_t count : {1u, 256u, 300u}) {
    std::vector<int32_t> in = fewNumbers<int32_t>(count), out(count, -1), places(count, -1);
    auto n = static_cast<int64_t>(count);
    run(rt::Tensor::of(in, {n}), rt::Tensor::of(out, {n}), rt::Tensor::of(places, {n}));
    for (size_t first = 0; first < count; first += 256) {
      std::vector<int32_t> part(in.begin() + static_cast<ptrdiff_t>(first),
                                in.begin() + static_cast<ptrdiff_t>(std::min(count, first + 256)));
      std::vector<size_t> order = orderOf(part, false);
      for (size_t i = 0; i < part.size(); ++i) {
        ASSERT_EQ(out[first + i], part[order[i]]) << count << " " << i;
        ASSERT_EQ(places[first + i], static_cast<int32_t>(first + order[i]));
      }
    }
  }
}

TEST_P(Sort, ColumnsCarryWhatBelongsToThem) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"columns", {WorkgroupConstraint(N, 32, 0), WaveConstraint(N, 16), HardwareConstraint{}}};
  auto k = kernel.memory("k", {M, N}, global, i32), x = kernel.memory("x", {M, N}, global, f16);
  auto y = kernel.memory("y", {M, N}, global, f16), kept = kernel.memory("kept", {M, N}, global, i1);
  Value keys = read(k);
  std::vector<Value> rows = sort_by(keys, {read(x), keys > 0}, M, {.descending = true});
  write(rows[1], y);
  write(rows[2], kept);
  CompiledKernel run = compiled(kernel, options({{M, 9}}, {N}));
  std::vector<int32_t> in = fewNumbers<int32_t>(9 * 40);
  Floats values = Floats::random(DType::f16, {9, 40}), out(DType::f16, {9, 40});
  std::vector<int8_t> truths(9 * 40, 7);
  run(rt::Tensor::of(in, {9, 40}), values.tensor(), out.tensor(), rt::Tensor::dense(truths.data(), DType::i1, {9, 40}));
  for (int64_t n = 0; n < 40; ++n) {
    std::vector<int32_t> column(9);
    for (int64_t m = 0; m < 9; ++m)
      column[static_cast<size_t>(m)] = in[static_cast<size_t>(m * 40 + n)];
    std::vector<size_t> order = orderOf(column, true);
    for (int64_t m = 0; m < 9; ++m) {
      size_t from = order[static_cast<size_t>(m)];
      ASSERT_EQ(out[m * 40 + n], values[static_cast<int64_t>(from) * 40 + n]);
      ASSERT_EQ(truths[static_cast<size_t>(m * 40 + n)], column[from] > 0);
    }
  }
}

/// Few of many leave the row one after the other; many of few are counted; both are the same.
TEST_P(Sort, TheFirstOfRows) {
  for (bool largest : {true, false})
    for (int64_t kept : {3, 20, 70}) {
      auto [M, N, K] = symbols<"M N K">();
      Kernel kernel{"first", {WorkgroupConstraint(M, 4, 0), WaveConstraint(M, 2), HardwareConstraint{}}};
      auto a = kernel.memory("a", {M, N}, global, f32), b = kernel.memory("b", {M, K}, global, f32);
      auto c = kernel.memory("c", {M, K}, global, i32);
      auto [value, index] = topk(read(a), K, N, {.largest = largest});
      write(value, b);
      write(index, c);
      CompiledKernel run = compiled(kernel, options({{N, 60}, {K, kept}}, {M}));
      std::vector<float> in = fewNumbers<float>(6 * 60);
      in[5] = std::nanf("");
      in[61] = -std::numeric_limits<float>::infinity();
      expectSorted(run, in, 6, largest, static_cast<size_t>(kept));
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, Sort, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
