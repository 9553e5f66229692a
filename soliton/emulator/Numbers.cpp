//===- Numbers.cpp - Slot words as numbers and back -----------------------===//
//
// See Numbers.h.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Numbers.h"

#include "soliton/emulator/Kernels.h"
#include "soliton/emulator/Program.h"
#include "soliton/support/Float.h"

#include <array>
#include <bit>
#include <cmath>

namespace soliton::emu {

namespace {

using Table = std::array<float, 256>;

/// Values of every format of at most 8 bits, by type and bits.
const Table &tableOf(DType type) {
  static const std::vector<Table> tables = [] {
    std::vector<Table> result(allDTypes().size());
    for (DType t : allDTypes())
      if (isFloat(t) && bits(t) <= 8)
        for (unsigned i = 0; i < 256; ++i)
          result[static_cast<size_t>(t)][i] = static_cast<float>(decode(t, i & ((1u << bits(t)) - 1)));
    return result;
  }();
  return tables[static_cast<size_t>(type)];
}

} // namespace

void toFloats(DType type, const uint32_t *from, float *to, size_t count) {
  switch (type) {
  case DType::f32:
    for (size_t i = 0; i < count; ++i)
      to[i] = std::bit_cast<float>(from[i]);
    return;
  case DType::f16:
    return kernels().halfToFloat(from, to, count);
  case DType::bf16:
    for (size_t i = 0; i < count; ++i)
      to[i] = std::bit_cast<float>(from[i] << 16);
    return;
  default: {
    const Table &table = tableOf(type);
    for (size_t i = 0; i < count; ++i)
      to[i] = table[from[i] & 0xff];
  }
  }
}

void fromFloats(DType type, const float *from, uint32_t *to, size_t count) {
  switch (type) {
  case DType::f32:
    for (size_t i = 0; i < count; ++i)
      to[i] = std::bit_cast<uint32_t>(from[i]);
    return;
  case DType::f16:
    return kernels().floatToHalf(from, to, count);
  case DType::bf16:
    for (size_t i = 0; i < count; ++i) {
      uint32_t x = std::bit_cast<uint32_t>(from[i]);
      uint32_t rounded = (x + 0x7fffu + (x >> 16 & 1u)) >> 16;
      to[i] = (x & 0x7fffffffu) > 0x7f800000u ? (x >> 16 & 0x8000u) | 0x7fc0u : rounded;
    }
    return;
  default:
    for (size_t i = 0; i < count; ++i)
      to[i] = static_cast<uint32_t>(encode(type, from[i]));
  }
}

void toInts(DType type, const uint32_t *from, int32_t *to, size_t count) {
  int shift = 32 - bits(type);
  for (size_t i = 0; i < count; ++i)
    to[i] = static_cast<int32_t>(from[i] << shift) >> shift;
}

double floatValue(DType type, uint64_t word) {
  if (type == DType::f64)
    return std::bit_cast<double>(word);
  uint32_t narrow = static_cast<uint32_t>(word);
  float value;
  toFloats(type, &narrow, &value, 1);
  return value;
}

uint64_t roundFloat(DType type, double value, uint8_t rounding, bool saturate) {
  Overflow overflow = saturate ? Overflow::saturate : Overflow::toNaN;
  uint64_t nearest = encode(type, value, overflow);
  auto mode = static_cast<Rounding>(rounding);
  if (mode == Rounding::NearestEven || std::isnan(value) || std::isinf(value))
    return nearest;
  bool awayFromZero = mode == (std::signbit(value) ? Rounding::Down : Rounding::Up);
  uint64_t sign = type == DType::f8e8m0fnu ? 0 : uint64_t(1) << (bits(type) - 1);
  double largest = largestFinite(type);
  if (std::fabs(value) > largest && !awayFromZero)
    return encode(type, std::copysign(largest, value));
  double found = decode(type, nearest);
  if (found == value || std::isnan(found) || std::isinf(found))
    return nearest;
  if (found == 0 && awayFromZero) // The smallest number of that sign.
    return (std::signbit(value) ? sign : 0) | 1;
  // Neighbours in magnitude are neighbours in bits: every format here is sign and magnitude.
  bool tooSmall = std::fabs(found) < std::fabs(value);
  if (tooSmall && awayFromZero && std::fabs(found) < largest)
    return nearest + 1;
  return !tooSmall && !awayFromZero ? nearest - 1 : nearest;
}

} // namespace soliton::emu
