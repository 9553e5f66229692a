//===- Mistake.h - Throw a mistake, or keep it -----------------------------===//
//
// Every public operation is guarded: with an undefined operand it does nothing, and a mistake inside it becomes an
// undefined expression where this thread collects them.
//
//   Expr operator%(Expr a, Expr b) {
//     return guarded("mod", {a, b}, [&] { ... });
//   }
//
// Only the outermost operation keeps a mistake; inside it they are thrown as usual.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Expr.h"

namespace soliton::sym::detail {

extern constinit thread_local bool collecting;

/// The undefined one among the operands, or its mistake thrown.
Expr passOn(std::span<const Expr> operands);
/// An undefined expression that prints as `operation` of the operands.
Expr keepMistake(const ExprError &mistake, const char *operation, std::span<const Expr> operands);

/// How an undefined expression prints.
std::string textOfMistake(Expr undefined);

/// `construct`, out of the way of the common case.
template <typename F>
[[gnu::noinline]] Expr guardedWhileCollecting(const char *operation, std::span<const Expr> operands, F &&construct) {
  try {
    ThrowMistakes scope;
    return construct();
  } catch (const ExprError &mistake) {
    return keepMistake(mistake, operation, operands);
  }
}

template <typename F>
inline Expr guarded(const char *operation, std::span<const Expr> operands, F &&construct) {
  bool undefined = false;
  for (Expr e : operands)
    undefined |= !e.isDefined();
  if (undefined) [[unlikely]]
    return passOn(operands);
  return collecting ? guardedWhileCollecting(operation, operands, construct) : construct();
}

template <typename F>
inline Expr guarded(const char *operation, std::initializer_list<Expr> operands, F &&construct) {
  return guarded(operation, std::span(operands.begin(), operands.size()), construct);
}

} // namespace soliton::sym::detail
