#include "soliton/schedule/Timeline.h"

#include "soliton/schedule/Issue.h"

#include <algorithm>
#include <map>

namespace soliton::sched {
namespace {
/// What the model says of all groups, one after the other.
std::vector<Event> collect(const IssueModel &model, int groups) {
  std::vector<Event> events;
  std::vector<int> first;
  for (int group = 0, count = 0; group < groups; ++group) {
    first.push_back(count);
    count += static_cast<int>(model.of(group).size());
  }
  for (int group = 0; group < groups; ++group)
    for (const Issued &at : model.of(group))
      events.push_back({at.entry, at.where, group, at.iteration, at.trip, at.ready, at.start, at.end, at.done, at.stall,
                        at.blame < 0 ? -1 : first[at.blameGroup] + at.blame});
  return events;
}

/// Which unit works on what: whoever comes first takes the first that is free.
std::vector<Bar> layOut(const IssueRules &rules, const std::vector<Event> &events) {
  std::vector<Bar> bars;
  for (size_t e = 0; e < events.size(); ++e) {
    const Event &event = events[e];
    if (event.entry->kind != EntryKind::Op)
      continue;
    int op = event.entry->op;
    if (rules.uses[op].empty())
      bars.push_back(
          {static_cast<int>(e), laneWithoutUnit(rules.problem.operations[op].kind), 0, event.start, event.end});
    for (const Reservation &use : rules.uses[op])
      for (int unit = 0; unit < use.units; ++unit)
        bars.push_back(
            {static_cast<int>(e), use.resource, 0, event.start + use.start, event.start + use.start + use.length});
  }
  std::vector<Bar *> byTime;
  for (Bar &bar : bars)
    if (bar.resource >= 0)
      byTime.push_back(&bar);
  std::sort(byTime.begin(), byTime.end(),
            [](const Bar *a, const Bar *b) { return a->begin != b->begin ? a->begin < b->begin : a < b; });
  std::vector<std::vector<int64_t>> free(rules.problem.resources.size());
  for (Bar *bar : byTime) {
    std::vector<int64_t> &units = free[bar->resource];
    auto found = std::find_if(units.begin(), units.end(), [&](int64_t time) { return time <= bar->begin; });
    if (found == units.end())
      found = units.insert(units.end(), bar->begin);
    *found = bar->end;
    bar->unit = static_cast<int>(found - units.begin());
  }
  return bars;
}

/// Outstanding work by (group, counter): ticks, or ops where a counter has groups or phases of them.
std::map<std::pair<int, int>, std::map<int64_t, int64_t>> outstanding(const IssueRules &rules,
                                                                      const std::vector<Event> &events) {
  std::map<std::pair<int, int>, std::map<int64_t, int64_t>> changes;
  auto add = [&](const Event &event, int counter, int amount) {
    auto &steps = changes[{event.group, counter}];
    steps[event.start] += amount;
    steps[event.done] -= amount;
  };
  for (const Event &event : events) {
    if (event.entry->kind != EntryKind::Op)
      continue;
    for (const Tick &tick : rules.ticks[event.entry->op])
      add(event, tick.counter, tick.amount);
    std::vector<int> joined;
    for (const Access &access : rules.problem.operations[event.entry->op].accesses) {
      Retirement kind = access.counter < 0 ? Retirement::InOrder : rules.problem.counters[access.counter].kind;
      bool again = std::find(joined.begin(), joined.end(), access.counter) != joined.end();
      if ((kind == Retirement::Phase && access.write) || (kind == Retirement::Group && !again)) {
        add(event, access.counter, 1);
        joined.push_back(access.counter);
      }
    }
  }
  return changes;
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
  std::vector<Dependence> dependences = deriveDependences(problem, schedule.buffers);
  IssueRules rules(problem, dependences);
  IssueModel model(rules, program, timeline.trips);
  model.finish();
  timeline.deadlock = model.deadlock();
  timeline.events = collect(model, problem.groups);
  timeline.bars = layOut(rules, timeline.events);
  markSpans(timeline);
  for (const Event &event : timeline.events)
    timeline.length = std::max({timeline.length, event.start, event.end, event.done});
  for (auto &[key, changes] : outstanding(rules, timeline.events))
    timeline.inFlight.push_back({key.first, key.second, accumulate(changes)});
  for (int group = 0; group < problem.groups; ++group)
    timeline.registers.push_back(RegisterCurve(problem, timeline, group).curve(group));
  return timeline;
}

int64_t steadyInterval(const Problem &problem, const Schedule &schedule, const Program &program) {
  std::vector<Dependence> dependences = deriveDependences(problem, schedule.buffers);
  return steadyInterval(IssueRules(problem, dependences), program, schedule.stages());
}

} // namespace soliton::sched
