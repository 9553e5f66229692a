//===- MatrixLoad.h - Reads that are collective loads -------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace soliton::wave {

/// Names, on a `wave.read` of a shared tile, the row of the target's table by which lanes fetch its elements together:
/// each lane receives what its layout says, from rows that other lanes point to.
inline constexpr llvm::StringLiteral kMatrixLoad = "wave.matrix_load";

} // namespace soliton::wave
