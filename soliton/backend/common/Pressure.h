//===- Pressure.h - How many registers a kernel keeps alive --------------------------===//
//
// An estimate before any register is allocated: the most 32-bit registers of a lane that hold vectors at one place.
// What needs twice what the chip has is refused at once: LLVM would look for minutes for a way to spill it, and the
// kernel would spend its time on that.
//
//   %a = machine.load … : vector<8xf32>         8
//   %b = machine.load … : vector<8xf32>        16
//   %c = arith.addf %a, %b                     24, since all three are alive at the addition
//   %d = vector.shuffle %c, %c [0, 0, 0, 0]    24: what only moves elements needs no registers of its own
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Machine.h"

namespace soliton::backend {

/// The most registers that are alive at one place, and the op there; none in a kernel without vectors.
struct Pressure {
  int64_t registers = 0;
  mlir::Operation *at = nullptr;
};
Pressure pressureOf(machine::KernelOp kernel);

int64_t registersAlive(machine::KernelOp kernel);

} // namespace soliton::backend
