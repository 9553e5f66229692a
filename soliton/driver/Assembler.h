//===- Assembler.h - Whether machine code can be made here --------------------------------===//
#pragma once

#include "soliton/target/Target.h"

namespace soliton {

/// True if a kernel for this target can be compiled to the machine's own code, whose registers are known: always for
/// AMD, and for NVIDIA where ptxas is found.
bool canAssemble(const Target &target);

} // namespace soliton
