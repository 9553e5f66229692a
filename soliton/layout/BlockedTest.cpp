#include "soliton/layout/Blocked.h"

#include <gtest/gtest.h>

using namespace soliton;

namespace {
const Dim B("B"), M("M"), K("K");

std::string text(std::vector<DimExtent> tile, int64_t lanes, int64_t waves, int64_t elements) {
  BlockedResult result = coalesced(tile, lanes, waves, elements);
  return result ? result.layout->str() : result.reason;
}
} // namespace

TEST(Blocked, TransposingBlocksAreWideBothWays) {
  const Dim L("L"), N("N");
  BlockedResult found = transposing(std::vector<DimExtent>{{L, 64}, {N, 64}}, L, 64, 4, 4);
  ASSERT_TRUE(found) << found.reason;
  EXPECT_EQ(found.layout->str(), "reg = (4 N 1)(4 L 1), lane = (4 N 4)(4 L 4)(4 N 16), wave = (4 L 16)");
  EXPECT_TRUE(found.layout->isBijectiveUpToReplication());
  EXPECT_EQ(found.layout->contiguousRun(N), 4);
  EXPECT_EQ(found.layout->registersAlong(L).contiguousRun(L), 4);
  EXPECT_FALSE(transposing(std::vector<DimExtent>{{L, 32}, {N, 16}}, L, 64, 4, 4));
  EXPECT_FALSE(transposing(std::vector<DimExtent>{{L, 64}, {N, 64}}, N, 64, 4, 4));
  EXPECT_FALSE(transposing(std::vector<DimExtent>{{L, 64}, {N, 68}}, L, 64, 1, 4));
}

TEST(Blocked, AWholeDimensionThatLanesCannotShareIsRoundedUp) {
  EXPECT_EQ(wholeTile(33), 40);
  EXPECT_EQ(wholeTile(17), 24);
  EXPECT_EQ(wholeTile(50), 56);
  for (int64_t size : {0, 1, 2, 3, 7, 8, 12, 64, 100, 1024})
    EXPECT_EQ(wholeTile(size), size);
  // 17 x 2 x 33 by 64 lanes: 561 registers as it is, 15 in tiles.
  std::vector<DimExtent> tile = {{Dim("A"), wholeTile(17)}, {Dim("B"), 2}, {Dim("C"), wholeTile(33)}};
  EXPECT_LE(coalesced(tile, 64, 1, 1).layout->regs(), 30);
}

TEST(Blocked, WalksTheTileLinearly) {
  EXPECT_EQ(text({{M, 64}, {K, 32}}, 64, 4, 8), "reg = (8 K 1), lane = (4 K 8)(16 M 1), wave = (4 M 16)");
  EXPECT_EQ(text({{M, 128}, {K, 64}}, 32, 4, 8), "reg = (8 K 1)(8 M 16), lane = (8 K 8)(4 M 1), wave = (4 M 4)");
  EXPECT_EQ(text({{M, 1}, {K, 4096}}, 64, 4, 8), "reg = (8 K 1)(2 K 2048), lane = (64 K 8), wave = (4 K 512)");
}

TEST(Blocked, LinearWhereExtentsAllow) {
  std::vector<DimExtent> tile = {{B, 2}, {M, 16}, {K, 64}};
  Layout layout = coalesced(tile, 64, 2, 4).layout.value();
  for (int64_t thread = 0; thread < 128; ++thread) {
    Coordinates at = layout.coordinates(0, thread % 64, thread / 64);
    EXPECT_EQ((at[B] * 16 + at[M]) * 64 + at[K], thread * 4);
  }
}

TEST(Blocked, SurplusThreadsReplicate) {
  EXPECT_EQ(text({{K, 64}}, 64, 4, 4), "reg = (4 K 1), lane = (16 K 4)(4 _ 0), wave = (4 _ 0)");
  EXPECT_EQ(text({{M, 3}, {K, 8}}, 64, 1, 8), "reg = (8 K 1)(3 M 1), lane = (64 _ 0)");
}

TEST(Blocked, AnyExtentsGiveALegalLayout) {
  for (int64_t rows = 1; rows <= 20; ++rows)
    for (int64_t columns = 1; columns <= 48; ++columns)
      for (int64_t lanes : {32, 64})
        for (int64_t waves : {1, 3, 4})
          for (int64_t elements : {1, 2, 4, 8}) {
            DimExtent tile[] = {{M, rows}, {K, columns}};
            BlockedResult result = coalesced(tile, lanes, waves, elements);
            ASSERT_EQ(result.layout.has_value(), columns % elements == 0);
            if (!result)
              continue;
            const Layout &layout = *result.layout;
            ASSERT_TRUE(layout.isBijectiveUpToReplication());
            ASSERT_EQ(layout.extent(M), rows);
            ASSERT_EQ(layout.extent(K), columns);
            ASSERT_EQ(layout.lanes(), lanes);
            ASSERT_EQ(layout.waves(), waves);
            ASSERT_EQ(layout.contiguousRun(K) % elements, 0);
            ASSERT_EQ(layout.regs() * lanes * waves, rows * columns * layout.replication());
          }
}

TEST(Blocked, SaysWhyNot) {
  EXPECT_EQ(text({{M, 4}, {K, 20}}, 64, 1, 8),
            "8 elements per lane do not divide the 20 elements of the fastest dimension");
  EXPECT_EQ(text({{K, 0}}, 64, 1, 1), "the extent of `K` is 0, expected at least 1");
  EXPECT_EQ(text({{K, 4}}, 0, 1, 1), "lanes, waves and elements per lane must be at least 1");
  EXPECT_EQ(text({}, 64, 1, 1), "lane = (64 _ 0)");
}

TEST(Blocked, BestElementsPerLane) {
  auto best = [](std::vector<DimExtent> tile, int64_t lanes, int64_t waves, int64_t limit) {
    return bestElementsPerLane(tile, lanes, waves, limit);
  };
  EXPECT_EQ(best({{M, 64}, {K, 32}}, 64, 4, 8), 8);
  EXPECT_EQ(best({{M, 16}, {K, 32}}, 64, 4, 8), 2) << "512 elements for 256 threads";
  EXPECT_EQ(best({{M, 1024}, {K, 20}}, 64, 4, 8), 4);
  EXPECT_EQ(best({{K, 7}}, 64, 4, 8), 1);
  EXPECT_EQ(best({{K, 704}}, 64, 1, 4), 1) << "176 times 4 elements are 16 lanes' work";
}
