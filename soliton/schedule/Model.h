//===- Model.h - What a program would cost, by the model -------------------===//
//
// A schedule whose cycles are only an order has no interval in cycles. This runs its program through the in-order issue
// model of Paths.h: one op a cycle, an op waits for its registers and units, a wait for what it names; barriers cost
// nothing by themselves. The number is modelled, never measured, and must be printed as such.
//
//   load, store, shared load, mma one after the other: about the sum of the latencies per iteration
//   the same prefetched: the longer of memory and arithmetic
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

/// Modelled cycles per trip of the kernel in the steady state, of the slowest wave group; 0 without a kernel.
double modelledInterval(const Problem &problem, const Schedule &schedule, const Program &program);

} // namespace soliton::sched
