//===- PlaceTiles.h - Offsets of all shared tiles ----------------------------------===//
//
// Every pass that changes what shared tiles take asks for all offsets again: the tiles of a kernel lie in one block,
// planned by layout/SharedPlan.h. Tiles that never live together share a place where that matters:
//
//   loop 1 stages a (48 KB), loop 2 stages b (48 KB)     a at 0, b at 0: a barrier between the loops keeps them apart
//
// A shared place costs such a barrier (wave-synchronize derives and proves it), so it is taken only where the tiles do
// not fit otherwise or a compute unit holds more workgroups for it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"
#include "soliton/layout/SharedPlan.h"

namespace soliton {

/// Sets the offset of every tile, all buffers of it together, and returns the bytes that they take.
int64_t placeTiles(wave::KernelOp kernel, const Geometry &geometry);

/// Bytes of the tiles that live while the loop runs and that nothing in `inside` touches.
int64_t bytesBeside(wave::IterateOp loop, const Geometry &geometry, llvm::function_ref<bool(Operation *)> inside);

/// Bytes of shared memory that the tiles of a kernel may take; the barriers of copied boxes lie behind them.
int64_t bytesForTiles(wave::KernelOp kernel, const Target &target);

/// Reports more shared memory than the target has.
LogicalResult checkSharedBytes(wave::KernelOp kernel, const Geometry &geometry, int64_t bytes);

} // namespace soliton
