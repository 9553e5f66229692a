//===- ScheduleNone.cpp - Source order -------------------------------------===//
//
// One iteration after the other, each op where the author wrote it: one stage, op i in cycle i. What every other
// schedule must agree with.
//
//   load, store, shared load, mma   becomes   cycle 0, 1, 2, 3 of stage 0, interval 4
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Algorithms.h"

#include <algorithm>

namespace soliton::sched {

Scheduled scheduleNone(const Problem &problem) {
  Scheduled result;
  std::vector<Dependence> dependences;
  if (!prepare(problem, dependences, result))
    return result;
  Schedule schedule = emptySchedule(problem, "none", std::max(problem.numOps(), 1), Timing::Order);
  for (int op = 0; op < problem.numOps(); ++op)
    schedule.slots[op] = {0, op, 0, 0};
  accept(problem, std::move(schedule), result);
  return result;
}

} // namespace soliton::sched
