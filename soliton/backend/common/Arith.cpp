//===- Arith.cpp - The arith dialect as LLVM instructions ----------------------===//

#include "soliton/backend/common/SmallFloats.h"
#include "soliton/backend/common/Translator.h"

namespace soliton::backend {

using llvm::LogicalResult;
using mlir::failed;
using mlir::failure;
using mlir::success;
namespace arith = mlir::arith;

/// What the op itself allows, and fusing where the options do.
void Translator::setFlags(mlir::Operation *op) {
  llvm::FastMathFlags flags;
  if (options.fuseMultiplyAdd)
    flags.setAllowContract(true);
  auto interface = llvm::dyn_cast<arith::ArithFastMathInterface>(op);
  if (interface && interface.getFastMathFlagsAttr()) {
    arith::FastMathFlags own = interface.getFastMathFlagsAttr().getValue();
    auto has = [&](arith::FastMathFlags flag) { return arith::bitEnumContainsAll(own, flag); };
    flags.setNoNaNs(has(arith::FastMathFlags::nnan));
    flags.setNoInfs(has(arith::FastMathFlags::ninf));
    flags.setNoSignedZeros(has(arith::FastMathFlags::nsz));
    flags.setAllowReciprocal(has(arith::FastMathFlags::arcp));
    flags.setApproxFunc(has(arith::FastMathFlags::afn));
    flags.setAllowReassoc(has(arith::FastMathFlags::reassoc));
    if (has(arith::FastMathFlags::contract))
      flags.setAllowContract(true);
  }
  builder.setFastMathFlags(flags);
}

static llvm::CmpInst::Predicate predicateOf(arith::CmpIPredicate predicate) {
  using L = llvm::CmpInst::Predicate;
  static constexpr L table[] = {L::ICMP_EQ,  L::ICMP_NE,  L::ICMP_SLT, L::ICMP_SLE, L::ICMP_SGT,
                                L::ICMP_SGE, L::ICMP_ULT, L::ICMP_ULE, L::ICMP_UGT, L::ICMP_UGE};
  static_assert(static_cast<int>(arith::CmpIPredicate::uge) == std::size(table) - 1);
  return table[static_cast<size_t>(predicate)];
}

static llvm::CmpInst::Predicate predicateOf(arith::CmpFPredicate predicate) {
  using L = llvm::CmpInst::Predicate;
  static constexpr L table[] = {L::FCMP_FALSE, L::FCMP_OEQ, L::FCMP_OGT, L::FCMP_OGE, L::FCMP_OLT, L::FCMP_OLE,
                                L::FCMP_ONE,   L::FCMP_ORD, L::FCMP_UEQ, L::FCMP_UGT, L::FCMP_UGE, L::FCMP_ULT,
                                L::FCMP_ULE,   L::FCMP_UNE, L::FCMP_UNO, L::FCMP_TRUE};
  static_assert(static_cast<int>(arith::CmpFPredicate::AlwaysTrue) == std::size(table) - 1);
  static_assert(static_cast<int>(arith::CmpFPredicate::UNO) == 14);
  return table[static_cast<size_t>(predicate)];
}

//===-- Constants ---------------------------------------------------------------===//

static llvm::Constant *constantOf(llvm::Type *type, const llvm::APInt &bits) {
  if (type->isIntegerTy())
    return llvm::ConstantInt::get(type, bits);
  return llvm::ConstantFP::get(type->getContext(), llvm::APFloat(type->getFltSemantics(), bits));
}

LogicalResult Translator::translateConstant(arith::ConstantOp op) {
  llvm::Type *type = convert(op.getType(), op.getLoc());
  if (!type)
    return failure();
  mlir::Attribute attribute = op.getValue();
  if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) {
    set(op, constantOf(type, integer.getValue()));
    return success();
  }
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(attribute)) {
    set(op, constantOf(type, number.getValue().bitcastToAPInt()));
    return success();
  }
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(attribute);
  if (!dense)
    return unsupported(op) << "a constant is " << attribute << ", expected a number or a dense vector";
  llvm::SmallVector<llvm::Constant *> list;
  llvm::Type *element = type->getScalarType();
  if (llvm::isa<mlir::FloatType>(dense.getElementType())) {
    for (const llvm::APFloat &value : dense.getValues<llvm::APFloat>())
      list.push_back(constantOf(element, value.bitcastToAPInt()));
  } else {
    for (const llvm::APInt &value : dense.getValues<llvm::APInt>())
      list.push_back(constantOf(element, value));
  }
  set(op, type->isVectorTy() ? llvm::ConstantVector::get(list) : list.front());
  return success();
}

//===-- Casts -------------------------------------------------------------------===//

static bool isSmallFloat(mlir::Type type) {
  return smallFloatOf(type).has_value();
}

LogicalResult Translator::translateConvert(machine::ConvertOp op) {
  mlir::Type from = op.getValue().getType(), to = op.getResult().getType();
  std::optional<DType> small = smallFloatOf(from), narrow = smallFloatOf(to);
  llvm::Type *type = convert(to, op.getLoc());
  if (type && !narrow && llvm::isa<mlir::Float8E8M0FNUType>(mlir::getElementTypeOrSelf(from))) {
    set(op, mapElements(get(op.getValue()), [&](llvm::Value *x) {
          return builder.CreateFPCast(decodeScale(builder, x), type->getScalarType());
        }));
    return success();
  }
  if (!type || (!small && !narrow))
    return unsupported(op) << "a conversion of " << from << " to " << to << ", expected a small float on one side";
  set(op, mapElements(get(op.getValue()), [&](llvm::Value *x) {
        x = small ? SmallFloats(builder, *small).decode(x) : builder.CreateFPCast(x, builder.getFloatTy());
        return narrow ? SmallFloats(builder, *narrow).encode(x, op.getSaturate())
                      : builder.CreateFPCast(x, type->getScalarType());
      }));
  return success();
}

llvm::Value *Translator::widen(llvm::Value *value, DType small) {
  return mapElements(value, [&](llvm::Value *x) { return SmallFloats(builder, small).decode(x); });
}

llvm::Value *Translator::narrow(llvm::Value *value, DType small) {
  return mapElements(value, [&](llvm::Value *x) { return SmallFloats(builder, small).encode(x, /*saturate=*/false); });
}

void Translator::setWide(mlir::Value value, llvm::Value *wide) {
  wides[value] = wide;
  set(value, narrow(wide, *smallFloatOf(value.getType())));
}

/// Whether an op of small floats gives one of its operands, but for the sign: nothing is rounded.
static bool isExact(mlir::Operation *op) {
  return llvm::isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::NegFOp,
                   mlir::math::AbsFOp, mlir::math::CopySignOp>(op);
}

LogicalResult Translator::translateSmall(mlir::Operation *op,
                                         LogicalResult (Translator::*translate)(mlir::Operation *)) {
  llvm::SmallVector<llvm::Value *> before = getAll(op->getOperands());
  for (auto [operand, value] : llvm::zip_equal(op->getOperands(), before))
    if (std::optional<DType> small = smallFloatOf(operand.getType())) {
      llvm::Value *known = wides.lookup(operand);
      set(operand, known ? known : widen(value, *small));
    }
  isWidened = true;
  LogicalResult result = (this->*translate)(op);
  isWidened = false;
  for (auto [operand, value] : llvm::zip_equal(op->getOperands(), before))
    set(operand, value);
  std::optional<DType> small = smallFloatOf(op->getResult(0).getType());
  if (failed(result) || !small)
    return result;
  llvm::Value *wide = get(op->getResult(0));
  if (isExact(op))
    setWide(op->getResult(0), wide);
  else
    set(op->getResult(0), narrow(wide, *small));
  return result;
}

/// Whether the op computes with small floats, rather than moving their bits.
static bool computesSmall(mlir::Operation *op) {
  if (llvm::isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp, arith::ExtFOp, arith::TruncFOp>(op))
    return false;
  return llvm::any_of(op->getOperandTypes(), isSmallFloat) || llvm::any_of(op->getResultTypes(), isSmallFloat);
}

LogicalResult Translator::translateCast(mlir::Operation *op) {
  mlir::Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if ((isSmallFloat(from) || isSmallFloat(to)) && !llvm::isa<arith::BitcastOp>(op) && !isWidened)
    return unsupported(op).hint("use machine.convert, which states rounding and saturation")
           << "`" << op->getName().getStringRef() << "` turns " << from << " into " << to;
  llvm::Type *type = convert(to, op->getLoc());
  if (!type)
    return failure();
  if (isSmallFloat(to) && isWidened)
    type = vectorOf(builder.getFloatTy(), countOf(type));
  llvm::Value *value = get(op->getOperand(0));
  using Cast = llvm::Instruction::CastOps;
  auto kind = llvm::TypeSwitch<mlir::Operation *, std::optional<Cast>>(op)
                  .Case<arith::ExtSIOp>([](auto) { return Cast::SExt; })
                  .Case<arith::ExtUIOp>([](auto) { return Cast::ZExt; })
                  .Case<arith::TruncIOp>([](auto) { return Cast::Trunc; })
                  .Case<arith::SIToFPOp>([](auto) { return Cast::SIToFP; })
                  .Case<arith::UIToFPOp>([](auto) { return Cast::UIToFP; })
                  .Case<arith::FPToSIOp>([](auto) { return Cast::FPToSI; })
                  .Case<arith::FPToUIOp>([](auto) { return Cast::FPToUI; })
                  .Case<arith::ExtFOp>([](auto) { return Cast::FPExt; })
                  .Case<arith::TruncFOp>([](auto) { return Cast::FPTrunc; })
                  .Case<arith::BitcastOp>([](auto) { return Cast::BitCast; })
                  .Default([](auto) { return std::nullopt; });
  if (!kind)
    return unsupported(op) << "`" << op->getName().getStringRef() << "` is no op of the machine form";
  set(op->getResult(0),
      *kind == Cast::BitCast ? bits(value, type) : keptHere(op->getResult(0), builder.CreateCast(*kind, value, type)));
  return success();
}

//===-- Arithmetic ----------------------------------------------------------------===//

static std::optional<llvm::Instruction::BinaryOps> binaryOf(mlir::Operation *op) {
  using I = llvm::Instruction;
  return llvm::TypeSwitch<mlir::Operation *, std::optional<I::BinaryOps>>(op)
      .Case<arith::AddIOp>([](auto) { return I::Add; })
      .Case<arith::SubIOp>([](auto) { return I::Sub; })
      .Case<arith::MulIOp>([](auto) { return I::Mul; })
      .Case<arith::AndIOp>([](auto) { return I::And; })
      .Case<arith::OrIOp>([](auto) { return I::Or; })
      .Case<arith::XOrIOp>([](auto) { return I::Xor; })
      .Case<arith::ShLIOp>([](auto) { return I::Shl; })
      .Case<arith::ShRUIOp>([](auto) { return I::LShr; })
      .Case<arith::ShRSIOp>([](auto) { return I::AShr; })
      .Case<arith::DivSIOp>([](auto) { return I::SDiv; })
      .Case<arith::DivUIOp>([](auto) { return I::UDiv; })
      .Case<arith::RemSIOp>([](auto) { return I::SRem; })
      .Case<arith::RemUIOp>([](auto) { return I::URem; })
      .Case<arith::AddFOp>([](auto) { return I::FAdd; })
      .Case<arith::SubFOp>([](auto) { return I::FSub; })
      .Case<arith::MulFOp>([](auto) { return I::FMul; })
      .Case<arith::DivFOp>([](auto) { return I::FDiv; })
      .Case<arith::RemFOp>([](auto) { return I::FRem; })
      .Default([](auto) { return std::nullopt; });
}

static std::optional<llvm::Intrinsic::ID> minMaxOf(mlir::Operation *op) {
  namespace I = llvm::Intrinsic;
  return llvm::TypeSwitch<mlir::Operation *, std::optional<I::ID>>(op)
      .Case<arith::MaxSIOp>([](auto) { return I::smax; })
      .Case<arith::MinSIOp>([](auto) { return I::smin; })
      .Case<arith::MaxUIOp>([](auto) { return I::umax; })
      .Case<arith::MinUIOp>([](auto) { return I::umin; })
      .Case<arith::MaximumFOp>([](auto) { return I::maximum; })
      .Case<arith::MinimumFOp>([](auto) { return I::minimum; })
      .Case<arith::MaxNumFOp>([](auto) { return I::maxnum; })
      .Case<arith::MinNumFOp>([](auto) { return I::minnum; })
      .Default([](auto) { return std::nullopt; });
}

/// Quotients rounded down or up for every sign; LLVM has only those rounded to zero.
static llvm::Value *roundedDivision(llvm::IRBuilder<> &builder, llvm::Value *a, llvm::Value *b, bool up) {
  llvm::Value *quotient = builder.CreateSDiv(a, b), *rest = builder.CreateSub(a, builder.CreateMul(quotient, b));
  llvm::Value *zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value *sameSign = builder.CreateICmpSGE(builder.CreateXor(a, b), zero);
  llvm::Value *adjust =
      builder.CreateAnd(builder.CreateICmpNE(rest, zero), up ? sameSign : builder.CreateNot(sameSign));
  llvm::Value *one = builder.CreateZExt(adjust, a->getType());
  return up ? builder.CreateAdd(quotient, one) : builder.CreateSub(quotient, one);
}

LogicalResult Translator::translateArith(mlir::Operation *op) {
  if (auto constant = llvm::dyn_cast<arith::ConstantOp>(op))
    return translateConstant(constant);
  if (!isWidened && computesSmall(op))
    return translateSmall(op, &Translator::translateArith);
  setFlags(op);
  auto operand = [&](unsigned i) { return get(op->getOperand(i)); };
  auto result = [&](llvm::Value *value) {
    set(op->getResult(0), value);
    return success();
  };
  // LLVM has no remainders of halves for AMD, and would narrow one of f32 to them again. It is exact in any type.
  if (llvm::isa<arith::RemFOp>(op) && target.vendor == Vendor::amd) {
    llvm::Type *type = operand(0)->getType(), *wide = type->getWithNewType(builder.getFloatTy());
    if (type->getScalarSizeInBits() > 32)
      wide = type;
    llvm::Value *rest =
        builder.CreateFRem(builder.CreateFPCast(operand(0), wide), builder.CreateFPCast(operand(1), wide));
    rest = builder.CreateUnaryIntrinsic(llvm::Intrinsic::canonicalize, rest);
    return result(builder.CreateFPCast(rest, type));
  }
  if (auto binary = binaryOf(op)) {
    llvm::Value *value = builder.CreateBinOp(*binary, operand(0), operand(1));
    if (auto overflow = llvm::dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
      if (auto *instruction = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(value);
          instruction && llvm::isa<llvm::Instruction>(value)) {
        llvm::cast<llvm::Instruction>(value)->setHasNoSignedWrap(overflow.hasNoSignedWrap());
        llvm::cast<llvm::Instruction>(value)->setHasNoUnsignedWrap(overflow.hasNoUnsignedWrap());
      }
    return result(value);
  }
  if (llvm::isa<arith::MaximumFOp, arith::MinimumFOp>(op) && translateExtreme(op))
    return success();
  if (auto id = minMaxOf(op))
    return result(builder.CreateBinaryIntrinsic(*id, operand(0), operand(1)));
  if (auto compare = llvm::dyn_cast<arith::CmpIOp>(op))
    return result(builder.CreateICmp(predicateOf(compare.getPredicate()), operand(0), operand(1)));
  if (auto compare = llvm::dyn_cast<arith::CmpFOp>(op))
    return result(builder.CreateFCmp(predicateOf(compare.getPredicate()), operand(0), operand(1)));
  if (llvm::isa<arith::SelectOp>(op))
    return result(builder.CreateSelect(operand(0), operand(1), operand(2)));
  if (llvm::isa<arith::NegFOp>(op))
    return result(builder.CreateFNeg(operand(0)));
  if (llvm::isa<arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
    return result(roundedDivision(builder, operand(0), operand(1), llvm::isa<arith::CeilDivSIOp>(op)));
  if (llvm::isa<arith::CeilDivUIOp>(op)) {
    llvm::Value *zero = llvm::Constant::getNullValue(operand(0)->getType());
    llvm::Value *rest = builder.CreateURem(operand(0), operand(1));
    llvm::Value *one = builder.CreateZExt(builder.CreateICmpNE(rest, zero), zero->getType());
    return result(builder.CreateAdd(builder.CreateUDiv(operand(0), operand(1)), one));
  }
  return translateCast(op);
}

} // namespace soliton::backend
