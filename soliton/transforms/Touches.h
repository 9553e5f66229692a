//===- Touches.h - What an instruction does to memory and counters -----------------===//
//
// One answer for loops that are scheduled (LoopProblem.h) and for whole kernels (WholeKernel.h): which shared tile an
// instruction touches and which of its rows, and which counter it ticks.
//
//   %0 = wave.read %s   of layout reg = (4 K 1), lane = (16 M 1)(4 K 4), offset = (M 32)    rows 32 … 47, ticks shared
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Access.h"

#include "llvm/ADT/BitVector.h"

namespace soliton {

/// The shared tile that an instruction reads, writes or copies to; null if there is none.
wave::AllocateOp sharedTileOf(Operation *op);

/// The rows (places along the first dimension that has several, of a tile in panels those of each panel) of that tile
/// that any lane of any wave touches; nothing where the instruction's indices do not tell, or the tile has no address
/// map yet.
std::optional<llvm::BitVector> rowsOf(Operation *op, wave::AllocateOp tile);

/// The counter that an instruction ticks; nothing for one that touches no memory.
std::optional<CounterKind> tickedBy(Operation *op, const Target &target);

} // namespace soliton
