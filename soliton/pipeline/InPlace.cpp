#include "soliton/pipeline/InPlace.h"

#include <algorithm>

namespace soliton::pipe {

InPlace::InPlace(std::shared_ptr<const PipelineSchedule> pipeline, const TargetProfile &profile, Arrival arrival)
    : PipelineSchedule(profile), declared(std::move(pipeline)), arrival(arrival), structure(declared->config()) {
  readTile();
  bool copied = arrival.copies || most(OpRole::SharedStore) < 0;
  // With rotation the next tile begins while quadrants of this one compute: their half-tiles stay one tile longer.
  int underWay = structure.crossStageRotation ? 1 : 0;
  int stages = std::max(most(copied ? OpRole::GlobalLoad : OpRole::SharedStore), 0) + 1 + underWay;
  auto computes =
      std::count_if(tile.begin(), tile.end(), [](const Declared &each) { return each.op.role == OpRole::Compute; });
  // The steps of a single buffer are quadrants of one row to those who count blocks.
  if (structure.depth < 2) {
    structure.mMmas = 1;
    structure.nMmas = static_cast<int>(computes);
  }
  structure.depth = stages;
  structure.numPartitions = 1;
  structure.loopCarried = LoopCarried::none();
  structure.fragmentsInPlace = true;
  structure.limits = profile.pipeline.limits;
  structure.vmPerLoadA = structure.vmPerLoadB = 1;
  buildTrip();
}

/// The ops of one K tile, with what they work ahead: of equal halves, the first.
void InPlace::readTile() {
  std::vector<OpDesc> all = declared->buildBody();
  size_t length = all.size() / static_cast<size_t>(structure.numPartitions);
  for (const OpDesc &op : std::span(all).first(length))
    if (op.tag < kFirstFrameworkTag)
      tile.push_back({op, declared->tilesAhead(op, 0)});
}

int InPlace::most(OpRole role) const {
  int ahead = -1;
  for (const Declared &each : tile)
    if (each.op.role == role)
      ahead = std::max(ahead, each.ahead);
  return ahead;
}

bool InPlace::isKept(const OpDesc &op) const {
  return op.role != OpRole::FragmentLoad && (op.role != OpRole::SharedStore || arrival.stores);
}

void InPlace::buildTrip() {
  for (const Declared &each : tile) {
    if (!isKept(each.op))
      continue;
    OpDesc op = each.op;
    OpCost cost = target.costs.get(op.tag);
    op.latency = cost.role == op.role ? cost.latency : op.latency;
    if (isStaged(op.role))
      op.stage = each.ahead % structure.depth;
    op.k = KOffset::None;
    body.push_back(op);
  }
}

ScheduleConfig InPlace::scheduleConfig() const {
  ScheduleConfig config = declared->scheduleConfig();
  if (declared->config().depth < 2) {
    config.scheduling = Strategy::Identity;
    config.minimalBarriers = true;
  }
  return config;
}

int InPlace::tilesAhead(const OpDesc &op, int) const {
  for (const Declared &each : tile) {
    bool isSame = each.op.tag == op.tag && each.op.channel == op.channel && each.op.subtile == op.subtile;
    if (isSame && isStaged(op.role) && each.ahead % structure.depth == op.stage)
      return each.ahead;
  }
  return declared->tilesAhead(op, 0);
}

/// The stage of a staged op is no part of the name; that of a compute op is its row.
std::vector<Touch> InPlace::declaredTouches(OpDesc op) const {
  if (isStaged(op.role))
    op.stage = 0;
  return declared->touches(op, 0);
}

/// Adds what ops of the role that read or write the register `through` touch in shared memory.
void InPlace::addShared(std::vector<Touch> &touches, OpRole role, const Touch &through) const {
  for (const Declared &each : tile) {
    if (each.op.role != role)
      continue;
    std::vector<Touch> all = declaredTouches(each.op);
    bool passes = std::any_of(all.begin(), all.end(), [&](const Touch &touch) {
      return !touch.shared && touch.name == through.name && touch.write != through.write;
    });
    if (passes)
      std::copy_if(all.begin(), all.end(), std::back_inserter(touches),
                   [](const Touch &touch) { return touch.shared; });
  }
}

std::vector<Touch> InPlace::touches(const OpDesc &op, int) const {
  std::vector<Touch> result;
  for (const Touch &touch : declaredTouches(op)) {
    std::vector<Touch> shared;
    if (!touch.shared && !touch.write)
      addShared(shared, OpRole::FragmentLoad, touch);
    if (!touch.shared && touch.write && op.role == OpRole::GlobalLoad && !arrival.stores)
      addShared(shared, OpRole::SharedStore, touch);
    if (shared.empty())
      shared.push_back(touch);
    result.insert(result.end(), shared.begin(), shared.end());
  }
  return result;
}

} // namespace soliton::pipe
