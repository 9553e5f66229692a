//===- TunedLoop.h - The loop whose schedule is searched -------------------===//
//
// A kernel's longest loop with all that a search of its schedules asks: how long one would take in the launch, how it
// reads in cycles, and the file by which the whole kernel is compiled with it.
//
//   TunedLoop loop(attempt.result->loops, target, launchOfEach);
//   loop.cost().of(schedule).cycles
//   loop.fileOf(schedule)                     for ScheduleRequest::file
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/Request.h"
#include "soliton/schedule/LoopCost.h"

namespace soliton::tune {

class TunedLoop {
public:
  /// One launch for each loop; there is one at least.
  TunedLoop(std::vector<sched::LoopReport> loops, const Target &target, const std::vector<sched::Launch> &launches);
  TunedLoop(const TunedLoop &) = delete;
  TunedLoop &operator=(const TunedLoop &) = delete;

  const sched::LoopReport &loop() const { return loops[which]; }
  const sched::Problem &problem() const { return loop().problem; }
  sched::LoopCost &cost() { return *timed; }

  /// The schedule that it was compiled with as one in cycles: those in which the model issues its ops, where it is an
  /// order. Nothing where these are no modulo schedule; `whyNot` says what is in the way.
  std::optional<sched::Schedule> inCycles(std::string &whyNot) const;

  /// The schedules of all loops of the kernel, this one's replaced.
  std::string fileOf(const sched::Schedule &schedule) const;
  /// The same with waves that have priority while they issue matrix instructions, one behind the other; nothing where
  /// the loop has none, or hints of its author's.
  std::optional<std::string> fileWithPriorities(const sched::Schedule &schedule) const;

private:
  std::string fileWith(sched::LoopPlan plan, const sched::Schedule &schedule) const;

  std::vector<sched::LoopReport> loops;
  size_t which = 0;
  std::optional<sched::LoopCost> timed;
};

} // namespace soliton::tune
