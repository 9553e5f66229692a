//===- Blocked.h - Layouts of plain tiles ------------------------------------------===//
//
// How threads share a tile that no matrix instruction dictates: neighbouring lanes take neighbouring elements, so that
// a wave's access is one contiguous run. A 64x32 tile of f16 by 4 waves of 64 lanes, 8 elements each:
//
//   coalesced({{M, 64}, {K, 32}}, 64, 4, 8)  ==  reg = (8 K 1), lane = (4 K 8)(16 M 1), wave = (4 M 16)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Shared.h"

namespace soliton {

struct BlockedResult {
  std::optional<Layout> layout;
  /// Why there is none.
  std::string reason;
  explicit operator bool() const { return layout.has_value(); }
};

/// `tile` is given fastest last. Each lane takes `elementsPerLane` contiguous elements of the fastest dim, lanes and
/// then waves walk on from there; what is left are further rounds as registers, what is too much replicates. Impossible
/// only where `elementsPerLane` does not divide the fastest extent: ask for fewer.
BlockedResult coalesced(std::span<const DimExtent> tile, int64_t lanes, int64_t waves, int64_t elementsPerLane);

/// How threads hold a tile that is read along one dimension and written along another, so that both are wide: a lane
/// has a block of `perLane` by `perLane` elements of the fastest dim and of `across`, and the first 16 lanes lie 4
/// by 4. A 64x64 tile of f16, 4 waves, across L:
///
///   reg = (4 N 1)(4 L 1), lane = (4 N 4)(4 L 4)(4 N 16), wave = (4 L 16)
///
/// Impossible where the tile has too few such blocks for all lanes.
BlockedResult transposing(std::span<const DimExtent> tile, Dim across, int64_t lanes, int64_t waves, int64_t perLane);

/// Elements of a tile that takes a dimension of this size whole. Digits divide a tile exactly, so lanes cannot share 33
/// elements, and each would hold them all; such a size is rounded up to a multiple of 8, and what lies beyond it is
/// masked as at the end of any other dimension.
int64_t wholeTile(int64_t size);

/// The most elements per lane, at most `limit`, with which coalesced() succeeds and no lane is left without work where
/// fewer would employ it; at least 1.
int64_t bestElementsPerLane(std::span<const DimExtent> tile, int64_t lanes, int64_t waves, int64_t limit);

} // namespace soliton
