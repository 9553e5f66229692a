//===- PublishWrites.h - Which barriers show writes to matrix instructions --------------===//
//
// Matrix instructions that read shared memory by themselves, and copies that leave it in boxes, see an ordinary write
// only after the wave that wrote has said so, between its write (for a copy past the registers: the wait for it) and
// the barrier at which the waves meet:
//
//   wave.write %a, %s        wave.wait cp_async, 0
//   wave.barrier             wave.barrier                 become   wave.barrier {publishes}
//
// The first barrier behind a write is one that publishes, whatever way the program came to it. What copies of boxes
// take the place of is the same the other way round: lanes that have read a tile say so before the copy may come, at a
// barrier or where they release it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"

namespace soliton {

void publishWrites(wave::KernelOp kernel, const Target &target);

/// On a `wave.release` and a `wave.barrier`.
inline constexpr llvm::StringLiteral kPublishes = "publishes";

/// A barrier or release that has to publish and does not; null if there is none.
mlir::Operation *findUnpublished(wave::KernelOp kernel, const Target &target);

} // namespace soliton
