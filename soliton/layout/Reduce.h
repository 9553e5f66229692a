//===- Reduce.h - How a dimension is reduced ---------------------------------------===//
//
// Registers are combined locally, lanes by exchanges, waves through shared memory; which of them depends only on where
// the dim's digits are. Rows of a 32x32 accumulator, `reg = (4 M 1)(4 M 8), lane = (32 N 1)(2 M 4)`, reduced over M:
//
//   registers  one group of 16          lanes  butterfly with mask 32          waves  nothing
//   result     lane = (32 N 1)(2 _ 0)
//
// Afterwards every holder of the result has the same bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/LaneFunction.h"

namespace soliton {

/// One exchange between lanes on the running value `x`; `x0` is the value before the first step of its digit.
struct LaneStep {
  enum class Kind : uint8_t {
    /// x = x op (x of sourceLane); sourceLane is `lane xor mask`.
    butterfly,
    /// x = x op (x of sourceLane): doubles the number of lanes that x covers.
    join,
    /// x = x op (x0 of sourceLane): adds one lane.
    joinFirst,
    /// x = x of sourceLane: all lanes of the digit take the first one's.
    broadcast,
  };
  Kind kind = Kind::butterfly;
  /// butterfly: the mask.
  int64_t mask = 0;
  /// The lane that is read: the digit (lane / divisor) mod extent moves on by `shift`, wrapping; broadcast reads digit
  /// 0.
  int64_t divisor = 1, extent = 2, shift = 0;
  /// The digit starts here: x0 = x.
  bool first = false;

  int64_t sourceLane(int64_t lane) const;
};

/// A digit of the wave axis that is reduced: position / divisor mod extent.
struct WaveDigit {
  int64_t divisor = 1, extent = 1;
};

struct ReducePlan {
  /// For each result register the source registers that are combined, in order.
  std::vector<std::vector<int64_t>> registers;
  std::vector<LaneStep> lanes;
  /// Non-empty: partial results of the waves meet in shared memory.
  std::vector<WaveDigit> waves;
  Layout result;

  /// How many partial results of waves each element has.
  int64_t wavePartials() const;
  /// Where wave `wave`'s partial result stands among those of its element.
  int64_t wavePartial(int64_t wave) const;
};

/// Replicated holders of the source hold equal values, so only digits of `dim` are combined.
ReducePlan planReduce(const Layout &source, Dim dim);
/// A partial reduction: of the lane and wave digits of `dim` only those that `result` lacks are combined.
ReducePlan planReduce(const Layout &source, Dim dim, const Layout &result);

/// The layouts on the way from `source` to its reduction along `dim`, one exchange at a time: registers first, then a
/// butterfly each, or the whole ring of a digit that is no power of two. Each is a partial reduction of the one before;
/// digits of waves stay. `reg = (4 L 1), lane = (16 M 1)(4 L 4)` along L:
///
///   lane = (16 M 1)(4 L 4)      lane = (16 M 1)(2 _ 0)(2 L 8)      lane = (16 M 1)(4 _ 0)
std::vector<Layout> reduceStages(const Layout &source, Dim dim);

/// The coordinate of `result`, a partial reduction of `source` along `dim`, to which a coordinate of the source goes:
/// the digits that are combined count as 0.
int64_t keptCoordinate(const Layout &source, const Layout &result, Dim dim, int64_t coordinate);

} // namespace soliton
