//===- Linear.h - Sums as lists of scaled monomials ------------------------===//
//
// The working form of a sum: constant + coefficient * monomial + ..., monomials in canonical order and distinct.
//
//   Linear sum(a);
//   sum.add(b, -2);              // a - 2*b
//   Expr e = sum.expr();
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Integer.h"
#include "soliton/symbolic/Interner.h"
#include "soliton/symbolic/SmallVector.h"

namespace soliton::sym::detail {

/// coefficient * monomial; the monomial is a symbol, an opaque node or a product without a constant.
struct Term {
  const Node *monomial;
  int64_t coefficient;
  const Node *hint = nullptr; ///< perhaps the node of the whole term; spares a lookup
};

/// A product's constant and what remains of it; 1 and the node itself for anything but a scaled product.
inline Term termOf(Expr e) {
  const Node *n = e.get();
  if (n->kind == Kind::mul && n->monomial)
    return {n->monomial, n->value, n};
  return {n, 1, n};
}

class Linear {
public:
  Linear() = default;
  explicit Linear(Expr e) { assign(e); }
  explicit Linear(int64_t constant) : constant(constant) {}

  /// Adds scale * e. Throws ExprError on overflow.
  void add(Expr e, int64_t scale = 1);
  void add(const Linear &other, int64_t scale = 1);
  void add(std::span<const Expr> addends);
  void addTerm(const Term &term);
  void addTerm(const Node *monomial, int64_t coefficient) { addTerm(Term{monomial, coefficient}); }
  void addConstant(int64_t value) { constant = checkedAdd(constant, value); }
  void scale(int64_t factor);
  /// Coefficient of a monomial, 0 if it does not occur.
  int64_t coefficientOf(const Node *monomial) const;
  /// Greatest common divisor of all coefficients, without the constant; 0 if there are none.
  int64_t content() const;
  bool isConstant() const { return terms.empty(); }
  /// The canonical node.
  Expr expr() const;

  SmallVector<Term, 12> terms;
  int64_t constant = 0;

private:
  void assign(Expr e);
  void merge(std::span<const Term> other, int64_t scale);
  bool reduceExactDivisions();
};

/// coefficient * monomial as a node.
Expr scaled(int64_t coefficient, const Node *monomial);
inline Expr scaled(const Term &term) {
  if (term.coefficient == 1)
    return Expr(term.monomial);
  if (term.hint && term.hint->monomial == term.monomial && term.hint->value == term.coefficient &&
      term.hint->kind == Kind::mul)
    return Expr(term.hint);
  return scaled(term.coefficient, term.monomial);
}

/// The non-constant factors of a monomial; the span may refer to the argument itself.
std::span<const Expr> factorsOf(const Expr &monomial);
std::span<const Expr> factorsOf(const Expr &&monomial) = delete;

/// The product of factors, expanding nothing: factors of nested products are merged, constants multiplied.
Expr product(std::span<const Expr> factors);

/// `monomial` without the factors `divisor` (a sorted list with repetition), if it has them all; the constant 1 if
/// nothing remains.
std::optional<Expr> divideMonomial(Expr monomial, std::span<const Expr> divisor);

/// `e` with products of sums multiplied out, unless that needs more than `limit` terms.
std::optional<Linear> expanded(Expr e, size_t limit);

} // namespace soliton::sym::detail
