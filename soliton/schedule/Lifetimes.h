//===- Lifetimes.h - How much storage a schedule needs ---------------------===//
//
// A value that is still read when the next iteration writes it needs another copy. For a rotating region with its
// write at time w and its last read at time r (both of one instance) the buffers that suffice are the smallest B with
//
//   w + B * II >= r + latency          e.g. w = 1, r = 2, II = 2: B = 1;   w = 0, r = 5, II = 2: B = 3
//
// which is Wave's ceil((r - w + 1) / II) for latency 1. Registers are counted where they are live: after the write and
// up to the last read, folded onto the kernel.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Schedule.h"

namespace soliton::sched {

/// Who touches which storage, collected once for all schedules of a problem.
class StorageTable {
public:
  explicit StorageTable(const Problem &problem);

  /// The answers of the functions below. `position` is the place of each op in the emission order (-1: unscheduled).
  int requiredBuffers(const Schedule &schedule, std::span<const int> position, int region) const;
  void assignBuffers(Schedule &schedule, std::span<const int> position) const;
  std::vector<int64_t> pressureProfile(const Schedule &schedule, std::span<const int> position, int length,
                                       int group) const;
  int64_t registerPressure(const Schedule &schedule, std::span<const int> position, int length) const;

private:
  struct Touch {
    int op = 0;
    int offset = 0;
    bool write = false;
    GroupMask groups = 0;
    /// The part of the region.
    int64_t begin = 0, end = 0;
  };
  static std::vector<int64_t> cutsOf(const std::vector<Touch> &touches);
  /// `write` replaces what `other` touches.
  struct Pair {
    int other = 0;
    int write = 0;
    int offsets = 0;
    int latency = 0;
  };
  int64_t buffersOf(const Schedule &schedule, std::span<const int> position, const Pair &pair) const;

  const Problem &problem;
  /// By region: touches of registers, pairs of all.
  std::vector<std::vector<Touch>> touches;
  std::vector<std::vector<Pair>> pairs;
};

/// The smallest number of buffers with which no instance of `region` is overwritten too early (at least 1).
int requiredBuffers(const Problem &problem, const Schedule &schedule, int region);

/// Decides what is open (0 or absent) in `schedule.buffers`: the problem's own number where it fixes one, else the
/// smallest that suffices; 1 for regions that do not rotate.
void assignBuffers(const Problem &problem, Schedule &schedule);

/// Registers per lane that are live at the same time in the kernel, at most, over the wave groups.
int64_t registerPressure(const Problem &problem, const Schedule &schedule);

/// The same, after each position of the emission order, for one group.
std::vector<int64_t> pressureProfile(const Problem &problem, const Schedule &schedule, int group);

/// Bytes of shared memory with the buffers of the schedule.
int64_t sharedBytes(const Problem &problem, const Schedule &schedule);

} // namespace soliton::sched
