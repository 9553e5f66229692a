//===- Convert.cpp - Small floats ---------------------------------------------------===//
//
// Through f32, two elements at a time; the hardware rounds to nearest even. gfx942 has the `fnuz` encodings of f8,
// gfx950 the OCP ones and f6 (32 at a time), f4. The others are integer arithmetic (SmallFloats.h).
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/amd/AmdTranslator.h"
#include "soliton/backend/common/SmallFloats.h"
#include "soliton/support/Float.h"

#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace soliton::backend {

using llvm::LogicalResult;
using llvm::Value;
using mlir::failure;
using mlir::success;
namespace I = llvm::Intrinsic;

/// Beyond the largest number is the largest number; NaN stays.
Value *AmdTranslator::clampFinite(Value *x, double largest) {
  Value *bound = llvm::ConstantFP::get(builder.getFloatTy(), largest);
  Value *clamped = call(I::amdgcn_fmed3, {builder.getFloatTy()}, {x, builder.CreateFNeg(bound), bound});
  return builder.CreateSelect(builder.CreateFCmpUNO(x, x), x, clamped);
}

Value *AmdTranslator::toFp8(llvm::ArrayRef<Value *> list, bool isE5m2) {
  I::ID id = isE5m2 ? I::amdgcn_cvt_pk_bf8_f32 : I::amdgcn_cvt_pk_fp8_f32;
  llvm::SmallVector<Value *> words;
  auto element = [&](size_t i) -> Value * {
    return i < list.size() ? list[i] : llvm::ConstantFP::get(builder.getFloatTy(), 0);
  };
  for (size_t i = 0; i < list.size(); i += 4) {
    Value *word = call(id, {}, {element(i), element(i + 1), i32(0), builder.getFalse()});
    if (i + 2 < list.size())
      word = call(id, {}, {element(i + 2), element(i + 3), word, builder.getTrue()});
    words.push_back(word);
  }
  return fromElements(words, vectorOf(builder.getInt32Ty(), words.size()));
}

Value *AmdTranslator::fromFp8(Value *value, bool isE5m2) {
  I::ID id = isE5m2 ? I::amdgcn_cvt_pk_f32_bf8 : I::amdgcn_cvt_pk_f32_fp8;
  unsigned count = countOf(value->getType());
  llvm::SmallVector<Value *> words = wordList(value), list;
  for (unsigned i = 0; i < count; i += 2) {
    Value *pair = call(id, {}, {words[i / 4], builder.getInt1(i % 4 == 2)});
    list.push_back(builder.CreateExtractElement(pair, uint64_t(0)));
    if (i + 1 < count)
      list.push_back(builder.CreateExtractElement(pair, uint64_t(1)));
  }
  return fromElements(list, vectorOf(builder.getFloatTy(), count));
}

Value *AmdTranslator::toFp4(llvm::ArrayRef<Value *> list) {
  Value *one = llvm::ConstantFP::get(builder.getFloatTy(), 1);
  llvm::SmallVector<Value *> words;
  for (size_t i = 0; i < list.size(); i += 2) {
    if (i % 8 == 0)
      words.push_back(i32(0));
    Value *second = i + 1 < list.size() ? list[i + 1] : llvm::ConstantFP::get(builder.getFloatTy(), 0);
    words.back() = call(I::amdgcn_cvt_scalef32_pk_fp4_f32, {}, {words.back(), list[i], second, one, i32(i % 8 / 2)});
  }
  return fromElements(words, vectorOf(builder.getInt32Ty(), words.size()));
}

Value *AmdTranslator::fromFp4(Value *value) {
  Value *one = llvm::ConstantFP::get(builder.getFloatTy(), 1);
  unsigned count = countOf(value->getType());
  llvm::SmallVector<Value *> words = wordList(value), list;
  for (unsigned i = 0; i < count; i += 2) {
    Value *pair = call(I::amdgcn_cvt_scalef32_pk_f32_fp4, {}, {words[i / 8], one, i32(i % 8 / 2)});
    list.push_back(builder.CreateExtractElement(pair, uint64_t(0)));
    if (i + 1 < count)
      list.push_back(builder.CreateExtractElement(pair, uint64_t(1)));
  }
  return fromElements(list, vectorOf(builder.getFloatTy(), count));
}

LogicalResult AmdTranslator::fp6(machine::ConvertOp op, bool toSmall, bool isE3m2) {
  Value *value = get(op.getValue());
  Value *one = llvm::ConstantFP::get(builder.getFloatTy(), 1);
  auto floats = [&](unsigned n) { return llvm::FixedVectorType::get(builder.getFloatTy(), n); };
  if (!toSmall) {
    Value *wide = call(isE3m2 ? I::amdgcn_cvt_scalef32_pk32_f32_bf6 : I::amdgcn_cvt_scalef32_pk32_f32_fp6, {},
                       {toWords(value), one});
    llvm::Type *type = convert(op.getResult().getType(), op.getLoc());
    set(op, type->getScalarType()->isFloatTy() ? wide : builder.CreateFPTrunc(wide, type));
    return success();
  }
  Value *wide = value->getType() == floats(32) ? value : builder.CreateFPExt(value, floats(32));
  auto half = [&](int begin) {
    return builder.CreateShuffleVector(wide, llvm::to_vector(llvm::seq<int>(begin, begin + 16)));
  };
  Value *words = call(isE3m2 ? I::amdgcn_cvt_scalef32_2xpk16_bf6_f32 : I::amdgcn_cvt_scalef32_2xpk16_fp6_f32, {},
                      {half(0), half(16), one});
  set(op, fromWords(words, convert(op.getResult().getType(), op.getLoc())));
  return success();
}

bool AmdTranslator::isNativeFp8(DType small) const {
  return small == target.fp8e4m3 || small == target.fp8e5m2;
}

Value *AmdTranslator::widen(Value *value, DType small) {
  if (isNativeFp8(small))
    return fromFp8(value, small == target.fp8e5m2);
  if (small == DType::f4e2m1fn && hasPermlaneSwap())
    return fromFp4(value);
  return Translator::widen(value, small);
}

Value *AmdTranslator::narrow(Value *value, DType small) {
  if (!isNativeFp8(small))
    return Translator::narrow(value, small);
  Value *words = toFp8(elements(value), small == target.fp8e5m2);
  return fromWords(words, vectorOf(intType(8), countOf(value->getType())));
}

LogicalResult AmdTranslator::translate(machine::ConvertOp op) {
  mlir::Type from = op.getValue().getType(), to = op.getResult().getType();
  bool isToSmall = mlir::getElementTypeOrSelf(to).getIntOrFloatBitWidth() <= 8;
  std::optional<DType> small = smallFloatOf(isToSmall ? to : from);
  mlir::Type wideElement = mlir::getElementTypeOrSelf(isToSmall ? from : to);
  bool isNative = small && isNativeFp8(*small);
  bool hasFp4Or6 = small && hasPermlaneSwap();
  bool isFp4 = hasFp4Or6 && *small == DType::f4e2m1fn;
  bool isFp6 = hasFp4Or6 && soliton::bits(*small) == 6 && countOf(get(op.getValue())->getType()) == 32;
  if ((!isNative && !isFp4 && !isFp6) || !(wideElement.isF32() || wideElement.isF16() || wideElement.isBF16()))
    return translateConvert(op);
  if (isFp6)
    return fp6(op, isToSmall, *small == DType::f6e3m2fn);
  bool isE5m2 = *small == target.fp8e5m2;
  Value *value = get(op.getValue());
  if (isToSmall) {
    llvm::SmallVector<Value *> list = elements(value);
    for (Value *&element : list)
      element = builder.CreateFPExt(element, builder.getFloatTy());
    if (*small == DType::f4e2m1fn) {
      set(op, fromWords(toFp4(list), convert(to, op.getLoc())));
      return success();
    }
    if (op.getSaturate())
      for (Value *&element : list)
        element = clampFinite(element, largestFinite(*small));
    set(op, fromWords(toFp8(list, isE5m2), convert(to, op.getLoc())));
    return success();
  }
  Value *wide = *small == DType::f4e2m1fn ? fromFp4(value) : fromFp8(value, isE5m2);
  set(op, wideElement.isF32() ? wide : builder.CreateFPTrunc(wide, convert(to, op.getLoc())));
  return success();
}

} // namespace soliton::backend
