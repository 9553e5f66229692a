//===- Attack.h - Breaks good schedules and sees who notices -----------------------===//
//
// One attempt: a base, a damage of one kind, the kernel built in spite of it. It is *harmful* if one of 64 orders of
// the waves, with nobody checking and asynchronous work as late as is legal, gives a wrong result or hangs. Then the
// verifier, or the emulator with its checks at seed 0, must have something to say: both ops, both lines, and a fix.
//
//   Attempt attempt = attack(base, sched::Mutation::DropWait, 7);
//   attempt.what       "dropped `wait vm 4` of the kernel"
//   attempt.verdict    Harmful, at seed 0: "wrong result"; byVerifier, byEmulator
//
// The other half: schedules that are right, of every origin, must raise no alarm at all.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/attack/Bases.h"
#include "test/attack/Mutate.h"

namespace soliton::attack {

inline constexpr int kSeeds = 64;

enum class Verdict : uint8_t {
  NoPlace,     ///< the base has nothing of the kind to damage
  Unbuildable, ///< a value would be used before it is computed: no such kernel can be made
  Harmless,
  Harmful,
};

struct Attempt {
  sched::Mutation kind = sched::Mutation::DropOp;
  std::string base, what;
  Verdict verdict = Verdict::NoPlace;
  /// The first seed that does harm, and which.
  int seed = -1;
  std::string harm;
  bool byVerifier = false, byEmulator = false;
  /// One of the reports names both ops with their lines and says what to do.
  bool complete = false;
  /// What was reported, as an author reads it.
  std::string report;

  bool missed() const { return verdict == Verdict::Harmful && !byVerifier && !byEmulator; }
};

Attempt attack(const Base &base, sched::Mutation kind, uint32_t seed);

enum class Origin : uint8_t { Given, Interval, Edited };

/// A right schedule, where it came from, and what was said against it.
struct Good {
  std::string name;
  Origin origin = Origin::Given;
  /// Such a kernel cannot be had (too much shared memory, no direct copies of such rows); says why.
  std::string notApplicable;
  /// Said by the verifier, found by the emulator, or a wrong result; empty: no alarm.
  std::string alarm;
};

/// The number-th right schedule: an algorithm's, a shipped one, MODULO with a longer interval, or one of those after
/// edits that keep all dependences.
Good tryGood(uint32_t number, uint32_t seed);

} // namespace soliton::attack
