#include "test/generate/Formula.h"

#include <algorithm>
#include <stdexcept>

namespace soliton::generate {

Formula Formula::symbol(std::string name) {
  Formula result;
  result.kind = FormulaKind::symbol;
  result.name = std::move(name);
  return result;
}

Formula Formula::of(FormulaKind kind, std::vector<Formula> operands) {
  Formula result;
  result.kind = kind;
  result.operands = std::move(operands);
  return result;
}

Formula operator+(Formula a, Formula b) {
  return Formula::of(FormulaKind::add, {std::move(a), std::move(b)});
}
Formula operator-(Formula a, Formula b) {
  return Formula::of(FormulaKind::sub, {std::move(a), std::move(b)});
}
Formula operator*(Formula a, Formula b) {
  return Formula::of(FormulaKind::mul, {std::move(a), std::move(b)});
}
Formula floordiv(Formula a, Formula b) {
  return Formula::of(FormulaKind::floordiv, {std::move(a), std::move(b)});
}
Formula ceildiv(Formula a, Formula b) {
  return Formula::of(FormulaKind::ceildiv, {std::move(a), std::move(b)});
}
Formula mod(Formula a, Formula b) {
  return Formula::of(FormulaKind::mod, {std::move(a), std::move(b)});
}

std::string textOf(const Formula &formula) {
  auto call = [&](const char *name) {
    std::string text = std::string(name) + "(";
    for (size_t i = 0; i < formula.operands.size(); ++i)
      text += (i ? ", " : "") + textOf(formula.operands[i]);
    return text + ")";
  };
  auto infix = [&](const char *op) {
    return "(" + textOf(formula.operands[0]) + " " + op + " " + textOf(formula.operands[1]) + ")";
  };
  switch (formula.kind) {
  case FormulaKind::number:
    return formula.number < 0 ? "(" + std::to_string(formula.number) + ")" : std::to_string(formula.number);
  case FormulaKind::symbol:
    return formula.name;
  case FormulaKind::add:
    return infix("+");
  case FormulaKind::sub:
    return infix("-");
  case FormulaKind::mul:
    return infix("*");
  case FormulaKind::floordiv:
    return call("floordiv");
  case FormulaKind::ceildiv:
    return call("ceildiv");
  case FormulaKind::mod:
    return call("mod");
  case FormulaKind::min:
    return call("min");
  case FormulaKind::max:
    return call("max");
  case FormulaKind::lt:
    return infix("<");
  case FormulaKind::le:
    return infix("<=");
  case FormulaKind::eq:
    return infix("==");
  case FormulaKind::select:
    return call("select");
  case FormulaKind::shl:
    return call("shl");
  }
  return {};
}

static int64_t floorQuotient(int64_t a, int64_t b) {
  if (b == 0)
    throw std::domain_error("division by zero");
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t valueOf(const Formula &formula, const Lookup &symbols) {
  auto at = [&](size_t i) { return valueOf(formula.operands[i], symbols); };
  switch (formula.kind) {
  case FormulaKind::number:
    return formula.number;
  case FormulaKind::symbol:
    return symbols(formula.name);
  case FormulaKind::add:
    return at(0) + at(1);
  case FormulaKind::sub:
    return at(0) - at(1);
  case FormulaKind::mul:
    return at(0) * at(1);
  case FormulaKind::floordiv:
    return floorQuotient(at(0), at(1));
  case FormulaKind::ceildiv:
    return -floorQuotient(-at(0), at(1));
  case FormulaKind::mod: {
    int64_t a = at(0), b = at(1);
    return a - floorQuotient(a, b) * b;
  }
  case FormulaKind::min:
    return std::min(at(0), at(1));
  case FormulaKind::max:
    return std::max(at(0), at(1));
  case FormulaKind::lt:
    return at(0) < at(1);
  case FormulaKind::le:
    return at(0) <= at(1);
  case FormulaKind::eq:
    return at(0) == at(1);
  case FormulaKind::select:
    return at(0) ? at(1) : at(2);
  case FormulaKind::shl:
    return static_cast<int64_t>(static_cast<uint64_t>(at(0)) << at(1));
  }
  return 0;
}

Formula substitute(const Formula &formula, const std::function<Formula(const std::string &)> &by) {
  if (formula.kind == FormulaKind::symbol)
    return by(formula.name);
  Formula result = formula;
  for (Formula &operand : result.operands)
    operand = substitute(operand, by);
  return result;
}

bool mentions(const Formula &formula, const std::string &symbol) {
  if (formula.kind == FormulaKind::symbol)
    return formula.name == symbol;
  return std::ranges::any_of(formula.operands, [&](const Formula &operand) { return mentions(operand, symbol); });
}

} // namespace soliton::generate
