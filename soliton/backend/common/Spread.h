//===- Spread.h - Values that repeat others are made where they are needed ------------------===//
//
// A broadcast tile is expanded before the instructions that use it. Each of its pieces repeats a few registers, and
// LLVM, which keeps the order where a schedule has decided it, would hold all of them at once:
//
//   %a = vector.shuffle %x, %x [0, 0, 0, 0]              %a = vector.shuffle %x, %x [0, 0, 0, 0]
//   %b = vector.shuffle %y, %y [0, 0, 0, 0]              machine.store %a, …
//   machine.store %a, …                            →     %b = vector.shuffle %y, %y [0, 0, 0, 0]
//   machine.store %b, …                                  machine.store %b, …
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Machine.h"

namespace soliton::backend {

/// Moves each op that only repeats elements in front of its first user. Nothing that touches memory moves.
void sinkSpreads(machine::KernelOp kernel);

} // namespace soliton::backend
