//===- Linear.cpp - Sums and products in canonical form --------------------===//
#include "soliton/symbolic/Division.h"

namespace soliton::sym::detail {

//===- Sums ----------------------------------------------------------------===//

void Linear::assign(Expr e) {
  if (e.isConstant()) {
    constant = e.get()->value;
    return;
  }
  if (e.kind() != Kind::add) {
    terms.push(termOf(e));
    return;
  }
  for (Expr operand : e.operands()) {
    if (operand.isConstant())
      constant = operand.get()->value;
    else
      terms.push(termOf(operand));
  }
}

void Linear::merge(std::span<const Term> other, int64_t scale) {
  SmallVector<Term, 12> out;
  size_t i = 0, j = 0;
  while (i < terms.size() || j < other.size()) {
    int order = i == terms.size() ? 1 : j == other.size() ? -1 : compareNodes(terms[i].monomial, other[j].monomial);
    if (order < 0) {
      out.push(terms[i++]);
      continue;
    }
    Term term = other[j++];
    term.coefficient = checkedMul(term.coefficient, scale);
    if (order == 0)
      term.coefficient = checkedAdd(terms[i++].coefficient, term.coefficient);
    if (term.coefficient != 0)
      out.push(term);
  }
  terms = std::move(out);
}

void Linear::add(Expr e, int64_t scale) {
  if (e.isConstant()) {
    addConstant(checkedMul(e.get()->value, scale));
    return;
  }
  if (e.kind() != Kind::add) {
    Term term = termOf(e);
    term.coefficient = checkedMul(term.coefficient, scale);
    addTerm(term);
    return;
  }
  add(Linear(e), scale);
}

void Linear::add(const Linear &other, int64_t scale) {
  if (scale == 0)
    return;
  if (terms.empty() && scale == 1)
    terms = other.terms;
  else if (other.terms.size() == 1)
    addTerm({other.terms[0].monomial, checkedMul(other.terms[0].coefficient, scale), other.terms[0].hint});
  else
    merge(other.terms.span(), scale);
  addConstant(checkedMul(other.constant, scale));
}

void Linear::add(std::span<const Expr> addends) {
  SmallVector<Term, 24> all;
  for (Expr e : addends) {
    Linear part(e);
    all.append(part.terms.span());
    addConstant(part.constant);
  }
  std::sort(all.begin(), all.end(),
            [](const Term &a, const Term &b) { return compareNodes(a.monomial, b.monomial) < 0; });
  size_t kept = 0;
  for (const Term &term : all) {
    if (kept > 0 && all[kept - 1].monomial == term.monomial)
      all[kept - 1].coefficient = checkedAdd(all[kept - 1].coefficient, term.coefficient);
    else if (kept == 0 || all[kept - 1].coefficient != 0)
      all[kept++] = term;
    else
      all[kept - 1] = term;
  }
  if (kept > 0 && all[kept - 1].coefficient == 0)
    --kept;
  all.resize(kept);
  merge(all.span(), 1);
}

void Linear::addTerm(const Term &term) {
  const Node *monomial = term.monomial;
  int64_t coefficient = term.coefficient;
  if (coefficient == 0)
    return;
  size_t i = terms.size();
  while (i > 0) {
    int order = compareNodes(terms[i - 1].monomial, monomial);
    if (order == 0) {
      int64_t sum = checkedAdd(terms[i - 1].coefficient, coefficient);
      if (sum == 0)
        terms.erase(i - 1);
      else
        terms[i - 1].coefficient = sum;
      return;
    }
    if (order < 0)
      break;
    --i;
  }
  terms.insert(i, term);
}

void Linear::scale(int64_t factor) {
  if (factor == 0)
    terms.clear();
  for (Term &term : terms)
    term.coefficient = checkedMul(term.coefficient, factor);
  constant = checkedMul(constant, factor);
}

int64_t Linear::coefficientOf(const Node *monomial) const {
  for (const Term &term : terms)
    if (term.monomial == monomial)
      return term.coefficient;
  return 0;
}

int64_t Linear::content() const {
  int64_t out = 0;
  for (const Term &term : terms)
    out = gcd(out, term.coefficient);
  return out;
}

/// 6*(x/4) is 3*(x/2), and 6*(x/y) is (6*x)/y: rational coefficients are kept in lowest terms, and x/y itself need not
/// be an integer. True if something changed.
bool Linear::reduceExactDivisions() {
  for (size_t i = 0; i < terms.size(); ++i) {
    const Node *n = terms[i].monomial;
    int64_t coefficient = terms[i].coefficient;
    if (n->kind != Kind::exactDiv || coefficient == 1)
      continue;
    Expr numerator = Expr(n).operand(0), divisor = Expr(n).operand(1);
    int64_t common = divisor.isConstant() ? gcd(coefficient, divisor.get()->value) : coefficient;
    bool improper =
        numerator.isConstant() && (coefficient < 0 || coefficient > divisor.get()->value) && divisor.isConstant();
    if (common == 1 && !improper)
      continue;
    terms.erase(i);
    if (divisor.isConstant() && improper)
      add(Expr(checkedMul(coefficient, numerator.get()->value)) / divisor);
    else if (divisor.isConstant())
      add(numerator / Expr(divisor.get()->value / common), coefficient / common);
    else
      add((Expr(coefficient) * numerator) / divisor);
    return true;
  }
  return false;
}

Expr scaled(int64_t coefficient, const Node *monomial) {
  return coefficient == 1 ? Expr(monomial) : Expr(internScaled(coefficient, monomial));
}

Expr Linear::expr() const {
  if (terms.empty())
    return Expr(constant);
  if (std::any_of(terms.begin(), terms.end(),
                  [](const Term &term) { return term.monomial->kind == Kind::exactDiv && term.coefficient != 1; })) {
    Linear copy = *this;
    bool changed = false;
    while (copy.reduceExactDivisions())
      changed = true;
    if (changed)
      return copy.expr();
  }
  if (terms.size() == 1 && constant == 0)
    return scaled(terms[0]);
  SmallVector<Expr, 13> operands;
  for (const Term &term : terms)
    operands.push(scaled(term));
  if (constant != 0)
    operands.push(Expr(constant));
  return make(Kind::add, operands.span());
}

//===- Products ------------------------------------------------------------===//

std::span<const Expr> factorsOf(const Expr &monomial) {
  if (monomial.kind() == Kind::mul)
    return monomial.operands();
  return {&monomial, 1};
}

static bool lessNode(Expr a, Expr b) {
  return compareNodes(a.get(), b.get()) < 0;
}

namespace {
/// Collects the factors of a product; the constant is kept apart.
struct ProductBuilder {
  SmallVector<Expr, 8> factors;
  SmallVector<Expr, 2> divisors;
  int64_t coefficient = 1;

  void add(Expr e) {
    if (e.isConstant()) {
      coefficient = checkedMul(coefficient, e.get()->value);
      return;
    }
    if (e.kind() == Kind::add) {
      addSum(e);
      return;
    }
    if (e.kind() == Kind::mul) {
      for (Expr factor : e.operands())
        add(factor);
      return;
    }
    if (e.kind() == Kind::exactDiv) {
      add(e.operand(0));
      divisors.push(e.operand(1));
      return;
    }
    factors.push(e);
  }

  /// A sum is a factor without common coefficient, its first coefficient positive.
  void addSum(Expr e) {
    Linear sum(e);
    if (hasFraction(sum)) { // as one fraction, like every other factor
      Fraction whole = fractionOf(e);
      add(whole.numerator);
      divisors.push(whole.denominator);
      return;
    }
    int64_t content = gcd(sum.content(), sum.constant);
    if (sum.terms[0].coefficient < 0)
      content = -content;
    if (content == 1 || (content == -1 && sum.constant == INT64_MIN)) {
      factors.push(e);
      return;
    }
    for (Term &term : sum.terms) {
      if (content == -1)
        term.coefficient = checkedNeg(term.coefficient);
      else
        term.coefficient /= content;
    }
    sum.constant = content == -1 ? checkedNeg(sum.constant) : sum.constant / content;
    coefficient = checkedMul(coefficient, content);
    Expr reduced = sum.expr();
    if (reduced.kind() == Kind::add)
      factors.push(reduced);
    else
      add(reduced);
  }

  Expr finish() {
    if (coefficient == 0)
      return Expr(0);
    Expr out = Expr(coefficient);
    if (!factors.empty()) {
      std::sort(factors.begin(), factors.end(), lessNode);
      const Node *monomial = factors.size() == 1 ? factors[0].get() : intern(Kind::mul, factors.span());
      if (monomial->kind == Kind::add) {
        Linear sum{Expr(monomial)};
        sum.scale(coefficient);
        out = sum.expr();
      } else {
        out = scaled(coefficient, monomial);
      }
    }
    for (Expr divisor : divisors)
      out = out / divisor;
    return out;
  }
};
} // namespace

Expr product(std::span<const Expr> factors) {
  ProductBuilder builder;
  for (Expr e : factors)
    builder.add(e);
  return builder.finish();
}

std::optional<Expr> divideMonomial(Expr monomial, std::span<const Expr> divisor) {
  SmallVector<Expr, 8> left;
  size_t j = 0;
  for (Expr factor : factorsOf(monomial)) {
    if (j < divisor.size() && factor == divisor[j])
      ++j;
    else
      left.push(factor);
  }
  if (j < divisor.size())
    return std::nullopt;
  if (left.empty())
    return Expr(1);
  return left.size() == 1 ? left[0] : make(Kind::mul, left.span());
}

//===- Expansion -----------------------------------------------------------===//

static bool hasSumFactor(const Node *monomial) {
  if (monomial->kind != Kind::mul)
    return false;
  for (Expr factor : Expr(monomial).operands())
    if (factor.kind() == Kind::add)
      return true;
  return false;
}

/// left * right, or nothing if it grows beyond the limit.
static std::optional<Linear> multiply(const Linear &left, const Linear &right, size_t limit) {
  if ((left.terms.size() + 1) * (right.terms.size() + 1) > limit)
    return std::nullopt;
  Linear out(checkedMul(left.constant, right.constant));
  for (const Term &a : left.terms)
    out.addTerm(a.monomial, checkedMul(a.coefficient, right.constant));
  for (const Term &b : right.terms)
    out.addTerm(b.monomial, checkedMul(b.coefficient, left.constant));
  for (const Term &a : left.terms) {
    for (const Term &b : right.terms) {
      const Expr pair[] = {Expr(a.monomial), Expr(b.monomial)};
      out.add(product(pair), checkedMul(a.coefficient, b.coefficient));
    }
  }
  return out;
}

std::optional<Linear> expanded(Expr e, size_t limit) {
  Linear sum(e), out(sum.constant);
  for (const Term &term : sum.terms) {
    if (!hasSumFactor(term.monomial)) {
      out.addTerm(term.monomial, term.coefficient);
      continue;
    }
    Linear value(int64_t(1));
    for (Expr factor : Expr(term.monomial).operands()) {
      std::optional<Linear> next = multiply(value, Linear(factor), limit);
      if (!next)
        return std::nullopt;
      value = std::move(*next);
    }
    out.add(value, term.coefficient);
  }
  return out;
}

} // namespace soliton::sym::detail
