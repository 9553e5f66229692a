//===- Compute.h - The meaning of each op on tiles ---------------------------===//
//
// Pure functions from tiles to tiles. `result` is the domain of what is computed; operands are looked up by coordinate,
// so the same definition serves whole tiles and pieces of them. All throw Failure where an operand lacks a coordinate.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/interpreter/Geometry.h"
#include "soliton/interpreter/Tile.h"

namespace soliton::interp {

/// `result[c] = operand[c]`; dimensions that the operand lacks repeat it.
Tile reindex(mlir::Operation *op, const Tile &operand, const Domain &result);
Tile unary(wave::UnaryOp op, const Tile &operand, const Domain &result);
Tile binary(wave::BinaryOp op, const Tile &lhs, const Tile &rhs, const Domain &result);
Tile compare(wave::CompareOp op, const Tile &lhs, const Tile &rhs, const Domain &result);
Tile select(wave::SelectOp op, const Tile &condition, const Tile &ifTrue, const Tile &ifFalse, const Domain &result);
Tile bitcast(wave::BitcastOp op, const Tile &operand, DType type, const Domain &result);
Tile cast(wave::CastOp op, const Tile &operand, DType type, const Domain &result);
Tile applyExpr(wave::ApplyExprOp op, sym::Expr expr, const std::vector<const Tile *> &operands, DType type,
               const Domain &result);
/// The union of the pieces.
Tile join(wave::JoinOp op, const std::vector<const Tile *> &pieces, const Domain &result);
/// `isInside` tells which coordinates along the contracted dimension are within its size.
Tile mma(wave::MmaOp op, const Tile &lhs, const Tile &rhs, const Tile &acc, llvm::function_ref<bool(int64_t)> isInside);
/// `init` may be null.
Tile reduce(wave::ReduceOp op, const Tile &source, const Tile *init, const Domain &result,
            llvm::function_ref<bool(int64_t)> isInside);

/// `init` and `totals` may be null.
Tile scan(wave::ScanOp op, const Tile &source, const Tile *init, const Tile *totals, const Domain &result,
          llvm::function_ref<bool(int64_t)> isInside);

/// Elements of rows, and their places.
struct Extremes {
  Tile value, index;
};
/// `init` may be null; `start` is the place of coordinate 0.
Extremes argReduce(wave::ArgReduceOp op, const Tile &source, const Extremes *init, DType indexType, int64_t start,
                   llvm::function_ref<bool(int64_t)> isInside);

} // namespace soliton::interp
