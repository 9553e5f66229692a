//===- Known.h - What LLVM may know the number of ------------------------------------===//
//
//   %v = insertelement <4 x float> %loaded, float 1.0, i32 0
//   %x = extractelement <4 x float> %v, i32 0                     known: 1.0
//   %y = extractelement <4 x float> %v, i32 1                     not
//   %z = select i1 %mask, float %y, float 0.0                     may be, if the mask is found to be off
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Value.h"

#include <map>

namespace llvm {
class InsertElementInst;
class Instruction;
class ShuffleVectorInst;
} // namespace llvm

namespace soliton::backend {

/// Whether LLVM may find the value to be a function of constants, arguments and lane numbers alone: as it is, or where
/// it finds a mask to be off. What comes around a loop or from a branch counts as not known.
enum class Known : uint8_t { never, whereMasked, always };

/// Asked about many values of one function while it is built: each part is looked at once.
class KnownNumbers {
public:
  Known of(llvm::Value *value);

private:
  /// Bits of a value.
  struct Part {
    llvm::Value *value;
    unsigned from, count;
    auto operator<=>(const Part &) const = default;
  };
  /// A part, those of `rest` it is computed from that are still to be looked at, and what the others say.
  struct Frame {
    Part part;
    llvm::SmallVector<Part, 4> rest = {};
    Known known = Known::always;
    bool isMasked = false;
  };
  static Frame begin(Part part);
  static void follow(llvm::Instruction *instruction, Frame &frame);
  static void follow(llvm::ShuffleVectorInst *shuffle, Frame &frame);
  static void follow(llvm::InsertElementInst *insert, unsigned element, Frame &frame);

  std::map<Part, Known> parts;
};

} // namespace soliton::backend
