//===- TranslateArith.cpp - arith, math and vector ops ---------------------------------===//

#include "soliton/backend/emulator/Translator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace soliton {
namespace arith = mlir::arith;
namespace math = mlir::math;
namespace vec = mlir::vector;
using emu::BinaryOp;
using emu::ConvertOp;
using emu::UnaryOp;

static uint64_t bitsOf(Attribute attribute) {
  if (auto real = dyn_cast<mlir::FloatAttr>(attribute))
    return real.getValue().bitcastToAPInt().getZExtValue();
  return cast<mlir::IntegerAttr>(attribute).getValue().getZExtValue();
}

emu::Value EmulatorTranslator::constant(Operation *op) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  auto [type, count] = slotType(op->getResult(0).getType());
  std::vector<uint64_t> bits;
  if (auto dense = dyn_cast<mlir::DenseElementsAttr>(value))
    for (Attribute element : dense.getValues<Attribute>())
      bits.push_back(bitsOf(element));
  else
    bits.assign(count, bitsOf(value));
  return build.constantBits(type, bits);
}

std::optional<emu::Value> EmulatorTranslator::binary(Operation *op) {
  std::optional<BinaryOp> kind = llvm::TypeSwitch<Operation *, std::optional<BinaryOp>>(op)
                                     .Case<arith::AddIOp>([](auto) { return BinaryOp::AddI; })
                                     .Case<arith::SubIOp>([](auto) { return BinaryOp::SubI; })
                                     .Case<arith::MulIOp>([](auto) { return BinaryOp::MulI; })
                                     .Case<arith::DivSIOp>([](auto) { return BinaryOp::DivS; })
                                     .Case<arith::DivUIOp>([](auto) { return BinaryOp::DivU; })
                                     .Case<arith::RemSIOp>([](auto) { return BinaryOp::RemS; })
                                     .Case<arith::RemUIOp>([](auto) { return BinaryOp::RemU; })
                                     .Case<arith::FloorDivSIOp>([](auto) { return BinaryOp::FloorDivS; })
                                     .Case<arith::CeilDivSIOp>([](auto) { return BinaryOp::CeilDivS; })
                                     .Case<arith::CeilDivUIOp>([](auto) { return BinaryOp::CeilDivU; })
                                     .Case<arith::AndIOp>([](auto) { return BinaryOp::And; })
                                     .Case<arith::OrIOp>([](auto) { return BinaryOp::Or; })
                                     .Case<arith::XOrIOp>([](auto) { return BinaryOp::Xor; })
                                     .Case<arith::ShLIOp>([](auto) { return BinaryOp::Shl; })
                                     .Case<arith::ShRSIOp>([](auto) { return BinaryOp::ShrS; })
                                     .Case<arith::ShRUIOp>([](auto) { return BinaryOp::ShrU; })
                                     .Case<arith::MinSIOp>([](auto) { return BinaryOp::MinS; })
                                     .Case<arith::MaxSIOp>([](auto) { return BinaryOp::MaxS; })
                                     .Case<arith::MinUIOp>([](auto) { return BinaryOp::MinU; })
                                     .Case<arith::MaxUIOp>([](auto) { return BinaryOp::MaxU; })
                                     .Case<arith::AddFOp>([](auto) { return BinaryOp::AddF; })
                                     .Case<arith::SubFOp>([](auto) { return BinaryOp::SubF; })
                                     .Case<arith::MulFOp>([](auto) { return BinaryOp::MulF; })
                                     .Case<arith::DivFOp>([](auto) { return BinaryOp::DivF; })
                                     .Case<arith::RemFOp>([](auto) { return BinaryOp::RemF; })
                                     .Case<arith::MinimumFOp>([](auto) { return BinaryOp::MinimumF; })
                                     .Case<arith::MaximumFOp>([](auto) { return BinaryOp::MaximumF; })
                                     .Case<arith::MinNumFOp>([](auto) { return BinaryOp::MinNumF; })
                                     .Case<arith::MaxNumFOp>([](auto) { return BinaryOp::MaxNumF; })
                                     .Case<math::PowFOp>([](auto) { return BinaryOp::PowF; })
                                     .Case<math::Atan2Op>([](auto) { return BinaryOp::Atan2; })
                                     .Case<math::CopySignOp>([](auto) { return BinaryOp::CopySign; })
                                     .Default(std::nullopt);
  if (!kind)
    return std::nullopt;
  return build.binary(*kind, value(op->getOperand(0)), value(op->getOperand(1)));
}

std::optional<emu::Value> EmulatorTranslator::unary(Operation *op) {
  std::optional<UnaryOp> kind = llvm::TypeSwitch<Operation *, std::optional<UnaryOp>>(op)
                                    .Case<arith::NegFOp>([](auto) { return UnaryOp::NegF; })
                                    .Case<math::AbsFOp>([](auto) { return UnaryOp::AbsF; })
                                    .Case<math::AbsIOp>([](auto) { return UnaryOp::AbsI; })
                                    .Case<math::FloorOp>([](auto) { return UnaryOp::Floor; })
                                    .Case<math::CeilOp>([](auto) { return UnaryOp::Ceil; })
                                    .Case<math::TruncOp>([](auto) { return UnaryOp::TruncF; })
                                    .Case<math::RoundOp>([](auto) { return UnaryOp::Round; })
                                    .Case<math::RoundEvenOp>([](auto) { return UnaryOp::RoundEven; })
                                    .Case<math::SqrtOp>([](auto) { return UnaryOp::Sqrt; })
                                    .Case<math::RsqrtOp>([](auto) { return UnaryOp::Rsqrt; })
                                    .Case<math::ExpOp>([](auto) { return UnaryOp::Exp; })
                                    .Case<math::Exp2Op>([](auto) { return UnaryOp::Exp2; })
                                    .Case<math::ExpM1Op>([](auto) { return UnaryOp::ExpM1; })
                                    .Case<math::LogOp>([](auto) { return UnaryOp::Log; })
                                    .Case<math::Log2Op>([](auto) { return UnaryOp::Log2; })
                                    .Case<math::Log10Op>([](auto) { return UnaryOp::Log10; })
                                    .Case<math::Log1pOp>([](auto) { return UnaryOp::Log1P; })
                                    .Case<math::SinOp>([](auto) { return UnaryOp::Sin; })
                                    .Case<math::CosOp>([](auto) { return UnaryOp::Cos; })
                                    .Case<math::TanOp>([](auto) { return UnaryOp::Tan; })
                                    .Case<math::SinhOp>([](auto) { return UnaryOp::Sinh; })
                                    .Case<math::CoshOp>([](auto) { return UnaryOp::Cosh; })
                                    .Case<math::TanhOp>([](auto) { return UnaryOp::Tanh; })
                                    .Case<math::ErfOp>([](auto) { return UnaryOp::Erf; })
                                    .Case<math::CbrtOp>([](auto) { return UnaryOp::Cbrt; })
                                    .Case<math::CountLeadingZerosOp>([](auto) { return UnaryOp::CountLeadingZeros; })
                                    .Case<math::CountTrailingZerosOp>([](auto) { return UnaryOp::CountTrailingZeros; })
                                    .Case<math::CtPopOp>([](auto) { return UnaryOp::PopCount; })
                                    .Default(std::nullopt);
  if (!kind)
    return std::nullopt;
  return build.unary(*kind, value(op->getOperand(0)));
}

std::optional<emu::Value> EmulatorTranslator::conversion(Operation *op) {
  std::optional<ConvertOp> kind = llvm::TypeSwitch<Operation *, std::optional<ConvertOp>>(op)
                                      .Case<arith::ExtSIOp>([](auto) { return ConvertOp::ExtS; })
                                      .Case<arith::ExtUIOp>([](auto) { return ConvertOp::ExtU; })
                                      .Case<arith::TruncIOp>([](auto) { return ConvertOp::TruncI; })
                                      .Case<arith::SIToFPOp>([](auto) { return ConvertOp::SToF; })
                                      .Case<arith::UIToFPOp>([](auto) { return ConvertOp::UToF; })
                                      .Case<arith::FPToSIOp>([](auto) { return ConvertOp::FToS; })
                                      .Case<arith::FPToUIOp>([](auto) { return ConvertOp::FToU; })
                                      .Case<arith::ExtFOp, arith::TruncFOp>([](auto) { return ConvertOp::FToF; })
                                      .Default(std::nullopt);
  if (!kind)
    return std::nullopt;
  return build.convert(*kind, slotType(op->getResult(0).getType()).first, value(op->getOperand(0)));
}

static std::vector<int64_t> integers(ArrayAttr attribute) {
  std::vector<int64_t> result;
  for (Attribute element : attribute)
    result.push_back(cast<mlir::IntegerAttr>(element).getInt());
  return result;
}

std::optional<emu::Value> EmulatorTranslator::vectorOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<emu::Value>>(op)
      .Case<vec::BroadcastOp>([&](vec::BroadcastOp broadcast) {
        return build.splat(value(broadcast.getSource()), slotType(broadcast.getType()).second);
      })
      .Case<vec::ExtractOp>([&](vec::ExtractOp extract) -> std::optional<emu::Value> {
        if (extract.getStaticPosition().size() != 1 || extract.hasDynamicPosition())
          return std::nullopt;
        return build.extract(value(extract.getSource()), extract.getStaticPosition()[0]);
      })
      .Case<vec::InsertOp>([&](vec::InsertOp insert) -> std::optional<emu::Value> {
        if (insert.getStaticPosition().size() != 1 || insert.hasDynamicPosition())
          return std::nullopt;
        return build.insert(value(insert.getValueToStore()), value(insert.getDest()), insert.getStaticPosition()[0]);
      })
      .Case<vec::ExtractStridedSliceOp>([&](vec::ExtractStridedSliceOp slice) {
        return build.slice(value(slice.getSource()), integers(slice.getOffsets())[0], integers(slice.getSizes())[0]);
      })
      .Case<vec::InsertStridedSliceOp>([&](vec::InsertStridedSliceOp insert) {
        return build.insert(value(insert.getValueToStore()), value(insert.getDest()), integers(insert.getOffsets())[0]);
      })
      .Case<vec::FromElementsOp>([&](vec::FromElementsOp from) {
        std::vector<emu::Value> parts;
        for (Value element : from.getElements())
          parts.push_back(value(element));
        return parts.size() == 1 ? parts.front() : build.concat(parts);
      })
      .Case<vec::ShuffleOp>([&](vec::ShuffleOp shuffle) {
        std::vector<uint32_t> positions(shuffle.getMask().begin(), shuffle.getMask().end());
        return build.permute(value(shuffle.getV1()), value(shuffle.getV2()), positions);
      })
      .Case<vec::BitCastOp, arith::BitcastOp>([&](Operation *cast) {
        return build.bitcast(slotType(cast->getResult(0).getType()).first, value(cast->getOperand(0)));
      })
      .Default(std::nullopt);
}

static emu::CmpOp predicate(arith::CmpIPredicate p) {
  static constexpr emu::CmpOp kOps[] = {emu::CmpOp::Eq,  emu::CmpOp::Ne,  emu::CmpOp::Slt, emu::CmpOp::Sle,
                                        emu::CmpOp::Sgt, emu::CmpOp::Sge, emu::CmpOp::Ult, emu::CmpOp::Ule,
                                        emu::CmpOp::Ugt, emu::CmpOp::Uge};
  return kOps[static_cast<int>(p)];
}

/// Both enumerations have the order of LLVM's predicates.
static emu::CmpOp predicate(arith::CmpFPredicate p) {
  return static_cast<emu::CmpOp>(static_cast<int>(emu::CmpOp::False) + static_cast<int>(p));
}

std::optional<emu::Value> EmulatorTranslator::arithmetic(Operation *op) {
  if (isa<arith::ConstantOp>(op))
    return constant(op);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return build.cmp(predicate(compare.getPredicate()), value(compare.getLhs()), value(compare.getRhs()));
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return build.cmp(predicate(compare.getPredicate()), value(compare.getLhs()), value(compare.getRhs()));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return build.select(value(select.getCondition()), value(select.getTrueValue()), value(select.getFalseValue()));
  if (auto fma = dyn_cast<math::FmaOp>(op))
    return build.fma(value(fma.getA()), value(fma.getB()), value(fma.getC()));
  for (auto translate : {&EmulatorTranslator::binary, &EmulatorTranslator::unary, &EmulatorTranslator::conversion,
                         &EmulatorTranslator::vectorOp})
    if (std::optional<emu::Value> result = (this->*translate)(op))
      return result;
  return std::nullopt;
}

} // namespace soliton
