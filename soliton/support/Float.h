//===- Float.h - Encoding and decoding of every number format -------------===//
//
// The bits of each element type as a number and back, exactly, with no help of the machine's own arithmetic. Emulator,
// interpreter, references and tests all round through this one place.
//
//   decode(DType::f8e4m3fn, 0x7e) == 448.0        encode(DType::bf16, 1.00390625) == 0x3f80   (ties to even)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/DType.h"

#include <bit>

namespace soliton {

/// What becomes of a finite number beyond the largest one of a format that has no infinity.
enum class Overflow : uint8_t {
  toNaN,   ///< IEEE-like: infinity where the format has one, otherwise NaN (formats without either saturate)
  saturate ///< the largest finite number of that sign, as the hardware's saturating conversions do; infinity as well
};

/// Rounds `value` to nearest, ties to even. Integers: rounds toward zero and wraps to the width; NaN and infinity
/// become 0. A format without NaN takes its largest number for NaN. `f8e8m0fnu` has neither sign nor zero: a negative
/// number becomes NaN, zero its smallest number, and a tie goes up.
uint64_t encode(DType type, double value, Overflow overflow = Overflow::toNaN);

/// The number that `bits` stands for; bits beyond the width are ignored. Integers are signed except `i1`.
double decode(DType type, uint64_t bits);

/// `decode(encode(value))`: the nearest number of that format.
double roundTo(DType type, double value);

/// Largest finite number of a float format.
double largestFinite(DType type);

/// Distance from 1 to the next number of a float format; half of it is its unit roundoff.
double epsilon(DType type);

/// All `2^bits` numbers of a type of at most 16 bits (f32 holds each exactly), indexed by encoding; otherwise null.
/// Built on first use.
const float *decodeTable(DType type);

/// `decode(f16, bits)` for inner loops.
inline float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude < 0x0400) { // zero, subnormal: an integer times 2^-24
    float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (uint32_t(127 - 15) << 23)));
}

/// `encode(f16, value)` for inner loops.
inline uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return 0x7e00;
  if (magnitude >= 0x477ff000) // halfway beyond 65504
    return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) { // below 2^-14: adding 1/2 rounds at 2^-24, the spacing of half's subnormals
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  uint32_t odd = magnitude >> 13 & 1;
  return static_cast<uint16_t>(sign | ((magnitude - (uint32_t(127 - 15) << 23) + 0xfff + odd) >> 13));
}

/// `decode(bf16, bits)` for inner loops.
inline float bfloatToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// `encode(bf16, value)` for inner loops.
inline uint16_t floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace soliton
