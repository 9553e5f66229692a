//===- Summary.h - The facts that table, page and trace all show -----------===//
//
// Everything that is worth saying about a scheduled loop, once, as numbers: how long a trip takes and how long it must
// take at least, how busy each unit is, what is stored where, what every barrier is for, which hazards are proven, and
// the kernel as rows of folded runs:
//
//   mma/0.0.0, mma/0.0.1, mma/0.1.0, mma/0.1.1   ->   mma x4
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/display/Protects.h"
#include "soliton/schedule/Bounds.h"
#include "soliton/schedule/Timeline.h"

#include <memory>

namespace soliton::sched {

/// Pieces of one op that stand together, or nearly so.
struct Run {
  std::string label;
  std::vector<int> ops;
};

/// A stretch of a program's list: runs of ops of one iteration, or one entry that synchronises.
struct Stretch {
  /// The first entry.
  const Entry *entry = nullptr;
  std::vector<Run> runs;
  /// The runs alternate; each holds all its pieces.
  bool mixed = false;
};

/// One line of the kernel: what each stage does there, or one entry that synchronises.
struct KernelRow {
  int firstCycle = 0;
  int lastCycle = 0;
  int cluster = 0;
  /// By stage.
  std::vector<std::vector<Run>> cells;
  /// Index into the kernel of a barrier, wait, commit or phase entry; -1 for ops.
  int sync = -1;
  /// The runs of a cell alternate.
  bool mixed = false;
};

struct ResourceUse {
  int resource = 0;
  /// Unit-cycles that are busy in one interval, and their share of all.
  int64_t busy = 0;
  double share = 0;
  /// Share of busy units in equal parts of the interval.
  std::vector<double> profile;
};

/// Storage of one kind: a region, or the regions of all pieces of one op.
struct RegionUse {
  std::string name;
  Space space = Space::Register;
  int64_t size = 0;
  int buffers = 1;
  int count = 1;
  bool rotating = true;

  int64_t total() const { return size * buffers * count; }
};

/// Hazards of one class between the pieces of two ops.
struct HazardRow {
  DepKind kind = DepKind::Raw;
  std::string from;
  std::string to;
  std::string region;
  HazardClass value = HazardClass::Proven;
  bool waived = false;
  std::string fix;
  int count = 0;
  /// One of them, for places.
  Dependence example;
};

/// Cycles of the last trip that waves spend waiting for the pieces of one op, or for each other.
struct WaitCause {
  Stall stall = Stall::None;
  /// What was waited for; empty: the other waves.
  std::string label;
  int64_t cycles = 0;
};

struct Summary {
  /// Cycles from one trip of the kernel to the next: planned (0 if the schedule is only an order) and modelled.
  int planned = 0;
  int64_t modelled = 0;
  Bounds bounds;
  std::vector<Dependence> dependences;
  /// What EXACT proved, if there is a certificate.
  std::optional<int> provenBound;
  int clusters = 1;
  std::vector<KernelRow> kernel;
  std::vector<ResourceUse> resources;
  std::vector<RegionUse> regions;
  std::vector<SyncPoint> syncs;
  std::vector<HazardRow> hazards;
  /// In group 0, the longest first.
  std::vector<WaitCause> waiting;
  /// Ops that no list of the program holds.
  std::vector<int> unscheduled;
  /// Whose events these are.
  std::shared_ptr<const AsDrawn> drawn;
  Timeline timeline;

  /// The interval to speak of: planned, else modelled.
  int64_t interval() const { return planned > 0 ? planned : modelled; }
  int hazardCount(HazardClass value) const;
  int kernelCount(EntryKind kind) const;
};

Summary summarize(const Picture &picture);

/// The list as stretches; those with many short runs are mixed.
std::vector<Stretch> foldEntries(const Problem &problem, const std::vector<Entry> &entries);

/// True if the wave stands still for it: neither for a busy unit nor for its turn.
bool isWaiting(const Event &event);

/// "mma is busy for 512 cycles", "mma/0 -> mma/1 -> mma/0 takes 32 cycles in 1 iteration".
std::string describeResourceBound(const Picture &picture, const Bounds &bounds);
std::string describeRecurrence(const Picture &picture, const Summary &summary);

} // namespace soliton::sched
