//===- OracleTest.cpp - Proofs against Z3 on the quasi-affine part ---------===//
//
// Random predicates over sums, literal products, literal quotients and remainders, min, max, select and connectives,
// with random ranges and divisors: `prove` must answer exactly what Z3 answers - holds always, never, or neither.
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/RandomExpr.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <z3++.h>

using namespace soliton::sym;
using namespace soliton::sym::testing;

namespace {

uint64_t seed() {
  const char *text = std::getenv("SOLITON_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

z3::expr symbolInZ3(z3::context &context, int64_t number) {
  return context.int_const(("s" + std::to_string(number)).c_str());
}

z3::expr predicateInZ3(z3::context &context, const Tree &tree);

/// The number a tree means; divisors are positive literals, so that Z3's division is floor division.
z3::expr numberInZ3(z3::context &context, const Tree &tree) {
  if (tree.kind == Kind::constant)
    return context.int_val(tree.value);
  if (tree.kind == Kind::symbol)
    return symbolInZ3(context, tree.value);
  if (tree.kind == Kind::select)
    return z3::ite(predicateInZ3(context, *tree.operands[0]), numberInZ3(context, *tree.operands[1]),
                   numberInZ3(context, *tree.operands[2]));
  z3::expr a = numberInZ3(context, *tree.operands[0]), b = numberInZ3(context, *tree.operands[1]);
  switch (tree.kind) {
  case Kind::add:
    return a + b;
  case Kind::mul:
    return a * b;
  case Kind::floordiv:
    return a / b;
  case Kind::ceildiv:
    return -((-a) / b);
  case Kind::mod:
    return z3::mod(a, b);
  case Kind::min:
    return z3::ite(a < b, a, b);
  case Kind::max:
    return z3::ite(a < b, b, a);
  default:
    throw std::logic_error("not quasi-affine");
  }
}

z3::expr predicateInZ3(z3::context &context, const Tree &tree) {
  if (tree.kind == Kind::logicalNot)
    return !predicateInZ3(context, *tree.operands[0]);
  if (tree.kind == Kind::logicalAnd || tree.kind == Kind::logicalOr) {
    z3::expr a = predicateInZ3(context, *tree.operands[0]), b = predicateInZ3(context, *tree.operands[1]);
    return tree.kind == Kind::logicalAnd ? a && b : a || b;
  }
  z3::expr a = numberInZ3(context, *tree.operands[0]), b = numberInZ3(context, *tree.operands[1]);
  switch (tree.kind) {
  case Kind::lt:
    return a < b;
  case Kind::le:
    return a <= b;
  case Kind::eq:
    return a == b;
  default:
    return a != b;
  }
}

/// The same random facts for both sides.
void addFacts(Random &random, int symbols, Facts &facts, z3::context &context, z3::expr_vector &constraints) {
  for (int i = 0; i < symbols; ++i) {
    z3::expr symbol = symbolInZ3(context, i);
    if (random.chance(70)) {
      int64_t lo = random.between(-4, 4), hi = lo + (random.chance(60) ? (1 << random.between(1, 6)) - 1 : 9);
      facts.setRange(symbolOf(i), {lo, hi});
      constraints.push_back(symbol >= context.int_val(lo) && symbol <= context.int_val(hi));
    }
    if (random.chance(25)) {
      facts.setDivisor(symbolOf(i), 4);
      constraints.push_back(z3::mod(symbol, 4) == 0);
    }
  }
}

/// One solver for all questions: creating contexts would take most of the time.
struct Oracle {
  z3::context context;
  z3::solver solver{context, "QF_LIA"};

  Oracle() {
    z3::params limits(context);
    limits.set("timeout", 1000u);
    solver.set(limits);
  }

  z3::check_result check(const z3::expr_vector &constraints, const z3::expr &claim) {
    solver.push();
    for (const z3::expr &constraint : constraints)
      solver.add(constraint);
    solver.add(claim);
    z3::check_result result = solver.check();
    solver.pop();
    return result;
  }

  /// Holds always, never, or neither; nothing at all if Z3 gives up.
  std::optional<std::optional<bool>> verdict(const z3::expr_vector &constraints, const z3::expr &claim) {
    z3::check_result holds = check(constraints, claim), fails = check(constraints, !claim);
    if (holds == z3::unknown || fails == z3::unknown)
      return std::nullopt;
    if (fails == z3::unsat)
      return std::optional<bool>(true);
    return holds == z3::unsat ? std::optional<bool>(false) : std::optional<bool>();
  }
};

struct Tally {
  int always = 0, never = 0, open = 0, unknown = 0;
};

void compareVerdicts(Oracle &oracle, const Tree &tree, Random &random, int symbols, Tally &tally) {
  z3::context &context = oracle.context;
  z3::expr_vector constraints(context);
  Facts facts;
  addFacts(random, symbols, facts, context, constraints);
  std::optional<std::optional<bool>> expected = oracle.verdict(constraints, predicateInZ3(context, tree));
  if (!expected) {
    ++tally.unknown;
    return;
  }
  if (z3::check_result sane = oracle.check(constraints, context.bool_val(true)); sane != z3::sat)
    return; // facts that allow nothing prove everything
  std::optional<bool> found = prove(soliton::sym::testing::build(tree), facts);
  std::string range;
  for (const Facts::Entry &entry : facts.entries())
    range += " " + toString(entry.symbol) + " in [" + (entry.range.lo ? std::to_string(*entry.range.lo) : "") + ", " +
             (entry.range.hi ? std::to_string(*entry.range.hi) : "") + "] % " + std::to_string(entry.divisor);
  ASSERT_EQ(found, *expected) << soliton::sym::testing::toString(tree) << " with" << range;
  ++(!found ? tally.open : *found ? tally.always : tally.never);
}

} // namespace

TEST(Oracle, ProofsAgreeWithZ3) {
  Random random(seed() * 77);
  Oracle oracle;
  Tally tally;
  for (int i = 0; i < 1500 && !HasFatalFailure(); ++i) {
    Shape shape{.symbols = 3, .linear = true, .logic = i % 3 == 0, .bits = false, .largest = i % 2 ? 8 : 20};
    Generator generator(random, shape);
    compareVerdicts(oracle, *generator.predicate(3), random, shape.symbols, tally);
  }
  EXPECT_GT(tally.always + tally.never, 300);
  EXPECT_GT(tally.open, 200);
  EXPECT_LT(tally.unknown, 10);
}

// Equal pairs are rare among random ones, so they are made: x against its digits put together again, and against
// the same with one digit disturbed.
TEST(Oracle, EqualityIsComplete) {
  Random random(seed() * 78);
  Oracle oracle;
  Tally tally;
  for (int i = 0; i < 300 && !HasFatalFailure(); ++i) {
    Shape shape{.symbols = 3, .linear = true, .logic = false, .bits = false, .largest = 9};
    Generator generator(random, shape);
    TreePtr x = generator.number(2);
    int64_t n = random.between(2, 12), shift = random.between(-3, 3);
    TreePtr literal = leaf(Kind::constant, n), moved = node(Kind::add, {x, leaf(Kind::constant, shift)});
    TreePtr digits = node(Kind::add, {node(Kind::mul, {literal, node(Kind::floordiv, {moved, literal})}),
                                      node(Kind::mod, {moved, literal})});
    TreePtr other = random.chance(60) ? moved : node(Kind::add, {x, generator.number(1)});
    if (random.chance(30)) { // Hermite's identity: floor(x/2) + floor((x + 1)/2) = x
      TreePtr two = leaf(Kind::constant, 2), next = node(Kind::add, {moved, leaf(Kind::constant, 1)});
      digits = node(Kind::add, {node(Kind::floordiv, {moved, two}), node(Kind::floordiv, {next, two})});
    }
    compareVerdicts(oracle, *node(Kind::eq, {digits, other}), random, shape.symbols, tally);
  }
  EXPECT_GT(tally.always, 100);
  EXPECT_GT(tally.never + tally.open, 30);
  EXPECT_LT(tally.unknown, 10);
}
