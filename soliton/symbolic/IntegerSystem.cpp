//===- IntegerSystem.cpp - The Omega test ----------------------------------===//
#include "soliton/symbolic/IntegerSystem.h"
#include "soliton/symbolic/Integer.h"

#include <algorithm>
#include <map>

namespace soliton::sym::detail {

void Budget::spend(size_t amount) {
  left -= static_cast<int64_t>(amount);
  if (left < 0)
    throwError(ErrorKind::tooLarge, "the decision needs too much work");
}

void IntegerSystem::add(LinearConstraint constraint) {
  constraint.coefficients.resize(variables, 0);
  rows.push_back(std::move(constraint));
}

static int64_t magnitude(int64_t a) {
  return a < 0 ? checkedNeg(a) : a;
}

//===- Normal form of the rows ---------------------------------------------===//

/// Divides by common factors and drops trivial rows.
IntegerSystem::Step IntegerSystem::normalize() {
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    LinearConstraint &row = rows[i];
    int64_t common = 0;
    for (int64_t c : row.coefficients)
      common = gcd(common, c);
    if (common == 0) {
      if (row.equality ? row.constant != 0 : row.constant < 0)
        return Step::contradiction;
      continue;
    }
    if (row.equality && row.constant % common != 0)
      return Step::contradiction;
    for (int64_t &c : row.coefficients)
      c /= common;
    row.constant = floorDiv(row.constant, common);
    if (kept != i)
      rows[kept] = std::move(row);
    ++kept;
  }
  rows.resize(kept);
  return Step::clean;
}

/// Of parallel inequalities the tightest stays; opposite ones that touch are an equality. Needs normalized rows.
IntegerSystem::Step IntegerSystem::mergeParallel() {
  std::map<std::vector<int64_t>, int64_t> tightest;
  std::vector<LinearConstraint> out;
  for (LinearConstraint &row : rows) {
    if (row.equality) {
      out.push_back(std::move(row));
      continue;
    }
    auto [place, isNew] = tightest.emplace(std::move(row.coefficients), row.constant);
    if (!isNew)
      place->second = std::min(place->second, row.constant);
  }
  for (const auto &[coefficients, constant] : tightest) {
    std::vector<int64_t> opposite = coefficients;
    for (int64_t &c : opposite)
      c = checkedNeg(c);
    auto other = tightest.find(opposite);
    if (other == tightest.end()) {
      out.push_back({coefficients, constant, false});
      continue;
    }
    int64_t slack = checkedAdd(constant, other->second);
    if (slack < 0)
      return Step::contradiction;
    if (slack > 0)
      out.push_back({coefficients, constant, false});
    else if (coefficients < opposite)
      out.push_back({coefficients, constant, true});
  }
  rows = std::move(out);
  return Step::clean;
}

//===- Equalities ----------------------------------------------------------===//

/// Replaces variable by sign * definition, where `definition` does not mention it.
void IntegerSystem::substitute(size_t variable, const LinearConstraint &definition, int64_t sign) {
  for (LinearConstraint &row : rows) {
    int64_t factor = row.coefficients[variable];
    if (factor == 0)
      continue;
    factor = checkedMul(factor, sign);
    row.coefficients[variable] = 0;
    for (size_t j = 0; j < variables; ++j)
      if (definition.coefficients[j] != 0)
        row.coefficients[j] = checkedAdd(row.coefficients[j], checkedMul(factor, definition.coefficients[j]));
    row.constant = checkedAdd(row.constant, checkedMul(factor, definition.constant));
  }
}

/// a - m * round(a / m), between -m/2 and m/2.
static int64_t centeredMod(int64_t a, int64_t m) {
  int64_t r = floorMod(a, m);
  return r >= m - r ? r - m : r;
}

/// Introduces a variable that makes the coefficients of an equality smaller.
void IntegerSystem::defineByRemainder(size_t index, size_t variable) {
  LinearConstraint row = rows[index];
  int64_t a = row.coefficients[variable];
  int64_t m = checkedAdd(magnitude(a), 1), sign = a > 0 ? 1 : -1;
  for (LinearConstraint &other : rows)
    other.coefficients.push_back(0);
  ++variables;
  LinearConstraint definition;
  definition.coefficients.resize(variables, 0);
  for (size_t j = 0; j + 1 < variables; ++j)
    if (j != variable)
      definition.coefficients[j] = centeredMod(row.coefficients[j], m);
  definition.coefficients.back() = -m;
  definition.constant = centeredMod(row.constant, m);
  substitute(variable, definition, sign);
}

/// Replaces variables until no equality is left.
IntegerSystem::Step IntegerSystem::solveEqualities(Budget &budget) {
  while (true) {
    budget.spend(rows.size() * (variables + 1) + 1);
    if (normalize() == Step::contradiction)
      return Step::contradiction;
    auto found = std::find_if(rows.begin(), rows.end(), [](const LinearConstraint &row) { return row.equality; });
    if (found == rows.end())
      return Step::clean;
    size_t best = variables;
    for (size_t j = 0; j < variables; ++j) {
      int64_t c = magnitude(found->coefficients[j]);
      if (c != 0 && (best == variables || c < magnitude(found->coefficients[best])))
        best = j;
    }
    if (magnitude(found->coefficients[best]) != 1) {
      defineByRemainder(static_cast<size_t>(found - rows.begin()), best);
      continue;
    }
    LinearConstraint definition = *found;
    int64_t sign = -definition.coefficients[best]; // a*x + rest = 0, so x = -a*rest for a = 1 or -1
    definition.coefficients[best] = 0;
    rows.erase(found);
    substitute(best, definition, sign);
  }
}

//===- Inequalities --------------------------------------------------------===//

namespace {
struct Elimination {
  size_t variable = 0, lowers = 0, uppers = 0;
  int64_t lowest = 0, highest = 0; // largest coefficients of lower and upper bounds
  bool exact() const { return lowest <= 1 || highest <= 1; }
  /// Rows of the shadow, weighted by how many splinters it may need.
  double cost() const {
    double rows = static_cast<double>(lowers) * static_cast<double>(uppers);
    return exact() ? rows : rows * static_cast<double>(std::min(lowest, highest));
  }
};
} // namespace

static Elimination measure(const std::vector<LinearConstraint> &rows, size_t variable) {
  Elimination out;
  out.variable = variable;
  for (const LinearConstraint &row : rows) {
    int64_t c = row.coefficients[variable];
    if (c > 0) {
      ++out.lowers;
      out.lowest = std::max(out.lowest, c);
    } else if (c < 0) {
      ++out.uppers;
      out.highest = std::max(out.highest, checkedNeg(c));
    }
  }
  return out;
}

/// The system without `variable`: its real projection, or the dark one in which every point has an integer above it.
IntegerSystem IntegerSystem::shadow(size_t variable, bool dark) const {
  IntegerSystem out(variables);
  for (const LinearConstraint &row : rows)
    if (row.coefficients[variable] == 0)
      out.rows.push_back(row);
  for (const LinearConstraint &lower : rows) {
    int64_t a = lower.coefficients[variable];
    for (const LinearConstraint &upper : rows) {
      int64_t b = upper.coefficients[variable];
      if (a <= 0 || b >= 0)
        continue;
      b = checkedNeg(b);
      LinearConstraint row;
      row.coefficients.resize(variables, 0);
      for (size_t j = 0; j < variables; ++j)
        row.coefficients[j] = checkedAdd(checkedMul(lower.coefficients[j], b), checkedMul(upper.coefficients[j], a));
      row.constant = checkedAdd(checkedMul(lower.constant, b), checkedMul(upper.constant, a));
      if (dark)
        row.constant = checkedAdd(row.constant, -checkedMul(a - 1, b - 1));
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

/// Integer points that the dark shadow misses lie close above a lower bound.
bool IntegerSystem::splinter(size_t variable, Budget &budget) const {
  int64_t highest = measure(rows, variable).highest;
  for (const LinearConstraint &lower : rows) {
    int64_t a = lower.coefficients[variable];
    if (a <= 0)
      continue;
    int64_t last = floorDiv(checkedAdd(checkedMul(a, highest), -checkedAdd(a, highest)), highest);
    for (int64_t i = 0; i <= last; ++i) {
      IntegerSystem slice = *this;
      LinearConstraint row = lower;
      row.equality = true;
      row.constant = checkedAdd(row.constant, -i);
      slice.rows.push_back(std::move(row));
      if (slice.isFeasible(budget))
        return true;
    }
  }
  return false;
}

bool IntegerSystem::eliminate(Budget &budget) const {
  Elimination best;
  bool found = false;
  for (size_t j = 0; j < variables; ++j) {
    Elimination next = measure(rows, j);
    if (next.lowers + next.uppers == 0)
      continue;
    if (!found || next.exact() > best.exact() || (next.exact() == best.exact() && next.cost() < best.cost()))
      best = next;
    found = true;
  }
  if (!found)
    return true;
  budget.spend(best.lowers * best.uppers * (variables + 1));
  bool real = shadow(best.variable, false).isFeasible(budget);
  if (best.exact() || !real)
    return real;
  return shadow(best.variable, true).isFeasible(budget) || splinter(best.variable, budget);
}

bool IntegerSystem::isFeasible(Budget &budget) {
  do {
    if (solveEqualities(budget) == Step::contradiction || mergeParallel() == Step::contradiction)
      return false;
  } while (std::any_of(rows.begin(), rows.end(), [](const LinearConstraint &row) { return row.equality; }));
  return eliminate(budget);
}

} // namespace soliton::sym::detail
