//===- SimtTest.cpp - Programs that speak of one lane ---------------------------------------===//
//
// What people write in CUDA and HIP, in this language: ids, places, shuffles, votes, arrays in shared memory, atomics,
// lanes that go different ways. Every program is compiled for the chip and run by the emulator.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <algorithm>
#include <numeric>

namespace soliton::test {
namespace {

class SimtPrograms : public ForTarget {
protected:
  int64_t laneCount() const { return GetParam()->waveSize; }
};

std::vector<int32_t> someNumbers(int64_t count, int32_t below, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  for (int32_t &number : numbers)
    number = static_cast<int32_t>(engine() % static_cast<unsigned>(below));
  return numbers;
}

template <typename T>
rt::Tensor line(std::vector<T> &numbers) {
  return rt::Tensor::of(numbers, {static_cast<int64_t>(numbers.size())});
}

TEST_P(SimtPrograms, Saxpy) {
  auto [N] = symbols<"N">();
  Kernel kernel{"saxpy", {Simt(256, {sym::ceildiv(N, 256)})}};
  Value a = kernel.scalar("a", f32);
  auto x = kernel.memory("x", {N}, global, f32), y = kernel.memory("y", {N}, global, f32);
  Expr i = 256 * workgroup_id(0) + thread_id();
  store(a * load(x(i)) + load(y(i)), y(i));
  CompiledKernel run = compiled(kernel, options({}, {N}));
  for (int64_t count : {1, 255, 1000}) {
    std::vector<float> left(static_cast<size_t>(count)), right(left.size(), 3);
    std::iota(left.begin(), left.end(), 0.0f);
    run(2.0f, line(left), line(right));
    for (size_t n = 0; n < left.size(); ++n)
      ASSERT_EQ(right[n], 2 * left[n] + 3) << n << " of " << count;
  }
}

/// Few threads walk all of a long array.
TEST_P(SimtPrograms, GridStrideLoop) {
  auto [N, STEP] = symbols<"N STEP">();
  constexpr int64_t kThreads = 128, kWorkgroups = 3;
  Kernel kernel{"stride", {Simt(kThreads, {kWorkgroups})}};
  auto x = kernel.memory("x", {N}, global, i32), y = kernel.memory("y", {N}, global, i32);
  Expr first = kThreads * workgroup_id(0) + thread_id();
  kernel.iterate(STEP,
                 [&] {
                   Expr i = first + iteration(STEP) * (kThreads * kWorkgroups);
                   store(load(x(i)) + 1, y(i));
                 },
                 {.count = sym::ceildiv(N, kThreads * kWorkgroups)});
  CompiledKernel run = compiled(kernel, options({}, {N}));
  std::vector<int32_t> numbers = someNumbers(2000, 100), found(2000, -1);
  run(line(numbers), line(found));
  for (size_t n = 0; n < numbers.size(); ++n)
    ASSERT_EQ(found[n], numbers[n] + 1) << n;
}

/// The tree of every first course: an array in shared memory, halved with barriers between.
TEST_P(SimtPrograms, ReductionOfAWorkgroupInSharedMemory) {
  auto [N, G] = symbols<"N G">();
  constexpr int64_t kThreads = 256;
  Kernel kernel{"tree", {Simt(kThreads, {G})}};
  auto x = kernel.memory("x", {N}, global, i32), sums = kernel.memory("sums", {G}, global, i32);
  auto part = kernel.shared_array("part", {kThreads}, i32);
  Expr t = thread_id();
  store(load(x(kThreads * workgroup_id(0) + t)), part(t));
  Value thread = kernel.per_lane(t);
  for (int64_t half = kThreads / 2; half > 0; half /= 2) {
    kernel.barrier();
    when(thread < half, [&] { store(load(part(t)) + load(part(t + half)), part(t)); });
  }
  when(thread == 0, [&] { store(load(part(0)), sums(workgroup_id(0))); });
  CompiledKernel run = compiled(kernel, options({{N, 1000}, {G, 4}}));
  std::vector<int32_t> numbers = someNumbers(1000, 1000), found(4, -1), want(4, 0);
  for (size_t n = 0; n < numbers.size(); ++n)
    want[n / kThreads] += numbers[n];
  run(line(numbers), line(found));
  EXPECT_EQ(found, want);
}

TEST_P(SimtPrograms, ReductionOfAWaveByShuffles) {
  auto [N] = symbols<"N">();
  for (bool down : {false, true}) {
    Kernel kernel{"wave", {Simt(128, {sym::ceildiv(N, 128)})}};
    auto x = kernel.memory("x", {N}, global, f32), sums = kernel.memory("sums", {N}, global, f32);
    Expr i = 128 * workgroup_id(0) + thread_id();
    Value value = load(x(i));
    for (int64_t distance = laneCount() / 2; distance > 0; distance /= 2)
      value = value + (down ? shuffle_down(value, distance) : shuffle_xor(value, distance));
    if (down) // the first lane has it all
      value = shuffle(value, 0);
    store(value, sums(i));
    CompiledKernel run = compiled(kernel, options({{N, 256}}));
    std::vector<float> numbers(256), found(256);
    std::iota(numbers.begin(), numbers.end(), 1.0f);
    run(line(numbers), line(found));
    for (int64_t n = 0; n < 256; ++n) {
      auto first = numbers.begin() + n / laneCount() * laneCount();
      ASSERT_EQ(found[static_cast<size_t>(n)], std::accumulate(first, first + laneCount(), 0.0f)) << n << " " << down;
    }
  }
}

/// Every way to name a lane, with sources outside the wave, for elements of several widths.
TEST_P(SimtPrograms, ShufflesOfEveryKind) {
  for (ElementType type : {i32, i64, i16, i8}) {
    auto [N] = symbols<"N">();
    Kernel kernel{"shuffles", {Simt(128)}};
    auto from = kernel.memory("from", {N}, global, i32);
    Expr t = thread_id();
    Value mine = kernel.per_lane(t % 100);
    Value value = cast(mine, type), lane = load(from(t));
    std::vector<Value> results = {shuffle_xor(value, 5),
                                  shuffle_xor(value, 31),
                                  shuffle_up(value, 3),
                                  shuffle_down(value, 7),
                                  rotate(value, 1),
                                  rotate(value, -2),
                                  shuffle(value, sym::floordiv(lane_id(), 2) * 2),
                                  shuffle(value, lane),
                                  shuffle(value, lane_id() + 1000)};
    Value odd = shuffle_xor(mine % 2 == 1, 1);
    results.push_back(cast(select(odd, mine, mine * 0), type));
    std::vector<MemoryRef> outs;
    for (size_t k = 0; k < results.size(); ++k)
      outs.push_back(kernel.memory("out" + std::to_string(k), {N}, global, i32));
    for (size_t k = 0; k < results.size(); ++k)
      store(cast(results[k], i32), outs[k](t));
    CompiledKernel run = compiled(kernel, options({{N, 128}}));
    std::vector<int32_t> sources(128);
    for (int32_t n = 0; n < 128; ++n)
      sources[static_cast<size_t>(n)] = n * 37 % 71 - 3;
    std::vector<std::vector<int32_t>> found(results.size(), std::vector<int32_t>(128, -1));
    std::vector<rt::Argument> arguments = {line(sources)};
    for (auto &each : found)
      arguments.emplace_back(line(each));
    run.loaded().launch(arguments);
    int64_t lanes = laneCount();
    for (int64_t n = 0; n < 128; ++n) {
      int64_t l = n % lanes, first = n - l, said = sources[static_cast<size_t>(n)];
      auto at = [&](int64_t lane) { return (lane >= 0 && lane < lanes ? first + lane : n) % 100; };
      std::vector<int64_t> want = {at(l ^ 5),           at(l ^ 31),
                                   at(l - 3),           at(l + 7),
                                   at((l + 1) % lanes), at((l - 2 + lanes) % lanes),
                                   at(l / 2 * 2),       at(said),
                                   at(l + 1000),        at(l ^ 1) % 2 == 1 ? n % 100 : 0};
      for (size_t k = 0; k < want.size(); ++k)
        ASSERT_EQ(found[k][static_cast<size_t>(n)], want[k]) << "shuffle " << k << ", thread " << n;
    }
  }
}

/// Counted in shared memory, then added to the whole.
TEST_P(SimtPrograms, HistogramWithSharedAtomics) {
  auto [N, B] = symbols<"N B">();
  Kernel kernel{"histogram", {Simt(256, {sym::ceildiv(N, 256)})}};
  auto x = kernel.memory("x", {N}, global, i32), bins = kernel.memory("bins", {B}, global, i32);
  auto part = kernel.shared_array("part", {64}, i32);
  Expr t = thread_id(), i = 256 * workgroup_id(0) + t;
  store(0, part(t));
  kernel.barrier();
  when(kernel.per_lane(sym::select(i < N, 1, 0)) == 1, [&] { atomic_add(1, part(load(x(i)))); });
  kernel.barrier();
  atomic_add(load(part(t)), bins(t));
  CompiledKernel run = compiled(kernel, options({{B, 40}}, {N}));
  std::vector<int32_t> numbers = someNumbers(1001, 40), found(40, 0), want(40, 0);
  for (int32_t number : numbers)
    ++want[static_cast<size_t>(number)];
  run(line(numbers), line(found));
  EXPECT_EQ(found, want);
}

TEST_P(SimtPrograms, TranspositionBySharedArray) {
  auto [M, N] = symbols<"M N">();
  constexpr int64_t kTile = 16;
  Kernel kernel{"transpose", {Simt(kTile * kTile, {sym::ceildiv(N, kTile), sym::ceildiv(M, kTile)})}};
  auto a = kernel.memory("a", {M, N}, global, i32), b = kernel.memory("b", {N, M}, global, i32);
  auto tile = kernel.shared_array("tile", {kTile, kTile + 1}, i32);
  Expr row = sym::floordiv(thread_id(), kTile), column = thread_id() % kTile;
  Expr left = kTile * workgroup_id(0), top = kTile * workgroup_id(1);
  store(load(a(top + row, left + column)), tile(row, column));
  kernel.barrier();
  store(load(tile(column, row)), b(left + row, top + column));
  CompiledKernel run = compiled(kernel, options({{M, 50}, {N, 37}}));
  std::vector<int32_t> in = someNumbers(int64_t(50) * 37, 100000), out(in.size(), -1);
  run(rt::Tensor::of(in, {50, 37}), rt::Tensor::of(out, {37, 50}));
  for (size_t m = 0; m < 50; ++m)
    for (size_t n = 0; n < 37; ++n)
      ASSERT_EQ(out[n * 50 + m], in[m * 37 + n]) << m << " " << n;
}

/// Steps of a prefix sum in shared memory (two arrays, taking turns), and the one that the language has.
TEST_P(SimtPrograms, PrefixSum) {
  auto [N] = symbols<"N">();
  constexpr int64_t kThreads = 128;
  Kernel kernel{"prefix", {Simt(kThreads)}};
  auto x = kernel.memory("x", {N}, global, i32), slow = kernel.memory("slow", {N}, global, i32);
  auto fast = kernel.memory("fast", {N}, global, i32);
  auto ping = kernel.shared_array("ping", {kThreads}, i32), pong = kernel.shared_array("pong", {kThreads}, i32);
  Expr t = thread_id();
  Value value = load(x(t)), sumSoFar = value;
  MemoryRef from = ping, to = pong;
  store(sumSoFar, from(t));
  for (int64_t distance = 1; distance < kThreads; distance *= 2) {
    kernel.barrier();
    sumSoFar = sumSoFar + load(from(t - distance)); // 0 before the first
    store(sumSoFar, to(t));
    std::swap(from, to);
  }
  store(sumSoFar, slow(t));
  Value inWave = cumsum(value, lanes()), ofWave = sum(value, lanes());
  store(inWave + cumsum(ofWave, waves()) - ofWave, fast(t));
  CompiledKernel run = compiled(kernel, options({{N, 100}}));
  std::vector<int32_t> numbers = someNumbers(100, 100), first(100, -1), second(100, -1), want(100);
  std::partial_sum(numbers.begin(), numbers.end(), want.begin());
  run(line(numbers), line(first), line(second));
  EXPECT_EQ(first, want);
  EXPECT_EQ(second, want);
}

/// Each lane takes as many steps as it needs.
TEST_P(SimtPrograms, BinarySearchOfEachLane) {
  auto [N, M] = symbols<"N M">();
  Kernel kernel{"search", {Simt(128, {sym::ceildiv(N, 128)})}};
  auto keys = kernel.memory("keys", {N}, global, i32), table = kernel.memory("table", {M}, global, i32);
  auto found = kernel.memory("found", {N}, global, i32), steps = kernel.memory("steps", {N}, global, i32);
  Expr i = 128 * workgroup_id(0) + thread_id();
  Value key = load(keys(i)), none = kernel.per_lane(0);
  auto [low, high, count] = lane_while(
      {none, kernel.per_lane(M), none}, [&](Value low, Value high, Value) { return low < high; },
      [&](Value low, Value high, Value count) {
        Value middle = floordiv(low + high, 2), seen = load(table(middle));
        Value isLess = seen < key, isEqual = seen == key;
        return std::tuple{select(isEqual, middle, select(isLess, middle + 1, low)),
                          select(isEqual, middle, select(isLess, high, middle)), count + 1};
      });
  store(low, found(i));
  store(count, steps(i));
  CompiledKernel run = compiled(kernel, options({{N, 300}}, {M}));
  std::vector<int32_t> sorted(77), wanted = someNumbers(300, 250), at(300, -1), taken(300, -1);
  for (size_t n = 0; n < sorted.size(); ++n)
    sorted[n] = static_cast<int32_t>(3 * n);
  run(line(wanted), line(sorted), line(at), line(taken));
  for (size_t n = 0; n < wanted.size(); ++n) {
    ASSERT_EQ(at[n], std::lower_bound(sorted.begin(), sorted.end(), wanted[n]) - sorted.begin()) << n;
    int32_t low = 0, high = 77, count = 0;
    for (; low < high; ++count) {
      int32_t middle = (low + high) / 2, seen = sorted[static_cast<size_t>(middle)];
      if (seen == wanted[n])
        low = high = middle;
      else if (seen < wanted[n])
        low = middle + 1;
      else
        high = middle;
    }
    ASSERT_EQ(taken[n], count) << n;
  }
}

/// What is kept moves together: ranks in the wave, one ticket a wave, and the ballot says who was kept.
TEST_P(SimtPrograms, StreamCompactionByVotes) {
  auto [N, ONE, W] = symbols<"N ONE W">();
  Kernel kernel{"compact", {Simt(128, {sym::ceildiv(N, 128)})}};
  auto x = kernel.memory("x", {N}, global, i32), kept = kernel.memory("kept", {N}, global, i32);
  auto total = kernel.memory("total", {ONE}, global, i32), masks = kernel.memory("masks", {W}, global, i64);
  Expr i = 128 * workgroup_id(0) + thread_id();
  Value value = load(x(i));
  Value keep = (value % 3 == 0) & (kernel.per_lane(sym::select(i < N, 1, 0)) == 1);
  Value isFirst = kernel.per_lane(lane_id()) == 0;
  Value ticket =
      when(isFirst, [&] { return atomic_add(vote_count(keep), total(0)); }, [&] { return kernel.per_lane(0); });
  when(keep, [&] { store(value, kept(shuffle(ticket, 0) + vote_rank(keep))); });
  when(isFirst, [&] { store(ballot(keep), masks(sym::floordiv(i, lanes()))); });
  CompiledKernel run = compiled(kernel, options({{ONE, 1}, {W, 512 / laneCount()}}, {N}));
  std::vector<int32_t> numbers = someNumbers(450, 1000), found(450, -1), count = {0}, want;
  std::vector<int64_t> bits(static_cast<size_t>(512 / laneCount()), -1), wantBits(bits.size(), 0);
  for (size_t n = 0; n < numbers.size(); ++n)
    if (numbers[n] % 3 == 0) {
      want.push_back(numbers[n]);
      wantBits[n / static_cast<size_t>(laneCount())] |= int64_t(uint64_t(1) << (n % static_cast<size_t>(laneCount())));
    }
  run(line(numbers), line(found), line(count), line(bits));
  ASSERT_EQ(count[0], static_cast<int32_t>(want.size()));
  found.resize(want.size());
  std::sort(found.begin(), found.end());
  std::sort(want.begin(), want.end());
  EXPECT_EQ(found, want);
  EXPECT_EQ(bits, wantBits);
}

TEST_P(SimtPrograms, VectorsOfFour) {
  auto [N, M] = symbols<"N M">();
  Kernel kernel{"vectors", {Simt(256, {sym::ceildiv(N, 1024)})}};
  auto x = kernel.memory("x", {N}, global, f32), y = kernel.memory("y", {N}, global, f32);
  auto sums = kernel.memory("sums", {M}, global, f32), third = kernel.memory("third", {M}, global, f32);
  Expr i = 256 * workgroup_id(0) + thread_id();
  Value four = load(x(4 * i), {.vector = 4});
  store(2.0 * four, y(4 * i));
  store(sum(four, vector(4)), sums(i));
  store(component(four, 2), third(i));
  CompiledKernel run = compiled(kernel, options({{N, 4000}, {M, 1000}}));
  std::vector<float> numbers(4000), twice(4000), added(1000), picked(1000);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  run(line(numbers), line(twice), line(added), line(picked));
  for (size_t n = 0; n < 4000; ++n)
    ASSERT_EQ(twice[n], 2 * numbers[n]) << n;
  for (size_t n = 0; n < 1000; ++n) {
    ASSERT_EQ(added[n], 16.0f * static_cast<float>(n) + 6) << n;
    ASSERT_EQ(picked[n], 4.0f * static_cast<float>(n) + 2) << n;
  }
}

/// A product of tiles; then each element of it is scaled by its row, stored transposed, and counted by its sign.
TEST_P(SimtPrograms, ProductWithAnEpilogueOfElements) {
  auto [M, N, K, B] = symbols<"M N K B">();
  Kernel kernel{"product",
                {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 32),
                 WaveConstraint(M, 16), WaveConstraint(N, 16), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto scale = kernel.memory("scale", {M}, global, f32), c = kernel.memory("c", {N, M}, global, f32);
  auto counts = kernel.memory("counts", {B}, global, i32);
  auto part = kernel.shared_array("part", {2}, i32);
  Value acc = kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), [&](Value sums) { return mma(read(a), read(b), sums); });
  write(kernel.fill(part.shape(), i32, 0), part);
  elements(acc, [&](Value x) {
    Expr m = coordinate(M), n = coordinate(N);
    store(x * load(scale(m)), c(n, m));
    atomic_add(1, part(select(x > 0.0, 1, 0)));
  });
  elements(read(part), [&](Value count) { atomic_add(count, counts(coordinate(part.shape()[0]))); });
  CompiledKernel run = compiled(kernel, options({{M, 50}, {N, 70}, {K, 64}, {B, 2}}));
  Floats left(DType::f16, {50, 64}), right(DType::f16, {70, 64});
  for (int64_t n = 0; n < left.size(); ++n)
    left.set(n, static_cast<double>(n * 7 % 5) - 2);
  for (int64_t n = 0; n < right.size(); ++n)
    right.set(n, static_cast<double>(n * 11 % 7) - 3);
  std::vector<float> scales(50), found(size_t(70) * 50, -1e9f);
  std::iota(scales.begin(), scales.end(), 1.0f);
  std::vector<int32_t> signs(2, 0), want(2, 0);
  run(left.tensor(), right.tensor(), line(scales), rt::Tensor::of(found, {70, 50}), line(signs));
  for (int64_t m = 0; m < 50; ++m)
    for (int64_t n = 0; n < 70; ++n) {
      double sums = 0;
      for (int64_t k = 0; k < 64; ++k)
        sums += left[m * 64 + k] * right[n * 64 + k];
      ++want[sums > 0];
      ASSERT_EQ(found[static_cast<size_t>(n * 50 + m)], static_cast<float>(sums) * scales[static_cast<size_t>(m)])
          << m << " " << n;
    }
  EXPECT_EQ(signs, want);
}

/// Elements go different ways too, and reach arrays in shared memory by where they are in the tensor.
TEST_P(SimtPrograms, ElementsOfATile) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"elements", {WorkgroupConstraint(M, 8, 0), WaveConstraint(M, 4), HardwareConstraint{}}};
  auto x = kernel.memory("x", {M, N}, global, i32), y = kernel.memory("y", {M, N}, global, i32);
  auto rows = kernel.memory("rows", {M}, global, i32);
  auto last = kernel.shared_array("last", {8}, i32);
  elements(read(x), [&](Value number) {
    Expr m = coordinate(M), n = coordinate(N);
    auto [left, count] = lane_while(
        {number, number * 0}, [](Value left, Value) { return left > 0; },
        [](Value left, Value count) { return std::tuple{floordiv(left, 2), count + 1}; });
    store(when(number % 2 == 0, [&, count = count] { return count; }, [&] { return number * 0 - 1; }), y(m, n));
    when(kernel.per_lane(n) == 2, [&] { store(number, last(m % 8)); });
    when(kernel.per_lane(n) == 0, [&] { store(load(last(m % 8)), rows(m)); });
  });
  CompiledKernel run = compiled(kernel, options({{M, 19}, {N, 3}}));
  std::vector<int32_t> in = someNumbers(19 * 3, 1000), out(in.size(), -7), lasts(19, -7);
  run(rt::Tensor::of(in, {19, 3}), rt::Tensor::of(out, {19, 3}), line(lasts));
  for (size_t n = 0; n < in.size(); ++n) {
    int32_t bits = 0;
    for (int32_t left = in[n]; left > 0; left /= 2)
      ++bits;
    ASSERT_EQ(out[n], in[n] % 2 == 0 ? bits : -1) << n;
  }
  for (size_t m = 0; m < 19; ++m)
    ASSERT_EQ(lasts[m], in[m * 3 + 2]) << m;
}

/// Lanes and tiles in one kernel: a tile goes through an array, whose places lanes take.
TEST_P(SimtPrograms, LanesAfterTiles) {
  auto [M] = symbols<"M">();
  Kernel kernel{"both", {Simt(128), WorkgroupConstraint(M, 128, 0)}};
  auto x = kernel.memory("x", {M}, global, i32), y = kernel.memory("y", {M}, global, i32);
  auto tile = kernel.allocate("tile", {M}, i32);
  write(read(x) * 2, tile);
  kernel.barrier();
  store(load(tile(127 - thread_id())), y(128 * workgroup_id(0) + thread_id()));
  CompiledKernel run = compiled(kernel, options({{M, 256}}));
  std::vector<int32_t> in = someNumbers(256, 1000), out(256, -1);
  run(line(in), line(out));
  for (size_t n = 0; n < 256; ++n)
    ASSERT_EQ(out[n], 2 * in[n / 128 * 128 + 127 - n % 128]) << n;
}

/// Branches that a whole workgroup takes, asked of its lanes.
TEST_P(SimtPrograms, WorkgroupsTakeBranches) {
  auto [N] = symbols<"N">();
  Kernel kernel{"branches", {Simt(128, {sym::ceildiv(N, 128)})}};
  auto x = kernel.memory("x", {N}, global, i32), y = kernel.memory("y", {N}, global, i32);
  Expr i = 128 * workgroup_id(0) + thread_id();
  Value value = load(x(i));
  kernel.conditional(any_thread(value > 990), [&] { store(value, y(i)); }, [&] { store(0 - value, y(i)); });
  CompiledKernel run = compiled(kernel, options({{N, 1280}}));
  std::vector<int32_t> in = someNumbers(1280, 1000), out(1280, -7);
  run(line(in), line(out));
  for (size_t n = 0; n < in.size(); ++n) {
    auto first = in.begin() + static_cast<int64_t>(n / 128 * 128);
    bool some = std::any_of(first, first + 128, [](int32_t number) { return number > 990; });
    ASSERT_EQ(out[n], some ? in[n] : -in[n]) << n;
  }
}

TEST_P(SimtPrograms, ThreadsAreWholeWaves) {
  auto [N, T] = symbols<"N T">();
  Kernel kernel{"threads", {Simt(T)}};
  auto y = kernel.memory("y", {N}, global, i32);
  store(1, y(thread_id()));
  EXPECT_EQ(refusal(kernel, options({{N, 128}, {T, 100}})), "simt-threads");
  EXPECT_EQ(refusal(kernel, options({{N, 128}, {T, 0}})), "simt-threads");
  EXPECT_EQ(refusal(kernel, options({{N, 128}, {T, 128}})), "");
  EXPECT_EQ(refusal(kernel, options({{N, 128}, {T, 128}, {lanes(), 8}})), "substitution-invalid");
}

INSTANTIATE_TEST_SUITE_P(All, SimtPrograms, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
