//===- Numbers.h - Slot words as numbers and back, many at a time ---------===//
//
// A slot keeps the bits of one element in one word of 32 (or 64) bits, zero-extended. These functions convert whole
// slots. f16, bf16 and f32 are fast; 8-bit and smaller formats go through tables made from support/Float.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/DType.h"

#include <cstddef>
#include <cstdint>

namespace soliton::emu {

/// Any float type but f64.
void toFloats(DType type, const uint32_t *bits, float *to, size_t count);

/// Any float type but f64; nearest even, overflow as Float.h's toNaN.
void fromFloats(DType type, const float *from, uint32_t *bits, size_t count);

/// Sign-extends integers of at most 32 bits.
void toInts(DType type, const uint32_t *bits, int32_t *to, size_t count);

/// The bits of `value` in `type`, rounded as told (see emu::Rounding); saturate as Float.h's saturate.
uint64_t roundFloat(DType type, double value, uint8_t rounding, bool saturate);

/// The number that `bits` stands for, any float type.
double floatValue(DType type, uint64_t bits);

} // namespace soliton::emu
