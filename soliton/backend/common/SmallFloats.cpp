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
      .Case<mlir::Float6E3M2FNType>([](auto) { return DType::f6e3m2fn; })
      .Case<mlir::Float4E2M1FNType>([](auto) { return DType::f4e2m1fn; })
      .Default([](auto) { return std::nullopt; });
}

Value *decodeScale(llvm::IRBuilder<> &builder, Value *byte) {
  Value *code = builder.CreateZExt(byte, builder.getInt32Ty());
  Value *bits = builder.CreateShl(code, 23);
  bits = builder.CreateSelect(builder.CreateICmpEQ(code, builder.getInt32(0)), builder.getInt32(0x00400000), bits);
  bits = builder.CreateSelect(builder.CreateICmpEQ(code, builder.getInt32(255)), builder.getInt32(0x7fc00000), bits);
  return builder.CreateBitCast(bits, builder.getFloatTy());
}

SmallFloats::SmallFloats(llvm::IRBuilder<> &builder, DType type)
    : builder(builder), type(type), width(bits(type) - 1), mantissa(static_cast<int>(-std::log2(epsilon(type)))) {
  // 1 is a normal number of every format: its exponent field is the bias.
  bias = static_cast<int>(soliton::encode(type, 1) >> mantissa);
}

Value *SmallFloats::decode(Value *encoded) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder);
  builder.setFastMathFlags({});
  Value *all = builder.CreateZExt(encoded, builder.getInt32Ty());
  Value *magnitude = builder.CreateAnd(all, word((1u << width) - 1));
  Value *sign = builder.CreateShl(builder.CreateLShr(all, width), 31);
  // The fields in their places are the number with another bias, subnormals too: one product mends that, exactly.
  Value *fields = builder.CreateOr(builder.CreateShl(magnitude, 23 - mantissa), sign);
  Value *result =
      builder.CreateFMul(asFloat(fields), llvm::ConstantFP::get(builder.getFloatTy(), std::ldexp(1.0, 127 - bias)));
  auto choose = [&](Value *is, Value *special) { result = builder.CreateSelect(is, asFloat(special), result); };
  // What is no finite number, if the format has such: infinity one above the largest, NaN beyond that.
  uint64_t largest = soliton::encode(type, largestFinite(type));
  for (uint64_t special = largest + 1; special < (1ull << width); ++special) {
    bool isInfinite = std::isinf(soliton::decode(type, special));
    Value *code = word(static_cast<uint32_t>(special));
    choose(isInfinite ? builder.CreateICmpEQ(magnitude, code) : builder.CreateICmpUGE(magnitude, code),
           builder.CreateOr(sign, word(isInfinite ? 0x7f800000 : 0x7fc00000)));
    if (!isInfinite)
      break;
  }
  if (hasOneZero())
    choose(builder.CreateICmpEQ(all, word(1u << width)), word(0x7fc00000));
  return result;
}

Value *SmallFloats::encode(Value *x, bool saturate) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder);
  builder.setFastMathFlags({}); // a sum below counts on its rounding
  Overflow overflow = saturate ? Overflow::saturate : Overflow::toNaN;
  auto code = [&](double value) { return static_cast<uint32_t>(soliton::encode(type, value, overflow)); };
  Value *all = builder.CreateBitCast(x, builder.getInt32Ty());
  Value *a = builder.CreateAnd(all, word(0x7fffffff));
  // Normal numbers: half of the last bit that stays, less one for ties to even, and the other bias.
  int drop = 23 - mantissa;
  Value *odd = builder.CreateAnd(builder.CreateLShr(a, drop), word(1));
  uint32_t rebase = static_cast<uint32_t>(127 - bias) << 23;
  Value *rounded = builder.CreateAdd(builder.CreateAdd(a, word((1u << (drop - 1)) - 1 - rebase)), odd);
  Value *normal = builder.CreateLShr(rounded, drop);
  // Subnormal ones: how many of the smallest, which may become the first normal number. The sum with a number whose
  // last bit is the smallest one rounds to whole ones of it.
  llvm::APFloat ruler(static_cast<float>(std::ldexp(1.0, 24 - bias - mantissa)));
  Value *sum = builder.CreateFAdd(asFloat(a), llvm::ConstantFP::get(builder.getContext(), ruler));
  Value *subnormal = builder.CreateSub(builder.CreateBitCast(sum, builder.getInt32Ty()),
                                       word(static_cast<uint32_t>(ruler.bitcastToAPInt().getZExtValue())));
  Value *isSubnormal = builder.CreateICmpULT(a, word(static_cast<uint32_t>(128 - bias) << 23));
  Value *result = builder.CreateSelect(isSubnormal, subnormal, normal);
  Value *largest = word(code(largestFinite(type)));
  uint32_t beyond = code(1e30), nan = code(std::numeric_limits<double>::quiet_NaN());
  result = builder.CreateSelect(builder.CreateICmpUGT(result, largest), word(beyond), result);
  if (nan != beyond) // a NaN lies beyond the largest number too
    result = builder.CreateSelect(builder.CreateICmpUGT(a, word(0x7f800000)), word(nan), result);
  Value *sign = builder.CreateShl(builder.CreateLShr(all, 31), width);
  Value *withSign = builder.CreateOr(result, sign);
  if (hasOneZero())
    withSign = builder.CreateSelect(builder.CreateICmpEQ(result, word(0)), result, withSign);
  return builder.CreateTrunc(withSign, builder.getIntNTy(static_cast<unsigned>(width + 1)));
}

bool SmallFloats::hasOneZero() const {
  return std::isnan(soliton::decode(type, 1ull << width));
}

} // namespace soliton::backend
