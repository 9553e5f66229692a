//===- Simplify.cpp - Rewriting under facts --------------------------------===//
#include "soliton/symbolic/Simplify.h"
#include "soliton/symbolic/Cache.h"

namespace soliton::sym {
using namespace detail;

static VersionedCache<Expr> &cache() {
  static thread_local VersionedCache<Expr> instance;
  return instance;
}

void clearCaches() {
  cache().clear();
  clearAnalysisCache();
}

Expr simplify(Expr e, const Facts &facts) {
  requireDefined(e);
  ThrowMistakes scope;
  return Simplifier(facts).visit(e);
}
Expr simplify(Expr e) {
  return simplify(e, Facts());
}

Expr Simplifier::visit(Expr e) {
  if (e.isConstant())
    return e;
  if (e.isSymbol()) {
    Interval range = analysis.of(e).range;
    return range.single() ? Expr(range.lo) : e;
  }
  if (const Expr *known = cache().find(e, facts.version()))
    return *known;
  Expr out = fixpoint(e);
  cache().insert(e, facts.version(), out);
  if (out != e)
    cache().insert(out, facts.version(), out);
  return out;
}

/// Smaller first; ties in canonical order.
static bool better(Expr a, Expr b) {
  if (a.get()->weight != b.get()->weight)
    return a.get()->weight < b.get()->weight;
  return compare(a, b) < 0;
}

/// Steps until nothing changes. Should rules ever chase each other in a circle, the best member of the circle is the
/// result, whichever member one starts from.
Expr Simplifier::fixpoint(Expr e) {
  constexpr size_t maxSteps = 32;
  SmallVector<Expr, maxSteps> seen;
  while (true) {
    Expr next = step(e);
    if (next == e || next.isConstant() || next.isSymbol())
      return next == e ? e : visit(next);
    seen.push(e);
    Expr *again = std::find(seen.begin(), seen.end(), next);
    if (again != seen.end())
      return *std::min_element(again, seen.end(), better);
    if (seen.size() == maxSteps)
      return next;
    e = next;
  }
}

/// Errors that only say that a rewriting cannot be carried out; the expression stays as it is.
static bool isHarmless(const ExprError &error) {
  return error.kind() == ErrorKind::overflow || error.kind() == ErrorKind::tooLarge ||
         error.kind() == ErrorKind::divisionByZero || error.kind() == ErrorKind::badShift;
}

Expr Simplifier::step(Expr e) {
  try {
    Expr rebuilt = rebuild(e);
    return rebuilt != e ? rebuilt : applyRules(e);
  } catch (const ExprError &error) {
    if (!isHarmless(error))
      throw;
    return e;
  }
}

/// `e` over simplified operands.
Expr Simplifier::rebuild(Expr e) {
  if (e.kind() == Kind::select)
    return selection(e);
  if (e.kind() == Kind::add && e.get()->hasExactDiv)
    if (std::optional<Expr> joined = joinedFractions(e))
      return *joined;
  SmallVector<Expr, 8> operands;
  bool changed = false;
  for (Expr operand : e.operands()) {
    Term term = termOf(operand);
    Expr next = operand;
    if (e.kind() == Kind::add && term.coefficient != 1) { // the scaled addend itself has no rules
      Expr monomial = visit(Expr(term.monomial));
      if (monomial != Expr(term.monomial))
        next = Expr(term.coefficient) * monomial;
    } else {
      next = visit(operand);
    }
    operands.push(next);
    changed |= next != operand;
  }
  return changed ? build(e.kind(), operands.span()) : e;
}

Expr Simplifier::applyRules(Expr e) {
  if (Interval range = analysis.of(e).range; range.single() && e.kind() != Kind::exactDiv)
    return Expr(range.lo);
  switch (e.kind()) {
  case Kind::add:
    return sum(e);
  case Kind::mul:
    if (e.get()->monomial) {
      Linear one(e);
      return foldExactFloors(one) ? one.expr() : e;
    }
    return e;
  case Kind::floordiv:
  case Kind::ceildiv:
    if (std::optional<FloorView> view = floorView(e))
      return floor(e, *view);
    return symbolicDivision(e);
  case Kind::mod:
    if (std::optional<FloorView> view = modView(e))
      return remainder(e, *view);
    return symbolicDivision(e);
  case Kind::exactDiv:
    return exactDivision(e);
  case Kind::lt:
  case Kind::le:
    return ordering(e);
  case Kind::eq:
  case Kind::ne:
    return equality(e);
  case Kind::logicalAnd:
  case Kind::logicalOr:
    return connective(e);
  case Kind::min:
  case Kind::max:
    return extremum(e);
  case Kind::bitXor:
    return exclusiveOr(e);
  default:
    return e;
  }
}

} // namespace soliton::sym
