//===- IntegerSystem.h - Does a system of linear constraints have a solution? --===//
//
// Exact decision over the integers (Pugh's Omega test): equalities are solved, variables eliminated by shadows, the
// gap between the real and the dark shadow is searched by splinters.
//
//   IntegerSystem system(1);
//   system.add({{2}, -1, true});       // 2*x - 1 == 0
//   system.solve(budget)               // Feasibility::none
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace soliton::sym::detail {

enum class Feasibility { none, some, unknown };

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
  /// Decides; `budget` is counted down by the work done, `unknown` when it is spent or a coefficient overflows.
  Feasibility solve(int64_t &budget);

private:
  enum class Step { contradiction, clean };
  Step normalize();
  Step mergeParallel();
  bool solveEqualities(Step &step);
  void substitute(size_t variable, const LinearConstraint &definition, int64_t sign);
  void defineByRemainder(size_t row, size_t variable);
  Feasibility eliminate(int64_t &budget);
  Feasibility splinter(size_t variable, int64_t &budget) const;
  IntegerSystem shadow(size_t variable, bool dark) const;

  size_t variables;
  std::vector<LinearConstraint> rows;
};

} // namespace soliton::sym::detail
