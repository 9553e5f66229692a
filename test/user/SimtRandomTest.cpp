//===- SimtRandomTest.cpp - Random programs of lanes, beside what each thread would do -------===//
//
// A seed chooses a program. Every step is taken twice: traced for the compiler, and carried out here for each thread by
// itself, as a reader of the program would. The compiled program runs on the emulator of each target, which judges
// races and bounds too; what it stores must be what the threads have.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <algorithm>
#include <functional>

namespace soliton::test {
namespace {

constexpr int64_t kThreads = 128, kWorkgroups = 2, kAll = kThreads * kWorkgroups;

using Numbers = std::vector<int32_t>;

/// A value of the program, and what it is in each thread of all workgroups.
struct Known {
  Value traced;
  Numbers numbers;
};

int32_t wrapped(int64_t number) {
  return static_cast<int32_t>(static_cast<uint32_t>(number));
}

class RandomLanes {
public:
  RandomLanes(unsigned seed, int64_t lanes)
      : random(seed), laneCount(lanes), kernel("random", {Simt(kThreads, {kWorkgroups})}), in(kAll), out(kAll, 0) {
    memory = kernel.memory("in", {N}, global, i32);
    result = kernel.memory("out", {N}, global, i32);
    array = kernel.shared_array("array", {kThreads}, i32);
    for (int32_t &number : in)
      number = static_cast<int32_t>(random() % 2001) - 1000;
    Expr i = kThreads * workgroup_id(0) + thread_id();
    values.push_back({load(memory(i)), in});
    values.push_back(each(kernel.per_lane(thread_id()), [](int64_t n) { return n % kThreads; }));
    for (int step = 0; step < 12; ++step)
      values.push_back(take());
    Value sum = values.back().traced;
    out = values.back().numbers;
    for (const Known &value : values) {
      sum = sum ^ value.traced;
      for (size_t n = 0; n < out.size(); ++n)
        out[n] ^= value.numbers[n];
    }
    store(sum, result(i));
  }

  Expr N = symbol("N");
  std::mt19937 random;
  int64_t laneCount;
  Kernel kernel;
  MemoryRef memory, result, array;
  Numbers in, out;

private:
  Known each(Value traced, const std::function<int64_t(int64_t)> &ofThread) const {
    Known known{std::move(traced), Numbers(kAll)};
    for (int64_t n = 0; n < kAll; ++n)
      known.numbers[static_cast<size_t>(n)] = wrapped(ofThread(n));
    return known;
  }
  const Known &some() { return values[random() % values.size()]; }
  int64_t below(int64_t bound) { return static_cast<int64_t>(random() % static_cast<unsigned>(bound)); }
  static auto at(const Known &known) {
    return [&known](int64_t n) { return int64_t(known.numbers[static_cast<size_t>(n)]); };
  }
  /// What another lane of the wave of thread `n` has; its own where there is none.
  int64_t ofLane(const Known &known, int64_t n, int64_t lane) const {
    int64_t first = n - n % laneCount;
    return at(known)(lane >= 0 && lane < laneCount ? first + lane : n);
  }

  Known take() {
    switch (below(9)) {
    case 0:
      return arithmetic();
    case 1:
    case 2:
      return shuffled();
    case 3:
      return voted();
    case 4:
      return scanned();
    case 5:
      return exchanged();
    case 6:
      return branched();
    case 7:
      return looped();
    default:
      return counted();
    }
  }

  Known arithmetic() {
    const Known &a = some(), &b = some();
    switch (below(4)) {
    case 0:
      return each(a.traced + b.traced, [&](int64_t n) { return at(a)(n) + at(b)(n); });
    case 1:
      return each(a.traced - 3 * b.traced, [&](int64_t n) { return at(a)(n) - wrapped(3 * at(b)(n)); });
    case 2:
      return each(minimum(a.traced, b.traced), [&](int64_t n) { return std::min(at(a)(n), at(b)(n)); });
    default:
      return each(select(a.traced < b.traced, a.traced, b.traced ^ 5),
                  [&](int64_t n) { return at(a)(n) < at(b)(n) ? at(a)(n) : at(b)(n) ^ 5; });
    }
  }

  Known shuffled() {
    const Known &a = some(), &b = some();
    int64_t by = below(laneCount);
    switch (below(5)) {
    case 0:
      return each(shuffle_xor(a.traced, by), [&](int64_t n) { return ofLane(a, n, (n % laneCount) ^ by); });
    case 1:
      return each(shuffle_up(a.traced, by), [&](int64_t n) { return ofLane(a, n, n % laneCount - by); });
    case 2:
      return each(shuffle_down(a.traced, by), [&](int64_t n) { return ofLane(a, n, n % laneCount + by); });
    case 3:
      return each(rotate(a.traced, by), [&](int64_t n) { return ofLane(a, n, (n + by) % laneCount); });
    default: // sources inside and outside
      return each(shuffle(a.traced, b.traced % 80 - 8), [&](int64_t n) {
        int64_t rest = at(b)(n) % 80;
        return ofLane(a, n, (rest < 0 ? rest + 80 : rest) - 8);
      });
    }
  }

  /// What `ofWave` makes of the threads of a wave, from its first one on.
  Known byWave(Value traced, const std::function<int64_t(int64_t first, int64_t n)> &ofWave) {
    return each(std::move(traced), [&](int64_t n) { return ofWave(n - n % laneCount, n); });
  }

  Known voted() {
    const Known &a = some();
    auto holds = [&](int64_t n) { return at(a)(n) > 10; };
    Value condition = a.traced > 10, mine = kernel.per_lane(lane_id());
    auto count = [=, this](int64_t first, int64_t last) {
      int64_t found = 0;
      for (int64_t n = first; n < last; ++n)
        found += holds(n);
      return found;
    };
    if (below(2))
      return byWave(vote_rank(condition) + vote_count(condition),
                    [&](int64_t first, int64_t n) { return count(first, n) + count(first, first + laneCount); });
    return byWave(select(vote_any(condition), mine, mine + 100) + select(vote_all(condition), mine, mine * 2),
                  [&](int64_t first, int64_t n) {
                    int64_t found = count(first, first + laneCount), l = n - first;
                    return (found > 0 ? l : l + 100) + (found == laneCount ? l : l * 2);
                  });
  }

  Known scanned() {
    const Known &a = some();
    auto total = [&](int64_t first, int64_t last) {
      int64_t sum = 0;
      for (int64_t n = first; n < last; ++n)
        sum += at(a)(n);
      return sum;
    };
    if (below(2))
      return byWave(cumsum(a.traced, lanes()), [&](int64_t first, int64_t n) { return total(first, n + 1); });
    return byWave(sum(a.traced, lanes()) + a.traced,
                  [&](int64_t first, int64_t n) { return wrapped(total(first, first + laneCount)) + at(a)(n); });
  }

  /// Through shared memory: each thread finds what another one has put.
  Known exchanged() {
    const Known a = some();
    int64_t factor = 2 * below(kThreads / 2) + 1, shift = below(kThreads);
    store(a.traced, array((factor * thread_id() + shift) % kThreads));
    if (below(2))
      kernel.barrier();
    Numbers places(kAll);
    for (int64_t n = 0; n < kAll; ++n)
      places[static_cast<size_t>(n / kThreads * kThreads + (factor * (n % kThreads) + shift) % kThreads)] =
          a.numbers[static_cast<size_t>(n)];
    int64_t ahead = below(5); // the last find nothing
    return each(load(array(thread_id() + ahead)), [&](int64_t n) {
      int64_t t = n % kThreads + ahead;
      return t < kThreads ? int64_t(places[static_cast<size_t>(n / kThreads * kThreads + t)]) : 0;
    });
  }

  /// Some threads change what all have put.
  Known branched() {
    const Known a = some(), b = some();
    Expr t = thread_id();
    store(a.traced, array(t));
    when(b.traced % 2 == 0, [&] { store(a.traced + 7, array(t)); }, [&] { store(b.traced, array(t)); });
    return each(load(array(t)), [&](int64_t n) { return at(b)(n) % 2 == 0 ? at(a)(n) + 7 : at(b)(n); });
  }

  /// Each thread halves as long as it is above a bound of its own.
  Known looped() {
    const Known &a = some(), &b = some();
    Value zero = kernel.per_lane(0);
    auto [left, steps] = lane_while(
        {a.traced, zero}, [&](Value left, Value) { return left > b.traced % 50; },
        [](Value left, Value steps) { return std::tuple{floordiv(left, 2) - 1, steps + 1}; });
    return each(left + steps, [&](int64_t n) {
      int64_t bound = at(b)(n) % 50, number = at(a)(n), taken = 0;
      bound += bound < 0 ? 50 : 0;
      for (; number > bound; ++taken)
        number = (number >= 0 ? number / 2 : -((1 - number) / 2)) - 1;
      return number + taken;
    });
  }

  /// Threads meet in bins.
  Known counted() {
    const Known a = some();
    constexpr int64_t kBins = 16;
    Expr t = thread_id();
    store(0, array(t));
    atomic_add(1, array(a.traced % kBins));
    auto bin = [&](int64_t n) { return (at(a)(n) % kBins + kBins) % kBins; };
    return each(load(array(t % kBins)), [&](int64_t n) {
      int64_t first = n / kThreads * kThreads, found = 0;
      for (int64_t other = first; other < first + kThreads; ++other)
        found += bin(other) == n % kThreads % kBins;
      return found;
    });
  }

  std::vector<Known> values;
};

class SimtRandom : public ForTarget {};

TEST_P(SimtRandom, ThreadsDoWhatTheirTextSays) {
  for (unsigned seed = 500000; seed < 500012; ++seed) {
    RandomLanes program(seed, GetParam()->waveSize);
    CompiledKernel run = seed % 4 == 0 ? compiled(program.kernel, options({{program.N, kAll}}))
                                       : compile(program.kernel, options({{program.N, kAll}}));
    Numbers found(kAll, -1);
    run(rt::Tensor::of(program.in, {kAll}), rt::Tensor::of(found, {kAll}));
    ASSERT_EQ(found, program.out) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SimtRandom, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
