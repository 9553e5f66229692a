//===- Algorithms.h - Ways to find a schedule ------------------------------===//
//
// One function per algorithm, one file each (Schedule<Name>.cpp). Every one returns a schedule that the verifier
// accepts, or says why there is none.
//
//   none        source order, one iteration after the other
//   prefetch    two stages: memory of the next iteration beside the arithmetic of this one
//   prefetch_attention  four stages: two products, with the softmax of one tile beside those of others
//   four_stage  one stage per phase (global load, shared store, shared load, compute)
//   ring        direct copies as many iterations ahead as shared memory allows
//   list        one iteration, ops as early as latencies and units allow
//   modulo      overlapping iterations at the shortest interval found (iterative modulo scheduling)
//   exact       the shortest interval there is, with a proof, within a budget
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Bounds.h"
#include "soliton/schedule/Schedule.h"

namespace soliton::sched {

enum class Algorithm : uint8_t { None, Prefetch, PrefetchAttention, FourStage, Ring, List, Modulo, Exact };

/// The name on command lines: `none`, `prefetch`, `prefetch_attention`, `four_stage`, `ring`, `list`, `modulo`,
/// `exact`.
std::string_view nameOf(Algorithm algorithm);
std::optional<Algorithm> parseAlgorithm(std::string_view text);
const std::vector<std::string> &algorithmNames();

struct ScheduleOptions {
  /// MODULO: placements per op before the interval grows; 0: chosen by the size of the problem.
  int budgetRatio = 0;
  /// EXACT: steps of all its searches together; a step takes a few nanoseconds, and their number is the same anywhere.
  int64_t exactBudget = 100'000'000;
  /// Smallest interval to try, e.g. to give in to register pressure; 0: the lower bound.
  int minInterval = 0;
  /// MODULO: the largest interval that is worth trying; 0: the length without overlap.
  int64_t maxInterval = 0;
};

/// What an algorithm returns.
struct Scheduled {
  /// Absent if there is no schedule; `diagnostics` then says why.
  std::optional<Schedule> schedule;
  std::vector<Diagnostic> diagnostics;
  Bounds bounds;
  /// No schedule in cycles, in which all iterations run alike, has a shorter interval than this; equal to the
  /// schedule's: it is optimal.
  int provenBound = 1;
  /// EXACT: the printed proof (see Certificate.h); empty otherwise.
  std::string certificate;

  bool optimal() const { return schedule && schedule->timing == Timing::Cycles && schedule->interval == provenBound; }
};

Scheduled scheduleNone(const Problem &problem);
Scheduled schedulePrefetch(const Problem &problem);
Scheduled schedulePrefetchAttention(const Problem &problem);
Scheduled scheduleFourStage(const Problem &problem);
Scheduled scheduleRing(const Problem &problem);
Scheduled scheduleList(const Problem &problem);
Scheduled scheduleModulo(const Problem &problem, const ScheduleOptions &options = {});
Scheduled scheduleExact(const Problem &problem, const ScheduleOptions &options = {});

/// Calls the one that is named.
Scheduled scheduleWith(Algorithm algorithm, const Problem &problem, const ScheduleOptions &options = {});

/// For the algorithms: validates, derives dependences and bounds. False (with diagnostics) if it cannot be scheduled.
bool prepare(const Problem &problem, std::vector<Dependence> &dependences, Scheduled &result);

/// For the algorithms: decides buffers, verifies, and stores the schedule or the reasons against it.
bool accept(const Problem &problem, Schedule schedule, Scheduled &result);

/// Phases 0 global load, 1 shared store, 2 shared load, 3 compute as the kinds of the ops ask for; what feeds an
/// earlier phase of its iteration is pulled there.
std::vector<int> wantedPhases(const Problem &problem, std::span<const Dependence> dependences);

/// Phases 0 global load, 1 shared store, 2 shared load, 3 compute of every op so that no dependence runs backwards at
/// `interval` phases per iteration. What feeds a load is pulled to the load's phase. Always exists.
std::vector<int> phasesOf(const Problem &problem, std::span<const Dependence> dependences, int interval);

/// Wishes, pushed later until no dependence runs backwards.
std::vector<int> settledPhases(const Problem &problem, std::span<const Dependence> dependences, int interval,
                               std::vector<int> phase);

/// The schedule of such phases: `interval` of them are a stage.
Schedule inPhases(const Problem &problem, std::span<const Dependence> dependences, std::string algorithm, int interval,
                  std::span<const int> phases);

/// Ranks that put equal slots in an order which dependences inside one iteration allow.
std::vector<int> topologicalRanks(const Graph &graph);

} // namespace soliton::sched
