//===- Order.h - Whether the chip does what the schedule says ------------------------===//
//
// A schedule counts instructions: `wait vm, 4` is only right while every access before it is one instruction and in its
// place. What a schedule places are memory accesses, matrix instructions and barriers; this holds the ones of a code
// object against those of the machine form.
//
//   if (std::optional<std::string> wrong = scheduleMismatch(kernel, listing)) …   // "4 of global-load, the program has
//   5"
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/backend/amd/Disassemble.h"
#include "soliton/ir/Machine.h"

namespace soliton::backend {

/// Something that a schedule places: its class and the line of the op.
struct Placed {
  InstructionKind kind;
  uint32_t line = 0;

  bool operator==(const Placed &) const = default;
};

/// What the program has, in its order; of a branch the first block comes first.
std::vector<Placed> placedOps(machine::KernelOp kernel);
/// What the code object has, in the order of its addresses.
std::vector<Placed> placedInstructions(const Disassembly &listing);

/// What keeps the program's counted waits from being right: another number of instructions of some class, another order
/// (where no branch lets blocks lie in another order), or a wait for another number. Nothing if all agree.
std::optional<std::string> scheduleMismatch(machine::KernelOp kernel, const Disassembly &listing);

/// The waits for global memory that LLVM added by itself: those at lines where the program has none. Each is for a
/// register that is used while its load is on its way, often by a copy at the end of a loop.
std::vector<Instruction> addedWaits(machine::KernelOp kernel, const Disassembly &listing);

} // namespace soliton::backend
