//===- WholeKernel.h - A kernel as synchronisation sees it -------------------------===//
//
// The ops of a kernel that touch memory or time, with its loops and conditionals, as a tree of plain
// values (soliton/schedule/Whole.h).
//
//   wave.write %0, %s     store of tile `s`, its rows, by the wave that its layout names; completes on `shared`
//   wave.barrier          barrier
//   wave.iterate …        loop with its number of trips
//
// Where tiles overlap, the program of one is the body of a loop over all that a workgroup walks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"
#include "soliton/schedule/WholeSync.h"

namespace soliton {

struct WholeKernel {
  sched::whole::Kernel kernel;
  /// The op of each node, by id.
  std::vector<Operation *> ops;
  /// The memory of each region.
  std::vector<mlir::Value> memories;
  /// Waves of a team, where there are some.
  std::optional<int64_t> teamWaves;
  /// An instrument has a schedule built without its proof: nothing is said of its tiles, and the whole is not proven.
  bool unproven = false;
};

/// On an access: what has to come before it does (`Access::ordered`).
inline constexpr llvm::StringLiteral kOrdered = "ordered";

/// From the form `Indexed` on; before tiles are placed they share no bytes, and all of a tile is one thing.
WholeKernel makeWholeKernel(wave::KernelOp kernel, const Geometry &geometry);

/// Puts what was derived on the tree of a kernel into the kernel.
void insertDerived(wave::KernelOp kernel, const WholeKernel &whole, const sched::whole::Derived &derived);

} // namespace soliton
