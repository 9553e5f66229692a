//===- Starts.h - Where a search of schedules begins -----------------------===//
//
// The schedules that the algorithms find for a loop, `modulo` with more and fewer registers too: from the best of them
// a search starts. For a launch that does not fill the chip that is another one than `modulo` itself would take.
//
//   std::vector<Start> starts = findStarts(problem, cost);      // the best first
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/LoopCost.h"

namespace soliton::sched {

struct Start {
  /// `prefetch`, or `modulo, 160 registers`.
  std::string name;
  Schedule schedule;
  Modelled modelled;
};

/// Those that the verifier accepts; of equally fast ones the simpler first.
std::vector<Start> findStarts(const Problem &problem, LoopCost &cost);

} // namespace soliton::sched
