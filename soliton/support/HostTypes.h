//===- HostTypes.h - Numbers of which C++ has no type ----------------------------===//
//
// Short floats on the host: stored as their bits, read as `float`, rounded to nearest even when they are set.
//
//   half x = 0.1f;          sizeof(half) == 2,  x == 0.0999755859375f
//   std::vector<half> a;    what `memory("a", …, f16)` takes
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/Float.h"

namespace soliton {

template <DType type, typename Bits>
class HostFloat {
public:
  static constexpr DType dtype = type;

  HostFloat() = default;
  HostFloat(float value) {
    if constexpr (type == DType::f16)
      stored = floatToHalf(value);
    else if constexpr (type == DType::bf16)
      stored = floatToBfloat(value);
    else
      stored = static_cast<Bits>(encode(type, value));
  }
  static HostFloat fromBits(Bits bits) {
    HostFloat made;
    made.stored = bits;
    return made;
  }

  Bits toBits() const { return stored; }
  operator float() const {
    if constexpr (type == DType::f16)
      return halfToFloat(stored);
    else if constexpr (type == DType::bf16)
      return bfloatToFloat(stored);
    else
      return static_cast<float>(decode(type, stored));
  }

private:
  Bits stored = 0;
};

using half = HostFloat<DType::f16, uint16_t>;
using bfloat16 = HostFloat<DType::bf16, uint16_t>;
using float8_e4m3fn = HostFloat<DType::f8e4m3fn, uint8_t>;
using float8_e5m2 = HostFloat<DType::f8e5m2, uint8_t>;
using float8_e4m3fnuz = HostFloat<DType::f8e4m3fnuz, uint8_t>;
using float8_e5m2fnuz = HostFloat<DType::f8e5m2fnuz, uint8_t>;
using float8_e8m0fnu = HostFloat<DType::f8e8m0fnu, uint8_t>;

} // namespace soliton
