//===- Traffic.h - What accesses of global memory move ---------------------------------===//
//
// Global memory moves whole sectors: an access pays for every sector that one of its lanes touches, however little of
// it is used, and for every line that it has to look up. One instruction of 32 lanes, f16, rows 16 KB apart, sectors of
// 32 bytes and lines of 128:
//
//   2 bytes a lane, 4 lanes a row      64 bytes in 8 rows      8 sectors, 8 lines
//   16 bytes a lane, 8 lanes a row     512 bytes in 4 rows     16 sectors, 4 lines
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"

namespace soliton {

/// Where the elements of a tile lie in a memory.
struct MemoryRows {
  /// Bytes from one coordinate to the next. A stride that is known only at launch is far.
  std::map<Dim, int64_t> strides;
  int64_t elementBytes = 1;

  static constexpr int64_t kFar = int64_t(1) << 30;
};

struct TrafficUnits {
  int64_t sectorBytes = 32;
  int64_t lineBytes = 128;
};

/// Of one wave; the mean of all waves, rounded up, where they differ.
struct Traffic {
  int64_t instructions = 0;
  int64_t sectors = 0;
  int64_t lines = 0;
  bool operator==(const Traffic &) const = default;
};

/// All accesses of `layout`, `width` registers each. The tile starts on a line.
Traffic trafficOf(const Layout &layout, int64_t width, const MemoryRows &memory, const TrafficUnits &units);

} // namespace soliton
