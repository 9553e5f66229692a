//===- LayoutExpr.h - Layouts, plans and address maps as symbolic expressions ----===//
//
// The same functions as Layout::coordinate, LaneFunction and SharedMap::offset, with lane and wave left symbolic. For
// the lane axis `(16 N 1)(4 M 4)` the coordinate of `M` is `4 * floordiv(lane, 16)`: the topmost digit needs no mod.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Reduce.h"
#include "soliton/layout/Shared.h"
#include "soliton/symbolic/Expr.h"

namespace soliton {

/// What a position in [0, countOf(digits)) adds to the coordinate of `dim`.
sym::Expr digitsExpr(const Digits &digits, Dim dim, sym::Expr position);

/// Coordinate of `dim` that register `reg` holds, offset included. Lane and wave lie in [0, lanes()) and [0, waves()).
sym::Expr coordinateExpr(const Layout &layout, Dim dim, int64_t reg, sym::Expr lane, sym::Expr wave);

/// A plan's function of lane and wave.
sym::Expr laneExpr(const LaneFunction &function, sym::Expr lane, sym::Expr wave);

/// The lane that a step of a reduction reads.
sym::Expr sourceLaneExpr(const LaneStep &step, sym::Expr lane);

/// The coordinates that a map's swizzle stores where it would store `place` without one. A swizzle undoes itself, so
/// this is also the place of coordinates. Absent coordinates are 0.
std::map<Dim, sym::Expr> swizzledExpr(const SharedMap &map, std::map<Dim, sym::Expr> place);

/// Element offset of symbolic coordinates; absent coordinates are 0.
sym::Expr offsetExpr(const SharedMap &map, const std::map<Dim, sym::Expr> &coordinate);

} // namespace soliton
