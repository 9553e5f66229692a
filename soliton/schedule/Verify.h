//===- Verify.h - Is this schedule right? ----------------------------------===//
//
// The one verifier, for schedules of any origin: automatic, written by hand, read from a file, mutated by a test.
//
// Of a Schedule alone it checks completeness, dependences (order, and latency where cycles are real), resources modulo
// the interval, lifetimes against buffers, register pressure, the shared-memory budget, contiguous clusters.
//
// Of a Program (peeled, with barriers and waits) it checks in addition that every wave group meets the same barriers,
// that waits fit their counters, and every cross-wave hazard X -> Y, for all wave groups and their stagger:
//
//   proven        X's wave waits until X is complete, then passes a barrier that Y's wave passes before Y
//   latency only  nothing orders them; it works while the modelled latencies hold (an error unless waived)
//   violated      not even those
//
//   4-wave body, barrier behind `wait lgkm 4` where the fragment read is the youngest:  latency only, because the wait
//   lets just that read stay in flight; the fix says `wait lgkm 0 before the barrier`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

enum class HazardClass : uint8_t { Proven, LatencyOnly, Violated };
std::string_view nameOf(HazardClass value);

/// One cross-wave (or asynchronous) dependence and the worst that was found about it on any path and pair of groups.
struct Hazard {
  Dependence dependence;
  HazardClass value = HazardClass::Proven;
  /// The wave groups and the iteration of `from` where it is worst.
  int fromGroup = 0;
  int toGroup = 0;
  int iteration = 0;
  bool waived = false;
  /// What would make it proven; empty if it is.
  std::string fix;
};

/// Says that a hazard which only latency protects is accepted. Empty keys match every op or region.
struct Waiver {
  std::string from;
  std::string to;
  std::string region;
  /// Why; kept for reports.
  std::string reason;
};

struct VerifyOptions {
  std::vector<Waiver> waivers;
  /// Number of loop iterations if it is known; otherwise every trip count of the pipelined kernel from 0 on is meant.
  std::optional<int> tripCount;
  /// Ops that may be missing from a schedule (constants and the like that float to their users).
  bool freeOpsMayFloat = true;
};

struct Report {
  std::vector<Diagnostic> diagnostics;
  std::vector<Hazard> hazards;
  int64_t registers = 0;
  int64_t sharedBytes = 0;
  /// The first dependence that is violated, or hazard that is not proven.
  std::optional<Dependence> violated;

  /// No errors (remarks and warnings may be there).
  bool ok() const;
};

/// Checks a schedule against its problem.
Report verify(const Problem &problem, const Schedule &schedule, const VerifyOptions &options = {});

/// Checks a schedule and the program made of it: additionally barriers, waits and hazards.
Report verify(const Problem &problem, const Schedule &schedule, const Program &program,
              const VerifyOptions &options = {});

/// The program's part alone (VerifyProgram.cpp).
void verifyProgram(const Problem &problem, const Schedule &schedule, const Program &program,
                   const VerifyOptions &options, Report &report);

} // namespace soliton::sched
