#include "soliton/schedule/Releases.h"

#include "soliton/schedule/Paths.h"

#include <algorithm>

namespace soliton::sched {
namespace {
class Splitter {
public:
  Splitter(const PathContext &context, Program &program, std::optional<int> tripCount)
      : context(context), problem(context.problem), program(program), tripCount(tripCount) {}

  int run() {
    int split = 0;
    // What comes later in the trip is looked at first, so that places in front of it stay what they are.
    for (int at = static_cast<int>(program.kernel.size()) - 1; at >= 0; --at)
      if (isDerivedBarrier(program.kernel[at]))
        split += trySplit(at);
    return split;
  }

private:
  static bool isDerivedBarrier(const Entry &entry) {
    return entry.kind == EntryKind::Barrier && entry.op < 0 && !entry.said && !entry.stagger;
  }

  bool isOfWorkgroup(int counter) const { return counter >= 0 && problem.counters[counter].ofWorkgroup; }

  bool isCopyByOneLane(const Entry &entry) const {
    if (entry.kind != EntryKind::Op)
      return false;
    const std::vector<Access> &accesses = problem.operations[entry.op].accesses;
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](const Access &access) { return access.write && isOfWorkgroup(access.counter); });
  }

  /// Whether a release may come before it: nothing that it completes or touches is what others wait for.
  bool mayFollowRelease(const Entry &entry) const {
    if (entry.kind == EntryKind::Wait)
      return isOfWorkgroup(entry.counter);
    if (entry.kind == EntryKind::Commit)
      return true;
    if (entry.kind != EntryKind::Op)
      return false;
    const std::vector<Access> &accesses = problem.operations[entry.op].accesses;
    return std::all_of(accesses.begin(), accesses.end(), [&](const Access &access) {
      return problem.regions[access.region].space == Space::Register;
    });
  }

  static Entry half(EntryKind kind, const Entry &beside) {
    Entry entry;
    entry.kind = kind;
    entry.position = beside.position;
    entry.cluster = beside.cluster;
    return entry;
  }

  bool trySplit(int barrier) {
    const std::vector<Entry> &entries = program.kernel;
    int copy = barrier + 1;
    while (copy < static_cast<int>(entries.size()) && entries[copy].kind != EntryKind::Barrier &&
           !isCopyByOneLane(entries[copy]))
      ++copy;
    if (copy == static_cast<int>(entries.size()) || !isCopyByOneLane(entries[copy]))
      return false;
    int done = barrier;
    while (done > 0 && mayFollowRelease(entries[done - 1]))
      --done;
    return replace(barrier, done, copy) || (done < barrier && replace(barrier, barrier, copy));
  }

  /// Releases in front of the entry `done` and awaits in front of `copy`, if that is enough.
  bool replace(int barrier, int done, int copy) {
    std::vector<Entry> before = program.kernel, entries;
    for (int i = 0; i < static_cast<int>(before.size()); ++i) {
      if (i == done)
        entries.push_back(half(EntryKind::Release, before[i]));
      if (i == copy)
        entries.push_back(half(EntryKind::Await, before[i]));
      if (i != barrier)
        entries.push_back(before[i]);
    }
    program.kernel = std::move(entries);
    if (isProven())
      return true;
    program.kernel = std::move(before);
    return false;
  }

  bool isProven() const {
    bool proven = true;
    for (const Path &path : pathsToCheck(context, program, tripCount))
      forEachHazard(context, path,
                    [&](const HazardInstance &at) { proven = proven && sched::isProven(context, at); });
    return proven;
  }

  const PathContext &context;
  const Problem &problem;
  Program &program;
  std::optional<int> tripCount;
};
} // namespace

int splitBarriers(const PathContext &context, Program &program, std::optional<int> tripCount) {
  bool any = std::any_of(context.problem.counters.begin(), context.problem.counters.end(),
                         [](const Counter &counter) { return counter.ofWorkgroup; });
  // Groups that are staggered count barriers to stay so.
  if (!any || !context.schedule.releases || context.problem.groups > 1)
    return 0;
  return Splitter(context, program, tripCount).run();
}

} // namespace soliton::sched
