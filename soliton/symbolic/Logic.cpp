//===- Logic.cpp - Construction of comparisons, min, max, select, bits -----===//
#include "soliton/symbolic/Linear.h"
#include "soliton/symbolic/Mistake.h"

namespace soliton::sym {
using namespace detail;

//===- Comparisons ---------------------------------------------------------===//

/// The terms of one sign, made positive.
static Linear side(const Linear &sum, bool positive) {
  Linear out;
  for (const Term &term : sum.terms)
    if ((term.coefficient > 0) == positive)
      out.terms.push({term.monomial, positive ? term.coefficient : checkedNeg(term.coefficient)});
  return out;
}

/// A comparison of positive - negative + constant with 0, constants moved where they cost least.
static Expr compareSides(Kind kind, const Linear &sum) {
  Linear left = side(sum, false), right = side(sum, true);
  int64_t constant = sum.constant;
  if (left.isConstant())
    left.addConstant(checkedNeg(constant));
  else if (right.isConstant() || constant > 0)
    right.addConstant(constant);
  else
    left.addConstant(checkedNeg(constant));
  return make(kind, left.expr(), right.expr());
}

/// The predicate sum >= 1.
static Expr positive(Linear sum) {
  if (sum.isConstant())
    return Expr(sum.constant >= 1);
  int64_t content = sum.content();
  for (Term &term : sum.terms)
    term.coefficient /= content;
  if (content > 1)
    sum.constant = 1 + floorDiv(checkedAdd(sum.constant, -1), content);
  Term first = sum.terms[0];
  if (sum.terms.size() == 1 && first.monomial->predicate) {
    if (first.coefficient > 0)
      return sum.constant == 0 ? Expr(first.monomial) : Expr(sum.constant > 0);
    return sum.constant == 1 ? logicalNot(Expr(first.monomial)) : Expr(sum.constant > 1);
  }
  if (sum.constant != 1)
    return compareSides(Kind::lt, sum);
  sum.constant = 0;
  return compareSides(Kind::le, sum);
}

Expr lt(Expr a, Expr b) {
  return guarded("<", {a, b}, [&] {
    Linear sum(b);
    sum.add(a, -1);
    return positive(std::move(sum));
  });
}

Expr le(Expr a, Expr b) {
  return guarded("<=", {a, b}, [&] {
    Linear sum(b);
    sum.add(a, -1);
    sum.addConstant(1);
    return positive(std::move(sum));
  });
}

Expr gt(Expr a, Expr b) {
  return lt(b, a);
}
Expr ge(Expr a, Expr b) {
  return le(b, a);
}

static Expr equality(Kind kind, Expr a, Expr b) {
  Linear sum(a);
  sum.add(b, -1);
  bool wanted = kind == Kind::eq;
  if (sum.isConstant())
    return Expr((sum.constant == 0) == wanted);
  int64_t content = sum.content();
  if (sum.constant % content != 0)
    return Expr(!wanted);
  for (Term &term : sum.terms)
    term.coefficient /= content;
  sum.constant /= content;
  if (sum.terms[0].coefficient > 0)
    sum.scale(-1); // the first term belongs on the left
  const Node *only = sum.terms[0].monomial;
  if (sum.terms.size() == 1 && only->predicate) {
    if (sum.constant != 0 && sum.constant != 1)
      return Expr(!wanted);
    return (sum.constant == 1) == wanted ? Expr(only) : logicalNot(Expr(only));
  }
  return compareSides(kind, sum);
}

Expr eq(Expr a, Expr b) {
  return guarded("==", {a, b}, [&] { return equality(Kind::eq, a, b); });
}
Expr ne(Expr a, Expr b) {
  return guarded("!=", {a, b}, [&] { return equality(Kind::ne, a, b); });
}

//===- Connectives ---------------------------------------------------------===//

static Expr toPredicate(Expr e) {
  return e.isPredicate() ? e : ne(e, 0);
}

static bool lessNode(Expr a, Expr b) {
  return compareNodes(a.get(), b.get()) < 0;
}

/// Flattens operands of the same kind into a sorted list without repetition.
static SmallVector<Expr, 8> flatten(Kind kind, std::span<const Expr> operands, bool unique) {
  SmallVector<Expr, 8> out;
  for (Expr e : operands) {
    if (e.kind() == kind)
      out.append(e.operands());
    else
      out.push(e);
  }
  std::sort(out.begin(), out.end(), lessNode);
  if (unique)
    out.resize(static_cast<size_t>(std::unique(out.begin(), out.end()) - out.begin()));
  return out;
}

static Expr connective(Kind kind, std::span<const Expr> operands) {
  Expr neutral(kind == Kind::logicalAnd), absorbing(kind != Kind::logicalAnd);
  SmallVector<Expr, 8> predicates;
  for (Expr e : operands)
    predicates.push(toPredicate(e));
  SmallVector<Expr, 8> list = flatten(kind, predicates.span(), true), kept;
  for (Expr e : list) {
    if (e == absorbing)
      return absorbing;
    if (e != neutral)
      kept.push(e);
  }
  for (Expr e : kept)
    if (kept.size() <= 16 && std::binary_search(kept.begin(), kept.end(), logicalNot(e), lessNode))
      return absorbing;
  if (kept.empty())
    return neutral;
  return kept.size() == 1 ? kept[0] : make(kind, kept.span());
}

Expr logicalAnd(std::span<const Expr> operands) {
  return guarded("and", operands, [&] { return connective(Kind::logicalAnd, operands); });
}
Expr logicalOr(std::span<const Expr> operands) {
  return guarded("or", operands, [&] { return connective(Kind::logicalOr, operands); });
}

Expr logicalAnd(Expr a, Expr b) {
  const Expr operands[] = {a, b};
  return logicalAnd(operands);
}

Expr logicalOr(Expr a, Expr b) {
  const Expr operands[] = {a, b};
  return logicalOr(operands);
}

static Expr negation(Expr a) {
  Expr e = toPredicate(a);
  switch (e.kind()) {
  case Kind::constant:
    return Expr(e.isConstant(0));
  case Kind::lt:
    return le(e.operand(1), e.operand(0));
  case Kind::le:
    return lt(e.operand(1), e.operand(0));
  case Kind::eq:
    return make(Kind::ne, e.operand(0), e.operand(1));
  case Kind::ne:
    return make(Kind::eq, e.operand(0), e.operand(1));
  case Kind::logicalNot:
    return e.operand(0);
  default:
    return Expr(intern(Kind::logicalNot, {&e, 1}));
  }
}

Expr logicalNot(Expr a) {
  return guarded("not", {a}, [&] { return negation(a); });
}

//===- Minimum, maximum, select --------------------------------------------===//

/// a - b if it is a literal; no overflow.
static std::optional<int64_t> literalDifference(Expr a, Expr b) {
  Linear x(a), y(b);
  if (x.terms.size() != y.terms.size())
    return std::nullopt;
  for (size_t i = 0; i < x.terms.size(); ++i)
    if (x.terms[i].monomial != y.terms[i].monomial || x.terms[i].coefficient != y.terms[i].coefficient)
      return std::nullopt;
  int64_t out;
  if (__builtin_sub_overflow(x.constant, y.constant, &out))
    return std::nullopt;
  return out;
}

static Expr extremum(Kind kind, std::span<const Expr> operands) {
  if (operands.empty())
    throwError(ErrorKind::badArgument, "`min` and `max` need at least one operand");
  SmallVector<Expr, 8> list = flatten(kind, operands, true);
  for (size_t i = 0; i < list.size() && list.size() <= 16; ++i) {
    for (size_t j = 0; j < list.size();) {
      std::optional<int64_t> difference = i == j ? std::nullopt : literalDifference(list[j], list[i]);
      if (difference && (kind == Kind::min) == (*difference > 0)) {
        list.erase(j);
        i -= j < i;
      } else {
        ++j;
      }
    }
  }
  return list.size() == 1 ? list[0] : make(kind, list.span());
}

Expr min(std::span<const Expr> operands) {
  return guarded("min", operands, [&] { return extremum(Kind::min, operands); });
}
Expr max(std::span<const Expr> operands) {
  return guarded("max", operands, [&] { return extremum(Kind::max, operands); });
}

Expr min(Expr a, Expr b) {
  const Expr operands[] = {a, b};
  return min(operands);
}

Expr max(Expr a, Expr b) {
  const Expr operands[] = {a, b};
  return max(operands);
}

static Expr choose(Expr condition, Expr then, Expr otherwise) {
  Expr c = toPredicate(condition);
  if (c.isConstant())
    return c.isConstant(0) ? otherwise : then;
  if (then == otherwise)
    return then;
  if (c.kind() == Kind::ne || c.kind() == Kind::logicalNot)
    return select(logicalNot(c), otherwise, then);
  if (then.isConstant(1) && otherwise.isConstant(0))
    return c;
  if (then.isConstant(0) && otherwise.isConstant(1))
    return logicalNot(c);
  const Expr operands[] = {c, then, otherwise};
  return make(Kind::select, operands);
}

Expr select(Expr condition, Expr then, Expr otherwise) {
  return guarded("select", {condition, then, otherwise}, [&] { return choose(condition, then, otherwise); });
}

Expr piecewise(std::span<const std::pair<Expr, Expr>> cases, Expr otherwise) {
  Expr out = otherwise;
  for (size_t i = cases.size(); i > 0; --i)
    out = select(cases[i - 1].first, cases[i - 1].second, out);
  return out;
}

//===- Bits ----------------------------------------------------------------===//

static Expr xorOf(std::span<const Expr> operands) {
  SmallVector<Expr, 8> list = flatten(Kind::bitXor, operands, false), kept;
  int64_t constant = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].isConstant())
      constant ^= list[i].get()->value;
    else if (i + 1 < list.size() && list[i] == list[i + 1])
      ++i;
    else
      kept.push(list[i]);
  }
  if (kept.empty())
    return Expr(constant);
  if (kept.size() == 1 && constant == 0)
    return kept[0];
  if (kept.size() == 1 && constant == -1)
    return -kept[0] - 1;
  if (constant != 0)
    kept.push(Expr(constant));
  std::sort(kept.begin(), kept.end(), lessNode);
  return make(Kind::bitXor, kept.span());
}

Expr bitXor(Expr a, Expr b) {
  const Expr operands[] = {a, b};
  return guarded("xor", operands, [&] { return xorOf(operands); });
}

/// The power of two of a literal shift.
static std::optional<int64_t> shiftFactor(Expr amount) {
  if (!amount.isConstant())
    return std::nullopt;
  int64_t bits = amount.get()->value;
  if (bits < 0 || bits > 62)
    throw ExprError(ErrorKind::badShift, "a shift by " + std::to_string(bits) + ", expected 0 to 62");
  return int64_t(1) << bits;
}

Expr shl(Expr a, Expr b) {
  return guarded("<<", {a, b}, [&] {
    if (std::optional<int64_t> factor = shiftFactor(b))
      return a * *factor;
    return a.isConstant(0) ? a : make(Kind::shl, a, b);
  });
}

Expr shr(Expr a, Expr b) {
  return guarded(">>", {a, b}, [&] {
    if (std::optional<int64_t> factor = shiftFactor(b))
      return floordiv(a, *factor);
    return a.isConstant(0) || a.isConstant(-1) ? a : make(Kind::shr, a, b);
  });
}

//===- By kind -------------------------------------------------------------===//

static Expr foldBinary(Expr (*function)(Expr, Expr), std::span<const Expr> operands) {
  Expr out = operands[0];
  for (Expr e : operands.subspan(1))
    out = function(out, e);
  return out;
}

static Expr sumOf(std::span<const Expr> operands) {
  Linear sum;
  sum.add(operands);
  return sum.expr();
}

static Expr buildDefined(Kind kind, std::span<const Expr> operands) {
  size_t wanted = kind == Kind::logicalNot ? 1 : kind == Kind::select ? 3 : 2;
  if (operands.size() < wanted)
    throw ExprError(ErrorKind::badArgument, "`" + std::string(kindName(kind)) + "` has " +
                                                std::to_string(operands.size()) + " operands, expected " +
                                                std::to_string(wanted));
  switch (kind) {
  case Kind::constant:
  case Kind::symbol:
    throwError(ErrorKind::badArgument, "constants and symbols are not built from operands");
  case Kind::add:
    return sumOf(operands);
  case Kind::mul:
    return product(operands);
  case Kind::exactDiv:
    return operands[0] / operands[1];
  case Kind::floordiv:
    return floordiv(operands[0], operands[1]);
  case Kind::ceildiv:
    return ceildiv(operands[0], operands[1]);
  case Kind::mod:
    return mod(operands[0], operands[1]);
  case Kind::min:
    return min(operands);
  case Kind::max:
    return max(operands);
  case Kind::select:
    return select(operands[0], operands[1], operands[2]);
  case Kind::lt:
    return lt(operands[0], operands[1]);
  case Kind::le:
    return le(operands[0], operands[1]);
  case Kind::eq:
    return eq(operands[0], operands[1]);
  case Kind::ne:
    return ne(operands[0], operands[1]);
  case Kind::logicalAnd:
    return logicalAnd(operands);
  case Kind::logicalOr:
    return logicalOr(operands);
  case Kind::logicalNot:
    return logicalNot(operands[0]);
  case Kind::bitXor:
    return xorOf(operands);
  case Kind::shl:
    return foldBinary(shl, operands);
  case Kind::shr:
    return foldBinary(shr, operands);
  }
  throwError(ErrorKind::badArgument, "there is no such kind of expression");
}

Expr build(Kind kind, std::span<const Expr> operands) {
  return guarded("build", operands, [&] { return buildDefined(kind, operands); });
}

} // namespace soliton::sym
