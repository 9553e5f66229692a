//===- Storage.h - What ops touch, from which the core derives everything else -----===//
//
// A touch names a piece of storage that an op reads or writes: a half-tile in shared memory, a fragment or an
// accumulator in registers. Hazards, barriers and waits follow from touches alone.
//
//   LOAD_B[s1,0]     writes shared B10
//   MMA_LOAD_B[s1,0] reads shared B10, writes register fragB0
//   MMA[1,0]         reads fragA1, fragB0, reads and writes acc10
//
// tileTouches() is that reading of channel, stage and subtile; a pipeline of another kind says its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Config.h"
#include "soliton/schedule/Problem.h"

namespace soliton::pipe {

struct Touch {
  /// Storage of one name is one piece.
  std::string name;
  bool shared = false;
  bool write = false;
  /// The groups of waves that really touch it.
  sched::GroupMask groups = sched::kAllGroups;

  bool operator==(const Touch &) const = default;
};

Touch readsShared(std::string name, sched::GroupMask groups = sched::kAllGroups);
Touch writesShared(std::string name);
Touch readsRegister(std::string name);
Touch writesRegister(std::string name);

/// `A`, `B`, `C2`, …: the operand of a channel.
std::string operandName(int channel);
/// `B10`: operand, stage, half-tile.
std::string tileName(int channel, int stage, int subtile);
/// `fragB0`: operand, quadrant.
std::string fragmentName(int channel, int subtile);

/// A matrix product through staged tiles: loads fill (channel, stage, subtile), fragments read the half-tile of their
/// own subtile, compute ops add the product of their two fragments. Through one stage, stores fill it.
std::vector<Touch> tileTouches(const OpDesc &op, int half, const PipelineConfig &config);

/// K tiles that an op works ahead of its half, so that the iteration it belongs to is known:
///   double buffer  loads fetch the tile of the next trip that `k` names; a fragment of the other stage is the next
///   one's single buffer  loads two, stores one, the loop-carried fragment one
int defaultTilesAhead(const OpDesc &op, int half, const PipelineConfig &config);

} // namespace soliton::pipe
