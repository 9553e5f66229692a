#include "soliton/layout/Traffic.h"

#include "soliton/layout/RandomLayouts.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::test;

namespace {
const Dim M("M"), N("N");
const TrafficUnits kUnits{.sectorBytes = 32, .lineBytes = 128};

Layout parsed(std::string_view text) {
  return Layout::parse(text).value();
}

/// Every lane of every instruction of every wave, looked at one by one.
Traffic counted(const Layout &layout, int64_t width, const MemoryRows &memory, const TrafficUnits &units) {
  Traffic all;
  for (int64_t wave = 0; wave < layout.waves(); ++wave)
    for (int64_t reg = 0; reg < layout.regs(); reg += width) {
      std::set<int64_t> sectors, lines;
      for (int64_t lane = 0; lane < layout.lanes(); ++lane) {
        int64_t address = 0;
        for (auto [dim, place] : layout.coordinates(reg, lane, wave))
          address += place * memory.strides.at(dim);
        for (int64_t byte = 0; byte < width * memory.elementBytes; ++byte) {
          sectors.insert((address + byte) / units.sectorBytes);
          lines.insert((address + byte) / units.lineBytes);
        }
      }
      ++all.instructions;
      all.sectors += static_cast<int64_t>(sectors.size());
      all.lines += static_cast<int64_t>(lines.size());
    }
  auto mean = [&](int64_t sum) { return (sum + layout.waves() - 1) / layout.waves(); };
  return {mean(all.instructions), mean(all.sectors), mean(all.lines)};
}
} // namespace

TEST(Traffic, PartsOfASectorAreWholeSectors) {
  MemoryRows rows{{{M, 16384}, {N, 2}}, 2};
  // As in the header: narrow stores of 4 lanes a row, then wide ones of 8.
  EXPECT_EQ(trafficOf(parsed("lane = (4 N 1)(8 M 1)"), 1, rows, kUnits), (Traffic{1, 8, 8}));
  EXPECT_EQ(trafficOf(parsed("reg = (8 N 1), lane = (8 N 8)(4 M 1)"), 8, rows, kUnits), (Traffic{1, 16, 4}));
}

TEST(Traffic, RowsThatFollowEachOtherShareSectors) {
  Layout layout = parsed("lane = (2 N 1)(16 M 1)");
  EXPECT_EQ(trafficOf(layout, 1, {{{M, 4}, {N, 2}}, 2}, kUnits).sectors, 2);
  EXPECT_EQ(trafficOf(layout, 1, {{{M, MemoryRows::kFar}, {N, 2}}, 2}, kUnits).sectors, 16);
}

TEST(Traffic, EqualsTheCountOfEveryLane) {
  Random random(11);
  for (int round = 0; round < 1000; ++round) {
    Shape shape = randomShape(random);
    Layout layout = randomLayout(random, shape);
    MemoryRows rows{{}, int64_t(1) << pick(random, 0, 3)};
    // Rows of any pitch, odd ones too.
    int64_t stride = rows.elementBytes;
    for (auto [dim, extent] : shape.extents) {
      rows.strides[dim] = stride;
      stride *= extent + pick(random, 0, 40);
    }
    int64_t width = layout.regs() % 2 == 0 ? 2 : 1;
    Traffic traffic = trafficOf(layout, width, rows, kUnits);
    EXPECT_EQ(traffic, counted(layout, width, rows, kUnits)) << layout.str();
    EXPECT_LE(traffic.lines, traffic.sectors);
  }
}

TEST(Traffic, GrowsWhereALaneLeavesTheLinesOfTheOthers) {
  // Lanes move from columns of one row to rows of their own, one factor of two after the other.
  MemoryRows rows{{{M, 16384}, {N, 2}}, 2};
  for (int64_t width : {1, 2, 4, 8}) {
    Traffic before{};
    for (int64_t apart = 1; apart <= 32; apart *= 2) {
      Layout layout({{width, N, 1}}, {{32 / apart, N, width}, {apart, M, 1}});
      Traffic now = trafficOf(layout, width, rows, kUnits);
      EXPECT_GE(now.lines, before.lines);
      EXPECT_GE(now.sectors, before.sectors);
      EXPECT_GE(now.lines, apart);
      before = now;
    }
    EXPECT_EQ(before.sectors, 32);
  }
}
