#include "soliton/schedule/Issue.h"

#include <algorithm>
#include <bit>

namespace soliton::sched {
namespace {
bool isSimple(Retirement kind) {
  return kind == Retirement::InOrder || kind == Retirement::OutOfOrder;
}

/// No pattern of trips that is longer than this is looked for.
constexpr int kLongestPattern = 8;
/// Trips after which the average must do.
constexpr int kMostTrips = 64;
} // namespace

std::string_view nameOf(Stall stall) {
  constexpr std::string_view names[] = {"nothing",
                                        "a value that is not there yet",
                                        "a busy unit",
                                        "memory operations in flight",
                                        "the other waves at the barrier",
                                        "the phase of a buffer",
                                        "others to be done with a buffer"};
  return names[static_cast<size_t>(stall)];
}

IssueRules::IssueRules(const Problem &problem, std::span<const Dependence> dependences)
    : problem(problem), inputs(problem.operations.size()) {
  for (const Operation &op : problem.operations) {
    takesSlot.push_back(op.kind != OpKind::Free && op.kind != OpKind::Hint);
    std::vector<Reservation> list = op.reservations;
    for (Reservation &use : list)
      use.length *= problem.wavesPerGroup(use.resource);
    uses.push_back(std::move(list));
    ticks.emplace_back();
    for (const Tick &tick : op.ticks)
      if (isSimple(problem.counters[tick.counter].kind) && tick.amount != 0)
        ticks.back().push_back(tick);
    joins.push_back(std::any_of(op.accesses.begin(), op.accesses.end(), [&](const Access &access) {
      return access.counter >= 0 && !isSimple(problem.counters[access.counter].kind);
    }));
  }
  for (const Dependence &dep : dependences) {
    // The machine keeps no order in memory: what completes on a counter is waited for by an entry of the program.
    bool waitedFor = dep.space != Space::Register && dep.counter >= 0;
    // One cycle lies between any two ops that are issued in order.
    if (!waitedFor && !dep.reuse && dep.latency > (takesSlot[dep.from] ? 1 : 0))
      inputs[dep.to].push_back({dep.from, dep.distance, dep.latency});
  }
}

IssueModel::IssueModel(const IssueRules &rules, const Program &program, int wantedTrips)
    : rules(rules), problem(rules.problem), program(program),
      trips(program.exactTrips || program.kernel.empty() ? 0 : std::max(wantedTrips, 0)), states(problem.groups),
      busy(problem.resources.size()) {
  iterations = program.exactTrips.value_or(trips + program.peeled);
  for (const Entry &entry : program.kernel)
    iterations = std::max(iterations, trips + entry.iteration + 1);
  for (size_t group = 0; group < states.size(); ++group) {
    states[group].group = static_cast<int>(group);
    states[group].counters.resize(problem.counters.size());
    states[group].issued.reserve(program.prologue.size() + 8 * program.kernel.size() + program.epilogue.size());
    states[group].entryOf.assign(problem.operations.size() * std::max(iterations, 0), -1);
  }
  findOwners();
  expectPhases();
}

void IssueModel::findOwners() {
  std::vector<GroupMask> issuing(problem.counters.size(), 0);
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
    for (const Entry &entry : program.list(phase)) {
      if (entry.kind == EntryKind::Release)
        releasing |= entry.groups & problem.allGroups();
      if (entry.kind == EntryKind::Op)
        for (const Access &access : problem.operations[entry.op].accesses)
          if (access.counter >= 0 && problem.counters[access.counter].ofWorkgroup)
            issuing[access.counter] |= entry.groups & problem.allGroups();
    }
  for (GroupMask groups : issuing)
    owners.push_back(problem.groups > 1 && std::popcount(groups) == 1 ? std::countr_zero(groups) : -1);
}

/// What another group executes and this one only counts.
void IssueModel::countAlong(GroupState &state, const Entry &entry) const {
  if (entry.kind == EntryKind::Commit && owners[entry.counter] >= 0)
    ++state.counters[entry.counter].issued;
  if (entry.kind == EntryKind::Release)
    ++state.released;
}

void IssueModel::expectPhases() {
  bool any = false;
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
    for (const Entry &entry : program.list(phase))
      any |= entry.kind == EntryKind::PhaseWait;
  if (!any)
    return;
  for (const Instance &instance : unroll(program, trips))
    for (int group = 0; group < problem.groups; ++group) {
      const Entry &entry = *instance.entry;
      if (!(entry.groups >> group & 1))
        continue;
      if (entry.kind == EntryKind::Arrive)
        ++expected[{entry.counter, entry.region, instance.iteration}];
      if (entry.kind == EntryKind::Op)
        for (const Access &access : problem.operations[entry.op].accesses)
          if (access.write && access.counter >= 0 && problem.counters[access.counter].kind == Retirement::Phase)
            ++expected[{access.counter, access.region, instance.iteration + access.offset}];
    }
}

bool IssueModel::seek(GroupState &state, int limit) {
  while (!state.finished) {
    const std::vector<Entry> &list = program.list(state.phase);
    bool inKernel = state.phase == Phase::Kernel;
    if (inKernel && (state.trip >= trips || list.empty())) {
      state.phase = Phase::Epilogue;
      state.index = 0;
      continue;
    }
    if (inKernel && state.index == 0) {
      if (state.trip >= limit)
        return false;
      if (static_cast<int>(state.begins.size()) == state.trip) {
        state.begins.push_back(state.now);
        state.shapes.push_back(0);
      }
    }
    while (state.index < static_cast<int>(list.size()) && !(list[state.index].groups >> state.group & 1))
      countAlong(state, list[state.index++]);
    if (state.index < static_cast<int>(list.size()))
      return true;
    state.index = 0;
    if (inKernel)
      ++state.trip;
    else if (state.phase == Phase::Prologue)
      state.phase = Phase::Kernel;
    else
      state.finished = true;
  }
  return false;
}

IssueModel::GroupState *IssueModel::next(int limit) {
  GroupState *best = nullptr;
  for (GroupState &state : states)
    if (!state.blocked && (!best || state.now < best->now) && seek(state, limit))
      best = &state;
  return best;
}

void IssueModel::runTrips(int limit) {
  auto unblock = [&] {
    for (GroupState &state : states)
      state.blocked = false;
  };
  unblock();
  // A group may end without a step, so everybody is asked once more before it is over.
  for (bool again = true;;) {
    GroupState *state = next(limit);
    if (!state && !again)
      return;
    if (state && !step(*state, false)) {
      state->blocked = true;
      continue;
    }
    again = state != nullptr;
    // Whoever was sent away may find what it waited for now.
    unblock();
  }
}

void IssueModel::finish() {
  constexpr int kAll = std::numeric_limits<int>::max();
  while (true) {
    runTrips(kAll);
    auto open = std::find_if(states.begin(), states.end(), [](const GroupState &state) { return !state.finished; });
    if (open == states.end())
      return;
    stuck = true;
    step(*open, true);
  }
}

int IssueModel::tripsDone() const {
  int done = trips;
  for (const GroupState &state : states)
    done = std::min(done, state.trip);
  return done;
}

bool IssueModel::step(GroupState &state, bool force) {
  const Entry &entry = program.list(state.phase)[state.index];
  bool inKernel = state.phase == Phase::Kernel;
  int base = state.phase == Phase::Prologue ? 0 : inKernel ? state.trip : trips + program.peeled;
  Issued at{&entry, {state.phase, state.index}, base + entry.iteration, inKernel ? state.trip : -1};
  at.ready = at.start = at.end = at.done = state.now;
  if (!issue(state, at, force))
    return false;
  state.now = at.start + (entry.kind == EntryKind::Op && rules.takesSlot[entry.op] ? 1 : 0);
  if (inKernel)
    state.shapes.back() = state.shapes.back() * 1099511628211u + static_cast<uint64_t>(at.start - state.begins.back());
  state.issued.push_back(at);
  ++state.index;
  // Times at the end of a trip must include its last op.
  seek(state, std::numeric_limits<int>::min());
  return true;
}

bool IssueModel::issue(GroupState &state, Issued &at, bool force) {
  switch (at.entry->kind) {
  case EntryKind::Barrier:
    return passBarrier(state, at, force);
  case EntryKind::PhaseWait:
    return passPhase(at, force);
  case EntryKind::Wait:
    return passWait(state, at, force);
  case EntryKind::Commit:
    commit(state, at);
    return true;
  case EntryKind::Release:
    ++state.released;
    state.releases.emplace_back(at.start, static_cast<int>(state.issued.size()));
    return true;
  case EntryKind::Await:
    return passAwait(state, at, force);
  case EntryKind::Arrive:
    arrive({at.entry->counter, at.entry->region, at.iteration}, at.start, state);
    return true;
  case EntryKind::Op:
    issueOp(state, at);
    return true;
  }
  return true;
}

void IssueModel::later(Issued &at, int64_t time, Stall why, int group, int blame) {
  if (time <= at.start)
    return;
  at.start = time;
  at.stall = why;
  at.blameGroup = group;
  at.blame = blame;
}

bool IssueModel::passBarrier(GroupState &state, Issued &at, bool force) {
  if (static_cast<int>(meetings.size()) <= state.barriers)
    meetings.resize(state.barriers + 1);
  Meeting &meeting = meetings[state.barriers];
  if (!state.atBarrier) {
    state.atBarrier = true;
    if (meeting.arrived++ == 0 || state.now > meeting.time)
      meeting = {meeting.arrived, state.now, state.group, static_cast<int>(state.issued.size())};
  }
  for (const GroupState &other : states) {
    bool there = other.barriers > state.barriers || (other.barriers == state.barriers && other.atBarrier);
    if (!there && !other.finished && !force)
      return false;
  }
  later(at, meeting.time, Stall::Barrier, meeting.group, meeting.entry);
  at.end = at.done = at.start;
  state.atBarrier = false;
  ++state.barriers;
  return true;
}

bool IssueModel::passPhase(Issued &at, bool force) {
  PhaseKey key{at.entry->counter, at.entry->region, at.iteration};
  auto wanted = expected.find(key);
  if (wanted == expected.end())
    return true;
  const Meeting &meeting = phases[key];
  if (meeting.arrived < wanted->second && !force)
    return false;
  later(at, meeting.time, Stall::Phase, meeting.group, meeting.entry);
  at.end = at.done = at.start;
  return true;
}

void IssueModel::arrive(const PhaseKey &key, int64_t time, const GroupState &state) {
  Meeting &meeting = phases[key];
  ++meeting.arrived;
  if (time >= meeting.time)
    meeting = {meeting.arrived, time, state.group, static_cast<int>(state.issued.size())};
}

bool IssueModel::passWait(GroupState &state, Issued &at, bool force) {
  int owner = owners[at.entry->counter] >= 0 ? owners[at.entry->counter] : state.group;
  const CounterState &counter = states[owner].counters[at.entry->counter];
  int64_t index = state.counters[at.entry->counter].issued - at.entry->value;
  if (counter.issued < index && !force)
    return false;
  auto after = std::upper_bound(counter.done.begin(), counter.done.end(), index,
                                [](int64_t value, const Completion &done) { return value < done.index; });
  if (after != counter.done.begin())
    later(at, std::prev(after)->time, Stall::Counter, owner, std::prev(after)->by);
  at.end = at.done = at.start;
  return true;
}

/// Waves of one group are in step here: those of its own have arrived everywhere.
bool IssueModel::passAwait(GroupState &state, Issued &at, bool force) {
  int64_t wanted = state.released - at.entry->value;
  for (const GroupState &other : states) {
    if (other.group == state.group || !(releasing >> other.group & 1) || wanted <= 0)
      continue;
    bool isThere = static_cast<int64_t>(other.releases.size()) >= wanted;
    if (!isThere && !force)
      return false;
    if (isThere)
      later(at, other.releases[wanted - 1].first, Stall::Release, other.group, other.releases[wanted - 1].second);
  }
  at.end = at.done = at.start;
  return true;
}

void IssueModel::commit(GroupState &state, Issued &at) {
  CounterState &counter = state.counters[at.entry->counter];
  int64_t before = counter.done.empty() ? 0 : counter.done.back().time;
  int64_t complete = std::max(before, counter.openDone);
  counter.done.push_back(
      {++counter.issued, complete, counter.open.empty() ? static_cast<int>(state.issued.size()) : counter.open.back()});
  for (int member : counter.open)
    state.issued[member].done = std::max(state.issued[member].done, complete);
  counter.open.clear();
  counter.openDone = 0;
}

void IssueModel::issueOp(GroupState &state, Issued &at) {
  int op = at.entry->op;
  waitForInputs(state, at);
  occupyUnits(rules.uses[op], at);
  at.end = at.start + (rules.takesSlot[op] ? 1 : 0);
  for (const Reservation &use : rules.uses[op])
    at.end = std::max(at.end, at.start + use.start + use.length);
  at.done = std::max(at.end, at.start + problem.operations[op].latency);
  if (at.iteration >= 0 && at.iteration < iterations)
    state.entryOf[static_cast<size_t>(op) * iterations + at.iteration] = static_cast<int>(state.issued.size());
  track(state, at);
  if (rules.joins[op])
    join(state, at);
}

void IssueModel::waitForInputs(GroupState &state, Issued &at) {
  for (const IssueRules::Input &input : rules.inputs[at.entry->op]) {
    int iteration = at.iteration - input.distance;
    if (iteration < 0 || iteration >= iterations)
      continue;
    int producer = state.entryOf[static_cast<size_t>(input.producer) * iterations + iteration];
    if (producer >= 0)
      later(at, state.issued[producer].start + input.latency, Stall::Register, state.group, producer);
  }
}

/// Waits until all units are free, and takes them.
void IssueModel::occupyUnits(const std::vector<Reservation> &uses, Issued &at) {
  if (uses.empty())
    return;
  // What ended before anybody's present is in nobody's way.
  int64_t present = at.start;
  for (const GroupState &state : states)
    present = std::min(present, state.finished ? present : state.now);
  for (const Reservation &use : uses)
    std::erase_if(busy[use.resource], [&](const Busy &each) { return each.end <= present; });
  // All uses or none: an op may use a resource twice, and then its uses are in each other's way too.
  for (size_t placed = 0; placed < uses.size();) {
    const Reservation &use = uses[placed];
    if (std::optional<int64_t> free = unitsFree(use, at.start)) {
      for (; placed > 0; --placed)
        busy[uses[placed - 1].resource].pop_back();
      later(at, *free, Stall::Unit, -1, -1);
      continue;
    }
    busy[use.resource].push_back({at.start + use.start, at.start + use.start + use.length, use.units});
    ++placed;
  }
}

/// A later start at which to ask again; nothing if the units are free from `start` on.
std::optional<int64_t> IssueModel::unitsFree(const Reservation &use, int64_t start) const {
  int64_t begin = start + use.start, end = begin + use.length;
  int units = problem.resources[use.resource].units, wanted = std::min(use.units, units);
  // Usage changes at the beginnings only, so the worst moment is one of them.
  for (const Busy &first : busy[use.resource]) {
    if (first.end <= begin || first.begin >= end)
      continue;
    int64_t moment = std::max(first.begin, begin), freed = first.end;
    int used = 0;
    for (const Busy &each : busy[use.resource])
      if (each.begin <= moment && moment < each.end) {
        used += each.units;
        freed = std::min(freed, each.end);
      }
    if (used + wanted > units)
      return freed - use.start;
  }
  return std::nullopt;
}

void IssueModel::track(GroupState &state, Issued &at) {
  for (const Tick &tick : rules.ticks[at.entry->op]) {
    CounterState &counter = state.counters[tick.counter];
    int64_t complete = at.start + problem.operations[at.entry->op].latency;
    if (!counter.done.empty())
      complete = std::max(complete, counter.done.back().time);
    at.done = std::max(at.done, complete);
    counter.issued += tick.amount;
    counter.done.push_back({counter.issued, complete, static_cast<int>(state.issued.size())});
  }
}

/// Groups that the op joins, and phases that it completes.
void IssueModel::join(GroupState &state, Issued &at) {
  const Operation &op = problem.operations[at.entry->op];
  std::vector<int> joined;
  for (const Access &access : op.accesses) {
    if (access.counter < 0)
      continue;
    Retirement kind = problem.counters[access.counter].kind;
    if (kind == Retirement::Phase && access.write)
      arrive({access.counter, access.region, at.iteration + access.offset}, at.done, state);
    bool first = std::find(joined.begin(), joined.end(), access.counter) == joined.end();
    if (kind == Retirement::Group && first) {
      joined.push_back(access.counter);
      CounterState &counter = state.counters[access.counter];
      counter.open.push_back(static_cast<int>(state.issued.size()));
      counter.openDone = std::max(counter.openDone, at.start + op.latency);
    }
  }
}

namespace {
/// Cycles that the last `pattern` trips took, if for `window` trips each was like the one a pattern before, in all
/// groups alike.
std::optional<int64_t> repeated(const IssueModel &model, int groups, int done, int pattern, int window) {
  if (done < window + pattern + 1)
    return std::nullopt;
  std::optional<int64_t> length;
  for (int group = 0; group < groups; ++group)
    for (int trip = done - 1; trip >= done - window; --trip) {
      int64_t took = model.tripBegin(group, trip) - model.tripBegin(group, trip - pattern);
      if (model.tripShape(group, trip) != model.tripShape(group, trip - pattern) || took != length.value_or(took))
        return std::nullopt;
      length = took;
    }
  return length;
}
} // namespace

/// Cycles per trip, if after so many trips they repeat each other.
static std::optional<int64_t> steadyAfter(const IssueModel &model, int groups, int done, int window) {
  for (int pattern = 1; pattern <= kLongestPattern; ++pattern)
    if (std::optional<int64_t> length = repeated(model, groups, done, pattern, window))
      return (*length + pattern - 1) / pattern;
  return std::nullopt;
}

static int windowOf(int stages) {
  return std::max(stages, 2);
}

Pace paceOf(const IssueRules &rules, const Program &program, int stages, int64_t iterations) {
  /// Trips beyond which trips repeat each other and need not be run one by one.
  constexpr int64_t kTripsToRun = 24;
  int64_t trips = program.exactTrips ? 0 : iterations - program.peeled;
  int run = static_cast<int>(std::min<int64_t>(trips, stages + kTripsToRun));
  IssueModel model(rules, program, run);
  model.finish();
  Pace pace;
  int groups = rules.problem.groups;
  for (int group = 0; group < groups; ++group)
    for (const Issued &entry : model.of(group))
      pace.length = std::max(pace.length, entry.done);
  // Groups that wait for each other at the end of each trip would run otherwise: then they are asked alone.
  std::optional<int64_t> steady;
  for (int done = windowOf(stages) + 2; groups == 1 && done <= model.tripsDone() && !steady; ++done)
    steady = steadyAfter(model, groups, done, windowOf(stages));
  pace.interval = steady ? *steady : steadyInterval(rules, program, stages);
  pace.length += (trips - run) * pace.interval;
  return pace;
}

int64_t steadyInterval(const IssueRules &rules, const Program &program, int stages) {
  if (program.kernel.empty() || program.exactTrips)
    return 0;
  int groups = rules.problem.groups, window = windowOf(stages), most = window + kMostTrips;
  IssueModel model(rules, program, most);
  for (int limit = window + 2; limit <= most; ++limit) {
    model.runTrips(limit);
    if (std::optional<int64_t> steady = steadyAfter(model, groups, model.tripsDone(), window))
      return *steady;
  }
  int last = model.tripsDone() - 1, first = last / 2;
  int64_t slowest = 0;
  for (int group = 0; group < groups && last > first; ++group)
    slowest = std::max(slowest, (model.tripBegin(group, last) - model.tripBegin(group, first) + last - first - 1) /
                                    (last - first));
  return slowest;
}

} // namespace soliton::sched
