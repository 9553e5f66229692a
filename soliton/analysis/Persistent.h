//===- Persistent.h - Workgroups that walk several tiles ------------------------------------===//
//
// A launch has as many workgroups as there are tiles, or no more than `persistent` of them, each of which takes every
// so many-th tile in turn. No result depends on it, as none depends on `raster`, which says which tile has which
// number: the `wave` dialect has the program of one tile, and the machine form the loop around it
// (LowerPersistent.cpp).
//
//   wave.kernel @gemm attributes {persistent = 132 : i64, …}       704 tiles: workgroup 5 takes 5, 137, 269, 401, 533,
//   665
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/TileCluster.h"

namespace soliton {

/// On a `machine.pin`: what is made of the value is computed anew in each iteration of the loop that it stands in, not
/// once in front of it, where it would take registers throughout.
inline constexpr llvm::StringLiteral kAnew = "anew";

/// The most workgroups of a launch, as many as make whole clusters where they form some; nothing where each tile has
/// its own.
inline std::optional<int64_t> persistentWorkgroups(wave::KernelOp kernel) {
  auto most = kernel.getPersistent();
  if (!most)
    return std::nullopt;
  // Whole clusters, and one at the least.
  int64_t together = tileClusterOf(kernel).value_or(TileCluster()).size;
  return std::max<int64_t>(static_cast<int64_t>(*most) / together, 1) * together;
}

} // namespace soliton
