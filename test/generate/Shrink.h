//===- Shrink.h - The smallest kernel that still fails -----------------------------------------===//
//
//   Program small = shrink(program, [](const Program &candidate) { return judge(candidate).kind == "wrong-result"; });
//
// Cuts are tried from large to small (ops with all that depends on them, loops, constraints, dimensions, sizes, types,
// formulas) until none of them leaves a well-formed program that still fails.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Program.h"

namespace soliton::generate {

using StillFails = std::function<bool(const Program &)>;

/// Asks `stillFails` at most `budget` times.
Program shrink(Program program, const StillFails &stillFails, int budget = 600);

} // namespace soliton::generate
