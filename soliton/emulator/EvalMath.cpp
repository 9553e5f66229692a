//===- EvalMath.cpp - Unary arithmetic and functions ----------------------===//
//
// dst[i] = f(a[i]). f32 uses the host's f32 functions, f64 its f64 ones, smaller floats go through f32.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Numbers.h"
#include "soliton/emulator/Wave.h"

#include <cmath>

namespace soliton::emu {
namespace {

/// Halves away from even, without asking the host's rounding mode.
template <typename T>
T roundEven(T x) {
  T rounded = std::round(x);
  if (std::fabs(x - std::trunc(x)) == T(0.5))
    rounded = T(2) * std::round(x / T(2));
  return std::copysign(rounded, x);
}

template <UnaryOp op, typename T>
T floating(T a) {
  switch (op) {
  case UnaryOp::NegF:
    return -a;
  case UnaryOp::AbsF:
    return std::fabs(a);
  case UnaryOp::Floor:
    return std::floor(a);
  case UnaryOp::Ceil:
    return std::ceil(a);
  case UnaryOp::TruncF:
    return std::trunc(a);
  case UnaryOp::Round:
    return std::round(a);
  case UnaryOp::RoundEven:
    return roundEven(a);
  case UnaryOp::Sqrt:
    return std::sqrt(a);
  case UnaryOp::Rsqrt:
    return static_cast<T>(1.0 / std::sqrt(static_cast<double>(a)));
  case UnaryOp::Rcp:
    return T(1) / a;
  case UnaryOp::Exp:
    return std::exp(a);
  case UnaryOp::Exp2:
    return std::exp2(a);
  case UnaryOp::ExpM1:
    return std::expm1(a);
  case UnaryOp::Log:
    return std::log(a);
  case UnaryOp::Log2:
    return std::log2(a);
  case UnaryOp::Log10:
    return std::log10(a);
  case UnaryOp::Log1P:
    return std::log1p(a);
  case UnaryOp::Sin:
    return std::sin(a);
  case UnaryOp::Cos:
    return std::cos(a);
  case UnaryOp::Tan:
    return std::tan(a);
  case UnaryOp::Asin:
    return std::asin(a);
  case UnaryOp::Acos:
    return std::acos(a);
  case UnaryOp::Atan:
    return std::atan(a);
  case UnaryOp::Sinh:
    return std::sinh(a);
  case UnaryOp::Cosh:
    return std::cosh(a);
  case UnaryOp::Tanh:
    return std::tanh(a);
  case UnaryOp::Erf:
    return std::erf(a);
  case UnaryOp::Cbrt:
    return std::cbrt(a);
  default:
    return T(0);
  }
}

/// `a` is zero-extended from `width` bits.
template <UnaryOp op>
uint64_t integer(uint64_t a, int width) {
  uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  bool negative = a >> (width - 1) & 1;
  switch (op) {
  case UnaryOp::NegI:
    return (0 - a) & mask;
  case UnaryOp::AbsI:
    return (negative ? 0 - a : a) & mask;
  case UnaryOp::Not:
    return ~a & mask;
  case UnaryOp::CountLeadingZeros:
    return static_cast<uint64_t>(std::countl_zero(a) - (64 - width)) & mask;
  case UnaryOp::CountTrailingZeros:
    return static_cast<uint64_t>(a == 0 ? width : std::countr_zero(a)) & mask;
  case UnaryOp::PopCount:
    return static_cast<uint64_t>(std::popcount(a)) & mask;
  default:
    return 0;
  }
}

template <UnaryOp op, typename T>
void evalFloat(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const T *a = wave.read<T>(instr.src[0], place.lanes != 1, 0);
  T *to = wave.write<T>(instr.dst);
  for (uint32_t i = 0; i < place.words; ++i)
    to[i] = floating<op, T>(a[i]);
}

template <UnaryOp op>
void evalSmallFloat(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  DType type = wave.program.slots[instr.dst].type;
  const uint32_t *from = wave.read<uint32_t>(instr.src[0], place.lanes != 1, 0);
  float *a = reinterpret_cast<float *>(wave.group.scratch[2].data());
  toFloats(type, from, a, place.words);
  for (uint32_t i = 0; i < place.words; ++i)
    a[i] = floating<op, float>(a[i]);
  fromFloats(type, a, wave.words(instr.dst), place.words);
}

template <UnaryOp op, typename U>
void evalInteger(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const U *a = wave.read<U>(instr.src[0], place.lanes != 1, 0);
  U *to = wave.write<U>(instr.dst);
  int width = bits(wave.program.slots[instr.dst].type);
  for (uint32_t i = 0; i < place.words; ++i)
    to[i] = static_cast<U>(integer<op>(a[i], width));
}

template <UnaryOp op>
Handler choose(DType type) {
  if constexpr (op >= UnaryOp::NegI)
    return type == DType::i64 ? evalInteger<op, uint64_t> : evalInteger<op, uint32_t>;
  else
    return type == DType::f32 ? evalFloat<op, float> : type == DType::f64 ? evalFloat<op, double> : evalSmallFloat<op>;
}

template <int... ops>
Handler chooseFrom(int op, DType type, std::integer_sequence<int, ops...>) {
  Handler result = nullptr;
  ((op == ops ? void(result = choose<static_cast<UnaryOp>(ops)>(type)) : void()), ...);
  return result;
}

} // namespace

Handler unaryHandler(const Program &program, const Instr &instr) {
  return chooseFrom(instr.sub, program.slots[instr.dst].type, std::make_integer_sequence<int, kNumUnaryOps>());
}

} // namespace soliton::emu
