//===- LayoutCosts.h - What a layout costs where it is used ---------------------------===//
//
// Clocks of one wave, from the target's table, for the instructions that follow from a choice of layouts: accesses by
// their width and the sectors they touch, conversions and reductions by their plans.
//
//   access(write, acc)   16x16 f16 as an accumulator lies, row by row   4 stores of 2 bytes, 4 sectors each
//                        the same, transposed                           1 store of 8 bytes, 16 sectors
//
// Everything here is an estimate for comparing candidates; nothing relies on it for being right.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Access.h"
#include "soliton/layout/Choose.h"
#include "soliton/layout/Route.h"
#include "soliton/layout/Traffic.h"

namespace soliton {

class LayoutCosts {
public:
  explicit LayoutCosts(const Geometry &geometry);

  /// A tile of this type changes its layout; kForbidden where there is no way.
  ChoiceCost convert(wave::TileType type, const Layout &from, const Layout &to) const;
  /// How that is done; `trusted`: both are known to be layouts of the tile.
  ConvertRoute route(wave::TileType type, const Layout &from, const Layout &to, bool trusted = false) const;
  /// The same by way of shared memory only.
  ChoiceCost throughShared(wave::TileType type, const Layout &from, const Layout &to) const;
  /// Whether convert() would take that way.
  bool goesThroughShared(wave::TileType type, const Layout &from, const Layout &to) const;
  /// `dim` of a tile of this type is reduced.
  ChoiceCost reduce(wave::TileType type, const Layout &layout, Dim dim) const;
  /// Elements are combined with those before them along `dim`; where the layout is not ordered along it, in one that
  /// is.
  ChoiceCost scan(wave::TileType type, const Layout &layout, Dim dim) const;
  /// Lanes get each other's elements along `dim`; where a lane does not hold one of the row, in a layout where it does.
  ChoiceCost exchange(wave::TileType type, const Layout &layout, Dim dim) const;
  /// The accesses of a read or write in that layout. Of a parameter in the shared space: those of the shared tile.
  ChoiceCost access(Operation *op, const Layout &layout) const;
  /// What all waves together read from global memory, `elements` at a time a lane: a wave's share of a tile that goes
  /// through shared memory. kForbidden where an index is no plain dimension.
  ChoiceCost stagedRead(wave::ReadOp read, int64_t elements) const;
  /// One instruction per register.
  ChoiceCost compute(const Layout &layout, int64_t instructions = 1) const;

  /// How often an op is executed, as far as it is known: trips of the loops around it that `follows` accepts.
  static int64_t trips(
      Operation *op, const Geometry &geometry,
      llvm::function_ref<bool(wave::IterateOp)> follows = [](wave::IterateOp) { return true; });

private:
  ChoiceCost sharedAccess(const Layout &layout, Dim fastest, int64_t elementBytes, bool write) const;
  ChoiceCost globalAccess(Operation *op, const Layout &layout) const;
  ChoiceCost priceOf(const Traffic &traffic) const;

  const Geometry &geometry;
  MovePrices prices;
};

} // namespace soliton
