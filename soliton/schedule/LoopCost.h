//===- LoopCost.h - How long a launch would take by the model --------------===//
//
// The modelled time of a kernel's loop in a launch: the one model of time (schedule/Issue.h) runs it for as many
// iterations as there are, and the launch says how often that happens. With W workgroups on a chip of C compute units,
// r of which a compute unit holds at once (registers, shared memory and waves decide),
//
//   rounds  = ceil(W / (C * r))
//   cycles  = rounds * max(length of one workgroup, r * iterations * busy)      other workgroups fill what one leaves
//   idle
//
//   attention, 128 workgroups on 304 compute units:   r = 1, one round: the length of the loop is what counts
//
// Where the number of iterations is not known, the cycles are those of one iteration; where that of workgroups is not,
// the chip is full, as `modulo` takes it (docs/decisions/0021). What stands before and behind the loop is not modelled.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Bounds.h"
#include "soliton/schedule/Judge.h"
#include "soliton/target/Target.h"

namespace soliton::sched {

/// What of a launch its time hangs on.
struct Launch {
  /// 0: enough to keep the chip full.
  int64_t workgroups = 0;
  /// Waves of a workgroup.
  int64_t waves = 1;
  /// Of the loop; 0: not known, many.
  int64_t iterations = 0;
  /// That a workgroup walks, one after the other.
  int64_t tiles = 1;
};

/// A schedule as the model sees it.
struct Modelled {
  bool accepted = false;
  /// The id of the first error, where it is not.
  std::optional<DiagId> reason;
  /// Cycles per trip of the kernel, and of all iterations of one workgroup.
  int64_t interval = 0, length = 0;
  int64_t registers = 0, sharedBytes = 0;
  int stages = 0;
  /// Workgroups that a compute unit holds at once, and how often it is filled.
  int64_t resident = 1, rounds = 1;
  /// Modelled cycles of the launch.
  int64_t cycles = 0;

  /// What a search makes small: the cycles; of equal ones a shorter interval, then fewer registers.
  double score() const;
};

class LoopCost {
public:
  /// The problem must be valid and outlive the cost.
  LoopCost(const Problem &problem, const Target &target, const Launch &launch);

  /// Judged by the one verifier and timed by the one model. Near the last schedule it costs what has changed. Regions
  /// whose buffers the schedule leaves open have so many `more` than they need, by region; empty: none.
  Modelled of(const Schedule &schedule, const std::vector<int> &more = {});
  /// Of a schedule that was compiled, with the program that was made of it.
  Modelled of(const Schedule &schedule, const Program &program) const;

  /// No schedule takes fewer cycles.
  int64_t bound() const { return lowest; }
  /// The same for the interval alone.
  int64_t intervalBound() const { return bounds.lower(); }
  /// Microseconds of so many cycles (issue slots of a wave: some clocks on AMD) at the target's clock.
  double microseconds(int64_t cycles) const;

private:
  int64_t findBound() const;
  int64_t residentOf(int64_t registers, int64_t sharedBytes) const;
  int64_t cyclesOf(int64_t length, int64_t resident) const;
  int64_t roundsOf(int64_t resident) const;
  void time(Modelled &result, const Pace &pace) const;
  Pace paceOf(const Program &program, int stages) const;
  Verdict verdictOf(const Schedule &schedule);

  const Problem &problem;
  const Target &target;
  Launch launch;
  std::vector<Dependence> dependences;
  Bounds bounds;
  Judge judge;
  /// The least length of a workgroup's loop, by any order.
  int64_t leastLength = 0;
  int64_t lowest = 0;
  bool hasJudged = false;
};

} // namespace soliton::sched
