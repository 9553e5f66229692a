//===- MathFunctions.cpp - Functions that no instruction computes --------------===//
//
// Polynomials are Chebyshev fits made for these intervals; each one's error is below a tenth of an ulp of the result.
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/common/MathFunctions.h"

namespace soliton::backend {

using llvm::Value;

Value *MathFunctions::fma(Value *a, Value *b, Value *c) {
  return builder.CreateIntrinsic(llvm::Intrinsic::fma, {builder.getFloatTy()}, {a, b, c});
}

Value *MathFunctions::copySign(Value *x, Value *sign) {
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, sign);
}

Value *MathFunctions::polynomial(Value *x, llvm::ArrayRef<double> coefficients) {
  Value *sum = number(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = fma(sum, x, number(coefficient));
  return sum;
}

/// `x`, or 0 where it is not below 1: the rest of a number that is not finite.
Value *MathFunctions::keepSmall(Value *x) {
  return builder.CreateSelect(builder.CreateFCmpOLT(absolute(x), number(1)), x, number(0));
}

//===-- Exponentials --------------------------------------------------------------===//

Value *MathFunctions::expApproximate(Value *x) {
  return exp2Fast(builder.CreateFMul(x, number(0x1.715476p+0)));
}

Value *MathFunctions::expTimes(Value *x, int power) {
  // e^x = 2^t · (1 + r·ln 2), where t + r = x·log2 e to twice the precision.
  Value *log2e = number(0x1.715476p+0);
  Value *t = builder.CreateFMul(x, log2e);
  Value *r = fma(x, log2e, builder.CreateFNeg(t));
  r = fma(x, number(0x1.4ae0cp-26), r);
  r = keepSmall(r);                                                  // not where t overflowed
  Value *shifted = power ? builder.CreateFAdd(t, number(power)) : t; // exact where it matters: |t| > 1
  return builder.CreateFMul(exp2Fast(shifted), fma(r, number(0x1.62e43p-1), number(1)));
}

Value *MathFunctions::expm1(Value *x) {
  Value *small =
      polynomial(x, {2.486781514e-5, 0.0001990751575, 0.001388884914, 0.008333293567, 0.0416666667, 0.166666667, 0.5});
  small = fma(builder.CreateFMul(x, x), small, x);
  Value *large = builder.CreateFSub(exp(x), number(1));
  return builder.CreateSelect(builder.CreateFCmpOLT(absolute(x), number(0.4)), small, large);
}

//===-- Logarithms ----------------------------------------------------------------===//

/// x = m · 2^e with m in [2/3, 4/3) and ln m = f + tail, f = m − 1.
MathFunctions::LogParts MathFunctions::split(Value *x) {
  Value *isSubnormal = builder.CreateFCmpOLT(x, number(0x1p-126));
  Value *scaled = builder.CreateSelect(isSubnormal, builder.CreateFMul(x, number(0x1p23)), x);
  Value *word = builder.CreateBitCast(scaled, builder.getInt32Ty());
  Value *shifted = builder.CreateSub(word, builder.getInt32(0x3f2aaaab));
  Value *exponentBits = builder.CreateAnd(shifted, builder.getInt32(0xff800000));
  Value *m = builder.CreateBitCast(builder.CreateSub(word, exponentBits), builder.getFloatTy());
  Value *e = builder.CreateSIToFP(builder.CreateAShr(exponentBits, 23), builder.getFloatTy());
  e = builder.CreateFAdd(e, builder.CreateSelect(isSubnormal, number(-23), number(0)));
  Value *f = builder.CreateFSub(m, number(1));
  Value *tail = builder.CreateFMul(builder.CreateFMul(f, f),
                                   polynomial(f, {-0.1242220058, 0.1374830914, -0.1228872161, 0.1405581265,
                                                  -0.1667331625, 0.2000723398, -0.2499994419, 0.3333327262, -0.5}));
  return {e, f, tail};
}

/// The logarithm of what is no positive finite number.
Value *MathFunctions::logSpecial(Value *x, Value *result) {
  Value *infinity = llvm::ConstantFP::getInfinity(builder.getFloatTy());
  result = builder.CreateSelect(builder.CreateFCmpOLT(x, infinity), result, x); // infinity and NaN stay
  result =
      builder.CreateSelect(builder.CreateFCmpOLT(x, number(0)), llvm::ConstantFP::getNaN(builder.getFloatTy()), result);
  return builder.CreateSelect(builder.CreateFCmpOEQ(x, number(0)),
                              llvm::ConstantFP::getInfinity(builder.getFloatTy(), true), result);
}

/// (f + tail) · (high + low) as the sum of a number and a rest.
std::pair<Value *, Value *> MathFunctions::scaled(const LogParts &parts, double high, double low) {
  Value *unit = number(high);
  Value *product = builder.CreateFMul(parts.f, unit);
  Value *rest = fma(parts.f, unit, builder.CreateFNeg(product));
  rest = fma(parts.tail, unit, fma(parts.f, number(low), rest));
  return {product, rest};
}

/// log(x) · (high + low), where high + low is a constant to twice the precision.
Value *MathFunctions::scaledLog(Value *x, double high, double low) {
  LogParts parts = split(x);
  auto [product, rest] = scaled(parts, high, low);
  double base = 0.693147180559945309 * (high + low); // one binary order of magnitude
  auto baseHigh = static_cast<float>(base);
  rest = fma(parts.e, number(base - baseHigh), rest);
  return logSpecial(x, fma(parts.e, number(baseHigh), builder.CreateFAdd(product, rest)));
}

Value *MathFunctions::log(Value *x) {
  return scaledLog(x, 1, 0);
}

Value *MathFunctions::log2(Value *x) {
  return scaledLog(x, 0x1.715476p+0, 0x1.4ae0cp-26);
}

Value *MathFunctions::log10(Value *x) {
  constexpr double factor = 0.434294481903251828;
  constexpr auto high = static_cast<float>(factor);
  return scaledLog(x, high, factor - high);
}

Value *MathFunctions::log1p(Value *x) {
  // ln(1 + x) = ln u − ((u − 1) − x) / u, where u = 1 + x rounded.
  Value *u = builder.CreateFAdd(x, number(1));
  Value *error = builder.CreateFSub(builder.CreateFSub(u, number(1)), x);
  Value *correction = builder.CreateFMul(error, reciprocal(u));
  Value *result = builder.CreateFSub(log(u), keepSmall(correction));
  Value *isTiny = builder.CreateFCmpOLT(absolute(x), number(0x1p-25));
  return builder.CreateSelect(isTiny, x, result);
}

/// |x|^y: the logarithm and its product with y to more than twice the precision of the result's exponent.
Value *MathFunctions::powMagnitude(Value *x, Value *y) {
  LogParts parts = split(x);
  auto [product, rest] = scaled(parts, 0x1.715476p+0, 0x1.4ae0cp-26);
  Value *fraction = builder.CreateFAdd(product, rest);
  Value *low = builder.CreateFSub(rest, builder.CreateFSub(fraction, product));
  Value *sum = builder.CreateFAdd(parts.e, fraction); // |e| is at least as large, or 0
  low = builder.CreateFAdd(builder.CreateFSub(fraction, builder.CreateFSub(sum, parts.e)), low);
  Value *log = logSpecial(x, sum);
  Value *exponent = builder.CreateFMul(y, log);
  Value *error = fma(y, log, builder.CreateFNeg(exponent));
  error = keepSmall(fma(y, low, error));
  return builder.CreateFMul(exp2Fast(exponent), fma(error, number(0x1.62e43p-1), number(1)));
}

Value *MathFunctions::pow(Value *x, Value *y) {
  // |x|^y, then the sign for negative x: odd integers keep it, other integers drop it, the rest has no real value.
  Value *zero = number(0), *one = number(1);
  Value *magnitude = powMagnitude(absolute(x), y);
  Value *half = builder.CreateFMul(y, number(0.5));
  Value *isInteger = builder.CreateFCmpOEQ(unary(llvm::Intrinsic::trunc, y), y);
  Value *isEven = builder.CreateFCmpOEQ(unary(llvm::Intrinsic::trunc, half), half);
  Value *isOdd = builder.CreateAnd(isInteger, builder.CreateNot(isEven));
  Value *isNegative = builder.CreateICmpSLT(builder.CreateBitCast(x, builder.getInt32Ty()), builder.getInt32(0));
  Value *negated = builder.CreateSelect(isOdd, builder.CreateFNeg(magnitude), magnitude);
  Value *isBelow = builder.CreateFCmpOLT(x, zero);
  Value *isFinite = builder.CreateFCmpOGT(x, llvm::ConstantFP::getInfinity(builder.getFloatTy(), true));
  Value *hasNone = builder.CreateAnd(builder.CreateAnd(isBelow, isFinite), builder.CreateNot(isInteger));
  Value *result = builder.CreateSelect(isNegative, negated, magnitude);
  result = builder.CreateSelect(hasNone, llvm::ConstantFP::getNaN(builder.getFloatTy()), result);
  Value *isOne = builder.CreateOr(builder.CreateFCmpOEQ(y, zero), builder.CreateFCmpOEQ(x, one));
  return builder.CreateSelect(isOne, one, result);
}

//===-- Circular and hyperbolic functions, erf -----------------------------------===//

/// sin(x + quarters·π/2).
Value *MathFunctions::sine(Value *x, int quarters) {
  Value *n = unary(llvm::Intrinsic::rint, builder.CreateFMul(x, number(0x1.45f306p-1)));
  Value *minus = builder.CreateFNeg(n);
  Value *r = fma(minus, number(0x1.921fb6p+0), x);
  r = fma(minus, number(-0x1.777a5cp-25), r);
  r = fma(minus, number(-0x1.ee59dap-50), r);
  // Beyond this too few digits of the reduced argument are right: no number rather than a wrong one.
  Value *isKnown = builder.CreateFCmpOLE(absolute(x), number(0x1p20));
  r = builder.CreateSelect(isKnown, r, llvm::ConstantFP::getNaN(builder.getFloatTy()));
  Value *z = builder.CreateFMul(r, r);
  Value *sinTail = polynomial(z, {2.724686872e-6, -0.0001984006304, 0.008333331831, -0.1666666666});
  Value *sin = fma(builder.CreateFMul(r, z), sinTail, r);
  Value *cosTail = polynomial(z, {-2.729840765e-7, 2.48005806e-5, -0.001388888764, 0.04166666666});
  Value *cos = fma(builder.CreateFMul(z, z), cosTail, fma(z, number(-0.5), number(1)));
  // Saturating: where x is too large for a quadrant, r is NaN anyway.
  Value *q = builder.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {builder.getInt32Ty(), builder.getFloatTy()}, {n});
  q = builder.CreateAdd(q, builder.getInt32(quarters));
  Value *useCos = builder.CreateICmpNE(builder.CreateAnd(q, 1), builder.getInt32(0));
  Value *isNegative = builder.CreateICmpNE(builder.CreateAnd(q, 2), builder.getInt32(0));
  Value *result = builder.CreateSelect(useCos, cos, sin);
  return builder.CreateSelect(isNegative, builder.CreateFNeg(result), result);
}

Value *MathFunctions::sinh(Value *x) {
  Value *magnitude = absolute(x), *z = builder.CreateFMul(x, x);
  Value *tail = polynomial(z, {1.0 / 39916800, 1.0 / 362880, 1.0 / 5040, 1.0 / 120, 1.0 / 6});
  Value *small = fma(builder.CreateFMul(x, z), tail, x);
  Value *half = expTimes(magnitude, -1);
  Value *large = builder.CreateFSub(half, builder.CreateFMul(number(0.25), reciprocal(half)));
  return builder.CreateSelect(builder.CreateFCmpOLT(magnitude, number(1)), small, copySign(large, x));
}

Value *MathFunctions::cosh(Value *x) {
  Value *half = expTimes(absolute(x), -1);
  return builder.CreateFAdd(half, builder.CreateFMul(number(0.25), reciprocal(half)));
}

Value *MathFunctions::cbrt(Value *x) {
  Value *magnitude = absolute(x);
  // Away from both ends of the range, by a power whose root is one too.
  Value *isSmall = builder.CreateFCmpOLT(magnitude, number(0x1p-60));
  Value *isLarge = builder.CreateFCmpOGT(magnitude, number(0x1p60));
  auto pick = [&](double small, double large) {
    return builder.CreateSelect(isSmall, number(small), builder.CreateSelect(isLarge, number(large), number(1)));
  };
  Value *a = builder.CreateFMul(magnitude, pick(0x1p60, 0x1p-60));
  // A third of the exponent, right to about five bits; each step of Halley's triples them.
  Value *third = builder.CreateUDiv(builder.CreateBitCast(a, builder.getInt32Ty()), builder.getInt32(3));
  Value *root = builder.CreateBitCast(builder.CreateAdd(third, builder.getInt32(709958130)), builder.getFloatTy());
  for (int step = 0; step < 2; ++step) {
    Value *square = builder.CreateFMul(root, root);
    Value *cube = builder.CreateFMul(square, root);
    // The last step's correction is small: it is computed from an exact square.
    Value *squareRest = fma(root, root, builder.CreateFNeg(square));
    Value *error = fma(square, root, builder.CreateFNeg(a));
    error = fma(squareRest, root, error);
    Value *slope = builder.CreateFAdd(builder.CreateFAdd(cube, cube), a);
    root = fma(root, builder.CreateFDiv(builder.CreateFNeg(error), slope), root);
  }
  root = builder.CreateFMul(root, pick(0x1p-20, 0x1p20));
  Value *isOrdinary =
      builder.CreateAnd(builder.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(builder.getFloatTy())),
                        builder.CreateFCmpOGT(magnitude, number(0)));
  return builder.CreateSelect(isOrdinary, copySign(root, x), x);
}

Value *MathFunctions::atan2(Value *y, Value *x) {
  // Large and small side of the triangle, away from both ends of the range.
  Value *a = absolute(x), *b = absolute(y);
  auto choose = [&](Value *condition, Value *yes, Value *no) { return builder.CreateSelect(condition, yes, no); };
  Value *isSteep = builder.CreateFCmpOGT(b, a);
  Value *big = choose(isSteep, b, a), *small = choose(isSteep, a, b);
  Value *factor = choose(builder.CreateFCmpOGT(big, number(0x1p120)), number(0x1p-20),
                         choose(builder.CreateFCmpOLT(big, number(0x1p-90)), number(0x1p30), number(1)));
  big = builder.CreateFMul(big, factor);
  small = builder.CreateFMul(small, factor);
  // Beyond tan(π/8) the angle to the diagonal.
  Value *isWide = builder.CreateFCmpOGT(small, builder.CreateFMul(big, number(0.414213562)));
  Value *top = choose(isWide, builder.CreateFSub(small, big), small);
  Value *bottom = choose(isWide, builder.CreateFAdd(small, big), big);
  Value *isEqual = builder.CreateFCmpOEQ(small, big); // both infinite, or both zero
  Value *isZero = builder.CreateFCmpOEQ(big, number(0));
  Value *t = builder.CreateFDiv(choose(isEqual, number(0), top), choose(isEqual, number(1), bottom));
  Value *z = builder.CreateFMul(t, t);
  Value *tail = polynomial(z, {0.0504612816760351682, -0.0862389666960050498, 0.110712604443137668,
                               -0.142841455482737734, 0.199999771539742061, -0.333333332789515765});
  Value *angle = fma(builder.CreateFMul(t, z), tail, t);
  Value *diagonal = builder.CreateAnd(builder.CreateOr(isWide, isEqual), builder.CreateNot(isZero));
  constexpr double halfPi = 1.57079632679489662;
  constexpr auto high = static_cast<float>(halfPi);
  constexpr double low = halfPi - high;
  angle = choose(diagonal, builder.CreateFAdd(number(high / 2), builder.CreateFAdd(angle, number(low / 2))), angle);
  angle = choose(isSteep, builder.CreateFSub(number(high), builder.CreateFSub(angle, number(low))), angle);
  Value *isLeft = builder.CreateICmpSLT(builder.CreateBitCast(x, builder.getInt32Ty()), builder.getInt32(0));
  angle = choose(isLeft, builder.CreateFSub(number(2 * high), builder.CreateFSub(angle, number(2 * low))), angle);
  angle = copySign(angle, y);
  return choose(builder.CreateFCmpUNO(x, y), llvm::ConstantFP::getNaN(builder.getFloatTy()), angle);
}

Value *MathFunctions::tanh(Value *x) {
  Value *magnitude = absolute(x), *z = builder.CreateFMul(x, x);
  Value *tail = polynomial(z, {-0.006269119146, 0.02111095869, -0.05387394878, 0.1333291537, -0.3333333033});
  Value *small = fma(builder.CreateFMul(x, z), tail, x);
  Value *e = exp(builder.CreateFMul(magnitude, number(2)));
  Value *large = fma(reciprocal(builder.CreateFAdd(e, number(1))), number(-2), number(1));
  Value *isSmall = builder.CreateFCmpOLT(magnitude, number(0.6));
  return builder.CreateSelect(isSmall, small, copySign(large, x));
}

Value *MathFunctions::erf(Value *x) {
  Value *magnitude = absolute(x), *z = builder.CreateFMul(x, x);
  Value *tail = polynomial(z, {-9.667044571e-6, 0.0001126595903, -0.0008484080406, 0.005221031808, -0.02686543073,
                               0.112837825, -0.3761263847, 0.128379167});
  Value *small = fma(x, tail, x);
  // 1 − 2^P(|x|), where P approximates log2 of the complement on [1, 4]; the complement is below half an ulp from there
  // on.
  Value *exponent =
      polynomial(magnitude, {-1.093949767e-7, 4.792177886e-6, -8.987752529e-5, 0.0009894531814, -0.007307173804,
                             0.03909634787, -0.1602185228, -0.9102728072, -1.631219423, 0.0006006360978});
  Value *large = builder.CreateFSub(number(1), exp2Fast(exponent));
  large = builder.CreateSelect(builder.CreateFCmpOGT(magnitude, number(4)), number(1), large);
  Value *result = builder.CreateSelect(builder.CreateFCmpOLT(magnitude, number(1)), small, copySign(large, x));
  return builder.CreateSelect(builder.CreateFCmpUNO(x, x), x, result);
}

} // namespace soliton::backend
