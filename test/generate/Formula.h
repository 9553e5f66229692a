//===- Formula.h - Integer formulas of generated kernels -----------------------------------===//
//
// What an index, a bound or a constraint of a generated kernel says, as a small tree of its own:
//
//   Formula f = mod(Formula::symbol("$index0") + 32, 64);
//   textOf(f) == "mod(($index0 + 32), 64)"
//   valueOf(f, [](const std::string &) { return 40; }) == 8
//
// Division rounds down and the modulus has the sign of the divisor, for every sign.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace soliton::generate {

enum class FormulaKind : uint8_t {
  number,
  symbol,
  add,
  sub,
  mul,
  floordiv,
  ceildiv,
  mod,
  min,
  max,
  lt,
  le,
  eq,
  select,
  shl
};

class Formula {
public:
  Formula(int64_t value) : kind(FormulaKind::number), number(value) {} // NOLINT: numbers are formulas
  static Formula symbol(std::string name);
  static Formula of(FormulaKind kind, std::vector<Formula> operands);

  FormulaKind kind;
  int64_t number = 0;
  std::string name;
  std::vector<Formula> operands;

private:
  Formula() : kind(FormulaKind::number) {}
};

Formula operator+(Formula a, Formula b);
Formula operator-(Formula a, Formula b);
Formula operator*(Formula a, Formula b);
Formula floordiv(Formula a, Formula b);
Formula ceildiv(Formula a, Formula b);
Formula mod(Formula a, Formula b);

/// In the language's syntax for expressions.
std::string textOf(const Formula &formula);

using Lookup = std::function<int64_t(const std::string &)>;
/// Throws std::domain_error for a division by zero.
int64_t valueOf(const Formula &formula, const Lookup &symbols);

/// All symbols replaced at once.
Formula substitute(const Formula &formula, const std::function<Formula(const std::string &)> &by);
bool mentions(const Formula &formula, const std::string &symbol);

} // namespace soliton::generate
