//===- SimplifyLogic.cpp - Rules for predicates, min, max, select, xor -----===//
#include "soliton/symbolic/Cache.h"
#include "soliton/symbolic/Simplify.h"

#include <bit>

namespace soliton::sym {
using namespace detail;

//===- Comparisons ---------------------------------------------------------===//

/// right - left, such that a lt holds where it is >= 1.
static Linear gapOf(Expr e) {
  Linear gap(e.operand(1));
  gap.add(e.operand(0), -1);
  if (e.kind() == Kind::le)
    gap.addConstant(1);
  return gap;
}

/// g*A + B >= 1 depends on A alone where B - 1 stays within one block of size g.
Expr Simplifier::ordering(Expr e) {
  Linear gap = gapOf(e);
  Interval range = analysis.of(gap).range;
  if (range.lo >= 1 || (range.hi <= 0 && range.hasHi()))
    return Expr(range.lo >= 1);
  for (int64_t size : blockSizes(gap, 0)) {
    Blocks blocks = splitBlocks(gap, size);
    if (blocks.rest.isConstant())
      continue;
    Linear below = blocks.rest;
    below.addConstant(-1);
    if (std::optional<int64_t> block = blockOf(below, size)) {
      blocks.multiples.addConstant(*block);
      return le(0, blocks.multiples.expr());
    }
  }
  if (!facts.assumptions().empty())
    if (std::optional<bool> decided = decide(e, facts))
      return Expr(*decided);
  return e;
}

Expr Simplifier::equality(Expr e) {
  Linear gap = gapOf(e);
  Knowledge knowledge = analysis.of(gap);
  bool wanted = e.kind() == Kind::eq;
  if (knowledge.range.lo > 0 || knowledge.range.hi < 0 ||
      (knowledge.congruence.modulus != 0 && knowledge.congruence.residue != 0))
    return Expr(!wanted);
  if (!facts.assumptions().empty())
    if (std::optional<bool> decided = decide(e, facts))
      return Expr(*decided);
  return e;
}

//===- Connectives ---------------------------------------------------------===//

/// a - b if it is a literal.
static std::optional<int64_t> literalDifference(Linear a, const Linear &b) {
  a.add(b, -1);
  return a.isConstant() ? std::optional<int64_t>(a.constant) : std::nullopt;
}

/// Of two bounds of the same sum only the one that decides is kept.
Expr Simplifier::connective(Expr e) {
  std::span<const Expr> operands = e.operands();
  bool all = e.kind() == Kind::logicalAnd;
  auto isOrdering = [](Expr operand) { return operand.kind() == Kind::lt || operand.kind() == Kind::le; };
  for (size_t i = 0; i < operands.size() && operands.size() <= 16; ++i) {
    for (size_t j = 0; j < operands.size(); ++j) {
      if (i == j || !isOrdering(operands[i]) || !isOrdering(operands[j]))
        continue;
      std::optional<int64_t> difference = literalDifference(gapOf(operands[i]), gapOf(operands[j]));
      if (!difference || (all ? *difference < 0 : *difference > 0))
        continue;
      SmallVector<Expr, 8> kept; // operand i holds wherever j does (or the other way round, for `or`)
      for (size_t k = 0; k < operands.size(); ++k)
        if (k != i)
          kept.push(operands[k]);
      return kept.size() == 1 ? kept[0] : build(e.kind(), kept.span());
    }
  }
  return e;
}

//===- Minimum, maximum, select --------------------------------------------===//

Expr Simplifier::extremum(Expr e) {
  std::span<const Expr> operands = e.operands();
  for (size_t i = 0; i < operands.size() && operands.size() <= 16; ++i) {
    for (size_t j = 0; j < operands.size(); ++j) {
      if (i == j)
        continue;
      Linear gap(operands[i]); // operand i is superfluous if it is never below (min) or above (max) operand j
      gap.add(operands[j], -1);
      Interval range = analysis.of(gap).range;
      bool superfluous = e.kind() == Kind::min ? range.lo >= 0 : range.hi <= 0;
      if (!superfluous && !facts.assumptions().empty() && operands.size() <= 4) {
        Expr claim = e.kind() == Kind::min ? le(operands[j], operands[i]) : le(operands[i], operands[j]);
        superfluous = holds(claim, facts);
      }
      if (!superfluous)
        continue;
      SmallVector<Expr, 8> kept;
      for (size_t k = 0; k < operands.size(); ++k)
        if (k != i)
          kept.push(operands[k]);
      return e.kind() == Kind::min ? min(kept.span()) : max(kept.span());
    }
  }
  return e;
}

/// The facts of a branch: those outside and what its condition says about single symbols. Null if it says nothing.
static std::shared_ptr<const Facts> branchFacts(const Facts &facts, Expr condition) {
  static thread_local VersionedCache<std::shared_ptr<const Facts>> cache;
  if (const std::shared_ptr<const Facts> *known = cache.find(condition, facts.version()))
    return *known;
  auto refined = std::make_shared<Facts>(facts);
  std::shared_ptr<const Facts> out = refined->refine(condition) ? refined : nullptr;
  cache.insert(condition, facts.version(), out);
  return out;
}

Expr Simplifier::branch(Expr e, Expr condition) {
  std::shared_ptr<const Facts> refined = branchFacts(facts, condition);
  return refined ? Simplifier(*refined).visit(e) : visit(e);
}

/// The condition first: only the chosen branch has to make sense. A branch may use that its condition holds.
Expr Simplifier::selection(Expr e) {
  Expr condition = visit(e.operand(0));
  if (condition.isConstant())
    return visit(e.operand(condition.isConstant(0) ? 2 : 1));
  return select(condition, branch(e.operand(1), condition), branch(e.operand(2), logicalNot(condition)));
}

//===- Bits ----------------------------------------------------------------===//

/// The largest power of two that divides every value.
static int64_t alignmentOf(const Congruence &congruence) {
  int64_t divisor = congruence.divisor();
  return divisor == 0 ? 0 : int64_t(1) << std::countr_zero(static_cast<uint64_t>(divisor));
}

/// xor of parts without common bits is their sum; common factors of two come out.
Expr Simplifier::exclusiveOr(Expr e) {
  std::span<const Expr> operands = e.operands();
  for (size_t i = 0; i < operands.size() && operands.size() <= 16; ++i) {
    for (size_t j = 0; j < operands.size(); ++j) {
      if (i == j)
        continue;
      int64_t alignment = alignmentOf(analysis.of(operands[i]).congruence);
      if (!analysis.of(operands[j]).range.within(0, alignment - 1))
        continue;
      SmallVector<Expr, 8> kept;
      kept.push(operands[i] + operands[j]);
      kept.push(Expr(0));
      for (size_t k = 0; k < operands.size(); ++k)
        if (k != i && k != j)
          kept.push(operands[k]);
      return build(Kind::bitXor, kept.span());
    }
  }
  int64_t common = 0;
  for (Expr operand : operands) {
    Linear sum(operand);
    common = gcd(common, gcd(sum.content(), sum.constant));
  }
  common = common & -common;
  if (common <= 1)
    return e;
  SmallVector<Expr, 8> reduced;
  for (Expr operand : operands)
    reduced.push(floordiv(operand, common));
  return Expr(common) * build(Kind::bitXor, reduced.span());
}

} // namespace soliton::sym
