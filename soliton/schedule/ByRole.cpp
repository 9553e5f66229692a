#include "soliton/schedule/ByRole.h"

#include <algorithm>

namespace soliton::sched {
namespace {
/// As many as issue a matrix instruction together where waves form groups at all.
constexpr int kWaveGroup = 4;

std::string wavesText(int first, int count, const char *does) {
  std::string numbers = count == 1 ? "wave " + std::to_string(first)
                                   : "waves " + std::to_string(first) + " to " + std::to_string(first + count - 1);
  return numbers + " " + does;
}

bool isOfWorkgroup(const Problem &problem, const Entry &entry) {
  return entry.counter >= 0 && problem.counters[entry.counter].ofWorkgroup;
}

/// Whose an entry is.
GroupMask groupsOf(const Problem &problem, const Entry &entry, GroupMask computing, GroupMask copying) {
  switch (entry.kind) {
  case EntryKind::Op:
    return isCopyOfBox(problem, problem.operations[entry.op]) ? copying : computing;
  case EntryKind::Wait:
    return isOfWorkgroup(problem, entry) ? computing | copying : computing;
  case EntryKind::Commit:
    return isOfWorkgroup(problem, entry) ? copying : computing;
  case EntryKind::Await:
    return copying;
  case EntryKind::Barrier:
    return computing | copying;
  case EntryKind::Arrive:
  case EntryKind::PhaseWait:
  case EntryKind::Release:
    return computing;
  }
  return computing | copying;
}
} // namespace

bool isCopyOfBox(const Problem &problem, const Operation &op) {
  return op.kind == OpKind::CopyAsync && std::any_of(op.ticks.begin(), op.ticks.end(), [&](const Tick &tick) {
           return problem.counters[tick.counter].ofWorkgroup;
         });
}

std::optional<ByRole> divideByRole(const Problem &problem, const Program &program, const Crew &crew) {
  // Groups of an author's own are refused beside roles.
  if (crew.copying == 0 || problem.groups > 1)
    return std::nullopt;
  ByRole result{problem, program, {}};
  int fours = crew.computing % kWaveGroup == 0 ? crew.computing / kWaveGroup : 1, each = crew.computing / fours;
  for (int group = 0; group < fours; ++group)
    result.names.push_back(wavesText(group * each, each, each == 1 ? "computes" : "compute"));
  result.names.push_back(wavesText(crew.computing, 1, "copies"));
  result.problem.groups = fours + 1;
  // A resource has the waves of all groups, and each group a share of them.
  for (Resource &resource : result.problem.resources)
    resource.waves = std::max(resource.waves / fours, 1) * result.problem.groups;
  GroupMask copying = GroupMask{1} << fours, computing = copying - 1;
  for (Operation &op : result.problem.operations)
    op.groups = isCopyOfBox(problem, op) ? copying : computing;
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
    for (Entry &entry : result.program.list(phase))
      entry.groups = groupsOf(problem, entry, computing, copying);
  return result;
}

} // namespace soliton::sched
