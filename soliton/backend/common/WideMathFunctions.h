//===- WideMathFunctions.h - f64 functions that no instruction computes -----------===//
//
// From multiplications, additions, divisions and roots that round correctly, the same on every target. Errors in ulp of
// the exact result, as MathFunctionsTest measures them:
//
//   exp, exp2, log, sin, cos, cbrt, atan2 ≤ 2     log2, log10, log1p, tan, tanh, erf ≤ 3     expm1, sinh, cosh ≤ 4
//   pow ≤ 2 + |y · log2 x| / 32
//
// sin, cos and tan for |x| ≤ 2^20 (near their zeros an absolute 2^-53), and NaN beyond.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace soliton::backend {

/// Emits the functions on scalar f64 values at the builder's place.
class WideMathFunctions {
public:
  explicit WideMathFunctions(llvm::IRBuilder<> &builder) : builder(builder) {}

  llvm::Value *exp(llvm::Value *x) { return expTimes(x, 0); }
  llvm::Value *exp2(llvm::Value *x);
  llvm::Value *expm1(llvm::Value *x);
  llvm::Value *log(llvm::Value *x) { return scaledLog(x, 1); }
  llvm::Value *log2(llvm::Value *x);
  llvm::Value *log10(llvm::Value *x);
  llvm::Value *log1p(llvm::Value *x);
  llvm::Value *sin(llvm::Value *x) { return sine(x, 0); }
  llvm::Value *cos(llvm::Value *x) { return sine(x, 1); }
  llvm::Value *tan(llvm::Value *x) { return builder.CreateFDiv(sin(x), cos(x)); }
  llvm::Value *sinh(llvm::Value *x);
  llvm::Value *cosh(llvm::Value *x);
  llvm::Value *tanh(llvm::Value *x);
  llvm::Value *erf(llvm::Value *x);
  llvm::Value *cbrt(llvm::Value *x);
  llvm::Value *pow(llvm::Value *x, llvm::Value *y);
  llvm::Value *atan2(llvm::Value *y, llvm::Value *x);

private:
  llvm::Value *number(double value) { return llvm::ConstantFP::get(builder.getDoubleTy(), value); }
  llvm::Value *integer(uint64_t value) { return builder.getInt64(value); }
  llvm::Value *infinity(bool negative = false) {
    return llvm::ConstantFP::getInfinity(builder.getDoubleTy(), negative);
  }
  llvm::Value *nan() { return llvm::ConstantFP::getNaN(builder.getDoubleTy()); }
  llvm::Value *fma(llvm::Value *a, llvm::Value *b, llvm::Value *c);
  llvm::Value *unary(llvm::Intrinsic::ID id, llvm::Value *x) { return builder.CreateUnaryIntrinsic(id, x); }
  llvm::Value *absolute(llvm::Value *x) { return unary(llvm::Intrinsic::fabs, x); }
  llvm::Value *copySign(llvm::Value *x, llvm::Value *sign);
  llvm::Value *choose(llvm::Value *condition, llvm::Value *yes, llvm::Value *no) {
    return builder.CreateSelect(condition, yes, no);
  }
  llvm::Value *toInt(llvm::Value *x);
  llvm::Value *bitsOf(llvm::Value *x) { return builder.CreateBitCast(x, builder.getInt64Ty()); }
  llvm::Value *fromBits(llvm::Value *x) { return builder.CreateBitCast(x, builder.getDoubleTy()); }
  /// Highest power first.
  llvm::Value *polynomial(llvm::Value *x, llvm::ArrayRef<double> coefficients);
  /// x · 2^n for |n| ≤ 2100, in two steps so that both ends of the range are reached.
  llvm::Value *scale(llvm::Value *x, llvm::Value *n);
  /// e^r − 1 for |r| ≤ 0.35.
  llvm::Value *expTail(llvm::Value *r);
  /// e^x · 2^power.
  llvm::Value *expTimes(llvm::Value *x, int power);
  /// x = 2^e · m with m in [√½, √2) and ln m = high + low.
  struct LogParts {
    llvm::Value *e, *high, *low;
  };
  LogParts split(llvm::Value *x);
  llvm::Value *logSpecial(llvm::Value *x, llvm::Value *result);
  llvm::Value *scaledLog(llvm::Value *x, double factor);
  llvm::Value *powMagnitude(llvm::Value *x, llvm::Value *y);
  llvm::Value *sine(llvm::Value *x, int quarters);

  llvm::IRBuilder<> &builder;
};

} // namespace soliton::backend
