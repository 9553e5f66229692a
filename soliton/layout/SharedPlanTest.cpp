#include "soliton/layout/SharedPlan.h"

#include "soliton/layout/RandomLayouts.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace soliton;
using namespace soliton::test;

namespace {
std::vector<SharedTile> randomTiles(Random &random, int64_t count) {
  std::vector<SharedTile> tiles;
  for (int64_t i = 0; i < count; ++i) {
    SharedTile tile{.bytes = 16 * pick(random, 1, 40), .alignment = int64_t(16) << pick(random, 0, 2)};
    int64_t intervals = pick(random, 0, 5) == 0 ? 0 : pick(random, 1, 2), time = 0;
    for (int64_t k = 0; k < intervals; ++k) {
      int64_t begin = time + pick(random, 0, 10), end = begin + pick(random, 1, 10);
      tile.live.push_back({begin, end});
      time = end;
    }
    tiles.push_back(tile);
  }
  return tiles;
}

/// Live at the same point in time, counted point by point.
bool everTogether(const SharedTile &a, const SharedTile &b) {
  auto liveAt = [](const SharedTile &tile, int64_t time) {
    return tile.live.empty() || std::ranges::any_of(tile.live, [&](const LiveInterval &interval) {
             return interval.begin <= time && time < interval.end;
           });
  };
  for (int64_t time = -1; time < 50; ++time)
    if (liveAt(a, time) && liveAt(b, time))
      return true;
  return false;
}

void expectSound(const std::vector<SharedTile> &tiles, const SharedPlan &plan) {
  ASSERT_EQ(plan.offsets.size(), tiles.size());
  for (size_t i = 0; i < tiles.size(); ++i) {
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_EQ(plan.offsets[i] % tiles[i].alignment, 0);
    EXPECT_LE(plan.offsets[i] + tiles[i].bytes, plan.bytes);
    for (size_t j = i + 1; j < tiles.size(); ++j) {
      bool apart =
          plan.offsets[i] + tiles[i].bytes <= plan.offsets[j] || plan.offsets[j] + tiles[j].bytes <= plan.offsets[i];
      EXPECT_TRUE(apart || !everTogether(tiles[i], tiles[j])) << "tiles " << i << " and " << j;
    }
  }
}

TEST(SharedPlan, TilesThatNeverLiveTogetherShareAPlace) {
  std::vector<SharedTile> tiles = {
      {.bytes = 16384, .live = {{0, 10}}}, {.bytes = 8192, .live = {{10, 20}}}, {.bytes = 8192, .live = {{5, 20}}}};
  SharedPlan plan = planShared(tiles);
  expectSound(tiles, plan);
  EXPECT_EQ(plan.bytes, 24576);
  EXPECT_TRUE(plan.exact);
}

TEST(SharedPlan, TilesThatAlwaysLiveFollowEachOther) {
  SharedPlan plan = planShared({{.bytes = 100}, {.bytes = 32}, {.bytes = 16}});
  EXPECT_EQ(plan.offsets, (std::vector<int64_t>{0, 112, 144}));
  EXPECT_EQ(plan.bytes, 160);
}

TEST(SharedPlan, NoTwoLiveTilesOverlap) {
  Random random(11);
  for (int round = 0; round < 400; ++round) {
    std::vector<SharedTile> tiles = randomTiles(random, pick(random, 1, 14));
    expectSound(tiles, planShared(tiles));
    expectSound(tiles, planShared(tiles, /*maxExact=*/0));
  }
}

/// The least bytes of all plans whose offsets are multiples of 16.
int64_t leastBytes(const std::vector<SharedTile> &tiles, std::vector<int64_t> &offsets, size_t next, int64_t best) {
  int64_t used = 0;
  for (size_t i = 0; i < next; ++i)
    used = std::max(used, offsets[i] + tiles[i].bytes);
  if (used >= best)
    return best;
  if (next == tiles.size())
    return used;
  for (int64_t at = 0; at + tiles[next].bytes < best; at += tiles[next].alignment) {
    bool free = true;
    for (size_t i = 0; i < next; ++i)
      free &= !everTogether(tiles[i], tiles[next]) || offsets[i] + tiles[i].bytes <= at ||
              at + tiles[next].bytes <= offsets[i];
    if (!free)
      continue;
    offsets[next] = at;
    best = leastBytes(tiles, offsets, next + 1, best);
  }
  return best;
}

TEST(SharedPlan, FewTilesArePlacedAsTightlyAsCanBe) {
  Random random(12);
  int better = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<SharedTile> tiles = randomTiles(random, pick(random, 2, 5));
    for (SharedTile &tile : tiles) {
      tile.bytes = 16 * pick(random, 1, 6);
      tile.alignment = 16;
    }
    std::vector<int64_t> offsets(tiles.size(), 0);
    SharedPlan plan = planShared(tiles);
    EXPECT_TRUE(plan.exact);
    EXPECT_EQ(plan.bytes, leastBytes(tiles, offsets, 0, 16 * 6 * 5 + 16)) << "round " << round;
    better += plan.bytes < std::accumulate(
                               tiles.begin(), tiles.end(), int64_t(0),
                               [](int64_t sum, const SharedTile &tile) { return sum + tile.bytes; });
  }
  EXPECT_GT(better, 20);
}

TEST(SharedPlan, MapsFreeAllAccessesOfConflicts) {
  Dim m("M"), k("K");
  BankModel model{32, {}};
  for (int first = 0; first < 64; first += 8)
    model.phases.push_back({first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 7});
  MapRequest request{.plain = {{{m, 64}, {k, 64}}}, .elementBits = 16, .accesses = {}, .runs = {}};
  request.accesses.push_back({Layout::parse("reg = (8 K 1), lane = (16 M 1)(4 K 8)").value(), 8, model});
  ASSERT_GT(countConflicts(request.plain, 16, request.accesses[0]), 0);
  SharedMap map = chooseMap(request);
  EXPECT_EQ(countConflicts(map, 16, request.accesses[0]), 0);
  EXPECT_EQ(map.padding, 0);
  // Runs of 8 elements: nothing may be exchanged within a run, and none skips padding inside a row of 64.
  request.runs = {8};
  EXPECT_TRUE(suitsRuns(chooseMap(request), request.runs));
}

TEST(SharedPlan, WithoutSwizzlesRowsArePaddedOrPlain) {
  Dim m("M"), k("K");
  BankModel model{32, {}};
  for (int first = 0; first < 64; first += 8)
    model.phases.push_back({first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 7});
  MapRequest request{
      .plain = {{{m, 64}, {k, 64}}}, .elementBits = 16, .accesses = {}, .runs = {}, .mayBeSwizzled = false};
  request.accesses.push_back({Layout::parse("reg = (8 K 1), lane = (16 M 1)(4 K 8)").value(), 8, model});
  SharedMap padded = chooseMap(request);
  EXPECT_FALSE(padded.isSwizzled());
  EXPECT_GT(padded.padding, 0);
  EXPECT_EQ(countConflicts(padded, 16, request.accesses[0]), 0);
  // A copy writes eight rows in one run and skips no padding: conflicts are left.
  request.runs = {512};
  EXPECT_EQ(chooseMap(request), request.plain);
}

/// A swizzle is recomputed for every instruction of a copy (the framework once did so for the first only): what it
/// exchanges belongs to one run, wherever in the tile that begins.
TEST(SharedPlan, ASwizzleThatLeavesARunIsNoMapForIt) {
  Dim m("M"), k("K");
  SharedMap rows{{{m, 64}, {k, 64}}};
  rows.swizzle = {8, 1, 8};
  ASSERT_FALSE(rows.verify());
  EXPECT_TRUE(suitsRuns(rows, {512}));
  EXPECT_FALSE(suitsRuns(rows, {32})) << "half a row: its chunks go to places that another instruction writes";
}
} // namespace
