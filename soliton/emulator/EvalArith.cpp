//===- EvalArith.cpp - Binary arithmetic ----------------------------------===//
//
// dst[i] = a[i] op b[i] over all elements and lanes at once. Integers of less than 32 bits are computed in 64 bits and
// cut; floats of less than 32 bits are computed in f32 and rounded, which for + - * / is the correctly rounded result.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Numbers.h"
#include "soliton/emulator/Wave.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace soliton::emu {
namespace {

template <BinaryOp op, typename U>
U integer(U a, U b) {
  using S = std::make_signed_t<U>;
  constexpr int width = std::numeric_limits<U>::digits;
  S x = static_cast<S>(a), y = static_cast<S>(b);
  // The one signed quotient that overflows wraps.
  auto quotient = [](S p, S q) {
    return q == 0 ? S(0) : q == -1 ? static_cast<S>(U(0) - static_cast<U>(p)) : S(p / q);
  };
  auto remainder = [](S p, S q) { return q == 0 || q == -1 ? S(0) : S(p % q); };
  switch (op) {
  case BinaryOp::AddI:
    return a + b;
  case BinaryOp::SubI:
    return a - b;
  case BinaryOp::MulI:
    return a * b;
  case BinaryOp::DivS:
    return static_cast<U>(quotient(x, y));
  case BinaryOp::DivU:
    return b == 0 ? 0 : a / b;
  case BinaryOp::RemS:
    return static_cast<U>(remainder(x, y));
  case BinaryOp::RemU:
    return b == 0 ? 0 : a % b;
  case BinaryOp::FloorDivS: {
    S q = quotient(x, y), r = remainder(x, y);
    return static_cast<U>(r != 0 && (r < 0) != (y < 0) ? q - 1 : q);
  }
  case BinaryOp::CeilDivS: {
    S q = quotient(x, y), r = remainder(x, y);
    return static_cast<U>(r != 0 && (r < 0) == (y < 0) ? q + 1 : q);
  }
  case BinaryOp::CeilDivU:
    return b == 0 ? 0 : a / b + (a % b != 0);
  case BinaryOp::And:
    return a & b;
  case BinaryOp::Or:
    return a | b;
  case BinaryOp::Xor:
    return a ^ b;
  case BinaryOp::Shl:
    return b < U(width) ? a << b : 0;
  case BinaryOp::ShrS:
    return static_cast<U>(x >> (b < U(width) ? b : U(width - 1)));
  case BinaryOp::ShrU:
    return b < U(width) ? a >> b : 0;
  case BinaryOp::MinS:
    return x < y ? a : b;
  case BinaryOp::MaxS:
    return x > y ? a : b;
  case BinaryOp::MinU:
    return a < b ? a : b;
  case BinaryOp::MaxU:
    return a > b ? a : b;
  case BinaryOp::MulHiS:
    if constexpr (width == 64)
      return static_cast<U>((static_cast<__int128>(x) * y) >> 64);
    else
      return static_cast<U>((static_cast<int64_t>(x) * y) >> 32);
  case BinaryOp::MulHiU:
    if constexpr (width == 64)
      return static_cast<U>((static_cast<unsigned __int128>(a) * b) >> 64);
    else
      return static_cast<U>((static_cast<uint64_t>(a) * b) >> 32);
  default:
    return 0;
  }
}

constexpr bool readsUnsigned(BinaryOp op) {
  switch (op) {
  case BinaryOp::DivU:
  case BinaryOp::RemU:
  case BinaryOp::CeilDivU:
  case BinaryOp::ShrU:
  case BinaryOp::MinU:
  case BinaryOp::MaxU:
  case BinaryOp::MulHiU:
    return true;
  default:
    return false;
  }
}

/// One element of less than 32 bits; `a` and `b` are zero-extended.
template <BinaryOp op>
uint32_t narrowInteger(uint32_t a, uint32_t b, int width) {
  uint64_t x = a, y = b, mask = (1ull << width) - 1;
  constexpr bool isShift = op == BinaryOp::Shl || op == BinaryOp::ShrS || op == BinaryOp::ShrU;
  if (!readsUnsigned(op)) {
    auto extend = [&](uint64_t v) {
      return static_cast<uint64_t>(static_cast<int64_t>(v << (64 - width)) >> (64 - width));
    };
    x = extend(x);
    y = isShift ? y : extend(y);
  }
  if constexpr (op == BinaryOp::MulHiS || op == BinaryOp::MulHiU)
    return static_cast<uint32_t>((x * y) >> width & mask);
  return static_cast<uint32_t>(integer<op, uint64_t>(x, y) & mask);
}

template <BinaryOp op, typename T>
T floating(T a, T b) {
  switch (op) {
  case BinaryOp::AddF:
    return a + b;
  case BinaryOp::SubF:
    return a - b;
  case BinaryOp::MulF:
    return a * b;
  case BinaryOp::DivF:
    return a / b;
  case BinaryOp::RemF:
    return std::fmod(a, b);
  case BinaryOp::MinimumF:
    return a != a ? a : b != b ? b : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
  case BinaryOp::MaximumF:
    return a != a ? a : b != b ? b : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
  case BinaryOp::MinNumF:
    return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
  case BinaryOp::MaxNumF:
    return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
  case BinaryOp::PowF:
    return std::pow(a, b);
  case BinaryOp::Atan2:
    return std::atan2(a, b);
  case BinaryOp::CopySign:
    return std::copysign(a, b);
  default:
    return T(0);
  }
}

template <BinaryOp op, typename U>
void evalInteger(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const U *a = wave.read<U>(instr.src[0], place.lanes != 1, 0);
  const U *b = wave.read<U>(instr.src[1], place.lanes != 1, 1);
  U *to = wave.write<U>(instr.dst);
  for (uint32_t i = 0; i < place.words; ++i)
    to[i] = integer<op, U>(a[i], b[i]);
}

template <BinaryOp op>
void evalNarrow(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const uint32_t *a = wave.read<uint32_t>(instr.src[0], place.lanes != 1, 0);
  const uint32_t *b = wave.read<uint32_t>(instr.src[1], place.lanes != 1, 1);
  uint32_t *to = wave.write<uint32_t>(instr.dst);
  int width = bits(wave.program.slots[instr.dst].type);
  for (uint32_t i = 0; i < place.words; ++i)
    to[i] = narrowInteger<op>(a[i], b[i], width);
}

template <BinaryOp op, typename T>
void evalFloat(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const T *a = wave.read<T>(instr.src[0], place.lanes != 1, 0);
  const T *b = wave.read<T>(instr.src[1], place.lanes != 1, 1);
  T *to = wave.write<T>(instr.dst);
  for (uint32_t i = 0; i < place.words; ++i)
    to[i] = floating<op, T>(a[i], b[i]);
}

template <BinaryOp op>
void evalSmallFloat(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  DType type = wave.program.slots[instr.dst].type;
  float *a = reinterpret_cast<float *>(wave.group.scratch[2].data());
  float *b = reinterpret_cast<float *>(wave.group.scratch[3].data());
  toFloats(type, wave.read<uint32_t>(instr.src[0], place.lanes != 1, 0), a, place.words);
  toFloats(type, wave.read<uint32_t>(instr.src[1], place.lanes != 1, 1), b, place.words);
  for (uint32_t i = 0; i < place.words; ++i)
    a[i] = floating<op, float>(a[i], b[i]);
  fromFloats(type, a, wave.words(instr.dst), place.words);
}

template <BinaryOp op>
Handler choose(DType type) {
  if constexpr (op >= BinaryOp::AddF)
    return type == DType::f32 ? evalFloat<op, float> : type == DType::f64 ? evalFloat<op, double> : evalSmallFloat<op>;
  else
    return type == DType::i32   ? evalInteger<op, uint32_t>
           : type == DType::i64 ? evalInteger<op, uint64_t>
                                : evalNarrow<op>;
}

template <int... ops>
Handler chooseFrom(int op, DType type, std::integer_sequence<int, ops...>) {
  Handler result = nullptr;
  ((op == ops ? void(result = choose<static_cast<BinaryOp>(ops)>(type)) : void()), ...);
  return result;
}

} // namespace

Handler binaryHandler(const Program &program, const Instr &instr) {
  return chooseFrom(instr.sub, program.slots[instr.dst].type, std::make_integer_sequence<int, kNumBinaryOps>());
}

} // namespace soliton::emu
