//===- Evaluate.cpp - The value of an expression ---------------------------===//
//
// The definition of every kind. Sums are exact in 128 bits, so that the order of addends does not matter; a
// conjunction with a false operand is false even where another operand is undefined.
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/Integer.h"
#include "soliton/symbolic/Linear.h"
#include "soliton/symbolic/NodeMap.h"

namespace soliton::sym {
using namespace detail;

Environment::Environment(std::initializer_list<std::pair<Expr, int64_t>> pairs) {
  for (const auto &[symbol, value] : pairs)
    set(symbol, value);
}

void Environment::set(Expr symbol, int64_t value) {
  for (auto &[known, target] : list) {
    if (known == symbol) {
      target = value;
      return;
    }
  }
  list.emplace_back(symbol, value);
}

std::optional<int64_t> Environment::find(Expr symbol) const {
  for (const auto &[known, value] : list)
    if (known == symbol)
      return value;
  return std::nullopt;
}

namespace {

struct Outcome {
  int64_t value = 0;
  bool defined = false;
};

struct Evaluator {
  const Environment &environment;
  NodeMap<Outcome> done;
  ErrorKind error = ErrorKind::overflow;
  Expr culprit;

  bool fail(ErrorKind kind, Expr e) {
    error = kind;
    culprit = e;
    return false;
  }

  bool visit(Expr e, int64_t &out) {
    if (e.isConstant()) {
      out = e.get()->value;
      return true;
    }
    if (e.get()->weight < 64)
      return compute(e, out);
    if (const Outcome *known = done.find(e)) {
      out = known->value;
      return known->defined;
    }
    Outcome outcome;
    outcome.defined = compute(e, outcome.value);
    done.insert(e, outcome);
    out = outcome.value;
    return outcome.defined;
  }

  bool compute(Expr e, int64_t &out) {
    switch (e.kind()) {
    case Kind::constant:
      out = e.get()->value;
      return true;
    case Kind::symbol:
      if (std::optional<int64_t> value = environment.find(e)) {
        out = *value;
        return true;
      }
      return fail(ErrorKind::unboundSymbol, e);
    case Kind::add:
      return sum(e, out);
    case Kind::select:
      return visit(e.operand(0), out) && visit(e.operand(out ? 1 : 2), out);
    case Kind::logicalAnd:
    case Kind::logicalOr:
      return connective(e, e.kind() == Kind::logicalOr, out);
    case Kind::logicalNot:
      if (!visit(e.operand(0), out))
        return false;
      out = !out;
      return true;
    default:
      return fold(e, out);
    }
  }

  bool sum(Expr e, int64_t &out) {
    __int128 total = 0;
    for (Expr addend : e.operands()) {
      Term term = termOf(addend);
      int64_t value;
      if (!visit(Expr(term.monomial), value))
        return false;
      __int128 scaled = static_cast<__int128>(value) * term.coefficient;
      if (__builtin_add_overflow(total, scaled, &total))
        return fail(ErrorKind::overflow, e);
    }
    out = static_cast<int64_t>(total);
    return out == total || fail(ErrorKind::overflow, e);
  }

  bool connective(Expr e, bool absorbing, int64_t &out) {
    bool defined = true;
    for (Expr operand : e.operands()) {
      int64_t value;
      if (!visit(operand, value)) {
        defined = false;
      } else if ((value != 0) == absorbing) {
        out = absorbing;
        return true;
      }
    }
    out = !absorbing;
    return defined;
  }

  /// Kinds that need all operands, from left to right.
  bool fold(Expr e, int64_t &out) {
    if (!visit(e.operand(0), out))
      return false;
    for (Expr operand : e.operands().subspan(1)) {
      int64_t value;
      if (!visit(operand, value) || !apply(e, out, value, out))
        return false;
    }
    return true;
  }

  bool apply(Expr e, int64_t a, int64_t b, int64_t &out) {
    switch (e.kind()) {
    case Kind::mul:
      return mulInto(a, b, &out) || fail(ErrorKind::overflow, e);
    case Kind::exactDiv:
    case Kind::floordiv:
    case Kind::ceildiv:
    case Kind::mod:
      return divide(e, a, b, out);
    case Kind::shl:
    case Kind::shr:
      return shift(e, a, b, out);
    default:
      out = simple(e.kind(), a, b);
      return true;
    }
  }

  static int64_t simple(Kind kind, int64_t a, int64_t b) {
    switch (kind) {
    case Kind::min:
      return std::min(a, b);
    case Kind::max:
      return std::max(a, b);
    case Kind::lt:
      return a < b;
    case Kind::le:
      return a <= b;
    case Kind::eq:
      return a == b;
    case Kind::ne:
      return a != b;
    default:
      return a ^ b;
    }
  }

  bool divide(Expr e, int64_t a, int64_t b, int64_t &out) {
    if (b == 0)
      return fail(ErrorKind::divisionByZero, e);
    if (b == -1) {
      if (e.kind() == Kind::mod) {
        out = 0;
        return true;
      }
      return mulInto(a, -1, &out) || fail(ErrorKind::overflow, e);
    }
    int64_t quotient = a / b, rest = a % b;
    bool below = rest != 0 && (rest < 0) != (b < 0); // the true quotient is below the truncated one
    if (e.kind() == Kind::floordiv)
      out = quotient - below;
    else if (e.kind() == Kind::ceildiv)
      out = quotient + (rest != 0 && !below);
    else if (e.kind() == Kind::mod)
      out = below ? rest + b : rest;
    else
      out = quotient;
    return e.kind() != Kind::exactDiv || rest == 0 || fail(ErrorKind::inexactDivision, e);
  }

  bool shift(Expr e, int64_t a, int64_t b, int64_t &out) {
    if (b < 0)
      return fail(ErrorKind::badShift, e);
    if (e.kind() == Kind::shr) {
      out = a >> std::min<int64_t>(b, 63);
      return true;
    }
    if (a == 0 || b > 62) {
      out = 0;
      return a == 0 || fail(ErrorKind::overflow, e);
    }
    return mulInto(a, int64_t(1) << b, &out) || fail(ErrorKind::overflow, e);
  }
};

std::string describe(ErrorKind kind, Expr e) {
  std::string text = "`" + toString(e) + "` ";
  switch (kind) {
  case ErrorKind::unboundSymbol:
    return text + "has no value";
  case ErrorKind::divisionByZero:
    return text + "divides by 0";
  case ErrorKind::inexactDivision:
    return text + "leaves a remainder, expected an exact division";
  case ErrorKind::badShift:
    return text + "shifts by a negative amount";
  default:
    return text + "does not fit 64 signed bits";
  }
}

} // namespace

int64_t evaluate(Expr e, const Environment &environment) {
  requireDefined(e);
  Evaluator evaluator{environment, {}, ErrorKind::overflow, {}};
  int64_t out = 0;
  if (!evaluator.visit(e, out))
    throw ExprError(evaluator.error, describe(evaluator.error, evaluator.culprit));
  return out;
}

} // namespace soliton::sym
