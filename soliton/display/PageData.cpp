//===- PageData.cpp - The numbers behind the timeline of a page ------------===//
//
// Short keys and arrays, because there is one row per executed entry:
//
//   ops     [key, tag, kind, stage, cycle, cluster, latency, place, label]
//   events  [group, op or -1, iteration, span, ready, start, end, done, stall, blame, text]
//   bars    [event, lane, begin, end]
//   deps    [from, to, kind, distance, region, cross-wave]
//
//===----------------------------------------------------------------------===//
#include "soliton/display/Page.h"
#include "soliton/display/PageParts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace soliton::sched {
namespace {
using Json = nlohmann::json;

/// Interned texts: events refer to them by number.
class Texts {
public:
  int operator()(const std::string &text) {
    auto [it, added] = numbers.emplace(text, static_cast<int>(list.size()));
    if (added)
      list.push_back(text);
    return it->second;
  }
  Json list = Json::array();

private:
  std::map<std::string, int> numbers;
};

std::string placeText(const Place &place) {
  return place.known() ? place.file + ":" + std::to_string(place.line) : "";
}

Json opsJson(const Picture &picture, const std::vector<int> &tagOfOp, Texts &texts) {
  Json list = Json::array();
  for (int op = 0; op < picture.problem.numOps(); ++op) {
    const Operation &operation = picture.problem.operations[op];
    const Slot &slot = picture.schedule.slots[op];
    list.push_back({operation.key, tagOfOp[op], texts(std::string(nameOf(operation.kind))), slot.stage, slot.cycle,
                    slot.cluster, operation.latency, texts(placeText(operation.place)), texts(labelOf(operation))});
  }
  return list;
}

/// The strongest dependence between two ops at one distance, at most kMostArrows in each direction of an op.
Json dependencesJson(const Picture &picture, Texts &texts) {
  Schedule schedule = withBuffers(picture.problem, picture.schedule);
  std::vector<Dependence> all = deriveDependences(picture.problem, schedule.buffers);
  std::sort(all.begin(), all.end(), [](const Dependence &a, const Dependence &b) {
    return std::tuple(a.kind, a.distance, a.from, a.to) < std::tuple(b.kind, b.distance, b.from, b.to);
  });
  std::vector<int> out(picture.problem.numOps(), 0), in(picture.problem.numOps(), 0);
  std::set<std::tuple<int, int, int>> seen;
  Json list = Json::array();
  for (const Dependence &dep : all) {
    if (out[dep.from] >= kMostArrows || in[dep.to] >= kMostArrows ||
        !seen.insert({dep.from, dep.to, dep.distance}).second)
      continue;
    ++out[dep.from];
    ++in[dep.to];
    std::string region = dep.region >= 0 ? picture.problem.regions[dep.region].name : "";
    list.push_back(
        {dep.from, dep.to, texts(std::string(nameOf(dep.kind))), dep.distance, texts(region), dep.crossWave ? 1 : 0});
  }
  return list;
}

/// A row of the timeline: one unit of a resource of a group, or the ops that need no unit.
class Lanes {
public:
  explicit Lanes(const Picture &picture, const Timeline &timeline) : problem(picture.problem) {
    std::map<std::pair<int, int>, int> units;
    for (const Bar &bar : timeline.bars) {
      int &count = units[{timeline.events[bar.event].group, bar.resource}];
      count = std::max(count, bar.unit + 1);
    }
    for (int group = 0; group < problem.groups; ++group)
      for (int resource : laneOrder(problem))
        for (int unit = 0; unit < units[{group, resource}]; ++unit)
          add(group, resource, unit, laneName(problem, resource));
  }

  int of(int group, int resource, int unit) const { return numbers.at({group, resource, unit}); }
  Json list = Json::array();

private:
  void add(int group, int resource, int unit, const std::string &name) {
    numbers[{group, resource, unit}] = static_cast<int>(list.size());
    list.push_back({{"group", group}, {"name", unit == 0 ? name : ""}});
  }

  const Problem &problem;
  std::map<std::tuple<int, int, int>, int> numbers;
};

Json spansJson(const Timeline &timeline) {
  Json list = Json::array();
  for (const Span &span : timeline.spans)
    list.push_back({{"group", span.group},
                    {"phase", nameOf(span.phase)},
                    {"trip", span.trip},
                    {"begin", span.begin},
                    {"end", span.end}});
  return list;
}

Json eventsJson(const Picture &picture, const Timeline &timeline, Texts &texts) {
  Json list = Json::array();
  size_t span = 0;
  for (const Event &event : timeline.events) {
    while (span + 1 < timeline.spans.size() &&
           (timeline.spans[span].group != event.group || timeline.spans[span].phase != event.where.phase ||
            timeline.spans[span].trip != event.trip))
      ++span;
    bool isOp = event.entry->kind == EntryKind::Op;
    std::string stall = isWaiting(event) ? std::string(nameOf(event.stall)) : "";
    // Kind of the entry in front of its text, so that the script can tell barriers from waits.
    std::string text =
        isOp ? "" : (event.entry->kind == EntryKind::Barrier ? "b" : "w") + labelOf(picture.problem, *event.entry);
    list.push_back({event.group, isOp ? event.entry->op : -1, event.iteration, span, event.ready, event.start,
                    event.end, event.done, texts(stall), event.blame, texts(text)});
  }
  return list;
}

Json barsJson(const Timeline &timeline, const Lanes &lanes) {
  Json list = Json::array();
  for (const Bar &bar : timeline.bars)
    list.push_back({bar.event, lanes.of(timeline.events[bar.event].group, bar.resource, bar.unit), bar.begin, bar.end});
  return list;
}

Json seriesJson(const Picture &picture, const Timeline &timeline) {
  Json list = Json::array();
  auto add = [&](const Series &series, const std::string &name, int64_t limit) {
    if (series.steps.empty())
      return;
    Json steps = Json::array();
    for (auto [time, value] : series.steps)
      steps.push_back({time, value});
    list.push_back({{"group", series.group},
                    {"name", name},
                    {"limit", limit},
                    {"highest", series.highest()},
                    {"steps", std::move(steps)}});
  };
  for (const Series &series : timeline.inFlight)
    add(series, picture.problem.counters[series.counter].name + " in flight", 0);
  for (const Series &series : timeline.registers)
    add(series, "registers", picture.problem.limits.registers);
  return list;
}
} // namespace

std::vector<int> tagNumbers(const Problem &problem, std::vector<std::string> &tags) {
  std::map<std::string, int> numbers;
  std::vector<int> list;
  for (const Operation &op : problem.operations) {
    bool sync =
        op.kind == OpKind::Barrier || op.kind == OpKind::Wait || op.kind == OpKind::Commit || op.kind == OpKind::Hint;
    std::string tag = sync ? "" : tagOf(op);
    auto [it, added] = numbers.emplace(tag, static_cast<int>(tags.size()));
    if (added && sync)
      it->second = -1;
    else if (added)
      tags.push_back(tag);
    list.push_back(it->second);
  }
  return list;
}

std::string pageData(const Picture &picture, const Summary &summary) {
  std::vector<std::string> tags;
  std::vector<int> tagOfOp = tagNumbers(picture.problem, tags);
  const Timeline &timeline = summary.timeline;
  const Picture &drawn = summary.drawn->picture();
  Texts texts;
  Lanes lanes(drawn, timeline);
  Json stagger = Json::array(), groups = Json::array();
  for (int group = 0; group < drawn.problem.groups; ++group) {
    stagger.push_back(drawn.problem.staggerOf(group));
    groups.push_back(groupName(drawn, group));
  }
  Json data = {{"length", timeline.length},
               {"trips", timeline.trips},
               {"stagger", stagger},
               {"groups", groups},
               {"tags", tags},
               {"ops", opsJson(picture, tagOfOp, texts)},
               {"deps", dependencesJson(picture, texts)},
               {"lanes", lanes.list},
               {"spans", spansJson(timeline)},
               {"events", eventsJson(picture, timeline, texts)},
               {"bars", barsJson(timeline, lanes)},
               {"series", seriesJson(picture, timeline)}};
  data["texts"] = texts.list;
  std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace), safe;
  safe.reserve(text.size());
  // Inside a script element only `<` can end it or open a comment.
  for (char c : text)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

} // namespace soliton::sched
