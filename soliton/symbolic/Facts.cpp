//===- Facts.cpp - What is known about symbols -----------------------------===//
#include "soliton/symbolic/Facts.h"
#include "soliton/symbolic/Division.h"

#include <atomic>

namespace soliton::sym {
using namespace detail;

void Facts::changed() {
  static std::atomic<uint64_t> versions{0};
  id = ++versions;
}

const Facts::Entry *Facts::find(Expr symbol) const {
  for (const Entry &entry : list)
    if (entry.symbol == symbol)
      return &entry;
  return nullptr;
}

Facts::Entry &Facts::entryOf(Expr symbol) {
  if (!symbol.isSymbol())
    throw ExprError(ErrorKind::badArgument, "a fact about `" + toString(symbol) + "`, expected a symbol");
  for (Entry &entry : list)
    if (entry.symbol == symbol)
      return entry;
  list.push_back({symbol, {}, 1, 0});
  return list.back();
}

Range Facts::rangeOf(Expr symbol) const {
  const Entry *entry = find(symbol);
  return entry ? entry->range : Range();
}

void Facts::setRange(Expr symbol, Range range) {
  Range &known = entryOf(symbol).range;
  if (range.lo && (!known.lo || *known.lo < *range.lo))
    known.lo = range.lo;
  if (range.hi && (!known.hi || *known.hi > *range.hi))
    known.hi = range.hi;
  changed();
}

void Facts::setDivisor(Expr symbol, int64_t divisor) {
  if (divisor < 1)
    throw ExprError(ErrorKind::badArgument,
                    "the divisor " + std::to_string(divisor) + " of `" + toString(symbol) + "`, expected 1 or more");
  setCongruence(symbol, divisor, 0);
}

/// Combines two congruences; one that does not combine within 64 bits or contradicts the other is kept as it was.
void Facts::setCongruence(Expr symbol, int64_t divisor, int64_t residue) {
  Entry &entry = entryOf(symbol);
  changed();
  if (divisor % entry.divisor == 0) {
    entry.divisor = divisor;
    entry.residue = floorMod(residue, divisor);
    return;
  }
  int64_t combined;
  if (residue != 0 || entry.residue != 0 || !mulInto(entry.divisor / gcd(entry.divisor, divisor), divisor, &combined)) {
    predicates.push_back(make(Kind::eq, make(Kind::mod, symbol, Expr(divisor)), Expr(residue)));
    return;
  }
  entry.divisor = combined;
}

/// lt, le and eq of one symbol and a constant.
bool Facts::assumeBound(Expr predicate) {
  Kind kind = predicate.kind();
  if (kind != Kind::lt && kind != Kind::le && kind != Kind::eq)
    return false;
  Expr a = predicate.operand(0), b = predicate.operand(1);
  int64_t strict = kind == Kind::lt;
  if (a.isSymbol() && b.isConstant()) {
    setRange(a, {kind == Kind::eq ? b.constantValue() : std::nullopt, checkedAdd(b.get()->value, -strict)});
    return true;
  }
  if (a.isConstant() && b.isSymbol()) {
    setRange(b, {checkedAdd(a.get()->value, strict), std::nullopt});
    return true;
  }
  return false;
}

/// mod(symbol, divisor) == residue
bool Facts::assumeCongruence(Expr predicate) {
  if (predicate.kind() != Kind::eq || !predicate.operand(1).isConstant())
    return false;
  std::optional<FloorView> view = modView(predicate.operand(0));
  if (!view || !view->numerator.isSymbol())
    return false;
  int64_t residue = predicate.operand(1).get()->value;
  if (residue < 0 || residue >= view->divisor)
    return false;
  setCongruence(view->numerator, view->divisor, residue);
  return true;
}

bool Facts::refine(Expr predicate) {
  if (predicate.kind() != Kind::logicalAnd)
    return assumeBound(predicate) || assumeCongruence(predicate);
  bool any = false;
  for (Expr part : predicate.operands())
    any |= refine(part);
  return any;
}

void Facts::assume(Expr predicate) {
  requireDefined(predicate);
  ThrowMistakes scope;
  if (!predicate.isPredicate())
    predicate = ne(predicate, 0);
  predicate = simplify(predicate, *this);
  if (predicate.isConstant(1))
    return;
  if (predicate.kind() == Kind::logicalAnd) {
    for (Expr part : predicate.operands())
      assume(part);
    return;
  }
  if (assumeBound(predicate) || assumeCongruence(predicate))
    return;
  predicates.push_back(predicate);
  changed();
}

} // namespace soliton::sym
