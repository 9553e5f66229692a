//===- SimplifyTest.cpp - Simplification under facts -----------------------===//
#include "soliton/symbolic/Expr.h"

#include <gtest/gtest.h>

using namespace soliton::sym;

namespace {

/// Symbols as address lowering meets them: t in [0, 256), c in [0, 8), lane, wave, ids, 32 | K.
class Simplify : public ::testing::Test {
protected:
  Simplify() {
    facts.setRange(t, {0, 255});
    facts.setRange(c, {0, 7});
    facts.setRange(lane, {0, 63});
    facts.setRange(wg, {0, std::nullopt});
    facts.setRange(K, {1, std::nullopt});
    facts.setDivisor(K, 32);
  }
  /// Simplified text of a text.
  std::string of(const char *text) { return toString(simplify(parse(text), facts)); }

  Expr t = Expr::symbol("t"), c = Expr::symbol("c"), lane = Expr::symbol("lane"), wg = Expr::symbol("wg"),
       K = Expr::symbol("K"), M = Expr::symbol("M"), x = Expr::symbol("x");
  Facts facts;
};

} // namespace

TEST_F(Simplify, PartsWithinABlockLeaveQuotients) {
  EXPECT_EQ(of("floordiv(8*t + c, 32)"), "floordiv(t, 4)");
  EXPECT_EQ(of("mod(8*t + c, 32)"), "c + 8*mod(t, 4)");
  EXPECT_EQ(of("floordiv(64*wg + lane, 64)"), "wg");
  EXPECT_EQ(of("mod(64*wg + lane, 64)"), "lane");
  EXPECT_EQ(of("floordiv(t, 256)"), "0");
  EXPECT_EQ(of("mod(t + 512, 256)"), "t");
  EXPECT_EQ(of("floordiv(lane - 64, 64)"), "-1");
  EXPECT_EQ(of("mod(floordiv(lane, 16), 4)"), "floordiv(lane, 16)");
  EXPECT_EQ(of("mod(mod(x, 12), 16)"), "mod(x, 12)");
}

TEST_F(Simplify, DigitsJoin) {
  EXPECT_EQ(of("x - 4*floordiv(x, 4)"), "mod(x, 4)");
  EXPECT_EQ(of("mod(x, 4) - x"), "-4*floordiv(x, 4)");
  EXPECT_EQ(of("32*floordiv(x, 32) + mod(x, 32)"), "x");
  EXPECT_EQ(of("16*mod(floordiv(x, 16), 4) + mod(x, 16)"), "mod(x, 64)");
  EXPECT_EQ(of("floordiv(x, 4) - 4*floordiv(x, 16)"), "mod(floordiv(x, 4), 4)");
  EXPECT_EQ(of("64*floordiv(x, 64) + 16*mod(floordiv(x, 16), 4) + mod(x, 16) + 7"), "x + 7");
  EXPECT_EQ(of("32*floordiv(8*t + c, 32) + mod(8*t + c, 32)"), "c + 8*t");
  EXPECT_EQ(of("5*x - 4*floordiv(x, 4)"), "4*x + mod(x, 4)");
}

TEST_F(Simplify, DivisibilityIsUsed) {
  EXPECT_EQ(of("K/32"), "floordiv(K, 32)");
  EXPECT_EQ(of("2*floordiv(K, 2)"), "K");
  EXPECT_EQ(of("mod(K + x, 32)"), "mod(x, 32)");
  EXPECT_EQ(of("ceildiv(K, 32)"), "floordiv(K, 32)");
  EXPECT_EQ(of("floordiv(K + x, 16)"), "floordiv(K, 16) + floordiv(x, 16)");
  EXPECT_EQ(of("mod(K, 8) == 0"), "1");
  EXPECT_EQ(of("x/2 + (x + 2)/2"), "x + 1");
  EXPECT_THROW(of("M/2"), ExprError);
  EXPECT_THROW(of("K/64"), ExprError);
}

TEST_F(Simplify, SymbolicDivisors) {
  Expr H = Expr::symbol("H"), W = Expr::symbol("W"), h = Expr::symbol("h"), w = Expr::symbol("w");
  facts.setRange(H, {1, std::nullopt});
  facts.setRange(W, {1, std::nullopt});
  facts.setRange(h, {0, std::nullopt});
  facts.setRange(w, {0, std::nullopt});
  facts.assume(lt(w, W));
  facts.assume(lt(h, H));
  EXPECT_EQ(of("floordiv(x*H*W + h*W + w, W)"), "h + H*x");
  EXPECT_EQ(of("mod(x*H*W + h*W + w, W)"), "w");
  EXPECT_EQ(of("floordiv(x*H*W + h*W + w, H*W)"), "x");
  EXPECT_EQ(of("mod(x*H*W + h*W + w, H*W)"), "w + W*h");
  EXPECT_EQ(of("floordiv(lane, K + 64)"), "0");
}

TEST_F(Simplify, ComparisonsAndExtrema) {
  EXPECT_EQ(of("lane < 64"), "1");
  EXPECT_EQ(of("t < -1"), "0");
  EXPECT_EQ(of("64*wg + lane < 64*M"), "wg < M");
  EXPECT_EQ(of("8*t + c <= 8*x + 7"), "t <= x");
  EXPECT_EQ(of("2*x + 1 == 4*wg"), "0");
  EXPECT_EQ(of("min(lane, 64) + max(lane, -1)"), "2*lane");
  EXPECT_EQ(of("min(x + lane, x + 70)"), "lane + x");
  EXPECT_EQ(of("select(lane < 64, x, M)"), "x");
  EXPECT_EQ(of("x < 4 && x < 8"), "x < 4");
  EXPECT_EQ(of("x < 4 || x < 8"), "x < 8");
}

TEST_F(Simplify, BranchesKnowTheirCondition) {
  EXPECT_EQ(of("select(lane < 16, mod(lane, 16), 0)"), "select(lane < 16, lane, 0)");
  EXPECT_EQ(of("select(lane < 16, 0, max(lane, 16))"), "select(lane < 16, 0, lane)");
  EXPECT_EQ(of("select(mod(M, 2) == 0, M/2, 0)"), "select(mod(M, 2) == 0, floordiv(M, 2), 0)");
}

TEST_F(Simplify, BitsThatDoNotOverlapAdd) {
  EXPECT_EQ(of("xor(8*t, c)"), "c + 8*t");
  EXPECT_EQ(of("xor(8*t, 8*x)"), "8*xor(t, x)");
  EXPECT_EQ(of("xor(mod(t, 8), floordiv(c, 8))"), "mod(t, 8)");
}

TEST_F(Simplify, ProductsMultiplyOutWhereThatShortens) {
  EXPECT_EQ(of("(x + 1)*M - x*M - M"), "0");
  EXPECT_EQ(of("(x + 1)*(M + 1)"), "(M + 1)*(x + 1)");
}

TEST_F(Simplify, OverflowOnTheWayLeavesTheExpressionAlone) {
  Expr big = parse("floordiv(floordiv(x, 4611686018427387904) + M, 4)");
  EXPECT_EQ(simplify(big, facts), big);
}

TEST_F(Simplify, WorkedExampleOfAGemm) { // copies: off = 8*(T0 + 128*T1), row = off // 32 % 64, col = off % 32
  Expr t0 = Expr::symbol("T0"), t1 = Expr::symbol("T1");
  facts.setRange(t0, {0, 127});
  facts.setRange(t1, {0, 1});
  EXPECT_EQ(of("mod(floordiv(8*(T0 + 128*T1), 32), 64)"), "32*T1 + floordiv(T0, 4)");
  EXPECT_EQ(of("mod(8*(T0 + 128*T1), 32)"), "8*mod(T0, 4)");
  EXPECT_EQ(of("4*floordiv(mod(T0, 64), 16)"), "4*mod(floordiv(T0, 16), 4)");
}

TEST(Facts, CombineAndCheckTheirArguments) {
  Expr x = Expr::symbol("x"), y = Expr::symbol("y");
  Facts facts;
  EXPECT_EQ(facts.version(), 0u);
  facts.setRange(x, {0, 100});
  facts.setRange(x, {-5, 63});
  EXPECT_EQ(facts.rangeOf(x), (Range{0, 63}));
  facts.setDivisor(x, 4);
  facts.setDivisor(x, 6);
  EXPECT_EQ(divisorOf(x, facts), 12);
  EXPECT_EQ(rangeOf(x, facts), (Range{0, 60}));
  facts.assume(logicalAnd(ge(x, 3), lt(y, 9)));
  EXPECT_EQ(rangeOf(x, facts).lo, 12);
  EXPECT_EQ(rangeOf(y, facts), (Range{std::nullopt, 8}));
  facts.assume(eq(mod(y, 4), 3));
  EXPECT_EQ(simplify(mod(y + 1, 4), facts), Expr(0));
  EXPECT_THROW(facts.setRange(x + 1, {0, 1}), ExprError);
  EXPECT_THROW(facts.setDivisor(x, 0), ExprError);
}
