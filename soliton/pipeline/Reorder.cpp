#include "soliton/pipeline/Reorder.h"

#include <algorithm>
#include <set>

namespace soliton::pipe {
namespace {
std::vector<OpDesc> ofRole(std::span<const OpDesc> ops, OpRole role) {
  std::vector<OpDesc> found;
  std::copy_if(ops.begin(), ops.end(), std::back_inserter(found), [&](const OpDesc &op) { return op.role == role; });
  return found;
}

/// Fills the blocks of one half.
class Interleaver {
public:
  Interleaver(std::span<const OpDesc> half, const PipelineConfig &config)
      : config(config), frags(ofRole(half, OpRole::FragmentLoad)), loads(ofRole(half, OpRole::GlobalLoad)) {
    for (const OpDesc &mma : ofRole(half, OpRole::Compute))
      addBlock(mma);
  }

  std::vector<OpDesc> result;

private:
  void addBlock(const OpDesc &mma) {
    size_t before = result.size();
    bool newRow = !seen.count({0, config.matchKey(mma, 0)});
    for (int channel : {config.bBeforeA ? 1 : 0, config.bBeforeA ? 0 : 1})
      addFragment(mma, channel);
    int target = newRow ? config.blockSizing.heavy : config.blockSizing.light, cap = config.blockSizing.maxGlobals;
    int room = std::max(target - static_cast<int>(result.size() - before) - 1, 0);
    if (cap > 0)
      room = std::min(std::max(room, 1), cap);
    for (; room > 0 && nextLoad < loads.size(); --room)
      result.push_back(loads[nextLoad++]);
    result.push_back(mma);
  }

  void addFragment(const OpDesc &mma, int channel) {
    int key = config.matchKey(mma, channel);
    if (!seen.insert({channel, key}).second)
      return;
    auto frag = std::find_if(frags.begin(), frags.end(),
                             [&](const OpDesc &op) { return op.channel == channel && op.subtile == key; });
    if (frag != frags.end())
      result.push_back(*frag);
  }

  const PipelineConfig &config;
  std::vector<OpDesc> frags, loads;
  std::set<std::pair<int, int>> seen;
  size_t nextLoad = 0;
};
} // namespace

std::vector<OpDesc> singleBufferReorder(std::span<const OpDesc> ops, const PipelineConfig &config) {
  int selector = config.loopCarried.selector;
  std::vector<OpDesc> result;
  auto add = [&](OpRole role, Carried which) {
    for (const OpDesc &op : ofRole(ops, role))
      if (which == Carried::Any || (op.subtile == selector) == (which == Carried::Yes))
        result.push_back(op);
  };
  add(OpRole::FragmentLoad, Carried::No);
  add(OpRole::Compute, Carried::Yes);
  result.push_back(barrier());
  add(OpRole::SharedStore, Carried::Any);
  add(OpRole::GlobalLoad, Carried::Any);
  add(OpRole::Compute, Carried::No);
  result.push_back(barrier());
  add(OpRole::FragmentLoad, Carried::Yes);
  return result;
}

std::vector<OpDesc> interleaveBlocks(std::span<const OpDesc> half, const PipelineConfig &config) {
  return Interleaver(half, config).result;
}

std::vector<OpDesc> doubleBufferReorder(std::span<const OpDesc> ops, const PipelineConfig &config) {
  std::vector<OpDesc> result = interleaveBlocks(ops.first(ops.size() / 2), config);
  std::vector<OpDesc> second = interleaveBlocks(ops.subspan(ops.size() / 2), config);
  result.insert(result.end(), second.begin(), second.end());
  return result;
}

/// The best order of body[begin, end), as ops.
static std::vector<OpDesc> optimizeSegment(std::span<const OpDesc> body, std::span<const DepEdge> edges, int begin,
                                           int end) {
  LoopBody segment{{body.begin() + begin, body.begin() + end}, {}};
  for (const DepEdge &edge : edges)
    if (edge.distance == 0 && edge.producer >= begin && edge.producer < end && edge.consumer >= begin &&
        edge.consumer < end)
      segment.edges.push_back({edge.producer - begin, edge.consumer - begin, edge.kind, 0});
  if (segment.size() < 2)
    return segment.ops;
  std::vector<OpDesc> ops;
  for (int op : searchOrder(segment, {.partitions = 1}).order)
    ops.push_back(segment.ops[op]);
  return ops;
}

std::vector<OpDesc> optimizeWithinBarriers(std::span<const OpDesc> body, const PipelineConfig &config) {
  std::vector<DepEdge> edges = deriveDefaultEdges(body, config);
  std::vector<OpDesc> result;
  int begin = 0, size = static_cast<int>(body.size());
  for (int i = 0; i <= size; ++i) {
    if (i < size && body[i].role != OpRole::Sync)
      continue;
    std::vector<OpDesc> segment = optimizeSegment(body, edges, begin, i);
    result.insert(result.end(), segment.begin(), segment.end());
    if (i < size)
      result.push_back(body[i]);
    begin = i + 1;
  }
  return result;
}

} // namespace soliton::pipe
