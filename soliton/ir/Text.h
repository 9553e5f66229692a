//===- Text.h - Quoted texts of the layers below ----------------------------===//
//
// Expressions, layouts and address maps appear in the dialect as their own text in quotes. These read one such text
// and report what is wrong with it at its place; no exception leaves them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"
#include "soliton/layout/Shared.h"
#include "soliton/symbolic/Expr.h"

#include "mlir/IR/OpImplementation.h"

namespace soliton::sym {
/// What MLIR needs to unique attributes that hold expressions.
inline llvm::hash_code hash_value(Expr value) {
  return llvm::hash_code(value.hash());
}
} // namespace soliton::sym

namespace soliton::wave {

/// Reads `"$WG0*64"`.
mlir::FailureOr<sym::Expr> parseExprText(mlir::AsmParser &parser);
/// Reads `"reg = (4 M 1)"`.
mlir::FailureOr<Layout> parseLayoutText(mlir::AsmParser &parser);
/// Reads `"[M 128, K 32] pad 4"`.
mlir::FailureOr<SharedMap> parseSharedMapText(mlir::AsmParser &parser);

} // namespace soliton::wave
