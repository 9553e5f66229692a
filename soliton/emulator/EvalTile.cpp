//===- EvalTile.cpp - Copies of tensor boxes ------------------------------===//
//
// A box of up to five dimensions between a strided tensor and a dense shared tile, one row of the innermost dimension
// at a time. With a swizzle of span s, byte a of the block is stored at a ^ ((a >> 3) & (s - 16)). A load counts its
// whole box on the mbarrier, also what lies outside of the tensor and reads as zero.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <cstring>

namespace soliton::emu {
namespace {

uint32_t elementBytes(const TensorMap &map) {
  return static_cast<uint32_t>(bits(map.type)) / 8;
}

/// A size or stride of this launch; beyond 2^40 it is 0, which makes everything out of bounds.
int64_t valueOf(Wave &wave, const Quantity &quantity) {
  if (quantity.argument < 0)
    return quantity.factor;
  int width = bits(wave.program.scalars[size_t(quantity.argument)]);
  uint64_t bits = wave.prepared.config.scalars[size_t(quantity.argument)];
  int64_t scalar = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
  int64_t product;
  if (__builtin_mul_overflow(scalar, quantity.factor, &product) || product < 0 || product > (int64_t(1) << 40))
    return 0;
  return product;
}

/// One row of a box: which of its elements exist, where they are in the buffer, and where the row is in shared memory.
struct Row {
  uint32_t first = 0, last = 0; // Elements [first, last) exist.
  __int128 offset = 0;          // Of element `first`, in bytes.
  uint32_t shared = 0;
};

/// Calls `each(row)` for every row of the box.
template <typename F>
void forRows(Wave &wave, const TensorMap &map, const PendingTile &tile, F each) {
  std::array<int64_t, 5> size{}, stride{};
  for (uint32_t d = 0; d < map.rank; ++d) {
    size[d] = valueOf(wave, map.size[d]);
    stride[d] = d == 0 ? elementBytes(map) : valueOf(wave, map.stride[d]);
  }
  uint32_t rowBytes = map.box[0] * elementBytes(map);
  std::array<uint32_t, 5> index{};
  for (uint32_t number = 0; number < boxBytes(map) / rowBytes; ++number) {
    Row row;
    row.shared = tile.shared + number * rowBytes;
    bool exists = true;
    for (uint32_t d = 1; d < map.rank; ++d) {
      int64_t at = tile.start[d] + index[d];
      exists &= at >= 0 && at < size[d];
      row.offset += static_cast<__int128>(at) * stride[d];
    }
    int64_t first = std::clamp<int64_t>(-tile.start[0], 0, map.box[0]);
    int64_t last = std::clamp<int64_t>(size[0] - tile.start[0], 0, map.box[0]);
    row.first = static_cast<uint32_t>(first);
    row.last = exists ? static_cast<uint32_t>(std::max(first, last)) : row.first;
    row.offset += static_cast<__int128>(tile.start[0] + first) * stride[0];
    each(row);
    for (uint32_t d = 1; d < map.rank && ++index[d] == map.box[d]; ++d)
      index[d] = 0;
  }
}

uint32_t swizzled(uint32_t address, uint32_t span) {
  return span ? address ^ ((address >> 3) & (span - 16)) : address;
}

/// Copies `count` bytes between a row buffer and the shared tile, in pieces that a swizzle keeps together.
template <typename F>
void forPieces(uint32_t shared, uint32_t count, uint32_t span, uint32_t blockBytes, F each) {
  for (uint32_t done = 0; done < count;) {
    uint32_t at = shared + done;
    uint32_t piece = span ? std::min(count - done, 16 - at % 16) : count - done;
    uint32_t to = swizzled(at, span);
    if (to + piece <= blockBytes)
      each(to, done, piece);
    done += piece;
  }
}

/// The part of the buffer that a row touches, or null (reported) where it does not exist.
std::byte *bufferPart(Wave &wave, const Instr &instr, const TensorMap &map, const Row &row) {
  const Buffer &buffer = wave.prepared.config.buffers[map.argument];
  uint64_t bytes = uint64_t(row.last - row.first) * elementBytes(map);
  if (row.offset >= 0 && row.offset + static_cast<__int128>(bytes) <= static_cast<__int128>(buffer.bytes))
    return static_cast<std::byte *>(buffer.data) + static_cast<uint64_t>(row.offset);
  wave.report(instr, FindingKind::OutOfBounds,
              wave.group.reporter.nameOf(wave.instruction(instr)) + " of `" + map.name + "` in wave " +
                  std::to_string(wave.index) + " reaches beyond its buffer of " + std::to_string(buffer.bytes) +
                  " bytes",
              "make the map's sizes and strides those of the buffer", Finding::kNone, static_cast<int64_t>(row.offset));
  return nullptr;
}

void addRow(const TensorMap &map, std::byte *to, const uint8_t *from, uint32_t count) {
  uint32_t width = elementBytes(map);
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t old = 0, value = 0;
    std::memcpy(&old, to + i * width, width);
    std::memcpy(&value, from + i * width, width);
    value = combine(AtomicOp::Add, map.type, old, value);
    std::memcpy(to + i * width, &value, width);
  }
}

void judgeTile(Wave &wave, const Actor &actor, const Instr &instr, const TensorMap &map, const PendingTile &tile) {
  Workgroup &group = wave.group;
  bool isLoad = instr.sub == uint8_t(TileOp::Load);
  if (tile.shared % 128 != 0)
    wave.report(instr, FindingKind::Misaligned,
                group.reporter.nameOf(wave.instruction(instr)) + " at shared byte " + std::to_string(tile.shared) +
                    ", expected a multiple of 128",
                "align the tile", Finding::kNone, tile.shared);
  // An addition is atomic where it adds, not where it takes its operand from.
  Actor plain = actor;
  plain.atomic = false;
  group.sharedChecker.begin(plain);
  if (isLoad)
    group.sharedChecker.write(tile.shared, boxBytes(map), 0);
  else
    group.sharedChecker.read(tile.shared, boxBytes(map), 0);
  if (!group.globalChecker.tracks(map.argument))
    return;
  uint64_t size = wave.prepared.config.buffers[map.argument].bytes;
  forRows(wave, map, tile, [&](const Row &row) {
    uint32_t bytes = (row.last - row.first) * elementBytes(map);
    if (bytes && row.offset >= 0 && row.offset + bytes <= static_cast<__int128>(size))
      group.globalChecker.access(
          {actor, group.clocks, map.argument, static_cast<uint64_t>(row.offset), bytes, 0, !isLoad, nullptr});
  });
}

} // namespace

uint32_t boxBytes(const TensorMap &map) {
  uint32_t bytes = elementBytes(map);
  for (uint32_t d = 0; d < map.rank; ++d)
    bytes *= map.box[d];
  return bytes;
}

void runTile(Wave &wave, const Instr &instr, const PendingTile &tile) {
  const TensorMap &map = wave.program.maps[size_t(instr.imm)];
  uint32_t width = elementBytes(map), rowBytes = map.box[0] * width, block = wave.program.sharedBytes;
  uint8_t *shared = wave.group.shared.data();
  std::vector<uint8_t> buffer(rowBytes);
  auto op = static_cast<TileOp>(instr.sub);
  wave.group.noteChange();
  forRows(wave, map, tile, [&](const Row &row) {
    std::byte *global = row.first < row.last ? bufferPart(wave, instr, map, row) : nullptr;
    uint32_t begin = row.first * width, count = (row.last - row.first) * width;
    if (op == TileOp::Load) {
      std::fill(buffer.begin(), buffer.end(), 0);
      if (global)
        std::memcpy(buffer.data() + begin, global, count);
      return forPieces(row.shared, rowBytes, map.swizzle, block, [&](uint32_t at, uint32_t from, uint32_t piece) {
        std::memcpy(shared + at, buffer.data() + from, piece);
      });
    }
    forPieces(row.shared, rowBytes, map.swizzle, block, [&](uint32_t at, uint32_t from, uint32_t piece) {
      std::memcpy(buffer.data() + from, shared + at, piece);
    });
    if (global && op == TileOp::Store)
      std::memcpy(global, buffer.data() + begin, count);
    else if (global)
      addRow(map, global, buffer.data() + begin, row.last - row.first);
  });
}

void evalCopyTile(Wave &wave, const Instr &instr) {
  if (!issuesOnce(wave, instr))
    return;
  Workgroup &group = wave.group;
  const TensorMap &map = wave.program.maps[size_t(instr.imm)];
  PendingTile tile;
  tile.instruction = wave.instruction(instr);
  for (uint32_t d = 0; d < map.rank; ++d)
    tile.start[d] = wave.uniformInt(wave.program.pool[instr.pool + d]);
  bool inBounds = wave.resolveShared(instr, wave.program.addresses[instr.index], boxBytes(map), tile.shared);
  Actor actor{group.linear, wave.index, 0, 0, tile.instruction, true, instr.sub == uint8_t(TileOp::Add)};
  if (instr.sub != uint8_t(TileOp::Load)) {
    actor.agent = agentOf(wave.index, CounterKind::bulk);
    actor.access = tile.access = group.clocks.issue(actor.agent, tile.instruction);
    if (!inBounds)
      return;
    if (group.checks)
      judgeTile(wave, actor, instr, map, tile);
    return wave.prepared.late ? wave.tileStores.push_back(tile) : runTile(wave, instr, tile);
  }
  Mbarrier *mbarrier = mbarrierOf(wave, instr, wave.program.addresses[instr.index2]);
  if (!mbarrier)
    return;
  actor.agent = mbarrier->agent;
  actor.access = group.clocks.counter(actor.agent).issued;
  group.clocks.setInstruction(actor.agent, tile.instruction);
  if (!inBounds)
    return completeBytes(group, *mbarrier, boxBytes(map));
  if (group.checks)
    judgeTile(wave, actor, instr, map, tile);
  if (!wave.prepared.late) {
    runTile(wave, instr, tile);
    return completeBytes(group, *mbarrier, boxBytes(map));
  }
  std::memset(group.shared.data() + tile.shared, 0xff, boxBytes(map));
  mbarrier->loads.push_back({wave.index, tile});
}

} // namespace soliton::emu
