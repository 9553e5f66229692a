//===- Program.h - Prologue, kernel, epilogue as flat lists ----------------===//
//
// What a schedule becomes once it is peeled: three lists of entries. An entry is an instance of an operation, a
// barrier, a wait, a commit of a group, the arrival at and the wait for a phase, or the halves of a split barrier.
//
//   stages = 2:   prologue   load 0, store 0
//                 kernel     wait, barrier, shared load t, load t+1, mma t, wait, barrier, store t+1   for t in 0..T-2
//                 epilogue   wait, barrier, shared load T-1, mma T-1
//
// The iteration of an entry is `iteration` in the prologue, t + `iteration` in trip t of the kernel, and T +
// `iteration` (negative) in the epilogue, T being the trip count of the source loop.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Schedule.h"

namespace soliton::sched {

enum class EntryKind : uint8_t {
  Op,
  Barrier,
  Wait,      ///< until at most `value` ticks (or groups) of `counter` are outstanding
  Commit,    ///< closes the open group of `counter`
  Arrive,    ///< on the phase barrier `counter` of the instance of `region`
  PhaseWait, ///< for the phase of that instance
  Release,   ///< the wave is done with what it has completed so far, and goes on
  Await,     ///< until every wave has come to all but the last `value` releases; for what one lane copies behind it
};

enum class Phase : uint8_t { Prologue, Kernel, Epilogue };
std::string_view nameOf(Phase phase);

struct Entry {
  EntryKind kind = EntryKind::Op;
  /// The operation; also of a barrier, wait or commit that the author wrote. -1: derived.
  int op = -1;
  int iteration = 0;
  int cluster = 0;
  /// Position in the kernel's emission order that this entry stands at (barriers: in front of).
  int position = 0;
  GroupMask groups = kAllGroups;
  int counter = -1;
  int value = 0;
  /// Arrive and PhaseWait: the region whose instance (`iteration`) is meant.
  int region = -1;
  /// The iteration may lie past the end (eliminated epilogue): its effects must be guarded.
  bool overruns = false;
  /// Barrier: part of the stagger, outside of the loop.
  bool stagger = false;
  /// Barrier, Wait: put outside of the kernel by the author of the schedule; stays where it is.
  bool said = false;

  bool operator==(const Entry &) const = default;
};

struct Program {
  std::vector<Entry> prologue, kernel, epilogue;
  /// Trips of the kernel = trip count of the loop - `peeled`; 0 with an eliminated epilogue.
  int peeled = 0;
  /// Set where the program is for one trip count only and has no kernel: then everything is in the prologue.
  std::optional<int> exactTrips;

  std::vector<Entry> &list(Phase phase);
  const std::vector<Entry> &list(Phase phase) const;
  bool operator==(const Program &) const = default;
};

/// Where an entry stands.
struct Location {
  Phase phase = Phase::Prologue;
  int index = 0;

  auto operator<=>(const Location &) const = default;
};

/// An executed entry: where it stands in the program and which iteration it is.
struct Instance {
  const Entry *entry = nullptr;
  Location where;
  int iteration = 0;
};

/// The program as it runs with `trips` trips of the kernel.
std::vector<Instance> unroll(const Program &program, int trips);

/// One line per entry, for people and tests: "wait vm 4", "barrier", "load_a s0 @+1".
std::string toString(const Problem &problem, const Program &program);
std::string toString(const Problem &problem, const Entry &entry);

/// Parity of the phase of `instance` in a ring of `buffers`: flips each time round.
int phaseParity(int instance, int buffers);

} // namespace soliton::sched
