//===- LowerCompute.cpp - Arithmetic on a lane's registers ----------------------------===//

#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace soliton {
using namespace wave;
namespace arith = mlir::arith;
namespace math = mlir::math;

static Value splat(OpBuilder &builder, Location loc, Type vector, double value) {
  Type element = mlir::getElementTypeOrSelf(vector);
  mlir::TypedAttr scalar = isa<mlir::FloatType>(element)
                               ? mlir::TypedAttr(builder.getFloatAttr(element, value))
                               : mlir::TypedAttr(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  return arith::ConstantOp::create(builder, loc, mlir::DenseElementsAttr::get(cast<mlir::ShapedType>(vector), scalar));
}

LogicalResult MachineLowering::lowerUnary(UnaryOp op) {
  Location loc = op.getLoc();
  Value x = vector(op.getOperand());
  Type type = x.getType();
  bool real = isa<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
  auto make = [&](auto tag) -> Value { return decltype(tag)::create(builder, loc, type, x).getResult(); };
  Value result;
  switch (op.getKind()) {
  case UnaryKind::abs:
    result = real ? make(math::AbsFOp()) : make(math::AbsIOp());
    break;
  case UnaryKind::neg:
    result = real ? arith::NegFOp::create(builder, loc, x).getResult()
                  : arith::SubIOp::create(builder, loc, splat(builder, loc, type, 0), x).getResult();
    break;
  case UnaryKind::logical_not:
    result = arith::XOrIOp::create(builder, loc, x, splat(builder, loc, type, -1));
    break;
  case UnaryKind::exp:
    result = make(math::ExpOp());
    break;
  case UnaryKind::exp2:
    result = make(math::Exp2Op());
    break;
  case UnaryKind::log:
    result = make(math::LogOp());
    break;
  case UnaryKind::log2:
    result = make(math::Log2Op());
    break;
  case UnaryKind::log10:
    result = make(math::Log10Op());
    break;
  case UnaryKind::sqrt:
    result = make(math::SqrtOp());
    break;
  case UnaryKind::rsqrt:
    result = make(math::RsqrtOp());
    break;
  case UnaryKind::reciprocal:
    result = arith::DivFOp::create(builder, loc, splat(builder, loc, type, 1), x);
    break;
  case UnaryKind::sin:
    result = make(math::SinOp());
    break;
  case UnaryKind::cos:
    result = make(math::CosOp());
    break;
  case UnaryKind::sinh:
    result = make(math::SinhOp());
    break;
  case UnaryKind::tanh:
    result = make(math::TanhOp());
    break;
  case UnaryKind::erf:
    result = make(math::ErfOp());
    break;
  case UnaryKind::cbrt:
    result = make(math::CbrtOp());
    break;
  case UnaryKind::floor:
    result = make(math::FloorOp());
    break;
  case UnaryKind::ceil:
    result = make(math::CeilOp());
    break;
  case UnaryKind::round:
    result = make(math::RoundOp());
    break;
  case UnaryKind::roundeven:
    result = make(math::RoundEvenOp());
    break;
  }
  define(op.getResult(), result);
  return success();
}

/// The remainder that has the divisor's sign: what truncated division leaves, and the divisor where the signs differ.
static Value floorModulus(OpBuilder &builder, Location loc, Value a, Value b) {
  Type type = a.getType();
  Type element = mlir::getElementTypeOrSelf(type);
  if (element.isBF16() || element.isF16()) {
    // Exact in f32, which every back end can divide in.
    Type wide = cast<mlir::VectorType>(type).clone(builder.getF32Type());
    Value rest = floorModulus(builder, loc, arith::ExtFOp::create(builder, loc, wide, a),
                              arith::ExtFOp::create(builder, loc, wide, b));
    return arith::TruncFOp::create(builder, loc, type, rest);
  }
  Value zero = splat(builder, loc, type, 0);
  if (isa<mlir::FloatType>(element)) {
    auto less = [&](Value x) { return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, x, zero); };
    Value rest = arith::RemFOp::create(builder, loc, a, b);
    Value some = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ONE, rest, zero);
    Value differ = arith::XOrIOp::create(builder, loc, less(rest), less(b));
    Value moved = arith::AddFOp::create(builder, loc, rest, b);
    return arith::SelectOp::create(builder, loc, arith::AndIOp::create(builder, loc, some, differ), moved, rest);
  }
  Value rest = arith::RemSIOp::create(builder, loc, a, b);
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, rest, zero);
  Value differ = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       arith::XOrIOp::create(builder, loc, rest, b), zero);
  Value moved = arith::AddIOp::create(builder, loc, rest, b);
  return arith::SelectOp::create(builder, loc, arith::AndIOp::create(builder, loc, some, differ), moved, rest);
}

LogicalResult MachineLowering::lowerBinary(BinaryOp op) {
  Location loc = op.getLoc();
  Value a = vector(op.getLhs()), b = vector(op.getRhs());
  bool real = isa<mlir::FloatType>(mlir::getElementTypeOrSelf(a.getType()));
  auto either = [&](auto onFloats, auto onIntegers) -> Value {
    return real ? decltype(onFloats)::create(builder, loc, a, b).getResult()
                : decltype(onIntegers)::create(builder, loc, a, b).getResult();
  };
  Value result;
  switch (op.getKind()) {
  case BinaryKind::add:
    result = either(arith::AddFOp(), arith::AddIOp());
    break;
  case BinaryKind::sub:
    result = either(arith::SubFOp(), arith::SubIOp());
    break;
  case BinaryKind::mul:
    result = either(arith::MulFOp(), arith::MulIOp());
    break;
  case BinaryKind::div:
    result = either(arith::DivFOp(), arith::DivSIOp());
    break;
  case BinaryKind::max:
    result = either(arith::MaximumFOp(), arith::MaxSIOp());
    break;
  case BinaryKind::min:
    result = either(arith::MinimumFOp(), arith::MinSIOp());
    break;
  case BinaryKind::floordiv:
    result = real ? math::FloorOp::create(builder, loc, arith::DivFOp::create(builder, loc, a, b)).getResult()
                  : arith::FloorDivSIOp::create(builder, loc, a, b).getResult();
    break;
  case BinaryKind::mod:
    result = floorModulus(builder, loc, a, b);
    break;
  case BinaryKind::bit_and:
    result = arith::AndIOp::create(builder, loc, a, b);
    break;
  case BinaryKind::bit_or:
    result = arith::OrIOp::create(builder, loc, a, b);
    break;
  case BinaryKind::bit_xor:
    result = arith::XOrIOp::create(builder, loc, a, b);
    break;
  case BinaryKind::pow:
    result = math::PowFOp::create(builder, loc, a, b);
    break;
  case BinaryKind::atan2:
    result = math::Atan2Op::create(builder, loc, a, b);
    break;
  }
  define(op.getResult(), result);
  return success();
}

void MachineLowering::lowerCompare(CompareOp op) {
  Location loc = op.getLoc();
  Value a = vector(op.getLhs()), b = vector(op.getRhs());
  if (isa<mlir::FloatType>(mlir::getElementTypeOrSelf(a.getType()))) {
    static constexpr arith::CmpFPredicate kFloat[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
                                                      arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
                                                      arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    define(op.getResult(), arith::CmpFOp::create(builder, loc, kFloat[static_cast<int>(op.getPredicate())], a, b));
    return;
  }
  static constexpr arith::CmpIPredicate kInteger[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
                                                      arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
                                                      arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  define(op.getResult(), arith::CmpIOp::create(builder, loc, kInteger[static_cast<int>(op.getPredicate())], a, b));
}

static bool isSmallFloat(Type type) {
  return isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() < 16;
}

void MachineLowering::lowerBitcast(BitcastOp op) {
  mlir::VectorType to = vectorType(op.getResult().getType());
  define(op.getResult(), mlir::vector::BitCastOp::create(builder, op.getLoc(), to, vector(op.getOperand())));
}

/// The `bf16` whose bits are the upper half of each f32: what that is equal to, if the lower half is 0.
static Value upperHalf(OpBuilder &builder, Location loc, Value x, mlir::VectorType to) {
  Value bits = mlir::vector::BitCastOp::create(builder, loc, to.clone(builder.getI32Type()), x);
  Value upper = arith::ShRUIOp::create(builder, loc, bits, splat(builder, loc, bits.getType(), 16));
  Value half = arith::TruncIOp::create(builder, loc, to.clone(builder.getI16Type()), upper);
  return mlir::vector::BitCastOp::create(builder, loc, to, half);
}

LogicalResult MachineLowering::lowerCast(CastOp op) {
  Location loc = op.getLoc();
  Value x = vector(op.getOperand());
  mlir::VectorType to = vectorType(op.getResult().getType());
  Type from = mlir::getElementTypeOrSelf(x.getType()), element = to.getElementType();
  auto withElement = [&](Type type) { return to.clone(type); };
  if (from == element) {
    define(op.getResult(), x);
    return success();
  }
  // Small floats convert to and from f32 only; other types meet them there.
  bool wasSmall = isSmallFloat(from);
  if (isSmallFloat(from) || isSmallFloat(element)) {
    mlir::VectorType middle = withElement(builder.getF32Type());
    if (isSmallFloat(from)) {
      x = machine::ConvertOp::create(builder, loc, middle, x, false);
    } else if (isa<mlir::IntegerType>(from)) {
      x = from.isInteger(1) ? arith::UIToFPOp::create(builder, loc, middle, x).getResult()
                            : arith::SIToFPOp::create(builder, loc, middle, x).getResult();
    } else if (!from.isF32()) {
      x = from.getIntOrFloatBitWidth() > 32 ? arith::TruncFOp::create(builder, loc, middle, x).getResult()
                                            : arith::ExtFOp::create(builder, loc, middle, x).getResult();
    }
    from = builder.getF32Type();
    if (isSmallFloat(element)) {
      define(op.getResult(), machine::ConvertOp::create(builder, loc, to, x, false));
      return success();
    }
    if (wasSmall && element.isBF16()) {
      define(op.getResult(), upperHalf(builder, loc, x, to));
      return success();
    }
  }
  Value result = x;
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = element.getIntOrFloatBitWidth();
  bool fromReal = isa<mlir::FloatType>(from), toReal = isa<mlir::FloatType>(element);
  if (from == element) {
  } else if (fromReal && toReal && fromBits == toBits) {
    // f16 and bf16 hold different numbers: through f32.
    Value wide = arith::ExtFOp::create(builder, loc, withElement(builder.getF32Type()), x);
    result = arith::TruncFOp::create(builder, loc, to, wide);
  } else if (fromReal && toReal) {
    result = fromBits < toBits ? arith::ExtFOp::create(builder, loc, to, x).getResult()
                               : arith::TruncFOp::create(builder, loc, to, x).getResult();
  } else if (toReal) {
    result = fromBits == 1 ? arith::UIToFPOp::create(builder, loc, to, x).getResult()
                           : arith::SIToFPOp::create(builder, loc, to, x).getResult();
  } else if (toBits == 1) {
    result = fromReal ? arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, x,
                                              splat(builder, loc, x.getType(), 0))
                            .getResult()
                      : arith::TruncIOp::create(builder, loc, to, x).getResult();
  } else if (fromReal) {
    result = arith::FPToSIOp::create(builder, loc, to, x);
  } else if (fromBits > toBits) {
    result = arith::TruncIOp::create(builder, loc, to, x);
  } else {
    result = fromBits == 1 ? arith::ExtUIOp::create(builder, loc, to, x).getResult()
                           : arith::ExtSIOp::create(builder, loc, to, x).getResult();
  }
  define(op.getResult(), result);
  return success();
}

void MachineLowering::lowerFill(FillOp op) {
  mlir::VectorType type = vectorType(op.getResult().getType());
  Attribute value = op.getValue();
  if (auto integer = dyn_cast<mlir::IntegerAttr>(value))
    value = builder.getIntegerAttr(type.getElementType(),
                                   integer.getValue().sextOrTrunc(elementBits(type.getElementType())).getSExtValue());
  define(op.getResult(), arith::ConstantOp::create(builder, op.getLoc(), mlir::DenseElementsAttr::get(type, value)));
}

/// Integers of the tile's element type from i32 ones.
static Value fromI32(OpBuilder &builder, Location loc, Value vector, mlir::VectorType type) {
  unsigned bits = elementBits(type.getElementType());
  if (isa<mlir::FloatType>(type.getElementType()))
    return arith::SIToFPOp::create(builder, loc, type, vector);
  if (bits == 32)
    return vector;
  return bits > 32 ? arith::ExtSIOp::create(builder, loc, type, vector).getResult()
                   : arith::TruncIOp::create(builder, loc, type, vector).getResult();
}

/// Integers or floats of the tile's element type from i64 ones.
static Value fromI64(OpBuilder &builder, Location loc, Value vector, mlir::VectorType type) {
  return isa<mlir::FloatType>(type.getElementType()) ? arith::SIToFPOp::create(builder, loc, type, vector).getResult()
                                                     : vector;
}

void MachineLowering::lowerSelfIndex(SelfIndexOp op) {
  TileType tile = op.getResult().getType();
  mlir::VectorType type = vectorType(tile);
  SmallVector<Value> elements;
  for (int64_t reg = 0; reg < tile.layout().regs(); ++reg) {
    sym::Expr place = geometry.named(*op.getStart(), op.getSymbols()) +
                      coordinateExpr(tile.layout(), Dim(op.getDim().str()), reg, laneSymbol(), waveSymbol());
    elements.push_back(exprs.emitI32(sym::simplify(place, geometry.factsAt(op)), op.getLoc()));
  }
  Value places = mlir::vector::FromElementsOp::create(builder, op.getLoc(), type.clone(builder.getI32Type()), elements);
  define(op.getResult(), fromI32(builder, op.getLoc(), places, type));
}

/// A line for each element that is within its dimensions and in the workgroup's part of them.
void MachineLowering::lowerPrint(PrintOp op) {
  TileType tile = op.getOperand().getType();
  Location loc = op.getLoc();
  Value elements = vector(op.getOperand());
  SmallVector<sym::Expr> starts = geometry.named(*op.getStarts(), op.getSymbols());
  SmallVector<Attribute> dims(tile.getDims().begin(), tile.getDims().end());
  for (int64_t reg = 0; reg < tile.layout().regs(); ++reg) {
    sym::Expr inside = 1;
    SmallVector<Value> places;
    for (auto [name, start] : llvm::zip(tile.getDims(), starts)) {
      Dim dim(name.str());
      sym::Expr coordinate = coordinateExpr(tile.layout(), dim, reg, laneSymbol(), waveSymbol());
      sym::Expr place = sym::simplify(start + coordinate, geometry.factsAt(op));
      places.push_back(exprs.emitI32(place, loc));
      inside = sym::logicalAnd(inside, sym::logicalAnd(sym::ge(place, 0), sym::lt(place, geometry[dim].size)));
      if (geometry[dim].hasPlacesBeyond())
        inside = sym::logicalAnd(inside, sym::lt(coordinate, geometry[dim].part().value_or(1)));
    }
    Value one = slice(elements, reg, 1, loc);
    inside = sym::simplify(inside, geometry.factsAt(op));
    OpBuilder::InsertionGuard guard(builder);
    if (!inside.isConstant(1)) {
      auto branch = mlir::scf::IfOp::create(builder, loc, exprs.emitI1(inside, loc), /*withElseRegion=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    machine::PrintOp::create(builder, loc, op.getLabelAttr(), one, places, builder.getArrayAttr(dims));
  }
  define(op.getResult(), elements);
}

LogicalResult MachineLowering::lowerApplyExpr(ApplyExprOp op) {
  Location loc = op.getLoc();
  mlir::VectorType type = vectorType(op.getResult().getType());
  sym::Expr expr = geometry.named(op.getExpr(), op.getSymbols());
  // Of narrow integers only the low bits count; numbers that become floats are exact.
  bool wide = elementBits(type.getElementType()) > 32 || isa<mlir::FloatType>(type.getElementType());
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    sym::Substitution arguments;
    for (auto [k, operand] : llvm::enumerate(op.getInputs())) {
      sym::Expr name = applySymbol(k);
      if (!sym::contains(expr, name))
        continue;
      Value element = mlir::vector::ExtractOp::create(builder, loc, vector(operand), i);
      unsigned bits = cast<mlir::IntegerType>(element.getType()).getWidth();
      if (bits == 1)
        element = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), element);
      else if (bits < 32)
        element = arith::ExtSIOp::create(builder, loc, builder.getI32Type(), element);
      // Every element is a symbol of its own, so that no two share what was emitted for them.
      sym::Expr unique = sym::Expr::symbol("$element" + std::to_string(freshSymbols++));
      exprs.bindAny(unique, element);
      arguments.set(name, unique);
    }
    try {
      sym::Expr value = sym::simplify(sym::substitute(expr, arguments), geometry.factsAt(op));
      elements.push_back(wide ? exprs.emitI64(value, loc) : exprs.emitI32(value, loc));
    } catch (const sym::ExprError &error) {
      return report(loc, DiagId::ExpressionInvalid) << "the expression of `apply_expr` has no value: " << error.what();
    }
  }
  Value values =
      mlir::vector::FromElementsOp::create(builder, loc, type.clone(builder.getIntegerType(wide ? 64 : 32)), elements);
  define(op.getResult(), wide ? fromI64(builder, loc, values, type) : fromI32(builder, loc, values, type));
  return success();
}

void MachineLowering::lowerJoin(JoinOp op) {
  // Reductions and scans take their registers one by one; see registerOf.
  if (llvm::all_of(op->getUsers(), [](Operation *user) { return isa<ReduceOp, ScanOp>(user); }))
    return;
  mlir::VectorType type = vectorType(op.getResult().getType());
  Value result = arith::ConstantOp::create(builder, op.getLoc(), builder.getZeroAttr(type));
  int64_t at = 0;
  for (Value piece : op.getPieces()) {
    result = mlir::vector::InsertStridedSliceOp::create(builder, op.getLoc(), vector(piece), result, {at}, {1});
    at += cast<mlir::VectorType>(vector(piece).getType()).getNumElements();
  }
  define(op.getResult(), result);
}

/// The register that has a scale among its bytes, and which of them it is.
std::pair<Value, int64_t> MachineLowering::scaleByte(Value scale, Location loc) {
  constexpr int64_t kBytes = 4;
  auto slice = scale.getDefiningOp<SliceOp>();
  if (!slice)
    return {vector(scale), 0};
  Value held = vector(slice.getOperand());
  auto first = static_cast<int64_t>(slice.getFirst());
  int64_t count = cast<mlir::VectorType>(held.getType()).getNumElements();
  if (count > kBytes) {
    int64_t begin = first / kBytes * kBytes;
    held = this->slice(held, begin, std::min(kBytes, count - begin), loc);
  }
  return {held, first % kBytes};
}

void MachineLowering::lowerMma(MmaOp op) {
  const MmaKind &kind = mmaKindOf(op, geometry.target());
  Value acc = vector(op.getAcc());
  SmallVector<Value> scales;
  SmallVector<int64_t> bytes;
  for (Value scale : op.getScales()) {
    auto [held, byte] = scaleByte(scale, op.getLoc());
    scales.push_back(held);
    bytes.push_back(byte);
  }
  define(op.getResult(),
         machine::MmaOp::create(builder, op.getLoc(), acc.getType(), kind.native.instruction, vector(op.getLhs()),
                                vector(op.getRhs()), acc, scales, builder.getDenseI64ArrayAttr(bytes)));
}

Value MachineLowering::combine(ReduceKind kind, Value a, Value b, Location loc) {
  bool real = isa<mlir::FloatType>(mlir::getElementTypeOrSelf(a.getType()));
  auto either = [&](auto onFloats, auto onIntegers) -> Value {
    return real ? decltype(onFloats)::create(builder, loc, a, b).getResult()
                : decltype(onIntegers)::create(builder, loc, a, b).getResult();
  };
  switch (kind) {
  case ReduceKind::sum:
    return either(arith::AddFOp(), arith::AddIOp());
  case ReduceKind::max:
    return either(arith::MaximumFOp(), arith::MaxSIOp());
  case ReduceKind::min:
    return either(arith::MinimumFOp(), arith::MinSIOp());
  case ReduceKind::prod:
    return either(arith::MulFOp(), arith::MulIOp());
  case ReduceKind::any:
    return arith::OrIOp::create(builder, loc, a, b);
  case ReduceKind::all:
    return arith::AndIOp::create(builder, loc, a, b);
  }
  llvm_unreachable("no such reduction");
}

} // namespace soliton
