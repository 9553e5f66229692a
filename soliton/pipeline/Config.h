//===- Config.h - The structure of a pipeline and its knobs ------------------------===//
//
// PipelineConfig says what a pipeline *is*: how deep, how many K tiles per trip (partitions, "halves"), how many matrix
// quadrants, what a load costs on the counters. ScheduleConfig says how it is *dressed*: strategy, barriers, waits,
// fences. TargetProfile is the first plus the cost model, as a chip suggests them.
//
//   PipelineConfig config = mi355xTarget(2, 2, 1).pipeline;
//   config.blocks() == 8;  config.opsPerPartition() == 12
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Ops.h"

namespace soliton::pipe {

/// How ops are ordered.
enum class Strategy : uint8_t {
  Identity = 0, ///< as declared
  Greedy = 1,   ///< the first op that is ready, until each block has its compute op
  Csp = 2,      ///< the shortest makespan there is, within a budget of nodes
};
std::string_view nameOf(Strategy strategy);

/// Ops that work one trip ahead of the rest in a single-buffer pipeline: those of `role` with that subtile.
struct LoopCarried {
  OpRole role = OpRole::None;
  int selector = 0;

  static LoopCarried fragmentZero() { return {OpRole::FragmentLoad, 0}; }
  static LoopCarried none() { return {}; }
  bool isNone() const { return role == OpRole::None; }
  bool operator==(const LoopCarried &) const = default;
};

/// How many ops a block should have: one that opens a row of quadrants, any other; loads at most (0: no cap).
struct BlockSizing {
  int heavy = 4;
  int light = 2;
  int maxGlobals = 0;

  static BlockSizing uniform(int ops) { return {ops, ops, 0}; }
  bool operator==(const BlockSizing &) const = default;
};

/// How many entries of the prologue run before the second half of the waves falls one barrier behind.
struct WaveStagger {
  bool enabled = false;
  /// The loads of stage 0 that the body prefetches; otherwise `amount`.
  bool fromBody = false;
  int amount = 0;

  static WaveStagger none() { return {}; }
  static WaveStagger automatic() { return {true, true, 0}; }
  static WaveStagger fixed(int amount) { return {true, false, amount}; }
  bool operator==(const WaveStagger &) const = default;
};

/// What a counter can say. Where fragments stay in place, `vm` is of groups of copied boxes, `mma` of groups of
/// products.
struct CounterLimits {
  int vm = 63;
  int lgkm = 15;
  int mma = 0;
  bool operator==(const CounterLimits &) const = default;
};

struct PipelineConfig {
  /// Shared stages: 1 single buffer, from 2 on double buffer.
  int depth = 2;
  LoopCarried loopCarried;
  BlockSizing blockSizing;
  bool bBeforeA = true;
  /// Quadrants of a wave's tile along M and N: a block each.
  int mMmas = 2, nMmas = 2;
  /// K tiles per trip of the loop; equal slices of the body.
  int numPartitions = 2;
  /// Ticks of one load (vm) and of one fragment (lgkm; 0: as ScheduleConfig says) of each operand.
  int vmPerLoadA = 4, vmPerLoadB = 4;
  int lgkmPerLoadA = 0, lgkmPerLoadB = 0;
  /// By which coordinate of a compute op fragments of channel 0 and 1 are found: 0 its stage, 1 its subtile.
  std::array<int, 2> matchField = {0, 1};
  WaveStagger waveStagger;
  /// Fragments of the next tile are read into registers that this tile no longer needs.
  bool crossStageRotation = false;
  /// Compute ops read shared memory by themselves and complete on a counter; loads come in groups (InPlace.h).
  bool fragmentsInPlace = false;
  CounterLimits limits;

  int mmasPerPartition() const { return mMmas * nMmas; }
  int globalsPerPartition() const { return mMmas + nMmas; }
  int opsPerPartition() const { return 2 * globalsPerPartition() + mmasPerPartition(); }
  int totalOps() const { return numPartitions * opsPerPartition(); }
  int blocks() const { return numPartitions * mmasPerPartition(); }
  int vmPerChannel(int channel) const { return channel == 0 ? vmPerLoadA : vmPerLoadB; }
  int lgkmPerChannel(int channel) const { return channel == 0 ? lgkmPerLoadA : lgkmPerLoadB; }
  /// The subtile of the fragment of `channel` that a compute op needs.
  int matchKey(const OpDesc &compute, int channel) const {
    return matchField[channel == 0 ? 0 : 1] == 0 ? compute.stage : compute.subtile;
  }
  bool operator==(const PipelineConfig &) const = default;
};

/// `waitLgkmFirst` of this value: no wait in the first block.
inline constexpr int kNoWait = 255;
inline constexpr int kUnlimited = 999999;

struct ScheduleConfig {
  Strategy scheduling = Strategy::Identity;
  /// Bit b: a scheduling fence behind block b.
  uint32_t schedBarrierMask = 0b01010101;
  bool autoWaits = true;
  /// Bit b: block b waits for its fragments before it issues loads; or derived from the blocks.
  uint32_t drainLgkmMask = 0;
  bool autoDrain = false;
  /// Cycles by which one memory op delays the next in the order's cost.
  int sharedContentionPenalty = 0;
  int waitLgkmFirst = 8;
  int waitVmLast = 6;
  int lgkmPerLoadA = 0, lgkmPerLoadB = 0;
  bool lgkmAfterLast = false;
  bool minimalBarriers = false;
  bool omitMmaSetPrio = false;
  int maxVgpr = kUnlimited;
  bool globalBeforeFrag = false;
  bool barrierBeforePreOps = false;
  bool interBlockLgkmDrain = false;
  bool partialPrologueDrain = false;
  bool wrapWaitsWithSchedBarrier = false;
  /// CSP: nodes of the search before it gives up on a proof.
  int64_t nodeBudget = 500'000;

  bool operator==(const ScheduleConfig &) const = default;
};

struct TargetProfile {
  CostModel costs;
  PipelineConfig pipeline;
};

/// Tags of the two double-buffer pipelines.
enum TileTag : int { kLoadA = 0, kLoadB = 1, kTileCompute = 2, kMmaLoadA = 3, kMmaLoadB = 4, kMma = 5 };
/// Tags of the single-buffer pipeline.
enum SingleTag : int { kLoadDram = 0, kStoreShared = 1, kLoadFrag = 2, kCompute = 3 };

/// The target that the profiles of this file describe.
const std::string &mi355xName();
/// What the table of the chip says of its shared memory.
int64_t mi355xSharedBytes();
/// MI355X, double buffer. Latencies are those of coarse ops, whatever the geometry.
TargetProfile mi355xTarget(int vmPerLoadA = 4, int vmPerLoadB = 4, int maxGlobals = 1);
/// MI355X, single buffer.
TargetProfile mi355xSingleBufferTarget();
/// H100 and H200: what InPlace.h takes counters and latencies from, for the tags of either kind. The table of the chip
/// says them: a load takes what global memory does, a compute op the matrix instructions of 64x64 by 64 of K.
TargetProfile sm90aTarget();
TargetProfile sm90aSingleBufferTarget();
const std::string &sm90aName();
int64_t sm90aSharedBytes();
int64_t sm90aRegisters();

/// Fields of an `s_waitcnt`; an absent one does not wait.
struct WaitFields {
  int vm = 63;
  int exp = 7;
  int lgkm = 15;
};
/// Its immediate: vm in bits 0-3 and 14-15, exp in 4-6, lgkm in 8-11.
int waitImmediate(const WaitFields &fields);

} // namespace soliton::pipe
