//===- MathFunctions.h - Functions that no instruction computes ----------------===//
//
// f32 functions from multiplications, additions and two approximations of the hardware (2^x and 1/x), the same on every
// target. Errors in ulp of the exact result, as MathFunctionsTest measures them with a correctly rounded 2^x and 1/x;
// the hardware's own errors (up to 2 ulp and 1 ulp) come on top:
//
//   exp, tanh, erf, sin, cos, cbrt ≤ 2    log, log2, log10, log1p ≤ 2    atan2 ≤ 3    expm1, sinh, cosh, tan ≤ 4
//   pow ≤ 3 + |y| / 8
//
// sin, cos and tan for |x| ≤ 2^15 (near their zeros an absolute 2^-24), and NaN beyond 2^20.
// Subnormal results may become zero.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/IR/IRBuilder.h"

#include <functional>

namespace soliton::backend {

/// Emits the functions on scalar f32 values at the builder's place.
class MathFunctions {
public:
  using Unary = std::function<llvm::Value *(llvm::Value *)>;
  MathFunctions(llvm::IRBuilder<> &builder, Unary exp2, Unary reciprocal)
      : builder(builder), exp2Fast(std::move(exp2)), reciprocal(std::move(reciprocal)) {}

  llvm::Value *exp(llvm::Value *x) { return expTimes(x, 0); }
  llvm::Value *exp2(llvm::Value *x) { return exp2Fast(x); }
  /// 2^(x·log2 e) as it comes: the error grows to |x| ulp.
  llvm::Value *expApproximate(llvm::Value *x);
  llvm::Value *expm1(llvm::Value *x);
  llvm::Value *log(llvm::Value *x);
  llvm::Value *log2(llvm::Value *x);
  llvm::Value *log10(llvm::Value *x);
  llvm::Value *log1p(llvm::Value *x);
  llvm::Value *sin(llvm::Value *x) { return sine(x, 0); }
  llvm::Value *cos(llvm::Value *x) { return sine(x, 1); }
  llvm::Value *tan(llvm::Value *x) { return builder.CreateFDiv(sine(x, 0), sine(x, 1)); }
  llvm::Value *sinh(llvm::Value *x);
  llvm::Value *cosh(llvm::Value *x);
  llvm::Value *tanh(llvm::Value *x);
  llvm::Value *cbrt(llvm::Value *x);
  llvm::Value *atan2(llvm::Value *y, llvm::Value *x);
  llvm::Value *erf(llvm::Value *x);
  llvm::Value *pow(llvm::Value *x, llvm::Value *y);

private:
  llvm::Value *number(double value) { return llvm::ConstantFP::get(builder.getFloatTy(), value); }
  llvm::Value *fma(llvm::Value *a, llvm::Value *b, llvm::Value *c);
  llvm::Value *unary(llvm::Intrinsic::ID id, llvm::Value *x) { return builder.CreateUnaryIntrinsic(id, x); }
  llvm::Value *absolute(llvm::Value *x) { return unary(llvm::Intrinsic::fabs, x); }
  llvm::Value *copySign(llvm::Value *x, llvm::Value *sign);
  /// Highest power first.
  llvm::Value *polynomial(llvm::Value *x, llvm::ArrayRef<double> coefficients);
  struct LogParts {
    llvm::Value *e, *f, *tail;
  };
  LogParts split(llvm::Value *x);
  std::pair<llvm::Value *, llvm::Value *> scaled(const LogParts &parts, double high, double low);
  llvm::Value *logSpecial(llvm::Value *x, llvm::Value *result);
  llvm::Value *scaledLog(llvm::Value *x, double high, double low);
  llvm::Value *powMagnitude(llvm::Value *x, llvm::Value *y);
  /// e^x · 2^power.
  llvm::Value *expTimes(llvm::Value *x, int power);
  llvm::Value *keepSmall(llvm::Value *x);
  llvm::Value *sine(llvm::Value *x, int quarters);

  llvm::IRBuilder<> &builder;
  Unary exp2Fast, reciprocal;
};

} // namespace soliton::backend
