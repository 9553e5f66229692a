//===- SmallFloats.cpp - Floats of 4, 6 and 8 bits without instructions -------------===//

#include "soliton/backend/common/SmallFloats.h"

#include "soliton/support/Float.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

namespace soliton::backend {

using llvm::Value;

std::optional<DType> smallFloatOf(mlir::Type type) {
  return llvm::TypeSwitch<mlir::Type, std::optional<DType>>(mlir::getElementTypeOrSelf(type))
      .Case<mlir::Float8E4M3FNType>([](auto) { return DType::f8e4m3fn; })
      .Case<mlir::Float8E4M3FNUZType>([](auto) { return DType::f8e4m3fnuz; })
      .Case<mlir::Float8E5M2Type>([](auto) { return DType::f8e5m2; })
      .Case<mlir::Float8E5M2FNUZType>([](auto) { return DType::f8e5m2fnuz; })
      .Case<mlir::Float6E2M3FNType>([](auto) { return DType::f6e2m3fn; })
      .Case<mlir::Float4E2M1FNType>([](auto) { return DType::f4e2m1fn; })
      .Default([](auto) { return std::nullopt; });
}

SmallFloats::SmallFloats(llvm::IRBuilder<> &builder, DType type)
    : builder(builder), type(type), width(bits(type) - 1), mantissa(static_cast<int>(-std::log2(epsilon(type)))) {
  // 1 is a normal number of every format: its exponent field is the bias.
  bias = static_cast<int>(soliton::encode(type, 1) >> mantissa);
}

Value *SmallFloats::decode(Value *encoded) {
  Value *all = builder.CreateZExt(encoded, builder.getInt32Ty());
  Value *magnitude = builder.CreateAnd(all, word((1u << width) - 1));
  Value *rebased = builder.CreateAdd(magnitude, word(static_cast<uint32_t>(127 - bias) << mantissa));
  Value *normal = builder.CreateShl(rebased, 23 - mantissa);
  // Subnormals are integers of the smallest one.
  Value *whole = builder.CreateUIToFP(magnitude, builder.getFloatTy());
  Value *subnormal =
      builder.CreateFMul(whole, llvm::ConstantFP::get(builder.getFloatTy(), std::ldexp(1.0, 1 - bias - mantissa)));
  Value *isNormal = builder.CreateICmpUGE(magnitude, word(1u << mantissa));
  Value *result = builder.CreateSelect(isNormal, normal, builder.CreateBitCast(subnormal, builder.getInt32Ty()));
  // What is no finite number, if the format has such: infinity one above the largest, NaN beyond that.
  uint64_t largest = soliton::encode(type, largestFinite(type));
  for (uint64_t special = largest + 1; special < (1ull << width); ++special) {
    bool isInfinite = std::isinf(soliton::decode(type, special));
    Value *is = isInfinite ? builder.CreateICmpEQ(magnitude, word(static_cast<uint32_t>(special)))
                           : builder.CreateICmpUGE(magnitude, word(static_cast<uint32_t>(special)));
    result = builder.CreateSelect(is, word(isInfinite ? 0x7f800000 : 0x7fc00000), result);
    if (!isInfinite)
      break;
  }
  Value *sign = builder.CreateShl(builder.CreateLShr(all, width), 31);
  result = builder.CreateOr(result, sign);
  if (std::isnan(soliton::decode(type, 1ull << width))) // no negative zero: NaN instead
    result = builder.CreateSelect(builder.CreateICmpEQ(all, word(1u << width)), word(0x7fc00000), result);
  return asFloat(result);
}

Value *SmallFloats::encode(Value *x, bool saturate) {
  Overflow overflow = saturate ? Overflow::saturate : Overflow::toNaN;
  auto code = [&](double value) { return word(static_cast<uint32_t>(soliton::encode(type, value, overflow))); };
  uint32_t largest = static_cast<uint32_t>(soliton::encode(type, largestFinite(type)));
  Value *all = builder.CreateBitCast(x, builder.getInt32Ty());
  Value *a = builder.CreateAnd(all, word(0x7fffffff));
  // Normal numbers: half of the last bit that stays, less one for ties to even.
  int drop = 23 - mantissa;
  Value *odd = builder.CreateAnd(builder.CreateLShr(a, drop), word(1));
  Value *rounded = builder.CreateAdd(builder.CreateAdd(a, word((1u << (drop - 1)) - 1)), odd);
  Value *normal =
      builder.CreateSub(builder.CreateLShr(rounded, drop), word(static_cast<uint32_t>(127 - bias) << mantissa));
  // Subnormal ones: how many of the smallest, which may become the first normal number.
  double smallest = std::ldexp(1.0, 1 - bias);
  Value *magnitude = asFloat(a);
  Value *steps =
      builder.CreateFMul(magnitude, llvm::ConstantFP::get(builder.getFloatTy(), std::ldexp(1.0, bias - 1 + mantissa)));
  Value *isSubnormal = builder.CreateFCmpOLT(magnitude, llvm::ConstantFP::get(builder.getFloatTy(), smallest));
  steps = builder.CreateSelect(isSubnormal, steps, llvm::ConstantFP::get(builder.getFloatTy(), 0));
  Value *subnormal =
      builder.CreateFPToUI(builder.CreateUnaryIntrinsic(llvm::Intrinsic::rint, steps), builder.getInt32Ty());
  Value *result = builder.CreateSelect(isSubnormal, subnormal, normal);
  result = builder.CreateSelect(builder.CreateICmpUGT(result, word(largest)), code(1e30), result);
  Value *isNan = builder.CreateICmpUGT(a, word(0x7f800000));
  result = builder.CreateSelect(isNan, code(std::numeric_limits<double>::quiet_NaN()), result);
  Value *sign = builder.CreateShl(builder.CreateLShr(all, 31), width);
  Value *withSign = builder.CreateOr(result, sign);
  if (std::isnan(soliton::decode(type, 1ull << width))) // no negative zero
    withSign = builder.CreateSelect(builder.CreateICmpEQ(result, word(0)), result, withSign);
  return builder.CreateTrunc(withSign, builder.getIntNTy(static_cast<unsigned>(width + 1)));
}

} // namespace soliton::backend
