#include "soliton/schedule/EarlyWaits.h"

#include "soliton/schedule/Paths.h"

#include <algorithm>

namespace soliton::sched {
namespace {
bool isOfWorkgroup(const Problem &problem, const Entry &entry) {
  return entry.kind == EntryKind::Wait && problem.counters[entry.counter].ofWorkgroup;
}

bool isWaitForGroup(const Problem &problem, const Entry &entry) {
  return entry.kind == EntryKind::Wait && problem.counters[entry.counter].kind == Retirement::Group &&
         !problem.counters[entry.counter].ofWorkgroup;
}

/// The last wait for a group of the trip; -1 if there is none.
int lastWaitForGroup(const Problem &problem, const std::vector<Entry> &entries) {
  for (int i = static_cast<int>(entries.size()) - 1; i >= 0; --i)
    if (isWaitForGroup(problem, entries[i]))
      return i;
  return -1;
}

/// Lanes compute in the trip. Where there are only products, looking for a tile early hides nothing, and what waves
/// release behind it is heard of late: fewer copies are under way.
bool computes(const Problem &problem, const std::vector<Entry> &entries) {
  return std::any_of(entries.begin(), entries.end(), [&](const Entry &entry) {
    return entry.kind == EntryKind::Op &&
           (problem.operations[entry.op].kind == OpKind::Valu || problem.operations[entry.op].kind == OpKind::Shuffle);
  });
}
} // namespace

bool waitForTilesEarly(const PathContext &context, Program &program, std::optional<int> tripCount) {
  const Problem &problem = context.problem;
  const std::vector<Entry> &entries = program.kernel;
  size_t heads = 0;
  while (heads < entries.size() && isOfWorkgroup(problem, entries[heads]))
    ++heads;
  int place = lastWaitForGroup(problem, entries);
  if (heads == 0 || place < static_cast<int>(heads) || !computes(problem, entries))
    return false;
  Program before = program;
  auto first = before.kernel.begin(), at = first + place;
  program.prologue.insert(program.prologue.end(), first, first + heads);
  program.kernel.assign(first + heads, at);
  for (auto head = first; head != first + heads; ++head) {
    // Groups that are committed between the two places are not among those that stay.
    Entry wait = *head;
    wait.value -= static_cast<int>(std::count_if(at, before.kernel.end(), [&](const Entry &entry) {
      return entry.kind == EntryKind::Commit && entry.counter == wait.counter;
    }));
    wait.position = at->position;
    wait.cluster = at->cluster;
    program.kernel.push_back(wait);
    if (wait.value < 0) {
      program = std::move(before);
      return false;
    }
  }
  program.kernel.insert(program.kernel.end(), at, before.kernel.end());
  if (isProvenThroughout(context, program, tripCount))
    return true;
  program = std::move(before);
  return false;
}

} // namespace soliton::sched
