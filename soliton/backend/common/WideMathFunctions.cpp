//===- WideMathFunctions.cpp - f64 functions that no instruction computes ---------===//
//
// Series where the interval is short, Chebyshev fits elsewhere; each one's own error is below a tenth of an ulp.
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/common/WideMathFunctions.h"

namespace soliton::backend {

using llvm::Value;

/// ln 2 and π/2 in parts: the first ones have zeros at their ends, so that products with small integers are exact.
static constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;
static constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Rest = 0x1.abc9e3b39803fp-56;
static constexpr double kLog2e = 0x1.71547652b82fep+0, kLog2eRest = 0x1.777d0ffda0d24p-56;
static constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiRest = 0x1.1a62633145c07p-54;
static constexpr double kPi = 0x1.921fb54442d18p+1, kPiRest = 0x1.1a62633145c07p-53;

Value *WideMathFunctions::fma(Value *a, Value *b, Value *c) {
  return builder.CreateIntrinsic(llvm::Intrinsic::fma, {builder.getDoubleTy()}, {a, b, c});
}

Value *WideMathFunctions::copySign(Value *x, Value *sign) {
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, sign);
}

Value *WideMathFunctions::polynomial(Value *x, llvm::ArrayRef<double> coefficients) {
  Value *sum = number(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = fma(sum, x, number(coefficient));
  return sum;
}

/// Of a whole number; whatever is too large or none becomes some number.
Value *WideMathFunctions::toInt(Value *x) {
  Value *whole =
      builder.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {builder.getInt32Ty(), builder.getDoubleTy()}, {x});
  return builder.CreateSExt(whole, builder.getInt64Ty());
}

Value *WideMathFunctions::scale(Value *x, Value *n) {
  Value *half = builder.CreateAShr(n, 1), *rest = builder.CreateSub(n, half);
  auto power = [&](Value *e) { return fromBits(builder.CreateShl(builder.CreateAdd(e, integer(1023)), 52)); };
  return builder.CreateFMul(builder.CreateFMul(x, power(half)), power(rest));
}

//===-- Exponentials --------------------------------------------------------------===//

Value *WideMathFunctions::expTail(Value *r) {
  Value *tail = polynomial(r, {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                               1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
  return fma(builder.CreateFMul(r, r), tail, r);
}

Value *WideMathFunctions::expTimes(Value *x, int power) {
  // Beyond these the result is 0 or infinity whatever it is exactly.
  Value *bounded = builder.CreateMinNum(builder.CreateMaxNum(x, number(-760)), number(720));
  Value *n = unary(llvm::Intrinsic::rint, builder.CreateFMul(bounded, number(kLog2e)));
  Value *r = fma(n, number(-kLn2High), bounded);
  r = fma(n, number(-kLn2Low), r);
  Value *result = scale(builder.CreateFAdd(expTail(r), number(1)), builder.CreateAdd(toInt(n), integer(power)));
  return choose(builder.CreateFCmpUNO(x, x), x, result);
}

Value *WideMathFunctions::exp2(Value *x) {
  Value *bounded = builder.CreateMinNum(builder.CreateMaxNum(x, number(-1100)), number(1030));
  Value *n = unary(llvm::Intrinsic::rint, bounded);
  Value *f = builder.CreateFSub(bounded, n);
  Value *r = builder.CreateFMul(f, number(kLn2));
  Value *low = fma(f, number(kLn2Rest), fma(f, number(kLn2), builder.CreateFNeg(r)));
  Value *e = builder.CreateFAdd(expTail(r), number(1));
  Value *result = scale(fma(e, low, e), toInt(n));
  return choose(builder.CreateFCmpUNO(x, x), x, result);
}

Value *WideMathFunctions::expm1(Value *x) {
  Value *isSmall = builder.CreateFCmpOLT(absolute(x), number(0.35));
  return choose(isSmall, expTail(x), builder.CreateFSub(exp(x), number(1)));
}

//===-- Logarithms ----------------------------------------------------------------===//

WideMathFunctions::LogParts WideMathFunctions::split(Value *x) {
  Value *isSubnormal = builder.CreateFCmpOLT(x, number(0x1p-1022));
  Value *scaled = choose(isSubnormal, builder.CreateFMul(x, number(0x1p54)), x);
  Value *word = bitsOf(scaled);
  Value *shifted = builder.CreateSub(word, integer(0x3fe6a09e667f3bcdull)); // √½
  Value *exponentBits = builder.CreateAnd(shifted, integer(0xfff0000000000000ull));
  Value *m = fromBits(builder.CreateSub(word, exponentBits));
  // A signed 12-bit number: 32 bits convert everywhere.
  Value *exponent = builder.CreateTrunc(builder.CreateAShr(exponentBits, 52), builder.getInt32Ty());
  Value *e = builder.CreateSIToFP(exponent, builder.getDoubleTy());
  e = builder.CreateFAdd(e, choose(isSubnormal, number(-54), number(0)));
  // ln m = 2 artanh s, s = f / (2 + f), as s and its rest.
  Value *f = builder.CreateFSub(m, number(1));
  Value *divisor = builder.CreateFAdd(f, number(2));
  Value *s = builder.CreateFDiv(f, divisor);
  Value *divisorRest = builder.CreateFSub(f, builder.CreateFSub(divisor, number(2)));
  Value *remainder = fma(builder.CreateFNeg(s), divisor, f);
  remainder = fma(builder.CreateFNeg(s), divisorRest, remainder);
  Value *sRest = builder.CreateFDiv(remainder, divisor);
  Value *z = builder.CreateFMul(s, s);
  Value *tail = polynomial(z, {2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9,
                               2.0 / 7, 2.0 / 5, 2.0 / 3});
  Value *low = fma(builder.CreateFMul(s, z), tail, builder.CreateFMul(sRest, number(2)));
  return {e, builder.CreateFMul(s, number(2)), low};
}

/// The logarithm of what is no positive finite number.
Value *WideMathFunctions::logSpecial(Value *x, Value *result) {
  result = choose(builder.CreateFCmpOLT(x, infinity()), result, x); // infinity and NaN stay
  result = choose(builder.CreateFCmpOLT(x, number(0)), nan(), result);
  return choose(builder.CreateFCmpOEQ(x, number(0)), infinity(true), result);
}

Value *WideMathFunctions::scaledLog(Value *x, double factor) {
  LogParts parts = split(x);
  Value *rest = fma(parts.e, number(kLn2Low), parts.low);
  Value *whole = builder.CreateFMul(parts.e, number(kLn2High)); // exact
  Value *sum = builder.CreateFAdd(whole, parts.high);
  Value *lost = builder.CreateFAdd(builder.CreateFSub(whole, sum), parts.high);
  Value *result = builder.CreateFAdd(sum, builder.CreateFAdd(lost, rest));
  if (factor != 1)
    result = builder.CreateFMul(result, number(factor));
  return logSpecial(x, result);
}

Value *WideMathFunctions::log2(Value *x) {
  LogParts parts = split(x);
  Value *product = builder.CreateFMul(parts.high, number(kLog2e));
  Value *rest = fma(parts.high, number(kLog2e), builder.CreateFNeg(product));
  rest = fma(parts.low, number(kLog2e), fma(parts.high, number(kLog2eRest), rest));
  Value *sum = builder.CreateFAdd(parts.e, product);
  Value *lost = builder.CreateFAdd(builder.CreateFSub(parts.e, sum), product);
  return logSpecial(x, builder.CreateFAdd(sum, builder.CreateFAdd(lost, rest)));
}

Value *WideMathFunctions::log10(Value *x) {
  return scaledLog(x, 0x1.bcb7b1526e50ep-2);
}

Value *WideMathFunctions::log1p(Value *x) {
  // ln(1 + x) = ln u + (x − (u − 1)) / u, where u = 1 + x rounded.
  Value *u = builder.CreateFAdd(x, number(1));
  Value *error = builder.CreateFSub(x, builder.CreateFSub(u, number(1)));
  Value *correction = builder.CreateFDiv(error, u);
  Value *isSmall = builder.CreateFCmpOLT(absolute(correction), number(1));
  Value *result = builder.CreateFAdd(log(u), choose(isSmall, correction, number(0)));
  return choose(builder.CreateFCmpOLT(absolute(x), number(0x1p-54)), x, result);
}

/// |x|^y: the logarithm and its product with y to about 70 bits.
Value *WideMathFunctions::powMagnitude(Value *x, Value *y) {
  LogParts parts = split(x);
  Value *whole = builder.CreateFMul(parts.e, number(kLn2High));
  Value *high = builder.CreateFAdd(whole, parts.high);
  Value *low = builder.CreateFAdd(builder.CreateFSub(whole, high), parts.high);
  low = builder.CreateFAdd(low, fma(parts.e, number(kLn2Low), parts.low));
  Value *sum = builder.CreateFAdd(high, low);
  low = builder.CreateFAdd(builder.CreateFSub(high, sum), low);
  Value *log = logSpecial(x, sum);
  Value *exponent = builder.CreateFMul(y, log);
  Value *error = fma(y, low, fma(y, log, builder.CreateFNeg(exponent)));
  Value *isSmall = builder.CreateFCmpOLT(absolute(error), number(1));
  Value *e = exp(exponent);
  Value *isFinite = builder.CreateFCmpOLT(e, infinity());
  return choose(builder.CreateAnd(isSmall, isFinite), fma(e, error, e), e);
}

Value *WideMathFunctions::pow(Value *x, Value *y) {
  // |x|^y, then the sign for negative x: odd integers keep it, other integers drop it, the rest has no real value.
  Value *zero = number(0), *one = number(1);
  Value *magnitude = powMagnitude(absolute(x), y);
  Value *half = builder.CreateFMul(y, number(0.5));
  Value *isInteger = builder.CreateFCmpOEQ(unary(llvm::Intrinsic::trunc, y), y);
  Value *isEven = builder.CreateFCmpOEQ(unary(llvm::Intrinsic::trunc, half), half);
  Value *isOdd = builder.CreateAnd(isInteger, builder.CreateNot(isEven));
  Value *isNegative = builder.CreateICmpSLT(bitsOf(x), integer(0));
  Value *result = choose(builder.CreateAnd(isNegative, isOdd), builder.CreateFNeg(magnitude), magnitude);
  Value *isBelow = builder.CreateAnd(builder.CreateFCmpOLT(x, zero), builder.CreateFCmpOGT(x, infinity(true)));
  result = choose(builder.CreateAnd(isBelow, builder.CreateNot(isInteger)), nan(), result);
  // (±1)^±∞ and x^0 are 1.
  Value *isUnit =
      builder.CreateAnd(builder.CreateFCmpOEQ(x, number(-1)), builder.CreateFCmpOEQ(absolute(y), infinity()));
  Value *isOne = builder.CreateOr(builder.CreateFCmpOEQ(y, zero), builder.CreateFCmpOEQ(x, one));
  return choose(builder.CreateOr(isOne, isUnit), one, result);
}

//===-- Circular functions --------------------------------------------------------===//

/// sin(x + quarters·π/2).
Value *WideMathFunctions::sine(Value *x, int quarters) {
  Value *n = unary(llvm::Intrinsic::rint, builder.CreateFMul(x, number(0x1.45f306dc9c883p-1)));
  Value *minus = builder.CreateFNeg(n);
  Value *r = fma(minus, number(kHalfPi), x);
  r = fma(minus, number(kHalfPiRest), r);
  Value *isKnown = builder.CreateFCmpOLE(absolute(x), number(0x1p20));
  r = choose(isKnown, r, nan());
  Value *z = builder.CreateFMul(r, r);
  Value *sinTail = polynomial(z, {1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
                                  1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6});
  Value *sin = fma(builder.CreateFMul(r, z), sinTail, r);
  Value *cosTail = polynomial(z, {-1.0 / 6402373705728000, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600,
                                  -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24});
  // 1 − z/2 keeps its rest.
  Value *halfZ = builder.CreateFMul(z, number(0.5)), *main = builder.CreateFSub(number(1), halfZ);
  Value *lost = builder.CreateFSub(builder.CreateFSub(number(1), main), halfZ);
  Value *cos = builder.CreateFAdd(main, fma(builder.CreateFMul(z, z), cosTail, lost));
  Value *q = builder.CreateAdd(toInt(n), integer(static_cast<uint64_t>(quarters)));
  Value *useCos = builder.CreateICmpNE(builder.CreateAnd(q, 1), integer(0));
  Value *isNegative = builder.CreateICmpNE(builder.CreateAnd(q, 2), integer(0));
  Value *result = choose(useCos, cos, sin);
  return choose(isNegative, builder.CreateFNeg(result), result);
}

Value *WideMathFunctions::atan2(Value *y, Value *x) {
  // Large and small side of the triangle, away from both ends of the range.
  Value *a = absolute(x), *b = absolute(y);
  Value *isSteep = builder.CreateFCmpOGT(b, a);
  Value *big = choose(isSteep, b, a), *small = choose(isSteep, a, b);
  Value *isHuge = builder.CreateFCmpOGT(big, number(0x1p1000));
  Value *isTiny = builder.CreateFCmpOLT(big, number(0x1p-900));
  Value *factor = choose(isHuge, number(0x1p-100), choose(isTiny, number(0x1p100), number(1)));
  big = builder.CreateFMul(big, factor);
  small = builder.CreateFMul(small, factor);
  // Beyond tan(π/8) the angle to the diagonal.
  Value *isWide = builder.CreateFCmpOGT(small, builder.CreateFMul(big, number(0.41421356237309503)));
  Value *top = choose(isWide, builder.CreateFSub(small, big), small);
  Value *bottom = choose(isWide, builder.CreateFAdd(small, big), big);
  Value *isEqual = builder.CreateFCmpOEQ(small, big); // both infinite, or both zero
  Value *isZero = builder.CreateFCmpOEQ(big, number(0));
  Value *t = builder.CreateFDiv(choose(isEqual, number(0), top), choose(isEqual, number(1), bottom));
  Value *z = builder.CreateFMul(t, t);
  Value *tail = polynomial(z, {-0.0139053745331132339, 0.0306229955537355147, -0.041038875468626872,
                               0.0471925918824209238, -0.0525802027265675834, 0.0588192305611402256,
                               -0.0666664186913118267, 0.076923067291948968, -0.090909090668160809, 0.11111111110751481,
                               -0.142857142857114906, 0.199999999999999914, -0.333333333333333333});
  Value *angle = fma(builder.CreateFMul(t, z), tail, t);
  Value *diagonal = builder.CreateAnd(builder.CreateOr(isWide, isEqual), builder.CreateNot(isZero));
  angle = choose(diagonal, builder.CreateFAdd(number(kHalfPi / 2), builder.CreateFAdd(angle, number(kHalfPiRest / 2))),
                 angle);
  Value *steep = builder.CreateFSub(number(kHalfPi), builder.CreateFSub(angle, number(kHalfPiRest)));
  angle = choose(isSteep, steep, angle);
  Value *isLeft = builder.CreateICmpSLT(bitsOf(x), integer(0));
  Value *left = builder.CreateFSub(number(kPi), builder.CreateFSub(angle, number(kPiRest)));
  angle = copySign(choose(isLeft, left, angle), y);
  return choose(builder.CreateFCmpUNO(x, y), nan(), angle);
}

//===-- Hyperbolic functions, erf, roots ------------------------------------------===//

Value *WideMathFunctions::sinh(Value *x) {
  Value *magnitude = absolute(x), *z = builder.CreateFMul(x, x);
  Value *tail = polynomial(z, {1.0 / 121645100408832000, 1.0 / 355687428096000, 1.0 / 1307674368000, 1.0 / 6227020800,
                               1.0 / 39916800, 1.0 / 362880, 1.0 / 5040, 1.0 / 120, 1.0 / 6});
  Value *small = fma(builder.CreateFMul(x, z), tail, x);
  Value *half = expTimes(magnitude, -1);
  Value *large = builder.CreateFSub(half, builder.CreateFDiv(number(0.25), half));
  return choose(builder.CreateFCmpOLT(magnitude, number(1)), small, copySign(large, x));
}

Value *WideMathFunctions::cosh(Value *x) {
  Value *half = expTimes(absolute(x), -1);
  return builder.CreateFAdd(half, builder.CreateFDiv(number(0.25), half));
}

Value *WideMathFunctions::tanh(Value *x) {
  Value *magnitude = absolute(x);
  Value *e = expm1(builder.CreateFMul(builder.CreateMinNum(magnitude, number(30)), number(2)));
  Value *small = builder.CreateFDiv(e, builder.CreateFAdd(e, number(2)));
  Value *large = builder.CreateFSub(number(1), builder.CreateFDiv(number(2), builder.CreateFAdd(e, number(2))));
  Value *result = choose(builder.CreateFCmpOLT(magnitude, number(0.5)), small, large);
  return choose(builder.CreateFCmpUNO(x, x), x, copySign(result, x));
}

Value *WideMathFunctions::erf(Value *x) {
  Value *magnitude = absolute(x), *z = builder.CreateFMul(x, x);
  Value *tail =
      polynomial(z, {5.4163832220392979e-11, -1.10295086267866029e-9, 1.45642941992348067e-8, -1.63350439473963895e-7,
                     1.64594508736330876e-6, -0.0000149254913395000446, 0.000120553264611599422,
                     -0.000854832684387374412, 0.00522397762226257755, -0.0268661706447957851, 0.112837916709532849,
                     -0.376126389031837127, 0.12837916709551257});
  Value *small = fma(x, tail, x);
  // 1 − e^(−x²) · g(t) / (1 + 2x), t = (x − 2.5) / (x + 2.5), up to 6.2, where the complement is below half an ulp.
  Value *bounded = builder.CreateMinNum(magnitude, number(6.2));
  Value *t = builder.CreateFDiv(builder.CreateFSub(bounded, number(2.5)), builder.CreateFAdd(bounded, number(2.5)));
  Value *g =
      polynomial(t, {5.24705244737478147e-7, -1.19267809301333533e-6, -4.20905821093998175e-6, 2.47878976902290167e-6,
                     0.0000226962678174616399, 6.28992492672009559e-6, -0.000113521740572860371,
                     -0.0000884818516225914267, 0.000632124275267415995, 0.000491865985296442932,
                     -0.00438207833620127269, 0.000931892810707973179, 0.0327608932685131016, -0.102967056038438149,
                     0.157629919023221089, -0.0990245395736028969, -0.122356763082404315, 1.26483818436686148});
  Value *square = builder.CreateFMul(bounded, bounded);
  Value *squareRest = fma(bounded, bounded, builder.CreateFNeg(square));
  Value *e = exp(builder.CreateFNeg(square));
  e = fma(e, builder.CreateFNeg(squareRest), e);
  Value *complement = builder.CreateFDiv(builder.CreateFMul(e, g), fma(bounded, number(2), number(1)));
  Value *large = copySign(builder.CreateFSub(number(1), complement), x);
  Value *result = choose(builder.CreateFCmpOLT(magnitude, number(1)), small, large);
  return choose(builder.CreateFCmpUNO(x, x), x, result);
}

Value *WideMathFunctions::cbrt(Value *x) {
  Value *magnitude = absolute(x);
  // Away from both ends of the range, by a power whose root is one too.
  Value *isSmall = builder.CreateFCmpOLT(magnitude, number(0x1p-500));
  Value *isLarge = builder.CreateFCmpOGT(magnitude, number(0x1p500));
  auto pick = [&](double small, double large) {
    return choose(isSmall, number(small), choose(isLarge, number(large), number(1)));
  };
  Value *a = builder.CreateFMul(magnitude, pick(0x1p300, 0x1p-300));
  // A third of the exponent, right to about five bits; each step of Halley's triples them.
  Value *top = builder.CreateTrunc(builder.CreateLShr(bitsOf(a), 32), builder.getInt32Ty());
  Value *third = builder.CreateAdd(builder.CreateUDiv(top, builder.getInt32(3)), builder.getInt32(715094163));
  Value *root = fromBits(builder.CreateShl(builder.CreateZExt(third, builder.getInt64Ty()), 32));
  for (int step = 0; step < 3; ++step) {
    Value *square = builder.CreateFMul(root, root);
    Value *cube = builder.CreateFMul(square, root);
    // The last step's correction is small: it is computed from an exact square.
    Value *squareRest = fma(root, root, builder.CreateFNeg(square));
    Value *error = fma(square, root, builder.CreateFNeg(a));
    error = fma(squareRest, root, error);
    Value *slope = builder.CreateFAdd(builder.CreateFAdd(cube, cube), a);
    root = fma(root, builder.CreateFDiv(builder.CreateFNeg(error), slope), root);
  }
  root = builder.CreateFMul(root, pick(0x1p-100, 0x1p100));
  Value *isOrdinary =
      builder.CreateAnd(builder.CreateFCmpOLT(magnitude, infinity()), builder.CreateFCmpOGT(magnitude, number(0)));
  return choose(isOrdinary, copySign(root, x), x);
}

} // namespace soliton::backend
