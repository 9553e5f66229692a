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
