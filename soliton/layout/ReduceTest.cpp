#include "soliton/layout/Reduce.h"

#include "soliton/layout/RandomLayouts.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::test;

namespace {
const Dim M("M"), N("N");

Layout parsed(std::string_view text) {
  return Layout::parse(text).value();
}

/// A partial sum is the sorted list of elements that went into it: adding one twice, or in another place, shows.
using Sum = std::vector<int64_t>;

Sum operator+(const Sum &a, const Sum &b) {
  Sum result;
  std::ranges::merge(a, b, std::back_inserter(result));
  return result;
}

int64_t elementId(const Coordinates &at) {
  int64_t id = 0;
  for (Dim dim : {Dim("M"), Dim("N"), Dim("K")}) {
    auto found = at.find(dim);
    id = id * 64 + (found == at.end() ? 0 : found->second);
  }
  return id;
}

using Lanes = std::vector<Sum>;

void apply(const LaneStep &step, Lanes &x, Lanes &first) {
  if (step.first)
    first = x;
  Lanes next = x;
  for (size_t lane = 0; lane < x.size(); ++lane) {
    size_t source = static_cast<size_t>(step.sourceLane(static_cast<int64_t>(lane)));
    switch (step.kind) {
    case LaneStep::Kind::butterfly:
    case LaneStep::Kind::join:
      next[lane] = x[lane] + x.at(source);
      break;
    case LaneStep::Kind::joinFirst:
      next[lane] = x[lane] + first.at(source);
      break;
    case LaneStep::Kind::broadcast:
      next[lane] = x.at(source);
      break;
    }
  }
  x = next;
}

/// Sums of (wave, lane, result register) as the machine would form them.
std::vector<std::vector<Lanes>> execute(const ReducePlan &plan, const Layout &source) {
  size_t waves = static_cast<size_t>(source.waves()), lanes = static_cast<size_t>(source.lanes());
  std::vector<std::vector<Lanes>> result(waves, std::vector<Lanes>(plan.registers.size(), Lanes(lanes)));
  for (size_t wave = 0; wave < waves; ++wave)
    for (size_t reg = 0; reg < plan.registers.size(); ++reg) {
      Lanes &x = result[wave][reg], first;
      for (size_t lane = 0; lane < lanes; ++lane) {
        for (int64_t piece : plan.registers[reg])
          x[lane].push_back(
              elementId(source.coordinates(piece, static_cast<int64_t>(lane), static_cast<int64_t>(wave))));
        std::ranges::sort(x[lane]);
      }
      for (const LaneStep &step : plan.lanes)
        apply(step, x, first);
    }
  if (plan.waves.empty())
    return result;
  // Shared memory: a wave adds up the partial results of all waves that differ from it only in the reduced digits.
  auto without = [&](int64_t wave) {
    for (const WaveDigit &digit : plan.waves)
      wave -= wave / digit.divisor % digit.extent * digit.divisor;
    return wave;
  };
  std::vector<std::vector<Lanes>> joined = result;
  for (size_t wave = 0; wave < waves; ++wave) {
    std::set<int64_t> places;
    for (size_t other = 0; other < waves; ++other) {
      if (without(static_cast<int64_t>(other)) != without(static_cast<int64_t>(wave)))
        continue;
      EXPECT_TRUE(places.insert(plan.wavePartial(static_cast<int64_t>(other))).second);
      for (size_t reg = 0; reg < plan.registers.size() && other != wave; ++reg)
        for (size_t lane = 0; lane < lanes; ++lane)
          joined[wave][reg][lane] = joined[wave][reg][lane] + result[other][reg][lane];
    }
    EXPECT_EQ(static_cast<int64_t>(places.size()), plan.wavePartials());
    EXPECT_EQ(*places.rbegin(), plan.wavePartials() - 1);
  }
  return joined;
}

void check(const Layout &source, Dim dim) {
  ReducePlan plan = planReduce(source, dim);
  std::string what = source.str() + " over " + dim.name();
  ASSERT_EQ(plan.result, source.withoutDim(dim)) << what;
  ASSERT_EQ(static_cast<int64_t>(plan.registers.size()), plan.result.regs()) << what;
  auto sums = execute(plan, source);
  for (int64_t wave = 0; wave < source.waves(); ++wave)
    for (int64_t reg = 0; reg < plan.result.regs(); ++reg)
      for (int64_t lane = 0; lane < source.lanes(); ++lane) {
        Sum expected;
        Coordinates at = plan.result.coordinates(reg, lane, wave);
        for (int64_t value = 0; value < source.extent(dim); ++value) {
          at[dim] = value;
          expected.push_back(elementId(at));
        }
        std::ranges::sort(expected);
        ASSERT_EQ(sums[static_cast<size_t>(wave)][static_cast<size_t>(reg)][static_cast<size_t>(lane)], expected)
            << what;
      }
}
/// Every lane holds the elements that its place stands for: those of the source that keep its coordinates.
TEST(Reduce, StagesExchangeOnceEachAndEndAtTheWhole) {
  Random random(9);
  int exchanges = 0;
  for (int round = 0; round < 300; ++round) {
    Shape shape = randomShape(random);
    Layout source = randomLayout(random, shape);
    std::vector<Layout> stages = reduceStages(source, M);
    Layout from = source;
    for (const Layout &stage : stages) {
      ReducePlan plan = planReduce(from, M, stage);
      bool registers = from.regs() != stage.regs();
      int64_t butterflies = std::ranges::count(plan.lanes, LaneStep::Kind::butterfly, &LaneStep::kind);
      int64_t rings = std::ranges::count(plan.lanes, LaneStep::Kind::broadcast, &LaneStep::kind);
      EXPECT_TRUE(plan.waves.empty());
      EXPECT_EQ(butterflies + rings, registers ? 0 : 1) << from.str() << " to " << stage.str();
      EXPECT_EQ(static_cast<int64_t>(plan.registers.size()), stage.regs());
      exchanges += static_cast<int>(butterflies);
      from = stage;
    }
    Layout whole = source.withoutDim(M), last = from;
    for (Digit &digit : last.wave)
      if (digit.dim == M)
        digit = Digit(digit.extent);
    EXPECT_EQ(last, whole) << source.str();
  }
  EXPECT_GT(exchanges, 100);
}

TEST(Reduce, ACoordinateGoesWhereItsKeptDigitsAre) {
  Layout source = parsed("reg = (4 N 1)(4 N 16), lane = (16 M 1)(4 N 4)");
  Layout partial = parsed("lane = (16 M 1)(4 N 4)"), half = parsed("lane = (16 M 1)(2 _ 0)(2 N 8)");
  EXPECT_EQ(reduceStages(source, N), (std::vector<Layout>{partial, half, parsed("lane = (16 M 1)(4 _ 0)")}));
  EXPECT_EQ(keptCoordinate(source, partial, N, 17), 0);
  EXPECT_EQ(keptCoordinate(source, partial, N, 16 * 3 + 8 + 3), 8);
  EXPECT_EQ(keptCoordinate(partial, half, N, 4), 0);
  EXPECT_EQ(keptCoordinate(partial, half, N, 12), 8);
}
} // namespace

TEST(Reduce, RandomLayouts) {
  Random random(21);
  int checked = 0;
  for (int trial = 0; trial < 1600; ++trial) {
    Layout layout = randomLayout(random, randomShape(random), trial % 3);
    if (layout.regs() * layout.lanes() * layout.waves() > 1024)
      continue;
    for (Dim dim : layout.dims()) {
      check(layout, dim);
      ASSERT_FALSE(HasFatalFailure());
      ++checked;
    }
  }
  EXPECT_GT(checked, 2000);
}

TEST(Reduce, EveryExtentOfALaneDigit) {
  for (int64_t extent = 1; extent <= 33; ++extent)
    for (int64_t below : {1, 2, 3, 4}) {
      check(Layout({}, {{below, N, 1}, {extent, M, 1}, {2, N, below}}), M);
      ASSERT_FALSE(HasFatalFailure()) << extent;
    }
}

TEST(Reduce, AccumulatorRows) {
  ReducePlan plan = planReduce(parsed("reg = (4 M 1)(4 M 8), lane = (32 N 1)(2 M 4)"), M);
  ASSERT_EQ(plan.registers.size(), 1u);
  EXPECT_EQ(plan.registers[0].size(), 16u);
  ASSERT_EQ(plan.lanes.size(), 1u);
  EXPECT_EQ(plan.lanes[0].kind, LaneStep::Kind::butterfly);
  EXPECT_EQ(plan.lanes[0].mask, 32);
  EXPECT_TRUE(plan.waves.empty());
  EXPECT_EQ(plan.result.str(), "lane = (32 N 1)(2 _ 0)");
}

TEST(Reduce, WavesMeetInSharedMemory) {
  ReducePlan plan = planReduce(parsed("lane = (64 M 1), wave = (2 N 1)(4 M 64)"), M);
  ASSERT_EQ(plan.waves.size(), 1u);
  EXPECT_EQ(plan.waves[0].divisor, 2);
  EXPECT_EQ(plan.waves[0].extent, 4);
  EXPECT_EQ(plan.lanes.size(), 6u);
  EXPECT_EQ(plan.result.str(), "lane = (64 _ 0), wave = (2 N 1)(4 _ 0)");
}

TEST(Reduce, OddExtentsEndWithOneVoice) {
  ReducePlan plan = planReduce(parsed("lane = (12 M 1)"), M);
  ASSERT_EQ(plan.lanes.size(), 5u);
  EXPECT_EQ(plan.lanes[1].mask, 2);
  EXPECT_EQ(plan.lanes[2].kind, LaneStep::Kind::join);
  EXPECT_EQ(plan.lanes[3].kind, LaneStep::Kind::joinFirst);
  EXPECT_EQ(plan.lanes[4].kind, LaneStep::Kind::broadcast);
}
