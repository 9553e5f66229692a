#include "soliton/schedule/Releases.h"

#include "soliton/schedule/Paths.h"

#include <algorithm>

namespace soliton::sched {
namespace {
/// Releases that an await leaves open at most.
constexpr int kMostAwaited = 2;

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

  /// Whether a release says more behind it than before it.
  bool completes(const Entry &entry) const {
    bool meets = entry.kind == EntryKind::Barrier || entry.kind == EntryKind::Release;
    return meets || (entry.kind == EntryKind::Wait && !isOfWorkgroup(entry.counter));
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
    // The lane had better not wait: the older the release that is enough, and the earlier in the trip, the better.
    std::vector<int> places = placesOfRelease(barrier, copy);
    for (int value = kMostAwaited; value >= 0; --value)
      for (auto place = places.rbegin(); place != places.rend(); ++place)
        if (replace(barrier, *place, copy, value))
          return true;
    return false;
  }

  /// Behind what completes something, from the barrier backwards; behind the copy they are places of the trip before.
  std::vector<int> placesOfRelease(int barrier, int copy) const {
    std::vector<int> places;
    for (int at = barrier; at > 0; --at)
      if (at == barrier || completes(program.kernel[at - 1]))
        places.push_back(at);
    // What was complete before the trip began was so at the end of the one before, or of the prologue.
    for (int at = static_cast<int>(program.kernel.size()) - 1; at > copy; --at)
      if (completes(program.kernel[at - 1]))
        places.push_back(at);
    return places;
  }

  /// Releases in front of the entry `done` and awaits all but the last `value` of them in front of `copy`, if that is
  /// enough.
  bool replace(int barrier, int done, int copy, int value) {
    Program before = program;
    std::vector<Entry> entries;
    for (int i = 0; i < static_cast<int>(before.kernel.size()); ++i) {
      if (i == done)
        entries.push_back(half(EntryKind::Release, before.kernel[i]));
      if (i == copy) {
        entries.push_back(half(EntryKind::Await, before.kernel[i]));
        entries.back().value = value;
      }
      if (i != barrier)
        entries.push_back(before.kernel[i]);
    }
    program.kernel = std::move(entries);
    if (done > copy)
      program.prologue.push_back(
          half(EntryKind::Release, before.prologue.empty() ? before.kernel.front() : before.prologue.back()));
    if (isProvenThroughout(context, program, tripCount))
      return true;
    program = std::move(before);
    return false;
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
  if (!any || context.problem.groups > 1)
    return 0;
  return Splitter(context, program, tripCount).run();
}

} // namespace soliton::sched
