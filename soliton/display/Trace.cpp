#include "soliton/display/Trace.h"

#include "soliton/display/Summary.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace soliton::sched {
namespace {
using Json = nlohmann::ordered_json;

class TraceWriter {
public:
  explicit TraceWriter(const Picture &picture)
      : picture(picture), problem(picture.problem), schedule(withBuffers(problem, picture.schedule)),
        timeline(makeTimeline(problem, schedule, picture.program, picture.trips)), tracks(timeline.events.size(), 0),
        hasTrack(timeline.events.size(), 0) {}

  std::string print() {
    for (int group = 0; group < problem.groups; ++group)
      emit({{"name", "process_name"}, {"ph", "M"}, {"pid", group + 1}, {"args", {{"name", processName(group)}}}});
    phases();
    operations();
    synchronisation();
    dependences();
    counters();
    Json trace = {{"displayTimeUnit", "ms"},
                  {"otherData",
                   {{"loop", problem.loop},
                    {"algorithm", schedule.algorithm},
                    {"kernel", picture.kernel},
                    {"target", picture.target},
                    {"time", "modelled: one cycle is one microsecond"}}},
                  {"traceEvents", std::move(list)}};
    return trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

private:
  /// Tracks of a group: phases, then ops without a unit, then units, then waiting.
  static constexpr int kPhaseTrack = 1;
  static constexpr int kWaitTrack = 1 << 30;
  static constexpr int kUnitsPerResource = 4096;

  void emit(Json event) { list.push_back(std::move(event)); }

  std::string processName(int group) const { return problem.groups == 1 ? "waves" : groupName(picture, group); }

  int track(int group, int number, const std::string &name) {
    if (named.emplace(std::pair(group, number), true).second) {
      Json where = {{"pid", group + 1}, {"tid", number}};
      Json name_ = {{"name", "thread_name"}, {"ph", "M"}, {"args", {{"name", name}}}};
      Json order = {{"name", "thread_sort_index"}, {"ph", "M"}, {"args", {{"sort_index", number}}}};
      name_.update(where);
      order.update(where);
      emit(std::move(name_));
      emit(std::move(order));
    }
    return number;
  }

  void slice(const std::string &name, int group, int tid, int64_t begin, int64_t end, Json args) {
    emit({{"name", name},
          {"ph", "X"},
          {"ts", begin},
          {"dur", std::max<int64_t>(end - begin, 0)},
          {"pid", group + 1},
          {"tid", tid},
          {"args", std::move(args)}});
  }

  void phases() {
    for (const Span &span : timeline.spans) {
      std::string name = std::string(nameOf(span.phase)) + (span.trip >= 0 ? " " + std::to_string(span.trip) : "");
      slice(name, span.group, track(span.group, kPhaseTrack, "phase"), span.begin, span.end, Json::object());
    }
  }

  Json argumentsOf(const Event &event) const {
    const Operation &op = problem.operations[event.entry->op];
    const Slot &slot = schedule.slots[event.entry->op];
    Json args = {{"iteration", event.iteration}, {"stage", slot.stage},     {"cycle", slot.cycle},
                 {"cluster", slot.cluster},      {"kind", nameOf(op.kind)}, {"tag", tagOf(op)},
                 {"result_at", event.done},      {"latency", op.latency}};
    if (op.place.known())
      args["place"] = op.place.file + ":" + std::to_string(op.place.line);
    return args;
  }

  void operations() {
    for (const Bar &bar : timeline.bars) {
      const Event &event = timeline.events[bar.event];
      std::string name = laneName(problem, bar.resource) + (bar.unit == 0 ? "" : " " + std::to_string(bar.unit + 1));
      int number = (bar.resource + kLanesWithoutUnit) * kUnitsPerResource + std::min(bar.unit, kUnitsPerResource - 1);
      int tid = track(event.group, kPhaseTrack + 1 + number, name);
      remember(bar.event, tid);
      slice(problem.operations[event.entry->op].key, event.group, tid, bar.begin, bar.end, argumentsOf(event));
    }
  }

  void remember(int event, int tid) {
    if (hasTrack[event])
      return;
    hasTrack[event] = 1;
    tracks[event] = tid;
  }

  void synchronisation() {
    for (const Event &event : timeline.events) {
      bool isOp = event.entry->kind == EntryKind::Op;
      if (isOp && !isWaiting(event))
        continue;
      Json args = {{"for", nameOf(event.stall)}};
      if (event.blame >= 0)
        args["of"] = labelOf(problem, *timeline.events[event.blame].entry);
      int tid = track(event.group, kWaitTrack, "waiting");
      std::string name =
          isOp ? "needs a value: " + problem.operations[event.entry->op].key : labelOf(problem, *event.entry);
      slice(name, event.group, tid, event.ready, event.start, std::move(args));
    }
  }

  /// Arrows from where an op ends to where the op that needs it begins.
  void dependences() {
    std::map<std::tuple<int, int, int>, int> eventOf;
    for (size_t e = 0; e < timeline.events.size(); ++e)
      if (const Event &event = timeline.events[e]; event.entry->kind == EntryKind::Op)
        eventOf[{event.group, event.entry->op, event.iteration}] = static_cast<int>(e);
    std::vector<std::vector<Dependence>> leaving(problem.operations.size());
    for (const Dependence &dep : deriveDependences(problem, schedule.buffers))
      if (dep.kind == DepKind::Raw && static_cast<int>(leaving[dep.from].size()) < kMostFlows)
        leaving[dep.from].push_back(dep);
    int id = 0;
    for (size_t e = 0; e < timeline.events.size(); ++e) {
      const Event &event = timeline.events[e];
      if (event.entry->kind != EntryKind::Op)
        continue;
      for (const Dependence &dep : leaving[event.entry->op])
        if (auto to = eventOf.find({event.group, dep.to, event.iteration + dep.distance}); to != eventOf.end())
          flow(static_cast<int>(e), to->second, dep, ++id);
    }
  }

  void flow(int from, int to, const Dependence &dep, int id) {
    const Event &source = timeline.events[from], &target = timeline.events[to];
    std::string name = dep.region >= 0 ? problem.regions[dep.region].name : "order";
    Json common = {{"name", name}, {"cat", nameOf(dep.kind)}, {"id", id}, {"pid", source.group + 1}};
    Json begin = common, end = common;
    begin.update({{"ph", "s"}, {"ts", source.start}, {"tid", tracks[from]}});
    end.update({{"ph", "f"}, {"bp", "e"}, {"ts", target.start}, {"tid", tracks[to]}});
    emit(std::move(begin));
    emit(std::move(end));
  }

  void counters() {
    auto add = [&](const Series &series, const std::string &name) {
      for (auto [time, value] : series.steps)
        emit({{"name", name}, {"ph", "C"}, {"ts", time}, {"pid", series.group + 1}, {"args", {{"value", value}}}});
    };
    for (const Series &series : timeline.inFlight)
      add(series, problem.counters[series.counter].name + " in flight");
    for (const Series &series : timeline.registers)
      add(series, "registers");
  }

  const Picture &picture;
  const Problem &problem;
  Schedule schedule;
  Timeline timeline;
  Json list = Json::array();
  std::map<std::pair<int, int>, bool> named;
  /// By event: its first track.
  std::vector<int> tracks;
  std::vector<char> hasTrack;
};
} // namespace

std::string printTrace(const Picture &picture) {
  AsDrawn drawn(picture);
  return TraceWriter(drawn.picture()).print();
}

} // namespace soliton::sched
