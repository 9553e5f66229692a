//===- ScheduleFourStage.cpp - One stage per phase -------------------------===//
//
// Wave's FOUR_STAGE: global load, shared store, shared load and compute each get a stage of their own at interval 1, so
// four iterations are in flight (three where copies go to shared memory directly, since no store remains).
//
//   kernel: compute n, shared load n+1, shared store n+2, global load n+3
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Algorithms.h"

#include <algorithm>
#include <set>

namespace soliton::sched {

Scheduled scheduleFourStage(const Problem &problem) {
  Scheduled result;
  std::vector<Dependence> dependences;
  if (!prepare(problem, dependences, result))
    return result;
  std::vector<int> phases = phasesOf(problem, dependences, 1);
  std::vector<int> ranks = topologicalRanks(Graph(problem.numOps(), dependences));
  // A phase that nothing is in would be a stage that only costs registers. Dropping it keeps every dependence, since
  // differences of phases only shrink and none changes its sign.
  std::set<int> used(phases.begin(), phases.end());
  std::vector<int> stageOf(phases.size());
  for (size_t op = 0; op < phases.size(); ++op)
    stageOf[op] = static_cast<int>(std::distance(used.begin(), used.find(phases[op])));
  int last = static_cast<int>(used.size()) - 1;
  Schedule schedule = emptySchedule(problem, "four_stage", 1, Timing::Order);
  for (int op = 0; op < problem.numOps(); ++op)
    schedule.slots[op] = {stageOf[op], 0, 0, (last - stageOf[op]) * problem.numOps() + ranks[op]};
  accept(problem, std::move(schedule), result);
  return result;
}

} // namespace soliton::sched
