#include "soliton/display/SvgBlocks.h"

#include <algorithm>
#include <map>
#include <set>

namespace soliton::sched {
namespace {
/// What a block says first; empty where the tag says it all.
std::string_view verbOf(OpKind kind) {
  switch (kind) {
  case OpKind::GlobalLoad:
  case OpKind::SharedLoad:
    return "load";
  case OpKind::GlobalStore:
  case OpKind::SharedStore:
    return "store";
  case OpKind::CopyAsync:
    return "copy";
  default:
    return "";
  }
}

UnitClass classOf(OpKind kind) {
  switch (kind) {
  case OpKind::GlobalLoad:
  case OpKind::GlobalStore:
  case OpKind::CopyAsync:
    return UnitClass::GlobalMemory;
  case OpKind::SharedLoad:
  case OpKind::SharedStore:
    return UnitClass::SharedMemory;
  case OpKind::Mma:
  case OpKind::MmaAsync:
    return UnitClass::Matrix;
  default:
    return UnitClass::Arithmetic;
  }
}

std::string_view nameOf(UnitClass kind) {
  constexpr std::string_view names[] = {"global memory", "shared memory", "memory", "arithmetic", "matrix unit"};
  return names[static_cast<size_t>(kind)];
}

/// What the users of a unit have in common.
UnitClass joined(UnitClass a, UnitClass b) {
  if (a == b)
    return a;
  bool memory = a <= UnitClass::Memory && b <= UnitClass::Memory;
  return memory ? UnitClass::Memory : UnitClass::Arithmetic;
}

/// Notes for the back end take no time, and would be noise here.
bool isDrawn(const Operation &op) {
  return op.kind != OpKind::Hint && op.kind != OpKind::Barrier && op.kind != OpKind::Wait && op.kind != OpKind::Commit;
}

std::string join(const std::set<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

class BlockMaker {
public:
  BlockMaker(const Picture &picture, const Timeline &timeline, int64_t gap)
      : problem(picture.problem), timeline(timeline), gap(gap) {}

  SvgBlocks make() {
    findLanes();
    findBlocks();
    findPauses();
    return std::move(made);
  }

private:
  const Operation *operationOf(const Event &event) const {
    return event.entry->kind == EntryKind::Op ? &problem.operations[event.entry->op] : nullptr;
  }

  void findLanes() {
    std::map<std::tuple<int, int, int>, UnitClass> used;
    for (const Bar &bar : timeline.bars) {
      const Operation *op = operationOf(timeline.events[bar.event]);
      if (!op || !isDrawn(*op))
        continue;
      auto [it, added] =
          used.emplace(std::tuple(timeline.events[bar.event].group, bar.resource, bar.unit), classOf(op->kind));
      it->second = joined(it->second, classOf(op->kind));
    }
    for (auto [key, kind] : used)
      made.lanes.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), kind, ""});
    std::sort(made.lanes.begin(), made.lanes.end(), [](const SvgLane &a, const SvgLane &b) {
      return std::tuple(a.group, a.kind, a.resource, a.unit) < std::tuple(b.group, b.kind, b.resource, b.unit);
    });
    for (size_t i = 0; i < made.lanes.size(); ++i) {
      SvgLane &lane = made.lanes[i];
      laneOf[{lane.group, lane.resource, lane.unit}] = static_cast<int>(i);
      if (lane.unit == 0)
        lane.name = nameOf(lane.kind);
    }
  }

  /// What a block is made of until it is finished.
  struct Open {
    std::string verb;
    std::set<std::string> tags;
    int count = 0;
  };

  void findBlocks() {
    std::vector<Bar> bars = timeline.bars;
    std::sort(bars.begin(), bars.end(), [](const Bar &a, const Bar &b) {
      return std::tie(a.begin, a.event, a.resource, a.unit) < std::tie(b.begin, b.event, b.resource, b.unit);
    });
    std::map<int, std::pair<SvgBlock, Open>> open;
    for (const Bar &bar : bars) {
      const Event &event = timeline.events[bar.event];
      const Operation *op = operationOf(event);
      if (!op || !isDrawn(*op))
        continue;
      int lane = laneOf.at({event.group, bar.resource, bar.unit});
      std::string verb(verbOf(op->kind));
      auto found = open.find(lane);
      if (found != open.end() && !continues(found->second, event, verb, *op, bar)) {
        close(found->second);
        open.erase(found);
      }
      auto &[block, parts] = open[lane];
      block.lane = lane;
      block.iteration = event.iteration;
      parts.verb = verb;
      parts.tags.insert(tagOf(*op));
      ++parts.count;
      if (!block.busy.empty() && bar.begin <= block.busy.back().second)
        block.busy.back().second = std::max(block.busy.back().second, bar.end);
      else
        block.busy.emplace_back(bar.begin, bar.end);
      block.done = std::max(block.done, event.done);
    }
    for (auto &[lane, last] : open)
      close(last);
  }

  bool continues(const std::pair<SvgBlock, Open> &last, const Event &event, const std::string &verb,
                 const Operation &op, const Bar &bar) const {
    bool same = last.second.verb == verb && (!verb.empty() || last.second.tags.contains(tagOf(op)));
    return same && last.first.iteration == event.iteration && bar.begin - last.first.end() <= gap;
  }

  void close(std::pair<SvgBlock, Open> &last) {
    auto &[block, parts] = last;
    std::string tags = join(parts.tags);
    block.labels = parts.verb.empty() ? std::vector{tags} : std::vector{parts.verb + " " + tags, parts.verb};
    block.title = block.labels.front() + ", iteration " + std::to_string(block.iteration) + ": " +
                  counted(parts.count, "instruction") + ", cycles " + std::to_string(block.begin()) + " to " +
                  std::to_string(block.end());
    if (block.done > block.end())
      block.title += ", there at " + std::to_string(block.done);
    made.blocks.push_back(std::move(block));
  }

  /// Several ways to say what is waited for, the shortest last.
  std::vector<std::string> reasons(const Event &event) const {
    if (event.stall == Stall::Barrier)
      return {"waits for the other waves", "other waves"};
    if (event.stall == Stall::Release)
      return {"waits until others are done with a buffer", "others are not done", "waits"};
    const Operation *blamed = event.blame >= 0 ? operationOf(timeline.events[event.blame]) : nullptr;
    if (!blamed)
      return {"waits"};
    std::string verb(verbOf(blamed->kind)), tag = tagOf(*blamed);
    return {"waits for " + (verb.empty() ? tag : "the " + verb + " of " + tag), "waits for " + tag, "waits"};
  }

  void findPauses() {
    for (const Event &event : timeline.events) {
      if (!isWaiting(event))
        continue;
      SvgPause pause{event.group, event.stall, reasons(event), event.ready, event.start};
      SvgPause *last = made.pauses.empty() ? nullptr : &made.pauses.back();
      if (last && last->group == pause.group && last->stall == pause.stall && last->labels == pause.labels &&
          pause.begin <= last->end)
        last->end = pause.end;
      else
        made.pauses.push_back(std::move(pause));
    }
  }

  const Problem &problem;
  const Timeline &timeline;
  int64_t gap;
  std::map<std::tuple<int, int, int>, int> laneOf;
  SvgBlocks made;
};
} // namespace

SvgBlocks makeBlocks(const Picture &picture, const Timeline &timeline, int64_t gap) {
  return BlockMaker(picture, timeline, gap).make();
}

} // namespace soliton::sched
