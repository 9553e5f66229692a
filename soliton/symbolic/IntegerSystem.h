//===- IntegerSystem.h - Does a system of linear constraints have a solution? --===//
//
// Exact decision over the integers (Pugh's Omega test): equalities are solved, variables eliminated by shadows, the
// gap between the real and the dark shadow is searched by splinters.
//
//   IntegerSystem system(1);
//   system.add({{2}, -1, true});       // 2*x - 1 == 0
//   Budget budget{1000};
//   system.isFeasible(budget)          // false
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace soliton::sym::detail {

/// How many more coefficients may be touched; spending more throws ExprError (tooLarge).
struct Budget {
  int64_t left;
  void spend(size_t amount);
};

/// Sum of coefficient * variable + constant, >= 0 or == 0.
struct LinearConstraint {
  std::vector<int64_t> coefficients;
  int64_t constant = 0;
  bool equality = false;
};

class IntegerSystem {
public:
  explicit IntegerSystem(size_t variables) : variables(variables) {}
  void add(LinearConstraint constraint);
  /// Whether some integers satisfy all constraints. Throws ExprError when the budget is spent or a coefficient
  /// overflows.
  bool isFeasible(Budget &budget);

private:
  enum class Step { contradiction, clean };
  Step normalize();
  Step mergeParallel();
  Step solveEqualities(Budget &budget);
  void substitute(size_t variable, const LinearConstraint &definition, int64_t sign);
  void defineByRemainder(size_t row, size_t variable);
  bool eliminate(Budget &budget) const;
  bool splinter(size_t variable, Budget &budget) const;
  IntegerSystem shadow(size_t variable, bool dark) const;

  size_t variables;
  std::vector<LinearConstraint> rows;
};

} // namespace soliton::sym::detail
