//===- EvalMemory.cpp - Loads, stores and atomics -------------------------===//
//
// A lane moves `count` elements between a slot and consecutive bytes, least significant first; elements of less than a
// byte are packed, an i1 takes a byte.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Numbers.h"
#include "soliton/emulator/ValidateTables.h"
#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <cstring>

namespace soliton::emu {

uint64_t combine(AtomicOp op, DType type, uint64_t old, uint64_t value) {
  int shift = 64 - bits(type);
  auto extend = [&](uint64_t v) { return static_cast<int64_t>(v << shift) >> shift; };
  switch (op) {
  case AtomicOp::Exchange:
  case AtomicOp::CompareSwap: // where memory holds what is expected
    return value;
  case AtomicOp::And:
    return old & value;
  case AtomicOp::Or:
    return old | value;
  case AtomicOp::Xor:
    return old ^ value;
  case AtomicOp::MinU:
    return std::min(old, value);
  case AtomicOp::MaxU:
    return std::max(old, value);
  case AtomicOp::MinS:
    return extend(old) < extend(value) ? old : value;
  case AtomicOp::MaxS:
    return extend(old) > extend(value) ? old : value;
  default:
    break;
  }
  if (isInteger(type))
    return old + value;
  double a = floatValue(type, old), b = floatValue(type, value);
  if (op == AtomicOp::MinF) // A NaN gives way to a number.
    return a != a || b < a ? value : old;
  if (op == AtomicOp::MaxF)
    return a != a || b > a ? value : old;
  if (type == DType::f64)
    return std::bit_cast<uint64_t>(a + b);
  float sum = static_cast<float>(a) + static_cast<float>(b);
  uint32_t rounded;
  fromFloats(type, &sum, &rounded, 1);
  return rounded;
}

namespace {

int memoryBits(DType type) {
  return type == DType::i1 ? 8 : bits(type);
}

uint32_t accessBytes(Wave &wave, Slot slot) {
  return static_cast<uint32_t>(accessBits(wave.program.slots[slot]) / 8);
}

/// Calls `each(lane)` for the lanes of `mask`, cheaply where it is full.
template <typename F>
void forLanes(uint64_t mask, uint32_t lanes, F each) {
  if (lanes == 64 ? mask == ~0ull : mask == (1ull << lanes) - 1) {
    for (uint32_t lane = 0; lane < lanes; ++lane)
      each(lane);
    return;
  }
  for (uint64_t rest = mask; rest; rest &= rest - 1)
    each(static_cast<uint32_t>(std::countr_zero(rest)));
}

template <typename Memory, typename Word>
void loadElements(const LaneAccess &access, Word *to, uint32_t count, uint32_t stride) {
  forLanes(access.mask, access.lanes, [&](uint32_t lane) {
    const std::byte *from = access.base + access.at[lane];
    for (uint32_t element = 0; element < count; ++element) {
      Memory value;
      std::memcpy(&value, from + element * sizeof(Memory), sizeof(Memory));
      to[element * stride + lane] = value;
    }
  });
}

template <typename Memory, typename Word>
void storeElements(const LaneAccess &access, const Word *from, uint32_t count, uint32_t stride) {
  forLanes(access.mask, access.lanes, [&](uint32_t lane) {
    std::byte *to = access.base + access.at[lane];
    for (uint32_t element = 0; element < count; ++element) {
      Memory value = static_cast<Memory>(from[element * stride + lane]);
      std::memcpy(to + element * sizeof(Memory), &value, sizeof(Memory));
    }
  });
}

/// Elements of 4 or 6 bits.
void loadPacked(const LaneAccess &access, uint32_t *to, uint32_t count, uint32_t stride, int width) {
  forLanes(access.mask, access.lanes, [&](uint32_t lane) {
    uint64_t words[2] = {0, 0};
    std::memcpy(words, access.base + access.at[lane], access.bytes);
    for (uint32_t element = 0; element < count; ++element) {
      uint32_t bit = element * uint32_t(width);
      unsigned __int128 all = words[0] | static_cast<unsigned __int128>(words[1]) << 64;
      to[element * stride + lane] = static_cast<uint32_t>(all >> bit) & ((1u << width) - 1);
    }
  });
}

void storePacked(const LaneAccess &access, const uint32_t *from, uint32_t count, uint32_t stride, int width) {
  forLanes(access.mask, access.lanes, [&](uint32_t lane) {
    unsigned __int128 all = 0;
    for (uint32_t element = 0; element < count; ++element)
      all |= static_cast<unsigned __int128>(from[element * stride + lane] & ((1u << width) - 1))
             << (element * uint32_t(width));
    std::memcpy(access.base + access.at[lane], &all, access.bytes);
  });
}

template <typename Word>
void fillSlot(Wave &wave, const Instr &instr, Word *to) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  if (instr.src[1] == kNoSlot) {
    std::fill_n(to, place.words, Word(0));
    return;
  }
  const Word *fill = wave.read<Word>(instr.src[1], place.lanes != 1, 1);
  uint32_t period = wave.program.slots[instr.src[1]].count == 1 ? place.lanes : place.words;
  for (uint32_t i = 0; i < place.words; ++i)
    to[i] = fill[i % period];
}

template <typename Memory, typename Word>
void readInto(Wave &wave, const Instr &instr, const LaneAccess &access) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  const SlotInfo &info = wave.program.slots[instr.dst];
  Word *to = wave.write<Word>(instr.dst);
  if constexpr (sizeof(Memory) == 1 && sizeof(Word) == 4)
    if (memoryBits(info.type) < 8)
      return loadPacked(access, to, info.count, place.lanes, memoryBits(info.type));
  loadElements<Memory, Word>(access, to, info.count, place.lanes);
  if (info.type == DType::i1)
    for (uint32_t i = 0; i < place.words; ++i)
      to[i] = to[i] ? 1 : 0;
}

/// The same place in the shared block of the workgroup of the cluster that the load names, if it names one.
void goThere(Wave &wave, const Instr &instr, LaneAccess &access) {
  if (instr.imm == 0 || !access.mask)
    return;
  auto rank = static_cast<uint32_t>(instr.imm - 1);
  if (!isThere(wave, instr, rank)) {
    access.mask = 0;
    return;
  }
  int64_t distance = (int64_t(rank) - int64_t(wave.rank())) * int64_t(wave.program.blockDistance());
  access.base += distance;
  access.origin += distance;
}

template <typename Memory, typename Word>
void evalLoad(Wave &wave, const Instr &instr) {
  const SlotPlace &place = wave.prepared.slots[instr.dst];
  LaneAccess access = wave.resolve(instr, wave.program.addresses[instr.index], accessBytes(wave, instr.dst),
                                   {.mask = instr.src[0], .uniform = place.lanes == 1, .flags = instr.flags});
  goThere(wave, instr, access);
  startOrdered(wave, instr, access);
  uint64_t all = access.lanes == 1 ? 1 : wave.allLanes();
  if (access.mask != all)
    fillSlot(wave, instr, wave.write<Word>(instr.dst));
  judgeAccess(wave, instr, access, false);
  if (instr.imm != 0 && access.mask)
    noteReach(wave, instr, static_cast<uint32_t>(instr.imm - 1));
  if (!access.region->shared || !wave.prepared.lateShared || instr.order != Order::Plain) {
    readInto<Memory, Word>(wave, instr, access);
    return synchronize(wave, instr, access, sizeof(Memory));
  }
  auto finish = [](Wave &owner, const PendingShared &pending) {
    readInto<Memory, Word>(owner, *pending.instr, pending.lanes);
  };
  wave.defer({0, &instr, access, finish, {}});
}

/// Whether another lane of the same store writes something else to where \p lane writes \p element.
template <typename Memory, typename Word>
bool lanesDisagree(const LaneAccess &access, const Word *from, uint32_t count, uint32_t stride, uint32_t lane,
                   uint32_t element) {
  const int64_t place = access.at[lane] + int64_t(element * sizeof(Memory));
  for (uint64_t rest = access.mask; rest; rest &= rest - 1) {
    uint32_t other = static_cast<uint32_t>(std::countr_zero(rest));
    int64_t distance = place - access.at[other], size = sizeof(Memory);
    if (distance <= -size || distance >= int64_t(count) * size)
      continue;
    if (distance % size != 0) // They overlap in part: two elements in one place.
      return true;
    if (static_cast<Memory>(from[uint32_t(distance / size) * stride + other]) !=
        static_cast<Memory>(from[element * stride + lane]))
      return true;
  }
  return false;
}

/// After a store every lane finds its own value, unless another lane of the same store wrote something else there, or
/// another workgroup did, on another thread of the host: the lanes' own values say which of the two.
template <typename Memory, typename Word>
void judgeLanes(Wave &wave, const Instr &instr, const LaneAccess &access, const Word *from, uint32_t count,
                uint32_t stride) {
  for (uint64_t rest = access.mask; rest; rest &= rest - 1) {
    uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
    for (uint32_t element = 0; element < count; ++element) {
      Memory expected = static_cast<Memory>(from[element * stride + lane]), found;
      std::memcpy(&found, access.base + access.at[lane] + element * sizeof(Memory), sizeof(Memory));
      if (found == expected || !lanesDisagree<Memory>(access, from, count, stride, lane, element))
        continue;
      int64_t at = access.origin + access.at[lane] + int64_t(element * sizeof(Memory));
      return wave.report(instr, FindingKind::LaneConflict,
                         "lanes of one " + wave.group.reporter.nameOf(wave.instruction(instr)) + " in wave " +
                             wave.group.reporter.waveName(wave.index) + " write different values to byte " +
                             std::to_string(at) + " of `" + access.region->name + "`, one of them lane " +
                             std::to_string(lane),
                         "mask all holders of the element but one", lane, at);
    }
  }
}

template <typename Memory, typename Word>
void moveOut(Wave &wave, const Instr &instr, const LaneAccess &access, const Word *from) {
  const SlotInfo &info = wave.program.slots[instr.src[1]];
  if constexpr (sizeof(Memory) == 1 && sizeof(Word) == 4)
    if (memoryBits(info.type) < 8)
      return storePacked(access, from, info.count, wave.lanes, memoryBits(info.type));
  storeElements<Memory, Word>(access, from, info.count, wave.lanes);
}

template <typename Memory, typename Word>
void writeFrom(Wave &wave, const Instr &instr, const LaneAccess &access, const Word *from) {
  wave.group.noteChange();
  moveOut<Memory, Word>(wave, instr, access, from);
  const SlotInfo &info = wave.program.slots[instr.src[1]];
  if (wave.group.checks && memoryBits(info.type) >= 8)
    judgeLanes<Memory, Word>(wave, instr, access, from, info.count, wave.lanes);
}

/// The bytes that the lanes of a store write, one lane after another.
template <typename Memory, typename Word>
std::array<std::byte, 64 * 16> bytesOf(Wave &wave, const Instr &instr, LaneAccess access, const Word *from) {
  std::array<std::byte, 64 * 16> bytes;
  access.base = bytes.data();
  int64_t at = 0;
  for (uint64_t rest = access.mask; rest; rest &= rest - 1, at += access.bytes)
    access.at[static_cast<size_t>(std::countr_zero(rest))] = at;
  moveOut<Memory, Word>(wave, instr, access, from);
  return bytes;
}

template <typename Memory, typename Word>
void judgeStore(Wave &wave, const Instr &instr, const LaneAccess &access, const Word *from) {
  const Region &region = *access.region;
  if (!wave.group.checks || region.shared || !wave.group.globalChecker.tracks(region.argument))
    return judgeAccess(wave, instr, access, true);
  judgeAccess(wave, instr, access, true, bytesOf<Memory, Word>(wave, instr, access, from).data());
}

template <typename Memory, typename Word>
void evalStore(Wave &wave, const Instr &instr) {
  LaneAccess access = wave.resolve(instr, wave.program.addresses[instr.index], accessBytes(wave, instr.src[1]),
                                   {.mask = instr.src[0], .flags = instr.flags});
  startOrdered(wave, instr, access);
  const Word *from = wave.read<Word>(instr.src[1], true, 1);
  judgeStore<Memory, Word>(wave, instr, access, from);
  if (!access.region->shared || !wave.prepared.lateShared || instr.order != Order::Plain) {
    writeFrom<Memory, Word>(wave, instr, access, from);
    return synchronize(wave, instr, access, sizeof(Memory));
  }
  size_t bytes = size_t(wave.program.slots[instr.src[1]].count) * wave.lanes * sizeof(Word);
  auto finish = [](Wave &owner, const PendingShared &pending) {
    writeFrom<Memory, Word>(owner, *pending.instr, pending.lanes, reinterpret_cast<const Word *>(pending.data.data()));
  };
  PendingShared pending{0, &instr, access, finish, std::vector<uint64_t>((bytes + 7) / 8)};
  std::memcpy(pending.data.data(), from, bytes);
  wave.defer(std::move(pending));
}

template <typename Memory, typename Word>
void evalAtomic(Wave &wave, const Instr &instr) {
  const SlotInfo &info = wave.program.slots[instr.src[1]];
  LaneAccess access = wave.resolve(instr, wave.program.addresses[instr.index], accessBytes(wave, instr.src[1]),
                                   {.mask = instr.src[0], .flags = instr.flags});
  startOrdered(wave, instr, access);
  const Word *from = wave.read<Word>(instr.src[1], true, 1);
  const Word *expected = instr.src[2] == kNoSlot ? nullptr : wave.read<Word>(instr.src[2], true, 2);
  judgeAccess(wave, instr, access, true);
  Word *old = instr.dst == kNoSlot ? nullptr : wave.write<Word>(instr.dst);
  for (uint64_t rest = access.mask; rest; rest &= rest - 1) {
    uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
    for (uint32_t element = 0; element < info.count; ++element) {
      std::byte *at = access.base + access.at[lane] + element * sizeof(Memory);
      Memory value;
      std::memcpy(&value, at, sizeof(Memory));
      Word operand = from[element * wave.lanes + lane];
      if (old)
        old[element * wave.lanes + lane] = value;
      if (expected && static_cast<Memory>(expected[element * wave.lanes + lane]) != value)
        continue;
      auto next = static_cast<Memory>(combine(static_cast<AtomicOp>(instr.sub), info.type, value, operand));
      if (next != value)
        wave.group.noteChange();
      std::memcpy(at, &next, sizeof(Memory));
    }
  }
  for (uint64_t rest = old ? ~access.mask & wave.allLanes() : 0; rest; rest &= rest - 1)
    for (uint32_t element = 0; element < info.count; ++element)
      old[element * wave.lanes + static_cast<uint32_t>(std::countr_zero(rest))] = 0;
  synchronize(wave, instr, access, sizeof(Memory));
}

template <typename Memory, typename Word>
Handler choose(Op op) {
  return op == Op::Load ? evalLoad<Memory, Word> : op == Op::Store ? evalStore<Memory, Word> : evalAtomic<Memory, Word>;
}

} // namespace

Handler memoryHandler(const Program &program, const Instr &instr) {
  Slot value = instr.op == Op::Load ? instr.dst : instr.src[1];
  int width = memoryBits(program.slots[value].type);
  if (width <= 8)
    return choose<uint8_t, uint32_t>(instr.op);
  return width == 16   ? choose<uint16_t, uint32_t>(instr.op)
         : width == 32 ? choose<uint32_t, uint32_t>(instr.op)
                       : choose<uint64_t, uint64_t>(instr.op);
}

} // namespace soliton::emu
