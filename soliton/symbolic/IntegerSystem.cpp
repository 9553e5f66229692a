//===- IntegerSystem.cpp - The Omega test ----------------------------------===//
#include "soliton/symbolic/IntegerSystem.h"
#include "soliton/symbolic/Integer.h"

#include <algorithm>

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

/// The largest common factor of the coefficients, 0 if there are none.
static int64_t commonFactor(const std::vector<int64_t> &coefficients) {
  int64_t common = 0;
  for (int64_t c : coefficients)
    if (c != 0 && (common = gcd(common, c)) == 1)
      return 1;
  return common;
}

/// Divides by common factors and drops trivial rows.
IntegerSystem::Step IntegerSystem::normalize() {
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    LinearConstraint &row = rows[i];
    int64_t common = commonFactor(row.coefficients);
    if (common == 0) {
      if (row.equality ? row.constant != 0 : row.constant < 0)
        return Step::contradiction;
      continue;
    }
    if (row.equality && row.constant % common != 0)
      return Step::contradiction;
    if (common != 1) {
      for (int64_t &c : row.coefficients)
        c /= common;
      row.constant = floorDiv(row.constant, common);
    }
    if (kept != i)
      rows[kept] = std::move(row);
    ++kept;
  }
  rows.resize(kept);
  return Step::clean;
}

/// Less than, equal to or greater than 0, as `a` is before `b` times `sign` in the order of vectors.
static int compared(const std::vector<int64_t> &a, const std::vector<int64_t> &b, int64_t sign) {
  for (size_t j = 0; j < a.size(); ++j)
    if (int64_t other = checkedMul(b[j], sign); a[j] != other)
      return a[j] < other ? -1 : 1;
  return 0;
}

/// Of parallel inequalities the tightest stays; opposite ones that touch are an equality. Needs normalized rows.
IntegerSystem::Step IntegerSystem::mergeParallel() {
  auto firstInequality = std::stable_partition(rows.begin(), rows.end(), [](const auto &row) { return row.equality; });
  std::sort(firstInequality, rows.end(), [](const LinearConstraint &a, const LinearConstraint &b) {
    int order = compared(a.coefficients, b.coefficients, 1);
    return order != 0 ? order < 0 : a.constant < b.constant;
  });
  auto isParallel = [](const auto &a, const auto &b) { return a.coefficients == b.coefficients; };
  rows.erase(std::unique(firstInequality, rows.end(), isParallel), rows.end());
  // Opposite directions lie opposite in their order: one walk meets them all.
  std::vector<bool> isGone(rows.size(), false);
  auto low = static_cast<size_t>(firstInequality - rows.begin()), high = rows.size();
  while (low + 1 < high) {
    int order = compared(rows[low].coefficients, rows[high - 1].coefficients, -1);
    if (order == 0) {
      int64_t slack = checkedAdd(rows[low].constant, rows[high - 1].constant);
      if (slack < 0)
        return Step::contradiction;
      rows[low].equality = isGone[high - 1] = slack == 0;
    }
    low += order <= 0;
    high -= order >= 0;
  }
  size_t at = 0;
  std::erase_if(rows, [&](const LinearConstraint &) { return bool(isGone[at++]); });
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
    if (a <= 0)
      continue;
    for (const LinearConstraint &upper : rows) {
      if (upper.coefficients[variable] >= 0)
        continue;
      int64_t b = checkedNeg(upper.coefficients[variable]);
      LinearConstraint &row = out.rows.emplace_back(lower);
      for (size_t j = 0; j < variables; ++j)
        if (lower.coefficients[j] != 0 || upper.coefficients[j] != 0)
          row.coefficients[j] = checkedAdd(checkedMul(lower.coefficients[j], b), checkedMul(upper.coefficients[j], a));
      row.constant = checkedAdd(checkedMul(lower.constant, b), checkedMul(upper.constant, a));
      if (dark)
        row.constant = checkedAdd(row.constant, -checkedMul(a - 1, b - 1));
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
