#include "soliton/schedule/Timeline.h"

#include "soliton/schedule/Issue.h"

#include <algorithm>
#include <map>

namespace soliton::sched {
namespace {
/// Entries of one group in order, as events without times.
void collect(const std::vector<Instance> &instances, int group, const Program &program, std::vector<Event> &events) {
  int trip = -1, previous = -1;
  for (const Instance &instance : instances) {
    if (instance.where.phase == Phase::Kernel && (previous < 0 || instance.where.index <= previous))
      ++trip;
    previous = instance.where.phase == Phase::Kernel ? instance.where.index : -1;
    if (!(instance.entry->groups >> group & 1))
      continue;
    Event event;
    event.entry = &program.list(instance.where.phase)[instance.where.index];
    event.where = instance.where;
    event.group = group;
    event.iteration = instance.iteration;
    event.trip = instance.where.phase == Phase::Kernel ? trip : -1;
    events.push_back(event);
  }
}

/// One span for each phase and trip; the next one ends it.
void markSpans(Timeline &timeline) {
  for (const Event &event : timeline.events) {
    Span *last = timeline.spans.empty() ? nullptr : &timeline.spans.back();
    if (last && last->group == event.group && last->phase == event.where.phase && last->trip == event.trip) {
      last->end = std::max(last->end, std::max(event.start, event.end));
      continue;
    }
    if (last && last->group == event.group)
      last->end = event.ready;
    timeline.spans.push_back(
        {event.group, event.where.phase, event.trip, event.ready, std::max(event.start, event.end)});
  }
}

/// The running sum of changes, one step per time.
std::vector<std::pair<int64_t, int64_t>> accumulate(std::map<int64_t, int64_t> changes) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  int64_t value = 0;
  for (auto [time, change] : changes) {
    value += change;
    if (change != 0)
      steps.emplace_back(time, value);
  }
  return steps;
}

/// When a value that lives in a register is written first and read last, as indices of events of one group.
struct LiveSpan {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = -1;
};

class RegisterCurve {
public:
  RegisterCurve(const Problem &problem, const Timeline &timeline, int group) : problem(problem), carried(problem) {
    for (const Event &event : timeline.events)
      if (event.group == group)
        run.push_back(&event);
  }

  Series curve(int group) {
    for (size_t p = 0; p < run.size(); ++p)
      if (run[p]->entry->kind == EntryKind::Op)
        touch(static_cast<int64_t>(p));
    std::vector<int64_t> delta(run.size() + 1, 0);
    auto add = [&](int64_t begin, int64_t end, int64_t size) {
      delta[std::clamp<int64_t>(begin, 0, run.size())] += size;
      delta[std::clamp<int64_t>(end, 0, run.size())] -= size;
    };
    int64_t whole = static_cast<int64_t>(run.size());
    for (const auto &[key, span] : live) {
      const Region &region = problem.regions[key.first];
      bool before = span.first == std::numeric_limits<int64_t>::max();
      bool leaves = carried.carries(key.first) && key.second == lastInstance[key.first];
      if (!region.rotating)
        add(0, whole, region.size);
      else
        add(before ? 0 : span.first, leaves ? whole : std::max(span.last, before ? 1 : span.first + 1), region.size);
    }
    Series series{group, -1, {}};
    int64_t value = 0;
    for (size_t p = 0; p < run.size(); ++p) {
      value += delta[p];
      // What is live at the beginning is so before the first entry has to wait.
      int64_t time = p == 0 ? run[p]->ready : run[p]->start;
      if (!series.steps.empty() && series.steps.back().first == time)
        series.steps.back().second = std::max(series.steps.back().second, value);
      else if (series.steps.empty() || series.steps.back().second != value)
        series.steps.emplace_back(time, value);
    }
    return series;
  }

private:
  /// Regions whose value one iteration hands to the next.
  struct Carried {
    explicit Carried(const Problem &problem) : flags(problem.regions.size(), 0) {
      for (const Operation &op : problem.operations)
        for (const Access &access : op.accesses)
          flags[access.region] |= !access.write && access.offset < 0;
    }
    bool carries(int region) const { return flags[region] != 0; }
    std::vector<char> flags;
  };

  void touch(int64_t p) {
    for (const Access &access : problem.operations[run[p]->entry->op].accesses) {
      if (problem.regions[access.region].space != Space::Register)
        continue;
      int instance = problem.regions[access.region].rotating ? run[p]->iteration + access.offset : 0;
      LiveSpan &span = live[{access.region, instance}];
      if (access.write) {
        span.first = std::min(span.first, p);
        auto [it, added] = lastInstance.emplace(access.region, instance);
        it->second = std::max(it->second, instance);
      } else {
        span.last = std::max(span.last, p);
      }
    }
  }

  const Problem &problem;
  Carried carried;
  std::vector<const Event *> run;
  std::map<std::pair<int, int>, LiveSpan> live;
  std::map<int, int> lastInstance;
};
} // namespace

std::string_view nameOf(Stall stall) {
  constexpr std::string_view names[] = {"nothing",
                                        "a value that is not there yet",
                                        "a busy unit",
                                        "memory operations in flight",
                                        "the other waves at the barrier",
                                        "the phase of a buffer",
                                        "its cycle in the schedule"};
  return names[static_cast<size_t>(stall)];
}

int laneWithoutUnit(OpKind kind) {
  switch (kind) {
  case OpKind::GlobalLoad:
  case OpKind::GlobalStore:
  case OpKind::CopyAsync:
    return -1;
  case OpKind::SharedLoad:
  case OpKind::SharedStore:
    return -2;
  default:
    return -3;
  }
}

std::string laneName(const Problem &problem, int resource) {
  if (resource >= 0)
    return problem.resources[resource].name;
  return resource == -1 ? "global memory" : resource == -2 ? "shared memory" : "other";
}

std::vector<int> laneOrder(const Problem &problem) {
  std::vector<int> order = {-1, -2};
  for (size_t resource = 0; resource < problem.resources.size(); ++resource)
    order.push_back(static_cast<int>(resource));
  order.push_back(-3);
  return order;
}

int64_t Series::highest() const {
  int64_t most = 0;
  for (auto [time, value] : steps)
    most = std::max(most, value);
  return most;
}

const Span *Timeline::kernelTrip(int group, int trip) const {
  for (const Span &span : spans)
    if (span.group == group && span.phase == Phase::Kernel && span.trip == trip)
      return &span;
  return nullptr;
}

Timeline makeTimeline(const Problem &problem, const Schedule &schedule, const Program &program, int trips) {
  Timeline timeline;
  timeline.trips = program.exactTrips || program.kernel.empty() ? 0 : std::max(trips, 0);
  timeline.iterations = program.exactTrips.value_or(timeline.trips + program.peeled);
  std::vector<Instance> instances = unroll(program, timeline.trips);
  for (int group = 0; group < problem.groups; ++group)
    collect(instances, group, program, timeline.events);
  IssueModel model(problem, schedule, timeline);
  model.run();
  markSpans(timeline);
  for (const Event &event : timeline.events)
    timeline.length = std::max({timeline.length, event.start, event.end, event.done});
  for (auto &[key, changes] : model.outstanding())
    timeline.inFlight.push_back({key.first, key.second, accumulate(changes)});
  for (int group = 0; group < problem.groups; ++group)
    timeline.registers.push_back(RegisterCurve(problem, timeline, group).curve(group));
  return timeline;
}

double steadyInterval(const Problem &problem, const Schedule &schedule, const Program &program) {
  // Trips in which the prologue may still be felt, then those that count.
  constexpr int kMeasured = 4;
  int warmUp = schedule.stages() + 2;
  Timeline timeline = makeTimeline(problem, schedule, program, warmUp + kMeasured + 1);
  double slowest = 0;
  for (int group = 0; group < problem.groups; ++group) {
    const Span *from = timeline.kernelTrip(group, warmUp), *to = timeline.kernelTrip(group, warmUp + kMeasured);
    if (from && to)
      slowest = std::max(slowest, static_cast<double>(to->begin - from->begin) / kMeasured);
  }
  return slowest;
}

} // namespace soliton::sched
