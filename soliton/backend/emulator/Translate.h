//===- Translate.h - From the machine form to an emulator program ----------------===//
//
// One instruction for one op: the emulator executes what the back ends translate. Fragment tables and the rules of time
// come from the target's table and travel inside the program.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Program.h"
#include "soliton/ir/Machine.h"
#include "soliton/target/Target.h"

namespace soliton {

/// Reports ops that the emulator does not implement.
mlir::FailureOr<emu::Program> translateToEmulator(machine::KernelOp kernel, const Target &target);

} // namespace soliton
