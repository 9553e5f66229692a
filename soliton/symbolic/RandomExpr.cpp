//===- RandomExpr.cpp - The meaning of trees in unbounded integers (tests) -===//
#include "soliton/symbolic/RandomExpr.h"

namespace soliton::sym::testing {

using Value = std::optional<mpz_class>;

static Value divide(Kind kind, const mpz_class &a, const mpz_class &b) {
  if (b == 0)
    return std::nullopt;
  mpz_class floor, ceil, rest;
  mpz_fdiv_qr(floor.get_mpz_t(), rest.get_mpz_t(), a.get_mpz_t(), b.get_mpz_t());
  mpz_cdiv_q(ceil.get_mpz_t(), a.get_mpz_t(), b.get_mpz_t());
  if (kind == Kind::floordiv)
    return floor;
  if (kind == Kind::ceildiv)
    return ceil;
  if (kind == Kind::mod)
    return rest;
  return rest == 0 ? Value(floor) : std::nullopt;
}

static Value shift(Kind kind, const mpz_class &a, const mpz_class &b) {
  if (b < 0 || b > 200)
    return std::nullopt;
  mpz_class out;
  if (kind == Kind::shl)
    mpz_mul_2exp(out.get_mpz_t(), a.get_mpz_t(), b.get_ui());
  else
    mpz_fdiv_q_2exp(out.get_mpz_t(), a.get_mpz_t(), b.get_ui());
  return out;
}

static Value combine(Kind kind, const mpz_class &a, const mpz_class &b) {
  switch (kind) {
  case Kind::add:
    return mpz_class(a + b);
  case Kind::mul:
    return mpz_class(a * b);
  case Kind::min:
    return a < b ? a : b;
  case Kind::max:
    return a < b ? b : a;
  case Kind::lt:
    return mpz_class(a < b);
  case Kind::le:
    return mpz_class(a <= b);
  case Kind::eq:
    return mpz_class(a == b);
  case Kind::ne:
    return mpz_class(a != b);
  case Kind::bitXor:
    return mpz_class(a ^ b);
  case Kind::shl:
  case Kind::shr:
    return shift(kind, a, b);
  default:
    return divide(kind, a, b);
  }
}

static Value connective(Kind kind, const Value &a, const Value &b) {
  bool absorbing = kind == Kind::logicalOr;
  for (const Value &operand : {a, b})
    if (operand && (*operand != 0) == absorbing)
      return mpz_class(absorbing);
  if (!a || !b)
    return std::nullopt;
  return mpz_class(!absorbing);
}

std::string toString(const Tree &tree) {
  if (tree.kind == Kind::constant)
    return std::to_string(tree.value);
  if (tree.kind == Kind::symbol)
    return "s" + std::to_string(tree.value);
  std::string out = std::string(kindName(tree.kind)) + "(";
  for (const TreePtr &operand : tree.operands)
    out += (&operand == &tree.operands[0] ? "" : ", ") + toString(*operand);
  return out + ")";
}

Value meaning(const Tree &tree, std::span<const int64_t> values) {
  if (tree.kind == Kind::constant)
    return mpz_class(static_cast<long>(tree.value));
  if (tree.kind == Kind::symbol)
    return mpz_class(static_cast<long>(values[static_cast<size_t>(tree.value)]));
  Value a = meaning(*tree.operands[0], values);
  if (tree.kind == Kind::select)
    return a ? meaning(*tree.operands[*a != 0 ? 1 : 2], values) : std::nullopt;
  if (tree.kind == Kind::logicalNot)
    return a ? Value(mpz_class(*a == 0)) : std::nullopt;
  Value b = meaning(*tree.operands[1], values);
  if (tree.kind == Kind::logicalAnd || tree.kind == Kind::logicalOr)
    return connective(tree.kind, a, b);
  return a && b ? combine(tree.kind, *a, *b) : std::nullopt;
}

} // namespace soliton::sym::testing
