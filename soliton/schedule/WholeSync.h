//===- WholeSync.h - The barriers and waits of a whole kernel ----------------------===//
//
// What the author and the schedules said stays where it is and counts as far as it goes; what is missing is added.
//
// Barriers first. A hazard x -> y is hit by a barrier anywhere on the way. All ways from x to y pass the sequence that
// holds both, so one of its gaps will do: the shallowest place that is legal. Sequences are solved from the inside out,
// each with the fewest barriers that hit every hazard which nothing inside hits already: from left to right in straight
// code (a barrier goes in front of the first access that needs one), and exactly on the cycle of a loop's body.
//
//   store a                          store a
//   loop                             barrier          once, although both accesses of the loop need it
//     load a                         loop
//     load a             becomes       load a, load a
//     store b                          barrier        for what the trip before has read
//     load b                           store b
//                                      barrier
//                                      load b
//
// What concerns one team alone needs a barrier of teams, where none of all waves is on the way.
//
// Then waits. A barrier orders only what is complete, so in front of the last barrier on each way from x to y stands a
// wait that leaves no more outstanding than was issued after x, the fewest over all ways. Counters with groups get
// commits where an open group is waited for. Waits that others make superfluous are left out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Whole.h"

namespace soliton::sched::whole {

struct DeriveOptions {
  /// Waits may leave something outstanding on counters that count instructions one by one. Only where nothing later
  /// merges, drops or moves instructions; otherwise such waits are for 0.
  bool counted = true;
};

/// What was added: in front of the node `before` or, if `atEnd`, at the end of that body of it (-1: of the kernel).
struct Insertion {
  NodeKind kind = NodeKind::Barrier;
  int counter = -1;
  int value = 0;
  int before = -1;
  bool atEnd = false;
  int body = 0;
  /// A barrier of teams.
  bool team = false;
};

struct Derived {
  Kernel kernel;
  /// In the order of the text; several in front of one node in the order in which they stand there.
  std::vector<Insertion> insertions;
  /// One remark for each wait or commit that something which was said lacks.
  std::vector<Diagnostic> remarks;
};

/// Adds barriers, commits and waits to a kernel whose nodes are numbered.
Derived derive(Kernel kernel, const DeriveOptions &options = {});

/// The parts, for tests: barriers alone, and waits and commits for barriers that stand.
void deriveBarriers(Kernel &kernel);
void deriveWaits(Kernel &kernel, const DeriveOptions &options, std::vector<Diagnostic> &remarks);

} // namespace soliton::sched::whole
