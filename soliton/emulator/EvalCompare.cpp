//===- EvalCompare.cpp - Comparison, selection, fused multiply-add --------===//
//
// Predicates are those of arith.cmpi and arith.cmpf; "unordered" means that an operand is NaN.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Kernels.h"
#include "soliton/emulator/Numbers.h"
#include "soliton/emulator/Wave.h"
#include "soliton/support/Float.h"

#include <cmath>
#include <type_traits>

namespace soliton::emu {
namespace {

template <CmpOp op, typename T>
bool holds(T a, T b) {
  bool unordered = a != a || b != b;
  switch (op) {
  case CmpOp::Eq:
  case CmpOp::Oeq:
    return a == b;
  case CmpOp::Ne:
  case CmpOp::Une:
    return a != b;
  case CmpOp::Slt:
  case CmpOp::Ult:
  case CmpOp::Olt:
    return a < b;
  case CmpOp::Sle:
  case CmpOp::Ule:
  case CmpOp::Ole:
    return a <= b;
  case CmpOp::Sgt:
  case CmpOp::Ugt:
  case CmpOp::Ogt:
    return a > b;
  case CmpOp::Sge:
  case CmpOp::Uge:
  case CmpOp::Oge:
    return a >= b;
  case CmpOp::False:
    return false;
  case CmpOp::True:
    return true;
  case CmpOp::One:
    return a != b && !unordered;
  case CmpOp::Ord:
    return !unordered;
  case CmpOp::Uno:
    return unordered;
  case CmpOp::Ueq:
    return a == b || unordered;
  case CmpOp::UgtF:
    return a > b || unordered;
  case CmpOp::UgeF:
    return a >= b || unordered;
  case CmpOp::UltF:
    return a < b || unordered;
  case CmpOp::UleF:
    return a <= b || unordered;
  }
  return false;
}

/// Operands of type T, as stored.
template <CmpOp op, typename T>
void evalCmp(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const T *a = wave.read<T>(instr.src[0], place.lanes != 1, 0);
  const T *b = wave.read<T>(instr.src[1], place.lanes != 1, 1);
  uint32_t *to = wave.words(instr.dst);
  for (uint32_t i = 0; i < place.words; ++i)
    to[i] = holds<op, T>(a[i], b[i]) ? 1 : 0;
}

/// Signed integers of less than 32 bits and floats of less than 32 bits are widened first.
template <CmpOp op, typename T>
void evalWidened(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  DType type = wave.program.slots[instr.src[0]].type;
  T *a = reinterpret_cast<T *>(wave.group.scratch[2].data());
  T *b = reinterpret_cast<T *>(wave.group.scratch[3].data());
  const uint32_t *from[2] = {wave.read<uint32_t>(instr.src[0], place.lanes != 1, 0),
                             wave.read<uint32_t>(instr.src[1], place.lanes != 1, 1)};
  if constexpr (std::is_same_v<T, float>) {
    toFloats(type, from[0], a, place.words);
    toFloats(type, from[1], b, place.words);
  } else {
    toInts(type, from[0], a, place.words);
    toInts(type, from[1], b, place.words);
  }
  uint32_t *to = wave.words(instr.dst);
  for (uint32_t i = 0; i < place.words; ++i)
    to[i] = holds<op, T>(a[i], b[i]) ? 1 : 0;
}

template <CmpOp op>
Handler choose(DType type) {
  constexpr bool isSigned = op >= CmpOp::Slt && op <= CmpOp::Sge;
  if constexpr (op >= CmpOp::False)
    return type == DType::f32 ? evalCmp<op, float> : type == DType::f64 ? evalCmp<op, double> : evalWidened<op, float>;
  else if constexpr (isSigned)
    return type == DType::i32   ? evalCmp<op, int32_t>
           : type == DType::i64 ? evalCmp<op, int64_t>
                                : evalWidened<op, int32_t>;
  else
    return type == DType::i64 ? evalCmp<op, uint64_t> : evalCmp<op, uint32_t>;
}

template <int... ops>
Handler chooseFrom(int op, DType type, std::integer_sequence<int, ops...>) {
  Handler result = nullptr;
  ((op == ops ? void(result = choose<static_cast<CmpOp>(ops)>(type)) : void()), ...);
  return result;
}

template <typename T>
void evalSelect(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  bool perLane = place.lanes != 1;
  const uint32_t *condition = wave.read<uint32_t>(instr.src[0], perLane, 0);
  const T *a = wave.read<T>(instr.src[1], perLane, 1);
  const T *b = wave.read<T>(instr.src[2], perLane, 2);
  T *to = wave.write<T>(instr.dst);
  // One condition for all elements, or one for each.
  uint32_t period = wave.program.slots[instr.src[0]].count == 1 ? place.lanes : place.words;
  for (uint32_t start = 0; start < place.words; start += period)
    for (uint32_t i = 0; i < period; ++i)
      to[start + i] = condition[i] ? a[start + i] : b[start + i];
}

void evalFma(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  DType type = wave.program.slots[instr.dst].type;
  bool perLane = place.lanes != 1;
  if (type == DType::f32)
    return kernels().fmaF32(wave.read<float>(instr.src[0], perLane, 0), wave.read<float>(instr.src[1], perLane, 1),
                            wave.read<float>(instr.src[2], perLane, 2), wave.write<float>(instr.dst), place.words);
  if (type == DType::f64) {
    const double *a = wave.read<double>(instr.src[0], perLane, 0), *b = wave.read<double>(instr.src[1], perLane, 1),
                 *c = wave.read<double>(instr.src[2], perLane, 2);
    double *to = wave.write<double>(instr.dst);
    for (uint32_t i = 0; i < place.words; ++i)
      to[i] = std::fma(a[i], b[i], c[i]);
    return;
  }
  if (type == DType::i64) {
    const uint64_t *a = wave.read<uint64_t>(instr.src[0], perLane, 0),
                   *b = wave.read<uint64_t>(instr.src[1], perLane, 1),
                   *c = wave.read<uint64_t>(instr.src[2], perLane, 2);
    uint64_t *to = wave.write<uint64_t>(instr.dst);
    for (uint32_t i = 0; i < place.words; ++i)
      to[i] = a[i] * b[i] + c[i];
    return;
  }
  const uint32_t *a = wave.read<uint32_t>(instr.src[0], perLane, 0), *b = wave.read<uint32_t>(instr.src[1], perLane, 1),
                 *c = wave.read<uint32_t>(instr.src[2], perLane, 2);
  uint32_t *to = wave.words(instr.dst);
  if (isInteger(type)) {
    uint32_t mask = bits(type) == 32 ? ~0u : (1u << bits(type)) - 1;
    for (uint32_t i = 0; i < place.words; ++i)
      to[i] = (a[i] * b[i] + c[i]) & mask;
    return;
  }
  for (uint32_t i = 0; i < place.words; ++i)
    to[i] = static_cast<uint32_t>(
        encode(type, std::fma(floatValue(type, a[i]), floatValue(type, b[i]), floatValue(type, c[i]))));
}

} // namespace

Handler compareHandler(const Program &program, const Instr &instr) {
  if (instr.op == Op::Fma)
    return evalFma;
  if (instr.op == Op::Select)
    return bits(program.slots[instr.dst].type) > 32 ? evalSelect<uint64_t> : evalSelect<uint32_t>;
  return chooseFrom(instr.sub, program.slots[instr.src[0]].type, std::make_integer_sequence<int, kNumCmpOps>());
}

} // namespace soliton::emu
