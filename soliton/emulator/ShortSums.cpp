//===- ShortSums.cpp - Products that are added up in few bits --------------===//
//
// A matrix unit for 8-bit floats shifts all terms of an instruction to the largest exponent of any of them and adds
// what is left above its last bit. With 13 bits below that exponent
//
//   2^13 + 1.5 + 1.5  =  2^13 + 1 + 1         each term is cut, towards zero
//
// No manual says so. It is what gives the sums that were measured on an H200 (docs/decisions/0039-sums-of-bytes.md).
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <cmath>

namespace soliton::emu {
namespace {
/// Below every exponent that a product of 8-bit floats or an f32 can have.
constexpr int kNoExponent = -1000;

int exponentOf(float value) {
  return value == 0 || !std::isfinite(value) ? kNoExponent : std::ilogb(value);
}

std::vector<int> exponentsOf(const std::vector<float> &values) {
  std::vector<int> exponents(values.size());
  std::transform(values.begin(), values.end(), exponents.begin(), exponentOf);
  return exponents;
}

/// `factors` and their exponents, `count` of them, `step` apart.
struct Line {
  const float *values;
  const int *exponents;
  size_t step;
};

float shortSum(const Line &a, const Line &b, float start, uint32_t count, uint32_t bits) {
  int top = exponentOf(start);
  float plain = start;
  for (size_t k = 0; k < count; ++k) {
    top = std::max(top, a.exponents[k * a.step] + b.exponents[k * b.step]);
    plain += a.values[k * a.step] * b.values[k * b.step];
  }
  if (!std::isfinite(plain) || top <= kNoExponent / 2) // nothing to cut of what is no number, or zero
    return plain;
  double unit = std::ldexp(1.0, top - static_cast<int>(bits)), perUnit = 1 / unit;
  auto units = static_cast<int32_t>(start * perUnit);
  for (size_t k = 0; k < count; ++k)
    units += static_cast<int32_t>(double(a.values[k * a.step]) * b.values[k * b.step] * perUnit);
  return static_cast<float>(units * unit);
}

} // namespace

void multiplyShort(Workgroup &group, const MmaKind &kind, uint32_t rows) {
  std::vector<int> left = exponentsOf(group.matrixA), right = exponentsOf(group.matrixB);
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t j = 0; j < kind.n; ++j) {
      size_t row = size_t(i) * kind.k;
      float &sum = group.matrixC[size_t(i) * kind.n + j];
      sum = shortSum({&group.matrixA[row], &left[row], 1}, {&group.matrixB[j], &right[j], kind.n}, sum, kind.k,
                     kind.sumBits);
    }
}

} // namespace soliton::emu
