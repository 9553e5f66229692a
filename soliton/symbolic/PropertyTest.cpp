//===- PropertyTest.cpp - Random expressions against unbounded integers ----===//
//
// Every operation must agree with the meaning of the tree it was built from: construction, simplification, ranges,
// divisors, substitution, text. SOLITON_SEED changes the random numbers.
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/RandomExpr.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace soliton::sym;
using namespace soliton::sym::testing;

namespace {

uint64_t seed() {
  const char *text = std::getenv("SOLITON_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

/// Random facts and points that satisfy them.
struct World {
  Facts facts;
  std::vector<int64_t> lo, hi, divisor;

  World(Random &random, int symbols) {
    for (int i = 0; i < symbols; ++i) {
      int kind = static_cast<int>(random.between(0, 3));
      lo.push_back(kind == 0 ? -40 : kind == 1 ? random.between(-9, 3) : 0);
      hi.push_back(
          kind == 0 ? 40 : lo.back() + (random.chance(50) ? (1 << random.between(0, 7)) - 1 : random.between(0, 70)));
      divisor.push_back(random.chance(25) ? 1 << random.between(1, 4) : 1);
      if (kind == 0)
        facts.setRange(symbolOf(i), {});
      else if (kind == 3 && random.chance(30))
        facts.setRange(symbolOf(i), {lo.back(), std::nullopt});
      else
        facts.setRange(symbolOf(i), {lo.back(), hi.back()});
      if (divisor.back() > 1)
        facts.setDivisor(symbolOf(i), divisor.back());
    }
  }

  /// Nothing if the facts allow no value of some symbol.
  std::optional<std::vector<int64_t>> point(Random &random) const {
    std::vector<int64_t> out;
    for (size_t i = 0; i < lo.size(); ++i) {
      int64_t first = lo[i] + ((-lo[i]) % divisor[i] + divisor[i]) % divisor[i];
      if (first > hi[i])
        return std::nullopt;
      out.push_back(first + random.between(0, (hi[i] - first) / divisor[i]) * divisor[i]);
    }
    return out;
  }
};

Environment environmentOf(std::span<const int64_t> values) {
  Environment out;
  for (size_t i = 0; i < values.size(); ++i)
    out.set(symbolOf(static_cast<int64_t>(i)), values[i]);
  return out;
}

/// The value, or nothing on an error of that kind.
std::optional<int64_t> valueUnlessOverflow(Expr e, const Environment &environment) {
  try {
    return evaluate(e, environment);
  } catch (const ExprError &error) {
    if (error.kind() == ErrorKind::overflow)
      return std::nullopt;
    throw;
  }
}

struct Counters {
  size_t points = 0, undefined = 0, overflows = 0;
};

std::string describe(const Tree &tree, Expr e, Expr simplified, std::span<const int64_t> values) {
  std::string out =
      soliton::sym::testing::toString(tree) + "  =>  " + toString(e) + "  ->  " + toString(simplified) + "  at";
  for (int64_t v : values)
    out += " " + std::to_string(v);
  return out;
}

void checkPoint(const Tree &tree, Expr e, Expr simplified, const World &world, std::span<const int64_t> values,
                Counters &counters) {
  std::optional<mpz_class> expected = meaning(tree, values);
  if (!expected) {
    ++counters.undefined;
    return;
  }
  ++counters.points;
  Environment environment = environmentOf(values);
  for (Expr form : {e, simplified}) {
    std::optional<int64_t> value = valueUnlessOverflow(form, environment);
    if (!value) {
      ++counters.overflows;
      continue;
    }
    ASSERT_EQ(mpz_class(static_cast<long>(*value)), *expected) << describe(tree, e, simplified, values);
    Range range = rangeOf(form, world.facts);
    ASSERT_TRUE(range.contains(*value)) << describe(tree, e, simplified, values) << " leaves its range";
    int64_t divisor = divisorOf(form, world.facts);
    ASSERT_TRUE(divisor == 0 ? *value == 0 : *value % divisor == 0)
        << describe(tree, e, simplified, values) << " is no multiple of " << divisor;
  }
}

void checkForms(Expr e, Expr simplified, const Facts &facts) {
  ASSERT_EQ(simplify(simplified, facts), simplified)
      << toString(e) << "  ->  " << toString(simplified) << "  ->  " << toString(simplify(simplified, facts));
  ASSERT_EQ(parse(toString(e)), e) << toString(e);
  ASSERT_EQ(parse(toString(simplified)), simplified) << toString(simplified);
}

void run(Shape shape, uint64_t salt, int count, int depth, int points, Counters &counters) {
  Random random(seed() * 1000 + salt);
  for (int i = 0; i < count; ++i) {
    World world(random, shape.symbols);
    Generator generator(random, shape);
    TreePtr tree = random.chance(20) ? generator.predicate(depth) : generator.number(depth);
    Expr e, simplified;
    try {
      e = soliton::sym::testing::build(*tree);
      simplified = simplify(e, world.facts);
    } catch (const ExprError &error) {
      ASSERT_NE(error.kind(), ErrorKind::syntax);
      continue; // a literal zero divisor, an overflow or an unproven exact division
    }
    checkForms(e, simplified, world.facts);
    for (int p = 0; p < points && !::testing::Test::HasFatalFailure(); ++p)
      if (std::optional<std::vector<int64_t>> values = world.point(random))
        checkPoint(*tree, e, simplified, world, *values, counters);
    if (::testing::Test::HasFatalFailure())
      return;
    if (i % 64 == 0)
      clearCaches();
  }
}

} // namespace

TEST(Property, GeneralExpressions) {
  Counters counters;
  run({.exactDivs = true}, 1, 9000, 4, 10, counters);
  EXPECT_GT(counters.points, 50000u);
  EXPECT_LT(counters.overflows * 50, counters.points);
}

TEST(Property, QuasiAffineExpressions) {
  Counters counters;
  run({.linear = true, .logic = false, .bits = false, .largest = 64}, 2, 9000, 5, 10, counters);
  EXPECT_GT(counters.points, 60000u);
  EXPECT_EQ(counters.undefined, 0u);
}

TEST(Property, DeepExpressions) {
  Counters counters;
  run({.symbols = 3, .largest = 40}, 3, 1500, 7, 6, counters);
  EXPECT_GT(counters.points, 4000u);
}

TEST(Property, SubstitutionCommutesWithEvaluation) {
  Random random(seed() * 1000 + 4);
  size_t checked = 0;
  for (int i = 0; i < 3000; ++i) {
    Shape shape{.symbols = 3};
    Generator generator(random, shape);
    TreePtr tree = generator.number(3), first = generator.number(2), second = generator.number(2);
    std::vector<int64_t> values = {random.between(-20, 20), random.between(-20, 20), random.between(-20, 20)};
    std::optional<mpz_class> a = meaning(*first, values), b = meaning(*second, values);
    if (!a || !b || !a->fits_slong_p() || !b->fits_slong_p() || abs(*a) > 1000000 || abs(*b) > 1000000)
      continue;
    try {
      Expr e = soliton::sym::testing::build(*tree);
      Expr replaced = substitute(e, {{symbolOf(0), soliton::sym::testing::build(*first)},
                                     {symbolOf(1), soliton::sym::testing::build(*second)}});
      std::vector<int64_t> inner = {a->get_si(), b->get_si(), values[2]};
      std::optional<mpz_class> expected = meaning(*tree, inner);
      if (!expected)
        continue;
      std::optional<int64_t> value = valueUnlessOverflow(replaced, environmentOf(values));
      if (!value)
        continue;
      ASSERT_EQ(mpz_class(static_cast<long>(*value)), *expected) << toString(e) << "  =>  " << toString(replaced);
      ++checked;
    } catch (const ExprError &error) {
      ASSERT_NE(error.kind(), ErrorKind::unboundSymbol);
    }
  }
  EXPECT_GT(checked, 1500u);
}
