//===- ScheduleValidator.h - One op elsewhere, and the rest repaired -------===//
//
// A modulo schedule in cycles, and moves of one op to another cycle. Whoever depends on the op and would now come too
// early moves later, to the first cycle in which its units are free; whom it depends on moves earlier. Latencies,
// distances between iterations and units modulo the interval all count, and what comes out has passed the verifier.
//
//   ScheduleValidator validator(problem, schedule);
//   ScheduleValidator::Attempt attempt = validator.attemptMove(op, 40);
//   if (attempt) validator.commitMove(attempt.schedule);
//
// The cycles of ops that repair moves are a function of the schedule and the move.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/ResourceTable.h"
#include "soliton/schedule/Schedule.h"
#include "soliton/schedule/Verify.h"

namespace soliton::tune {

/// Units in use, by cycle of the interval and by resource: the resource reservation table.
using ReservationTable = std::vector<std::vector<int>>;

class ScheduleValidator {
public:
  /// The problem must be valid and outlive the validator; the schedule is one in cycles that the verifier accepts, or
  /// else every attempt says what is wrong.
  ScheduleValidator(const sched::Problem &problem, sched::Schedule schedule);

  struct Attempt {
    /// What was asked for, repaired; the schedule as it was where that failed.
    sched::Schedule schedule;
    ReservationTable table;
    /// Why not; empty if it succeeded.
    std::string error;

    explicit operator bool() const { return error.empty(); }
  };
  /// `cycle` counts from the beginning of the iteration: stage * interval + cycle of the interval.
  Attempt attemptMove(int op, int64_t cycle) const;
  /// The schedule of an attempt is the one from now on.
  void commitMove(const sched::Schedule &schedule);

  const sched::Schedule &schedule() const { return current; }
  ReservationTable table() const { return tableOf(current); }
  ReservationTable tableOf(const sched::Schedule &schedule) const;
  const sched::Problem &loop() const { return problem; }

private:
  /// Moves what `op` at its new time disturbs; false where there is no room.
  bool repair(std::vector<int64_t> &times, int op, bool later, std::string &error) const;

  const sched::Problem &problem;
  sched::Schedule current;
  std::vector<sched::Dependence> dependences;
  sched::Graph graph;
};

} // namespace soliton::tune
