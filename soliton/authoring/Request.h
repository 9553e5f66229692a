//===- Request.h - Which schedule a kernel is to have ------------------------------===//
//
// What the compiler is asked for, and what it found: one report per loop, with all that a table or a picture needs.
//
//   ScheduleRequest request{.name = "modulo"};            // an algorithm
//   ScheduleRequest request{.file = "gemm.schedule"};      // a schedule file, or its text: lines, JSON or Wave's
//   ScheduleRequest request{.written = std::make_shared<WaveSchedule>(seed000)};   // one that was written in C++
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/Plan.h"
#include "soliton/schedule/Algorithms.h"

#include <memory>

namespace soliton {
struct WaveSchedule;
}

namespace soliton::sched {

struct LoopHooks;

/// The name that asks for whichever algorithm the model of time finds fastest in the launch (LoopCost.h).
inline constexpr std::string_view kFastest = "fastest";

/// A loop of the kernel as it was scheduled: the plan, and what was made of it.
struct LoopReport : LoopPlan {
  // Out of line, so that a user's file does not compile what it takes to copy all of it.
  LoopReport();
  LoopReport(const LoopReport &);
  LoopReport(LoopReport &&) noexcept;
  LoopReport &operator=(const LoopReport &);
  LoopReport &operator=(LoopReport &&) noexcept;
  ~LoopReport();

  Program program;
  Report verified;
  /// What the algorithm knows about the interval.
  Bounds bounds;
  int provenBound = 0;
  std::string certificate;
  /// Barriers and waits that were added, one remark each.
  std::vector<Diagnostic> remarks;
  /// Wall time of building the problem, finding the schedule, and proving it.
  double problemMs = 0, scheduleMs = 0, verifyMs = 0;
};

/// What is asked of the steps in front of scheduling, where shared tiles get their rows.
struct Placement {
  /// Chunks of rows may change places so that accesses have no bank conflicts; off: rows are padded, or plain.
  bool swizzle = true;
  /// Direct copies bring a tile from its first row to its last; off: in the order in which its waves read.
  bool copiesInOrder = false;

  bool operator==(const Placement &) const = default;
};

struct ScheduleRequest {
  /// An algorithm: `none`, `prefetch`, `prefetch_attention`, `four_stage`, `ring`, `list`, `modulo`, `exact`;
  /// `fastest` of them by the model; for kernels in C++ also `auto` (driver/Auto.h).
  std::string name = "none";
  /// A schedule file: its path, or its text; replaces `name`.
  std::string file = {};
  /// For messages about `file`.
  std::string fileName = "schedule";
  /// A schedule written in C++; replaces `name`.
  std::shared_ptr<const WaveSchedule> written = {};
  Placement placement = {};
  /// So many workgroups must fit the shared memory of a compute unit at once; 0: one.
  int64_t workgroupsPerUnit = 0;
  /// What the author did not write is an error: barriers and waits that have to be added.
  bool strict = false;
  /// What the schedules of loops say of the whole workgroup, which every pass has to know and which is found by one of
  /// the last: whoever compiles gives it empty, and compiles once more where something was found.
  std::shared_ptr<Roles> said = {};
  /// Where reports go, if anybody wants them.
  std::shared_ptr<std::vector<LoopReport>> reports = {};
  /// `none` is scheduled and reported like any other, for those who want to look at it.
  bool reportsNone = false;
  /// For instruments of the compiler's own repository; LoopHooks.h, which is not installed, says what it is.
  std::shared_ptr<const LoopHooks> hooks = {};

  bool isNone() const { return name == "none" && file.empty() && !written && !reportsNone; }
};

} // namespace soliton::sched
