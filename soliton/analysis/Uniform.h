//===- Uniform.h - Values of which all lanes of a wave have the same ------------------===//
//
// Of a program in the machine form, as its structure shows: parameters and numbers of waves and workgroups are uniform,
// lanes' numbers are not, and what is computed of uniform values, handed on by loops or chosen by uniform branches is.
//
//   %c = cmpi eq, %wave, 8      uniform: a wave takes a branch on it or does not
//   %d = cmpi eq, %lane, 0      lanes part
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"

namespace soliton {

/// Remembers what it found, so that asking for every value costs as much as the program is long.
class UniformValues {
public:
  bool isUniform(mlir::Value value);
  /// Whether lanes of one wave may part at the op: a loop or branch that some of them enter, or leave earlier.
  bool parts(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Value, bool> known;
};

} // namespace soliton
