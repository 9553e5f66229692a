//===- Order.h - Whether the chip does what the schedule says ------------------------===//
//
// A schedule counts instructions: `wait vm, 4` is only right while every access before it is one instruction and in its
// place. What a schedule places are memory accesses, matrix instructions and barriers. Every way through the code must
// issue, in order, what some way through the program issues (Ways.h), with waits at their places that are at least as
// strong. Blocks may lie anywhere, be joined, copied or removed where LLVM has proven that they never run.
//
//   if (std::optional<std::string> wrong = scheduleMismatch(kernel, listing)) …
//   // "`global-store` (line 9) where the program has `global-load` (line 8)"
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/backend/amd/Disassemble.h"
#include "soliton/backend/amd/Ways.h"
#include "soliton/ir/Machine.h"

namespace soliton::backend {

/// What the program has, in its order; of a branch the first block comes first.
std::vector<Placed> placedOps(machine::KernelOp kernel);
/// What the code object has, in the order of its addresses.
std::vector<Placed> placedInstructions(const Disassembly &listing);

/// Whether the program's order is the code's: a schedule has decided it, or a wait counts what was issued before.
/// Groups are instructions to LLVM's scheduler: it has to run where an author wrote some.
bool keepsOrder(machine::KernelOp kernel);

/// What keeps the program's counted waits from being right: an instruction that the program does not issue there, one
/// that is missing, or a wait that is missing or weaker. Nothing if all agree.
std::optional<std::string> scheduleMismatch(machine::KernelOp kernel, const Disassembly &listing);

/// The waits for global memory that LLVM added by itself: those at lines where the program has none. Each is for a
/// register that is used while its load is on its way, often by a copy at the end of a loop.
std::vector<Instruction> addedWaits(machine::KernelOp kernel, const Disassembly &listing);

} // namespace soliton::backend
