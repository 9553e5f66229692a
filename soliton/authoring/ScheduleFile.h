//===- ScheduleFile.h - Schedules as text and JSON -------------------------===//
//
// A schedule can be dumped, edited, loaded, compared. Ops are named by their key (tag and path), never by position, so
// a file survives edits of the kernel that keep the names. Text form, lines in any order behind the first:
//
//   soliton-schedule 2
//   loop "k_loop"
//   algorithm "two_pp_cluster"
//   interval 2
//   timing order                                  # or: cycles
//   unrolled 2                                    # the source loop, before anything else
//   kernel_copies 2                               # the kernel, after pipelining
//   eliminate_epilogue
//   copies_run_on
//   releases
//   direct_copies                                 # for a kernel that was compiled with them
//   strict                                        # what has to be added is an error
//   specialize waves 4 registers 40 "read_a/0/copy"   # what waves of their own issue; 0 registers: as few as it takes
//   persistent 132                                # workgroups that walk tiles
//   overlap_tiles                                 # … and whose waves go on to the next one by themselves
//   groups 0 4                                    # the first wave of each group of waves
//   stagger 0 1                                   # barriers by which a group runs behind
//   buffers "tile of read_a" 2
//   op "read_a/0/global_load" stage 0 cycle 0 cluster 0
//   added "schedule/wait.0" wait vm 4 stage 1 cycle 0 cluster 0 rank 1
//   added "schedule/barrier.1" barrier groups 1 stage 1 cycle 0 cluster 0 rank 2
//   op "mma/0.0" stage 1 cycle 1 cluster 0 rank 3
//   insert prologue end wait vm 0                 # outside of the kernel: start, end, or rank N
//   order prologue "read_a/0/global_load" 0       # the ranks of a part that the author ordered
//   waive "" "mma/0.0" "" "why"                   # from, to, region, reason; empty: any
//
// Added are: barrier, wait COUNTER N, commit COUNTER, priority N, sched_barrier MASK, sched_group MASK COUNT GROUP.
//
// JSON form: {"format": "soliton-schedule", "version": 2, "loop": …, "algorithm": …, "interval": …, "timing": …,
// "unrolled": 2, "kernel_copies": 2, "eliminate_epilogue": true, "direct_copies":
// false, "strict": false, "specialize": {"waves": 4, "registers": 40, "ops": [key, …]}, "persistent": 132,
// "groups": [0, 4], "stagger": [0, 1],
// "buffers": {"tile of read_a": 2}, "ops": [{"key": …, "stage": …, "cycle": …, "cluster": …, "rank": …},
// {"key": …, "added": "wait", "counter": "vm", "value": 4, …}, {"key": …, "added": "priority", "arguments": [1], …}],
// "insertions": [{"part": "prologue", "at": "end", "added": …}], "orders": [{"part": …, "key": …, "rank": …}],
// "waivers": [{"from": …, "to": …, "region": …, "reason": …}]}
//
// A kernel with several loops has one schedule for each: in the text one behind the other, each with its first line, in
// JSON as a list. A loop gets the one that speaks of its ops.
//
// Version 1 of both has neither added ops nor any of the lines from `unrolled` to `stagger` and from `insert` on.
//
// Reading never trusts the text: sizes, depths and numbers are limited, and binding to a problem reports every op that
// is unknown, repeated or missing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/Plan.h"

#include <map>

namespace soliton::sched {

/// A schedule file as it was read, before it is bound to a problem.
struct ScheduleFile {
  /// A barrier, wait, commit or hint that the schedule puts in.
  struct Added {
    OpKind kind = OpKind::Barrier;
    HintKind hint = HintKind::None;
    /// By name.
    std::string counter;
    int value = 0;
    std::vector<int64_t> arguments;
    /// Of a barrier: which groups of waves pass it.
    GroupMask groups = kAllGroups;
    bool operator==(const Added &) const = default;
  };
  struct Line {
    std::string key;
    Slot slot;
    /// Line of the text; 0 in JSON.
    int line = 0;
    /// Not an op of the loop.
    std::optional<Added> added = {};
  };
  /// A barrier or wait outside of the kernel.
  struct Outside {
    Phase phase = Phase::Prologue;
    bool atStart = true;
    int rank = -1;
    Added added;
    int line = 0;
  };
  /// The place of an op in the prologue or epilogue.
  struct Ordered {
    Phase phase = Phase::Prologue;
    std::string key;
    int rank = 0;
    int line = 0;
  };
  /// Waves of their own, and what they issue.
  struct Specialized {
    int waves = 0;
    int registers = 0;
    std::vector<std::string> keys;
    int line = 0;
  };
  /// For messages.
  std::string name;
  std::string loop;
  std::string algorithm;
  int interval = 1;
  Timing timing = Timing::Order;
  int unrolled = 1;
  int kernelCopies = 1;
  bool eliminateEpilogue = false;
  bool copiesRunOn = false;
  bool releases = false;
  /// The kernel was compiled with direct copies; whoever compiles it for this file has to ask for them again.
  bool directCopies = false;
  bool strict = false;
  std::optional<Specialized> specialized = {};
  /// Workgroups that walk tiles; 0: nothing is said.
  int persistent = 0;
  int persistentLine = 0;
  bool overlapTiles = false;
  std::vector<int> groupStart = {0};
  std::vector<int> stagger;
  /// A second region of one name is called `name#2`.
  std::map<std::string, int> buffers;
  std::vector<Line> lines;
  std::vector<Outside> insertions;
  std::vector<Ordered> orders;
  std::vector<Waiver> waivers;
};

/// The file of a plan, ops in emission order.
ScheduleFile toFile(const LoopPlan &plan);
/// The same for a schedule that nothing else belongs to.
ScheduleFile toFile(const Problem &problem, const Schedule &schedule);

std::string printText(const ScheduleFile &file);
std::string printJson(const ScheduleFile &file);
/// The schedules of several loops.
std::string printText(const std::vector<ScheduleFile> &files);
std::string printJson(const std::vector<ScheduleFile> &files);

/// Reads either form (JSON starts with `{` or `[`): one for each loop. On errors `diagnostics` is not empty. `name` is
/// used in places.
std::vector<ScheduleFile> parseScheduleFiles(std::string_view text, std::vector<Diagnostic> &diagnostics,
                                             const std::string &name = "schedule");

/// The one that speaks of the ops of this loop: the most of them, or the only one.
const ScheduleFile &fileOf(const Problem &problem, const std::vector<ScheduleFile> &files);

/// The same for a text of one schedule; more are an error.
ScheduleFile parseScheduleFile(std::string_view text, std::vector<Diagnostic> &diagnostics,
                               const std::string &name = "schedule");

/// The plan of `problem` that the file describes; every name that does not fit is in its diagnostics. `unrolled` is how
/// many copies of the source's body the problem holds: if the file wants another number, that is all that the plan
/// says (LoopPlan::unrollFirst). `waves` is the number of waves in a workgroup.
LoopPlan planFromFile(const Problem &problem, const ScheduleFile &file, int unrolled = 1, int waves = 1);

/// What differs, one line each: `~ key: stage 0 cycle 1 -> stage 1 cycle 0`, `+ key …`, `- key …`; empty if nothing.
std::vector<std::string> diff(const ScheduleFile &before, const ScheduleFile &after);

/// Wave's own schedule file (its dump_schedule), sort keys being positions in the problem. It holds the cycle and stage
/// of each op and nothing else.
std::string printWave(const Problem &problem, const Schedule &schedule);

/// What of a plan Wave's format has no place for, in words; empty if nothing.
std::vector<std::string> lostInWave(const LoopPlan &plan);

/// Is it Wave's format, by its first line that is neither empty nor a comment?
bool isWaveFile(std::string_view text);

/// Reads Wave's format: ops are matched by name where one fits, else by sort key. Upstream skips lines that it does not
/// understand; here they are errors.
Schedule parseWave(const Problem &problem, std::string_view text, std::vector<Diagnostic> &diagnostics,
                   const std::string &name = "schedule");

} // namespace soliton::sched
