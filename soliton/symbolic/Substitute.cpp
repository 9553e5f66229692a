//===- Substitute.cpp - Simultaneous replacement of symbols ----------------===//
#include "soliton/symbolic/NodeMap.h"
#include "soliton/symbolic/SmallVector.h"

namespace soliton::sym {
using namespace detail;

Substitution::Substitution(std::initializer_list<std::pair<Expr, Expr>> pairs) {
  list.reserve(pairs.size());
  for (const auto &[symbol, value] : pairs)
    set(symbol, value);
}

void Substitution::set(Expr symbol, Expr value) {
  if (!symbol.isSymbol())
    throw ExprError(ErrorKind::badArgument, "cannot substitute `" + toString(symbol) + "`, expected a symbol");
  filter |= symbol.get()->symbols;
  for (auto &[known, target] : list) {
    if (known == symbol) {
      target = value;
      return;
    }
  }
  list.emplace_back(symbol, value);
}

const Expr *Substitution::find(Expr symbol) const {
  for (const auto &[known, value] : list)
    if (known == symbol)
      return &value;
  return nullptr;
}

namespace {
struct Substituter {
  const Substitution &substitution;
  NodeMap<Expr> done;

  Expr visit(Expr e) {
    if ((e.get()->symbols & substitution.symbols()) == 0)
      return e;
    if (e.isSymbol()) {
      const Expr *value = substitution.find(e);
      return value ? *value : e;
    }
    if (const Expr *known = done.find(e))
      return *known;
    Expr out = rebuild(e);
    done.insert(e, out);
    return out;
  }

  Expr rebuild(Expr e) {
    if (e.kind() == Kind::select) { // the branch that is not taken need not be defined
      Expr condition = visit(e.operand(0));
      if (condition.isConstant())
        return visit(e.operand(condition.isConstant(0) ? 2 : 1));
    }
    SmallVector<Expr, 8> operands;
    bool changed = false;
    for (Expr operand : e.operands()) {
      operands.push(visit(operand));
      changed |= operands.back() != operand;
    }
    return changed ? build(e.kind(), operands.span()) : e;
  }
};
} // namespace

Expr substitute(Expr e, const Substitution &substitution) {
  requireDefined(e);
  ThrowMistakes scope;
  return Substituter{substitution, {}}.visit(e);
}

} // namespace soliton::sym
