#include "soliton/schedule/Issue.h"

#include "soliton/schedule/Dependences.h"

#include <algorithm>

namespace soliton::sched {
namespace {
bool isSimple(CounterKind kind) {
  return kind == CounterKind::InOrder || kind == CounterKind::OutOfOrder;
}

bool takesSlot(const Operation &op) {
  return op.kind != OpKind::Free && op.kind != OpKind::Hint;
}
} // namespace

IssueModel::IssueModel(const Problem &problem, const Schedule &schedule, Timeline &timeline)
    : problem(problem), schedule(schedule), timeline(timeline), inputs(problem.operations.size()),
      states(problem.groups) {
  for (const Dependence &dep : deriveDependences(problem, schedule.buffers)) {
    bool waited = dep.counter < 0 || isSimple(problem.counters[dep.counter].kind);
    if (dep.kind == DepKind::Raw && dep.space == Space::Register && waited)
      inputs[dep.to].push_back({dep.from, dep.distance, dep.latency});
  }
  for (GroupState &state : states) {
    state.counters.resize(problem.counters.size());
    state.eventOf.resize(problem.operations.size());
    for (const Resource &resource : problem.resources)
      state.free.emplace_back(std::max(resource.units, 1), 0);
  }
  for (size_t e = 0; e < timeline.events.size(); ++e) {
    const Event &event = timeline.events[e];
    GroupState &state = states[event.group];
    if (state.end == 0)
      state.next = static_cast<int>(e);
    state.end = static_cast<int>(e) + 1;
    state.totalBarriers += event.entry->kind == EntryKind::Barrier;
    if (event.entry->kind == EntryKind::Arrive)
      ++expected[{event.entry->counter, event.entry->region, event.iteration}];
    if (event.entry->kind == EntryKind::Op)
      for (const Access &access : problem.operations[event.entry->op].accesses)
        if (access.write && access.counter >= 0 && problem.counters[access.counter].kind == CounterKind::Phase)
          ++expected[{access.counter, access.region, event.iteration + access.offset}];
  }
  for (GroupState &state : states) {
    meetings.resize(std::max<size_t>(meetings.size(), state.totalBarriers));
    plan(state);
  }
}

/// Times of the schedule; in front of a hoisted copy's own cycle it goes as early as what follows it.
void IssueModel::plan(GroupState &state) {
  if (schedule.timing != Timing::Cycles)
    return;
  state.planned.assign(state.end - state.next, std::numeric_limits<int64_t>::min());
  int64_t latest = std::numeric_limits<int64_t>::max();
  for (int e = state.end - 1; e >= state.next; --e) {
    const Event &event = timeline.events[e];
    if (event.entry->op < 0)
      continue;
    int64_t time = schedule.time(event.entry->op) + int64_t{event.iteration} * schedule.interval;
    latest = event.where.phase == Phase::Prologue ? std::min(latest, time) : time;
    state.planned[e - state.next] = latest;
  }
}

void IssueModel::run() {
  for (bool open = true; open;) {
    open = false;
    bool moved = false;
    for (size_t group = 0; group < states.size(); ++group) {
      moved |= advance(static_cast<int>(group), false);
      open |= states[group].next < states[group].end;
    }
    if (moved || !open)
      continue;
    timeline.deadlock = true;
    for (size_t group = 0; group < states.size() && !moved; ++group)
      moved = advance(static_cast<int>(group), true);
  }
}

bool IssueModel::advance(int group, bool force) {
  GroupState &state = states[group];
  bool moved = false;
  while (state.next < state.end) {
    Event &event = timeline.events[state.next];
    event.ready = event.start = event.end = event.done = state.now;
    event.stall = Stall::None;
    if (!issue(group, event, force))
      return moved;
    force = false;
    moved = true;
    state.now = std::max(state.now, event.start);
    bool slot = event.entry->kind == EntryKind::Op && takesSlot(problem.operations[event.entry->op]);
    if (slot && schedule.timing == Timing::Order)
      ++state.now;
    ++state.next;
  }
  return moved;
}

bool IssueModel::issue(int group, Event &event, bool force) {
  GroupState &state = states[group];
  switch (event.entry->kind) {
  case EntryKind::Barrier:
    return issueBarrier(state, event, force);
  case EntryKind::PhaseWait:
    return issuePhaseWait(event, force);
  case EntryKind::Wait:
    issueWait(state, event);
    return true;
  case EntryKind::Commit:
    issueCommit(state, event);
    return true;
  case EntryKind::Arrive:
    issueArrive(event);
    return true;
  case EntryKind::Op:
    issueOp(state, event);
    return true;
  }
  return true;
}

void IssueModel::later(Event &event, int64_t time, Stall why, int blame) {
  if (time <= event.start)
    return;
  event.start = time;
  event.stall = why;
  event.blame = blame;
}

bool IssueModel::issueBarrier(GroupState &state, Event &event, bool force) {
  Meeting &meeting = meetings[state.barriers];
  int wanted = 0;
  for (const GroupState &other : states)
    wanted += other.totalBarriers > state.barriers;
  // A group that came here before and was sent away has been counted.
  bool counted = event.blame == -2;
  if (!counted) {
    ++meeting.arrived;
    if (meeting.event < 0 || state.now > meeting.time)
      meeting = {meeting.arrived, state.now, indexOf(event)};
    event.blame = -2;
  }
  if (meeting.arrived < wanted && !force)
    return false;
  event.blame = -1;
  later(event, meeting.time, Stall::Barrier, meeting.event);
  event.end = event.done = event.start;
  ++state.barriers;
  return true;
}

bool IssueModel::issuePhaseWait(Event &event, bool force) {
  PhaseKey key{event.entry->counter, event.entry->region, event.iteration};
  auto wanted = expected.find(key);
  if (wanted == expected.end())
    return true;
  const Meeting &meeting = phases[key];
  if (meeting.arrived < wanted->second && !force)
    return false;
  later(event, meeting.time, Stall::Phase, meeting.event);
  event.end = event.done = event.start;
  return true;
}

void IssueModel::issueWait(GroupState &state, Event &event) {
  const CounterState &counter = state.counters[event.entry->counter];
  int64_t index = counter.issued - event.entry->value;
  auto after = std::upper_bound(counter.done.begin(), counter.done.end(), index,
                                [](int64_t value, const Completion &done) { return value < done.index; });
  if (after != counter.done.begin())
    later(event, std::prev(after)->time, Stall::Counter, std::prev(after)->event);
  event.end = event.done = event.start;
}

void IssueModel::issueCommit(GroupState &state, Event &event) {
  CounterState &counter = state.counters[event.entry->counter];
  int64_t before = counter.done.empty() ? 0 : counter.done.back().time;
  int64_t complete = std::max(before, counter.openDone);
  counter.done.push_back({++counter.issued, complete, counter.open.empty() ? indexOf(event) : counter.open.back()});
  auto &steps = changes[{event.group, event.entry->counter}];
  for (int member : counter.open)
    timeline.events[member].done = std::max(timeline.events[member].done, complete);
  steps[complete] -= static_cast<int64_t>(counter.open.size());
  counter.open.clear();
  counter.openDone = 0;
}

void IssueModel::issueArrive(Event &event) {
  Meeting &meeting = phases[{event.entry->counter, event.entry->region, event.iteration}];
  ++meeting.arrived;
  if (event.start >= meeting.time) {
    meeting.time = event.start;
    meeting.event = indexOf(event);
  }
}

void IssueModel::issueOp(GroupState &state, Event &event) {
  int op = event.entry->op;
  waitForInputs(state, event);
  int64_t planned = event.start - state.slip;
  if (!state.planned.empty()) {
    planned = state.planned[indexOf(event) - (state.end - static_cast<int>(state.planned.size()))];
    // What is there in time for its cycle is not waited for.
    if (planned + state.slip >= event.start)
      event.stall = Stall::Plan;
    later(event, planned + state.slip, Stall::Plan, -1);
  }
  occupyUnits(state, event);
  state.slip = std::max(state.slip, event.start - planned);
  event.done = std::max(event.end, event.start + problem.operations[op].latency);
  if (event.iteration >= 0) {
    std::vector<int> &list = state.eventOf[op];
    if (static_cast<int>(list.size()) <= event.iteration)
      list.resize(event.iteration + 1, -1);
    list[event.iteration] = indexOf(event);
  }
  track(state, event);
}

void IssueModel::waitForInputs(GroupState &state, Event &event) {
  for (const Input &input : inputs[event.entry->op]) {
    int iteration = event.iteration - input.distance;
    const std::vector<int> &list = state.eventOf[input.producer];
    if (iteration < 0 || iteration >= static_cast<int>(list.size()) || list[iteration] < 0)
      continue;
    int producer = list[iteration];
    later(event, timeline.events[producer].start + input.latency, Stall::Register, producer);
  }
}

void IssueModel::occupyUnits(GroupState &state, Event &event) {
  const Operation &op = problem.operations[event.entry->op];
  // Planned cycles were checked against the units already; an order was not, nor copies that moved to the front.
  if (schedule.timing == Timing::Order || event.where.phase == Phase::Prologue)
    for (const Reservation &use : op.reservations) {
      std::vector<int64_t> free = state.free[use.resource];
      size_t wanted = std::clamp<size_t>(use.units, 1, free.size());
      std::nth_element(free.begin(), free.begin() + (wanted - 1), free.end());
      int64_t available = free[wanted - 1] - use.start;
      // An op that follows its input on one unit waits for neither.
      if (available == event.start && event.stall == Stall::Register)
        event.stall = Stall::Unit;
      later(event, available, Stall::Unit, -1);
    }
  event.end = event.start + (takesSlot(op) ? 1 : 0);
  if (op.reservations.empty())
    timeline.bars.push_back({indexOf(event), laneWithoutUnit(op.kind), 0, event.start, event.end});
  for (const Reservation &use : op.reservations) {
    std::vector<int64_t> &free = state.free[use.resource];
    int64_t begin = event.start + use.start, end = begin + use.length;
    event.end = std::max(event.end, end);
    for (int unit = 0; unit < use.units; ++unit) {
      auto found = std::find_if(free.begin(), free.end(), [&](int64_t time) { return time <= begin; });
      if (found == free.end())
        found = free.insert(free.end(), begin);
      *found = end;
      timeline.bars.push_back({indexOf(event), use.resource, static_cast<int>(found - free.begin()), begin, end});
    }
  }
}

void IssueModel::track(GroupState &state, Event &event) {
  const Operation &op = problem.operations[event.entry->op];
  for (const Tick &tick : op.ticks) {
    CounterState &counter = state.counters[tick.counter];
    if (!isSimple(problem.counters[tick.counter].kind) || tick.amount == 0)
      continue;
    int64_t complete = event.start + op.latency;
    if (!counter.done.empty())
      complete = std::max(complete, counter.done.back().time);
    event.done = std::max(event.done, complete);
    counter.issued += tick.amount;
    counter.done.push_back({counter.issued, complete, indexOf(event)});
    auto &steps = changes[{event.group, tick.counter}];
    steps[event.start] += tick.amount;
    steps[complete] -= tick.amount;
  }
  join(state, event);
}

void IssueModel::join(GroupState &state, Event &event) {
  const Operation &op = problem.operations[event.entry->op];
  std::vector<int> joined;
  for (const Access &access : op.accesses) {
    if (access.counter < 0)
      continue;
    CounterKind kind = problem.counters[access.counter].kind;
    if (kind == CounterKind::Phase && access.write) {
      Meeting &meeting = phases[{access.counter, access.region, event.iteration + access.offset}];
      ++meeting.arrived;
      if (event.done >= meeting.time) {
        meeting.time = event.done;
        meeting.event = indexOf(event);
      }
      auto &steps = changes[{event.group, access.counter}];
      ++steps[event.start];
      --steps[event.done];
    }
    bool first = std::find(joined.begin(), joined.end(), access.counter) == joined.end();
    if (kind == CounterKind::Group && first) {
      joined.push_back(access.counter);
      CounterState &counter = state.counters[access.counter];
      counter.open.push_back(indexOf(event));
      counter.openDone = std::max(counter.openDone, event.start + op.latency);
      ++changes[{event.group, access.counter}][event.start];
    }
  }
}

} // namespace soliton::sched
