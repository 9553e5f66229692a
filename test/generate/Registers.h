//===- Registers.h - How many registers a generated kernel would need --------------------------===//
//
// An estimate from the program alone: what its tiles take of one lane where most live together. A kernel that needs far
// more than a chip has is refused by its back end, and such a kernel is no test of anything else.
//
//   read [M = 64, N = 32] f32, one wave of 32 lanes        64
//   broadcast to [M, N, B = 4]                             64 + 256 while the broadcast is made
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Program.h"

namespace soliton::generate {

/// 32-bit registers of a lane, on the chip with the smallest waves.
int64_t registersOf(const Program &program);

} // namespace soliton::generate
