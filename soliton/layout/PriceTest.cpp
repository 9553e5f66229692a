#include "soliton/layout/Price.h"

#include "soliton/layout/RandomLayouts.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::test;

namespace {
const Dim M("M"), N("N");
const MovePrices kPrices{.valu = 4, .exchange = 8, .exchangeLatency = 50};

Layout parsed(std::string_view text) {
  return Layout::parse(text).value();
}

int64_t priceOfConvert(const Layout &from, const Layout &to, int bits = 32) {
  return priceOf(planConvert(from, to, {.elementBits = bits}), from.regs(), bits, kPrices);
}

TEST(Price, RenamedRegistersAreFree) {
  EXPECT_EQ(
      priceOfConvert(parsed("reg = (2 M 1)(4 N 1), lane = (4 N 4)"), parsed("reg = (4 N 1)(2 M 1), lane = (4 N 4)")),
      0);
}

TEST(Price, SelectsWithinALaneAreCounted) {
  // Both lanes hold both elements; each wants another one: one select, nothing crosses.
  Layout from = parsed("reg = (2 M 1), lane = (2 _ 0)"), to = parsed("lane = (2 M 1)");
  ConvertPlan plan = planConvert(from, to);
  ASSERT_EQ(plan.kind, ConvertKind::shuffle);
  EXPECT_EQ(plan.crossings(), 0);
  EXPECT_EQ(workOf(plan, from.regs(), 32).selects, 1);
  EXPECT_EQ(priceOfConvert(from, to), 4);
}

TEST(Price, AnExchangeOfDoublesMovesTwoWords) {
  Layout from = parsed("lane = (2 M 1)(2 N 1)"), to = parsed("lane = (2 N 1)(2 M 1)");
  EXPECT_EQ(priceOfConvert(from, to, 32), 8 + 50);
  EXPECT_EQ(priceOfConvert(from, to, 64), 2 * 8 + 50);
}

TEST(Price, ReductionsCountRegistersAndLanes) {
  // Four registers become one, then two butterflies.
  EXPECT_EQ(priceOf(planReduce(parsed("reg = (4 N 1), lane = (16 M 1)(4 N 4)"), N), 32, kPrices),
            3 * 4 + 2 * (8 + 4) + 50);
  EXPECT_EQ(priceOf(planReduce(parsed("reg = (4 N 1), lane = (16 M 1)(4 _ 0)"), N), 32, kPrices), 3 * 4);
}

TEST(Price, IsRenameAgreesWithThePlan) {
  Random random(7);
  int renames = 0;
  for (int round = 0; round < 2000; ++round) {
    Shape shape = randomShape(random);
    Layout from = randomLayout(random, shape), to = round % 2 ? from : randomLayout(random, shape);
    std::ranges::shuffle(to.reg, random);
    bool rename = planConvert(from, to).kind == ConvertKind::rename;
    EXPECT_EQ(isRename(from, to), rename) << from.str() << " to " << to.str();
    renames += rename;
  }
  EXPECT_GT(renames, 500);
}
} // namespace
