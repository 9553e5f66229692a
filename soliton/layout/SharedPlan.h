//===- SharedPlan.h - Where tiles lie in shared memory -------------------------------===//
//
// The one planner of shared memory: which map each tile has (rows swizzled or padded so that no access of any wave has
// a bank conflict), and where tiles lie. Tiles that are never live together may share a place:
//
//   tiles   a 16 KB live [0, 10)   b 8 KB live [10, 20)   c 8 KB live [5, 20)
//   plan    a at 0                 b at 0                 c at 16384               24 KB in all
//
// Placing is exact for few tiles (every order is tried, cut off where it cannot win) and first-fit by size beyond.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Shared.h"

namespace soliton {

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

/// A tile whose rows are to be stored without bank conflicts.
struct MapRequest {
  /// Rows without padding or swizzle.
  SharedMap plain;
  int elementBits = 32;
  std::vector<SharedAccessPattern> accesses;
  /// Elements that instructions write without a gap, whatever the map: rows that such a run crosses have no padding,
  /// and what a swizzle exchanges belongs to one run.
  std::vector<int64_t> runs;
  bool mayBeSwizzled = true;
};

/// Whether all runs can write the tile as the map stores it.
bool suitsRuns(const SharedMap &map, const std::vector<int64_t> &runs);

/// A swizzle where one frees all accesses of conflicts, otherwise the smallest padding, if runs can skip it; the plain
/// map where neither suits them. Without swizzles the padding, conflicts or not.
SharedMap chooseMap(const MapRequest &request);

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Points in time [begin, end), in any unit that all tiles share.
struct LiveInterval {
  int64_t begin = 0, end = 0;
  bool operator==(const LiveInterval &) const = default;
};

struct SharedTile {
  int64_t bytes = 0;
  /// A power of two; 16 keeps the widest access aligned.
  int64_t alignment = 16;
  /// When it holds something; empty: always.
  std::vector<LiveInterval> live = {};
};

/// Whether two tiles ever hold something at the same time.
bool liveTogether(const SharedTile &a, const SharedTile &b);

struct SharedPlan {
  /// One per tile, in bytes.
  std::vector<int64_t> offsets;
  /// All that the tiles take.
  int64_t bytes = 0;
  /// No plan takes less; otherwise none was found.
  bool exact = true;
};

/// `maxExact`: up to that many tiles every order is tried.
SharedPlan planShared(const std::vector<SharedTile> &tiles, size_t maxExact = 8);

} // namespace soliton
