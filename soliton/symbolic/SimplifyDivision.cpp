//===- SimplifyDivision.cpp - Rules for quotients and remainders -----------===//
//
// A sum g*A + B whose part B stays within one block of size g behaves like A alone:
//
//   floordiv(8*t + c, 32)  ->  floordiv(t, 4)         0 <= c < 8
//   mod(8*t + c, 32)       ->  8*mod(t, 4) + c
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/Simplify.h"

namespace soliton::sym {
using namespace detail;

Blocks detail::splitBlocks(const Linear &sum, int64_t size) {
  Blocks out;
  out.rest.constant = sum.constant;
  for (const Term &term : sum.terms) {
    if (term.coefficient % size == 0)
      out.multiples.terms.push({term.monomial, term.coefficient / size});
    else
      out.rest.terms.push(term);
  }
  return out;
}

SmallVector<int64_t, 12> detail::blockSizes(const Linear &sum, int64_t divisor) {
  SmallVector<int64_t, 12> out;
  for (const Term &term : sum.terms) {
    int64_t size = gcd(term.coefficient, divisor);
    if (size > 1 && std::find(out.begin(), out.end(), size) == out.end())
      out.push(size);
  }
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

/// v with v*size <= part < (v+1)*size everywhere.
std::optional<int64_t> Simplifier::blockOf(const Linear &part, int64_t size) {
  Interval range = analysis.of(part).range;
  if (!range.bounded() || floorDiv(range.lo, size) != floorDiv(range.hi, size))
    return std::nullopt;
  return floorDiv(range.lo, size);
}

/// Takes the terms whose residue modulo n is known out of `sum`; their quotients go to `quotient`.
static bool takeKnownResidues(Linear &sum, int64_t n, Analysis &analysis, Linear &quotient) {
  bool any = false;
  for (size_t i = 0; i < sum.terms.size();) {
    Term term = sum.terms[i];
    std::optional<int64_t> residue = analysis.residueOf(term, n);
    if (!residue) {
      ++i;
      continue;
    }
    Linear alone;
    alone.terms.push(term);
    alone.constant = -*residue;
    quotient.add(floorOf(alone, n));
    sum.terms.erase(i);
    sum.addConstant(*residue);
    any = true;
  }
  return any;
}

/// floor((floor(y/m) + rest) / n) = floor((y + m*rest) / (m*n))
static std::optional<Expr> mergeInnerFloor(const Linear &sum, int64_t n) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    if (sum.terms[i].coefficient != 1)
      continue;
    std::optional<FloorView> inner = floorView(Expr(sum.terms[i].monomial));
    int64_t combined;
    if (!inner || !mulInto(inner->divisor, n, &combined))
      continue;
    Linear numerator = sum;
    numerator.terms.erase(i);
    numerator.scale(inner->divisor);
    numerator.add(inner->numerator);
    return floorOf(std::move(numerator), combined);
  }
  return std::nullopt;
}

Expr Simplifier::floor(Expr e, const FloorView &view) {
  Linear sum(view.numerator), quotient;
  int64_t n = view.divisor;
  if (sum.terms.size() > 1 || sum.constant != 0) {
    if (takeKnownResidues(sum, n, analysis, quotient)) {
      quotient.add(floorOf(std::move(sum), n));
      Expr out = quotient.expr();
      if (out != e)
        return out;
      sum = Linear(view.numerator);
    }
  }
  for (int64_t size : blockSizes(sum, n)) {
    Blocks blocks = splitBlocks(sum, size);
    if (std::optional<int64_t> block = blockOf(blocks.rest, size); block && !blocks.rest.isConstant()) {
      blocks.multiples.addConstant(*block);
      return floorOf(std::move(blocks.multiples), n / size);
    }
  }
  if (std::optional<Expr> merged = mergeInnerFloor(sum, n))
    return *merged;
  return e;
}

/// mod(floor(x/p), m) sees x only modulo p*m: remainders inside x that keep it there are dropped.
static Expr dropModsUnderFloor(Expr e, const FloorView &view) {
  std::optional<FloorView> inner = floorView(view.numerator);
  int64_t period;
  if (!inner || !mulInto(inner->divisor, view.divisor, &period))
    return e;
  Linear sum(inner->numerator);
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    std::optional<FloorView> term = modView(Expr(sum.terms[i].monomial));
    int64_t coefficient = sum.terms[i].coefficient, whole;
    if (!term || !mulInto(coefficient, term->divisor, &whole) || whole % period != 0)
      continue;
    sum.terms.erase(i);
    sum.add(term->numerator, coefficient);
    return mod(floorOf(std::move(sum), inner->divisor), view.divisor);
  }
  return e;
}

Expr Simplifier::remainder(Expr e, const FloorView &view) {
  Linear sum(view.numerator), quotient;
  int64_t n = view.divisor;
  if (std::optional<int64_t> block = blockOf(sum, n)) {
    sum.addConstant(checkedMul(-*block, n));
    return sum.expr();
  }
  if (takeKnownResidues(sum, n, analysis, quotient))
    return modOf(std::move(sum), n);
  for (int64_t size : blockSizes(sum, n)) {
    Blocks blocks = splitBlocks(sum, size);
    std::optional<int64_t> block = blockOf(blocks.rest, size);
    if (!block || blocks.rest.isConstant())
      continue;
    blocks.multiples.addConstant(*block);
    blocks.rest.addConstant(checkedMul(-*block, size));
    blocks.rest.add(modOf(std::move(blocks.multiples), n / size), size);
    return blocks.rest.expr();
  }
  return dropModsUnderFloor(e, view);
}

//===- Symbolic divisors ---------------------------------------------------===//

/// 0 <= part < bound
bool Simplifier::provenBelow(const Linear &part, Expr bound) {
  if (analysis.of(part).range.lo < 0)
    return false;
  Linear gap(bound);
  gap.add(part, -1);
  if (analysis.of(gap).range.lo >= 1)
    return true;
  return !facts.assumptions().empty() && holds(lt(part.expr(), bound), facts);
}

Expr Simplifier::symbolicDivision(Expr e) {
  Expr a = e.operand(0), b = e.operand(1);
  Linear sum(a);
  if (e.kind() != Kind::ceildiv && provenBelow(sum, b))
    return e.kind() == Kind::mod ? a : Expr(0);
  if (e.kind() == Kind::ceildiv || b.kind() != Kind::mul)
    return e;
  Expr monomial(termOf(b).monomial);
  for (Expr factor : factorsOf(monomial)) { // (f*A + B) / (f*b') with 0 <= B < f
    Blocks blocks;
    blocks.rest.constant = sum.constant;
    for (const Term &term : sum.terms) {
      if (std::optional<Expr> left = divideMonomial(Expr(term.monomial), {&factor, 1}))
        blocks.multiples.add(*left, term.coefficient);
      else
        blocks.rest.terms.push(term);
    }
    Expr others = b / factor;
    if (blocks.multiples.isConstant() || analysis.of(others).range.lo < 1 || !provenBelow(blocks.rest, factor))
      continue;
    Expr whole = blocks.multiples.expr();
    if (e.kind() == Kind::floordiv)
      return floordiv(whole, others);
    return factor * mod(whole, others) + blocks.rest.expr();
  }
  return e;
}

Expr Simplifier::exactDivision(Expr e) {
  Expr a = e.operand(0), b = e.operand(1);
  if (b.isConstant()) {
    Congruence congruence = analysis.of(a).congruence;
    if (congruence.modulus % b.get()->value == 0 && congruence.residue % b.get()->value == 0)
      return floordiv(a, b);
  }
  if (holds(eq(mod(a, b), 0), facts))
    return floordiv(a, b);
  throw ExprError(ErrorKind::inexactDivision, "`" + toString(e) + "` is an exact division, but nothing proves that `" +
                                                  toString(b) + "` divides `" + toString(a) +
                                                  "`; assume it, or use `floordiv` or `ceildiv`");
}

} // namespace soliton::sym
