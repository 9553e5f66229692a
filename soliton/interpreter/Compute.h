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
/// `scales`: none, or those of both operands.
Tile mma(wave::MmaOp op, const Tile &lhs, const Tile &rhs, const Tile &acc, const std::vector<const Tile *> &scales,
         llvm::function_ref<bool(int64_t)> isInside);
/// `init` may be null.
Tile reduce(wave::ReduceOp op, const Tile &source, const Tile *init, const Domain &result,
            llvm::function_ref<bool(int64_t)> isInside);

/// `init` and `totals` may be null.
/// Elements along the op's dimension become others of their row.
Tile shuffle(wave::ShuffleOp op, const Tile &source, const Tile *index, const Domain &result);
Tile scan(wave::ScanOp op, const Tile &source, const Tile *init, const Tile *totals, const Domain &result,
          llvm::function_ref<bool(int64_t)> isInside);

/// `result[c] = operand[indices(c)]`, 0 where that is outside of `extents`, the operand's, or `isInside`, a test for
/// each of its dimensions, fails. Without indices the row-major order is kept.
Tile rearrange(wave::RearrangeOp op, const Tile &operand, const std::vector<sym::Expr> &indices,
               const std::vector<int64_t> &extents, const std::vector<std::function<bool(int64_t)>> &isInside,
               const Domain &result);
/// Pieces one behind the other along dimension `dim` of the result, 0 where the piece's own test fails.
Tile concatenate(const std::vector<const Tile *> &pieces, size_t dim,
                 const std::vector<std::function<bool(int64_t)>> &isInside, const Domain &result);
/// The results of a sort: of the keys, and of each payload. `into` is the domain that they have.
std::vector<Tile> sort(wave::SortOp op, const std::vector<const Tile *> &tiles, const Domain &into,
                       llvm::function_ref<bool(int64_t)> isInside);

/// Elements of rows, and their places.
struct Extremes {
  Tile value, index;
};
/// `init` may be null; `start` is the place of coordinate 0.
Extremes argReduce(wave::ArgReduceOp op, const Tile &source, const Extremes *init, DType indexType, int64_t start,
                   llvm::function_ref<bool(int64_t)> isInside);

} // namespace soliton::interp
