//===- Waits.h - Exactly as much waiting as is needed ----------------------===//
//
// A barrier orders only what is complete, so in front of it each wave waits for its own accesses that the barrier is
// the last to protect. On an in-order counter the wait names how many younger ticks may stay outstanding: those issued
// between the youngest access that is needed and the wait, counted along every path prologue · kernel … kernel ·
// epilogue, the smallest of all.
//
//   load A, load B, load C, (A is read behind the barrier)   wait vm 2, barrier
//
// Groups (cp.async, wgmma): `commit` closes a group, waits count groups. Phases (mbarrier): the wait names region and
// instance, its parity is phaseParity(); readers arrive when a buffer may be filled again. A value beyond what the
// counter can name is lowered to what it can. Waits that others make superfluous are not emitted.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

struct WaitOptions {
  /// Number of loop iterations, if it is known.
  std::optional<int> tripCount;
  /// Say what was added.
  bool remarks = true;
};

struct WaitResult {
  /// Hazards that no wait can make proven.
  int open = 0;
  /// One remark per wait that was added.
  std::vector<Diagnostic> remarks;
};

/// Adds commits to group counters that the author did not commit: behind the last op in front of each barrier, of each
/// use inside the wave, of an op of another iteration, and at the end of each list.
void deriveCommits(const Problem &problem, const Schedule &schedule, Program &program);

/// Adds phase waits in front of the first access that needs them, and arrivals of readers at the end of each list.
void derivePhases(const Problem &problem, const Schedule &schedule, Program &program);

/// Adds to `program`, whose barriers stand, the waits that are missing.
WaitResult deriveWaits(const Problem &problem, const Schedule &schedule, Program &program,
                       const WaitOptions &options = {});

/// The same where the context is known.
struct PathContext;
void deriveCommits(const PathContext &context, Program &program);
void derivePhases(const PathContext &context, Program &program);
WaitResult deriveWaits(const PathContext &context, Program &program, const WaitOptions &options);

} // namespace soliton::sched
