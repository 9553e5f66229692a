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

/// The last wait for a group of the trip that has arithmetic between it and the one before; -1 if there is none.
int waitBehindArithmetic(const Problem &problem, const std::vector<Entry> &entries) {
  int found = -1;
  bool waited = false, computes = false;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (isWaitForGroup(problem, entries[i])) {
      if (computes)
        found = static_cast<int>(i);
      waited = true;
      computes = false;
    } else if (waited && entries[i].kind == EntryKind::Op) {
      computes |= problem.operations[entries[i].op].kind == OpKind::Valu;
    }
  }
  return found;
}
} // namespace

bool waitForTilesEarly(const PathContext &context, Program &program, std::optional<int> tripCount) {
  const Problem &problem = context.problem;
  const std::vector<Entry> &entries = program.kernel;
  size_t heads = 0;
  while (heads < entries.size() && isOfWorkgroup(problem, entries[heads]))
    ++heads;
  int place = waitBehindArithmetic(problem, entries);
  if (heads == 0 || place < 0)
    return false;
  Program before = program;
  auto first = before.kernel.begin(), at = first + place;
  program.prologue.insert(program.prologue.end(), first, first + heads);
  program.kernel.assign(first + heads, at);
  program.kernel.insert(program.kernel.end(), first, first + heads);
  program.kernel.insert(program.kernel.end(), at, before.kernel.end());
  if (isProvenThroughout(context, program, tripCount))
    return true;
  program = std::move(before);
  return false;
}

} // namespace soliton::sched
