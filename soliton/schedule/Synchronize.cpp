#include "soliton/schedule/Synchronize.h"

#include "soliton/schedule/EarlyWaits.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Paths.h"
#include "soliton/schedule/Releases.h"

namespace soliton::sched {

Synchronized synchronize(const PathContext &context, Program program, const SyncOptions &options) {
  Synchronized result;
  derivePhases(context, program);
  BarrierOptions barriers = options.barriers;
  barriers.tripCount = options.tripCount;
  result.barriers = deriveBarriers(context, program, barriers);
  deriveCommits(context, program);
  WaitResult waits = deriveWaits(context, program, {options.tripCount, barriers.remarks});
  result.open = waits.open;
  if (waits.open == 0 && context.schedule.releases) {
    splitBarriers(context, program, options.tripCount);
    waitForTilesEarly(context, program, options.tripCount);
  }
  result.program = std::move(program);
  result.remarks = result.barriers.remarks;
  result.remarks.insert(result.remarks.end(), waits.remarks.begin(), waits.remarks.end());
  return result;
}

Synchronized synchronize(const Problem &problem, const Schedule &schedule, Program program,
                         const SyncOptions &options) {
  Schedule decided = schedule;
  assignBuffers(problem, decided);
  return synchronize(PathContext(problem, decided), std::move(program), options);
}

Synchronized synchronize(const Problem &problem, const Schedule &schedule, const SyncOptions &options) {
  Schedule decided = schedule;
  assignBuffers(problem, decided);
  PathContext context(problem, decided);
  bool tooShort = options.tripCount && *options.tripCount < schedule.stages() - 1 && !options.peel.eliminateEpilogue;
  Program program = tooShort ? peelExact(problem, decided, *options.tripCount, options.peel)
                             : peel(problem, decided, context.dependences, options.peel);
  return synchronize(context, std::move(program), options);
}

} // namespace soliton::sched
