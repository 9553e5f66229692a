//===- AutoSolver.h - Numbers for symbols that an author left open ---------------------===//
//
// A tile symbol is open if it is neither bound nor dynamic. The tables of `schedule = auto` say what tiles should be;
// constraints say what they are in terms of symbols:
//
//   WaveConstraint(N, BN / WN), BN = 8192:      require(BN / WN, 1024)  binds  WN = 8
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Compile.h"

#include <map>
#include <set>
#include <utility>

namespace soliton {

using Bindings = std::map<std::string, int64_t>;

/// Nothing where a symbol has none, or a division would leave a rest.
inline std::optional<int64_t> valueOf(sym::Expr expr, const Bindings &known) try {
  sym::Substitution numbers;
  for (sym::Expr symbol : sym::symbolsOf(expr))
    if (auto found = known.find(std::string(symbol.symbolName())); found != known.end())
      numbers.set(symbol, found->second);
  return sym::simplify(sym::substitute(expr, numbers)).constantValue();
} catch (const sym::ExprError &) {
  return std::nullopt;
}

/// What is bound to numbers, or to expressions of what is.
inline Bindings bindingsOf(const CompileOptions &options) {
  Bindings known;
  for (bool isNew = true; std::exchange(isNew, false);)
    for (const auto &[symbol, value] : options.subs) {
      if (!symbol.isSymbol() || known.contains(std::string(symbol.symbolName())))
        continue;
      if (std::optional<int64_t> number = valueOf(value, known)) {
        known[std::string(symbol.symbolName())] = *number;
        isNew = true;
      }
    }
  return known;
}

/// Values of open symbols for which constraints say what is wanted.
class Solver {
public:
  explicit Solver(const CompileOptions &options) : known(bindingsOf(options)) {
    for (sym::Expr symbol : options.dynamic)
      dynamic.insert(std::string(symbol.symbolName()));
  }

  /// Makes `expr` that number: by what is bound, or by binding the one symbol of it that is open.
  bool require(sym::Expr expr, int64_t wanted) {
    if (std::optional<int64_t> value = valueOf(expr, known))
      return *value == wanted;
    std::optional<std::string> open;
    for (sym::Expr symbol : sym::symbolsOf(expr)) {
      std::string name(symbol.symbolName());
      if (known.contains(name))
        continue;
      if (open || dynamic.contains(name))
        return false;
      open = name;
    }
    if (open && expr.isSymbol())
      return bind(*open, wanted);
    for (int64_t value = 1; open && value <= 1024; ++value) {
      known[*open] = value;
      if (valueOf(expr, known) == wanted)
        return bind(*open, value);
    }
    return false;
  }

  const Bindings &found() const { return bound; }
  std::optional<int64_t> sizeOf(sym::Expr dim) const { return valueOf(dim, known); }

private:
  bool bind(const std::string &name, int64_t value) {
    known[name] = bound[name] = value;
    return true;
  }

  Bindings known, bound;
  std::set<std::string> dynamic;
};

} // namespace soliton
