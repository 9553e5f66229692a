//===- EvalConvert.cpp - Conversion between types -------------------------===//
//
// Numbers to numbers (rounding and saturation as the instruction says) and bits to bits.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Numbers.h"
#include "soliton/emulator/Wave.h"
#include "soliton/support/Float.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace soliton::emu {
namespace {

uint64_t maskOf(int width) {
  return width == 64 ? ~0ull : (1ull << width) - 1;
}

int64_t signExtend(uint64_t value, int width) {
  return static_cast<int64_t>(value << (64 - width)) >> (64 - width);
}

/// Applies `f` (element bits as uint64 -> result bits as uint64) to every word.
template <typename From, typename To, typename F>
void mapWords(const From *from, To *to, uint32_t count, F f) {
  for (uint32_t i = 0; i < count; ++i)
    to[i] = static_cast<To>(f(static_cast<uint64_t>(from[i])));
}

template <typename F>
void mapSlots(Wave &wave, const Instr &instr, F f) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  bool perLane = place.lanes != 1;
  bool wideFrom = wave.prepared.slots[instr.src[0]].wide;
  if (wideFrom && place.wide)
    mapWords(wave.read<uint64_t>(instr.src[0], perLane, 0), wave.write<uint64_t>(instr.dst), place.words, f);
  else if (wideFrom)
    mapWords(wave.read<uint64_t>(instr.src[0], perLane, 0), wave.write<uint32_t>(instr.dst), place.words, f);
  else if (place.wide)
    mapWords(wave.read<uint32_t>(instr.src[0], perLane, 0), wave.write<uint64_t>(instr.dst), place.words, f);
  else
    mapWords(wave.read<uint32_t>(instr.src[0], perLane, 0), wave.write<uint32_t>(instr.dst), place.words, f);
}

struct Types {
  DType from, to;
  int fromBits, toBits;
  Types(Wave &wave, const Instr &instr)
      : from(wave.program.slots[instr.src[0]].type), to(wave.program.slots[instr.dst].type), fromBits(bits(from)),
        toBits(bits(to)) {}
};

void evalExtend(Wave &wave, const Instr &instr) {
  Types types(wave, instr);
  mapSlots(wave, instr,
           [=](uint64_t v) { return static_cast<uint64_t>(signExtend(v, types.fromBits)) & maskOf(types.toBits); });
}

void evalCut(Wave &wave, const Instr &instr) {
  Types types(wave, instr);
  mapSlots(wave, instr, [=](uint64_t v) { return v & maskOf(types.toBits); });
}

/// Bits of an integer as a float: one rounding.
template <typename Int>
uint64_t floatOf(DType to, Int value) {
  if (to == DType::f32)
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (to == DType::f64)
    return std::bit_cast<uint64_t>(static_cast<double>(value));
  return encode(to, static_cast<double>(value));
}

void evalIntToFloat(Wave &wave, const Instr &instr) {
  Types types(wave, instr);
  if (static_cast<ConvertOp>(instr.sub) == ConvertOp::SToF)
    mapSlots(wave, instr, [=](uint64_t v) { return floatOf(types.to, signExtend(v, types.fromBits)); });
  else
    mapSlots(wave, instr, [=](uint64_t v) { return floatOf(types.to, v); });
}

uint64_t integerOf(double value, bool isSigned, int width) {
  if (value != value)
    return 0;
  double truncated = std::trunc(value);
  double high = std::ldexp(1.0, isSigned ? width - 1 : width), low = isSigned ? -high : 0.0;
  if (truncated >= high)
    return isSigned ? maskOf(width) >> 1 : maskOf(width);
  if (truncated <= low)
    return isSigned ? (maskOf(width) >> 1) + 1 : 0;
  if (truncated < 0)
    return static_cast<uint64_t>(static_cast<int64_t>(truncated)) & maskOf(width);
  return static_cast<uint64_t>(truncated);
}

void evalFloatToInt(Wave &wave, const Instr &instr) {
  Types types(wave, instr);
  bool isSigned = static_cast<ConvertOp>(instr.sub) == ConvertOp::FToS;
  mapSlots(wave, instr, [=](uint64_t v) { return integerOf(floatValue(types.from, v), isSigned, types.toBits); });
}

/// Nearest even, no saturation, nothing wider than 32 bits: whole slots at a time.
void evalFloatFast(Wave &wave, const Instr &instr) {
  Types types(wave, instr);
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  float *values = reinterpret_cast<float *>(wave.group.scratch[2].data());
  toFloats(types.from, wave.read<uint32_t>(instr.src[0], place.lanes != 1, 0), values, place.words);
  fromFloats(types.to, values, wave.words(instr.dst), place.words);
}

void evalFloat(Wave &wave, const Instr &instr) {
  Types types(wave, instr);
  uint8_t rounding = instr.flags & kRoundingMask;
  bool saturate = instr.flags & kSaturate;
  mapSlots(wave, instr, [=](uint64_t v) {
    double value = floatValue(types.from, v);
    if (types.to == DType::f64)
      return std::bit_cast<uint64_t>(value);
    return roundFloat(types.to, value, rounding, saturate);
  });
}

/// Total bits per lane stay; element i starts at bit i * width, in both types.
template <typename From, typename To>
void recast(const From *from, To *to, uint32_t lanes, uint32_t toCount, int fromBits, int toBits) {
  for (uint32_t element = 0; element < toCount; ++element)
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      uint64_t value = 0;
      uint64_t bit = uint64_t(element) * uint64_t(toBits);
      for (int filled = 0; filled < toBits;) {
        uint64_t source = bit + uint64_t(filled);
        int offset = static_cast<int>(source % uint64_t(fromBits));
        int take = std::min(fromBits - offset, toBits - filled);
        uint64_t part =
            static_cast<uint64_t>(from[source / uint64_t(fromBits) * lanes + lane]) >> offset & maskOf(take);
        value |= part << filled;
        filled += take;
      }
      to[element * lanes + lane] = static_cast<To>(value);
    }
}

void evalBitcast(Wave &wave, const Instr &instr) {
  Types types(wave, instr);
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const SlotPlace &source = wave.prepared.slots[instr.src[0]];
  uint32_t count = wave.program.slots[instr.dst].count, lanes = place.lanes;
  bool perLane = lanes != 1;
  if (types.fromBits == types.toBits) {
    const std::byte *from = place.wide
                                ? reinterpret_cast<const std::byte *>(wave.read<uint64_t>(instr.src[0], perLane, 0))
                                : reinterpret_cast<const std::byte *>(wave.read<uint32_t>(instr.src[0], perLane, 0));
    std::memmove(wave.write<std::byte>(instr.dst), from, size_t(place.words) * (place.wide ? 8 : 4));
    return;
  }
  if (source.wide)
    recast(wave.read<uint64_t>(instr.src[0], perLane, 0), wave.words(instr.dst), lanes, count, types.fromBits,
           types.toBits);
  else if (place.wide)
    recast(wave.read<uint32_t>(instr.src[0], perLane, 0), wave.wideWords(instr.dst), lanes, count, types.fromBits,
           types.toBits);
  else
    recast(wave.read<uint32_t>(instr.src[0], perLane, 0), wave.words(instr.dst), lanes, count, types.fromBits,
           types.toBits);
}

} // namespace

Handler convertHandler(const Program &program, const Instr &instr) {
  if (instr.op == Op::Bitcast)
    return evalBitcast;
  switch (static_cast<ConvertOp>(instr.sub)) {
  case ConvertOp::ExtS:
    return evalExtend;
  case ConvertOp::ExtU:
  case ConvertOp::TruncI:
    return evalCut;
  case ConvertOp::SToF:
  case ConvertOp::UToF:
    return evalIntToFloat;
  case ConvertOp::FToS:
  case ConvertOp::FToU:
    return evalFloatToInt;
  case ConvertOp::FToF:
    break;
  }
  bool wide = bits(program.slots[instr.dst].type) > 32 || bits(program.slots[instr.src[0]].type) > 32;
  return instr.flags == 0 && !wide ? evalFloatFast : evalFloat;
}

} // namespace soliton::emu
