//===- ExprTest.cpp - Construction, structure, evaluation ------------------===//
#include "soliton/symbolic/Expr.h"

#include <gtest/gtest.h>
#include <thread>
#include <type_traits>

using namespace soliton::sym;

namespace {

const Expr x = Expr::symbol("x"), y = Expr::symbol("y"), n = Expr::symbol("n");

ErrorKind errorOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const ExprError &error) {
    EXPECT_STRNE(error.what(), "");
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::syntax;
}

} // namespace

TEST(Expr, IsASmallHandleToASharedNode) {
  static_assert(sizeof(Expr) == 8 && std::is_trivially_copyable_v<Expr>);
  EXPECT_EQ(Expr(), Expr(0));
  EXPECT_EQ(x + 2 * y, y + x + y);
  EXPECT_NE(x + y, x - y);
  EXPECT_EQ((x + y).hash(), (y + x).hash());
  EXPECT_EQ(Expr::symbol("x"), x);
  EXPECT_EQ(x.symbolName(), "x");
  EXPECT_EQ(Expr(7).constantValue(), 7);
  EXPECT_EQ(x.constantValue(), std::nullopt);
  EXPECT_EQ(Expr(uint8_t(200)), Expr(200));
}

TEST(Expr, MistakesAreThrownOrCollected) {
  EXPECT_EQ(errorOf([] { floordiv(x, 0); }), ErrorKind::divisionByZero);
  EXPECT_FALSE(collectMistakes(true));
  Expr zero = floordiv(x, 0), big = x * INT64_MAX * 2, shift = shl(y, -1), constant(UINT64_MAX);
  Expr after[] = {zero + 1, 0 * zero, zero - zero, mod(y, zero), zero < y, select(zero, x, y), min(x, zero), -zero};
  EXPECT_TRUE(floordiv(x, 2).isDefined());
  EXPECT_TRUE(collectMistakes(false));
  for (Expr e : after) {
    EXPECT_EQ(e, zero);
    EXPECT_EQ(toString(e), "floordiv(x, 0)");
  }
  EXPECT_EQ(toString(constant), "18446744073709551615");
  for (Expr e : {zero, big, shift, constant}) {
    EXPECT_FALSE(e.isDefined() || e.isSymbol() || e.isConstant());
    EXPECT_TRUE(symbolsOf(e).empty());
    ErrorKind kind = e == zero ? ErrorKind::divisionByZero : e == shift ? ErrorKind::badShift : ErrorKind::overflow;
    Facts facts;
    const std::function<void()> uses[] = {[=] { requireDefined(e); },
                                          [=] { e + 1; },
                                          [=] { simplify(e); },
                                          [=] { substitute(e, {{x, 1}}); },
                                          [=] { evaluate(e); },
                                          [=] { rangeOf(e); },
                                          [=] { divisorOf(e); },
                                          [=] { prove(e); },
                                          [=] { affineTerms(e); },
                                          [&] { facts.assume(e); },
                                          [=] { splitBy(e, {}); },
                                          [=] { substitute(x + 1, {{x, e}}); },
                                          [=] { contiguousRun(e, x, 4, {}); }};
    for (const std::function<void()> &use : uses)
      EXPECT_EQ(errorOf(use), kind);
  }
}

TEST(Expr, WhatComputesWithExpressionsThrowsWhileMistakesAreCollected) {
  Expr quotient = floordiv(x, y);
  collectMistakes(true);
  EXPECT_EQ(errorOf([&] { substitute(quotient, {{y, 0}}); }), ErrorKind::divisionByZero);
  EXPECT_EQ(errorOf([] { parse("1 // 0"); }), ErrorKind::divisionByZero);
  EXPECT_TRUE(collectMistakes(false));
}

TEST(Expr, SumsAndProductsAreCanonical) {
  EXPECT_EQ(toString(y * 3 + 5 + x - y), "x + 2*y + 5");
  EXPECT_EQ(x - x, Expr(0));
  EXPECT_EQ(2 * (x + y), 2 * x + 2 * y);
  EXPECT_EQ((2 * x + 2) * y, 2 * ((x + 1) * y));
  EXPECT_EQ((1 - x) * y, -((x - 1) * y));
  EXPECT_EQ(x * y * 0, Expr(0));
  EXPECT_EQ(pow(x, 3), x * x * x);
  EXPECT_EQ(pow(x, 0), Expr(1));
  EXPECT_EQ((x * y).kind(), Kind::mul);
  EXPECT_EQ((x + 1).operands().size(), 2u);
  EXPECT_EQ((x + 1).operands().back(), Expr(1));
}

TEST(Expr, LiteralDivisionsAreReduced) {
  EXPECT_EQ(floordiv(8 * x + y + 37, 8), x + 4 + floordiv(y + 5, 8));
  EXPECT_EQ(floordiv(8 * x + 5, 32), floordiv(x, 4));
  EXPECT_EQ(mod(8 * x + 5, 32), 8 * mod(x, 4) + 5);
  EXPECT_EQ(floordiv(floordiv(x, 3), 5), floordiv(x, 15));
  EXPECT_EQ(floordiv(floordiv(x, 4) + 1, 8), floordiv(x + 4, 32));
  EXPECT_EQ(floordiv(mod(x, 64), 16), mod(floordiv(x, 16), 4));
  EXPECT_EQ(mod(mod(x, 64) + y, 16), mod(x + y, 16));
  EXPECT_EQ(mod(x + 40 * y, 32), mod(x + 8 * y, 32));
  EXPECT_EQ(floordiv(x + 31, 32), ceildiv(x, 32));
  EXPECT_EQ(floordiv(x, -4), floordiv(-x, 4));
  EXPECT_EQ(mod(x, -4), -mod(-x, 4));
  EXPECT_EQ(mod(x, 1), Expr(0));
}

TEST(Expr, SymbolicDivisionsAreReduced) {
  EXPECT_EQ(floordiv(x * n + y, n), x + floordiv(y, n));
  EXPECT_EQ(mod(x * n + y, n), mod(y, n));
  EXPECT_EQ(floordiv(x * n, y * n), floordiv(x, y));
  EXPECT_EQ(mod(4 * x, 4 * n), 4 * mod(x, n));
  EXPECT_EQ(floordiv(2 * (x + y), x + y), Expr(2));
  EXPECT_EQ(mod(n, n), Expr(0));
}

TEST(Expr, ExactDivisionIsRationalUntilItVanishes) {
  EXPECT_EQ((6 * x + 4) / 2, 3 * x + 2);
  EXPECT_EQ(x / 2 + x / 2, x);
  EXPECT_EQ((x / 2) * 4, 2 * x);
  EXPECT_EQ((x * n) / n, x);
  EXPECT_EQ((x / 2).kind(), Kind::exactDiv);
  EXPECT_EQ(floor(x / 2), floordiv(x, 2));
  EXPECT_EQ(ceil(x / 2), ceildiv(x, 2));
  EXPECT_EQ(floor(x / 2 + y / 3), floordiv(3 * x + 2 * y, 6));
  EXPECT_EQ(floor(x / n + 1), floordiv(x, n) + 1);
  EXPECT_EQ(floordiv(x / 2, 3), floordiv(x, 6));
}

TEST(Expr, ComparisonsAreCanonical) {
  EXPECT_EQ(lt(x, y), gt(y, x));
  EXPECT_EQ(le(x + 1, y), lt(x, y));
  EXPECT_EQ(lt(2 * x, 2 * y), lt(x, y));
  EXPECT_EQ(lt(4 * x, 7), lt(x, 2));
  EXPECT_EQ(eq(2 * x, 3), Expr(0));
  EXPECT_EQ(eq(x, y), eq(y, x));
  EXPECT_EQ(logicalNot(lt(x, y)), le(y, x));
  EXPECT_EQ(logicalAnd(lt(x, y), le(y, x)), Expr(0));
  EXPECT_EQ(logicalOr(lt(x, y), le(y, x)), Expr(1));
  EXPECT_EQ(logicalAnd(x, 1), ne(x, 0));
  EXPECT_EQ(logicalNot(logicalNot(logicalAnd(lt(x, 3), lt(y, 3)))), logicalAnd(lt(y, 3), lt(x, 3)));
  EXPECT_EQ(eq(lt(x, y), 1), lt(x, y));
}

TEST(Expr, MinMaxSelectAndBits) {
  EXPECT_EQ(min(x, x + 3), x);
  EXPECT_EQ(max(max(x, y), 3), max(3, max(y, x)));
  EXPECT_EQ(select(1, x, y), x);
  EXPECT_EQ(select(lt(x, y), x, x), x);
  EXPECT_EQ(select(ne(x, y), x, y), select(eq(x, y), y, x));
  EXPECT_EQ(select(lt(x, y), 1, 0), lt(x, y));
  const std::pair<Expr, Expr> cases[] = {{lt(x, 1), 10}, {lt(x, 2), 20}};
  EXPECT_EQ(piecewise(cases, 30), select(lt(x, 1), 10, select(lt(x, 2), 20, 30)));
  EXPECT_EQ(bitXor(x, bitXor(y, x)), y);
  EXPECT_EQ(bitXor(bitXor(x, 5), 3), bitXor(x, 6));
  EXPECT_EQ(bitXor(x, -1), -x - 1);
  EXPECT_EQ(shl(x, 3), 8 * x);
  EXPECT_EQ(shr(x, 3), floordiv(x, 8));
}

TEST(Expr, ErrorsHaveAKind) {
  EXPECT_EQ(errorOf([] { (void)(Expr(INT64_MAX) * x + x); }), ErrorKind::overflow);
  EXPECT_EQ(errorOf([] { (void)(Expr(INT64_MAX) + 1); }), ErrorKind::overflow);
  EXPECT_EQ(errorOf([] { Expr e(UINT64_MAX); }), ErrorKind::overflow);
  EXPECT_EQ(errorOf([] { floordiv(x, 0); }), ErrorKind::divisionByZero);
  EXPECT_EQ(errorOf([] { mod(x, y - y); }), ErrorKind::divisionByZero);
  EXPECT_EQ(errorOf([] { simplify(x / 2); }), ErrorKind::inexactDivision);
  EXPECT_EQ(errorOf([] { shl(x, -1); }), ErrorKind::badShift);
  EXPECT_EQ(errorOf([] { pow(x, -1); }), ErrorKind::badArgument);
  EXPECT_EQ(errorOf([] { Expr::symbol(""); }), ErrorKind::badArgument);
  EXPECT_EQ(errorOf([] { Substitution{{x + 1, y}}; }), ErrorKind::badArgument);
  EXPECT_EQ(errorOf([] { build(Kind::select, std::initializer_list<Expr>{x, y}); }), ErrorKind::badArgument);
  Expr deep = x;
  EXPECT_EQ(errorOf([&] {
              for (int i = 0; i < 100000; ++i)
                deep = bitXor(deep * y, i + 1);
            }),
            ErrorKind::tooLarge);
}

TEST(Expr, EvaluatesEveryKindForEverySign) {
  for (int64_t a = -9; a <= 9; ++a) {
    for (int64_t b : {-4, -3, -1, 1, 3, 4}) {
      Environment at{{x, a}, {y, b}};
      int64_t rest = ((a % b) + b) % b, floor = (a - rest) / b;
      EXPECT_EQ(evaluate(floordiv(x, y), at), floor);
      EXPECT_EQ(evaluate(mod(x, y), at), rest);
      EXPECT_EQ(evaluate(ceildiv(x, y), at), floor + (rest != 0));
      EXPECT_EQ(evaluate(bitXor(x, y), at), a ^ b);
      EXPECT_EQ(evaluate(min(x, y), at), std::min(a, b));
      EXPECT_EQ(evaluate(select(lt(x, y), 1, 2), at), a < b ? 1 : 2);
    }
  }
  EXPECT_EQ(evaluate(shl(x, y), {{x, -3}, {y, 2}}), -12);
  EXPECT_EQ(evaluate(shr(x, y), {{x, -3}, {y, 70}}), -1);
}

TEST(Expr, EvaluationReportsWhatIsUndefined) {
  EXPECT_EQ(errorOf([] { evaluate(x, {}); }), ErrorKind::unboundSymbol);
  EXPECT_EQ(errorOf([] { evaluate(mod(x, y), {{x, 1}, {y, 0}}); }), ErrorKind::divisionByZero);
  EXPECT_EQ(errorOf([] { evaluate(x / y, {{x, 1}, {y, 2}}); }), ErrorKind::inexactDivision);
  EXPECT_EQ(errorOf([] { evaluate(shl(x, y), {{x, 1}, {y, -2}}); }), ErrorKind::badShift);
  EXPECT_EQ(errorOf([] { evaluate(x * x, {{x, INT64_MAX}}); }), ErrorKind::overflow);
  EXPECT_EQ(evaluate(x + y - x, {{x, INT64_MAX}, {y, 3}}), 3);
  EXPECT_EQ(evaluate(select(ne(y, 0), floordiv(x, y), -1), {{x, 1}, {y, 0}}), -1);
  EXPECT_EQ(evaluate(logicalAnd(ne(y, 0), lt(floordiv(x, y), 5)), {{x, 1}, {y, 0}}), 0);
}

TEST(Expr, SubstitutesSimultaneously) {
  EXPECT_EQ(substitute(x + 2 * y, {{x, y}, {y, x}}), y + 2 * x);
  EXPECT_EQ(substitute(floordiv(x, n), {{n, 16}, {x, 32 * y + 3}}), 2 * y);
  EXPECT_EQ(substitute(select(ne(n, 0), floordiv(x, n), 7), {{n, 0}}), Expr(7));
  EXPECT_EQ(substitute(x, {}), x);
}

TEST(Expr, StructureQueries) {
  Expr e = 4 * x + floordiv(y, 8) - 3;
  EXPECT_EQ(symbolsOf(e), (std::vector<Expr>{x, y}));
  EXPECT_TRUE(contains(e, y));
  EXPECT_FALSE(contains(e, n));
  EXPECT_EQ(nodeCount(x * x + x), 3u);
  AffineTerms terms = affineTerms(e);
  ASSERT_EQ(terms.terms.size(), 2u);
  EXPECT_EQ(terms.constant, -3);
  EXPECT_EQ(terms.terms[0].coefficient, 4);
  EXPECT_EQ(terms.terms[1].atom, floordiv(y, 8));
  EXPECT_EQ(fromAffineTerms(terms), e);
}

TEST(Expr, SplitsUniformFromLaneDependent) {
  Expr lane = Expr::symbol("$LANE"), wg = Expr::symbol("$WG0");
  const Expr lanes[] = {lane};
  Split split = splitBy(64 * wg + mod(lane, 16) + 5, lanes);
  EXPECT_EQ(split.with, mod(lane, 16));
  EXPECT_EQ(split.without, 64 * wg + 5);
  split = splitBy((64 * wg + lane) * n + x, lanes); // products of sums are multiplied out
  EXPECT_EQ(split.with, lane * n);
  EXPECT_EQ(split.without, 64 * wg * n + x);
}

TEST(Expr, ThreadsShareNodes) {
  std::vector<std::vector<Expr>> found(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        Expr s = Expr::symbol("thread" + std::to_string(i % 500));
        found[t].push_back(simplify(floordiv(8 * s + i, 32) + mod(x * s, 7)));
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<Expr> &other : found)
    EXPECT_TRUE(std::equal(other.begin(), other.end(), found[0].begin()));
}
