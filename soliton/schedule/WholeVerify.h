//===- WholeVerify.h - Is every hazard of a kernel ordered? ------------------------===//
//
// The judge of whole kernels; it shares nothing with the derivation but the tree. For every access x that may still
// matter it knows, for each wave group, the worst over all paths to the place that it looks at:
//
//   in flight   the fewest ticks (or groups) issued on its counter since: `wait c n` completes it if they are n or more
//   done        the fewest barriers that the group has passed since a wait completed it
//
// A later access y that conflicts is ordered behind x of another wave if x is done and a barrier lies between: y's wave
// has passed a barrier that x's wave came to after its wait. Groups that are `ahead` by k barriers need k more. Inside
// one wave x must be complete, unless both are in order on one counter.
//
//   store a, barrier, load b     error: `store a` may be in flight at the barrier; hint: `wait shared 0` in front of it
//
// What is known of x changes by adding, taking minima and comparing with constants, each x on its own, so that joining
// the states of several paths loses nothing: the state at the head of a loop that may run any number of times is the
// join over all trips, found when one more trip adds nothing. A known number of trips is followed without joining, up
// to the trip that changes nothing. So 0, 1, 2, … trips are all looked at although few bodies are walked.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Whole.h"

namespace soliton::sched::whole {

/// One dependence that nothing orders.
struct Unproven {
  /// Nodes, and the numbers of their accesses.
  int from = 0;
  int to = 0;
  int fromAccess = 0;
  int toAccess = 0;
  DepKind kind = DepKind::Raw;
  /// Between waves; otherwise inside one wave.
  bool crossWave = true;
  std::string fix;
};

struct Verdict {
  std::vector<Unproven> unproven;
  /// Errors: one for each pair of nodes in `unproven`, and what would hang or can't be said.
  std::vector<Diagnostic> diagnostics;

  bool ok() const { return diagnostics.empty(); }
};

Verdict verify(const Kernel &kernel);

} // namespace soliton::sched::whole
