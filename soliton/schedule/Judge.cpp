#include "soliton/schedule/Judge.h"

#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/Timeline.h"

#include <algorithm>
#include <tuple>

namespace soliton::sched {
namespace {
/// Beyond these a schedule is judged from scratch: keeping its tables would cost more.
constexpr int kLargestInterval = 1 << 20;
constexpr int kMostStages = 1 << 12;

void blame(const Report &report, Verdict &verdict) {
  for (const Diagnostic &diag : report.diagnostics)
    if (diag.severity == Severity::error) {
      verdict.reason = diag.id;
      break;
    }
  verdict.violated = report.violated;
}
} // namespace

Verdict verdictFromScratch(const Problem &problem, const Schedule &schedule) {
  Report report = verify(problem, schedule);
  Verdict verdict;
  verdict.registers = report.registers;
  verdict.sharedBytes = report.sharedBytes;
  if (!report.ok()) {
    blame(report, verdict);
    return verdict;
  }
  Program program = synchronize(problem, schedule).program;
  if (Report proof = verify(problem, schedule, program); !proof.ok()) {
    blame(proof, verdict);
    return verdict;
  }
  verdict.accepted = true;
  verdict.interval = steadyInterval(problem, schedule, program);
  return verdict;
}

Judge::Judge(const Problem &problem, int64_t iterations)
    : problem(problem), iterations(iterations), table(problem), storage(problem), rules(problem, table.all()),
      regionsOf(problem.operations.size()), dependencesOf(problem.operations.size()), reusesOf(problem.regions.size()),
      inHazard(problem.regions.size(), 0), more(problem.regions.size(), 0) {
  for (int op = 0; op < problem.numOps(); ++op) {
    const Operation &operation = problem.operations[op];
    for (const Access &access : operation.accesses) {
      regionsOf[op].push_back(access.region);
      bool counted = access.counter >= 0;
      inHazard[access.region] |= problem.regions[access.region].space != Space::Register || counted;
      needsProof |= counted && problem.counters[access.counter].kind == Retirement::Phase;
    }
    std::sort(regionsOf[op].begin(), regionsOf[op].end());
    regionsOf[op].erase(std::unique(regionsOf[op].begin(), regionsOf[op].end()), regionsOf[op].end());
    bool all = (operation.groups & problem.allGroups()) == problem.allGroups();
    needsProof |= operation.kind == OpKind::Barrier && !all;
  }
  for (const Region &region : problem.regions)
    needsProof |= region.release >= 0;
  for (size_t i = 0; i < table.all().size(); ++i) {
    const Dependence &dep = table.all()[i];
    dependencesOf[dep.from].push_back(static_cast<int>(i));
    if (dep.to != dep.from)
      dependencesOf[dep.to].push_back(static_cast<int>(i));
    if (dep.reuse)
      reusesOf[dep.region].push_back(static_cast<int>(i));
  }
}

/// True if every op has a place, or is one that may float.
bool Judge::isSound(const Schedule &schedule) const {
  if (schedule.interval < 1 || schedule.interval > kLargestInterval ||
      schedule.slots.size() != problem.operations.size())
    return false;
  for (int op = 0; op < problem.numOps(); ++op) {
    const Slot &slot = schedule.slots[op];
    bool floats = !slot.scheduled() && problem.operations[op].kind == OpKind::Free;
    if (!floats && !(slot.scheduled() && slot.cycle >= 0 && slot.cycle < schedule.interval && slot.stage < kMostStages))
      return false;
  }
  return true;
}

Verdict Judge::judge(const Schedule &schedule) {
  current = schedule;
  current.buffers.resize(problem.regions.size(), 0);
  open.assign(problem.regions.size(), 0);
  for (size_t region = 0; region < open.size(); ++region)
    open[region] = current.buffers[region] <= 0;
  stale = !isSound(schedule);
  proven.reset();
  if (stale)
    return fromScratch();
  start(schedule);
  return decide();
}

Verdict Judge::rejudge(std::span<const Change> changes) {
  bool keeps = !stale;
  for (const Change &change : changes) {
    const Slot &slot = change.slot;
    keeps &= slot.scheduled() == current.slots[change.op].scheduled() && slot.cycle >= 0 &&
             slot.cycle < current.interval && slot.stage < kMostStages;
  }
  if (!keeps) {
    Schedule changed = current;
    for (size_t region = 0; region < open.size(); ++region)
      if (open[region])
        changed.buffers[region] = 0;
    for (const Change &change : changes)
      changed.slots[change.op] = change.slot;
    return judge(changed);
  }
  for (const Change &change : changes)
    place(change);
  findPositions();
  // What overwrites what hangs on the order of the ops that touch a region, and on nothing else.
  for (const Change &change : changes)
    for (int region : regionsOf[change.op])
      decideBuffers(region);
  for (int region : otherwise)
    decideBuffers(region);
  otherwise.clear();
  return decide();
}

void Judge::giveMoreBuffers(std::vector<int> said) {
  said.resize(more.size(), 0);
  for (size_t region = 0; region < more.size(); ++region)
    if (said[region] != more[region])
      otherwise.push_back(static_cast<int>(region));
  more = std::move(said);
}

/// Open ones of regions that could have any number.
bool Judge::isFree(int region) const {
  return open[region] && problem.regions[region].rotating && problem.regions[region].buffers == 0;
}

/// From nothing: everything that changes update.
void Judge::start(const Schedule &schedule) {
  order = emissionOrder(schedule);
  position.assign(problem.operations.size(), -1);
  findPositions();
  used.assign(problem.resources.size(), {});
  for (std::vector<int> &row : used)
    row.assign(schedule.timing == Timing::Cycles ? schedule.interval : 0, 0);
  overfull = 0;
  for (int op : order)
    occupy(op, +1);
  size_t count = table.all().size();
  dependences.resize(count);
  active.assign(count, 0);
  violated.assign(count, 0);
  violations = 0;
  storage.assignBuffers(current, position);
  for (size_t region = 0; region < more.size(); ++region)
    if (isFree(static_cast<int>(region)))
      current.buffers[region] += more[region];
  otherwise.clear();
  for (size_t i = 0; i < count; ++i) {
    const Dependence &dep = table.all()[i];
    int buffers = dep.reuse ? effectiveBuffers(problem, current.buffers, dep.region) : 0;
    active[i] = table.setBuffers(i, buffers, dependences[i]);
    recheck(static_cast<int>(i));
  }
  context.reset();
}

/// Emission order without positions: by cycle, cluster, rank, age, source.
bool Judge::comesBefore(int a, int b) const {
  const Slot &x = current.slots[a], &y = current.slots[b];
  return std::tuple(x.cycle, x.cluster, x.rank, -x.stage, a) < std::tuple(y.cycle, y.cluster, y.rank, -y.stage, b);
}

bool Judge::isViolated(const Dependence &dep) const {
  const Slot &from = current.slots[dep.from], &to = current.slots[dep.to];
  if (!from.scheduled() || !to.scheduled())
    return false;
  int trips = tripDistance(current, dep);
  bool ordered = trips > 0 || (trips == 0 && dep.from != dep.to && comesBefore(dep.from, dep.to)) ||
                 (dep.from == dep.to && trips >= 0 && dep.distance > 0);
  int64_t apart = current.time(dep.to) + int64_t{dep.distance} * current.interval - current.time(dep.from);
  return !ordered || (current.timing == Timing::Cycles && apart < dep.latency);
}

void Judge::recheck(int i) {
  char now = active[i] && isViolated(dependences[i]);
  violations += now - violated[i];
  violated[i] = now;
}

void Judge::occupy(int op, int sign) {
  if (current.timing != Timing::Cycles)
    return;
  int64_t time = current.time(op);
  for (const Reservation &use : problem.operations[op].reservations) {
    std::vector<int> &row = used[use.resource];
    int units = problem.resources[use.resource].units, length = problem.busyCycles(problem.operations[op], use);
    int64_t cycle = (time + use.start) % current.interval;
    for (int i = 0; i < length; ++i) {
      int before = row[cycle];
      row[cycle] += sign * use.units;
      overfull += (row[cycle] > units) - (before > units);
      if (++cycle == current.interval)
        cycle = 0;
    }
  }
}

void Judge::place(const Change &change) {
  auto before = [&](int a, int b) { return comesBefore(a, b); };
  occupy(change.op, -1);
  order.erase(std::lower_bound(order.begin(), order.end(), change.op, before));
  current.slots[change.op] = change.slot;
  order.insert(std::lower_bound(order.begin(), order.end(), change.op, before), change.op);
  occupy(change.op, +1);
  for (int i : dependencesOf[change.op])
    recheck(i);
}

void Judge::findPositions() {
  for (size_t i = 0; i < order.size(); ++i)
    position[order[i]] = static_cast<int>(i);
}

void Judge::decideBuffers(int region) {
  if (!isFree(region))
    return;
  int count = storage.requiredBuffers(current, position, region) + more[region];
  if (count == current.buffers[region])
    return;
  current.buffers[region] = count;
  for (int i : reusesOf[region]) {
    active[i] = table.setBuffers(i, count, dependences[i]);
    recheck(i);
  }
  if (inHazard[region])
    context.reset();
}

bool Judge::clustersContiguous() const {
  return std::is_sorted(order.begin(), order.end(),
                        [&](int a, int b) { return current.slots[a].cluster < current.slots[b].cluster; });
}

Verdict Judge::decide() {
  proven.reset();
  Verdict verdict;
  verdict.registers = storage.registerPressure(current, position, static_cast<int>(order.size()));
  verdict.sharedBytes = sharedBytes(problem, current);
  auto exceeds = [](int64_t value, int64_t limit) { return limit > 0 && value > limit; };
  if (violations > 0) {
    size_t first = std::find(violated.begin(), violated.end(), 1) - violated.begin();
    verdict.violated = dependences[first];
    verdict.reason = dependences[first].reuse ? DiagId::ScheduleBuffers : DiagId::ScheduleDependence;
  } else if (overfull > 0) {
    verdict.reason = DiagId::ScheduleResource;
  } else if (!clustersContiguous()) {
    verdict.reason = DiagId::ScheduleMalformed;
  } else if (exceeds(verdict.registers, problem.limits.registers)) {
    verdict.reason = DiagId::ScheduleRegisters;
  } else if (exceeds(verdict.sharedBytes, problem.limits.sharedBytes)) {
    verdict.reason = DiagId::ScheduleSharedBytes;
  }
  if (verdict.reason)
    return verdict;
  std::optional<int64_t> interval = needsProof ? std::nullopt : modelledInterval();
  if (!interval)
    return fromScratch();
  verdict.accepted = true;
  verdict.interval = *interval;
  return verdict;
}

std::optional<int64_t> Judge::modelledInterval() {
  if (context)
    context->moved();
  else
    context.emplace(problem, current, table.with(current.buffers));
  SyncOptions options;
  options.barriers.remarks = false;
  Synchronized made = synchronize(*context, peel(problem, current, context->dependences, options.peel), options);
  if (made.open > 0)
    return std::nullopt;
  proven = std::move(made.program);
  // A loop that is shorter than its prologue is compiled otherwise.
  bool isLong = iterations > 0 && iterations >= current.stages() - 1;
  if (!isLong) {
    ran.reset();
    return steadyInterval(rules, *proven, current.stages());
  }
  Pace pace = paceOf(rules, *proven, current.stages(), iterations);
  ran = pace.length;
  return pace.interval;
}

Verdict Judge::fromScratch() const {
  Schedule schedule = current;
  bool hasMore = std::any_of(more.begin(), more.end(), [](int count) { return count > 0; });
  for (size_t region = 0; region < open.size(); ++region)
    if (open[region] && (stale || !hasMore))
      schedule.buffers[region] = 0;
  return verdictFromScratch(problem, schedule);
}

} // namespace soliton::sched
