//===- RegisterWaits.h - One wait for a run of stores ------------------------------===//
//
// A store waits for the register that it stores. A run of stores whose values were loaded in a row would wait once per
// store; one wait for the youngest of the loads says it once:
//
//   wait vm 1, store a, wait vm 0, store b      becomes      wait vm 0, store a, store b
//
// It costs the first store the time between two neighbouring loads and saves an instruction for each further store.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

/// Merges the derived waits of each run of shared stores that are for one in-order counter which stores do not tick.
void mergeRegisterWaits(const Problem &problem, Program &program);

} // namespace soliton::sched
