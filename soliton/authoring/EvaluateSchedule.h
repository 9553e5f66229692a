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

#include "soliton/authoring/Plan.h"
#include "soliton/authoring/WaveSchedule.h"
#include "soliton/schedule/Synchronize.h"

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
  /// Other loops of the kernel are scheduled too: what a role issues may be theirs.
  bool isOneOfSeveral = false;
};

/// Never throws; mistakes are in `diagnostics`, each at the line of the schedule or of the kernel.
LoopPlan evaluate(const WaveSchedule &schedule, const Problem &problem, const ScheduleInput &input);

/// Peels the plan as its author said and adds what is missing. Remarks are errors if the plan is strict.
Synchronized synchronize(const LoopPlan &plan, SyncOptions options = {});

} // namespace soliton::sched
