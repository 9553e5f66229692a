//===- EarlyWaits.h - Waiting for tiles before waiting for products --------===//
//
// A wait for tiles that stands at the head of a trip can as well stand in the trip before: in front of its last wait
// for products. Tiles have come by then, and the next products are issued without looking for them first. What looks
// for a tile in memory is a branch, too, which an assembler does not move instructions across: without one it has been
// seen (docs/decisions/0045-released-buffers.md) to put arithmetic behind the wait for products that was to hide it.
//
//   kernel   wait boxes 2, mma_qk n+1, mma_pv n, wait mma 1, softmax, wait mma 0, weights
//   becomes  mma_qk n+1, mma_pv n, wait mma 1, softmax, wait boxes 2, wait mma 0, weights
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

struct PathContext;

/// Moves waits for what one lane has copied from the head of the kernel to the trip before, and behind the prologue.
/// True if it did: there is a wait for products, lanes compute, and every hazard is still proven.
bool waitForTilesEarly(const PathContext &context, Program &program, std::optional<int> tripCount);

} // namespace soliton::sched
