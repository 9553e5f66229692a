//===- Analysis.h - Bounds and congruences of expressions ------------------===//
//
// Abstract interpretation: every node has an interval and a congruence (value = residue modulo modulus).
//
//   Analysis(facts).of(8 * x + 5)     // x in [0, 7]: interval [5, 61], congruence 5 mod 8
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Facts.h"
#include "soliton/symbolic/Linear.h"

namespace soliton::sym::detail {

/// Inclusive bounds; INT64_MIN and INT64_MAX stand for no bound.
struct Interval {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
  bool hasLo() const { return lo != INT64_MIN; }
  bool hasHi() const { return hi != INT64_MAX; }
  bool bounded() const { return hasLo() && hasHi(); }
  bool single() const { return lo == hi && bounded(); }
  bool within(int64_t low, int64_t high) const { return lo >= low && hi <= high && bounded(); }
};

/// value = residue (mod modulus), 0 <= residue < modulus; a modulus of 0 means value = residue, 1 that nothing is
/// known.
struct Congruence {
  int64_t modulus = 1, residue = 0;
  /// Largest d >= 0 that divides every such value.
  int64_t divisor() const { return gcd(modulus, residue); }
};

struct Knowledge {
  Interval range;
  Congruence congruence;
};

/// What is known about a constant; INT64_MIN and INT64_MAX lose their other bound, as they stand for none.
inline Knowledge knowledgeOf(int64_t value) {
  if (value == INT64_MIN)
    return {{INT64_MIN, INT64_MIN + 1}, {}};
  if (value == INT64_MAX)
    return {{INT64_MAX - 1, INT64_MAX}, {}};
  return {{value, value}, {0, value}};
}

Interval add(Interval a, Interval b);
Interval scale(Interval a, int64_t factor);
Interval multiply(Interval a, Interval b);
Congruence add(Congruence a, Congruence b);
Congruence multiply(Congruence a, Congruence b);
Congruence scale(Congruence a, int64_t factor);
/// What a congruence says about the bounds.
Interval tighten(Interval range, Congruence congruence);

class Analysis {
public:
  explicit Analysis(const Facts &facts) : facts(facts) {}
  Knowledge of(Expr e);
  Knowledge of(const Linear &sum);
  /// The residue of coefficient * monomial modulo n > 0, if it is known.
  std::optional<int64_t> residueOf(const Term &term, int64_t n);

private:
  Knowledge compute(Expr e);
  Knowledge symbol(Expr e);
  Knowledge product(Expr e);
  Knowledge division(Expr e);
  Knowledge modulus(Expr e);
  Knowledge extremum(Expr e);
  Knowledge exclusiveOr(Expr e);
  Knowledge shift(Expr e);

  const Facts &facts;
};

/// Forgets what this thread has memoised.
void clearAnalysisCache();

} // namespace soliton::sym::detail
