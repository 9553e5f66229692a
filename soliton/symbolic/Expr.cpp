//===- Expr.cpp - Sums, products, structure queries ------------------------===//
#include "soliton/symbolic/Expr.h"
#include "soliton/symbolic/Linear.h"
#include "soliton/symbolic/Mistake.h"

#include <unordered_set>

namespace soliton::sym {
using namespace detail;

//===- Errors --------------------------------------------------------------===//

void detail::throwOverflow(const char *operation, int64_t a, int64_t b) {
  throw ExprError(ErrorKind::overflow, "the coefficient " + std::to_string(a) + " " + operation + " " +
                                           std::to_string(b) + " does not fit 64 signed bits");
}

void detail::throwError(ErrorKind kind, const char *message) {
  throw ExprError(kind, message);
}

std::string_view kindName(Kind kind) {
  static constexpr std::string_view names[] = {"constant", "symbol", "add", "mul",    "exactDiv", "floordiv", "ceildiv",
                                               "mod",      "min",    "max", "select", "lt",       "le",       "eq",
                                               "ne",       "and",    "or",  "not",    "xor",      "shl",      "shr"};
  return names[static_cast<size_t>(kind)];
}

//===- Sums and products ---------------------------------------------------===//

Expr Expr::symbol(std::string_view name) {
  if (!name.empty() && name.size() <= 4096)
    return Expr(internSymbol(name));
  return guarded("symbol", {},
                 []() -> Expr { throwError(ErrorKind::badArgument, "a symbol needs a name of 1 to 4096 characters"); });
}

Expr operator+(Expr a, Expr b) {
  return guarded("+", {a, b}, [&] {
    if (a.isConstant(0))
      return b;
    if (b.isConstant(0))
      return a;
    Linear sum(a);
    sum.add(b);
    return sum.expr();
  });
}

Expr operator-(Expr a, Expr b) {
  return guarded("-", {a, b}, [&] {
    Linear sum(a);
    sum.add(b, -1);
    return sum.expr();
  });
}

Expr operator-(Expr a) {
  return guarded("-", {a}, [&] {
    Linear sum(a);
    sum.scale(-1);
    return sum.expr();
  });
}

static Expr multiply(Expr a, Expr b) {
  if (a.isConstant() || b.isConstant()) {
    if (b.isConstant())
      std::swap(a, b);
    if (a.isConstant(1))
      return b;
    Linear sum(b);
    sum.scale(a.get()->value);
    return sum.expr();
  }
  const Expr factors[] = {a, b};
  return product(factors);
}

Expr operator*(Expr a, Expr b) {
  return guarded("*", {a, b}, [&] { return multiply(a, b); });
}

static Expr power(Expr base, int64_t exponent) {
  if (exponent < 0)
    throwError(ErrorKind::badArgument, "a power needs an exponent of 0 or more");
  if (base.isConstant(0) || base.isConstant(1))
    return exponent == 0 ? Expr(1) : base;
  if (exponent > 64)
    throwError(ErrorKind::tooLarge, "a power needs an exponent of at most 64");
  Expr out = 1;
  for (int64_t i = 0; i < exponent; ++i)
    out = out * base;
  return out;
}

Expr pow(Expr base, int64_t exponent) {
  return guarded("pow", {base, Expr(exponent)}, [&] { return power(base, exponent); });
}

//===- Structure -----------------------------------------------------------===//

int compare(Expr a, Expr b) {
  return compareNodes(a.get(), b.get());
}

/// Calls `visit` once per distinct node, operands first.
template <typename F>
static void forEachNode(Expr e, std::unordered_set<const Node *> &seen, F &&visit) {
  if (!seen.insert(e.get()).second)
    return;
  for (Expr operand : e.operands())
    forEachNode(operand, seen, visit);
  visit(e);
}

std::vector<Expr> symbolsOf(Expr e) {
  std::vector<Expr> out;
  std::unordered_set<const Node *> seen;
  forEachNode(e, seen, [&](Expr node) {
    if (node.isSymbol())
      out.push_back(node);
  });
  std::sort(out.begin(), out.end(), [](Expr a, Expr b) { return a.symbolName() < b.symbolName(); });
  return out;
}

size_t nodeCount(Expr e) {
  std::unordered_set<const Node *> seen;
  forEachNode(e, seen, [](Expr) {});
  return seen.size();
}

static bool containsIn(const Node *n, const Node *symbol, std::unordered_set<const Node *> &seen) {
  if (n == symbol)
    return true;
  if ((n->symbols & symbol->symbols) == 0 || n->count == 0 || !seen.insert(n).second)
    return false;
  for (Expr operand : Expr(n).operands())
    if (containsIn(operand.get(), symbol, seen))
      return true;
  return false;
}

bool contains(Expr e, Expr symbol) {
  if ((e.get()->symbols & symbol.get()->symbols) == 0)
    return false;
  std::unordered_set<const Node *> seen;
  return containsIn(e.get(), symbol.get(), seen);
}

AffineTerms affineTerms(Expr e) {
  requireDefined(e);
  Linear sum(e);
  AffineTerms out;
  out.constant = sum.constant;
  for (const Term &term : sum.terms)
    out.terms.push_back({term.coefficient, Expr(term.monomial)});
  return out;
}

Expr fromAffineTerms(const AffineTerms &terms) {
  ThrowMistakes scope;
  Linear sum(terms.constant);
  for (const AffineTerm &term : terms.terms)
    sum.add(term.atom, term.coefficient);
  return sum.expr();
}

Split splitBy(Expr e, std::span<const Expr> symbols) {
  requireDefined(e);
  ThrowMistakes scope;
  auto mentions = [&](Expr part) {
    return std::any_of(symbols.begin(), symbols.end(), [&](Expr symbol) { return contains(part, symbol); });
  };
  std::optional<Linear> flat = expanded(e, 256);
  Linear sum = flat ? std::move(*flat) : Linear(e), with, without(sum.constant);
  for (const Term &term : sum.terms)
    (mentions(Expr(term.monomial)) ? with : without).terms.push(term);
  return {with.expr(), without.expr()};
}

} // namespace soliton::sym
