//===- Stride.cpp - Differences along a symbol, proven ---------------------===//
#include "soliton/symbolic/Facts.h"
#include "soliton/symbolic/Integer.h"

namespace soliton::sym {
using namespace detail;

/// The facts for which both `symbol` and `symbol + step` are allowed; nothing if that is never the case.
static std::optional<Facts> factsOfBoth(Expr symbol, int64_t step, const Facts &facts) {
  if (const Facts::Entry *entry = facts.find(symbol); entry && step % entry->divisor != 0)
    return std::nullopt;
  Range range = facts.rangeOf(symbol);
  Range narrowed;
  if (step > 0 && range.hi)
    narrowed.hi = checkedAdd(*range.hi, checkedNeg(step));
  if (step < 0 && range.lo)
    narrowed.lo = checkedAdd(*range.lo, checkedNeg(step));
  if ((range.lo && narrowed.hi && *range.lo > *narrowed.hi) || (range.hi && narrowed.lo && *narrowed.lo > *range.hi))
    return std::nullopt;
  Facts out = facts;
  out.setRange(symbol, narrowed);
  return out;
}

/// A value that `symbol` may take.
static int64_t anyValue(Expr symbol, const Facts &facts) {
  Range range = rangeOf(symbol, facts);
  return range.lo ? *range.lo : range.hi ? *range.hi : 0;
}

std::optional<Expr> differenceAlong(Expr e, Expr symbol, int64_t step, const Facts &facts) {
  requireDefined(e);
  ThrowMistakes scope;
  if (!contains(e, symbol) || step == 0)
    return Expr(0);
  try {
    std::optional<Facts> both = factsOfBoth(symbol, step, facts);
    if (!both)
      return std::nullopt;
    Expr moved = substitute(simplify(e, facts), {{symbol, symbol + step}});
    Expr difference = simplify(moved - simplify(e, *both), *both);
    if (!contains(difference, symbol))
      return difference;
    Expr candidate = simplify(substitute(difference, {{symbol, anyValue(symbol, *both)}}), facts);
    if (prove(eq(difference, candidate), *both) == true)
      return candidate;
  } catch (const ExprError &) { // overflow or an unproven exact division: no proof
  }
  return std::nullopt;
}

std::optional<int64_t> strideAlong(Expr e, Expr symbol, const Facts &facts) {
  std::optional<Expr> difference = differenceAlong(e, symbol, 1, facts);
  return difference ? difference->constantValue() : std::nullopt;
}

/// e[n*b + i] = e[n*b] + i for 0 <= i < n
static bool contiguousInBlocks(Expr e, Expr symbol, int64_t n, const Facts &facts) {
  Expr block = Expr::symbol("$run_block"), inner = Expr::symbol("$run_inner");
  Facts local = facts;
  Range range = facts.rangeOf(symbol);
  local.setRange(inner, {0, n - 1});
  local.setRange(block, {range.lo ? std::optional(floorDiv(*range.lo, n)) : std::nullopt,
                         range.hi ? std::optional(floorDiv(*range.hi, n)) : std::nullopt});
  Expr at = substitute(e, {{symbol, n * block + inner}});
  Expr first = substitute(e, {{symbol, n * block}});
  Expr rest = simplify(at - first - inner, local);
  return rest.isConstant(0) || prove(eq(rest, 0), local) == true;
}

int64_t contiguousRun(Expr e, Expr symbol, int64_t limit, const Facts &facts) {
  requireDefined(e);
  ThrowMistakes scope;
  int64_t best = 1;
  try {
    for (int64_t n = 2; n <= limit && contiguousInBlocks(e, symbol, n, facts); n *= 2)
      best = n;
  } catch (const ExprError &) {
  }
  return best;
}

} // namespace soliton::sym
