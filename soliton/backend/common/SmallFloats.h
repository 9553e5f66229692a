//===- SmallFloats.h - Floats of 4, 6 and 8 bits without instructions ---------------===//
//
// Any of the formats from and to f32 by integer arithmetic, for targets that have no instruction for it: what Float.h's
// `decode` and `encode` say, bit for bit.
//
//   Value *x = SmallFloats(builder, DType::f8e4m3fn).decode(byte);      // i8 → f32
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/DType.h"

#include "mlir/IR/Types.h"
#include "llvm/IR/IRBuilder.h"

namespace soliton::backend {

/// The format of a type's elements, if it has fewer bits than f16.
std::optional<DType> smallFloatOf(mlir::Type type);

/// An `f8e8m0fnu`, 2^(byte - 127) or NaN, as f32: the byte is the exponent, and the least is a subnormal number.
llvm::Value *decodeScale(llvm::IRBuilder<> &builder, llvm::Value *byte);

class SmallFloats {
public:
  SmallFloats(llvm::IRBuilder<> &builder, DType type);

  /// One element as f32, exactly.
  llvm::Value *decode(llvm::Value *encoded);
  /// An f32 to nearest even; beyond the largest number it is that number, or the format's infinity or NaN.
  llvm::Value *encode(llvm::Value *x, bool saturate);

private:
  /// Minus zero is NaN.
  bool hasOneZero() const;
  llvm::Value *word(uint32_t value) { return builder.getInt32(value); }
  llvm::Value *asFloat(llvm::Value *bits) { return builder.CreateBitCast(bits, builder.getFloatTy()); }

  llvm::IRBuilder<> &builder;
  DType type;
  /// Of the number without its sign bit.
  int width, mantissa, bias;
};

} // namespace soliton::backend
