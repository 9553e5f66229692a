#include "soliton/runtime/LaunchExpr.h"

#include <gtest/gtest.h>
#include <random>

using namespace soliton::rt;

namespace {

LaunchExpr s(uint32_t index) {
  return LaunchExpr::symbol(index);
}
LaunchExpr op(LaunchOp o, std::initializer_list<LaunchExpr> operands) {
  return LaunchExpr::apply(o, operands);
}

LaunchValue value(LaunchOp o, int64_t a, int64_t b) {
  return op(o, {s(0), s(1)}).evaluate(std::array{a, b});
}

/// A tree evaluated in 128 bits, as the law of what the postfix program must give.
struct Tree {
  LaunchOp op = LaunchOp::constant;
  int64_t leaf = 0;
  std::vector<Tree> children;

  LaunchExpr postfix() const {
    if (op == LaunchOp::constant)
      return leaf;
    if (op == LaunchOp::symbol)
      return LaunchExpr::symbol(static_cast<uint32_t>(leaf));
    std::vector<LaunchExpr> operands;
    for (const Tree &child : children)
      operands.push_back(child.postfix());
    return LaunchExpr::apply(op, operands);
  }
};

using Wide = __int128;
using MaybeWide = std::optional<Wide>;

Wide floorDiv(Wide a, Wide b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

MaybeWide narrow(Wide value) {
  if (value < INT64_MIN || value > INT64_MAX)
    return std::nullopt;
  return value;
}

MaybeWide reference(const Tree &tree, std::span<const int64_t> symbols);

MaybeWide referenceBinary(LaunchOp op, Wide a, Wide b) {
  switch (op) {
  case LaunchOp::add:
    return narrow(a + b);
  case LaunchOp::sub:
    return narrow(a - b);
  case LaunchOp::mul:
    return narrow(a * b);
  case LaunchOp::floordiv:
    return b == 0 ? std::nullopt : narrow(floorDiv(a, b));
  case LaunchOp::ceildiv:
    // Faults where the floor does, which only the quotient 2^63 can tell apart.
    return b == 0 ? std::nullopt : narrow(-floorDiv(-a, b));
  case LaunchOp::mod:
    return b == 0 ? std::nullopt : narrow(a - b * floorDiv(a, b));
  case LaunchOp::min:
    return a < b ? a : b;
  case LaunchOp::max:
    return a < b ? b : a;
  case LaunchOp::lt:
    return a < b;
  case LaunchOp::le:
    return a <= b;
  case LaunchOp::gt:
    return a > b;
  case LaunchOp::ge:
    return a >= b;
  case LaunchOp::eq:
    return a == b;
  case LaunchOp::ne:
    return a != b;
  case LaunchOp::bitXor:
    return a ^ b;
  case LaunchOp::shl:
    return b < 0 || b > 63 ? std::nullopt : narrow(a * (Wide(1) << int(b)));
  case LaunchOp::shr:
    return b < 0 || b > 63 ? std::nullopt : narrow(floorDiv(a, Wide(1) << int(b)));
  default:
    return std::nullopt;
  }
}

MaybeWide referenceLogic(const Tree &tree, Wide first, std::span<const int64_t> symbols) {
  if (tree.op == LaunchOp::logicalNot)
    return first == 0;
  if (tree.op == LaunchOp::select)
    return reference(tree.children[first != 0 ? 1 : 2], symbols);
  if ((first != 0) == (tree.op == LaunchOp::logicalOr))
    return first != 0;
  MaybeWide second = reference(tree.children[1], symbols);
  return second ? MaybeWide(*second != 0) : std::nullopt;
}

MaybeWide reference(const Tree &tree, std::span<const int64_t> symbols) {
  if (tree.op == LaunchOp::constant)
    return tree.leaf;
  if (tree.op == LaunchOp::symbol)
    return symbols[static_cast<size_t>(tree.leaf)];
  MaybeWide first = reference(tree.children[0], symbols);
  if (!first)
    return std::nullopt;
  bool chooses = tree.op == LaunchOp::select || tree.op == LaunchOp::logicalAnd || tree.op == LaunchOp::logicalOr ||
                 tree.op == LaunchOp::logicalNot;
  if (chooses)
    return referenceLogic(tree, *first, symbols);
  MaybeWide second = reference(tree.children[1], symbols);
  return second ? referenceBinary(tree.op, *first, *second) : std::nullopt;
}

int64_t interesting(std::mt19937_64 &random) {
  constexpr int64_t edges[] = {0, 1, -1, 2, 63, 64, INT64_MAX, INT64_MIN, INT64_MIN + 1, int64_t(1) << 32};
  if (random() % 3 == 0)
    return edges[random() % std::size(edges)];
  return static_cast<int64_t>(random() % 400) - 200;
}

Tree randomTree(std::mt19937_64 &random, int depth) {
  Tree tree;
  if (depth == 0 || random() % 5 == 0) {
    tree.op = random() % 2 ? LaunchOp::constant : LaunchOp::symbol;
    tree.leaf = tree.op == LaunchOp::constant ? interesting(random) : static_cast<int64_t>(random() % 3);
    return tree;
  }
  auto count = static_cast<uint64_t>(LaunchOp::shr) - static_cast<uint64_t>(LaunchOp::add) + 1;
  tree.op = static_cast<LaunchOp>(static_cast<uint64_t>(LaunchOp::add) + random() % count);
  for (int i = 0; i < arity(tree.op); ++i)
    tree.children.push_back(randomTree(random, depth - 1));
  return tree;
}

} // namespace

TEST(LaunchExpr, DivisionFloorsForEverySign) {
  for (int64_t a = -20; a <= 20; ++a)
    for (int64_t b = -7; b <= 7; ++b) {
      if (b == 0)
        continue;
      int64_t floor = value(LaunchOp::floordiv, a, b).value, rest = value(LaunchOp::mod, a, b).value;
      EXPECT_EQ(floor * b + rest, a);
      EXPECT_TRUE(b > 0 ? (rest >= 0 && rest < b) : (rest <= 0 && rest > b));
      EXPECT_EQ(value(LaunchOp::ceildiv, a, b).value, floor + (rest != 0));
    }
}

TEST(LaunchExpr, FaultsInsteadOfTraps) {
  EXPECT_EQ(value(LaunchOp::add, INT64_MAX, 1).fault, LaunchFault::overflow);
  EXPECT_EQ(value(LaunchOp::sub, INT64_MIN, 1).fault, LaunchFault::overflow);
  EXPECT_EQ(value(LaunchOp::mul, INT64_MIN, -1).fault, LaunchFault::overflow);
  EXPECT_EQ(value(LaunchOp::floordiv, INT64_MIN, -1).fault, LaunchFault::overflow);
  EXPECT_EQ(value(LaunchOp::ceildiv, INT64_MIN, -1).fault, LaunchFault::overflow);
  EXPECT_EQ(value(LaunchOp::mod, INT64_MIN, -1).value, 0);
  EXPECT_EQ(value(LaunchOp::floordiv, 1, 0).fault, LaunchFault::divisionByZero);
  EXPECT_EQ(value(LaunchOp::ceildiv, 1, 0).fault, LaunchFault::divisionByZero);
  EXPECT_EQ(value(LaunchOp::mod, 1, 0).fault, LaunchFault::divisionByZero);
  EXPECT_EQ(value(LaunchOp::shl, 1, 63).fault, LaunchFault::overflow);
  EXPECT_EQ(value(LaunchOp::shl, 1, 64).fault, LaunchFault::badShift);
  EXPECT_EQ(value(LaunchOp::shr, 1, -1).fault, LaunchFault::badShift);
  EXPECT_EQ(s(3).evaluate({}).fault, LaunchFault::unknownSymbol);
}

TEST(LaunchExpr, FaultOfABranchNotTakenDoesNotCount) {
  LaunchExpr bad = op(LaunchOp::floordiv, {1, 0});
  EXPECT_EQ(op(LaunchOp::select, {1, 5, bad}).evaluate({}).value, 5);
  EXPECT_EQ(op(LaunchOp::select, {0, 5, bad}).evaluate({}).fault, LaunchFault::divisionByZero);
  EXPECT_TRUE(op(LaunchOp::logicalAnd, {0, bad}).evaluate({}).ok());
  EXPECT_TRUE(op(LaunchOp::logicalOr, {7, bad}).evaluate({}).ok());
  EXPECT_FALSE(op(LaunchOp::logicalOr, {0, bad}).evaluate({}).ok());
}

TEST(LaunchExpr, MalformedProgramsAreRefused) {
  LaunchExpr tooFew = op(LaunchOp::add, {1});
  EXPECT_FALSE(tooFew.wellFormed(0));
  EXPECT_EQ(tooFew.evaluate({}).fault, LaunchFault::malformed);
  LaunchExpr tooMany = op(LaunchOp::add, {1, 2, 3});
  EXPECT_FALSE(tooMany.wellFormed(0));
  EXPECT_EQ(tooMany.evaluate({}).fault, LaunchFault::malformed);
  EXPECT_FALSE(s(2).wellFormed(2));
  EXPECT_TRUE(s(2).wellFormed(3));
  LaunchExpr deep = 1;
  for (size_t i = 0; i < LaunchExpr::kMaxDepth; ++i)
    deep = op(LaunchOp::add, {1, deep});
  EXPECT_FALSE(deep.wellFormed(0));
  EXPECT_EQ(deep.evaluate({}).fault, LaunchFault::malformed);
}

TEST(LaunchExpr, Text) {
  LaunchExpr grid = op(LaunchOp::ceildiv, {s(0), 128});
  EXPECT_EQ(grid.text(), "s0 128 ceildiv");
  EXPECT_EQ(LaunchExpr::parse("s0 128 ceildiv"), grid);
  std::vector<std::string> names = {"M"};
  EXPECT_EQ(grid.toString(names), "ceildiv(M, 128)");
  EXPECT_EQ(op(LaunchOp::mul, {op(LaunchOp::add, {s(0), 1}), s(1)}).toString(names), "(M + 1) * s1");
  EXPECT_EQ(op(LaunchOp::add, {1}).toString(names), "<malformed>");
  for (const char *bad : {"", "add", "1 2", "1 2 plus", "s", "sx", "1  2 add", " 1", "1.5", "99999999999999999999",
                          "s0 s0 s0 add", "const", "symbol", "s-1"})
    EXPECT_EQ(LaunchExpr::parse(bad), std::nullopt) << bad;
}

TEST(LaunchExpr, ConstantValue) {
  EXPECT_EQ(LaunchExpr(7).constantValue(), 7);
  EXPECT_EQ(LaunchExpr().constantValue(), 0);
  EXPECT_EQ(s(0).constantValue(), std::nullopt);
  EXPECT_EQ(op(LaunchOp::add, {1, 2}).constantValue(), std::nullopt);
}

TEST(LaunchExpr, RandomTreesAgreeWithWideArithmetic) {
  std::mt19937_64 random(11);
  int faults = 0, values = 0;
  for (int round = 0; round < 20'000; ++round) {
    Tree tree = randomTree(random, 5);
    LaunchExpr expr = tree.postfix();
    ASSERT_TRUE(expr.wellFormed(3));
    std::array<int64_t, 3> symbols = {interesting(random), interesting(random), interesting(random)};
    MaybeWide expected = reference(tree, symbols);
    LaunchValue found = expr.evaluate(symbols);
    ASSERT_EQ(found.ok(), expected.has_value()) << expr.text();
    if (expected)
      ASSERT_EQ(found.value, static_cast<int64_t>(*expected)) << expr.text();
    expected ? ++values : ++faults;
    ASSERT_EQ(LaunchExpr::parse(expr.text()), expr);
  }
  EXPECT_GT(values, 1000);
  EXPECT_GT(faults, 1000);
}

TEST(LaunchExpr, RandomTextNeverTraps) {
  std::mt19937_64 random(12);
  constexpr const char *words[] = {"1", "s0", "s1", "-3", "add", "mul", "select", "not", "shl", "and", "mod", "0"};
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (uint64_t i = random() % 9; i > 0; --i)
      text += (text.empty() ? "" : " ") + std::string(words[random() % std::size(words)]);
    if (std::optional<LaunchExpr> expr = LaunchExpr::parse(text)) {
      ++accepted;
      expr->evaluate(std::array<int64_t, 2>{interesting(random), interesting(random)});
    }
  }
  EXPECT_GT(accepted, 100);
}
