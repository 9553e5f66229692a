#include "soliton/pipeline/PingPong.h"

#include "soliton/pipeline/Reorder.h"

namespace soliton::pipe {

ScheduleConfig PingPong::defaultScheduleConfig(const KernelGeometry &geometry) {
  ScheduleConfig config;
  config.scheduling = Strategy::Csp;
  config.lgkmPerLoadA = geometry.lgkmPerLoadA;
  config.lgkmPerLoadB = geometry.lgkmPerLoadB;
  return config;
}

PingPong::PingPong(const KernelGeometry &geometry)
    : PingPong(geometry, defaultScheduleConfig(geometry),
               mi355xTarget(geometry.vmPerLoadA, geometry.vmPerLoadB, geometry.maxGlobals())) {}

PingPong::PingPong(const KernelGeometry &geometry, const ScheduleConfig &config, const TargetProfile &profile)
    : PipelineSchedule(profile, config), madeFor(geometry) {}

PingPong::PingPong() : PingPong(oneInstructionEach()) {
  madeFor.reset();
}

std::vector<OpDesc> PingPong::declareOps() const {
  return PipelineBody()
      .halves([](PipelineBody &b, const Half &h) {
        b.load({.tag = kLoadA, .channel = 0, .stage = h.other, .subtile = 1, .k = h.previous});
        b.load({.tag = kLoadA, .channel = 0, .stage = h.stage, .subtile = 0, .k = h.k});
        b.load({.tag = kLoadB, .channel = 1, .stage = h.stage, .subtile = 0, .k = h.k});
        b.load({.tag = kLoadB, .channel = 1, .stage = h.stage, .subtile = 1, .k = h.k});
        b.frag({.tag = kMmaLoadA, .channel = 0, .stage = h.stage, .subtile = 0});
        b.frag({.tag = kMmaLoadA, .channel = 0, .stage = h.stage, .subtile = 1});
        b.frag({.tag = kMmaLoadB, .channel = 1, .stage = h.stage, .subtile = 0});
        b.frag({.tag = kMmaLoadB, .channel = 1, .stage = h.stage, .subtile = 1});
        b.grid<2, 2>(kMma);
      })
      .done();
}

std::vector<OpDesc> PingPong::buildBody() const {
  return doubleBufferReorder(annotate(declareOps(), target.costs), config());
}

std::vector<Touch> PingPong::touches(const OpDesc &op, int half) const {
  std::vector<Touch> touches = tileTouches(op, half, config());
  if (op.role != OpRole::FragmentLoad)
    return touches;
  // A quadrant lies in the rows of A of its wave's group, and in columns of B that may be in either half.
  bool byGroup = op.channel == 0;
  return {readsShared(tileName(op.channel, op.stage, 0), byGroup ? 1 : sched::kAllGroups),
          readsShared(tileName(op.channel, op.stage, 1), byGroup ? 2 : sched::kAllGroups), touches.back()};
}

std::vector<Selection> PingPong::selectsShipped(const OpDesc &op) const {
  std::vector<Selection> selections = selects(op);
  if (op.role != OpRole::GlobalLoad)
    return selections;
  bool isRow = op.channel == 0;
  for (Selection &selection : selections) {
    selection.feeds.clear();
    selection.parts = {{isRow ? "M" : "N", op.subtile, 2}};
  }
  return selections;
}

} // namespace soliton::pipe
