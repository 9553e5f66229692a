#include "soliton/support/Float.h"

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

namespace soliton {
namespace {

/// What the encodings beyond the largest finite number mean.
enum class Special : uint8_t {
  ieee,   ///< the top exponent holds infinity and NaN
  fn,     ///< no infinity; all ones is NaN, of either sign
  fnuz,   ///< no infinity, no negative zero; its encoding is the one NaN
  finite, ///< every encoding is a finite number
  scale,  ///< unsigned powers of two without zero; all ones is NaN
};

struct Format {
  int exponentBits;
  int mantissaBits;
  int bias;
  Special special;

  bool isSigned() const { return special != Special::scale; }
  uint64_t signBit() const { return isSigned() ? uint64_t(1) << (exponentBits + mantissaBits) : 0; }
  uint64_t allOnes() const { return (uint64_t(1) << (exponentBits + mantissaBits)) - 1; }
  uint64_t topExponent() const { return ((uint64_t(1) << exponentBits) - 1) << mantissaBits; }
  /// Where there are subnormals, exponent field 0 has the weight of field 1.
  int lowestField() const { return special == Special::scale ? 0 : 1; }

  uint64_t largest() const {
    switch (special) {
    case Special::ieee:
      return topExponent() - 1;
    case Special::fn:
    case Special::scale:
      return allOnes() - 1;
    case Special::fnuz:
    case Special::finite:
      return allOnes();
    }
    return 0;
  }

  /// A format without NaN takes its largest number instead, as the conversions of the hardware do.
  uint64_t nan() const {
    switch (special) {
    case Special::ieee:
      return topExponent() | uint64_t(1) << (mantissaBits - 1);
    case Special::fn:
    case Special::scale:
    case Special::finite:
      return allOnes();
    case Special::fnuz:
      return signBit();
    }
    return 0;
  }
};

constexpr Format kFormats[] = {
    /* f4e2m1fn   */ {2, 1, 1, Special::finite},
    /* f6e2m3fn   */ {2, 3, 1, Special::finite},
    /* f6e3m2fn   */ {3, 2, 3, Special::finite},
    /* f8e4m3fn   */ {4, 3, 7, Special::fn},
    /* f8e4m3fnuz */ {4, 3, 8, Special::fnuz},
    /* f8e5m2     */ {5, 2, 15, Special::ieee},
    /* f8e5m2fnuz */ {5, 2, 16, Special::fnuz},
    /* f8e8m0fnu  */ {8, 0, 127, Special::scale},
    /* f16        */ {5, 10, 15, Special::ieee},
    /* bf16       */ {8, 7, 127, Special::ieee},
    /* f32        */ {8, 23, 127, Special::ieee},
    /* f64        */ {11, 52, 1023, Special::ieee},
};
static_assert(std::size(kFormats) == size_t(DType::f64) - size_t(DType::f4e2m1fn) + 1);

constexpr int kDoubleMantissa = 52;
constexpr int kDoubleBias = 1023;
constexpr uint64_t kDoubleHidden = uint64_t(1) << kDoubleMantissa;

const Format &formatOf(DType type) {
  return kFormats[size_t(type) - size_t(DType::f4e2m1fn)];
}

uint64_t widthMask(DType type) {
  return bits(type) == 64 ? ~uint64_t(0) : (uint64_t(1) << bits(type)) - 1;
}

/// `significand >> shift`, to nearest, ties to even.
uint64_t shiftAndRound(uint64_t significand, int shift) {
  if (shift == 0)
    return significand;
  if (shift > kDoubleMantissa + 2)
    return 0;
  uint64_t quotient = significand >> shift;
  uint64_t rest = significand & ((uint64_t(1) << shift) - 1);
  uint64_t half = uint64_t(1) << (shift - 1);
  bool up = rest > half || (rest == half && (quotient & 1));
  return quotient + up;
}

/// The encoding without sign of a positive finite number, as if the exponent field had no end.
uint64_t encodeMagnitude(const Format &format, uint64_t doubleBits) {
  int exponent = static_cast<int>(doubleBits >> kDoubleMantissa) - kDoubleBias;
  uint64_t significand = doubleBits & (kDoubleHidden - 1);
  if (exponent == -kDoubleBias)
    exponent = 1 - kDoubleBias;
  else
    significand |= kDoubleHidden;
  while (!(significand & kDoubleHidden)) {
    significand <<= 1;
    --exponent;
  }
  int field = exponent + format.bias;
  int shift = kDoubleMantissa - format.mantissaBits;
  if (field < format.lowestField()) {
    shift += format.lowestField() - field;
    field = format.lowestField();
  }
  // The hidden bit carries into the exponent field: a round up to the next power of two needs no case of its own.
  uint64_t rounded = shiftAndRound(significand, shift);
  uint64_t hidden = uint64_t(1) << format.mantissaBits;
  uint64_t base = static_cast<uint64_t>(field) << format.mantissaBits;
  return base + rounded < hidden ? 0 : base + rounded - hidden;
}

uint64_t overflowed(const Format &format, Overflow overflow) {
  if (overflow == Overflow::saturate || format.special == Special::finite)
    return format.largest();
  return format.special == Special::ieee ? format.topExponent() : format.nan();
}

uint64_t encodeFloat(const Format &format, double value, Overflow overflow) {
  if (std::isnan(value))
    return format.nan();
  uint64_t source = std::bit_cast<uint64_t>(value);
  bool negative = source >> 63;
  uint64_t magnitude = source & ~(uint64_t(1) << 63);
  if (negative && magnitude != 0 && !format.isSigned())
    return format.nan();
  uint64_t encoded = 0;
  if (std::isinf(value))
    encoded = format.largest() + 1;
  else if (magnitude != 0)
    encoded = encodeMagnitude(format, magnitude);
  if (encoded > format.largest())
    encoded = overflowed(format, overflow);
  if (!negative || (encoded == 0 && format.special == Special::fnuz))
    return encoded;
  return encoded | format.signBit();
}

double decodeFloat(const Format &format, uint64_t encoded) {
  bool negative = encoded & format.signBit();
  uint64_t magnitude = encoded & format.allOnes();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (format.special == Special::fnuz && encoded == format.signBit())
    return nan;
  if (magnitude > format.largest()) {
    bool infinite = format.special == Special::ieee && magnitude == format.topExponent();
    if (!infinite)
      return nan;
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  int field = static_cast<int>(magnitude >> format.mantissaBits);
  uint64_t hidden = uint64_t(1) << format.mantissaBits;
  uint64_t significand = magnitude & (hidden - 1);
  if (field >= format.lowestField())
    significand |= hidden;
  else
    field = format.lowestField();
  // Exact: at most 53 significant bits, and every format's range lies inside that of double.
  double result = std::ldexp(static_cast<double>(significand), field - format.bias - format.mantissaBits);
  return negative ? -result : result;
}

uint64_t encodeInteger(DType type, double value) {
  if (!std::isfinite(value))
    return 0;
  double wrapped = std::fmod(std::trunc(value), 0x1p64);
  uint64_t magnitude = static_cast<uint64_t>(std::fabs(wrapped));
  return (wrapped < 0 ? uint64_t(0) - magnitude : magnitude) & widthMask(type);
}

double decodeInteger(DType type, uint64_t encoded) {
  if (type == DType::i1)
    return static_cast<double>(encoded & 1);
  int unused = 64 - bits(type);
  return static_cast<double>(static_cast<int64_t>(encoded << unused) >> unused);
}

} // namespace

uint64_t encode(DType type, double value, Overflow overflow) {
  return isFloat(type) ? encodeFloat(formatOf(type), value, overflow) : encodeInteger(type, value);
}

double decode(DType type, uint64_t encoded) {
  if (type == DType::f64)
    return std::bit_cast<double>(encoded);
  return isFloat(type) ? decodeFloat(formatOf(type), encoded & widthMask(type)) : decodeInteger(type, encoded);
}

double roundTo(DType type, double value) {
  return decode(type, encode(type, value));
}

double largestFinite(DType type) {
  return decode(type, formatOf(type).largest());
}

double epsilon(DType type) {
  return std::ldexp(1.0, -formatOf(type).mantissaBits);
}

const float *decodeTable(DType type) {
  static std::array<std::unique_ptr<float[]>, size_t(DType::f64) + 1> tables;
  static std::array<std::once_flag, size_t(DType::f64) + 1> built;
  if (bits(type) > 16)
    return nullptr;
  size_t index = static_cast<size_t>(type);
  std::call_once(built[index], [&] {
    size_t count = size_t(1) << bits(type);
    tables[index] = std::make_unique<float[]>(count);
    for (size_t i = 0; i < count; ++i)
      tables[index][i] = static_cast<float>(decode(type, i));
  });
  return tables[index].get();
}

} // namespace soliton
