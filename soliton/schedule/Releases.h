//===- Releases.h - Barriers that only the copying lane waits at -----------===//
//
// A barrier in front of copies that one lane issues for the workgroup orders two things: every wave is done with the
// tile that is overwritten, and the lane knows it. Nobody else needs to wait. So the barrier is split: each wave
// *releases* where it is done, as early as that is, and goes on; the lane *awaits* the releases in front of its copies.
//
//   kernel   mma_qk n+1, wait mma 1, softmax, barrier, copy k n+4
//   becomes  mma_qk n+1, wait mma 1, release, softmax, await 0, copy k n+4
//
// Waves may then be as many trips apart as there are tiles on their way: while one computes, products of another run.
//
// `await n` leaves the last n releases of the lane's own wave open. An access x of any wave is before a copy y if x was
// complete at a release that an await in front of y covers (Paths.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

struct PathContext;

/// Splits derived barriers of the kernel where every hazard is still proven; returns how many. `tripCount`: the number
/// of loop iterations, if it is known.
int splitBarriers(const PathContext &context, Program &program, std::optional<int> tripCount);

} // namespace soliton::sched
