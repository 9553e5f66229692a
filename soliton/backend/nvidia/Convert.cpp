//===- Convert.cpp - f8 ------------------------------------------------------------------===//
//
// The hardware converts pairs and always saturates; where the program does not want that, what lies beyond the largest
// number is put back: NaN for e4m3, infinity for e5m2. Other formats are integer arithmetic (SmallFloats.h).
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/nvidia/NvidiaTranslator.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

namespace soliton::backend {

using llvm::LogicalResult;
using llvm::Value;
using mlir::success;
namespace I = llvm::Intrinsic;

Value *NvidiaTranslator::toFp8(llvm::ArrayRef<Value *> list, bool isE5m2, bool saturate) {
  I::ID id = isE5m2 ? I::nvvm_ff_to_e5m2x2_rn : I::nvvm_ff_to_e4m3x2_rn;
  Value *zero = llvm::ConstantFP::get(builder.getFloatTy(), 0);
  llvm::SmallVector<Value *> bytes;
  for (size_t i = 0; i < list.size(); i += 2) {
    Value *pair =
        call(id, {}, {i + 1 < list.size() ? list[i + 1] : zero, list[i]}); // the first argument is the upper half
    for (size_t j = i; j < std::min(i + 2, list.size()); ++j)
      bytes.push_back(builder.CreateTrunc(j == i ? pair : builder.CreateLShr(pair, 8), intType(8)));
  }
  if (!saturate)
    for (auto [value, byte] : llvm::zip_equal(list, bytes)) {
      Value *magnitude = builder.CreateUnaryIntrinsic(I::fabs, value);
      // Halfway to what would be the next number: ties go to even, which is 448 but not 57344.
      Value *isBeyond = isE5m2 ? builder.CreateFCmpOGE(magnitude, llvm::ConstantFP::get(value->getType(), 61440))
                               : builder.CreateFCmpOGT(magnitude, llvm::ConstantFP::get(value->getType(), 464));
      Value *sign = builder.CreateAnd(byte, builder.getInt8(0x80));
      byte = builder.CreateSelect(isBeyond, builder.CreateOr(sign, builder.getInt8(isE5m2 ? 0x7c : 0x7f)), byte);
    }
  return fromElements(bytes, vectorOf(intType(8), bytes.size()));
}

Value *NvidiaTranslator::fromFp8(Value *value, bool isE5m2) {
  I::ID id = isE5m2 ? I::nvvm_e5m2x2_to_f16x2_rn : I::nvvm_e4m3x2_to_f16x2_rn;
  llvm::SmallVector<Value *> bytes = elements(value), list;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    Value *low = builder.CreateZExt(bytes[i], intType(16));
    Value *pair = low;
    if (i + 1 < bytes.size())
      pair = builder.CreateOr(low, builder.CreateShl(builder.CreateZExt(bytes[i + 1], intType(16)), 8));
    Value *halves = call(id, {}, {pair});
    list.push_back(builder.CreateExtractElement(halves, uint64_t(0)));
    if (i + 1 < bytes.size())
      list.push_back(builder.CreateExtractElement(halves, uint64_t(1)));
  }
  return fromElements(list, vectorOf(builder.getHalfTy(), list.size()));
}

static bool isNativeFp8(DType small) {
  return small == DType::f8e4m3fn || small == DType::f8e5m2;
}

Value *NvidiaTranslator::widen(Value *value, DType small) {
  if (!isNativeFp8(small))
    return Translator::widen(value, small);
  Value *halves = fromFp8(value, small == DType::f8e5m2);
  return builder.CreateFPExt(halves, vectorOf(builder.getFloatTy(), countOf(value->getType())));
}

Value *NvidiaTranslator::narrow(Value *value, DType small) {
  if (!isNativeFp8(small))
    return Translator::narrow(value, small);
  return toFp8(elements(value), small == DType::f8e5m2, /*saturate=*/false);
}

LogicalResult NvidiaTranslator::translate(machine::ConvertOp op) {
  mlir::Type from = op.getValue().getType(), to = op.getResult().getType();
  mlir::Type fromElement = mlir::getElementTypeOrSelf(from), toElement = mlir::getElementTypeOrSelf(to);
  bool isToSmall = toElement.getIntOrFloatBitWidth() <= 8;
  mlir::Type small = isToSmall ? toElement : fromElement, wide = isToSmall ? fromElement : toElement;
  bool isE5m2 = llvm::isa<mlir::Float8E5M2Type>(small);
  if ((!isE5m2 && !llvm::isa<mlir::Float8E4M3FNType>(small)) || !(wide.isF32() || wide.isF16() || wide.isBF16()))
    return translateConvert(op);
  llvm::Type *type = convert(to, op.getLoc());
  if (isToSmall) {
    llvm::SmallVector<Value *> list = elements(get(op.getValue()));
    for (Value *&element : list)
      element = builder.CreateFPExt(element, builder.getFloatTy());
    set(op, toFp8(list, isE5m2, op.getSaturate()));
    return success();
  }
  Value *halves = fromFp8(get(op.getValue()), isE5m2); // exact
  if (wide.isBF16())
    halves = builder.CreateFPExt(halves, vectorOf(builder.getFloatTy(), countOf(type)));
  set(op, wide.isF16()   ? halves
          : wide.isF32() ? builder.CreateFPExt(halves, type)
                         : builder.CreateFPTrunc(halves, type));
  return success();
}

} // namespace soliton::backend
