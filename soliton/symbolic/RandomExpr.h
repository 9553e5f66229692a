//===- RandomExpr.h - Random expressions with their own meaning (tests) ----===//
//
// A `Tree` is an expression that the library has not touched: the tests evaluate it with unbounded integers and build
// an Expr of it with the public operators, so that construction is judged too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Expr.h"

#include <gmpxx.h>
#include <memory>

namespace soliton::sym::testing {

/// xorshift: the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 88172645463325252ull) {}
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  int64_t between(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(next() % static_cast<uint64_t>(hi - lo + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

private:
  uint64_t state;
};

struct Tree {
  Kind kind = Kind::constant;
  int64_t value = 0; // the constant, or the number of the symbol
  std::vector<std::shared_ptr<Tree>> operands;
};
using TreePtr = std::shared_ptr<Tree>;

struct Shape {
  int symbols = 4;
  bool linear = false;    // products and divisors have a literal
  bool exactDivs = false; // `/` occurs
  bool logic = true;      // min, max, select, comparisons, connectives
  bool bits = true;       // xor and shifts
  int64_t largest = 12;   // literals
};

inline Expr symbolOf(int64_t number) {
  return Expr::symbol("s" + std::to_string(number));
}

inline TreePtr leaf(Kind kind, int64_t value) {
  return std::make_shared<Tree>(Tree{kind, value, {}});
}
inline TreePtr node(Kind kind, std::vector<TreePtr> operands) {
  return std::make_shared<Tree>(Tree{kind, 0, std::move(operands)});
}

class Generator {
public:
  Generator(Random &random, Shape shape) : random(random), shape(shape) {}

  TreePtr number(int depth) {
    if (depth == 0 || random.chance(12))
      return random.chance(70) ? leaf(Kind::symbol, random.between(0, shape.symbols - 1))
                               : leaf(Kind::constant, random.between(-shape.largest, shape.largest));
    int choice = static_cast<int>(random.between(0, 99));
    if (choice < 34)
      return node(Kind::add, {number(depth - 1), number(depth - 1)});
    if (choice < 46)
      return node(Kind::mul, {shape.linear ? literal() : number(depth - 1), number(depth - 1)});
    if (choice < 76)
      return division(depth);
    if (choice < 88 && shape.logic)
      return random.chance(50) ? node(random.chance(50) ? Kind::min : Kind::max, {number(depth - 1), number(depth - 1)})
                               : node(Kind::select, {predicate(depth - 1), number(depth - 1), number(depth - 1)});
    if (choice < 94 && shape.bits)
      return bits(depth);
    return node(Kind::add, {number(depth - 1), scaledLeaf()});
  }

  TreePtr predicate(int depth) {
    static constexpr Kind comparisons[] = {Kind::lt, Kind::le, Kind::eq, Kind::ne};
    if (depth <= 1 || random.chance(70))
      return node(comparisons[random.between(0, 3)], {number(std::max(depth - 1, 0)), number(std::max(depth - 1, 0))});
    if (random.chance(20))
      return node(Kind::logicalNot, {predicate(depth - 1)});
    return node(random.chance(50) ? Kind::logicalAnd : Kind::logicalOr, {predicate(depth - 1), predicate(depth - 1)});
  }

private:
  TreePtr literal() { return leaf(Kind::constant, random.between(-shape.largest, shape.largest)); }
  TreePtr scaledLeaf() {
    return node(Kind::mul, {literal(), leaf(Kind::symbol, random.between(0, shape.symbols - 1))});
  }

  TreePtr divisor(int depth) {
    if (!shape.linear && random.chance(15))
      return number(std::min(depth, 1));
    static constexpr int64_t common[] = {2, 4, 8, 16, 32, 64, 3, 5, 6, 12};
    int64_t value = common[random.between(0, shape.largest < 16 ? 2 : 9)];
    return leaf(Kind::constant, random.chance(shape.linear ? 0 : 8) ? -value : value);
  }

  TreePtr division(int depth) {
    static constexpr Kind kinds[] = {Kind::floordiv, Kind::floordiv, Kind::mod, Kind::mod, Kind::ceildiv};
    Kind kind = shape.exactDivs && random.chance(15) ? Kind::exactDiv : kinds[random.between(0, 4)];
    return node(kind, {number(depth - 1), divisor(depth - 1)});
  }

  TreePtr bits(int depth) {
    if (random.chance(60))
      return node(Kind::bitXor, {number(depth - 1), number(depth - 1)});
    return node(random.chance(50) ? Kind::shl : Kind::shr,
                {number(depth - 1), random.chance(70) ? leaf(Kind::constant, random.between(0, 5))
                                                      : leaf(Kind::symbol, random.between(0, shape.symbols - 1))});
  }

  Random &random;
  Shape shape;
};

/// The Expr of a tree, by the public operators.
inline Expr build(const Tree &tree) {
  if (tree.kind == Kind::constant)
    return Expr(tree.value);
  if (tree.kind == Kind::symbol)
    return symbolOf(tree.value);
  std::vector<Expr> operands;
  for (const TreePtr &operand : tree.operands)
    operands.push_back(build(*operand));
  return sym::build(tree.kind, operands);
}

/// The tree as a call of functions, for failure messages.
std::string toString(const Tree &tree);

/// The meaning of a tree with unbounded integers; nothing where it is undefined.
std::optional<mpz_class> meaning(const Tree &tree, std::span<const int64_t> values);

} // namespace soliton::sym::testing
