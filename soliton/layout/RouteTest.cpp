#include "soliton/layout/Route.h"

#include "soliton/layout/RandomLayouts.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::test;

namespace {
const MovePrices kPrices{.valu = 4, .exchange = 8, .exchangeLatency = 50};

Layout parsed(std::string_view text) {
  return Layout::parse(text).value();
}

/// Two layouts of one tile with the same digits in other places.
std::pair<Layout, Layout> randomPair(Random &random) {
  Digits digits;
  for (const char *name : {"M", "N"})
    for (int64_t stride = 1, count = pick(random, 1, 5); count > 0; --count, stride *= 2)
      digits.push_back(Digit(2, Dim(name), stride));
  size_t lanes = static_cast<size_t>(pick(random, 1, static_cast<int64_t>(digits.size())));
  auto dealt = [&] {
    std::ranges::shuffle(digits, random);
    return Layout(Digits(digits.begin() + static_cast<int64_t>(lanes), digits.end()),
                  Digits(digits.begin(), digits.begin() + static_cast<int64_t>(lanes)));
  };
  Layout from = dealt();
  return {from, dealt()};
}

TEST(Route, ATranspositionIsOneExchangePerDigit) {
  Layout from = parsed("reg = (4 M 1), lane = (4 N 1)"), to = parsed("reg = (4 N 1), lane = (4 M 1)");
  std::vector<Layout> stages = exchangeStages(from, to, 32);
  ASSERT_EQ(stages.size(), 5U);
  EXPECT_EQ(stages.back(), to);
  int exchanges = 0;
  Layout before = from;
  for (const Layout &stage : stages) {
    if (!isRename(before, stage)) {
      ++exchanges;
      EXPECT_EQ(independentRegisters(before, stage), 2);
    }
    before = stage;
  }
  EXPECT_EQ(exchanges, 2);
}

TEST(Route, StagesAreLayoutsOfTheTileAndMoveOneDigitEach) {
  Random random(21);
  int chains = 0;
  for (int round = 0; round < 500; ++round) {
    auto [from, to] = randomPair(random);
    int bits = pick(random, 0, 1) ? 16 : 32;
    std::vector<Layout> stages = exchangeStages(from, to, bits);
    if (stages.empty())
      continue;
    ++chains;
    EXPECT_EQ(stages.back(), to);
    Layout before = from;
    for (const Layout &stage : stages) {
      EXPECT_TRUE(stage.isBijectiveUpToReplication()) << stage.str();
      EXPECT_NE(planConvert(before, stage, {.elementBits = bits, .maxExchanges = 4096}).kind, ConvertKind::shared)
          << before.str() << " to " << stage.str();
      before = stage;
    }
  }
  EXPECT_GT(chains, 200);
}

TEST(Route, IsNeverDearerThanTheDirectPlan) {
  Random random(22);
  int cheaper = 0;
  for (int round = 0; round < 500; ++round) {
    auto [from, to] = randomPair(random);
    ConvertPlan plan = planConvert(from, to);
    ConvertRoute route = routeConvert(from, to, {}, kPrices);
    if (plan.kind == ConvertKind::rename) {
      EXPECT_EQ(route.kind, ConvertKind::rename);
      EXPECT_EQ(route.price, 0);
    }
    if (plan.kind != ConvertKind::shuffle)
      continue;
    EXPECT_EQ(route.kind, ConvertKind::shuffle);
    EXPECT_LE(route.price, priceOf(plan, from.regs(), 32, kPrices)) << from.str() << " to " << to.str();
    cheaper += route.stages.size() > 1;
  }
  EXPECT_GT(cheaper, 50);
}

TEST(Route, WhatOtherWavesHoldGoesThroughSharedMemory) {
  ConvertRoute route = routeConvert(parsed("reg = (2 M 1), lane = (2 N 1), wave = (2 M 2)"),
                                    parsed("reg = (2 M 2), lane = (2 N 1), wave = (2 M 1)"), {}, kPrices);
  EXPECT_EQ(route.kind, ConvertKind::shared);
}
} // namespace
