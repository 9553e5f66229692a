#include "soliton/pipeline/Storage.h"

namespace soliton::pipe {

Touch readsShared(std::string name, sched::GroupMask groups) {
  return {std::move(name), true, false, groups};
}
Touch writesShared(std::string name) {
  return {std::move(name), true, true, sched::kAllGroups};
}
Touch readsRegister(std::string name) {
  return {std::move(name), false, false, sched::kAllGroups};
}
Touch writesRegister(std::string name) {
  return {std::move(name), false, true, sched::kAllGroups};
}

std::string operandName(int channel) {
  return channel < 0   ? "T"
         : channel < 2 ? std::string(1, static_cast<char>('A' + channel))
                       : "C" + std::to_string(channel);
}

std::string tileName(int channel, int stage, int subtile) {
  return operandName(channel) + std::to_string(stage) + std::to_string(subtile);
}

std::string fragmentName(int channel, int subtile) {
  return "frag" + operandName(channel) + std::to_string(subtile);
}

static std::string accumulatorName(const OpDesc &op, const PipelineConfig &config) {
  // All K steps of a single-buffer body add to the same accumulators.
  return config.depth < 2 ? "acc" : "acc" + std::to_string(op.stage) + std::to_string(op.subtile);
}

std::vector<Touch> tileTouches(const OpDesc &op, int half, const PipelineConfig &config) {
  bool direct = config.depth >= 2;
  std::string tile = direct ? tileName(op.channel, op.stage, op.subtile) : "tile";
  switch (op.role) {
  case OpRole::GlobalLoad:
    return {direct ? writesShared(tile) : writesRegister("loaded")};
  case OpRole::SharedStore:
    return {readsRegister("loaded"), writesShared(tile)};
  case OpRole::FragmentLoad:
    return {readsShared(tile), writesRegister(fragmentName(op.channel, op.subtile))};
  case OpRole::Compute: {
    std::string acc = accumulatorName(op, config);
    std::vector<Touch> touches = {readsRegister(acc), writesRegister(acc)};
    if (!direct)
      touches.push_back(readsRegister(fragmentName(op.channel, op.subtile)));
    for (int channel = 0; direct && channel < 2; ++channel)
      touches.push_back(readsRegister(fragmentName(channel, config.matchKey(op, channel))));
    return touches;
  }
  default:
    return {};
  }
}

int defaultTilesAhead(const OpDesc &op, int half, const PipelineConfig &config) {
  if (config.depth < 2) {
    bool carried = op.role == config.loopCarried.role && op.subtile == config.loopCarried.selector;
    return op.role == OpRole::GlobalLoad ? 2 : op.role == OpRole::SharedStore || carried ? 1 : 0;
  }
  if (op.role == OpRole::GlobalLoad)
    return config.numPartitions + tilesFromLoop(op.k) - half;
  return op.role == OpRole::FragmentLoad && op.stage != half % config.depth ? 1 : 0;
}

} // namespace soliton::pipe
