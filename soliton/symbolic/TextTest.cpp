//===- TextTest.cpp - Printing and parsing ---------------------------------===//
#include "soliton/symbolic/Expr.h"

#include <gtest/gtest.h>

using namespace soliton::sym;

namespace {

const Expr x = Expr::symbol("x"), y = Expr::symbol("y");

struct Refusal {
  ErrorKind kind;
  size_t column;
  bool operator==(const Refusal &) const = default;
};

Refusal refusalOf(const std::string &text) {
  try {
    Expr e = parse(text);
    ADD_FAILURE() << text << " was read as " << toString(e);
  } catch (const ExprError &error) {
    return {error.kind(), error.column()};
  }
  return {ErrorKind::overflow, 0};
}

} // namespace

TEST(Text, PrintsForReaders) {
  Expr wg = Expr::symbol("$WG0"), wave = Expr::symbol("$WAVE"), lane = Expr::symbol("$LANE");
  EXPECT_EQ(toString(wg * 64 + 32 * floordiv(wave, 2) + mod(lane, 16) + 3),
            "64*$WG0 + 32*floordiv($WAVE, 2) + mod($LANE, 16) + 3");
  EXPECT_EQ(toString(-x - 3 * y - 1), "-x - 3*y - 1");
  EXPECT_EQ(toString((x + 1) * y), "y*(x + 1)");
  EXPECT_EQ(toString(select(lt(x, y), x, -y)), "select(x < y, x, -y)");
  EXPECT_EQ(toString(logicalAnd(logicalOr(lt(x, 2), lt(y, 2)), ne(x, y))), "x != y && (x < 2 || y < 2)");
  EXPECT_EQ(toString(3 * (x / 2)), "3*(x/2)");
  EXPECT_EQ(toString(bitXor(x, 5)), "xor(5, x)");
  EXPECT_EQ(toString(Expr::symbol("odd `name`")), "`odd \\`name\\``");
}

TEST(Text, ReadsWhatItPrints) {
  for (const char *text :
       {"64*$WG0 + mod($LANE, 16)", "floordiv(3*x + 2*y, 6)", "-x", "x*x*x", "-9223372036854775808 + x", "3*(x/2)",
        "x + -9223372036854775808*y", "`a b`*`true`", "select(x < y || x == 3, min(x, y, 3), max(x, y))", "x/y",
        "!(x < 4 && y < 3)", "(x < y) + (x == y)", "shl(x, y) + shr(x, y)", "mod(x, y)*(x + y)*(x - y)"}) {
    Expr e = parse(text);
    EXPECT_EQ(parse(toString(e)), e) << text;
  }
}

TEST(Text, ReadsOperators) {
  EXPECT_EQ(parse("x // 4 + x % 4"), floordiv(x, 4) + mod(x, 4));
  EXPECT_EQ(parse("-x ** 2"), -(x * x));
  EXPECT_EQ(parse("x - y - 1"), x - y - 1);
  EXPECT_EQ(parse("x * y // 4 * 4"), floordiv(x * y, 4) * 4);
  EXPECT_EQ(parse("x << 2 >> 1"), 2 * x);
  EXPECT_EQ(parse("x ^ 3 < y"), lt(bitXor(x, 3), y));
  EXPECT_EQ(parse("floor(x/2) + ceiling(y/3)"), floordiv(x, 2) + ceildiv(y, 3));
  EXPECT_EQ(parse("!x && true"), eq(x, 0));
  EXPECT_EQ(parse("pow(x, 2) >= 1 || false"), ge(x * x, 1));
  EXPECT_EQ(parse("min"), Expr::symbol("min"));
}

TEST(Text, RefusesWithTheColumn) {
  EXPECT_EQ(refusalOf(""), (Refusal{ErrorKind::syntax, 1}));
  EXPECT_EQ(refusalOf("x + "), (Refusal{ErrorKind::syntax, 5}));
  EXPECT_EQ(refusalOf("x y"), (Refusal{ErrorKind::syntax, 3}));
  EXPECT_EQ(refusalOf("(x"), (Refusal{ErrorKind::syntax, 3}));
  EXPECT_EQ(refusalOf("f(x)"), (Refusal{ErrorKind::syntax, 1}));
  EXPECT_EQ(refusalOf("mod(x)"), (Refusal{ErrorKind::syntax, 1}));
  EXPECT_EQ(refusalOf("x ** y"), (Refusal{ErrorKind::syntax, 6}));
  EXPECT_EQ(refusalOf("`x"), (Refusal{ErrorKind::syntax, 3}));
  EXPECT_EQ(refusalOf("x < y < 3").kind, ErrorKind::syntax);
  EXPECT_EQ(refusalOf("99999999999999999999").kind, ErrorKind::overflow);
  EXPECT_EQ(refusalOf("x // 0").kind, ErrorKind::divisionByZero);
  EXPECT_EQ(refusalOf("x << 80").kind, ErrorKind::badShift);
  EXPECT_EQ(refusalOf(std::string(100000, '(')).kind, ErrorKind::tooLarge);
  EXPECT_EQ(refusalOf(std::string(100000, '-') + "x").kind, ErrorKind::tooLarge);
  EXPECT_EQ(refusalOf(std::string(1 << 19, ' ')).kind, ErrorKind::tooLarge);
}

TEST(Text, LongSumsAreReadQuickly) {
  std::string text = "x0";
  for (int i = 1; i < 12000; ++i)
    text += " + x" + std::to_string(i);
  EXPECT_EQ(parse(text).operands().size(), 12000u);
}
