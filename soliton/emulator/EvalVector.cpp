//===- EvalVector.cpp - Constants, ids, moves and vector positions --------===//
//
// An element of a slot is one row of lanes, so that picking, joining and permuting elements copies rows.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>

namespace soliton::emu {
namespace {

template <typename T>
void evalConst(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const uint32_t *pool = wave.program.pool.data() + instr.pool;
  uint64_t mask =
      bits(wave.program.slots[instr.dst].type) == 64 ? ~0ull : (1ull << bits(wave.program.slots[instr.dst].type)) - 1;
  T *to = wave.write<T>(instr.dst);
  for (uint32_t element = 0; element < place.words / place.lanes; ++element) {
    uint32_t entry = instr.poolCount == 2 ? 0 : 2 * element;
    uint64_t value = (pool[entry] | uint64_t(pool[entry + 1]) << 32) & mask;
    std::fill_n(to + size_t(element) * place.lanes, place.lanes, static_cast<T>(value));
  }
}

template <typename T>
void evalMoveOf(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  bool perLane = place.lanes != 1;
  const T *from = wave.read<T>(instr.src[0], perLane, 0);
  T *to = wave.write<T>(instr.dst);
  if (!wave.pendingOf.empty())
    wave.pendingOf[instr.dst] = wave.pendingOf[instr.src[0]];
  if (!perLane || wave.active == wave.allLanes()) {
    if (from != to)
      std::copy_n(from, place.words, to);
    return;
  }
  for (uint32_t i = 0; i < place.words; ++i)
    if (wave.active >> (i % place.lanes) & 1)
      to[i] = from[i];
}

template <typename T>
void evalSplat(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const T *from = wave.read<T>(instr.src[0], place.lanes != 1, 0);
  T *to = wave.write<T>(instr.dst);
  for (uint32_t start = 0; start < place.words; start += place.lanes)
    std::copy_n(from, place.lanes, to + start);
}

template <typename T>
void evalSlice(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const T *from = wave.read<T>(instr.src[0], place.lanes != 1, 0);
  std::copy_n(from + size_t(instr.imm) * place.lanes, place.words, wave.write<T>(instr.dst));
}

template <typename T>
void evalInsert(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const T *into = wave.read<T>(instr.src[0], place.lanes != 1, 0);
  const T *part = wave.read<T>(instr.src[1], place.lanes != 1, 1);
  T *to = wave.write<T>(instr.dst);
  size_t partWords = size_t(wave.program.slots[instr.src[1]].count) * place.lanes;
  // `to` may be a source where a program writes a slot twice; copy through scratch then.
  if (to == part || to == into) {
    T *copy = reinterpret_cast<T *>(wave.group.scratch[2].data());
    std::copy_n(part, partWords, copy);
    part = copy;
  }
  if (to != into)
    std::copy_n(into, place.words, to);
  std::copy_n(part, partWords, to + size_t(instr.imm) * place.lanes);
}

template <typename T>
void evalConcat(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  T *joined = reinterpret_cast<T *>(wave.group.scratch[2].data());
  T *end = joined;
  for (uint32_t i = 0; i < instr.poolCount; ++i) {
    Slot slot = wave.program.pool[instr.pool + i];
    const T *from = wave.read<T>(slot, place.lanes != 1, 0);
    end = std::copy_n(from, size_t(wave.program.slots[slot].count) * place.lanes, end);
  }
  std::copy(joined, end, wave.write<T>(instr.dst));
}

template <typename T>
void evalPermute(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  bool perLane = place.lanes != 1;
  const T *a = wave.read<T>(instr.src[0], perLane, 0);
  const T *b = instr.src[1] == kNoSlot ? nullptr : wave.read<T>(instr.src[1], perLane, 1);
  uint32_t countA = wave.program.slots[instr.src[0]].count;
  T *picked = reinterpret_cast<T *>(wave.group.scratch[2].data());
  T *end = picked;
  for (uint32_t i = 0; i < instr.poolCount; ++i) {
    uint32_t position = wave.program.pool[instr.pool + i];
    const T *row = position < countA ? a + size_t(position) * place.lanes : b + size_t(position - countA) * place.lanes;
    end = std::copy_n(row, place.lanes, end);
  }
  std::copy(picked, end, wave.write<T>(instr.dst));
}

void evalId(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  uint32_t *to = wave.words(instr.dst);
  auto kind = static_cast<IdKind>(instr.sub);
  if (kind == IdKind::Lane) {
    for (uint32_t lane = 0; lane < place.lanes; ++lane)
      to[lane] = lane;
    return;
  }
  uint32_t axis = instr.sub;
  const std::array<uint32_t, 3> &cluster = wave.program.cluster;
  uint32_t value = 0;
  if (kind == IdKind::Wave)
    value = wave.index % wave.program.waves;
  else if (kind >= IdKind::Cluster0)
    value = wave.id()[axis - uint32_t(IdKind::Cluster0)] / cluster[axis - uint32_t(IdKind::Cluster0)];
  else if (kind == IdKind::ClusterRank)
    value = wave.rank();
  else if (kind >= IdKind::Grid0)
    value = wave.prepared.config.grid[axis - uint32_t(IdKind::Grid0)];
  else
    value = wave.id()[axis - uint32_t(IdKind::Workgroup0)];
  std::fill_n(to, place.lanes, value);
}

template <typename T>
void evalArg(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  int width = bits(wave.program.slots[instr.dst].type);
  uint64_t value = wave.prepared.config.scalars[size_t(instr.imm)];
  if (width < 64)
    value &= (1ull << width) - 1;
  std::fill_n(wave.write<T>(instr.dst), place.lanes, static_cast<T>(value));
}

template <typename T>
Handler choose(Op op) {
  switch (op) {
  case Op::Const:
    return evalConst<T>;
  case Op::Move:
    return evalMoveOf<T>;
  case Op::Splat:
    return evalSplat<T>;
  case Op::Slice:
    return evalSlice<T>;
  case Op::Insert:
    return evalInsert<T>;
  case Op::Concat:
    return evalConcat<T>;
  case Op::Permute:
    return evalPermute<T>;
  case Op::Id:
    return evalId;
  default:
    return evalArg<T>;
  }
}

} // namespace

Handler vectorHandler(const Program &program, const Instr &instr) {
  return bits(program.slots[instr.dst].type) > 32 ? choose<uint64_t>(instr.op) : choose<uint32_t>(instr.op);
}

} // namespace soliton::emu
