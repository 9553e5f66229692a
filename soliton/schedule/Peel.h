//===- Peel.h - Prologue, kernel and epilogue of a schedule ----------------===//
//
// Step v of the pipeline runs, for each op in emission order, iteration v - stage of that op where 0 <= v - stage < T.
// Steps 0 .. S-2 are the prologue, S-1 .. T-1 the trips of the kernel, T .. T+S-2 the epilogue.
//
//   S = 2, ops L (stage 0), C (stage 1), emission order C L
//     prologue L@0    kernel C@t L@t+1, T-1 times    epilogue C@T-1
//
// Stages that run past the end (an eliminated epilogue, copies that run on) take part in no epilogue, which is shorter
// by as many steps.
//
// A trip count smaller than the number of stages has no kernel; peelExact gives its steps as one list (T = 0: nothing).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

struct PeelOptions {
  /// The kernel runs T times and early stages run past the end; those entries are marked `overruns`.
  bool eliminateEpilogue = false;
  /// Asynchronous copies of the prologue go first as far as dependences and written barriers allow: they cost no
  /// registers, and everything else there waits for them.
  bool hoistCopies = true;
};

/// The peeled program for trip counts of at least `peeled`, without derived barriers and waits. Staggered groups get
/// their extra barriers at the very beginning and the others theirs at the very end.
Program peel(const Problem &problem, const Schedule &schedule, const PeelOptions &options = {});

/// The same where deriveDependences(problem, schedule.buffers) is known.
Program peel(const Problem &problem, const Schedule &schedule, std::span<const Dependence> dependences,
             const PeelOptions &options);

/// All steps of exactly `tripCount` iterations, in the prologue list; right for any trip count from 0 on.
Program peelExact(const Problem &problem, const Schedule &schedule, int tripCount, const PeelOptions &options = {});

} // namespace soliton::sched
