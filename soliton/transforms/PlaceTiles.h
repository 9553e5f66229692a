//===- PlaceTiles.h - Offsets of all shared tiles ----------------------------------===//
//
// Every pass that changes what shared tiles take asks for all offsets again: the tiles of a kernel lie in one block,
// planned by layout/SharedPlan.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"
#include "soliton/layout/SharedPlan.h"

namespace soliton {

/// Sets the offset of every tile, all buffers of it together, and returns the bytes that they take. Tiles whose
/// `lifetimes` never meet may get the same place; without lifetimes all of them live always.
int64_t placeTiles(wave::KernelOp kernel,
                   llvm::function_ref<std::vector<LiveInterval>(wave::AllocateOp)> lifetimes = nullptr);

} // namespace soliton
