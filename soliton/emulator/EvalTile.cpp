//===- EvalTile.cpp - Copies of tensor boxes ------------------------------===//
//
// A box of up to five dimensions between a strided tensor and a dense shared tile, one row of the innermost dimension
// at a time. With a swizzle of span s, byte a of the block is stored at a ^ ((a >> 3) & (s - 16)). A load counts its
// whole box on the mbarrier, also what lies outside of the tensor and reads as zero. Of a map with corners the rows are
// pixels: windows of a filter at the same place of each, from left to right, from row to row, from image to image.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace soliton::emu {
namespace {

uint32_t elementBytes(const TensorMap &map) {
  return static_cast<uint32_t>(bits(map.type)) / 8;
}

/// A size, stride or offset of this copy; one below 0 or beyond 2^40 is 0, which makes everything out of bounds.
int64_t valueOf(Wave &wave, const Quantity &quantity) {
  if (quantity.slot == kNoSlot)
    return quantity.value;
  int64_t value = wave.uniformInt(quantity.slot);
  return value < 0 || value > (int64_t(1) << 40) ? 0 : value;
}

/// One row of a box: which of its elements exist, where they are in the buffer, and where the row is in shared memory.
struct Row {
  uint32_t first = 0, last = 0; // Elements [first, last) exist.
  __int128 offset = 0;          // Of element `first`, in bytes.
  uint32_t shared = 0;
};

/// Where the rows of a box lie along the outer dimensions, one after the other.
class RowPlaces {
public:
  RowPlaces(const TensorMap &map, const PendingTile &tile) : map(map), tile(tile), place(tile.start) {}

  int64_t at(uint32_t d) const { return place[d] + (d <= map.corners ? tile.offset[d - 1] : 0); }

  void advance() {
    for (uint32_t d = 1; d < map.rank; ++d) {
      bool isPixel = d <= map.corners;
      place[d] += isPixel ? map.step[d - 1] : 1;
      int64_t end = isPixel           ? tile.size[d] + map.upper[d - 1]
                    : map.corners > 0 ? INT64_MAX // images go on beyond the last one, where all is zero
                                      : tile.start[d] + map.box[d];
      if (place[d] < end)
        return;
      place[d] = isPixel ? map.lower[d - 1] : tile.start[d];
    }
  }

private:
  const TensorMap &map;
  const PendingTile &tile;
  std::array<int64_t, 5> place;
};

/// Calls `each(row)` for every row of the box.
template <typename F>
void forRows(const TensorMap &map, const PendingTile &tile, F each) {
  uint32_t rowBytes = map.box[0] * elementBytes(map);
  RowPlaces places(map, tile);
  for (uint32_t number = 0; number < boxBytes(map) / rowBytes; ++number, places.advance()) {
    Row row;
    row.shared = tile.shared + number * rowBytes;
    row.offset = tile.base;
    bool exists = true;
    for (uint32_t d = 1; d < map.rank; ++d) {
      int64_t at = places.at(d);
      exists &= at >= 0 && at < tile.size[d];
      row.offset += static_cast<__int128>(at) * tile.stride[d];
    }
    int64_t first = std::clamp<int64_t>(-tile.start[0], 0, map.box[0]);
    int64_t last = std::clamp<int64_t>(tile.size[0] - tile.start[0], 0, map.box[0]);
    row.first = static_cast<uint32_t>(first);
    row.last = exists ? static_cast<uint32_t>(std::max(first, last)) : row.first;
    row.offset += static_cast<__int128>(tile.start[0] + first) * tile.stride[0];
    each(row);
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
                  wave.group.reporter.waveName(wave.index) + " reaches beyond its buffer of " +
                  std::to_string(buffer.bytes) + " bytes",
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

/// The tensor as its map has it now, and where the box begins.
PendingTile tileOf(Wave &wave, const Instr &instr, const TensorMap &map) {
  PendingTile tile;
  tile.instruction = wave.instruction(instr);
  tile.base = valueOf(wave, map.offset);
  for (uint32_t d = 0; d < map.rank; ++d) {
    tile.start[d] = wave.uniformInt(wave.program.pool[instr.pool + d]);
    tile.size[d] = valueOf(wave, map.size[d]);
    tile.stride[d] = d == 0 ? elementBytes(map) : valueOf(wave, map.stride[d]);
  }
  for (uint32_t d = 0; d < map.corners; ++d)
    tile.offset[d] = wave.uniformInt(wave.program.pool[instr.pool + map.rank + d]);
  return tile;
}

/// What the hardware faults on, or would never have made a map of.
void judgePlace(Wave &wave, const Instr &instr, const TensorMap &map, const PendingTile &tile) {
  std::string who = wave.group.reporter.nameOf(wave.instruction(instr)) + " of `" + map.name + "` in wave " +
                    wave.group.reporter.waveName(wave.index);
  auto report = [&](const std::string &found, std::string hint, int64_t at) {
    wave.report(instr, FindingKind::Misaligned, who + found + ", expected a multiple of 16", std::move(hint),
                Finding::kNone, at);
  };
  if (int64_t first = tile.start[0] * tile.stride[0]; first % 16 != 0)
    report(" begins at byte " + std::to_string(first) + " of its rows",
           "make the first coordinate of a tile copy a multiple of 16 bytes: the hardware faults", first);
  if (tile.base % 16 != 0)
    report(" has a tensor that begins at byte " + std::to_string(tile.base), "align the tensor", tile.base);
  for (uint32_t d = 1; d < map.rank; ++d)
    if (tile.size[d] > 1 && tile.stride[d] % 16 != 0)
      report(" has a tensor whose neighbours along dimension " + std::to_string(d) + " lie " +
                 std::to_string(tile.stride[d]) + " bytes apart",
             "pad the rows of the tensor", tile.stride[d]);
}

/// An H200 faults on a box that is written and begins in front of its tensor, whatever of it is inside; it reads zeros.
void judgeBeginning(Wave &wave, const Instr &instr, const TensorMap &map, const PendingTile &tile) {
  for (uint32_t d = 0; d < map.rank; ++d)
    if (tile.start[d] < 0)
      wave.report(instr, FindingKind::OutOfBounds,
                  wave.group.reporter.nameOf(wave.instruction(instr)) + " of `" + map.name + "` in wave " +
                      wave.group.reporter.waveName(wave.index) + " begins at " + std::to_string(tile.start[d]) +
                      " along dimension " + std::to_string(d) + ", expected 0 or more",
                  "leave out boxes in front of the tensor: the hardware faults", Finding::kNone, tile.start[d]);
}

/// What nobody says the engine does: a first place that is no pixel of the map, an offset that its bits do not hold.
void judgePixel(Wave &wave, const Instr &instr, const TensorMap &map, const PendingTile &tile) {
  std::string who = wave.group.reporter.nameOf(wave.instruction(instr)) + " of `" + map.name + "` in wave " +
                    wave.group.reporter.waveName(wave.index);
  for (uint32_t d = 0; d < map.corners; ++d) {
    int64_t first = tile.start[d + 1], last = tile.size[d + 1] - 1 + map.upper[d];
    std::string along = " along dimension " + std::to_string(d + 1);
    if (first < map.lower[d] || first > last || (first - map.lower[d]) % map.step[d] != 0)
      wave.report(instr, FindingKind::OutOfBounds,
                  who + " begins at " + std::to_string(first) + along +
                      ", expected a pixel: " + std::to_string(map.lower[d]) + " to " + std::to_string(last) +
                      " in steps of " + std::to_string(map.step[d]),
                  "make the coordinates those of a pixel between the corners", Finding::kNone, first);
    if (tile.offset[d] < 0 || tile.offset[d] >= int64_t(1) << cornerBits(map.corners))
      wave.report(instr, FindingKind::OutOfBounds,
                  who + " is off by " + std::to_string(tile.offset[d]) + along + ", expected 0 to " +
                      std::to_string((int64_t(1) << cornerBits(map.corners)) - 1),
                  "move the lower corner", Finding::kNone, tile.offset[d]);
  }
}

void judgeTile(Wave &wave, const Actor &actor, const Instr &instr, const TensorMap &map, const PendingTile &tile) {
  Workgroup &group = wave.group;
  bool isLoad = instr.sub == uint8_t(TileOp::Load);
  judgePlace(wave, instr, map, tile);
  judgePixel(wave, instr, map, tile);
  if (!isLoad)
    judgeBeginning(wave, instr, map, tile);
  if (tile.shared % 128 != 0)
    wave.report(instr, FindingKind::Misaligned,
                group.reporter.nameOf(wave.instruction(instr)) + " at shared byte " + std::to_string(tile.shared) +
                    ", expected a multiple of 128",
                "align the tile", Finding::kNone, tile.shared);
  // An addition is atomic where it adds, not where it takes its operand from, which is over before it adds.
  Actor inShared = actor;
  inShared.atomic = false;
  if (!isLoad) {
    inShared.agent = bulkReaderOf(wave.index);
    inShared.access = tile.readAccess;
  }
  group.sharedChecker.begin(inShared);
  if (isLoad)
    group.sharedChecker.write(tile.shared, boxBytes(map), 0);
  else
    group.sharedChecker.read(tile.shared, boxBytes(map), 0);
  judgeLaunches(wave, instr, map.argument, !isLoad);
  if (!group.globalChecker.tracks(map.argument))
    return;
  uint64_t size = wave.prepared.config.buffers[map.argument].bytes;
  forRows(map, tile, [&](const Row &row) {
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

/// Where the shared block that a tile lies in ends.
static uint32_t endOfBlock(const Program &program, const PendingTile &tile) {
  return tile.shared / program.blockDistance() * program.blockDistance() + program.sharedBytes;
}

void captureTile(Wave &wave, const Instr &instr, PendingTile &tile) {
  const TensorMap &map = wave.program.maps[size_t(instr.imm)];
  if (!tile.data.empty())
    return;
  tile.data.resize(boxBytes(map));
  const uint8_t *shared = wave.group.shared.data();
  forPieces(tile.shared, boxBytes(map), map.swizzle, endOfBlock(wave.program, tile),
            [&](uint32_t at, uint32_t to, uint32_t piece) { std::memcpy(tile.data.data() + to, shared + at, piece); });
}

void runTile(Wave &wave, const Instr &instr, PendingTile &tile) {
  const TensorMap &map = wave.program.maps[size_t(instr.imm)];
  uint32_t width = elementBytes(map), rowBytes = map.box[0] * width, block = endOfBlock(wave.program, tile);
  uint8_t *shared = wave.group.shared.data();
  std::vector<uint8_t> buffer(rowBytes);
  auto op = static_cast<TileOp>(instr.sub);
  wave.group.noteChange();
  if (op != TileOp::Load)
    captureTile(wave, instr, tile);
  forRows(map, tile, [&](const Row &row) {
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
    const uint8_t *from = tile.data.data() + (row.shared - tile.shared) + begin;
    if (global && op == TileOp::Store)
      std::memcpy(global, from, count);
    else if (global)
      addRow(map, global, from, row.last - row.first);
  });
}

/// Into the shared block of one workgroup of the cluster, where it completes bytes of that workgroup's mbarrier.
static void loadTile(Wave &wave, const Instr &instr, PendingTile tile, bool inBounds, uint32_t rank) {
  Workgroup &group = wave.group;
  const TensorMap &map = wave.program.maps[size_t(instr.imm)];
  Mbarrier *mbarrier = mbarrierOf(wave, instr, wave.program.addresses[instr.index2], rank);
  if (!mbarrier)
    return;
  tile.shared += (rank - wave.rank()) * wave.program.blockDistance();
  Actor actor{group.linear, wave.index, mbarrier->agent, 0, tile.instruction, true, false};
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

static void storeTile(Wave &wave, const Instr &instr, PendingTile tile) {
  Workgroup &group = wave.group;
  const TensorMap &map = wave.program.maps[size_t(instr.imm)];
  Agent agent = agentOf(wave.index, CounterKind::bulk);
  Actor actor{group.linear, wave.index, agent, 0, tile.instruction, true, instr.sub == uint8_t(TileOp::Add)};
  actor.access = tile.access = group.clocks.issue(agent, tile.instruction);
  tile.readAccess = group.clocks.issue(bulkReaderOf(wave.index), tile.instruction);
  if (group.checks)
    judgeTile(wave, actor, instr, map, tile);
  if (wave.prepared.late)
    return wave.tileStores.push_back(std::move(tile));
  runTile(wave, instr, tile);
}

void evalCopyTile(Wave &wave, const Instr &instr) {
  if (!issuesOnce(wave, instr))
    return;
  const TensorMap &map = wave.program.maps[size_t(instr.imm)];
  PendingTile tile = tileOf(wave, instr, map);
  bool inBounds = wave.resolveShared(instr, wave.program.addresses[instr.index], boxBytes(map), tile.shared);
  if (instr.sub != uint8_t(TileOp::Load)) {
    if (inBounds)
      storeTile(wave, instr, std::move(tile));
    return;
  }
  if (instr.src[0] == kNoSlot)
    return loadTile(wave, instr, std::move(tile), inBounds, wave.rank());
  for (uint32_t mask = wave.words(instr.src[0])[0] & 0xffff; mask != 0; mask &= mask - 1)
    loadTile(wave, instr, tile, inBounds, static_cast<uint32_t>(std::countr_zero(mask)));
}

} // namespace soliton::emu
