//===- Known.h - What LLVM may know the number of ------------------------------------===//
//
//   %v = insertelement <4 x float> %loaded, float 1.0, i32 0
//   %x = extractelement <4 x float> %v, i32 0                     known: 1.0
//   %y = extractelement <4 x float> %v, i32 1                     not
//   %z = select i1 %mask, float %y, float 0.0                     may be, if the mask is found to be off
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/IR/Value.h"

namespace soliton::backend {

/// Whether LLVM may find the value to be a function of constants, arguments and lane numbers alone: as it is, or where
/// it finds a mask to be off. What comes around a loop or from a branch counts as not known.
enum class Known : uint8_t { never, whereMasked, always };
Known knownBy(llvm::Value *value);

} // namespace soliton::backend
