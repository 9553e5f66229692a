//===- Analysis.cpp - Bounds and congruences of expressions ----------------===//
#include "soliton/symbolic/Analysis.h"
#include "soliton/symbolic/Cache.h"

#include <bit>

namespace soliton::sym {
using namespace detail;

static VersionedCache<Knowledge> &cache() {
  static thread_local VersionedCache<Knowledge> instance;
  return instance;
}

void detail::clearAnalysisCache() {
  cache().clear();
}

Knowledge Analysis::of(Expr e) {
  if (e.isConstant())
    return knowledgeOf(e.get()->value);
  if (e.isSymbol())
    return symbol(e);
  if (const Knowledge *known = cache().find(e, facts.version()))
    return *known;
  Knowledge out = compute(e);
  out.range = tighten(out.range, out.congruence);
  if (out.range.single())
    out.congruence = {0, out.range.lo};
  cache().insert(e, facts.version(), out);
  return out;
}

Knowledge Analysis::of(const Linear &sum) {
  Knowledge out = knowledgeOf(sum.constant);
  for (const Term &term : sum.terms) {
    Knowledge part = of(Expr(term.monomial));
    out.range = add(out.range, scale(part.range, term.coefficient));
    out.congruence = add(out.congruence, scale(part.congruence, term.coefficient));
  }
  out.range = tighten(out.range, out.congruence);
  return out;
}

std::optional<int64_t> Analysis::residueOf(const Term &term, int64_t n) {
  Congruence congruence = scale(of(Expr(term.monomial)).congruence, term.coefficient);
  if (congruence.modulus % n != 0)
    return std::nullopt;
  return floorMod(congruence.residue, n);
}

Knowledge Analysis::compute(Expr e) {
  switch (e.kind()) {
  case Kind::add:
    return of(Linear(e));
  case Kind::mul:
    return product(e);
  case Kind::exactDiv:
  case Kind::floordiv:
  case Kind::ceildiv:
    return division(e);
  case Kind::mod:
    return modulus(e);
  case Kind::min:
  case Kind::max:
  case Kind::select:
    return extremum(e);
  case Kind::bitXor:
    return exclusiveOr(e);
  case Kind::shl:
  case Kind::shr:
    return shift(e);
  default:
    return {{0, 1}, {}};
  }
}

Knowledge Analysis::symbol(Expr e) {
  Knowledge out;
  const Facts::Entry *entry = facts.find(e);
  if (!entry)
    return out;
  out.range.lo = std::min(entry->range.lo.value_or(INT64_MIN), INT64_MAX - 1);
  out.range.hi = std::max(entry->range.hi.value_or(INT64_MAX), INT64_MIN + 1);
  out.congruence = {entry->divisor, entry->residue};
  out.range = tighten(out.range, out.congruence);
  if (out.range.single())
    out.congruence = {0, out.range.lo};
  return out;
}

Knowledge Analysis::product(Expr e) {
  if (const Node *monomial = e.get()->monomial) {
    Knowledge part = of(Expr(monomial));
    return {scale(part.range, e.get()->value), scale(part.congruence, e.get()->value)};
  }
  Knowledge out{{1, 1}, {0, 1}};
  std::span<const Expr> factors = e.operands();
  for (size_t i = 0; i < factors.size(); ++i) {
    Knowledge part = of(factors[i]);
    bool square = i + 1 < factors.size() && factors[i] == factors[i + 1];
    if (square) { // never negative
      Interval squared = multiply(part.range, part.range);
      squared.lo = std::max<int64_t>(squared.lo, 0);
      part = {squared, multiply(part.congruence, part.congruence)};
      ++i;
    }
    out = {multiply(out.range, part.range), multiply(out.congruence, part.congruence)};
  }
  return out;
}

/// The quotient at one corner; a divisor of INT64_MAX is infinite.
static int64_t quotientAt(int64_t a, int64_t b, bool up) {
  if (a == INT64_MIN || a == INT64_MAX)
    return a;
  if (b == INT64_MAX)
    return up ? a > 0 : -(a < 0);
  return up ? ceilDiv(a, b) : floorDiv(a, b);
}

Knowledge Analysis::division(Expr e) {
  Knowledge a = of(e.operand(0)), b = of(e.operand(1)), out;
  bool up = e.kind() == Kind::ceildiv;
  if (b.range.lo >= 1) {
    out.range.lo = std::min(quotientAt(a.range.lo, b.range.lo, up), quotientAt(a.range.lo, b.range.hi, up));
    out.range.hi = std::max(quotientAt(a.range.hi, b.range.lo, up), quotientAt(a.range.hi, b.range.hi, up));
  }
  if (!e.operand(1).isConstant() || b.range.lo < 1)
    return out;
  int64_t n = b.range.lo, m = a.congruence.modulus;
  if (m % n == 0) {
    int64_t rest = up ? ceilDiv(a.congruence.residue, n) : floorDiv(a.congruence.residue, n);
    out.congruence = add(Congruence{m / n, 0}, Congruence{0, rest});
  }
  return out;
}

Knowledge Analysis::modulus(Expr e) {
  Knowledge a = of(e.operand(0)), b = of(e.operand(1)), out;
  if (b.range.lo >= 1) {
    if (a.range.lo >= 0 && a.range.hi < b.range.lo)
      return a;
    out.range = {0, b.range.hasHi() ? b.range.hi - 1 : INT64_MAX};
    if (a.range.lo >= 0)
      out.range.hi = std::min(out.range.hi, a.range.hi);
  } else if (b.range.hi <= -1) {
    out.range = {b.range.hasLo() ? b.range.lo + 1 : INT64_MIN, 0};
  }
  if (!e.operand(1).isConstant() || b.range.lo < 1)
    return out;
  int64_t n = b.range.lo;
  if (a.range.bounded() && floorDiv(a.range.lo, n) == floorDiv(a.range.hi, n))
    out.range = {floorMod(a.range.lo, n), floorMod(a.range.hi, n)};
  int64_t common = gcd(a.congruence.modulus, n);
  out.congruence = {common, floorMod(a.congruence.residue, common)};
  return out;
}

static Congruence join(Congruence a, Congruence b) {
  int64_t difference;
  if (__builtin_sub_overflow(a.residue, b.residue, &difference))
    return {};
  int64_t modulus = gcd(gcd(a.modulus, b.modulus), difference);
  return modulus == 0 ? a : Congruence{modulus, floorMod(a.residue, modulus)};
}

Knowledge Analysis::extremum(Expr e) {
  bool select = e.kind() == Kind::select;
  std::span<const Expr> operands = e.operands().subspan(select ? 1 : 0);
  Knowledge out = of(operands[0]);
  for (Expr operand : operands.subspan(1)) {
    Knowledge part = of(operand);
    bool least = e.kind() == Kind::min, most = e.kind() == Kind::max;
    out.range.lo = most ? std::max(out.range.lo, part.range.lo) : std::min(out.range.lo, part.range.lo);
    out.range.hi = least ? std::min(out.range.hi, part.range.hi) : std::max(out.range.hi, part.range.hi);
    out.congruence = join(out.congruence, part.congruence);
  }
  return out;
}

/// The largest power of two that divides every such value, at most 2^62.
static int64_t powerOfTwo(int64_t divisor) {
  return divisor == 0 ? int64_t(1) << 62 : int64_t(1) << std::min(62, std::countr_zero(static_cast<uint64_t>(divisor)));
}

/// One less than the power of two above every |value|; INT64_MAX if unbounded.
static int64_t bitMask(Interval range) {
  if (!range.bounded())
    return INT64_MAX;
  uint64_t largest = static_cast<uint64_t>(std::max(range.hi, range.lo < 0 ? -(range.lo + 1) : range.lo));
  return static_cast<int64_t>(std::bit_ceil(largest + 1) - 1);
}

Knowledge Analysis::exclusiveOr(Expr e) {
  Knowledge out{{0, 0}, {0, 0}};
  for (Expr operand : e.operands()) {
    Knowledge part = of(operand);
    int64_t mask = std::max(bitMask(out.range), bitMask(part.range));
    bool natural = out.range.lo >= 0 && part.range.lo >= 0;
    int64_t hi = natural ? add(out.range, part.range).hi : mask;
    out.range = {natural ? 0 : mask == INT64_MAX ? INT64_MIN : -mask - 1, std::min(mask, hi)};
    int64_t low = std::min(powerOfTwo(out.congruence.modulus), powerOfTwo(part.congruence.modulus));
    out.congruence = {low, floorMod(out.congruence.residue ^ part.congruence.residue, low)};
  }
  return out;
}

Knowledge Analysis::shift(Expr e) {
  Knowledge a = of(e.operand(0)), b = of(e.operand(1)), out;
  int64_t most = b.range.hi > 62 ? INT64_MAX : int64_t(1) << std::max<int64_t>(b.range.hi, 0);
  int64_t least = int64_t(1) << std::clamp<int64_t>(b.range.lo, 0, 62);
  if (e.kind() == Kind::shl) {
    out.range = multiply(a.range, {least, most});
    out.congruence = multiply(Congruence{0, least}, Congruence{a.congruence.divisor(), 0});
    return out;
  }
  out.range.lo = std::min(quotientAt(a.range.lo, least, false), quotientAt(a.range.lo, most, false));
  out.range.hi = std::max(quotientAt(a.range.hi, least, false), quotientAt(a.range.hi, most, false));
  return out;
}

//===- Public queries ------------------------------------------------------===//

static Range toRange(Interval interval) {
  Range out;
  if (interval.hasLo())
    out.lo = interval.lo;
  if (interval.hasHi())
    out.hi = interval.hi;
  return out;
}

Range rangeOf(Expr e, const Facts &facts) {
  requireDefined(e);
  ThrowMistakes scope;
  return toRange(Analysis(facts).of(e).range);
}
Range rangeOf(Expr e) {
  return rangeOf(e, Facts());
}
int64_t divisorOf(Expr e, const Facts &facts) {
  requireDefined(e);
  ThrowMistakes scope;
  return Analysis(facts).of(e).congruence.divisor();
}
int64_t divisorOf(Expr e) {
  return divisorOf(e, Facts());
}

} // namespace soliton::sym
