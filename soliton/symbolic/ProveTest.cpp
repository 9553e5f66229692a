//===- ProveTest.cpp - Ranges, divisors, proofs, strides -------------------===//
#include "soliton/symbolic/Expr.h"

#include <gtest/gtest.h>

using namespace soliton::sym;

namespace {
const Expr x = Expr::symbol("x"), y = Expr::symbol("y"), lane = Expr::symbol("$LANE"), wg = Expr::symbol("$WG0"),
           M = Expr::symbol("M");

Facts laneFacts() {
  Facts facts;
  facts.setRange(lane, {0, 63});
  facts.setRange(wg, {0, std::nullopt});
  facts.setRange(M, {1, std::nullopt});
  return facts;
}
} // namespace

TEST(Range, FollowsTheArithmetic) {
  Facts facts = laneFacts();
  EXPECT_EQ(rangeOf(4 * lane + 3, facts), (Range{3, 255}));
  EXPECT_EQ(rangeOf(mod(x, 16), facts), (Range{0, 15}));
  EXPECT_EQ(rangeOf(mod(x, M), facts), (Range{0, std::nullopt}));
  EXPECT_EQ(rangeOf(floordiv(lane, 16) - 2, facts), (Range{-2, 1}));
  EXPECT_EQ(rangeOf(min(x, lane), facts), (Range{std::nullopt, 63}));
  EXPECT_EQ(rangeOf(bitXor(lane, 5), facts), (Range{0, 63}));
  EXPECT_EQ(rangeOf(x * x, facts), (Range{0, std::nullopt}));
  EXPECT_EQ(rangeOf(select(lt(x, y), lane, -1), facts), (Range{-1, 63}));
  EXPECT_EQ(rangeOf(x, facts), Range());
  EXPECT_EQ(rangeOf(lane * Expr(INT64_MAX), facts), (Range{0, std::nullopt}));
}

TEST(Divisor, FollowsTheArithmetic) {
  Facts facts;
  facts.setDivisor(x, 12);
  EXPECT_EQ(divisorOf(x + 8, facts), 4);
  EXPECT_EQ(divisorOf(x * y, facts), 12);
  EXPECT_EQ(divisorOf(floordiv(x, 4), facts), 3);
  EXPECT_EQ(divisorOf(mod(x, 8), facts), 4);
  EXPECT_EQ(divisorOf(bitXor(x, 4), facts), 4);
  EXPECT_EQ(divisorOf(max(x, 18), facts), 6);
  EXPECT_EQ(divisorOf(Expr(0), facts), 0);
  EXPECT_EQ(divisorOf(y, facts), 1);
}

TEST(Prove, UsesAssumptions) {
  Facts facts = laneFacts();
  facts.assume(lt(wg, ceildiv(M, 64)));
  EXPECT_EQ(prove(lt(64 * wg + lane, M), facts), std::nullopt);
  facts.setDivisor(M, 64);
  EXPECT_EQ(prove(lt(64 * wg + lane, M), facts), true);
  EXPECT_EQ(prove(gt(64 * wg, M), facts), false);
  EXPECT_EQ(simplify(lt(64 * wg + lane, M), facts), Expr(1));
  EXPECT_EQ(simplify(min(64 * wg + 64, M), facts), 64 * wg + 64);
}

TEST(Prove, AnswersThreeWays) {
  EXPECT_EQ(prove(eq(floordiv(x, 2) + floordiv(x + 1, 2), x)), true);
  EXPECT_EQ(prove(eq(mod(3 * x, 4) + mod(x, 4), mod(3 * x, 4) + mod(5 * x, 4))), true);
  EXPECT_EQ(prove(eq(2 * x, 2 * y + 1)), false);
  EXPECT_EQ(prove(eq(x, y)), std::nullopt);
  EXPECT_EQ(prove(le(min(x, y), max(x, y))), true);
  EXPECT_EQ(prove(eq(min(x, y) + max(x, y), x + y)), true);
  EXPECT_EQ(prove(logicalOr(lt(x, y), ge(x, y))), true);
  EXPECT_EQ(prove(lt(mod(x, M), M)), std::nullopt); // M may be negative
  EXPECT_EQ(prove(lt(mod(x, M), M), laneFacts()), true);
}

TEST(Prove, OpaquePartsAreTheSameEverywhere) {
  EXPECT_EQ(prove(eq((x + 1) * (y + 1), x * y + x + y + 1)), true);
  EXPECT_EQ(prove(lt(bitXor(x, y), bitXor(y, x) + 1)), true);
  EXPECT_EQ(prove(le(x * y, 4)), std::nullopt);
}

TEST(Prove, ImpossibleFactsProveEverything) {
  Facts facts;
  facts.assume(lt(x + y, 3));
  facts.assume(lt(3, x + y));
  EXPECT_EQ(prove(eq(x, 17), facts), true);
}

TEST(Prove, GivesUpInTimeOnHardQuestions) {
  Expr sum = 0, product = 1;
  for (int i = 0; i < 14; ++i) {
    Expr s = Expr::symbol("s" + std::to_string(i));
    sum += (2 * i + 3) * floordiv((i + 7) * s + x, 3 * i + 11);
    product = product * s;
  }
  EXPECT_EQ(prove(eq(mod(sum, 61), 7)), std::nullopt);
  EXPECT_THROW(simplify(sum / 61 + product / 7), ExprError);
  Expr choices = 0;
  for (int i = 0; i < 3000; ++i)
    choices += min(Expr::symbol("a" + std::to_string(i)), Expr::symbol("b" + std::to_string(i)));
  EXPECT_EQ(prove(lt(choices, 0)), std::nullopt);
}

TEST(Stride, IsProvenNotProbed) {
  Facts facts = laneFacts();
  EXPECT_EQ(strideAlong(4 * lane + floordiv(x, 3), lane, facts), 4);
  EXPECT_EQ(strideAlong(mod(lane, 16), lane, facts), std::nullopt);
  EXPECT_EQ(strideAlong(mod(lane, 64), lane, facts), 1);
  EXPECT_EQ(differenceAlong(floordiv(lane, 16), lane, 16, facts), Expr(1));
  EXPECT_EQ(differenceAlong(M * lane, lane, 2, facts), 2 * M);
  EXPECT_EQ(differenceAlong(mod(lane, 16), lane, 16, facts), Expr(0));
  EXPECT_EQ(differenceAlong(x, lane, 1, facts), Expr(0));
  EXPECT_EQ(differenceAlong(lane * lane, lane, 1, facts), std::nullopt);
  // Equal at 0 and at 64, different between: probing a few points would be fooled.
  Facts wide;
  wide.setRange(x, {0, 127});
  EXPECT_EQ(strideAlong(x + floordiv(x, 97), x, wide), std::nullopt);
}

TEST(Stride, DifferencesStayWithinTheRange) {
  Facts facts;
  facts.setRange(x, {0, 7});
  EXPECT_EQ(strideAlong(mod(x, 8), x, facts), 1);
  EXPECT_EQ(differenceAlong(floordiv(x, 4), x, 4, facts), Expr(1));
  EXPECT_EQ(differenceAlong(x, x, 9, facts), std::nullopt); // no two values are that far apart
  EXPECT_EQ(differenceAlong(max(x, 3), x, -4, facts), std::nullopt);
  facts.setDivisor(x, 4);
  EXPECT_EQ(differenceAlong(x, x, 1, facts), std::nullopt);
  EXPECT_EQ(differenceAlong(floordiv(x, 4), x, 4, facts), Expr(1));
}

TEST(Stride, ContiguousRuns) {
  Facts facts;
  EXPECT_EQ(contiguousRun(mod(x, 16) + 64 * floordiv(x, 16), x, 64, facts), 16);
  EXPECT_EQ(contiguousRun(x + y, x, 8, facts), 8);
  EXPECT_EQ(contiguousRun(4 * mod(x, 16), x, 8, facts), 1);
  EXPECT_EQ(contiguousRun(8 * bitXor(floordiv(x, 8), y) + mod(x, 8), x, 64, facts), 8);
}
