//===- ScheduleFile.h - Schedules as text and JSON -------------------------===//
//
// A schedule can be dumped, edited, loaded, compared. Ops are named by their key (tag and path), never by position, so
// a file survives edits of the kernel that keep the names. Text form:
//
//   soliton-schedule 1
//   loop "k_loop"
//   algorithm "prefetch"
//   interval 2
//   timing order                                  # or: cycles
//   buffers "shared_a" 1
//   op "read_a/0/global_load" stage 0 cycle 0 cluster 0
//   op "mma/0.0" stage 1 cycle 1 cluster 0 rank 3
//
// JSON form: {"format": "soliton-schedule", "version": 1, "loop": …, "algorithm": …, "interval": …, "timing": …,
// "buffers": {"shared_a": 1}, "ops": [{"key": …, "stage": …, "cycle": …, "cluster": …, "rank": …}]}
//
// Reading never trusts the text: sizes, depths and numbers are limited, and binding to a problem reports every op that
// is unknown, repeated or missing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Schedule.h"

#include <map>

namespace soliton::sched {

/// A schedule file as it was read, before it is bound to a problem.
struct ScheduleFile {
  struct Line {
    std::string key;
    Slot slot;
    /// Line of the text; 0 in JSON.
    int line = 0;
  };
  /// For messages.
  std::string name;
  std::string loop;
  std::string algorithm;
  int interval = 1;
  Timing timing = Timing::Order;
  std::map<std::string, int> buffers;
  std::vector<Line> lines;
};

/// The file of a schedule, ops in emission order.
ScheduleFile toFile(const Problem &problem, const Schedule &schedule);

std::string printText(const ScheduleFile &file);
std::string printJson(const ScheduleFile &file);

/// Reads either form (JSON starts with `{`). On errors `diagnostics` is not empty. `name` is used in places.
ScheduleFile parseScheduleFile(std::string_view text, std::vector<Diagnostic> &diagnostics,
                               const std::string &name = "schedule");

/// The schedule of `problem` that the file describes; every name that does not fit is reported.
Schedule bindSchedule(const Problem &problem, const ScheduleFile &file, std::vector<Diagnostic> &diagnostics);

/// What differs, one line each: `~ key: stage 0 cycle 1 -> stage 1 cycle 0`, `+ key …`, `- key …`; empty if nothing.
std::vector<std::string> diff(const ScheduleFile &before, const ScheduleFile &after);

/// Wave's own schedule file (its dump_schedule), sort keys being positions in the problem.
std::string printWave(const Problem &problem, const Schedule &schedule);

/// Reads Wave's format: ops are matched by name where one fits, else by sort key. Upstream skips lines that it does not
/// understand; here they are errors.
Schedule parseWave(const Problem &problem, std::string_view text, std::vector<Diagnostic> &diagnostics,
                   const std::string &name = "schedule");

} // namespace soliton::sched
