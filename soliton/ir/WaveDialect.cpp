//===- WaveDialect.cpp - Registration and small helpers -------------------===//

#include "soliton/ir/Wave.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "soliton/ir/WaveDialect.cpp.inc"
#include "soliton/ir/WaveEnums.cpp.inc"

namespace soliton::wave {

void WaveDialect::initialize() {
  registerWaveAttributes();
  registerWaveTypes();
  addOperations<
#define GET_OP_LIST
#include "soliton/ir/WaveOps.cpp.inc"
      >();
}

ExprAttr exprAttr(mlir::MLIRContext *context, sym::Expr value) {
  return ExprAttr::get(context, value);
}

mlir::ArrayAttr exprArrayAttr(mlir::MLIRContext *context, llvm::ArrayRef<sym::Expr> values) {
  llvm::SmallVector<mlir::Attribute> attributes;
  for (sym::Expr value : values)
    attributes.push_back(exprAttr(context, value));
  return mlir::ArrayAttr::get(context, attributes);
}

llvm::SmallVector<sym::Expr> exprsOf(mlir::ArrayAttr array) {
  llvm::SmallVector<sym::Expr> values;
  for (ExprAttr attribute : array.getAsRange<ExprAttr>())
    values.push_back(attribute.getValue());
  return values;
}

std::optional<DType> dtypeOf(mlir::Type type) {
  return llvm::TypeSwitch<mlir::Type, std::optional<DType>>(type)
      .Case<mlir::Float16Type>([](auto) { return DType::f16; })
      .Case<mlir::BFloat16Type>([](auto) { return DType::bf16; })
      .Case<mlir::Float32Type>([](auto) { return DType::f32; })
      .Case<mlir::Float64Type>([](auto) { return DType::f64; })
      .Case<mlir::Float8E4M3FNType>([](auto) { return DType::f8e4m3fn; })
      .Case<mlir::Float8E4M3FNUZType>([](auto) { return DType::f8e4m3fnuz; })
      .Case<mlir::Float8E5M2Type>([](auto) { return DType::f8e5m2; })
      .Case<mlir::Float8E5M2FNUZType>([](auto) { return DType::f8e5m2fnuz; })
      .Case<mlir::Float8E8M0FNUType>([](auto) { return DType::f8e8m0fnu; })
      .Case<mlir::Float6E2M3FNType>([](auto) { return DType::f6e2m3fn; })
      .Case<mlir::Float4E2M1FNType>([](auto) { return DType::f4e2m1fn; })
      .Case<mlir::IndexType>([](auto) { return DType::index; })
      .Case<mlir::IntegerType>([](mlir::IntegerType integer) -> std::optional<DType> {
        return integer.isSignless() ? parseDType("i" + std::to_string(integer.getWidth())) : std::nullopt;
      })
      .Default(std::nullopt);
}

mlir::Type mlirType(mlir::MLIRContext *context, DType type) {
  switch (type) {
  case DType::f16:
    return mlir::Float16Type::get(context);
  case DType::bf16:
    return mlir::BFloat16Type::get(context);
  case DType::f32:
    return mlir::Float32Type::get(context);
  case DType::f64:
    return mlir::Float64Type::get(context);
  case DType::f8e4m3fn:
    return mlir::Float8E4M3FNType::get(context);
  case DType::f8e4m3fnuz:
    return mlir::Float8E4M3FNUZType::get(context);
  case DType::f8e5m2:
    return mlir::Float8E5M2Type::get(context);
  case DType::f8e5m2fnuz:
    return mlir::Float8E5M2FNUZType::get(context);
  case DType::f8e8m0fnu:
    return mlir::Float8E8M0FNUType::get(context);
  case DType::f6e2m3fn:
    return mlir::Float6E2M3FNType::get(context);
  case DType::f4e2m1fn:
    return mlir::Float4E2M1FNType::get(context);
  case DType::index:
    return mlir::IndexType::get(context);
  case DType::i1:
  case DType::i4:
  case DType::i8:
  case DType::i16:
  case DType::i32:
  case DType::i64:
    return mlir::IntegerType::get(context, bits(type));
  }
  return {};
}

} // namespace soliton::wave
