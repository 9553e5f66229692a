//===- RegisterWaits.h - One wait for a run of stores ------------------------------===//
//
// A store waits for the register it stores, which the machine (or its assembler) does by itself. A run of stores whose
// values were loaded in a row would wait once per store; one wait for the youngest load says it once:
//
//   load a, load b, …, store a, store b        vm 1, store a, vm 0, store b      becomes      wait vm 0, store a, store
//   b
//
// It costs the first store the time between two neighbouring loads and saves an instruction for each further store.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

/// Adds such waits to each list of the program in which both the loads and the run of stores are.
void mergeRegisterWaits(const Problem &problem, Program &program);

} // namespace soliton::sched
