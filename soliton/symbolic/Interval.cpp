//===- Interval.cpp - Arithmetic of bounds and congruences -----------------===//
#include "soliton/symbolic/Analysis.h"

namespace soliton::sym::detail {

using Wide = __int128;

static int64_t lowerBound(Wide value) {
  if (value <= INT64_MIN)
    return INT64_MIN;
  return value >= INT64_MAX ? INT64_MAX - 1 : static_cast<int64_t>(value);
}

static int64_t upperBound(Wide value) {
  if (value >= INT64_MAX)
    return INT64_MAX;
  return value <= INT64_MIN ? INT64_MIN + 1 : static_cast<int64_t>(value);
}

Interval add(Interval a, Interval b) {
  Interval out;
  if (a.bounded() && b.bounded() && addInto(a.lo, b.lo, &out.lo) && addInto(a.hi, b.hi, &out.hi) && out.bounded())
    return out;
  out = {};
  if (a.hasLo() && b.hasLo())
    out.lo = lowerBound(Wide(a.lo) + b.lo);
  if (a.hasHi() && b.hasHi())
    out.hi = upperBound(Wide(a.hi) + b.hi);
  return out;
}

/// a * b where INT64_MIN and INT64_MAX are infinite.
static Wide corner(int64_t a, int64_t b) {
  constexpr Wide infinity = Wide(1) << 126;
  if (a == 0 || b == 0)
    return 0;
  bool infinite = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
  if (infinite)
    return (a < 0) == (b < 0) ? infinity : -infinity;
  return Wide(a) * b;
}

Interval multiply(Interval a, Interval b) {
  Wide corners[] = {corner(a.lo, b.lo), corner(a.lo, b.hi), corner(a.hi, b.lo), corner(a.hi, b.hi)};
  return {lowerBound(*std::min_element(corners, corners + 4)), upperBound(*std::max_element(corners, corners + 4))};
}

Interval scale(Interval a, int64_t factor) {
  if (factor == 0)
    return {0, 0};
  Interval out;
  if (a.bounded() && mulInto(factor < 0 ? a.hi : a.lo, factor, &out.lo) &&
      mulInto(factor < 0 ? a.lo : a.hi, factor, &out.hi) && out.bounded())
    return out;
  return factor == INT64_MIN ? Interval{} : multiply(a, {factor, factor});
}

static Congruence normal(int64_t modulus, Wide residue) {
  if (modulus == 0) {
    if (residue > INT64_MIN && residue < INT64_MAX)
      return {0, static_cast<int64_t>(residue)};
    return {};
  }
  if (modulus == 1)
    return {};
  if (residue >= INT64_MIN && residue <= INT64_MAX)
    return {modulus, floorMod(static_cast<int64_t>(residue), modulus)};
  Wide r = residue % modulus;
  return {modulus, static_cast<int64_t>(r < 0 ? r + modulus : r)};
}

Congruence add(Congruence a, Congruence b) {
  return normal(gcd(a.modulus, b.modulus), Wide(a.residue) + b.residue);
}

/// |a * b|, or its largest power-of-two divisor that fits.
static int64_t clampedProduct(int64_t a, int64_t b) {
  Wide value = Wide(a) * b;
  if (value < 0)
    value = -value;
  while (value > INT64_MAX) {
    if (value % 2 != 0)
      return 1;
    value /= 2;
  }
  return static_cast<int64_t>(value);
}

Congruence multiply(Congruence a, Congruence b) {
  int64_t modulus = gcd(gcd(clampedProduct(a.modulus, b.modulus), clampedProduct(a.modulus, b.residue)),
                        clampedProduct(a.residue, b.modulus));
  return normal(modulus, Wide(a.residue) * b.residue);
}

/// Facts that contradict each other allow no value at all; any interval is right, one of a single value is simplest.
static Interval nonEmpty(Interval range) {
  if (range.lo > range.hi)
    range.hi = range.lo;
  return range;
}

Congruence scale(Congruence a, int64_t factor) {
  int64_t modulus, residue;
  if (!mulInto(a.modulus, factor, &modulus) || !mulInto(a.residue, factor, &residue) || modulus == INT64_MIN)
    return multiply(a, Congruence{0, factor});
  return normal(modulus < 0 ? -modulus : modulus, residue);
}

Interval tighten(Interval range, Congruence congruence) {
  int64_t m = congruence.modulus;
  if (m == 0)
    return {congruence.residue, congruence.residue};
  if (m == 1)
    return nonEmpty(range);
  if (range.hasLo())
    range.lo = lowerBound(Wide(range.lo) + floorMod(congruence.residue - floorMod(range.lo, m), m));
  if (range.hasHi())
    range.hi = upperBound(Wide(range.hi) - floorMod(floorMod(range.hi, m) - congruence.residue, m));
  return nonEmpty(range);
}

} // namespace soliton::sym::detail
