//===- Convert.h - How a value changes its layout --------------------------------===//
//
// The cheapest right way from one layout to another, decided on digits. Each digit of both layouts is cut into common
// atoms; where an atom sits before and after says what has to move:
//
//   same lanes and waves          rename   registers change names, nothing moves
//   same waves                    shuffle  one exchange between lanes per register (a xor butterfly where two lanes
//   swap) otherwise                     shared   through shared memory
//
// A dim that `from` lacks is one that its value does not depend on: a broadcast is a conversion.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/LaneFunction.h"

namespace soliton {

/// One exchange: every lane offers one register group, every lane reads from one lane and files what it gets.
struct ShuffleRound {
  /// At the receiving lane: the lane it reads.
  LaneFunction sourceLane;
  /// At the *sending* lane: the source register group that it offers.
  LaneFunction sendGroup;
  /// At the receiving lane: the slot that the value goes to.
  LaneFunction slot;
  /// Only lanes where the function has this value take what they read; absent: all do.
  struct Guard {
    LaneFunction function;
    int64_t value = 0;
  };
  std::vector<Guard> guards;
  /// False: every lane reads its own offer; selects do it, no data crosses lanes.
  bool crossesLanes = true;
};

enum class ConvertKind : uint8_t { rename, shuffle, shared, impossible };
std::string_view name(ConvertKind kind);

struct ConvertPlan {
  ConvertKind kind = ConvertKind::impossible;
  /// rename: destination register -> source register.
  std::vector<int64_t> registers;

  /// shuffle: that many consecutive registers travel together as one group (one slot).
  int64_t granule = 1;
  /// Groups that the rounds fill.
  int64_t slots = 0;
  std::vector<ShuffleRound> rounds;
  /// shuffle: destination group -> slot (replicated destination registers share one).
  std::vector<int64_t> slotOf;

  /// impossible: why (the layouts are not of the same tile).
  std::string reason;

  /// Rounds in which data crosses lanes.
  int64_t crossings() const;
};

struct ConvertOptions {
  int elementBits = 32;
  /// More 32-bit exchanges per lane than this are dearer than a trip through shared memory.
  int64_t maxExchanges = 64;
  /// Both layouts are known to hold each element of the tile once, up to replication: they are not counted.
  bool trusted = false;
};

/// Whether only names of registers differ between two layouts that hold each element of one tile: lanes and waves hold
/// the same part of it, so the registers do, in whatever order.
bool isRename(const Layout &from, const Layout &to);

/// Both layouts must have the same lanes and waves and, for the dims of `from`, the same extents and offset, each
/// bijective up to replication.
ConvertPlan planConvert(const Layout &from, const Layout &to, const ConvertOptions &options = {});

} // namespace soliton
