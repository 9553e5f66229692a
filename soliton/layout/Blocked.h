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

/// The most elements per lane, at most `limit`, with which coalesced() succeeds and no lane is left without work where
/// fewer would employ it; at least 1.
int64_t bestElementsPerLane(std::span<const DimExtent> tile, int64_t lanes, int64_t waves, int64_t limit);

} // namespace soliton
