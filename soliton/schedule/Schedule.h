//===- Schedule.h - When each operation runs -------------------------------===//
//
// A schedule is a value: (stage, cycle, cluster) for each operation of a Problem and an initiation interval II. The
// instance of an op at iteration n starts at time (n + stage) * II + cycle, so in every II cycles one iteration begins
// and one iteration of each stage is worked on.
//
//   PREFETCH of a GEMM, II = 2:      cycle 0            cycle 1
//     stage 0 (iteration n + 1)      global load        shared store
//     stage 1 (iteration n)          shared load        mma
//
//   emitted kernel: shared load n, global load n+1, mma n, shared store n+1
//
// Emission order of the kernel: by cycle, then cluster, then rank, then older iterations first (higher stage), then
// source order. Clusters are contiguous runs of that order; they never interleave.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Dependences.h"

namespace soliton::sched {

/// What a cycle means.
enum class Timing : uint8_t {
  Order,  ///< only an order: phases, or positions written by an author; latencies become stalls
  Cycles, ///< machine cycles: latencies and resources must fit
};
std::string_view nameOf(Timing timing);

struct Slot {
  /// -1: not scheduled.
  int stage = -1;
  /// 0 <= cycle < interval.
  int cycle = 0;
  int cluster = 0;
  /// Place inside (cycle, cluster); equal ranks are ordered by age, then by source.
  int rank = 0;

  bool scheduled() const { return stage >= 0; }
  bool operator==(const Slot &) const = default;
};

struct Schedule {
  /// Who made it: `modulo`, `prefetch`, `manual`, …
  std::string algorithm;
  int interval = 1;
  Timing timing = Timing::Order;
  /// One per operation of the problem.
  std::vector<Slot> slots;
  /// Buffers of each region; 0 or absent: not decided (assignBuffers decides).
  std::vector<int> buffers;
  /// Copies past the registers run on where the loop ends: what nobody uses of them is no harm, and the epilogue is
  /// only what other ops still have to do.
  bool copiesRunOn = false;
  /// A barrier of the kernel that only keeps copies by one lane off what others still read is split: every wave says
  /// that it is done and goes on, and the copying lane alone waits for all of them (Releases.h).
  bool releases = false;

  /// Highest stage + 1.
  int stages() const;
  /// Start of the op at iteration 0.
  int64_t time(int op) const { return int64_t{slots[op].stage} * interval + slots[op].cycle; }
  bool operator==(const Schedule &) const = default;
};

/// A schedule of `numOps` unscheduled slots.
Schedule emptySchedule(const Problem &problem, std::string algorithm, int interval, Timing timing);

/// Slots from absolute start times (the smallest becomes 0); all in cluster 0.
Schedule fromTimes(std::string algorithm, int interval, std::span<const int64_t> times);

/// The scheduled ops in the order in which the kernel emits them.
std::vector<int> emissionOrder(const Schedule &schedule);

/// For each op its position in `order`; -1 for unscheduled ones.
std::vector<int> positionsOf(std::span<const int> order, int numOps);

/// How many kernel trips after `from`'s instance the instance of `to` runs that the dependence speaks of.
int tripDistance(const Schedule &schedule, const Dependence &dependence);

/// Stage by cycle, as a table for people.
std::string toTable(const Problem &problem, const Schedule &schedule);

} // namespace soliton::sched
