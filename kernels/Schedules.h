//===- Schedules.h - The schedules that ship, each once ---------------------------===//
//
// Written by hand in the words of wave_schedule, for kernels with the tags of `gemm`: k_loop, read_a, read_b, mma.
//
//   const ScheduleEntry *entry = findSchedule("async_two_pp_clusters");
//   entry->schedule;                               // what compile takes
//   if (!entry) throw CompileError({unknownSchedule(name)});
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/WaveSchedule.h"

namespace soliton::kernels {

struct ScheduleEntry {
  WaveSchedule schedule;
  std::string description;
  /// The kernels and machines that it is for, in words.
  std::string suits;
  /// Tiles come to shared memory by direct copies; a declared pipeline takes them through registers where there are
  /// none.
  bool directCopies = false;
  /// Waves of a workgroup that it needs; 0: any number.
  int waves = 0;
  /// Declared (soliton/pipeline): for tiles of which each wave has at least two by two pieces.
  bool isDeclared = false;

  const std::string &name() const { return schedule.name; }
};

/// All of them, in the order in which a list shows them.
const std::vector<ScheduleEntry> &allSchedules();
/// The schedule of that name, or null.
const ScheduleEntry *findSchedule(std::string_view name);
/// What to say where there is none; `others` are further names that would have been understood.
Diagnostic unknownSchedule(std::string_view name, const std::vector<std::string> &others = {});

} // namespace soliton::kernels
