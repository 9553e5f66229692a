//===- SimplifySum.cpp - Rules for sums ------------------------------------===//
//
// The parts floor(x / p) and mod(floor(x / p), m) of one x are *digits* of x. Neighbouring digits join, a number minus
// its high digits is its low digits:
//
//   a*mod(x, m) + a*m*floordiv(x, m)                 ->  a*x
//   a*mod(x, 16) + 16*a*mod(floordiv(x, 16), 4)      ->  a*mod(x, 64)
//   a*floordiv(x, 4) - 4*a*floordiv(x, 16)           ->  a*mod(floordiv(x, 4), 4)
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/Simplify.h"

namespace soliton::sym {
using namespace detail;

namespace {

/// mod(floor(x / low), size); a size of 0 means that nothing is cut off above.
struct Digit {
  Expr x;
  int64_t low = 1, size = 0;
};

std::optional<Digit> digitOf(Expr e) {
  if (std::optional<FloorView> view = floorView(e))
    return Digit{view->numerator, view->divisor, 0};
  std::optional<FloorView> outer = modView(e);
  if (!outer)
    return std::nullopt;
  if (std::optional<FloorView> inner = floorView(outer->numerator))
    return Digit{inner->numerator, inner->divisor, outer->divisor};
  return Digit{outer->numerator, 1, outer->divisor};
}

Expr exprOf(const Digit &digit) {
  Expr whole = digit.low == 1 ? digit.x : floorOf(Linear(digit.x), digit.low);
  return digit.size == 0 ? whole : mod(whole, digit.size);
}

struct Joined {
  Expr value;
  int64_t coefficient;
};

/// Whether two sums differ by a multiple of `period` in every coefficient.
bool sameModulo(Expr a, Expr b, int64_t period) {
  if (a == b)
    return true;
  Linear difference(a);
  difference.add(b, -1);
  return gcd(difference.content(), difference.constant) % period == 0;
}

/// a * low digit + b * high digit, where the high one starts at or above the low one.
std::optional<Joined> join(const Digit &low, int64_t a, const Digit &high, int64_t b) {
  int64_t product;
  if (high.low % low.low != 0)
    return std::nullopt;
  int64_t gap = high.low / low.low;
  bool continued =
      gap != 1 && low.size == gap && sameModulo(low.x, high.x, high.low); // the low digit sees x modulo that
  if (low.x != high.x && !continued)
    return std::nullopt;
  if (gap == 1) { // the same start: a*mod(y, m) - a*mod(y, m*k) = -a*m*mod(floor(y/m), k)
    bool shorter = low.size != 0 && (high.size == 0 || (high.size > low.size && high.size % low.size == 0));
    if (!shorter || b == INT64_MIN || a != -b || !mulInto(low.low, low.size, &product) || !mulInto(b, low.size, &b))
      return std::nullopt;
    return Joined{exprOf({low.x, product, high.size == 0 ? 0 : high.size / low.size}), b};
  }
  if (!mulInto(a, gap, &product) || product == INT64_MIN)
    return std::nullopt;
  if (b == product && continued) {
    int64_t size = 0;
    if (high.size != 0 && !mulInto(low.size, high.size, &size))
      return std::nullopt;
    return Joined{exprOf({high.x, low.low, size}), a};
  }
  if (low.x != high.x)
    return std::nullopt;
  bool sameEnd = low.size == 0 ? high.size == 0 : high.size != 0 && low.size / gap == high.size && low.size % gap == 0;
  if (b == -product && sameEnd)
    return Joined{exprOf({low.x, low.low, gap}), a};
  return std::nullopt;
}

} // namespace

bool Simplifier::mergeDigits(Linear &sum) {
  SmallVector<size_t, 12> places;
  SmallVector<Digit, 12> digits;
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    if (std::optional<Digit> digit = digitOf(Expr(sum.terms[i].monomial))) {
      places.push(i);
      digits.push(*digit);
    }
  }
  for (size_t i = 0; i < digits.size(); ++i) {
    for (size_t j = 0; j < digits.size(); ++j) {
      Term low = sum.terms[places[i]], high = sum.terms[places[j]];
      std::optional<Joined> joined;
      if (i != j)
        joined = join(digits[i], low.coefficient, digits[j], high.coefficient);
      if (!joined)
        continue;
      sum.terms.erase(std::max(places[i], places[j]));
      sum.terms.erase(std::min(places[i], places[j]));
      sum.add(joined->value, joined->coefficient);
      return true;
    }
  }
  return false;
}

/// Whether `sum` contains times * x: exactly for a sum x, at least that much for a single term.
static bool containsMultiple(const Linear &sum, const Linear &x, int64_t times) {
  for (const Term &term : x.terms) {
    int64_t wanted, have = sum.coefficientOf(term.monomial);
    if (!mulInto(term.coefficient, times, &wanted) || wanted == INT64_MIN || have == INT64_MIN)
      return false;
    if (have == wanted)
      continue;
    bool enough = x.terms.size() == 1 && (have > 0) == (wanted > 0) && std::abs(have) > std::abs(wanted);
    if (!enough)
      return false;
  }
  return !x.terms.empty();
}

/// a*x - a*n*floor(x/n) -> a*mod(x, n) and a*mod(x, n) - a*x -> -a*n*floor(x/n), where x is among the addends.
bool Simplifier::matchWholes(Linear &sum) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    Expr atom(sum.terms[i].monomial);
    int64_t coefficient = sum.terms[i].coefficient, scaled;
    std::optional<FloorView> view = floorView(atom);
    bool whole = view.has_value();
    if (!view && !(view = modView(atom)))
      continue;
    if (coefficient == INT64_MIN || (whole && coefficient % view->divisor != 0))
      continue;
    int64_t times = whole ? -(coefficient / view->divisor) : -coefficient;
    Linear x(view->numerator);
    if (!containsMultiple(sum, x, times) || !mulInto(times, view->divisor, &scaled))
      continue;
    sum.terms.erase(i);
    sum.add(x, -times);
    if (whole)
      sum.add(modOf(x, view->divisor), times);
    else
      sum.add(floorOf(x, view->divisor), scaled);
    return true;
  }
  return false;
}

/// c*floor(x/n) where x modulo n is known: the division is exact up to that residue, so common factors of c and n
/// cancel.
bool Simplifier::foldExactFloors(Linear &sum) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    std::optional<FloorView> view = floorView(Expr(sum.terms[i].monomial));
    if (!view)
      continue;
    int64_t coefficient = sum.terms[i].coefficient, common = gcd(coefficient, view->divisor);
    Congruence congruence = analysis.of(view->numerator).congruence;
    if (common <= 1 || congruence.modulus % view->divisor != 0)
      continue;
    Linear exact(view->numerator);
    exact.addConstant(-floorMod(congruence.residue, view->divisor));
    sum.terms.erase(i);
    sum.add(floorOf(exact, view->divisor / common), coefficient / common);
    return true;
  }
  return false;
}

/// Products of sums multiplied out where that makes the sum smaller.
Expr Simplifier::multipliedOut(Expr e) {
  bool nested = false;
  for (Expr addend : e.operands())
    if (addend.kind() == Kind::mul)
      for (Expr factor : addend.operands())
        nested |= factor.kind() == Kind::add;
  if (!nested)
    return e;
  std::optional<Linear> flat = expanded(e, 64);
  if (!flat)
    return e;
  Expr out = flat->expr();
  return out.get()->weight < e.get()->weight ? out : e;
}

/// x/2 + y/2 is (x + y)/2: exact divisions of one sum are proven together.
std::optional<Expr> Simplifier::joinedFractions(Expr e) {
  Linear whole, fractions;
  Linear sum(e);
  whole.constant = sum.constant;
  for (const Term &term : sum.terms)
    (term.monomial->kind == Kind::exactDiv ? fractions : whole).terms.push(term);
  if (fractions.terms.size() < 2)
    return std::nullopt;
  Fraction joined = fractionOf(fractions.expr());
  whole.add(joined.numerator / joined.denominator);
  Expr out = whole.expr();
  return out == e ? std::nullopt : std::optional<Expr>(out);
}

Expr Simplifier::sum(Expr e) {
  Linear sum(e);
  if (foldExactFloors(sum) || mergeDigits(sum) || matchWholes(sum))
    return sum.expr();
  return multipliedOut(e);
}

} // namespace soliton::sym
