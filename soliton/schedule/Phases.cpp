//===- Phases.cpp - Full and empty barriers of a ring of buffers -----------===//
//
// A copy that announces its own completion (TMA on an mbarrier) needs no workgroup barrier: who reads instance i waits
// for its phase. Who fills the buffer again waits until the readers of the instance before have arrived.
//
//   producer  phase_wait empty tile @i-B, copy tile @i          consumer  phase_wait full tile @i, mma, arrive empty @i
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Paths.h"
#include "soliton/schedule/Waits.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace soliton::sched {
namespace {
/// Arrivals and waits are named by (counter, region, iteration relative to the list).
using PhaseKey = std::tuple<int, int, int>;

Entry phaseEntry(EntryKind kind, const PhaseKey &key, GroupMask groups, const Entry &beside) {
  Entry entry;
  entry.kind = kind;
  std::tie(entry.counter, entry.region, entry.iteration) = key;
  entry.groups = groups;
  entry.position = beside.position;
  entry.cluster = beside.cluster;
  return entry;
}

/// What `entry` must have waited for: (key, is there one).
std::vector<PhaseKey> waitsOf(const Problem &problem, const PathContext &context, const Entry &entry) {
  std::vector<PhaseKey> keys;
  for (const Dependence &hazard : context.hazards) {
    if (hazard.to != entry.op || !protectedByPhase(problem, hazard))
      continue;
    int counter = hazard.kind == DepKind::Raw ? hazard.counter : problem.regions[hazard.region].release;
    keys.emplace_back(counter, hazard.region, instanceOf(problem, hazard, entry.iteration - hazard.distance));
  }
  return keys;
}

void waitInList(const Problem &problem, const PathContext &context, std::vector<Entry> &entries) {
  std::vector<Entry> output;
  std::set<std::pair<PhaseKey, GroupMask>> waited;
  for (const Entry &entry : entries) {
    if (entry.kind == EntryKind::Op)
      for (const PhaseKey &key : waitsOf(problem, context, entry))
        if (waited.insert({key, entry.groups}).second)
          output.push_back(phaseEntry(EntryKind::PhaseWait, key, entry.groups, entry));
    output.push_back(entry);
  }
  entries = std::move(output);
}

/// Readers arrive at the end of the list in which they read; no later reader of that instance may follow.
void arriveInList(const Problem &problem, std::vector<Entry> &entries) {
  std::vector<Entry> arrivals;
  std::set<std::pair<PhaseKey, GroupMask>> arrived;
  for (const Entry &entry : entries) {
    if (entry.kind != EntryKind::Op)
      continue;
    for (const Access &access : problem.operations[entry.op].accesses) {
      int release = problem.regions[access.region].release;
      if (access.write || release < 0)
        continue;
      PhaseKey key{release, access.region, entry.iteration + access.offset};
      GroupMask groups = entry.groups & access.groups;
      if (arrived.insert({key, groups}).second)
        arrivals.push_back(phaseEntry(EntryKind::Arrive, key, groups, entries.back()));
    }
  }
  entries.insert(entries.end(), arrivals.begin(), arrivals.end());
}
} // namespace

void derivePhases(const Problem &problem, const Schedule &schedule, Program &program) {
  derivePhases(PathContext(problem, schedule), program);
}

void derivePhases(const PathContext &context, Program &program) {
  const Problem &problem = context.problem;
  bool any = std::any_of(context.hazards.begin(), context.hazards.end(),
                         [&](const Dependence &hazard) { return protectedByPhase(problem, hazard); });
  bool released = std::any_of(problem.regions.begin(), problem.regions.end(),
                              [](const Region &region) { return region.release >= 0; });
  if (!any && !released)
    return;
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue}) {
    arriveInList(problem, program.list(phase));
    waitInList(problem, context, program.list(phase));
  }
}

} // namespace soliton::sched
