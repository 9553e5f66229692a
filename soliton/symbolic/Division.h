//===- Division.h - Quotients and remainders of sums -----------------------===//
//
// What construction and simplification share about division by a positive literal.
//
//   floorOf(Linear(64*x + y + 37), 32)   // 2*x + floordiv(y + 5, 32) + 1
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Linear.h"

namespace soliton::sym::detail {

/// floor(sum / divisor) and sum mod divisor in canonical form, for divisor > 0.
Expr floorOf(Linear sum, int64_t divisor);
Expr modOf(Linear sum, int64_t divisor);

/// A floordiv or ceildiv by a positive literal as floor(numerator / divisor).
struct FloorView {
  Expr numerator;
  int64_t divisor;
};
std::optional<FloorView> floorView(Expr e);
/// A mod by a positive literal.
std::optional<FloorView> modView(Expr e);

/// Whether exact divisions are among the terms.
bool hasFraction(const Linear &sum);
/// A sum with exact divisions among its terms as one fraction.
struct Fraction {
  Expr numerator, denominator;
};
Fraction fractionOf(Expr e);

/// a / b = quotient + rest / divisor with what b divides term by term taken out of `rest`, and common factors of rest
/// and divisor cancelled; `factor` is what was cancelled.
struct SymbolicDivision {
  Linear quotient, rest;
  Expr divisor = 1, factor = 1;
};
SymbolicDivision divideSymbolically(Expr a, Expr b);

} // namespace soliton::sym::detail
