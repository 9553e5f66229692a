#include "soliton/schedule/Paths.h"

#include <algorithm>

namespace soliton::sched {
namespace {
bool isSimple(Retirement kind) {
  return kind == Retirement::InOrder || kind == Retirement::OutOfOrder;
}

/// An order of instructions alone does not enforce it, and no back end waits for it by itself.
bool isHazard(const Problem &problem, const Dependence &dep) {
  if (dep.crossWave)
    return true;
  if (dep.counter < 0 || dep.region < 0)
    return false;
  Retirement kind = problem.counters[dep.counter].kind;
  // A register that a plain load writes is complete where it is used, by a wait of the back end's or by ours.
  if (dep.space == Space::Register && isSimple(kind))
    return problem.counters[dep.counter].saysRegisterWaits && dep.kind == DepKind::Raw;
  // What retires in order on one counter also takes effect in that order.
  return dep.counter != dep.toCounter || kind == Retirement::OutOfOrder || kind == Retirement::Phase ||
         problem.counters[dep.counter].ofWorkgroup;
}

constexpr int kMostTrips = 64;
} // namespace

PathContext::PathContext(const Problem &problem, const Schedule &schedule)
    : PathContext(problem, schedule, deriveDependences(problem, schedule.buffers)) {}

PathContext::PathContext(const Problem &problem, const Schedule &schedule, std::vector<Dependence> known)
    : problem(problem), schedule(schedule), dependences(std::move(known)), inputs(problem.operations.size()) {
  for (Dependence &dep : dependences) {
    // Where buffers are released, who comes behind what one lane issued for all waves waits for it by itself.
    if (schedule.releases && dep.counter >= 0 && problem.counters[dep.counter].ofWorkgroup)
      dep.crossWave = false;
    if (!schedule.slots[dep.from].scheduled() || !schedule.slots[dep.to].scheduled())
      continue;
    if (isHazard(problem, dep))
      hazards.push_back(dep);
    if (dep.kind == DepKind::Raw && dep.space == Space::Register && dep.counter >= 0 &&
        isSimple(problem.counters[dep.counter].kind) && !problem.counters[dep.counter].saysRegisterWaits)
      inputs[dep.to].push_back({dep.from, dep.distance, dep.counter});
  }
  moved();
}

void PathContext::moved() {
  settledTrips = 2;
  for (const Dependence &hazard : hazards)
    settledTrips = std::clamp(tripDistance(schedule, hazard) + 2, settledTrips, kMostTrips);
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

Trace::Trace(const PathContext &context, const std::vector<Instance> &instances, int stride, int group, Detail detail)
    : context(context), positions(context.problem.operations.size() * stride, -1), stride(stride) {
  run.reserve(instances.size());
  barriers.reserve(instances.size() + 1);
  for (std::vector<int> *counted : {&barriers, &releases, &awaited})
    counted->assign(1, 0);
  std::vector<int> last(context.problem.operations.size(), -1);
  for (const Instance &instance : instances)
    if (instance.entry->groups >> group & 1) {
      run.push_back(&instance);
      note(last);
    }
  if (detail == Detail::Counters)
    simulate();
}

/// Where the last of the run stands; `last` has the iteration of each op that ran last.
void Trace::note(std::vector<int> &last) {
  int p = size() - 1, iteration = run.back()->iteration;
  const Entry &entry = *run.back()->entry;
  barriers.push_back(barriers.back() + (entry.kind == EntryKind::Barrier));
  if (entry.kind == EntryKind::Barrier)
    barrierAt.push_back(p);
  releases.push_back(releases.back() + (entry.kind == EntryKind::Release));
  awaited.push_back(entry.kind == EntryKind::Await ? std::max(awaited.back(), releases[p] - entry.value)
                                                   : awaited.back());
  if (entry.kind != EntryKind::Op || iteration < 0)
    return;
  positions[static_cast<size_t>(entry.op) * stride + iteration] = p;
  ordered &= iteration > last[entry.op];
  last[entry.op] = iteration;
}

void Trace::simulate() {
  size_t length = run.size(), counters = context.problem.counters.size();
  issued.assign(counters * length, 0);
  retired.assign(counters * length, 0);
  usedAt.assign(length, kNever);
  for (size_t p = 0; p < length; ++p)
    step(static_cast<int>(p));
}

void Trace::step(int p) {
  const Instance &instance = *run[p];
  const Entry &entry = *instance.entry;
  int counters = static_cast<int>(context.problem.counters.size());
  for (int counter = 0; counter < counters && p > 0; ++counter) {
    issued[cell(counter, p)] = issued[cell(counter, p - 1)];
    retired[cell(counter, p)] = retired[cell(counter, p - 1)];
  }
  switch (entry.kind) {
  case EntryKind::Barrier:
  case EntryKind::Release:
  case EntryKind::Await:
    break;
  case EntryKind::Wait: {
    bool meaningful = context.problem.counters[entry.counter].kind != Retirement::OutOfOrder || entry.value == 0;
    int64_t &known = retired[cell(entry.counter, p)];
    if (meaningful)
      known = std::max(known, issued[cell(entry.counter, p)] - entry.value);
    break;
  }
  case EntryKind::Commit:
    ++issued[cell(entry.counter, p)];
    break;
  case EntryKind::Op:
    useRegisters(p);
    for (const Tick &tick : context.problem.operations[entry.op].ticks)
      if (isSimple(context.problem.counters[tick.counter].kind))
        issued[cell(tick.counter, p)] += tick.amount;
    break;
  case EntryKind::Arrive:
  case EntryKind::PhaseWait:
    phaseEntries.try_emplace({entry.kind, entry.counter, entry.region, instance.iteration}, p);
    break;
  }
}

void Trace::useRegisters(int p) {
  const Instance &instance = *run[p];
  int op = instance.entry->op;
  for (const PathContext::Input &input : context.inputs[op]) {
    int producer = position(input.producer, instance.iteration - input.distance);
    // A program that is not verified may have it the other way round.
    if (producer < 0 || producer > p)
      continue;
    usedAt[producer] = std::min(usedAt[producer], p);
    int64_t &known = retired[cell(input.counter, p)];
    if (context.problem.counters[input.counter].kind == Retirement::InOrder)
      known = std::max(known, indexOf(producer, input.counter));
  }
}

int64_t Trace::indexOf(int p, int counter) const {
  bool group = context.problem.counters[counter].kind == Retirement::Group;
  return issued[cell(counter, p)] + (group ? 1 : 0);
}

int Trace::completion(int p, int counter) const {
  if (counter < 0)
    return p;
  Retirement kind = context.problem.counters[counter].kind;
  if (kind == Retirement::Phase)
    return kNever;
  auto begin = retired.begin() + cell(counter, 0), end = begin + size();
  auto found = std::lower_bound(begin + p, end, indexOf(p, counter));
  int waited = found == end ? kNever : static_cast<int>(found - begin);
  return isSimple(kind) ? std::min(waited, usedAt[p]) : waited;
}

int64_t Trace::issuedSince(int p, int until, int counter) const {
  int64_t total = until > 0 ? issued[cell(counter, until - 1)] : 0;
  return total - indexOf(p, counter);
}

bool Trace::committed(int p, int until, int counter) const {
  return issuedSince(p, until, counter) >= 0;
}

int Trace::phaseEntry(EntryKind kind, int counter, int region, int instance) const {
  auto found = phaseEntries.find({kind, counter, region, instance});
  return found == phaseEntries.end() ? kNever : found->second;
}

Path::Path(const PathContext &context, const Program &program, int trips, bool tailOnly, Detail detail)
    : trips(trips), tailOnly(tailOnly), instances(unroll(program, trips)) {
  int stride = 0;
  for (const Instance &instance : instances)
    if (instance.entry->kind == EntryKind::Op)
      stride = std::max(stride, instance.iteration + 1);
  for (int group = 0; group < context.problem.groups; ++group)
    traces.emplace_back(context, instances, stride, group, detail);
}

int Path::firstToLookAt(const Dependence &hazard, const Trace &from, const Trace &to) const {
  if (!tailOnly || !from.inOrder() || !to.inOrder())
    return 0;
  for (int n = from.iterations(hazard.from); n > 0; --n) {
    int x = from.position(hazard.from, n - 1), y = to.position(hazard.to, n - 1 + hazard.distance);
    if (x >= 0 && y >= 0 && isInHead(from.at(x)) && isInHead(to.at(y)))
      return n;
  }
  return 0;
}

std::vector<Path> pathsToCheck(const PathContext &context, const Program &program, std::optional<int> tripCount,
                               Detail detail) {
  std::vector<int> trips = tripsToCheck(context, program, tripCount);
  std::vector<Path> paths;
  paths.reserve(trips.size());
  for (int count : trips)
    paths.emplace_back(context, program, count, count != trips.back(), detail);
  return paths;
}

bool protectedByPhase(const Problem &problem, const Dependence &hazard) {
  if (hazard.region < 0)
    return false;
  if (hazard.kind == DepKind::War || hazard.kind == DepKind::Waw)
    return problem.regions[hazard.region].release >= 0;
  return hazard.counter >= 0 && problem.counters[hazard.counter].kind == Retirement::Phase;
}

bool isForOneLane(const Problem &problem, const Dependence &hazard) {
  return hazard.toCounter >= 0 && problem.counters[hazard.toCounter].ofWorkgroup;
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
  if (at.from->barriersBefore(complete) + 1 <= at.to->barriersBefore(at.toPosition))
    return true;
  // The first release behind its completion is one that the copying lane has awaited.
  return isForOneLane(context.problem, *at.hazard) &&
         at.from->releasesBefore(complete) + 1 <= at.to->awaitedBefore(at.toPosition);
}

bool isProvenThroughout(const PathContext &context, const Program &program, std::optional<int> tripCount) {
  bool proven = true;
  for (const Path &path : pathsToCheck(context, program, tripCount))
    forEachHazard(context, path, [&](const HazardInstance &at) { proven = proven && isProven(context, at); });
  return proven;
}

} // namespace soliton::sched
