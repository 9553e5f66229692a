//===- Plan.h - A loop's schedule and all that goes with it ---------------===//
//
// What an algorithm, an author or a file decided about one loop: the problem with the barriers, waits and hints that
// were put in, the slot of every op, and what else the loop's transformation has to do. `toFile` writes one, and
// `planFromFile` reads it back (ScheduleFile.h).
//
//   LoopPlan plan = evaluate(schedule, problem, input);      // or planFromFile(problem, file)
//   if (plan.ok() && plan.eliminateEpilogue) …
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/Roles.h"
#include "soliton/schedule/Verify.h"

namespace soliton::sched {

/// A barrier or wait outside of the kernel that the author put in.
struct Insertion {
  Phase phase = Phase::Prologue;
  bool atStart = true;
  EntryKind kind = EntryKind::Barrier;
  int counter = -1;
  int value = 0;
  GroupMask groups = kAllGroups;
  Place place;
  /// Where the author ordered that part: in front of the first op of this rank or a higher one; -1: at start or end.
  int rank = -1;
};

/// What stands around a kernel, to the last barrier and wait.
struct SaidAround {
  std::vector<Entry> prologue, epilogue;
};

struct LoopPlan {
  /// With what the author put in as further operations (pinned = false, origin.op = -1) and its wave groups.
  Problem problem;
  Schedule schedule;
  /// False: the schedule does not speak of this loop; `schedule` is then the order of the source.
  bool scheduled = false;
  /// Not as often as the problem's loop was unrolled: unroll the source loop by this many in all and ask again. Nothing
  /// else holds.
  int unrollFirst = 1;
  /// Copies of the kernel after pipelining.
  int unrollKernel = 1;
  bool eliminateEpilogue = false;
  bool strict = false;
  /// The first wave of each group, ascending: {0} or {0, 4}.
  std::vector<int> groupStart = {0};
  std::vector<Insertion> insertions;
  /// Order of the ops in prologue and epilogue by rank; empty: that of the kernel.
  std::vector<int> prologueRank, epilogueRank;
  std::vector<Waiver> waivers;
  /// There: the author says the whole program, the kernel's barriers and waits too. Nothing is derived or added to it.
  std::optional<SaidAround> around;
  /// What is said of the whole workgroup; once the loop is scheduled, what holds of it.
  Roles roles;
  /// The algorithm that finds the order, where the author leaves it to one; empty: `schedule` is it.
  std::string orderedBy;
  std::vector<Diagnostic> diagnostics;

  /// No errors.
  bool ok() const;
  VerifyOptions verifyOptions(std::optional<int> tripCount = {}) const;
};

/// A barrier, wait, commit or hint that a schedule put into the kernel; the loop itself has none of its key.
bool isAdded(const Operation &op);

/// That operation, without key and place.
Operation makeAdded(OpKind kind, HintKind hint, std::vector<int64_t> arguments, int counter, int value,
                    GroupMask groups);

/// What is wrong with its numbers; empty if nothing.
std::string wrongNumber(OpKind kind, HintKind hint, const std::vector<int64_t> &arguments, int value);

} // namespace soliton::sched
