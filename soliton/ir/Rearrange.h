//===- Rearrange.h - Which dimensions a rearrangement leaves alone ---------------------------===//
//
// What lies beyond the end of a dimension never counts, so elements that leave their place along one are 0 there first.
//
//   %1 = wave.rearrange %0 {indices = ["$index0", "$index1 + 1"]} : [M, N] -> [M, N]        M stays, N does not
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Wave.h"

namespace soliton::wave {

/// Whether the elements stay where they are along the operand's k-th dimension.
inline bool staysInPlace(RearrangeOp op, size_t k) {
  llvm::ArrayRef<mlir::StringAttr> from = op.getOperand().getType().getDims(), to = op.getResult().getType().getDims();
  if (op.getIndices()) {
    const auto *found = llvm::find(to, from[k]);
    return found != to.end() && exprsOf(*op.getIndices())[k] == placeSymbol(static_cast<size_t>(found - to.begin()));
  }
  return k < to.size() && from.take_front(k + 1) == to.take_front(k + 1);
}

} // namespace soliton::wave
