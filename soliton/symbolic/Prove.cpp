//===- Prove.cpp - Deciding predicates -------------------------------------===//
//
// A predicate holds if its negation together with the facts has no solution. Quotients and remainders by literals
// become fresh variables with two inequalities each, min, max, select and connectives become cases, everything else a
// variable with the bounds that the analysis knows; each case is a system of linear constraints over the integers.
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/IntegerSystem.h"
#include "soliton/symbolic/Simplify.h"

#include <map>

namespace soliton::sym {
using namespace detail;

namespace {

/// coefficient per variable, and a constant
using Row = std::map<size_t, int64_t>;
struct Affine {
  Row terms;
  int64_t constant = 0;

  void add(const Affine &other, int64_t scale) {
    for (const auto &[variable, coefficient] : other.terms) {
      int64_t &place = terms[variable];
      place = checkedAdd(place, checkedMul(coefficient, scale));
    }
    constant = checkedAdd(constant, checkedMul(other.constant, scale));
  }
};

/// One branch of the search: constraints found so far, predicates still to be added, choices made.
struct Case {
  std::vector<std::pair<Affine, bool>> rows; // >= 0, or == 0
  std::vector<Expr> pending;
  std::map<const Node *, size_t> variables;
  std::map<std::pair<const Node *, int64_t>, size_t> quotients;
  std::map<const Node *, Expr> choices;
  size_t count = 0;
};

class Decider {
public:
  Decider(const Facts &facts, Budget budget) : facts(facts), analysis(facts), budget(budget) {}

  /// Whether the predicate has a solution under the facts.
  bool hasSolution(Expr predicate) {
    Case start;
    start.pending.push_back(predicate);
    addAssumptions(start, predicate.get()->symbols);
    return search(std::move(start));
  }

private:
  void addAssumptions(Case &start, uint64_t symbols) {
    std::span<const Expr> all = facts.assumptions();
    std::vector<bool> taken(all.size());
    for (bool again = true; again;) {
      again = false;
      for (size_t i = 0; i < all.size(); ++i) {
        if (taken[i] || (!all[i].isConstant() && (all[i].get()->symbols & symbols) == 0))
          continue;
        taken[i] = again = true;
        symbols |= all[i].get()->symbols;
        start.pending.push_back(all[i]);
      }
    }
  }

  bool search(Case now) {
    while (!now.pending.empty()) {
      budget.spend(now.rows.size() + 1);
      Expr predicate = now.pending.back();
      now.pending.pop_back();
      std::vector<std::vector<Expr>> cases;
      splitting = nullptr;
      require(now, predicate, cases);
      if (splitting) {
        now.pending.push_back(predicate);
        return searchChoices(now, Expr(splitting));
      }
      if (cases.size() == 1)
        now.pending.insert(now.pending.end(), cases[0].begin(), cases[0].end());
      else if (cases.size() > 1)
        return searchCases(now, cases);
    }
    return solveSystem(now);
  }

  /// Adds a predicate: as a row, as further predicates (one case) or as alternatives (several).
  void require(Case &now, Expr p, std::vector<std::vector<Expr>> &cases) {
    switch (p.kind()) {
    case Kind::constant:
      if (p.isConstant(0))
        now.rows.push_back({Affine{{}, -1}, false});
      return;
    case Kind::logicalAnd:
      cases.push_back({p.operands().begin(), p.operands().end()});
      return;
    case Kind::logicalOr:
      for (Expr operand : p.operands())
        cases.push_back({operand});
      return;
    case Kind::select:
      cases.push_back({p.operand(0), p.operand(1)});
      cases.push_back({logicalNot(p.operand(0)), p.operand(2)});
      return;
    case Kind::logicalNot:
      return requireNot(p.operand(0), cases);
    case Kind::ne:
      cases.push_back({lt(p.operand(0), p.operand(1))});
      cases.push_back({lt(p.operand(1), p.operand(0))});
      return;
    default:
      return requireComparison(now, p);
    }
  }

  void requireNot(Expr p, std::vector<std::vector<Expr>> &cases) {
    if (p.kind() == Kind::logicalAnd) {
      for (Expr operand : p.operands())
        cases.push_back({logicalNot(operand)});
    } else if (p.kind() == Kind::logicalOr) {
      cases.emplace_back();
      for (Expr operand : p.operands())
        cases.back().push_back(logicalNot(operand));
    } else { // a select of predicates
      cases.push_back({p.operand(0), logicalNot(p.operand(1))});
      cases.push_back({logicalNot(p.operand(0)), logicalNot(p.operand(2))});
    }
  }

  void requireComparison(Case &now, Expr p) {
    Affine gap = affine(now, p.operand(1));
    if (!splitting)
      gap.add(affine(now, p.operand(0)), -1);
    if (splitting)
      return;
    if (p.kind() == Kind::lt)
      gap.constant = checkedAdd(gap.constant, -1);
    now.rows.push_back({std::move(gap), p.kind() == Kind::eq});
  }

  void descend() {
    if (++depth > 200)
      throwError(ErrorKind::tooLarge, "the decision has too many cases");
  }

  bool searchCases(const Case &now, const std::vector<std::vector<Expr>> &cases) {
    descend();
    for (const std::vector<Expr> &extra : cases) {
      Case next = now;
      next.pending.insert(next.pending.end(), extra.begin(), extra.end());
      if (search(std::move(next)))
        return true;
    }
    --depth;
    return false;
  }

  /// Cases over the value of a min, max, select or of a predicate that is used as a number.
  bool searchChoices(const Case &now, Expr atom) {
    descend();
    for (const auto &[value, condition] : choicesOf(atom)) {
      Case next = now;
      next.choices[atom.get()] = value;
      next.pending.push_back(condition);
      if (search(std::move(next)))
        return true;
    }
    --depth;
    return false;
  }

  static std::vector<std::pair<Expr, Expr>> choicesOf(Expr atom) {
    if (atom.kind() == Kind::select && !atom.isPredicate())
      return {{atom.operand(1), atom.operand(0)}, {atom.operand(2), logicalNot(atom.operand(0))}};
    if (atom.isPredicate())
      return {{Expr(1), atom}, {Expr(0), logicalNot(atom)}};
    std::vector<std::pair<Expr, Expr>> out;
    for (Expr chosen : atom.operands()) {
      Expr condition = 1;
      for (Expr other : atom.operands())
        if (chosen != other)
          condition = logicalAnd(condition, atom.kind() == Kind::min ? le(chosen, other) : le(other, chosen));
      out.push_back({chosen, condition});
    }
    return out;
  }

  static bool needsChoice(Expr atom) {
    Kind kind = atom.kind();
    return kind == Kind::min || kind == Kind::max || kind == Kind::select || atom.isPredicate();
  }

  Affine affine(Case &now, Expr e) {
    std::optional<Linear> flat = expanded(e, 64);
    Linear sum = flat ? std::move(*flat) : Linear(e);
    Affine out;
    out.constant = sum.constant;
    for (const Term &term : sum.terms) {
      Affine part = atomValue(now, Expr(term.monomial));
      if (splitting)
        return out;
      out.add(part, term.coefficient);
    }
    return out;
  }

  Affine atomValue(Case &now, Expr atom) {
    if (needsChoice(atom)) {
      auto chosen = now.choices.find(atom.get());
      if (chosen != now.choices.end())
        return affine(now, chosen->second);
      splitting = atom.get();
      return {};
    }
    std::optional<FloorView> view = floorView(atom);
    if (view)
      return variableOf(quotient(now, view->numerator, view->divisor));
    if ((view = modView(atom))) {
      size_t q = quotient(now, view->numerator, view->divisor);
      if (splitting)
        return {};
      Affine out = affine(now, view->numerator);
      out.add(variableOf(q), -view->divisor);
      return out;
    }
    return variableOf(variable(now, atom));
  }

  static Affine variableOf(size_t index) { return {{{index, 1}}, 0}; }

  /// q with 0 <= numerator - divisor*q < divisor
  size_t quotient(Case &now, Expr numerator, int64_t divisor) {
    auto known = now.quotients.find({numerator.get(), divisor});
    if (known != now.quotients.end())
      return known->second;
    Affine low = affine(now, numerator);
    if (splitting)
      return 0;
    size_t q = now.count++;
    now.quotients[{numerator.get(), divisor}] = q;
    low.add(variableOf(q), -divisor);
    Affine high;
    high.add(low, -1);
    high.constant = checkedAdd(high.constant, divisor - 1);
    now.rows.push_back({std::move(low), false});
    now.rows.push_back({std::move(high), false});
    return q;
  }

  /// A symbol or an opaque node, with what the analysis knows about it.
  size_t variable(Case &now, Expr atom) {
    auto known = now.variables.find(atom.get());
    if (known != now.variables.end())
      return known->second;
    size_t index = now.count++;
    now.variables[atom.get()] = index;
    Knowledge knowledge = analysis.of(atom);
    if (knowledge.range.hasLo())
      now.rows.push_back({Affine{{{index, 1}}, checkedNeg(knowledge.range.lo)}, false});
    if (knowledge.range.hasHi())
      now.rows.push_back({Affine{{{index, -1}}, knowledge.range.hi}, false});
    if (knowledge.congruence.modulus > 1) {
      size_t multiple = now.count++;
      now.rows.push_back(
          {Affine{{{index, 1}, {multiple, -knowledge.congruence.modulus}}, -knowledge.congruence.residue}, true});
    }
    relate(now, atom, index);
    return index;
  }

  /// What connects an opaque node with its operands: v < n for mod(x, n), n*v = x for exact division by a literal.
  void relate(Case &now, Expr atom, size_t index) {
    bool positiveMod = atom.kind() == Kind::mod && analysis.of(atom.operand(1)).range.lo >= 1;
    bool literalExact = atom.kind() == Kind::exactDiv && atom.operand(1).isConstant();
    if (!positiveMod && !literalExact)
      return;
    Affine row = affine(now, atom.operand(positiveMod ? 1 : 0));
    if (splitting) {
      now.variables.erase(atom.get()); // come back with the choice made
      return;
    }
    row.add(variableOf(index), positiveMod ? -1 : checkedNeg(atom.operand(1).get()->value));
    if (positiveMod)
      row.constant = checkedAdd(row.constant, -1);
    now.rows.push_back({std::move(row), literalExact});
  }

  bool solveSystem(const Case &now) {
    IntegerSystem system(now.count);
    for (const auto &[affine, equality] : now.rows) {
      LinearConstraint row;
      row.coefficients.resize(now.count, 0);
      for (const auto &[variable, coefficient] : affine.terms)
        row.coefficients[variable] = coefficient;
      row.constant = affine.constant;
      row.equality = equality;
      system.add(std::move(row));
    }
    return system.isFeasible(budget);
  }

  const Facts &facts;
  Analysis analysis;
  Budget budget;
  unsigned depth = 0;
  const Node *splitting = nullptr; // what must be chosen before the current predicate can be added
};

/// Work limits of one decision, in coefficients touched: about a tenth and a hundredth of a second.
constexpr int64_t proofLimit = 1'000'000, simplificationLimit = 100'000;

/// Whether no values satisfy the predicate and the facts; false also where the work limit or 64 bits do not suffice.
bool provenImpossible(Expr predicate, const Facts &facts, int64_t limit) {
  try {
    return !Decider(facts, Budget{limit}).hasSolution(predicate);
  } catch (const ExprError &) {
    return false;
  }
}

bool isAssumed(Expr predicate, const Facts &facts) {
  std::span<const Expr> assumed = facts.assumptions();
  return std::find(assumed.begin(), assumed.end(), predicate) != assumed.end();
}

std::optional<bool> decideWithin(Expr predicate, const Facts &facts, int64_t limit) {
  if (predicate.isConstant())
    return !predicate.isConstant(0);
  if (isAssumed(predicate, facts) || provenImpossible(logicalNot(predicate), facts, limit))
    return true;
  if (provenImpossible(predicate, facts, limit))
    return false;
  return std::nullopt;
}

} // namespace

std::optional<bool> detail::decide(Expr predicate, const Facts &facts) {
  return decideWithin(predicate, facts, simplificationLimit);
}

bool detail::holds(Expr predicate, const Facts &facts) {
  if (predicate.isConstant())
    return !predicate.isConstant(0);
  return isAssumed(predicate, facts) || provenImpossible(logicalNot(predicate), facts, simplificationLimit);
}

std::optional<bool> prove(Expr predicate, const Facts &facts) {
  requireDefined(predicate);
  ThrowMistakes scope;
  if (!predicate.isPredicate())
    predicate = ne(predicate, 0);
  return decideWithin(simplify(predicate, facts), facts, proofLimit);
}

std::optional<bool> prove(Expr predicate) {
  return prove(predicate, Facts());
}

} // namespace soliton::sym
