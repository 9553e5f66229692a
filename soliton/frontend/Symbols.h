//===- Symbols.h - Naming sizes ----------------------------------------------===//
//
// Symbols are the sizes of a kernel: its dimensions and tiles. Expressions over them are exact integers.
//
//   auto [M, N, K] = symbols<"M N K">();
//   auto [BM] = symbols<"BLOCK_M">();
//   Expr waves = BM / 2;                          // exact division: an error where something remains
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Types.h"

#include <array>
#include <utility>
#include <vector>

namespace soliton {
inline namespace lang {

/// Names in a template argument, separated by blanks or commas.
template <size_t N>
struct Names {
  char text[N] = {};
  consteval Names(const char (&names)[N]) {
    for (size_t i = 0; i != N; ++i)
      text[i] = names[i];
  }
  static constexpr bool separates(char c) { return c == ' ' || c == ',' || c == '\0'; }
  static constexpr bool isName(char c, bool first) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (!first && c >= '0' && c <= '9');
  }
  constexpr size_t count() const {
    size_t names = 0;
    for (size_t i = 0; i != N; ++i)
      names += !separates(text[i]) && (i == 0 || separates(text[i - 1]));
    return names;
  }
  constexpr bool valid() const {
    for (size_t i = 0; i != N; ++i)
      if (!separates(text[i]) && !isName(text[i], i == 0 || separates(text[i - 1])))
        return false;
    return true;
  }
};

// Who names a symbol writes a kernel: from then on a mistake in an expression of this thread (`floordiv(M, 0)`) does
// not throw; the kernel that gets the expression reports it with its own place.

/// The symbol of that name; the same name is the same symbol everywhere.
inline Expr symbol(std::string_view name) {
  sym::collectMistakes(true);
  return Expr::symbol(name);
}

/// This workgroup's place along a dimension of the grid, 0 to 4: what a `conditional`, mapping or bound may speak of.
inline Expr workgroup_id(int dim) {
  return symbol("$WG" + std::to_string(dim));
}
/// The number of the iteration, from 0, of the innermost loop over `axis`.
inline Expr iteration(Expr axis) {
  return symbol("$ARG_" + std::string(axis.symbolName()));
}

/// One symbol per name, for structured bindings.
template <Names names>
std::array<Expr, names.count()> symbols() {
  static_assert(names.count() > 0, "symbols<\"M N\">() needs at least one name");
  static_assert(names.valid(), "a symbol's name consists of letters, digits and _, and starts with no digit");
  sym::collectMistakes(true);
  std::array<Expr, names.count()> result;
  std::string_view rest(names.text, sizeof(names.text) - 1);
  for (Expr &entry : result) {
    while (names.separates(rest.front()))
      rest.remove_prefix(1);
    size_t end = 0;
    while (end != rest.size() && !names.separates(rest[end]))
      ++end;
    entry = Expr::symbol(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return result;
}

/// What symbols stand for: numbers, expressions of other symbols, or an address space.
using Substitutions = std::vector<std::pair<Expr, Expr>>;

/// An expression for each of several dimensions, in order.
using DimMap = std::vector<std::pair<Expr, Expr>>;

} // namespace lang
} // namespace soliton
