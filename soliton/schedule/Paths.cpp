#include "soliton/schedule/Paths.h"

#include <algorithm>

namespace soliton::sched {
namespace {
bool isSimple(CounterKind kind) {
  return kind == CounterKind::InOrder || kind == CounterKind::OutOfOrder;
}

/// An order of instructions alone does not enforce it, and no back end waits for it by itself.
bool isHazard(const Problem &problem, const Dependence &dep) {
  if (dep.crossWave)
    return true;
  if (dep.counter < 0 || dep.region < 0)
    return false;
  CounterKind kind = problem.counters[dep.counter].kind;
  // A register that a plain load writes is complete where it is used, by a wait of the back end's or by ours.
  if (dep.space == Space::Register && isSimple(kind))
    return problem.counters[dep.counter].saysRegisterWaits && dep.kind == DepKind::Raw;
  // What retires in order on one counter also takes effect in that order.
  return dep.counter != dep.toCounter || kind == CounterKind::OutOfOrder || kind == CounterKind::Phase;
}

constexpr int kMostTrips = 64;
} // namespace

PathContext::PathContext(const Problem &problem, const Schedule &schedule)
    : problem(problem), schedule(schedule), dependences(deriveDependences(problem, schedule.buffers)),
      inputs(problem.operations.size()) {
  for (const Dependence &dep : dependences) {
    if (!schedule.slots[dep.from].scheduled() || !schedule.slots[dep.to].scheduled())
      continue;
    if (isHazard(problem, dep)) {
      hazards.push_back(dep);
      settledTrips = std::clamp(tripDistance(schedule, dep) + 2, settledTrips, kMostTrips);
    }
    if (dep.kind == DepKind::Raw && dep.space == Space::Register && dep.counter >= 0 &&
        isSimple(problem.counters[dep.counter].kind) && !problem.counters[dep.counter].saysRegisterWaits)
      inputs[dep.to].push_back({dep.from, dep.distance, dep.counter});
  }
}

std::vector<int> tripsToCheck(const PathContext &context, const Program &program, std::optional<int> tripCount) {
  if (program.exactTrips)
    return {0};
  if (tripCount)
    return {std::clamp(*tripCount - program.peeled, 0, context.settledTrips)};
  std::vector<int> trips;
  for (int count = 0; count <= context.settledTrips; ++count)
    trips.push_back(count);
  return trips;
}

Trace::Trace(const PathContext &context, const std::vector<Instance> &instances, int group)
    : context(context), positions(context.problem.operations.size()) {
  for (const Instance &instance : instances)
    if (instance.entry->groups >> group & 1)
      run.push_back(&instance);
  simulate();
}

void Trace::simulate() {
  size_t length = run.size(), counters = context.problem.counters.size();
  barriers.assign(length + 1, 0);
  issued.assign(counters, std::vector<int64_t>(length, 0));
  retired.assign(counters, std::vector<int64_t>(length, 0));
  usedAt.assign(length, kNever);
  for (size_t p = 0; p < length; ++p)
    step(static_cast<int>(p));
}

void Trace::step(int p) {
  const Instance &instance = *run[p];
  const Entry &entry = *instance.entry;
  barriers[p + 1] = barriers[p] + (entry.kind == EntryKind::Barrier);
  for (size_t counter = 0; counter < issued.size() && p > 0; ++counter) {
    issued[counter][p] = issued[counter][p - 1];
    retired[counter][p] = retired[counter][p - 1];
  }
  switch (entry.kind) {
  case EntryKind::Barrier:
    barrierAt.push_back(p);
    break;
  case EntryKind::Wait: {
    bool meaningful = context.problem.counters[entry.counter].kind != CounterKind::OutOfOrder || entry.value == 0;
    if (meaningful)
      retired[entry.counter][p] = std::max(retired[entry.counter][p], issued[entry.counter][p] - entry.value);
    break;
  }
  case EntryKind::Commit:
    ++issued[entry.counter][p];
    break;
  case EntryKind::Op:
    useRegisters(p);
    for (const Tick &tick : context.problem.operations[entry.op].ticks)
      if (isSimple(context.problem.counters[tick.counter].kind))
        issued[tick.counter][p] += tick.amount;
    break;
  case EntryKind::Arrive:
  case EntryKind::PhaseWait:
    break;
  }
}

void Trace::useRegisters(int p) {
  const Instance &instance = *run[p];
  int op = instance.entry->op;
  for (const PathContext::Input &input : context.inputs[op]) {
    int producer = position(input.producer, instance.iteration - input.distance);
    if (producer < 0)
      continue;
    usedAt[producer] = std::min(usedAt[producer], p);
    if (context.problem.counters[input.counter].kind == CounterKind::InOrder)
      retired[input.counter][p] = std::max(retired[input.counter][p], indexOf(producer, input.counter));
  }
  if (instance.iteration < 0)
    return;
  std::vector<int> &list = positions[op];
  if (static_cast<int>(list.size()) <= instance.iteration)
    list.resize(instance.iteration + 1, -1);
  list[instance.iteration] = p;
}

int64_t Trace::indexOf(int p, int counter) const {
  bool group = context.problem.counters[counter].kind == CounterKind::Group;
  return issued[counter][p] + (group ? 1 : 0);
}

int Trace::completion(int p, int counter) const {
  if (counter < 0)
    return p;
  CounterKind kind = context.problem.counters[counter].kind;
  if (kind == CounterKind::Phase)
    return kNever;
  const std::vector<int64_t> &known = retired[counter];
  auto found = std::lower_bound(known.begin() + p, known.end(), indexOf(p, counter));
  int waited = found == known.end() ? kNever : static_cast<int>(found - known.begin());
  return isSimple(kind) ? std::min(waited, usedAt[p]) : waited;
}

int64_t Trace::issuedSince(int p, int until, int counter) const {
  int64_t total = until > 0 ? issued[counter][until - 1] : 0;
  return total - indexOf(p, counter);
}

bool Trace::committed(int p, int until, int counter) const {
  return issuedSince(p, until, counter) >= 0;
}

int Trace::phaseEntry(EntryKind kind, int counter, int region, int instance) const {
  for (size_t p = 0; p < run.size(); ++p) {
    const Entry &entry = *run[p]->entry;
    if (entry.kind == kind && entry.counter == counter && entry.region == region && run[p]->iteration == instance)
      return static_cast<int>(p);
  }
  return kNever;
}

const std::vector<int64_t> &Trace::times() const {
  if (modelled.size() != run.size())
    model();
  return modelled;
}

/// In-order issue, one op a cycle: an op waits for its registers and its units, a wait for what it names.
void Trace::model() const {
  const Problem &problem = context.problem;
  modelled.assign(run.size(), 0);
  std::vector<int64_t> unitFree(problem.resources.size(), 0);
  // By counter: (issue index, when everything up to it is complete).
  std::vector<std::vector<std::pair<int64_t, int64_t>>> done(problem.counters.size());
  int64_t now = 0;
  for (size_t p = 0; p < run.size(); ++p) {
    const Entry &entry = *run[p]->entry;
    if (entry.kind == EntryKind::Wait) {
      int64_t index = issued[entry.counter][p] - entry.value;
      for (auto it = done[entry.counter].rbegin(); it != done[entry.counter].rend(); ++it)
        if (it->first <= index) {
          now = std::max(now, it->second);
          break;
        }
    }
    if (entry.kind == EntryKind::Op) {
      const Operation &op = problem.operations[entry.op];
      for (const PathContext::Input &input : context.inputs[entry.op])
        if (int at = position(input.producer, run[p]->iteration - input.distance); at >= 0 && at < static_cast<int>(p))
          now = std::max(now, modelled[at] + problem.operations[input.producer].latency);
      for (const Reservation &use : op.reservations)
        now = std::max(now, unitFree[use.resource] - use.start);
      for (const Reservation &use : op.reservations)
        unitFree[use.resource] =
            std::max(unitFree[use.resource], now + use.start) +
            std::max<int64_t>(1, int64_t{use.length} * use.units / problem.resources[use.resource].units);
      for (const Access &access : op.accesses)
        if (access.counter >= 0) {
          auto &list = done[access.counter];
          int64_t complete = now + op.latency;
          list.emplace_back(indexOf(static_cast<int>(p), access.counter),
                            list.empty() ? complete : std::max(list.back().second, complete));
        }
    }
    modelled[p] = now;
    now += entry.kind == EntryKind::Op;
  }
}

Path::Path(const PathContext &context, const Program &program, int trips)
    : trips(trips), instances(unroll(program, trips)) {
  for (int group = 0; group < context.problem.groups; ++group)
    traces.emplace_back(context, instances, group);
}

bool protectedByPhase(const Problem &problem, const Dependence &hazard) {
  if (hazard.region < 0)
    return false;
  if (hazard.kind == DepKind::War || hazard.kind == DepKind::Waw)
    return problem.regions[hazard.region].release >= 0;
  return hazard.counter >= 0 && problem.counters[hazard.counter].kind == CounterKind::Phase;
}

int instanceOf(const Problem &problem, const Dependence &hazard, int iteration) {
  bool wanted = hazard.kind != DepKind::War;
  for (const Access &access : problem.operations[hazard.from].accesses)
    if (access.region == hazard.region && access.write == wanted)
      return iteration + access.offset;
  return iteration;
}

int barrierDemand(const Problem &problem, const Dependence &hazard) {
  int demand = 1;
  for (int u = 0; u < problem.groups; ++u)
    for (int v = 0; v < problem.groups; ++v)
      if ((hazard.fromGroups >> u & 1) && (hazard.toGroups >> v & 1))
        demand = std::max(demand, 1 + problem.staggerOf(u) - problem.staggerOf(v));
  return demand;
}

namespace {
/// The readers announce that the buffer is empty, or the copy itself announces that it is full; `to` has waited.
bool provenByPhase(const PathContext &context, const HazardInstance &at) {
  const Problem &problem = context.problem;
  const Dependence &hazard = *at.hazard;
  int instance = instanceOf(problem, hazard, at.iteration);
  if (hazard.kind == DepKind::Raw)
    return at.to->phaseEntry(EntryKind::PhaseWait, hazard.counter, hazard.region, instance) < at.toPosition;
  int release = problem.regions[hazard.region].release;
  if (at.to->phaseEntry(EntryKind::PhaseWait, release, hazard.region, instance) >= at.toPosition)
    return false;
  // A write that is overwritten was read in between; the readers of that instance answer for both.
  if (hazard.kind == DepKind::Waw)
    return true;
  int arrival = at.from->phaseEntry(EntryKind::Arrive, release, hazard.region, instance);
  return arrival != kNever && at.from->completion(at.fromPosition, hazard.counter) < arrival;
}
} // namespace

bool isProven(const PathContext &context, const HazardInstance &at) {
  if (protectedByPhase(context.problem, *at.hazard))
    return provenByPhase(context, at);
  int complete = at.from->completion(at.fromPosition, at.hazard->counter);
  if (complete == kNever)
    return false;
  if (!at.hazard->crossWave)
    return complete <= at.toPosition;
  return at.from->barriersBefore(complete) + 1 <= at.to->barriersBefore(at.toPosition);
}

} // namespace soliton::sched
