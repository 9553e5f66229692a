#include "soliton/schedule/Synchronize.h"

#include "soliton/schedule/Lifetimes.h"

namespace soliton::sched {

Synchronized synchronize(const Problem &problem, const Schedule &schedule, Program program,
                         const SyncOptions &options) {
  Schedule decided = schedule;
  assignBuffers(problem, decided);
  Synchronized result;
  derivePhases(problem, decided, program);
  BarrierOptions barriers = options.barriers;
  barriers.tripCount = options.tripCount;
  result.barriers = deriveBarriers(problem, decided, program, barriers);
  deriveCommits(problem, decided, program);
  WaitResult waits = deriveWaits(problem, decided, program, {options.tripCount});
  result.program = std::move(program);
  result.remarks = result.barriers.remarks;
  result.remarks.insert(result.remarks.end(), waits.remarks.begin(), waits.remarks.end());
  return result;
}

Synchronized synchronize(const Problem &problem, const Schedule &schedule, const SyncOptions &options) {
  Schedule decided = schedule;
  assignBuffers(problem, decided);
  bool tooShort = options.tripCount && *options.tripCount < schedule.stages() - 1 && !options.peel.eliminateEpilogue;
  Program program =
      tooShort ? peelExact(problem, decided, *options.tripCount, options.peel) : peel(problem, decided, options.peel);
  return synchronize(problem, decided, std::move(program), options);
}

} // namespace soliton::sched
