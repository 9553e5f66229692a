#include "soliton/schedule/Waits.h"

#include "soliton/schedule/Paths.h"

#include <algorithm>
#include <map>

namespace soliton::sched {
namespace {
/// A wait on `counter` in front of the entry at `where`.
struct WaitPlace {
  Location where;
  int counter = 0;

  auto operator<=>(const WaitPlace &) const = default;
};
struct Wanted {
  int64_t value = std::numeric_limits<int64_t>::max();
  GroupMask groups = 0;
};
using Waits = std::map<WaitPlace, Wanted>;

class WaitDerivation {
public:
  WaitDerivation(const Problem &problem, const Schedule &schedule, Program &program, const WaitOptions &options)
      : context(problem, schedule), problem(problem), program(program), options(options) {
    for (const Operation &op : problem.operations)
      uniform &= (op.groups & problem.allGroups()) == problem.allGroups();
  }

  WaitResult run() {
    trips = tripsToCheck(context, program, options.tripCount);
    Waits waits = needed();
    drop(waits);
    program = with(waits);
    remark(waits);
    return std::move(result);
  }

private:
  Waits needed() const {
    Waits waits;
    for (int count : trips) {
      Path path(context, program, count);
      forEachHazard(context, path, [&](const HazardInstance &at) {
        if (at.hazard->counter < 0 || isProven(context, at))
          return;
        if (protectedByPhase(problem, *at.hazard))
          return needForArrival(at, waits);
        int before = at.toPosition;
        if (at.hazard->crossWave)
          before = at.from->barrierPosition(at.to->barriersBefore(at.toPosition));
        if (before != kNever && before > at.fromPosition)
          need(at, before, waits);
      });
    }
    return waits;
  }

  /// Readers wait for their reads before they announce that the buffer is empty.
  void needForArrival(const HazardInstance &at, Waits &waits) const {
    if (at.hazard->kind != DepKind::War)
      return;
    int release = problem.regions[at.hazard->region].release;
    int arrival = at.from->phaseEntry(EntryKind::Arrive, release, at.hazard->region,
                                      instanceOf(problem, *at.hazard, at.iteration));
    if (arrival != kNever && arrival > at.fromPosition)
      need(at, arrival, waits);
  }

  void need(const HazardInstance &at, int before, Waits &waits) const {
    int counter = at.hazard->counter;
    CounterKind kind = problem.counters[counter].kind;
    if (kind == CounterKind::Phase ||
        (kind == CounterKind::Group && !at.from->committed(at.fromPosition, before, counter)))
      return;
    int64_t value = kind == CounterKind::OutOfOrder ? 0 : at.from->issuedSince(at.fromPosition, before, counter);
    if (int limit = problem.counters[counter].limit; limit > 0)
      value = std::min<int64_t>(value, limit);
    Wanted &wanted = waits[{at.from->at(before).where, counter}];
    wanted.value = std::min(wanted.value, value);
    wanted.groups |= uniform ? kAllGroups : GroupMask{1} << at.fromGroup;
  }

  /// Leaves out each wait without which everything that was ordered stays ordered.
  void drop(Waits &waits) const {
    int64_t open = unproven(with(waits));
    for (auto it = waits.begin(); it != waits.end();) {
      std::pair<const WaitPlace, Wanted> candidate = *it;
      it = waits.erase(it);
      if (unproven(with(waits)) > open)
        waits.insert(candidate);
    }
  }

  int64_t unproven(const Program &trial) const {
    int64_t count = 0;
    for (int trip : trips) {
      Path path(context, trial, trip);
      forEachHazard(context, path, [&](const HazardInstance &at) { count += !isProven(context, at); });
    }
    return count;
  }

  Program with(const Waits &waits) const {
    Program copy = program;
    for (auto it = waits.rbegin(); it != waits.rend(); ++it) {
      std::vector<Entry> &entries = copy.list(it->first.where.phase);
      Entry wait;
      wait.kind = EntryKind::Wait;
      wait.counter = it->first.counter;
      wait.value = static_cast<int>(it->second.value);
      wait.groups = it->second.groups;
      wait.position = entries[it->first.where.index].position;
      wait.cluster = entries[it->first.where.index].cluster;
      entries.insert(entries.begin() + it->first.where.index, wait);
    }
    return copy;
  }

  void remark(const Waits &waits) {
    for (const auto &[place, wanted] : waits)
      result.remarks.push_back({Severity::remark,
                                DiagId::ScheduleRemark,
                                {},
                                "`wait " + problem.counters[place.counter].name + " " + std::to_string(wanted.value) +
                                    "` was added to the " + std::string(nameOf(place.where.phase)),
                                {},
                                {}});
  }

  PathContext context;
  const Problem &problem;
  Program &program;
  const WaitOptions &options;
  bool uniform = true;
  std::vector<int> trips;
  WaitResult result;
};

bool joins(const Problem &problem, const Entry &entry, int counter) {
  if (entry.kind != EntryKind::Op)
    return false;
  const std::vector<Access> &accesses = problem.operations[entry.op].accesses;
  return std::any_of(accesses.begin(), accesses.end(), [&](const Access &access) { return access.counter == counter; });
}

/// Commits of one group counter in one list.
void commitList(const Problem &problem, int counter, const std::vector<char> &usesInWave, std::vector<Entry> &entries) {
  std::vector<Entry> output;
  int lastMember = -1;
  GroupMask groups = 0;
  auto close = [&] {
    if (lastMember < 0)
      return;
    Entry commit;
    commit.kind = EntryKind::Commit;
    commit.counter = counter;
    commit.groups = groups;
    commit.position = output[lastMember].position;
    commit.cluster = output[lastMember].cluster;
    output.insert(output.begin() + lastMember + 1, commit);
    lastMember = -1;
    groups = 0;
  };
  for (const Entry &entry : entries) {
    // Groups of several iterations could only be waited for together.
    bool otherIteration =
        lastMember >= 0 && joins(problem, entry, counter) && output[lastMember].iteration != entry.iteration;
    if (entry.kind == EntryKind::Barrier || entry.kind == EntryKind::Arrive || otherIteration ||
        (entry.kind == EntryKind::Op && usesInWave[entry.op]))
      close();
    output.push_back(entry);
    if (joins(problem, entry, counter)) {
      lastMember = static_cast<int>(output.size()) - 1;
      groups |= entry.groups;
    }
  }
  close();
  entries = std::move(output);
}
} // namespace

void deriveCommits(const Problem &problem, const Schedule &schedule, Program &program) {
  PathContext context(problem, schedule);
  for (size_t counter = 0; counter < problem.counters.size(); ++counter) {
    if (problem.counters[counter].kind != CounterKind::Group)
      continue;
    bool written = false;
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
      for (const Entry &entry : program.list(phase))
        written |= entry.kind == EntryKind::Commit && entry.counter == static_cast<int>(counter);
    if (written)
      continue;
    std::vector<char> usesInWave(problem.operations.size(), 0);
    for (const Dependence &hazard : context.hazards)
      if (!hazard.crossWave && hazard.counter == static_cast<int>(counter))
        usesInWave[hazard.to] = 1;
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
      commitList(problem, static_cast<int>(counter), usesInWave, program.list(phase));
  }
}

WaitResult deriveWaits(const Problem &problem, const Schedule &schedule, Program &program, const WaitOptions &options) {
  return WaitDerivation(problem, schedule, program, options).run();
}

} // namespace soliton::sched
