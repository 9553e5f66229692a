//===- Synchronize.h - From a schedule to a program that is proven ---------===//
//
// The whole of "when" after ordering, in its order: peel, phases, barriers, commits, waits, releases.
//
//   Scheduled found = scheduleModulo(problem);
//   Synchronized made = synchronize(problem, *found.schedule);
//   Report report = verify(problem, *found.schedule, made.program);   // ok, every hazard proven
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Barriers.h"
#include "soliton/schedule/Peel.h"
#include "soliton/schedule/Waits.h"

namespace soliton::sched {

struct SyncOptions {
  PeelOptions peel;
  BarrierOptions barriers;
  /// Number of loop iterations, if it is known. Smaller than the number of stages: the program has no kernel.
  std::optional<int> tripCount;
};

struct Synchronized {
  Program program;
  BarrierResult barriers;
  /// Hazards that are not proven nevertheless; the verifier says which.
  int open = 0;
  /// One remark for each barrier and wait that was added (errors under `strict`, says who calls).
  std::vector<Diagnostic> remarks;
};

/// Peels a schedule and adds what is missing for every hazard to be proven.
Synchronized synchronize(const Problem &problem, const Schedule &schedule, const SyncOptions &options = {});

/// Adds barriers, commits and waits to a program that is peeled already (a hand-made one, say).
Synchronized synchronize(const Problem &problem, const Schedule &schedule, Program program,
                         const SyncOptions &options = {});

/// The same where the context is known.
Synchronized synchronize(const PathContext &context, Program program, const SyncOptions &options);

} // namespace soliton::sched
