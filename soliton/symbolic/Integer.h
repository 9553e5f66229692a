//===- Integer.h - Checked and floor arithmetic on int64 -------------------===//
//
// The arithmetic of coefficients: every operation either is exact or reports overflow.
//
//   Expr c = checkedMul(a, b);        // throws ExprError (overflow)
//   if (!mulInto(a, b, &c)) ...       // false on overflow
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Expr.h"

#include <numeric>

namespace soliton::sym::detail {

[[noreturn]] void throwOverflow(const char *operation, int64_t a, int64_t b);
[[noreturn]] void throwError(ErrorKind kind, const char *message);

inline bool addInto(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
inline bool mulInto(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}

inline int64_t checkedAdd(int64_t a, int64_t b) {
  int64_t out;
  if (!addInto(a, b, &out))
    throwOverflow("+", a, b);
  return out;
}
inline int64_t checkedMul(int64_t a, int64_t b) {
  int64_t out;
  if (!mulInto(a, b, &out))
    throwOverflow("*", a, b);
  return out;
}
inline int64_t checkedNeg(int64_t a) {
  if (a == INT64_MIN)
    throwOverflow("*", a, -1);
  return -a;
}

/// Floor division for b > 0.
inline int64_t floorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b < 0);
}
/// Floor modulus for b > 0.
inline int64_t floorMod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r < 0 ? r + b : r;
}
/// Ceiling division for b > 0.
inline int64_t ceilDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q + (a % b > 0);
}

/// Greatest common divisor, never negative; |INT64_MIN| does not occur in the result unless both are it or 0.
inline int64_t gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  uint64_t y = b < 0 ? 0 - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  while (y) {
    uint64_t t = x % y;
    x = y;
    y = t;
  }
  return x > static_cast<uint64_t>(INT64_MAX) ? 1 : static_cast<int64_t>(x);
}

} // namespace soliton::sym::detail
