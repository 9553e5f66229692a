//===- Division.cpp - Construction of / floordiv ceildiv mod ---------------===//
#include "soliton/symbolic/Division.h"
#include "soliton/symbolic/Mistake.h"

namespace soliton::sym {
using namespace detail;

//===- Views ---------------------------------------------------------------===//

static std::optional<int64_t> positiveLiteral(Expr e) {
  if (e.isConstant() && e.get()->value > 0)
    return e.get()->value;
  return std::nullopt;
}

std::optional<FloorView> detail::floorView(Expr e) {
  if (e.kind() != Kind::floordiv && e.kind() != Kind::ceildiv)
    return std::nullopt;
  std::optional<int64_t> divisor = positiveLiteral(e.operand(1));
  if (!divisor)
    return std::nullopt;
  if (e.kind() == Kind::floordiv)
    return FloorView{e.operand(0), *divisor};
  return FloorView{e.operand(0) + (*divisor - 1), *divisor};
}

std::optional<FloorView> detail::modView(Expr e) {
  if (e.kind() != Kind::mod)
    return std::nullopt;
  if (std::optional<int64_t> divisor = positiveLiteral(e.operand(1)))
    return FloorView{e.operand(0), *divisor};
  return std::nullopt;
}

//===- Positive literal divisors -------------------------------------------===//

/// Moves the terms that `divisor` divides out of `sum`; returns them divided. The constant becomes 0 <= c < divisor.
static Linear takeMultiples(Linear &sum, int64_t divisor) {
  Linear quotient(floorDiv(sum.constant, divisor));
  sum.constant = floorMod(sum.constant, divisor);
  size_t kept = 0;
  for (const Term &term : sum.terms) {
    if (term.coefficient % divisor == 0)
      quotient.terms.push({term.monomial, term.coefficient / divisor});
    else
      sum.terms[kept++] = term;
  }
  sum.terms.resize(kept);
  return quotient;
}

/// Replaces coefficients by their remainders.
static void reduceCoefficients(Linear &sum, int64_t divisor) {
  sum.constant = floorMod(sum.constant, divisor);
  size_t kept = 0;
  for (Term term : sum.terms)
    if ((term.coefficient %= divisor) != 0)
      sum.terms[kept++] = term;
  sum.terms.resize(kept);
}

/// Divides coefficients by their common divisor with `divisor`; the constant rounds down. Returns that divisor.
static int64_t reduceContent(Linear &sum, int64_t &divisor) {
  int64_t common = gcd(sum.content(), divisor);
  if (common <= 1)
    return 1;
  for (Term &term : sum.terms)
    term.coefficient /= common;
  sum.constant = floorDiv(sum.constant, common);
  divisor /= common;
  return common;
}

/// floor((atom + constant) / divisor) where the atom is itself a quotient or remainder.
static std::optional<Expr> floorOfAtom(Expr atom, int64_t constant, int64_t divisor) {
  int64_t combined, shift;
  if (std::optional<FloorView> inner = floorView(atom)) {
    if (mulInto(inner->divisor, divisor, &combined) && mulInto(inner->divisor, constant, &shift))
      return floorOf(Linear(inner->numerator + shift), combined);
    return std::nullopt;
  }
  if (constant != 0)
    return std::nullopt;
  if (std::optional<FloorView> inner = modView(atom); inner && inner->divisor % divisor == 0)
    return mod(floorOf(Linear(inner->numerator), divisor), inner->divisor / divisor);
  if (atom.kind() == Kind::floordiv) // floor(floor(x / a) / n) = floor(x / (a * n)) for n > 0
    return floordiv(atom.operand(0), atom.operand(1) * divisor);
  return std::nullopt;
}

bool detail::hasFraction(const Linear &sum) {
  return std::any_of(sum.terms.begin(), sum.terms.end(),
                     [](const Term &term) { return term.monomial->kind == Kind::exactDiv; });
}

Expr detail::floorOf(Linear sum, int64_t divisor) {
  if (hasFraction(sum))
    return floordiv(sum.expr(), divisor);
  Linear quotient = takeMultiples(sum, divisor);
  if (sum.isConstant())
    return quotient.expr();
  reduceContent(sum, divisor);
  Expr part;
  if (divisor == 1)
    part = sum.expr();
  else if (std::optional<Expr> merged = sum.terms.size() == 1 && sum.terms[0].coefficient == 1
                                            ? floorOfAtom(Expr(sum.terms[0].monomial), sum.constant, divisor)
                                            : std::nullopt)
    part = *merged;
  else if (sum.constant == divisor - 1) {
    sum.constant = 0;
    part = make(Kind::ceildiv, sum.expr(), Expr(divisor));
  } else
    part = make(Kind::floordiv, sum.expr(), Expr(divisor));
  quotient.add(part);
  return quotient.expr();
}

/// Replaces c * mod(x, m) by c * x where that changes the sum by a multiple of `divisor`.
static bool dropInnerMods(Linear &sum, int64_t divisor) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    std::optional<FloorView> inner = modView(Expr(sum.terms[i].monomial));
    int64_t coefficient = sum.terms[i].coefficient, whole;
    if (!inner || !mulInto(coefficient, inner->divisor, &whole) || whole % divisor != 0)
      continue;
    sum.terms.erase(i);
    sum.add(inner->numerator, coefficient);
    return true;
  }
  return false;
}

Expr detail::modOf(Linear sum, int64_t divisor) {
  do
    reduceCoefficients(sum, divisor);
  while (dropInnerMods(sum, divisor));
  if (sum.isConstant())
    return Expr(sum.constant);
  if (divisor == 2)
    for (Term &term : sum.terms)
      term.coefficient = 1;
  int64_t constant = sum.constant;
  int64_t common = reduceContent(sum, divisor);
  if (divisor == 1)
    return Expr(floorMod(constant, common));
  Linear out(constant - sum.constant * common);
  if (common == 1)
    return make(Kind::mod, sum.expr(), Expr(divisor));
  out.add(modOf(std::move(sum), divisor), common);
  return out.expr();
}

//===- Rationals -----------------------------------------------------------===//

Fraction detail::fractionOf(Expr e) {
  if (!e.get()->hasExactDiv)
    return {e, 1};
  Linear sum(e);
  int64_t literal = 1;
  SmallVector<Expr, 4> symbolic;
  for (const Term &term : sum.terms) {
    if (term.monomial->kind != Kind::exactDiv)
      continue;
    Expr divisor = Expr(term.monomial).operand(1);
    if (divisor.isConstant())
      literal = checkedMul(literal / gcd(literal, divisor.get()->value), divisor.get()->value);
    else if (std::find(symbolic.begin(), symbolic.end(), divisor) == symbolic.end())
      symbolic.push(divisor);
  }
  Expr common = Expr(literal) * product(symbolic.span());
  Expr numerator = Expr(sum.constant) * common;
  for (const Term &term : sum.terms) {
    if (term.monomial->kind != Kind::exactDiv) {
      numerator += Expr(term.coefficient) * Expr(term.monomial) * common;
      continue;
    }
    Expr x = Expr(term.monomial).operand(0), divisor = Expr(term.monomial).operand(1);
    numerator += Expr(term.coefficient) * x * (common / divisor);
  }
  return {numerator, common};
}

static bool hasRationalTerm(Expr e) {
  return e.get()->hasExactDiv && hasFraction(Linear(e));
}

static void requireNonZero(Expr divisor, const char *operation) {
  if (divisor.isConstant(0))
    throw ExprError(ErrorKind::divisionByZero, std::string("the divisor of `") + operation + "` is 0");
}
//===- Symbolic divisors ---------------------------------------------------===//

/// b = coefficient * product of factors, where a factor may be a sum.
static int64_t splitDivisor(Expr b, SmallVector<Expr, 8> &factors) {
  if (b.kind() == Kind::add) {
    Linear sum(b);
    int64_t content = gcd(sum.content(), sum.constant);
    for (Term &term : sum.terms)
      term.coefficient /= content;
    sum.constant /= content;
    factors.push(sum.expr());
    return content;
  }
  Term term = termOf(b);
  Expr monomial(term.monomial);
  factors.append(factorsOf(monomial));
  return term.coefficient;
}

/// Cancels factors that every term of `rest` and the divisor have.
static void cancelFactors(SymbolicDivision &out, int64_t &coefficient, SmallVector<Expr, 8> &factors) {
  int64_t common = gcd(gcd(out.rest.content(), out.rest.constant), coefficient);
  if (common > 1) {
    for (Term &term : out.rest.terms)
      term.coefficient /= common;
    out.rest.constant /= common;
    coefficient /= common;
    out.factor = Expr(common);
  }
  for (size_t i = 0; i < factors.size() && out.rest.constant == 0;) {
    Linear reduced;
    bool all = true;
    for (const Term &term : out.rest.terms) {
      std::optional<Expr> left = divideMonomial(Expr(term.monomial), {&factors[i], 1});
      if ((all = all && left))
        reduced.add(*left, term.coefficient);
      else
        break;
    }
    if (!all) {
      ++i;
      continue;
    }
    out.rest = std::move(reduced);
    out.factor = out.factor * factors[i];
    factors.erase(i);
  }
}

SymbolicDivision detail::divideSymbolically(Expr a, Expr b) {
  SymbolicDivision out;
  SmallVector<Expr, 8> factors;
  int64_t coefficient = splitDivisor(b, factors);
  Linear sum(a);
  if (a.kind() == Kind::add && b.kind() == Kind::add) { // a multiple of the sum b
    const Node *lead = Linear(b).terms[0].monomial;
    int64_t times = sum.coefficientOf(lead) / Linear(b).terms[0].coefficient;
    Linear rest = sum;
    rest.add(b, checkedNeg(times));
    if (rest.terms.size() < sum.terms.size()) {
      out.quotient.addConstant(times);
      sum = std::move(rest);
    }
  }
  out.rest.constant = sum.constant;
  for (const Term &term : sum.terms) {
    std::optional<Expr> left;
    if (term.coefficient % coefficient == 0 && term.coefficient != INT64_MIN)
      left = divideMonomial(Expr(term.monomial), factors.span());
    if (left)
      out.quotient.add(*left, term.coefficient / coefficient);
    else
      out.rest.terms.push(term);
  }
  if (!out.rest.isConstant() || out.rest.constant != 0)
    cancelFactors(out, coefficient, factors);
  SmallVector<Expr, 8> left;
  left.push(Expr(coefficient));
  left.append(factors.span());
  out.divisor = product(left.span());
  return out;
}

static bool negative(Expr b) {
  return b.isConstant() ? b.get()->value < 0 : Linear(b).terms[0].coefficient < 0;
}

//===- Public construction -------------------------------------------------===//

/// sum / divisor for a positive literal, in lowest terms: coefficient * exactDiv(x, n), x starting with a positive
/// term.
static Expr exactOf(Linear sum, int64_t divisor) {
  Linear quotient;
  size_t kept = 0;
  for (const Term &term : sum.terms) {
    if (term.coefficient % divisor == 0)
      quotient.terms.push({term.monomial, term.coefficient / divisor});
    else
      sum.terms[kept++] = term;
  }
  sum.terms.resize(kept);
  int64_t sign = !sum.isConstant() && sum.terms[0].coefficient < 0 ? -1 : 1;
  sum.scale(sign);
  quotient.constant = sign * floorDiv(sum.constant, divisor);
  sum.constant = floorMod(sum.constant, divisor);
  if (sum.isConstant() && sum.constant == 0)
    return quotient.expr();
  int64_t content = gcd(sum.content(), sum.constant), common = gcd(content, divisor);
  for (Term &term : sum.terms)
    term.coefficient /= content;
  sum.constant /= content;
  int64_t coefficient = sign * (content / common);
  if (divisor == common)
    quotient.add(sum, coefficient);
  else
    quotient.add(make(Kind::exactDiv, sum.expr(), Expr(divisor / common)), coefficient);
  return quotient.expr();
}

static Expr divideExactly(Expr a, Expr b) {
  requireNonZero(b, "/");
  if (a.isConstant(0) || b.isConstant(1))
    return a;
  if (negative(b))
    return (-a) / (-b);
  if (hasRationalTerm(a) || hasRationalTerm(b)) {
    Fraction x = fractionOf(a), y = fractionOf(b);
    return (x.numerator * y.denominator) / (x.denominator * y.numerator);
  }
  if (b.isConstant())
    return exactOf(Linear(a), b.get()->value);
  SymbolicDivision division = divideSymbolically(a, b);
  if (!division.factor.isConstant(1))
    return division.quotient.expr() + division.rest.expr() / division.divisor;
  Expr rest = division.rest.expr();
  if (!rest.isConstant(0))
    division.quotient.add(make(Kind::exactDiv, rest, division.divisor));
  return division.quotient.expr();
}

Expr operator/(Expr a, Expr b) {
  return guarded("/", {a, b}, [&] { return divideExactly(a, b); });
}

/// floordiv or ceildiv by a divisor that is no literal.
static Expr roundSymbolic(Kind kind, Expr a, Expr b) {
  SymbolicDivision division = divideSymbolically(a, b);
  Expr rest = division.rest.expr();
  Expr part = rest;
  if (!division.factor.isConstant(1))
    part = kind == Kind::floordiv ? floordiv(rest, division.divisor) : ceildiv(rest, division.divisor);
  else if (!rest.isConstant(0))
    part = make(kind, rest, division.divisor);
  return division.quotient.expr() + part;
}

/// Both rounding divisions; rationals vanish here.
static Expr roundDivision(Kind kind, Expr a, Expr b) {
  requireNonZero(b, kind == Kind::floordiv ? "floordiv" : "ceildiv");
  if (hasRationalTerm(a) || hasRationalTerm(b)) {
    Fraction x = fractionOf(a), y = fractionOf(b);
    return roundDivision(kind, x.numerator * y.denominator, x.denominator * y.numerator);
  }
  if (b.isConstant(1))
    return a;
  if (negative(b))
    return roundDivision(kind, -a, -b);
  if (!b.isConstant())
    return roundSymbolic(kind, a, b);
  int64_t divisor = b.get()->value;
  Linear sum(a);
  if (kind == Kind::ceildiv)
    sum.addConstant(divisor - 1);
  return floorOf(std::move(sum), divisor);
}

Expr floordiv(Expr a, Expr b) {
  return guarded("floordiv", {a, b}, [&] { return roundDivision(Kind::floordiv, a, b); });
}
Expr ceildiv(Expr a, Expr b) {
  return guarded("ceildiv", {a, b}, [&] { return roundDivision(Kind::ceildiv, a, b); });
}
Expr floor(Expr a) {
  return floordiv(a, 1);
}
Expr ceil(Expr a) {
  return ceildiv(a, 1);
}

static Expr modulus(Expr a, Expr b) {
  requireNonZero(b, "mod");
  if (negative(b))
    return -mod(-a, -b);
  if (b.isConstant())
    return modOf(Linear(a), b.get()->value);
  SymbolicDivision division = divideSymbolically(a, b);
  Expr rest = division.rest.expr();
  if (rest.isConstant(0))
    return rest;
  if (!division.factor.isConstant(1))
    return division.factor * mod(rest, division.divisor);
  return make(Kind::mod, rest, division.divisor);
}

Expr mod(Expr a, Expr b) {
  return guarded("mod", {a, b}, [&] { return modulus(a, b); });
}

Expr operator%(Expr a, Expr b) {
  return mod(a, b);
}

} // namespace soliton::sym
