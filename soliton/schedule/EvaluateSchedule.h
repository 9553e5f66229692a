//===- EvaluateSchedule.h - From a said schedule to a Schedule -------------===//
//
// Runs a WaveSchedule on one loop. What comes out is a plan: the problem with the barriers, waits and hints that the
// author put in, the slot of every op, and what else the loop's transformation has to do.
//
//   LoopPlan plan = evaluate(schedule, problem, {.loopTags = {"k_loop"}, .hardware = …});
//   if (plan.unrollFirst != input.unrolled)          // `unroll` before `pipeline`: unroll the loop by that, ask again
//   Synchronized made = synchronize(plan);           // peeled as the author said, barriers and waits added
//   Report report = verify(plan.problem, plan.schedule, made.program, plan.verifyOptions());
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/Verify.h"
#include "soliton/schedule/WaveSchedule.h"

namespace soliton::sched {

/// What a schedule may know about the loop besides its operations.
struct ScheduleInput {
  std::vector<std::string> loopTags;
  Place loopPlace;
  /// Tags of the kernel that are not in this loop, so that naming them is no mistake; tags of its other loops.
  std::vector<std::string> otherTags;
  std::vector<std::string> otherLoopTags;
  HardwareFacts hardware;
  /// Copies of the source's body that the problem holds (origin.copy tells them apart).
  int unrolled = 1;
  bool strict = false;
};

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

struct LoopPlan {
  /// With what the author put in as further operations (pinned = false, origin.op = -1) and its wave groups.
  Problem problem;
  Schedule schedule;
  /// False: the schedule does not speak of this loop; `schedule` is then the order of the source.
  bool scheduled = false;
  /// Not `ScheduleInput::unrolled`: unroll the source loop by this many in all and evaluate again. Nothing else holds.
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
  std::vector<Diagnostic> diagnostics;

  /// No errors.
  bool ok() const;
  VerifyOptions verifyOptions(std::optional<int> tripCount = {}) const;
};

/// Never throws; mistakes are in `diagnostics`, each at the line of the schedule or of the kernel.
LoopPlan evaluate(const WaveSchedule &schedule, const Problem &problem, const ScheduleInput &input);

/// Peels the plan as its author said and adds what is missing. Remarks are errors if the plan is strict.
Synchronized synchronize(const LoopPlan &plan, SyncOptions options = {});

} // namespace soliton::sched
