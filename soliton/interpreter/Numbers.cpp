//===- Numbers.cpp - The functions of one element ----------------------------===//

#include "soliton/interpreter/Numbers.h"

#include "soliton/support/Float.h"

#include <cmath>
#include <limits>

namespace soliton::interp {
using wave::AtomicKind;
using wave::BinaryKind;
using wave::ReduceKind;
using wave::UnaryKind;

double round(DType type, double value) {
  if (type == DType::f64)
    return value;
  auto single = static_cast<float>(value);
  if (type == DType::f32)
    return single;
  // Rounding twice is wrong unless the first step was exact.
  if (type == DType::f16 && static_cast<double>(single) == value)
    return halfToFloat(floatToHalf(single));
  return roundTo(type, value);
}

int64_t wrap(DType type, int64_t value) {
  if (type == DType::i1)
    return value & 1;
  int shift = 64 - bits(type);
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

int64_t toInteger(DType type, double value) {
  if (type == DType::i1)
    return value != 0;
  if (!std::isfinite(value))
    return 0;
  double whole = std::trunc(value);
  if (std::abs(whole) < 0x1p63)
    return wrap(type, static_cast<int64_t>(whole));
  // Beyond int64 only the low bits matter; fmod is exact.
  double low = std::fmod(whole, 0x1p64);
  auto magnitude = static_cast<uint64_t>(std::abs(low));
  return wrap(type, static_cast<int64_t>(low < 0 ? 0 - magnitude : magnitude));
}

double toFloat(DType type, int64_t value) {
  if (type == DType::f32)
    return static_cast<float>(value);
  return round(type, static_cast<double>(value));
}

//===-- Unary -----------------------------------------------------------------===//

std::optional<double> apply(UnaryKind kind, double x) {
  switch (kind) {
  case UnaryKind::abs:
    return std::fabs(x);
  case UnaryKind::neg:
    return -x;
  case UnaryKind::logical_not:
    return std::nullopt;
  case UnaryKind::exp:
    return std::exp(x);
  case UnaryKind::exp2:
    return std::exp2(x);
  case UnaryKind::log:
    return std::log(x);
  case UnaryKind::log2:
    return std::log2(x);
  case UnaryKind::log10:
    return std::log10(x);
  case UnaryKind::sqrt:
    return std::sqrt(x);
  case UnaryKind::rsqrt:
    return 1.0 / std::sqrt(x);
  case UnaryKind::reciprocal:
    return 1.0 / x;
  case UnaryKind::sin:
    return std::sin(x);
  case UnaryKind::cos:
    return std::cos(x);
  case UnaryKind::sinh:
    return std::sinh(x);
  case UnaryKind::tanh:
    return std::tanh(x);
  case UnaryKind::erf:
    return std::erf(x);
  case UnaryKind::cbrt:
    return std::cbrt(x);
  case UnaryKind::floor:
    return std::floor(x);
  case UnaryKind::ceil:
    return std::ceil(x);
  case UnaryKind::round:
    return std::round(x);
  case UnaryKind::roundeven:
    return std::nearbyint(x);
  }
  return std::nullopt;
}

std::optional<int64_t> apply(UnaryKind kind, int64_t x) {
  switch (kind) {
  case UnaryKind::abs:
    return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x;
  case UnaryKind::neg:
    return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  case UnaryKind::logical_not:
    return ~x;
  case UnaryKind::floor:
  case UnaryKind::ceil:
  case UnaryKind::round:
  case UnaryKind::roundeven:
    return x;
  default:
    return std::nullopt;
  }
}

//===-- Binary ----------------------------------------------------------------===//

/// `a - floor(a / b) * b` without rounding on the way: the sign of `b`.
static double floorModulus(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && std::signbit(rest) != std::signbit(b) ? rest + b : rest;
}

std::optional<double> apply(BinaryKind kind, double a, double b) {
  switch (kind) {
  case BinaryKind::add:
    return a + b;
  case BinaryKind::sub:
    return a - b;
  case BinaryKind::mul:
    return a * b;
  case BinaryKind::div:
    return a / b;
  case BinaryKind::floordiv:
    return std::floor(a / b);
  case BinaryKind::mod:
    return floorModulus(a, b);
  case BinaryKind::max:
    return combine(ReduceKind::max, a, b);
  case BinaryKind::min:
    return combine(ReduceKind::min, a, b);
  case BinaryKind::pow:
    return std::pow(a, b);
  case BinaryKind::atan2:
    return std::atan2(a, b);
  case BinaryKind::bit_and:
  case BinaryKind::bit_or:
  case BinaryKind::bit_xor:
    return std::nullopt;
  }
  return std::nullopt;
}

/// Quotient toward zero and remainder; the one overflow wraps.
static std::optional<std::pair<int64_t, int64_t>> divide(int64_t a, int64_t b) {
  if (b == 0)
    return std::nullopt;
  if (b == -1)
    return std::pair(static_cast<int64_t>(0 - static_cast<uint64_t>(a)), int64_t(0));
  return std::pair(a / b, a % b);
}

static int64_t power(int64_t base, int64_t exponent) {
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return static_cast<int64_t>(result);
}

std::optional<int64_t> apply(BinaryKind kind, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (kind) {
  case BinaryKind::add:
    return static_cast<int64_t>(ua + ub);
  case BinaryKind::sub:
    return static_cast<int64_t>(ua - ub);
  case BinaryKind::mul:
    return static_cast<int64_t>(ua * ub);
  case BinaryKind::div:
    if (auto parts = divide(a, b))
      return parts->first;
    return std::nullopt;
  case BinaryKind::floordiv:
    if (auto parts = divide(a, b))
      return parts->first - (parts->second != 0 && (parts->second < 0) != (b < 0));
    return std::nullopt;
  case BinaryKind::mod:
    if (auto parts = divide(a, b))
      return parts->second != 0 && (parts->second < 0) != (b < 0) ? parts->second + b : parts->second;
    return std::nullopt;
  case BinaryKind::max:
    return std::max(a, b);
  case BinaryKind::min:
    return std::min(a, b);
  case BinaryKind::bit_and:
    return a & b;
  case BinaryKind::bit_or:
    return a | b;
  case BinaryKind::bit_xor:
    return a ^ b;
  case BinaryKind::pow:
    return b < 0 ? std::nullopt : std::optional(power(a, b));
  case BinaryKind::atan2:
    return std::nullopt;
  }
  return std::nullopt;
}

//===-- Reductions ------------------------------------------------------------===//

double identity(ReduceKind kind, DType type, double) {
  if (kind == ReduceKind::sum)
    return 0;
  if (kind == ReduceKind::prod)
    return 1;
  double limit = std::isinf(roundTo(type, INFINITY)) ? INFINITY : largestFinite(type);
  return kind == ReduceKind::max ? -limit : limit;
}

int64_t identity(ReduceKind kind, DType type, int64_t) {
  if (kind == ReduceKind::sum || kind == ReduceKind::any)
    return 0;
  if (kind == ReduceKind::prod || kind == ReduceKind::all)
    return 1;
  int64_t highest = std::numeric_limits<int64_t>::max() >> (64 - bits(type));
  return kind == ReduceKind::min ? highest : -highest - 1;
}

double combine(ReduceKind kind, double a, double b) {
  if (kind == ReduceKind::sum)
    return a + b;
  if (kind == ReduceKind::prod)
    return a * b;
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return kind == ReduceKind::max ? std::max(a, b) : std::min(a, b);
}

int64_t combine(ReduceKind kind, int64_t a, int64_t b) {
  if (kind == ReduceKind::sum)
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  if (kind == ReduceKind::prod)
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  // Of truths, 0 and 1, the greater says whether there is one, the lesser whether all are.
  bool greater = kind == ReduceKind::max || kind == ReduceKind::any;
  return greater ? std::max(a, b) : std::min(a, b);
}

//===-- Atomics ---------------------------------------------------------------===//

double updated(AtomicKind kind, DType type, double old, double value) {
  switch (kind) {
  case AtomicKind::add:
    return round(type, old + value);
  case AtomicKind::min:
    return value < old ? value : old;
  case AtomicKind::max:
    return value > old ? value : old;
  default:
    return value;
  }
}

int64_t updated(AtomicKind kind, DType type, int64_t old, int64_t value) {
  switch (kind) {
  case AtomicKind::add:
    return wrap(type, static_cast<int64_t>(static_cast<uint64_t>(old) + static_cast<uint64_t>(value)));
  case AtomicKind::min:
    return std::min(old, value);
  case AtomicKind::max:
    return std::max(old, value);
  case AtomicKind::exchange:
  case AtomicKind::cas: // where the old one was expected
    return value;
  case AtomicKind::bit_and:
    return old & value;
  case AtomicKind::bit_or:
    return old | value;
  case AtomicKind::bit_xor:
    return old ^ value;
  }
  return value;
}

} // namespace soliton::interp
