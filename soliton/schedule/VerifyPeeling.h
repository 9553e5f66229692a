//===- VerifyPeeling.h - Does the peeled program run what the loop runs? ---===//
//
// Two questions about one path of a program, before anybody asks about hazards: does every op run once for each
// iteration, and do all wave groups pass the same barriers? Answers name who suffers, and the smallest repair:
//
//   gemm.cpp:38:16: error: `read_a/copy_async/M0` does not run for iteration 2 of a loop of 5
//   gemm.cpp:38:16: note: `read_a/shared_load/M0` needs it (RAW on shared `tile of read_a`)
//     hint: let `read_a/copy_async/M0` in the kernel run 1 iteration earlier (it now runs twice for iteration 3)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Paths.h"

namespace soliton::sched {

/// An op that does not run exactly once for each iteration; nothing if all do.
std::optional<Diagnostic> findLostInstance(const PathContext &context, const Program &program, const Path &path);

/// A wave group that passes another number of barriers than group 0; nothing if none does.
std::optional<Diagnostic> findDivergence(const PathContext &context, const Program &program, const Path &path);

} // namespace soliton::sched
