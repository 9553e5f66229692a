#include "soliton/layout/LayoutExpr.h"

#include "soliton/layout/Convert.h"
#include "soliton/layout/RandomLayouts.h"
#include "soliton/symbolic/Facts.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::test;
using sym::Expr;

namespace {
const Dim M("M"), N("N"), K("K");
const Expr lane = Expr::symbol("$LANE"), wave = Expr::symbol("$WAVE");

int64_t at(Expr expr, int64_t laneValue, int64_t waveValue) {
  sym::Environment values = {{lane, laneValue}, {wave, waveValue}};
  return sym::evaluate(expr, values);
}
} // namespace

TEST(LayoutExpr, CoordinatesOfRandomLayouts) {
  Random random(31);
  for (int trial = 0; trial < 300; ++trial) {
    Layout layout = randomLayout(random, randomShape(random));
    layout.offset[M] = pick(random, 0, 64);
    for (Dim dim : layout.dims())
      for (int64_t reg = 0; reg < layout.regs(); reg += 3) {
        Expr expr = coordinateExpr(layout, dim, reg, lane, wave);
        for (int64_t w = 0; w < layout.waves(); ++w)
          for (int64_t l = 0; l < layout.lanes(); l += 1 + l % 5)
            ASSERT_EQ(at(expr, l, w), layout.coordinate(dim, reg, l, w)) << layout.str() << " " << sym::toString(expr);
      }
  }
}

TEST(LayoutExpr, TopmostDigitNeedsNoMod) {
  Layout layout = *Layout::parse("reg = (4 M 1), lane = (16 N 1)(4 M 4)");
  EXPECT_EQ(coordinateExpr(layout, M, 3, lane, wave), 4 * floordiv(lane, 16) + 3);
  EXPECT_EQ(coordinateExpr(layout, N, 3, lane, wave), mod(lane, 16));
  EXPECT_EQ(coordinateExpr(layout, K, 3, lane, wave), Expr(0));
}

TEST(LayoutExpr, FunctionsOfPlans) {
  Random random(32);
  int checked = 0;
  for (int trial = 0; trial < 300; ++trial) {
    Shape shape = randomShape(random);
    ConvertPlan plan = planConvert(randomLayout(random, shape), randomLayout(random, shape));
    for (const ShuffleRound &round : plan.rounds)
      for (const LaneFunction *function : {&round.sourceLane, &round.sendGroup, &round.slot}) {
        Expr expr = laneExpr(*function, lane, wave);
        ++checked;
        for (int64_t w = 0; w < shape.waves; ++w)
          for (int64_t l = 0; l < shape.lanes; ++l)
            ASSERT_EQ(at(expr, l, w), (*function)(l, w)) << sym::toString(expr);
      }
  }
  EXPECT_GT(checked, 300);
  for (int64_t extent : {2, 4, 5, 6, 7, 12})
    for (const LaneStep &step : planReduce(Layout({}, {{2, N, 1}, {extent, M, 1}}), M).lanes)
      for (int64_t l = 0; l < 2 * extent; ++l)
        EXPECT_EQ(at(sourceLaneExpr(step, lane), l, 0), step.sourceLane(l));
}

TEST(LayoutExpr, OffsetsOfSharedMaps) {
  const Dim B("B");
  SharedMap maps[] = {{{{M, 16}, {K, 32}}, 4},
                      {{{B, 3}, {M, 8}, {K, 64}}, 0, {8, 2, 4}},
                      {{{M, 16}, {K, 128}}, 8, {8, 1, 8}, 64},
                      {{{M, 16}, {K, 64}}, 0, {8, 1, 2, 4, 4}},
                      {{{B, 3}, {M, 8}, {K, 32}}, 0, {8, 2, 8}},
                      {{{M, 8}, {K, 32}}, 0, {8, 4, 2, 4, 8}},
                      {{{K, 32}}},
                      {}};
  for (const SharedMap &map : maps) {
    Expr expr = offsetExpr(map, {{M, lane}, {K, wave}, {B, Expr(2)}});
    for (int64_t row = 0; row < 8; ++row)
      for (int64_t column = 0; column < 32; ++column)
        ASSERT_EQ(at(expr, row, column), map.offset({{M, row}, {K, column}, {B, 2}})) << map.str();
  }
}

TEST(LayoutExpr, SwizzledPlaces) {
  Dim B("B");
  // What a swizzled map stores at a place lies, by that map, at the place: where the plain map puts the place itself.
  for (const SharedMap &map :
       {SharedMap{{{M, 8}, {K, 64}}}, SharedMap{{{B, 3}, {M, 8}, {K, 64}}, 0, {8, 2, 4}},
        SharedMap{{{M, 16}, {K, 128}}, 8, {8, 1, 8}, 64}, SharedMap{{{M, 16}, {K, 64}}, 0, {8, 1, 2, 4, 4}},
        SharedMap{{{B, 3}, {M, 8}, {K, 32}}, 0, {8, 2, 8}}, SharedMap{{{M, 8}, {K, 32}}, 0, {8, 4, 2, 4, 8}}}) {
    std::map<Dim, Expr> stored = swizzledExpr(map, {{M, lane}, {K, wave}, {B, Expr(2)}});
    SharedMap plain = map;
    plain.swizzle = {};
    for (int64_t row = 0; row < 8; ++row)
      for (int64_t column = 0; column < map.dims.back().extent; ++column)
        ASSERT_EQ(map.offset({{M, at(stored.at(M), row, column)}, {K, at(stored.at(K), row, column)}, {B, 2}}),
                  plain.offset({{M, row}, {K, column}, {B, 2}}))
            << map.str();
  }
}
