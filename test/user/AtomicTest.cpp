//===- AtomicTest.cpp - Programs whose elements meet --------------------------------------===//
//
// Histograms, products split along their contraction, tickets: what all lanes, waves and workgroups change in one step.
// Every program is compiled for the chip and run by the emulator under several orders of waves and workgroups.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace soliton::test {
namespace {

class Atomic : public ForTarget {
protected:
  template <typename T>
  void reduceRows();
};

std::vector<int32_t> someNumbers(int64_t count, int32_t below, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  for (int32_t &number : numbers)
    number = static_cast<int32_t>(engine() % static_cast<unsigned>(below));
  return numbers;
}

/// Where the k-th element goes: to the bin that its number says.
IndexMapping toBins(Expr bins, Expr elements) {
  auto i = IndexMapping::iterator(0);
  return {.num_iterators = 1, .inputs = {{bins, IndexMapping::dynamic_val(0)}}, .outputs = {{elements, i}}};
}

TEST_P(Atomic, HistogramOfAnySize) {
  auto [N, B] = symbols<"N B">();
  Kernel kernel{"histogram", {WorkgroupConstraint(N, 256, 0), WaveConstraint(N, 64), HardwareConstraint{}}};
  auto x = kernel.memory("x", {N}, global, i32), bins = kernel.memory("bins", {B}, global, i32);
  atomic_add(kernel.fill({N}, i32, 1), bins, {.mapping = toBins(B, N), .mapping_dynamic_vals = {read(x)}});
  CompiledKernel run = compiled(kernel, options({{B, 10}}, {N}));
  for (int64_t count : {1, 63, 256, 1000}) {
    // Numbers from 10 on have no bin.
    std::vector<int32_t> numbers = someNumbers(count, 12), counts(10, 5), want(10, 5);
    for (int32_t number : numbers)
      if (number < 10)
        ++want[static_cast<size_t>(number)];
    run(rt::Tensor::of(numbers, {count}), rt::Tensor::of(counts, {10}));
    EXPECT_EQ(counts, want) << count;
  }
}

/// c += a·bᵀ over a part of K that the third dimension of the grid names.
TEST_P(Atomic, ProductSplitAlongItsContraction) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"split_k",
                {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), WorkgroupConstraint(K, 64, 2),
                 WaveConstraint(M, 16), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, global, f16), b = kernel.memory("b", {N, K}, global, f16);
  auto c = kernel.memory("c", {M, N}, global, f32);
  atomic_add(mma(read(a), read(b), kernel.fill({M, N}, f32, 0.0)), c);
  CompiledKernel run = compiled(kernel, options({{M, 50}, {N, 40}, {K, 200}}));
  Floats left = Floats::random(DType::f16, {50, 200}), right = Floats::random(DType::f16, {40, 200}, 2);
  Floats sums(DType::f32, {50, 40}, 1);
  run(left.tensor(), right.tensor(), sums.tensor());
  for (int64_t i = 0; i < 50; ++i)
    for (int64_t j = 0; j < 40; ++j) {
      double want = 1;
      for (int64_t k = 0; k < 200; ++k)
        want += left[i * 200 + k] * right[j * 200 + k];
      ASSERT_NEAR(sums[i * 40 + j], want, 1e-3) << i << " " << j;
    }
}

/// Counted in shared memory first, so that few meet in the tensor.
TEST_P(Atomic, HistogramOfPartsInSharedMemory) {
  for (bool says : {false, true}) { // the author's barriers change nothing
    auto [N, B] = symbols<"N B">();
    Kernel kernel{"parts", {WorkgroupConstraint(N, 256, 0), WaveConstraint(N, 64), HardwareConstraint{}}};
    auto x = kernel.memory("x", {N}, global, i32), bins = kernel.memory("bins", {B}, global, i32);
    auto part = kernel.allocate("part", {B}, i32);
    write(kernel.fill({B}, i32, 0), part);
    if (says)
      kernel.barrier();
    atomic_add(kernel.fill({N}, i32, 1), part, {.mapping = toBins(B, N), .mapping_dynamic_vals = {read(x)}});
    if (says)
      kernel.barrier();
    atomic_add(read(part), bins);
    CompiledKernel run = compiled(kernel, options({{B, 10}, {N, 700}}));
    std::vector<int32_t> numbers = someNumbers(700, 10), counts(10, 0), want(10, 0);
    for (int32_t number : numbers)
      ++want[static_cast<size_t>(number)];
    run(rt::Tensor::of(numbers, {700}), rt::Tensor::of(counts, {10}));
    EXPECT_EQ(counts, want);
  }
}

/// Everybody gets a number of its own, whoever comes first.
TEST_P(Atomic, Tickets) {
  auto [N, B] = symbols<"N B">();
  Kernel kernel{"tickets", {WorkgroupConstraint(N, 128, 0), WaveConstraint(N, 64), HardwareConstraint{}}};
  auto counter = kernel.memory("counter", {B}, global, i32), out = kernel.memory("out", {N}, global, i32);
  Value zero = kernel.fill({N}, i32, 0);
  write(atomic_add(zero + 1, counter, {.mapping = toBins(B, N), .mapping_dynamic_vals = {zero}}), out);
  CompiledKernel run = compiled(kernel, options({{N, 500}, {B, 1}}));
  std::vector<int32_t> next = {100}, tickets(500, -1), want(500);
  run(rt::Tensor::of(next, {1}), rt::Tensor::of(tickets, {500}));
  std::iota(want.begin(), want.end(), 100);
  std::sort(tickets.begin(), tickets.end());
  EXPECT_EQ(tickets, want);
  EXPECT_EQ(next[0], 600);
}

template <typename T>
ElementType typeOf() {
  if constexpr (std::is_integral_v<T>)
    return sizeof(T) == 4 ? i32 : i64;
  else
    return sizeof(T) == 4 ? f32 : f64;
}

/// Rows of numbers of both signs meet in one row; every kind has a memory of its own.
template <typename T>
void Atomic::reduceRows() {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{
      "rows",
      {WorkgroupConstraint(M, 8, 0), WorkgroupConstraint(N, 64, 1), WaveConstraint(M, 4), HardwareConstraint{}}};
  ElementType type = typeOf<T>();
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  AccessOptions toRow{.mapping = IndexMapping{.num_iterators = 2, .inputs = {{N, j}}, .outputs = {{M, i}, {N, j}}}};
  Value x = read(kernel.memory("x", {M, N}, global, type));
  atomic_add(x, kernel.memory("add", {N}, global, type), toRow);
  atomic_min(x, kernel.memory("min", {N}, global, type), toRow);
  atomic_max(x, kernel.memory("max", {N}, global, type), toRow);
  atomic_exchange(x, kernel.memory("exchange", {N}, global, type), toRow);
  constexpr bool isInteger = std::is_integral_v<T>;
  if (isInteger) {
    atomic_and(x, kernel.memory("and", {N}, global, type), toRow);
    atomic_or(x, kernel.memory("or", {N}, global, type), toRow);
    atomic_xor(x, kernel.memory("xor", {N}, global, type), toRow);
  }
  CompiledKernel run = compiled(kernel, options({{M, 21}, {N, 70}}));
  std::vector<int32_t> numbers = someNumbers(int64_t(21) * 70, 2001);
  std::vector<T> values(numbers.begin(), numbers.end());
  for (T &value : values)
    value -= 1000;
  std::vector<std::vector<T>> found(isInteger ? 7 : 4, std::vector<T>(70, T(3)));
  std::vector<rt::Argument> arguments = {rt::Tensor::of(values, {21, 70})};
  for (std::vector<T> &row : found)
    arguments.push_back(rt::Tensor::of(row, {70}));
  run.loaded().launch(arguments);
  for (size_t n = 0; n < 70; ++n) {
    T sum = 3, least = 3, largest = 3;
    int64_t all = 3, any = 3, odd = 3;
    bool wasThere = false;
    for (size_t m = 0; m < 21; ++m) {
      T value = values[m * 70 + n];
      sum += value, least = std::min(least, value), largest = std::max(largest, value);
      all &= int64_t(value), any |= int64_t(value), odd ^= int64_t(value);
      wasThere |= found[3][n] == value;
    }
    ASSERT_EQ(found[0][n], sum);
    ASSERT_EQ(found[1][n], least);
    ASSERT_EQ(found[2][n], largest);
    ASSERT_TRUE(wasThere) << "the last of them stays";
    if (isInteger) {
      ASSERT_EQ(int64_t(found[4][n]), all);
      ASSERT_EQ(int64_t(found[5][n]), any);
      ASSERT_EQ(int64_t(found[6][n]), odd);
    }
  }
}

TEST_P(Atomic, EveryKindOfEveryType) {
  reduceRows<int32_t>();
  reduceRows<int64_t>();
  reduceRows<float>();
  reduceRows<double>();
}

/// Two of them share four bytes, and a chip may change both at once only.
TEST_P(Atomic, NarrowElements) {
  for (ElementType type : {f16, bf16}) {
    auto [M, N] = symbols<"M N">();
    Kernel kernel{"narrow", {WorkgroupConstraint(M, 4, 0), WorkgroupConstraint(N, 64, 1), HardwareConstraint{}}};
    auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
    IndexMapping toRow{.num_iterators = 2, .inputs = {{N, j}}, .outputs = {{M, i}, {N, j}}};
    auto x = kernel.memory("x", {M, N}, global, type), sums = kernel.memory("sums", {N}, global, type);
    atomic_add(read(x), sums, {.mapping = toRow});
    CompiledKernel run = compiled(kernel, options({{M, 10}, {N, 96}}));
    Floats rows(type.resolve(), {10, 96}), found(type.resolve(), {96}, 2);
    for (int64_t n = 0; n < rows.size(); ++n)
      rows.set(n, static_cast<double>(n % 7) - 3);
    run(rows.tensor(), found.tensor());
    for (int64_t n = 0; n < 96; ++n) {
      double want = 2;
      for (int64_t m = 0; m < 10; ++m)
        want += rows[m * 96 + n];
      ASSERT_EQ(found[n], want) << n;
    }
    // Rows of odd length: elements that belong together lie in different rows.
    std::string found17 = refusal(kernel, options({{M, 10}, {N, 97}}));
    EXPECT_EQ(found17, GetParam()->vendor == Vendor::amd ? "atomic-type" : "");
  }
}

/// In a loop that is pipelined: every iteration counts what it read, and what was there goes on.
TEST_P(Atomic, InAScheduledLoop) {
  for (const char *schedule : {"none", "prefetch", "modulo"}) {
    auto [M, N, B] = symbols<"M N B">();
    Kernel kernel{"counts",
                  {WorkgroupConstraint(M, 64, 0), TilingConstraint(N, 8), WaveConstraint(M, 32), HardwareConstraint{}}};
    auto x = kernel.memory("x", {M, N}, global, i32), bins = kernel.memory("bins", {B}, global, i32);
    auto largest = kernel.memory("largest", {M}, global, i32);
    auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
    IndexMapping toBin{.num_iterators = 2, .inputs = {{B, IndexMapping::dynamic_val(0)}}, .outputs = {{M, i}, {N, j}}};
    Value best = kernel.iterate(N, kernel.fill({M}, i32, -1), [&](Value best) {
      Value tile = read(x);
      Value old = atomic_add(kernel.fill({M, N}, i32, 1), bins, {.mapping = toBin, .mapping_dynamic_vals = {tile}});
      return maximum(best, max(old, N));
    });
    write(best, largest);
    CompileOptions with = options({{M, 100}, {N, 30}, {B, 5}});
    with.schedule.name = schedule;
    CompiledKernel run = compiled(kernel, with);
    std::vector<int32_t> numbers = someNumbers(int64_t(100) * 30, 5), counts(5, 0), want(5, 0), last(100, -7);
    for (int32_t number : numbers)
      ++want[static_cast<size_t>(number)];
    run(rt::Tensor::of(numbers, {100, 30}), rt::Tensor::of(counts, {5}), rt::Tensor::of(last, {100}));
    EXPECT_EQ(counts, want) << schedule;
    EXPECT_EQ(*std::max_element(last.begin(), last.end()), *std::max_element(want.begin(), want.end()) - 1)
        << schedule << ": somebody was the last of the fullest bin";
  }
}

TEST_P(Atomic, ImagesSayThatTheyReadWhatTheyChange) {
  auto [N] = symbols<"N">();
  Kernel kernel{"add", {WorkgroupConstraint(N, 64, 0), HardwareConstraint{}}};
  auto x = kernel.memory("x", {N}, global, f32), sums = kernel.memory("sums", {N}, global, f32);
  atomic_add(read(x), sums);
  CompiledKernel run = compiled(kernel, options({{N, 128}}));
  const rt::KernelImage &image = run.compiled().image;
  EXPECT_TRUE(image.arguments[1].isRead && image.arguments[1].isOutput);
}

/// Each place is taken by the first who finds it free; the others see who has it.
TEST_P(Atomic, CompareAndSwapTakesWhatIsFree) {
  auto [N, B] = symbols<"N B">();
  for (ElementType type : {ElementType(i32), ElementType(i64)}) {
    Kernel kernel{"claim", {WorkgroupConstraint(N, 128, 0), WaveConstraint(N, 64), HardwareConstraint{}}};
    auto x = kernel.memory("x", {N}, global, i32), slots = kernel.memory("slots", {B}, global, type);
    auto old = kernel.memory("old", {N}, global, type);
    Value own = cast(kernel.self_index(N), type) + 1;
    write(
        atomic_cas(kernel.fill({N}, type, 0), own, slots, {.mapping = toBins(B, N), .mapping_dynamic_vals = {read(x)}}),
        old);
    CompiledKernel run = compiled(kernel, options({{B, 16}}, {N}));
    std::vector<int32_t> numbers = someNumbers(200, 16);
    std::vector<int64_t> wideSlots(16), wideOld(200);
    if (type == i64) {
      run(rt::Tensor::of(numbers, {200}), rt::Tensor::of(wideSlots, {16}), rt::Tensor::of(wideOld, {200}));
    } else {
      std::vector<int32_t> narrowSlots(16), narrowOld(200);
      run(rt::Tensor::of(numbers, {200}), rt::Tensor::of(narrowSlots, {16}), rt::Tensor::of(narrowOld, {200}));
      wideSlots.assign(narrowSlots.begin(), narrowSlots.end());
      wideOld.assign(narrowOld.begin(), narrowOld.end());
    }
    for (size_t i = 0; i < 200; ++i) {
      int64_t owner = wideSlots[static_cast<size_t>(numbers[i])];
      ASSERT_EQ(numbers[static_cast<size_t>(owner - 1)], numbers[i]) << "one of those who asked has it";
      ASSERT_EQ(wideOld[i], owner == static_cast<int64_t>(i) + 1 ? 0 : owner) << i;
    }
  }
}

/// What does not find what it expects changes nothing, in shared memory too.
TEST_P(Atomic, CompareAndSwapInSharedMemory) {
  auto [N] = symbols<"N">();
  Kernel kernel{"swap", {WorkgroupConstraint(N, 128, 0), WaveConstraint(N, 64), HardwareConstraint{}}};
  auto x = kernel.memory("x", {N}, global, i32), y = kernel.memory("y", {N}, global, i32);
  auto z = kernel.memory("z", {N}, global, i32), tile = kernel.allocate("tile", {N}, i32);
  Value own = read(x);
  write(own, tile);
  write(atomic_cas(own % 2, own + 100, tile), y);
  write(read(tile), z);
  CompiledKernel run = compiled(kernel, options({}, {N}));
  std::vector<int32_t> in = someNumbers(150, 4), found(150), left(150);
  run(rt::Tensor::of(in, {150}), rt::Tensor::of(found, {150}), rt::Tensor::of(left, {150}));
  for (size_t i = 0; i < 150; ++i) {
    ASSERT_EQ(found[i], in[i]);
    ASSERT_EQ(left[i], in[i] < 2 ? in[i] + 100 : in[i]);
  }
}

/// Rows of values go to rows of the tensor that a tile of indices names; those that meet add up.
TEST_P(Atomic, ScatterAddOfRows) {
  auto [N, D, B] = symbols<"N D B">();
  Kernel kernel{"scatter", {WorkgroupConstraint(N, 16, 0), WaveConstraint(N, 8), HardwareConstraint{}}};
  auto x = kernel.memory("x", {N, D}, global, f32), at = kernel.memory("at", {N}, global, i32);
  auto rows = kernel.memory("rows", {B, D}, global, f32);
  scatter_add(read(x), read(at), B, rows);
  CompiledKernel run = compiled(kernel, options({{D, 24}, {B, 5}}, {N}));
  std::vector<int32_t> where = someNumbers(37, 6); // row 5 does not exist
  std::vector<float> values(37 * 24), sums(5 * 24, 1), want(5 * 24, 1);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 7);
  for (size_t n = 0; n < 37; ++n)
    for (size_t d = 0; d < 24; ++d)
      if (where[n] < 5)
        want[static_cast<size_t>(where[n]) * 24 + d] += values[n * 24 + d];
  run(rt::Tensor::of(values, {37, 24}), rt::Tensor::of(where, {37}), rt::Tensor::of(sums, {5, 24}));
  EXPECT_EQ(sums, want);
}

INSTANTIATE_TEST_SUITE_P(All, Atomic, testing::ValuesIn(allTargets()),
                         [](const auto &info) { return info.param->name; });

} // namespace
} // namespace soliton::test
