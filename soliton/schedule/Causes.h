//===- Causes.h - One diagnostic for each cause ----------------------------===//
//
// A mistake of an author concerns every piece of an op: a stage too early is wrong for each of its 32 instructions. The
// same rule, broken by pieces of the same ops, is one diagnostic with a count:
//
//   gemm.cpp:40:20: error: `mma/mma/M0.N0.K0` runs before `read_a/shared_load/M0.K0`, which it depends on (RAW …)
//   gemm.cpp:38:16: note: `read_a/shared_load/M0.K0` produces the value here
//   gemm.cpp:40:20: note: and 31 more like it: `mma/mma/M0.N1.K0`, `mma/mma/M1.N0.K0`, …
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Problem.h"

#include <map>
#include <tuple>

namespace soliton::sched {

/// The rule and whom it concerns; what is equal is one cause.
using Cause = std::tuple<DiagId, int, int, int, int>;

class Causes {
public:
  explicit Causes(const Problem &problem) : problem(problem) {}

  /// A cause about `op`, and about another op, region or resource where there is one.
  Cause of(DiagId id, int op, int other = -1, int subject = -1, int kind = 0) const;
  /// Adds a finding about `op`.
  void add(const Cause &cause, int op, Diagnostic diagnostic);
  /// One diagnostic per cause, in the order in which they were found.
  std::vector<Diagnostic> take();

private:
  struct Found {
    Diagnostic first;
    int firstOp = -1;
    int count = 0;
    /// The next few.
    std::vector<int> also;
  };
  int originOf(int op) const;

  const Problem &problem;
  std::map<Cause, size_t> indexOf;
  std::vector<Found> list;
};

} // namespace soliton::sched
