//===- WaveDialect.cpp - Registration and small helpers -------------------===//

#include "soliton/ir/Wave.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "soliton/ir/WaveDialect.cpp.inc"
#include "soliton/ir/WaveEnums.cpp.inc"
#include "soliton/ir/WaveInterfaces.cpp.inc"

namespace soliton::wave {

sym::Expr sizeSymbol(llvm::StringRef dim) {
  ScaledDim scaled = scaledDim(Dim(dim.str()));
  return sym::Expr::symbol(scaled.base.name()) / scaled.divisor * scaled.places;
}

void WaveDialect::initialize() {
  registerWaveAttributes();
  registerWaveTypes();
  addOperations<
#define GET_OP_LIST
#include "soliton/ir/WaveOps.cpp.inc"
      >();
}

static sym::Expr numbered(std::string prefix, size_t k) {
  return sym::Expr::symbol(prefix + std::to_string(k));
}

sym::Expr operandSymbol(size_t k) {
  return numbered("$", k);
}
sym::Expr placeSymbol(size_t k) {
  return numbered("$index", k);
}
sym::Expr dynamicSymbol(size_t k) {
  return numbered("$dynamic_val", k);
}
sym::Expr applySymbol(size_t k) {
  return numbered("$APPLY_EXPR_ARG_", k);
}

/// Calls `visit` for every expression among the op's attributes.
static void forEachExpr(mlir::Attribute attribute, llvm::function_ref<void(sym::Expr)> visit) {
  if (auto expr = llvm::dyn_cast<ExprAttr>(attribute))
    visit(expr.getValue());
  else if (auto list = llvm::dyn_cast<mlir::ArrayAttr>(attribute))
    for (mlir::Attribute entry : list)
      forEachExpr(entry, visit);
}

/// Whether an op itself says what the symbol of that name (without `$`) is: an element's place, or a value of one.
static bool isPlaceholder(llvm::StringRef name) {
  size_t number = 0;
  return (name.consume_front("index") || name.consume_front("dynamic_val") || name.consume_front("APPLY_EXPR_ARG_")) &&
         !name.getAsInteger(10, number);
}

llvm::LogicalResult detail::verifyPlaceholders(mlir::Operation *op) {
  size_t count = llvm::cast<IndexedOpInterface>(op).getSymbols().size();
  llvm::LogicalResult result = mlir::success();
  auto check = [&](sym::Expr expr) {
    for (sym::Expr symbol : sym::symbolsOf(expr)) {
      llvm::StringRef name(symbol.symbolName());
      if (failed(result) || !name.consume_front("$") || isPlaceholder(name))
        continue;
      size_t number = 0;
      if (name.getAsInteger(10, number))
        result = op->emitOpError() << "depends on `$" << name << "`, expected its index operands and sizes";
      else if (number >= count)
        result = op->emitOpError() << "speaks of `$" << number << "`, but has " << count << " index operands";
    }
  };
  for (mlir::NamedAttribute attribute : op->getAttrs())
    forEachExpr(attribute.getValue(), check);
  return result;
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
      .Case<mlir::Float6E3M2FNType>([](auto) { return DType::f6e3m2fn; })
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
  case DType::f6e3m2fn:
    return mlir::Float6E3M2FNType::get(context);
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
