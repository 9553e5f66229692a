#include "soliton/pipeline/Config.h"

#include "soliton/target/Target.h"

#include <algorithm>

namespace soliton::pipe {

std::string_view nameOf(Strategy strategy) {
  switch (strategy) {
  case Strategy::Identity:
    return "identity";
  case Strategy::Greedy:
    return "greedy";
  case Strategy::Csp:
    break;
  }
  return "csp";
}

/// The chip's table; profiles are written for it by the name of its product.
static const Target &chip(std::string_view product) {
  const std::vector<const Target *> &all = allTargets();
  return **std::find_if(all.begin(), all.end(), [&](const Target *target) { return target->product == product; });
}
static const Target &mi355x() {
  return chip("MI355X");
}
static const Target &sm90a() {
  return chip("H100, H200");
}

const std::string &mi355xName() {
  return mi355x().name;
}

int64_t mi355xSharedBytes() {
  return mi355x().sharedBytes;
}

static CounterLimits mi355xLimits() {
  return {static_cast<int>(mi355x().counter(CounterKind::vm)->maxPending),
          static_cast<int>(mi355x().counter(CounterKind::shared)->maxPending)};
}

TargetProfile mi355xTarget(int vmPerLoadA, int vmPerLoadB, int maxGlobals) {
  TargetProfile target;
  const OpCost load{ResourceKind::GlobalMem, 200, OpRole::GlobalLoad};
  const OpCost frag{ResourceKind::Shared, 20, OpRole::FragmentLoad, 8};
  const OpCost mma{ResourceKind::MmaUnit, 16, OpRole::Compute, 4};
  target.costs.set(kLoadA, load);
  target.costs.set(kLoadB, load);
  target.costs.set(kTileCompute, mma);
  target.costs.set(kMmaLoadA, frag);
  target.costs.set(kMmaLoadB, frag);
  target.costs.set(kMma, mma);
  target.pipeline.limits = mi355xLimits();
  target.pipeline.blockSizing.maxGlobals = maxGlobals;
  target.pipeline.vmPerLoadA = vmPerLoadA;
  target.pipeline.vmPerLoadB = vmPerLoadB;
  target.pipeline.waveStagger = WaveStagger::automatic();
  return target;
}

TargetProfile mi355xSingleBufferTarget() {
  TargetProfile target;
  target.costs.set(kLoadDram, {ResourceKind::GlobalMem, 200, OpRole::GlobalLoad});
  target.costs.set(kStoreShared, {ResourceKind::Shared, 20, OpRole::SharedStore});
  target.costs.set(kLoadFrag, {ResourceKind::Shared, 20, OpRole::FragmentLoad, 4});
  target.costs.set(kCompute, {ResourceKind::MmaUnit, 64, OpRole::Compute, 16});
  target.pipeline.limits = mi355xLimits();
  target.pipeline.depth = 1;
  target.pipeline.numPartitions = 1;
  target.pipeline.loopCarried = LoopCarried::fragmentZero();
  return target;
}

const std::string &sm90aName() {
  return sm90a().name;
}

int64_t sm90aSharedBytes() {
  return sm90a().sharedBytes;
}

int64_t sm90aRegisters() {
  return sm90a().registersPerLane;
}

static CounterLimits sm90aLimits() {
  return {static_cast<int>(sm90a().counter(CounterKind::boxes)->maxPending), 0,
          static_cast<int>(sm90a().counter(CounterKind::mma)->maxPending)};
}

/// Cycles of a product of 64x64 by `depth` of K.
static int productCycles(int depth) {
  const MmaKind &kind = *sm90a().mmasNamed("F32_64x64x16_F16").front();
  return static_cast<int>(kind.native.cycles * (depth / kind.k));
}

TargetProfile sm90aTarget() {
  TargetProfile target;
  const OpCost load{ResourceKind::GlobalMem, static_cast<int>(sm90a().costs.globalLatencyMemory), OpRole::GlobalLoad};
  const OpCost mma{ResourceKind::MmaUnit, productCycles(64), OpRole::Compute};
  target.costs.set(kLoadA, load);
  target.costs.set(kLoadB, load);
  target.costs.set(kTileCompute, mma);
  target.costs.set(kMma, mma);
  target.pipeline.limits = sm90aLimits();
  return target;
}

TargetProfile sm90aSingleBufferTarget() {
  TargetProfile target;
  target.costs.set(kLoadDram,
                   {ResourceKind::GlobalMem, static_cast<int>(sm90a().costs.globalLatencyMemory), OpRole::GlobalLoad});
  target.costs.set(kStoreShared,
                   {ResourceKind::Shared, static_cast<int>(sm90a().costs.sharedLatency), OpRole::SharedStore});
  target.costs.set(kCompute, {ResourceKind::MmaUnit, productCycles(64), OpRole::Compute});
  target.pipeline.limits = sm90aLimits();
  return target;
}

int waitImmediate(const WaitFields &fields) {
  return (fields.vm & 15) | (fields.vm >> 4) << 14 | fields.exp << 4 | fields.lgkm << 8;
}

} // namespace soliton::pipe
