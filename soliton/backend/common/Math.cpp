//===- Math.cpp - The math dialect -----------------------------------------------===//
//
// Roundings, roots and fma are LLVM's intrinsics. Transcendental functions are computed in f32 by MathFunctions, for
// f16 and bf16 too, and in f64 by WideMathFunctions; `fastmath<afn>` on exp takes the shorter one.
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/common/MathFunctions.h"
#include "soliton/backend/common/SmallFloats.h"
#include "soliton/backend/common/Translator.h"
#include "soliton/backend/common/WideMathFunctions.h"

namespace soliton::backend {

using llvm::LogicalResult;
using llvm::Value;
using mlir::success;
namespace math = mlir::math;

/// What LLVM can say for every target and float type.
static std::optional<llvm::Intrinsic::ID> intrinsicOf(mlir::Operation *op) {
  namespace I = llvm::Intrinsic;
  return llvm::TypeSwitch<mlir::Operation *, std::optional<I::ID>>(op)
      .Case<math::AbsFOp>([](auto) { return I::fabs; })
      .Case<math::CeilOp>([](auto) { return I::ceil; })
      .Case<math::FloorOp>([](auto) { return I::floor; })
      .Case<math::TruncOp>([](auto) { return I::trunc; })
      .Case<math::RoundEvenOp>([](auto) { return I::rint; }) // the rounding mode is to nearest even
      .Case<math::SqrtOp>([](auto) { return I::sqrt; })
      .Case<math::CopySignOp>([](auto) { return I::copysign; })
      .Case<math::FmaOp>([](auto) { return I::fma; })
      .Case<math::CtPopOp>([](auto) { return I::ctpop; })
      .Default([](auto) { return std::nullopt; });
}

/// A function in f32 and in f64.
struct Functions {
  Value *(*narrow)(MathFunctions &, llvm::ArrayRef<Value *>) = nullptr;
  Value *(*wide)(WideMathFunctions &, llvm::ArrayRef<Value *>) = nullptr;
};

static Functions functionsOf(mlir::Operation *op) {
  using A = llvm::ArrayRef<Value *>;
  auto both = [](auto function) { return Functions{function, function}; };
  return llvm::TypeSwitch<mlir::Operation *, Functions>(op)
      .Case<math::ExpOp>([&](auto) { return both([](auto &m, A x) { return m.exp(x[0]); }); })
      .Case<math::Exp2Op>([&](auto) { return both([](auto &m, A x) { return m.exp2(x[0]); }); })
      .Case<math::ExpM1Op>([&](auto) { return both([](auto &m, A x) { return m.expm1(x[0]); }); })
      .Case<math::LogOp>([&](auto) { return both([](auto &m, A x) { return m.log(x[0]); }); })
      .Case<math::Log2Op>([&](auto) { return both([](auto &m, A x) { return m.log2(x[0]); }); })
      .Case<math::Log10Op>([&](auto) { return both([](auto &m, A x) { return m.log10(x[0]); }); })
      .Case<math::Log1pOp>([&](auto) { return both([](auto &m, A x) { return m.log1p(x[0]); }); })
      .Case<math::SinOp>([&](auto) { return both([](auto &m, A x) { return m.sin(x[0]); }); })
      .Case<math::CosOp>([&](auto) { return both([](auto &m, A x) { return m.cos(x[0]); }); })
      .Case<math::TanOp>([&](auto) { return both([](auto &m, A x) { return m.tan(x[0]); }); })
      .Case<math::SinhOp>([&](auto) { return both([](auto &m, A x) { return m.sinh(x[0]); }); })
      .Case<math::CoshOp>([&](auto) { return both([](auto &m, A x) { return m.cosh(x[0]); }); })
      .Case<math::TanhOp>([&](auto) { return both([](auto &m, A x) { return m.tanh(x[0]); }); })
      .Case<math::ErfOp>([&](auto) { return both([](auto &m, A x) { return m.erf(x[0]); }); })
      .Case<math::CbrtOp>([&](auto) { return both([](auto &m, A x) { return m.cbrt(x[0]); }); })
      .Case<math::PowFOp>([&](auto) { return both([](auto &m, A x) { return m.pow(x[0], x[1]); }); })
      .Case<math::Atan2Op>([&](auto) { return both([](auto &m, A x) { return m.atan2(x[0], x[1]); }); })
      .Default([](auto) { return Functions{}; });
}

/// Halves away from zero, which neither target has: truncate, then step if the rest is a half or more.
static Value *roundAway(llvm::IRBuilder<> &builder, Value *x) {
  Value *whole = builder.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  Value *rest = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, builder.CreateFSub(x, whole));
  Value *half = llvm::ConstantFP::get(x->getType(), 0.5), *one = llvm::ConstantFP::get(x->getType(), 1);
  Value *step = builder.CreateSelect(builder.CreateFCmpOGE(rest, half), one, llvm::ConstantFP::get(x->getType(), 0));
  return builder.CreateFAdd(whole, builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, step, x));
}

LogicalResult Translator::translateMath(mlir::Operation *op) {
  if (!isWidened && smallFloatOf(op->getResult(0).getType()))
    return translateSmall(op, &Translator::translateMath);
  setFlags(op);
  llvm::SmallVector<Value *> operands = getAll(op->getOperands());
  llvm::Type *type = operands[0]->getType(), *element = type->getScalarType();
  auto result = [&](Value *value) {
    set(op->getResult(0), value);
    return success();
  };
  if (auto id = intrinsicOf(op))
    return result(call(*id, {type}, operands));
  if (llvm::isa<math::AbsIOp>(op))
    return result(call(llvm::Intrinsic::abs, {type}, {operands[0], builder.getFalse()}));
  if (llvm::isa<math::CountLeadingZerosOp, math::CountTrailingZerosOp>(op)) {
    auto id = llvm::isa<math::CountLeadingZerosOp>(op) ? llvm::Intrinsic::ctlz : llvm::Intrinsic::cttz;
    return result(call(id, {type}, {operands[0], builder.getFalse()}));
  }
  if (llvm::isa<math::RoundOp>(op))
    return result(roundAway(builder, operands[0]));
  if (llvm::isa<math::RsqrtOp>(op) && element->isDoubleTy()) {
    Value *root = builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, operands[0]);
    return result(builder.CreateFDiv(llvm::ConstantFP::get(type, 1), root));
  }

  bool approximate = builder.getFastMathFlags().approxFunc() && llvm::isa<math::ExpOp>(op);
  Functions functions = functionsOf(op);
  bool isRoot = llvm::isa<math::RsqrtOp>(op);
  if (!functions.narrow && !isRoot)
    return unsupported(op) << "`" << op->getName().getStringRef() << "` has no instruction and no formula here";
  builder.setFastMathFlags({}); // the formulas count on every rounding
  MathFunctions narrow(builder, [&](Value *x) { return fastExp2(x); }, [&](Value *x) { return fastReciprocal(x); });
  WideMathFunctions wide(builder);
  auto compute = [&](llvm::ArrayRef<Value *> x) {
    return element->isDoubleTy() ? functions.wide(wide, x)
           : isRoot              ? fastReciprocalRoot(x[0])
           : approximate         ? narrow.expApproximate(x[0])
                                 : functions.narrow(narrow, x);
  };
  llvm::SmallVector<llvm::SmallVector<Value *>> parts;
  for (Value *operand : operands)
    parts.push_back(elements(operand));
  llvm::SmallVector<Value *> list;
  for (size_t i = 0; i < parts[0].size(); ++i) {
    llvm::SmallVector<Value *> arguments;
    for (auto &part : parts)
      arguments.push_back(element->isDoubleTy() ? part[i] : builder.CreateFPExt(part[i], builder.getFloatTy()));
    Value *value = compute(arguments);
    list.push_back(element->isDoubleTy() ? value : builder.CreateFPTrunc(value, element));
  }
  return result(fromElements(list, type));
}

} // namespace soliton::backend
