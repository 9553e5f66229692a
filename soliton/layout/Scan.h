//===- Scan.h - How a dimension is added up ------------------------------------------===//
//
// The running sum of a row goes from its least significant digit to its most significant one: inside runs of what the
// digits so far count, then over those runs, each of which only hands on its total. `reg = (4 N 1), lane = (64 N 4)`:
//
//   digits   (reg 1 4)    each lane adds up its four registers; the last one is its total
//            (lane 1 64)  lanes add up their totals, and each takes that of the lanes before it
//
// Waves come last: their totals meet in shared memory. A layout in which a digit of waves is not the most significant
// one is not *ordered*; one that is has the same digits in another order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Reduce.h"

namespace soliton {

/// One digit of the dimension: position / divisor mod extent, of a lane or of a register of its group.
struct ScanDigit {
  Axis axis = Axis::reg;
  int64_t divisor = 1, extent = 1;
  bool operator==(const ScanDigit &) const = default;
};

struct ScanPlan {
  /// Registers that differ along the dimension only, in order.
  std::vector<std::vector<int64_t>> groups;
  /// Of registers and lanes, least significant first.
  std::vector<ScanDigit> digits;
  /// Non-empty: totals of the waves meet in shared memory.
  std::vector<WaveDigit> waves;

  bool crossesLanes() const;
  /// Exchanges between lanes and other instructions that one group takes.
  int64_t exchanges() const;
  int64_t combinations() const;
};

/// Whether runs of less significant digits are runs of the dimension, and waves have the longest ones.
bool isOrderedAlong(const Layout &layout, Dim dim);
/// The same holders with the digits of `dim` in an order that isOrderedAlong(): where a lane is follows the
/// registers, where a wave is follows both.
Layout orderedAlong(const Layout &layout, Dim dim);

/// Lane `l` of a wave has the elements `l` along `dim`, which has as many as there are lanes; registers have what lanes
/// had of other dimensions, and waves what they had: how lanes hold rows whose elements they exchange.
Layout oneElementPerLane(const Layout &layout, Dim dim);

/// Of a layout that isOrderedAlong().
ScanPlan planScan(const Layout &layout, Dim dim);

} // namespace soliton
