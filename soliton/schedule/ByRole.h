//===- ByRole.h - A program as each role executes it -------------------------------===//
//
// Where waves beside those that compute have tiles copied, one program is executed in two parts (transforms/
// LowerService.cpp). The model of time and the pictures see them as groups of waves, each with the entries that it
// executes; those that another role executes are counted along:
//
//   copy a, commit          copying                       computing
//   wait boxes 1              copy a, commit                 wait boxes 1
//   mma                       wait boxes 1                   mma
//   release           ->      await 0                        release
//   await 0                   copy a, commit
//   copy a, commit
//
// Those that compute are as many groups as they have fours of waves, which take turns at the matrix units.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

/// One lane has such an op done for the whole workgroup.
bool isCopyOfBox(const Problem &problem, const Operation &op);

/// Waves by what they do.
struct Crew {
  /// Of these one has work.
  int copying = 0;
  int computing = 0;

  bool operator==(const Crew &) const = default;
};

struct ByRole {
  /// As it was, with a group for each four waves that compute, and the last one for those that copy.
  Problem problem;
  Program program;
  /// By group, for people: `waves 0 to 3 compute`.
  std::vector<std::string> names;
};

/// Nothing where every wave executes all of it.
std::optional<ByRole> divideByRole(const Problem &problem, const Program &program, const Crew &crew);

} // namespace soliton::sched
