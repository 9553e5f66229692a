//===- EvalLanes.cpp - Exchange between the lanes of a wave ---------------===//
//
// shuffle: lanes are grouped by `width`; a source outside the group gives the lane its own value.
// swap: with groups of 2 lanes and a = a0 a1 a2 a3, b = b0 b1 b2 b3 the results are a0 a1 b0 b1 and a2 a3 b2 b3.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"
#include "soliton/support/Float.h"

#include <algorithm>
#include <cstdio>

namespace soliton::emu {
namespace {

uint32_t sourceLane(ShuffleOp op, uint32_t lane, uint32_t operand, uint32_t width) {
  uint32_t base = lane / width * width, inside = lane - base;
  uint64_t source = inside;
  switch (op) {
  case ShuffleOp::Xor:
    source = inside ^ operand;
    break;
  case ShuffleOp::Up:
    source = uint64_t(inside) - operand;
    break;
  case ShuffleOp::Down:
    source = uint64_t(inside) + operand;
    break;
  case ShuffleOp::Index:
    source = operand;
    break;
  }
  return source < width ? base + static_cast<uint32_t>(source) : lane;
}

template <typename T>
void evalShuffle(Wave &wave, const Instr &instr) {
  wave.requireConverged(instr);
  const T *from = wave.read<T>(instr.src[0], true, 0);
  const uint32_t *operands = instr.src[1] == kNoSlot ? nullptr : wave.read<uint32_t>(instr.src[1], true, 1);
  uint32_t count = wave.program.slots[instr.dst].count, lanes = wave.lanes;
  T *result = reinterpret_cast<T *>(wave.group.scratch[2].data());
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    uint32_t operand = operands ? operands[lane] : static_cast<uint32_t>(instr.imm);
    uint32_t source = sourceLane(static_cast<ShuffleOp>(instr.sub), lane, operand, instr.index);
    for (uint32_t element = 0; element < count; ++element)
      result[element * lanes + lane] = from[element * lanes + source];
  }
  std::copy_n(result, size_t(count) * lanes, wave.write<T>(instr.dst));
}

void evalBallot(Wave &wave, const Instr &instr) {
  uint64_t mask = lanesWhere(wave, instr.src[0]) & wave.active;
  if (wave.prepared.slots[instr.dst].wide)
    wave.wideWords(instr.dst)[0] = mask;
  else
    wave.words(instr.dst)[0] = static_cast<uint32_t>(mask);
}

template <typename T>
void evalUniform(Wave &wave, const Instr &instr) {
  uint32_t count = wave.program.slots[instr.dst].count;
  const T *from = wave.read<T>(instr.src[0], true, 0);
  T *to = wave.write<T>(instr.dst);
  uint32_t first = wave.active ? static_cast<uint32_t>(std::countr_zero(wave.active)) : 0;
  for (uint32_t element = 0; element < count; ++element)
    to[element] = from[element * wave.lanes + first];
  if (!wave.group.checks || !(instr.flags & kAssertEqual))
    return;
  for (uint64_t rest = wave.active; rest; rest &= rest - 1) {
    uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
    for (uint32_t element = 0; element < count; ++element)
      if (from[element * wave.lanes + lane] != to[element])
        return wave.report(instr, FindingKind::Divergent,
                           "a value that has to be uniform differs between lanes " + std::to_string(first) + " and " +
                               std::to_string(lane) + " of wave " + wave.group.reporter.waveName(wave.index),
                           "compute it from uniform values only", lane, 0);
  }
}

template <typename T>
void evalSwap(Wave &wave, const Instr &instr) {
  wave.requireConverged(instr);
  const T *a = wave.read<T>(instr.src[0], true, 0), *b = wave.read<T>(instr.src[1], true, 1);
  uint32_t words = wave.prepared.slots[instr.dst].words, lanes = wave.lanes, group = static_cast<uint32_t>(instr.imm);
  T *first = reinterpret_cast<T *>(wave.group.scratch[2].data());
  T *second = reinterpret_cast<T *>(wave.group.scratch[3].data());
  for (uint32_t i = 0; i < words; ++i) {
    bool odd = i % lanes / group % 2;
    first[i] = odd ? b[i - group] : a[i];
    second[i] = odd ? b[i] : a[i + group];
  }
  std::copy_n(first, words, wave.write<T>(instr.dst));
  std::copy_n(second, words, wave.write<T>(instr.dst2));
}

/// The element of a lane as a number.
std::string elementText(const Wave &wave, Slot slot, uint64_t word) {
  DType type = wave.program.slots[slot].type;
  if (isFloat(type)) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.9g", decode(type, word));
    return text;
  }
  if (type == DType::i1)
    return word & 1 ? "true" : "false";
  int width = bits(type);
  return std::to_string(static_cast<int64_t>(word << (64 - width)) >> (64 - width));
}

uint64_t wordOf(Wave &wave, Slot slot, uint32_t lane) {
  uint32_t at = wave.program.slots[slot].uniform ? 0 : lane;
  return wave.prepared.slots[slot].wide ? wave.wideWords(slot)[at] : wave.words(slot)[at];
}

void evalPrint(Wave &wave, const Instr &instr) {
  std::string lines;
  for (uint64_t rest = wave.active; rest; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    uint32_t next = instr.pool;
    for (char c : wave.program.places[instr.index].what)
      if (c == '?' && next < instr.pool + instr.poolCount)
        lines += elementText(wave, wave.program.pool[next], wordOf(wave, wave.program.pool[next], lane)), ++next;
      else
        lines += c;
    lines += " = " + elementText(wave, instr.src[1], wordOf(wave, instr.src[1], lane)) + "  (workgroup " +
             std::to_string(wave.id()[0]) + " " + std::to_string(wave.id()[1]) + " " + std::to_string(wave.id()[2]) +
             ", wave " + std::to_string(wave.index % wave.program.waves) + ", lane " + std::to_string(lane) + ")\n";
  }
  std::fwrite(lines.data(), 1, lines.size(), stdout);
}

template <typename T>
Handler choose(Op op) {
  return op == Op::Shuffle ? evalShuffle<T> : op == Op::Uniform ? evalUniform<T> : evalSwap<T>;
}

} // namespace

Handler lanesHandler(const Program &program, const Instr &instr) {
  if (instr.op == Op::Ballot)
    return evalBallot;
  if (instr.op == Op::Print)
    return evalPrint;
  return bits(program.slots[instr.dst].type) > 32 ? choose<uint64_t>(instr.op) : choose<uint32_t>(instr.op);
}

} // namespace soliton::emu
