//===- Interner.h - One node per structure ---------------------------------===//
//
// The table that makes equal structures the same pointer. Lookups take no lock; insertion takes one.
//
//   const Node *n = intern(Kind::floordiv, operands);
//
// The operands must be canonical already: this file decides identity, not form.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Expr.h"

namespace soliton::sym::detail {

/// Expressions nest at most this deep, so that recursion over them never exhausts a stack.
inline constexpr unsigned maxDepth = 400;
/// Operands of one node.
inline constexpr size_t maxOperands = 1 << 14;

/// The node of that structure. Throws ExprError (tooLarge) beyond the limits.
const Node *intern(Kind kind, std::span<const Expr> operands);
/// A product with a leading constant: `coefficient` times `monomial`, which has none.
const Node *internScaled(int64_t coefficient, const Node *monomial);
const Node *internSymbol(std::string_view name);
/// A new node that is equal to no other: 0/0, undefined.
const Node *makeUndefined();

inline Expr make(Kind kind, std::span<const Expr> operands) {
  return Expr(intern(kind, operands));
}
inline Expr make(Kind kind, Expr a, Expr b) {
  const Expr operands[] = {a, b};
  return Expr(intern(kind, operands));
}

int compareStructure(const Node *a, const Node *b);
/// The canonical order of two nodes.
inline int compareNodes(const Node *a, const Node *b) {
  if (a == b)
    return 0;
  if (a->order != b->order)
    return a->order < b->order ? -1 : 1;
  return compareStructure(a, b);
}

} // namespace soliton::sym::detail
