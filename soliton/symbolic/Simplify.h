//===- Simplify.h - Rewriting under facts ----------------------------------===//
//
// A bottom-up fixpoint: operands first, then the rules of the root's kind until none applies. Each rule returns an
// expression that is equal wherever its argument is defined and the facts hold, or the argument itself.
//
//   floordiv(8*t + c, 32)            ->  floordiv(t, 4)             0 <= c < 8
//   mod(t, 16) + 16*floordiv(t, 16)  ->  t
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Analysis.h"
#include "soliton/symbolic/Division.h"

namespace soliton::sym::detail {

class Simplifier {
public:
  explicit Simplifier(const Facts &facts) : facts(facts), analysis(facts) {}
  Expr visit(Expr e);

private:
  Expr fixpoint(Expr e);
  Expr step(Expr e);
  Expr rebuild(Expr e);
  Expr applyRules(Expr e);

  // Sums (SimplifySum.cpp)
  Expr sum(Expr e);
  bool foldExactFloors(Linear &sum);
  bool mergeDigits(Linear &sum);
  bool matchWholes(Linear &sum);
  Expr multipliedOut(Expr e);
  static std::optional<Expr> joinedFractions(Expr e);

  // Division (SimplifyDivision.cpp)
  Expr floor(Expr e, const FloorView &view);
  Expr remainder(Expr e, const FloorView &view);
  Expr symbolicDivision(Expr e);
  Expr exactDivision(Expr e);
  std::optional<int64_t> blockOf(const Linear &part, int64_t size);
  bool provenBelow(const Linear &part, Expr bound);

  // Predicates and bits (SimplifyLogic.cpp)
  Expr ordering(Expr e);
  Expr equality(Expr e);
  Expr connective(Expr e);
  Expr extremum(Expr e);
  Expr exclusiveOr(Expr e);
  Expr selection(Expr e);
  Expr branch(Expr e, Expr condition);

  const Facts &facts;
  Analysis analysis;
};

/// Terms whose coefficient `size` divides, divided by it, and the others with the constant.
struct Blocks {
  Linear multiples, rest;
};
Blocks splitBlocks(const Linear &sum, int64_t size);
/// The distinct common divisors > 1 of a coefficient and `divisor` (0: of the coefficients alone), largest first.
SmallVector<int64_t, 12> blockSizes(const Linear &sum, int64_t divisor);

/// Exact decision of a predicate under the facts without simplifying it, within a small work limit (Prove.cpp): always,
/// never or nothing; and whether it is proven to hold always.
std::optional<bool> decide(Expr predicate, const Facts &facts);
bool holds(Expr predicate, const Facts &facts);

} // namespace soliton::sym::detail
