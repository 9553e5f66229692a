#include "soliton/schedule/LoopCost.h"

#include "soliton/schedule/Synchronize.h"

#include <algorithm>

namespace soliton::sched {

namespace {
/// Registers of addresses and of the back end's own, as the automatic schedules keep them free.
constexpr int64_t kRegistersBeside = 40;

int64_t ceilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// True if the model makes `to` wait until `from` is complete: a register, or memory that a counter speaks of.
bool isWaitedFor(const Dependence &dep) {
  return dep.kind == DepKind::Raw && dep.distance == 0 && (dep.space == Space::Register || dep.counter >= 0);
}

/// The earliest issue of each op in its iteration, and the least time from its issue to the end of the program.
struct Reach {
  std::vector<int64_t> head, tail;
};

Reach reachOf(const Problem &problem, const std::vector<Dependence> &dependences) {
  Reach reach{std::vector<int64_t>(problem.operations.size(), 0), {}};
  for (const Operation &op : problem.operations)
    reach.tail.push_back(op.kind == OpKind::Free ? 0 : op.latency);
  // Ops stand in an order of their dependences, and these are sorted by `from`.
  for (const Dependence &dep : dependences)
    if (isWaitedFor(dep))
      reach.head[dep.to] = std::max(reach.head[dep.to], reach.head[dep.from] + dep.latency);
  for (size_t i = dependences.size(); i-- > 0;)
    if (const Dependence &dep = dependences[i]; isWaitedFor(dep))
      reach.tail[dep.from] = std::max(reach.tail[dep.from], reach.tail[dep.to] + dep.latency);
  return reach;
}

/// A unit that is busy for so long in each of T iterations is not asked before the first op that uses it can run, and
/// what its last user needs to complete comes behind it.
int64_t leastLengthOf(const Problem &problem, const std::vector<Dependence> &dependences, int64_t iterations) {
  Reach reach = reachOf(problem, dependences);
  int64_t longest = 0;
  for (size_t r = 0; r < problem.resources.size(); ++r) {
    int64_t busy = 0, before = INT64_MAX, behind = INT64_MAX;
    for (int op = 0; op < problem.numOps(); ++op)
      for (const Reservation &use : problem.operations[op].reservations) {
        if (use.resource != static_cast<int>(r))
          continue;
        int64_t length = problem.busyCycles(problem.operations[op], use);
        busy += length * use.units;
        before = std::min(before, reach.head[op] + use.start);
        behind = std::min(behind, std::max<int64_t>(reach.tail[op] - use.start - length, 0));
      }
    if (busy > 0)
      longest = std::max(longest, before + iterations * busy / problem.resources[r].units + behind);
  }
  for (int64_t path : reach.tail)
    longest = std::max(longest, path);
  return longest;
}
} // namespace

double Modelled::score() const {
  return static_cast<double>(cycles) + static_cast<double>(interval) * 0x1p-20 +
         static_cast<double>(registers) * 0x1p-36;
}

LoopCost::LoopCost(const Problem &problem, const Target &target, const Launch &launch)
    : problem(problem), target(target), launch(launch), dependences(deriveDependences(problem)),
      bounds(lowerBounds(problem, dependences)), judge(problem, launch.iterations),
      leastLength(launch.iterations > 0 ? leastLengthOf(problem, dependences, launch.iterations) : 0) {
  lowest = findBound();
}

int64_t LoopCost::residentOf(int64_t registers, int64_t sharedBytes) const {
  int64_t granule = std::max<int64_t>(target.registerGranule, 1);
  int64_t wavesOfSimd = ceilDiv(launch.waves, target.simdsPerComputeUnit);
  int64_t perLane = std::max<int64_t>(ceilDiv(registers + kRegistersBeside, granule) * granule, granule);
  int64_t byRegisters = target.registerFilePerSimdLane / perLane / wavesOfSimd;
  int64_t byWaves = target.maxWavesPerSimd / wavesOfSimd;
  int64_t byShared = sharedBytes > 0 ? target.sharedBytes / sharedBytes : byWaves;
  int64_t byLaunch = launch.workgroups > 0 ? ceilDiv(launch.workgroups, target.computeUnits) : byWaves;
  return std::max<int64_t>(std::min({byRegisters, byWaves, byShared, byLaunch}), 1);
}

int64_t LoopCost::roundsOf(int64_t resident) const {
  return launch.workgroups > 0 ? ceilDiv(launch.workgroups, target.computeUnits * resident) : 1;
}

/// `length` is of one workgroup, or of one iteration where nobody knows how many there are.
int64_t LoopCost::cyclesOf(int64_t length, int64_t resident) const {
  int64_t iterations = std::max<int64_t>(launch.iterations, 1);
  if (launch.workgroups == 0)
    return std::max(iterations * bounds.resource, ceilDiv(length, resident));
  return launch.tiles * roundsOf(resident) * std::max(length, resident * iterations * bounds.resource);
}

int64_t LoopCost::findBound() const {
  int64_t iterations = std::max<int64_t>(launch.iterations, 1);
  int64_t length = std::max(leastLength, (iterations - 1) * bounds.recurrence + 1);
  if (launch.iterations == 0)
    length = bounds.lower();
  int64_t most = residentOf(0, 0), least = INT64_MAX;
  for (int64_t resident = 1; resident <= most; ++resident)
    least = std::min(least, cyclesOf(length, resident));
  return least;
}

/// A schedule that differs from the last one in few slots is not judged from nothing.
Verdict LoopCost::verdictOf(const Schedule &schedule) {
  const Schedule &last = judge.schedule();
  bool isNear = hasJudged && schedule.buffers.empty() && schedule.interval == last.interval &&
                schedule.timing == last.timing && schedule.slots.size() == last.slots.size();
  hasJudged = schedule.buffers.empty();
  std::vector<Change> changes;
  for (size_t op = 0; isNear && op < schedule.slots.size(); ++op)
    if (schedule.slots[op] != last.slots[op])
      changes.push_back({static_cast<int>(op), schedule.slots[op]});
  if (!isNear || changes.size() * 3 > schedule.slots.size())
    return judge.judge(schedule);
  return judge.rejudge(changes);
}

Modelled LoopCost::of(const Schedule &schedule, const std::vector<int> &more) {
  judge.giveMoreBuffers(more);
  Verdict verdict = verdictOf(schedule);
  Modelled result;
  result.reason = verdict.reason;
  result.registers = verdict.registers;
  result.sharedBytes = verdict.sharedBytes;
  result.stages = schedule.stages();
  if (!verdict.accepted)
    return result;
  if (std::optional<int64_t> length = judge.length()) {
    time(result, {verdict.interval, *length});
    return result;
  }
  bool isShort = launch.iterations > 0 && launch.iterations < result.stages - 1;
  SyncOptions options;
  if (isShort)
    options.tripCount = static_cast<int>(launch.iterations);
  Pace pace = launch.iterations == 0 ? Pace{verdict.interval, verdict.interval}
                                     : paceOf(synchronize(problem, judge.schedule(), options).program, result.stages);
  pace.interval = verdict.interval;
  time(result, pace);
  return result;
}

Pace LoopCost::paceOf(const Program &program, int stages) const {
  if (launch.iterations > 0)
    return sched::paceOf(judge.issueRules(), program, stages, launch.iterations);
  int64_t interval = steadyInterval(judge.issueRules(), program, stages);
  return {interval, interval};
}

Modelled LoopCost::of(const Schedule &schedule, const Program &program) const {
  Modelled result;
  result.stages = schedule.stages();
  result.registers = registerPressure(problem, schedule);
  result.sharedBytes = sharedBytes(problem, schedule);
  time(result, paceOf(program, result.stages));
  return result;
}

/// What is accepted, as a part of the launch.
void LoopCost::time(Modelled &result, const Pace &pace) const {
  result.accepted = true;
  result.interval = pace.interval;
  result.length = pace.length;
  result.resident = residentOf(result.registers, result.sharedBytes);
  result.rounds = roundsOf(result.resident);
  result.cycles = cyclesOf(result.length, result.resident);
}

double LoopCost::microseconds(int64_t cycles) const {
  // A cycle of a problem is an issue slot of a wave.
  return static_cast<double>(cycles * target.costs.valuIssue) / static_cast<double>(target.clockMHz);
}

} // namespace soliton::sched
