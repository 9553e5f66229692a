//===- Machine.h - Runs emulator programs ---------------------------------===//
//
// Executes a grid of workgroups. Lanes run in lockstep, waves of a workgroup interleave under a seeded scheduler, and
// so do the workgroups that the target holds at once, where they can see each other at all: where the launch reads
// global memory that it also writes. Otherwise workgroups are dealt to host threads. With `checks` every access is
// judged:
//
//   Result r = run(program, {.grid = {4, 4, 1}, .buffers = {{a, bytes}, {c, bytes}}, .checks = true});
//   if (!r.ok()) std::cerr << format(r);
//
// gemm.cpp:31:11: error: `load` reads shared byte 512 (byte 0 of `rhs`) in wave 1, lane 0, not ordered after the write
// by `store` of wave 0 [missing-barrier]
//   gemm.cpp:28:9: note: `store` here
//     hint: insert `barrier` between
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Program.h"

namespace soliton::emu {

/// A global buffer: host memory that the kernel reads and writes in place.
struct Buffer {
  void *data = nullptr;
  uint64_t bytes = 0;
};

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::vector<Buffer> buffers = {};
  /// Bits of the scalar arguments.
  std::vector<uint64_t> scalars = {};
  /// 0: a wave runs until it blocks; otherwise waves switch at random at memory and synchronisation.
  uint64_t seed = 0;
  /// Judge races, initialisation, alignment, divergence. Bounds and deadlock are always judged.
  bool checks = false;
  /// Asynchronous work completes as late as is legal; until then its destination holds NaN patterns. So do ordinary
  /// accesses of shared memory where no barrier completes them: stores when they are waited for, loads also when their
  /// value is used; until then memory is as it was.
  bool adversarial = false;
  /// Count shared bank conflicts (lanes served in groups that fill the banks once).
  bool bankConflicts = false;
  /// Instructions that one wave may execute.
  uint64_t stepLimit = 1'000'000'000;
  /// Host threads for workgroups that cannot see each other, dealt in turn. Only which pair of workgroups a global
  /// conflict names depends on it.
  uint32_t threads = 2;
  /// Workgroups that run at once where they can see each other; 0: as many as the program's target holds. A further one
  /// starts when one of them ends; in which order is not promised, and random if `adversarial` under a seed.
  uint32_t resident = 0;
  /// Of state that resident workgroups may take; fewer are resident where that is not enough.
  uint64_t residentBytes = uint64_t(1) << 30;
  /// Findings that are kept.
  uint32_t maxFindings = 32;
};

enum class FindingKind : uint8_t {
  Race,           ///< two accesses, one a write, with neither a wait nor a barrier between them
  MissingWait,    ///< the barrier is there, or not needed, but the access was not waited for
  MissingBarrier, ///< complete, but nothing orders the other wave after it
  MissingFence,   ///< ordered, but not made visible to the asynchronous engines
  LaneConflict,   ///< lanes of one store write different values to one byte
  GlobalConflict, ///< different workgroups write one byte, or one reads what another writes, in no order
  RedundantWrite, ///< as a race or a global conflict of two writes, but of one value: a warning
  PendingValue,   ///< a register that an asynchronous instruction still owns
  OutOfBounds,
  Misaligned,
  Uninitialized,
  Divergent, ///< a collective instruction or uniform value with disagreeing lanes
  Deadlock,  ///< no wave can go on, or those that run poll what nobody will write
  CounterOverflow,
  MbarrierMisuse,
  EarlyAccess, ///< of what launches ahead may write or read, before they were waited for, or a workgroup never waits
  StableWrite, ///< of memory that no launch is to write
};

/// `race`, `missing-wait`, …
std::string_view name(FindingKind kind);

inline bool isWarning(FindingKind kind) {
  return kind == FindingKind::RedundantWrite;
}

struct Finding {
  FindingKind kind = FindingKind::Race;
  /// What was found, lower-case, no period.
  std::string message;
  /// The instruction at which it was found, and the earlier one where two are involved (kNone otherwise).
  uint32_t instruction = 0;
  uint32_t other = kNone;
  Origin origin, otherOrigin;
  uint32_t workgroup = 0;
  uint32_t wave = 0;
  /// First lane concerned, or kNone.
  uint32_t lane = kNone;
  /// Byte address inside the region named in the message.
  int64_t address = 0;
  /// The smallest repair.
  std::string hint;

  static constexpr uint32_t kNone = 0xffffffffu;
};

struct Statistics {
  uint64_t instructions = 0;
  uint64_t arithmetic = 0, control = 0, lanes = 0;
  uint64_t globalAccesses = 0, sharedAccesses = 0, asyncCopies = 0;
  uint64_t mma = 0, barriers = 0, waits = 0;
  /// Extra shared-memory cycles, where counted.
  uint64_t bankConflicts = 0;
  /// Workgroups that were resident at once, over all host threads.
  uint64_t residents = 0;

  Statistics &operator+=(const Statistics &other);
};

struct Result {
  /// Why the program could not run, or not to its end; empty otherwise.
  std::string error;
  /// The loop in which a wave was stopped, if it was in one.
  Place errorPlace;
  /// Sorted by instruction; equal ones (same kind, same places) are reported once, where they happened first.
  std::vector<Finding> findings;
  /// Likewise; what is no error.
  std::vector<Finding> warnings;
  /// Findings beyond maxFindings were dropped.
  bool truncated = false;
  Statistics statistics;

  bool ok() const { return error.empty() && findings.empty(); }
};

/// Validates, then runs. Never throws for a bad program: `error` says what is wrong.
Result run(const Program &program, const LaunchConfig &config);

/// As the compiler prints diagnostics.
std::string format(const Finding &finding);
std::string format(const Result &result);

} // namespace soliton::emu
