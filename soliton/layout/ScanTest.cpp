#include "soliton/layout/Scan.h"

#include "gtest/gtest.h"

namespace soliton {
namespace {
const Dim M("M"), N("N");

Layout layout(const char *text) {
  return *Layout::parse(text);
}

TEST(Scan, RegistersBeforeLanesBeforeRegistersOfFurtherRounds) {
  Layout rounds = layout("reg = (4 N 1)(2 M 1)(2 N 256), lane = (64 N 4)");
  ASSERT_TRUE(isOrderedAlong(rounds, N));
  ScanPlan plan = planScan(rounds, N);
  EXPECT_EQ(plan.digits, (std::vector<ScanDigit>{{Axis::reg, 1, 4}, {Axis::lane, 1, 64}, {Axis::reg, 4, 2}}));
  EXPECT_EQ(plan.groups, (std::vector<std::vector<int64_t>>{{0, 1, 2, 3, 8, 9, 10, 11}, {4, 5, 6, 7, 12, 13, 14, 15}}));
  EXPECT_TRUE(plan.waves.empty());
  // Of each of two rounds: six steps, those before, the whole.
  EXPECT_EQ(plan.exchanges(), 2 * (6 + 2));
}

TEST(Scan, OtherDimensionsAreOtherRows) {
  ScanPlan plan = planScan(layout("reg = (4 N 1), lane = (16 M 1)(4 N 4)"), N);
  EXPECT_EQ(plan.digits, (std::vector<ScanDigit>{{Axis::reg, 1, 4}, {Axis::lane, 16, 4}}));
  EXPECT_EQ(planScan(layout("reg = (4 M 1), lane = (64 M 4)"), N).digits, std::vector<ScanDigit>());
  EXPECT_FALSE(planScan(layout("reg = (4 N 1), lane = (64 M 1)"), N).crossesLanes());
}

TEST(Scan, WavesAreTheLongestRuns) {
  Layout ordered = layout("reg = (4 N 1), lane = (64 N 4), wave = (4 N 256)");
  EXPECT_TRUE(isOrderedAlong(ordered, N));
  EXPECT_EQ(planScan(ordered, N).waves.size(), 1u);
  EXPECT_EQ(orderedAlong(ordered, N), ordered);
}

TEST(Scan, ARoundAboveWavesIsPutBelowThem) {
  Layout rounds = layout("reg = (4 N 1)(2 N 1024), lane = (64 N 4), wave = (4 N 256)");
  EXPECT_FALSE(isOrderedAlong(rounds, N));
  Layout ordered = orderedAlong(rounds, N);
  EXPECT_TRUE(isOrderedAlong(ordered, N));
  EXPECT_EQ(ordered, layout("reg = (4 N 1)(2 N 256), lane = (64 N 4), wave = (4 N 512)"));
  EXPECT_TRUE(ordered.isBijectiveUpToReplication());
}

/// Each lane has one element of the row, and every element is where it was in the others' eyes.
TEST(Scan, LanesThatExchangeHaveOneElementEach) {
  Layout own = layout("reg = (4 M 1), lane = (64 N 1), wave = (2 M 4)");
  EXPECT_EQ(oneElementPerLane(own, N), own);
  for (const char *text : {"reg = (8 N 1), lane = (8 N 8)(8 M 1)", "reg = (4 M 1)(4 M 4), lane = (32 N 1)(2 N 32)",
                           "reg = (2 N 32), lane = (64 _ 0), wave = (2 M 1)(32 N 1)"}) {
    Layout held = layout(text), dealt = oneElementPerLane(held, N);
    EXPECT_EQ(canonical(dealt.lane), (Digits{Digit(64, N, 1)})) << text;
    EXPECT_TRUE(dealt.isBijectiveUpToReplication()) << text;
    EXPECT_EQ(dealt.extent(M), held.extent(M)) << text;
    EXPECT_EQ(dealt.waves(), held.waves()) << text;
  }
}

/// The sum up to each place, made as the plan says, is the sum up to it: every digit adds what lies before it.
TEST(Scan, WhatLiesBeforeADigitIsWhatLiesBeforeItInTheRow) {
  for (const char *text : {"reg = (4 N 1), lane = (64 N 4)", "reg = (4 N 1)(2 N 256), lane = (64 N 4)",
                           "reg = (4 N 8), lane = (8 N 1)(8 M 1)", "lane = (3 N 1)(16 M 1), reg = (5 N 3)"}) {
    Layout row = layout(text);
    ScanPlan plan = planScan(row, N);
    int64_t run = 1;
    for (const ScanDigit &digit : plan.digits) {
      // Lane 0 or the group's first register, and the next one along the digit.
      int64_t from = row.coordinate(N, plan.groups[0][0], 0, 0);
      int64_t to = digit.axis == Axis::lane
                       ? row.coordinate(N, plan.groups[0][0], digit.divisor, 0)
                       : row.coordinate(N, plan.groups[0][static_cast<size_t>(digit.divisor)], 0, 0);
      EXPECT_EQ(to - from, run) << text;
      run *= digit.extent;
    }
    EXPECT_EQ(run, row.extent(N)) << text;
  }
}

} // namespace
} // namespace soliton
