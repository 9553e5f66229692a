//===- MatrixLoads.h - Operands that a collective load hands over transposed ---------------===//
//
// Global memory has rows of a tile along one dimension, a matrix instruction wants them along another. Either a lane's
// registers change places before the tile is stored in shared memory, or it is stored as it lies and a collective load
// of the target transposes what it fetches:
//
//   b[K, N], lanes want K           in registers            8-byte loads, 4x4 transposed by selects, 8-byte stores
//                                   ldmatrix.x4.trans       16-byte loads and stores
//
// The cheaper one is taken.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/LayoutCosts.h"

namespace soliton {

struct MatrixLoadChoice {
  const MatrixAccess *load = nullptr;
  /// Clocks of a wave for the tile's way from global memory to registers, by this load and by registers alone.
  ChoiceCost cost = 0, inRegisters = 0;
};

/// For a read of a parameter in the shared space whose layout is known; nothing where no load makes that layout, or
/// rows lie along the wanted dimension anyway.
std::optional<MatrixLoadChoice> findMatrixLoad(wave::ReadOp read, const Geometry &geometry);

} // namespace soliton
