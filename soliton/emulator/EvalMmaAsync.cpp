//===- EvalMmaAsync.cpp - Asynchronous products of several waves ----------===//
//
// Each of the kind's waves computes its own rows; B, and A unless it is in registers, are read from shared memory at
// addresses that a descriptor gives. Operands in registers are captured when the instruction issues; shared memory is
// read when a wait retires it, which is as late as is legal. Slots that are to receive the result hold NaN patterns and
// the number of the job until then; moves hand the number on.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Numbers.h"
#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <cstring>

namespace soliton::emu {
namespace {

/// Byte of the shared block at which element (outer, k) of a tile lies; outer is the row of A or the column of B.
uint32_t tileByte(const SharedTile &tile, uint32_t start, uint32_t outer, uint32_t k, uint32_t width) {
  uint32_t span = tile.swizzle, offset;
  if (tile.kMajor && span)
    offset = outer / 8 * tile.strideBytes + outer % 8 * span + k * width;
  else if (tile.kMajor)
    offset = outer / 8 * tile.strideBytes + k * width / 16 * tile.leadingBytes + outer % 8 * 16 + k * width % 16;
  else if (span)
    offset = outer * width / span * tile.leadingBytes + k / 8 * tile.strideBytes + k % 8 * span + outer * width % span;
  else
    offset = outer * width / 16 * tile.strideBytes + k / 8 * tile.leadingBytes + k % 8 * 16 + outer * width % 16;
  uint32_t address = start + offset;
  return span ? address ^ ((address >> 3) & (span - 16)) : address;
}

/// Calls `each(byte, outer, k)` for every 16 contiguous bytes of the tile; (outer, k) is their first element.
template <typename F>
void forChunks(const SharedTile &tile, uint32_t start, uint32_t firstOuter, uint32_t outers, uint32_t k, uint32_t width,
               F each) {
  uint32_t perChunk = 16 / width;
  uint32_t outerStep = tile.kMajor ? 1 : perChunk, kStep = tile.kMajor ? perChunk : 1;
  for (uint32_t outer = 0; outer < outers; outer += outerStep)
    for (uint32_t kk = 0; kk < k; kk += kStep)
      each(tileByte(tile, start, firstOuter + outer, kk, width), outer, kk);
}

/// The tile's elements as words, A as [outer][k], B as [k][outer]; bytes beyond the block read as zero.
std::vector<uint32_t> gatherTile(Wave &wave, const SharedTile &tile, uint32_t start, uint32_t firstOuter,
                                 uint32_t outers, uint32_t k, DType type, bool transposed) {
  uint32_t width = static_cast<uint32_t>(bits(type)) / 8, perChunk = 16 / width;
  std::vector<uint32_t> words(size_t(outers) * k);
  const uint8_t *shared = wave.group.shared.data();
  forChunks(tile, start, firstOuter, outers, k, width, [&](uint32_t at, uint32_t outer, uint32_t kk) {
    uint8_t chunk[16] = {};
    if (uint64_t(at) + 16 <= wave.block() + wave.program.sharedBytes)
      std::memcpy(chunk, shared + at, 16);
    for (uint32_t i = 0; i < perChunk; ++i) {
      uint32_t o = tile.kMajor ? outer : outer + i, q = tile.kMajor ? kk + i : kk;
      if (o >= outers || q >= k)
        continue;
      uint32_t word = 0;
      std::memcpy(&word, chunk + i * width, width);
      words[transposed ? size_t(q) * outers + o : size_t(o) * k + q] = word;
    }
  });
  return words;
}

/// Gathered words into the workgroup's matrix of one operand.
void setMatrix(Workgroup &group, char operand, DType type, const std::vector<uint32_t> &words) {
  if (isInteger(type)) {
    std::vector<int32_t> &to = operand == 'a' ? group.intA : group.intB;
    to.resize(words.size());
    return toInts(type, words.data(), to.data(), words.size());
  }
  std::vector<float> &to = operand == 'a' ? group.matrixA : group.matrixB;
  to.resize(words.size());
  toFloats(type, words.data(), to.data(), words.size());
}

uint32_t rowsPerWave(const MmaKind &kind) {
  return kind.m / kind.waves;
}
uint32_t firstRow(const Wave &wave, const MmaKind &kind) {
  return wave.index % kind.waves * rowsPerWave(kind);
}

/// Judges the bytes of a tile that the wave reads; reports a tile that leaves the block.
void judgeTile(Wave &wave, const Instr &instr, const SharedTile &tile, uint32_t start, uint32_t firstOuter,
               uint32_t outers, uint32_t k, DType type) {
  bool outside = false;
  int64_t where = 0;
  uint32_t block = wave.program.sharedBytes;
  forChunks(tile, start, firstOuter, outers, k, static_cast<uint32_t>(bits(type)) / 8,
            [&](uint32_t at, uint32_t, uint32_t) {
              if (uint64_t(at) + 16 > wave.block() + block) {
                outside = true;
                where = at - wave.block();
              } else if (wave.group.checks) {
                wave.group.sharedChecker.read(at, 16, 0);
              }
            });
  if (outside)
    wave.report(instr, FindingKind::OutOfBounds,
                wave.group.reporter.nameOf(wave.instruction(instr)) + " in wave " +
                    wave.group.reporter.waveName(wave.index) + " reads shared byte " + std::to_string(where) +
                    " of a block of " + std::to_string(block),
                "check the tile's start and byte distances", Finding::kNone, where);
}

std::vector<uint32_t> capture(Wave &wave, Slot slot) {
  const uint32_t *words = wave.read<uint32_t>(slot, true, 0);
  return {words, words + size_t(wave.program.slots[slot].count) * wave.lanes};
}

void captureTile(Wave &wave, const Instr &instr, uint32_t index, uint32_t &start) {
  const SharedTile &tile = wave.program.tiles[index];
  wave.resolveShared(instr, wave.program.addresses[tile.address], 16, start);
}

} // namespace

std::vector<uint32_t> runMma(Wave &wave, PendingMma &mma) {
  Workgroup &group = wave.group;
  const MmaKind &kind = *mma.kind;
  uint32_t rows = rowsPerWave(kind);
  if (mma.aInShared)
    setMatrix(
        group, 'a', kind.a,
        gatherTile(wave, wave.program.tiles[mma.tileA], mma.startA, firstRow(wave, kind), rows, kind.k, kind.a, false));
  else
    toMatrix(group, 'a', kind.a, kind.fragA, mma.a.data(), size_t(rows) * kind.k);
  setMatrix(group, 'b', kind.b,
            gatherTile(wave, wave.program.tiles[mma.tileB], mma.startB, 0, kind.n, kind.k, kind.b, true));
  toMatrix(group, 'c', kind.acc, kind.fragAcc, mma.acc.data(), size_t(rows) * kind.n);
  multiply(group, kind, rows);
  std::vector<uint32_t> result(kind.fragAcc.element.size());
  fromMatrix(group, kind.acc, kind.fragAcc, result.data());
  return result;
}

void finishMma(Wave &wave, PendingMma &mma) {
  std::vector<uint32_t> result = runMma(wave, mma);
  for (PendingMma &later : wave.mmas)
    if (later.accJob == mma.job) {
      later.acc = result;
      later.accJob = 0;
    }
  for (Slot slot = 0; slot < wave.pendingOf.size(); ++slot)
    if (wave.pendingOf[slot] == mma.job) {
      wave.pendingOf[slot] = 0;
      std::copy(result.begin(), result.end(), wave.words(slot));
    }
}

void evalMmaAsync(Wave &wave, const Instr &instr) {
  wave.requireConverged(instr);
  Workgroup &group = wave.group;
  PendingMma mma;
  mma.kind = &wave.program.mmaKinds[size_t(instr.imm)];
  const MmaKind &kind = *mma.kind;
  // Those of a cluster are counted together.
  uint32_t inWorkgroup = wave.index % wave.program.waves;
  if (inWorkgroup / kind.waves * kind.waves + kind.waves > wave.program.waves)
    wave.report(instr, FindingKind::Divergent,
                "wave " + group.reporter.waveName(wave.index) + " has no group of " + std::to_string(kind.waves) +
                    " waves in a workgroup of " + std::to_string(wave.program.waves),
                "a product of several waves is executed by all of them", Finding::kNone, 0);
  Actor actor = wave.issue(instr, CounterKind::mma);
  actor.proxy = true;
  mma.access = actor.access;
  if (group.checks)
    group.sharedChecker.begin(actor);
  mma.aInShared = instr.src[0] == kNoSlot;
  mma.tileA = instr.index;
  mma.tileB = instr.index2;
  if (mma.aInShared) {
    captureTile(wave, instr, mma.tileA, mma.startA);
    judgeTile(wave, instr, wave.program.tiles[mma.tileA], mma.startA, firstRow(wave, kind), rowsPerWave(kind), kind.k,
              kind.a);
  } else {
    mma.a = capture(wave, instr.src[0]);
  }
  captureTile(wave, instr, mma.tileB, mma.startB);
  judgeTile(wave, instr, wave.program.tiles[mma.tileB], mma.startB, 0, kind.n, kind.k, kind.b);
  bool useAcc = instr.src[3] == kNoSlot || wave.words(instr.src[3])[0] != 0;
  size_t words = kind.fragAcc.element.size();
  if (!useAcc)
    mma.acc.assign(words, 0);
  else if (!wave.pendingOf.empty() && wave.pendingOf[instr.src[2]])
    mma.accJob = wave.pendingOf[instr.src[2]];
  else
    mma.acc = capture(wave, instr.src[2]);
  if (!wave.prepared.late) {
    std::vector<uint32_t> result = runMma(wave, mma);
    std::copy(result.begin(), result.end(), wave.words(instr.dst));
    return;
  }
  mma.job = wave.nextJob++;
  wave.pendingOf[instr.dst] = mma.job;
  uint32_t poison = bits(kind.acc) == 32 ? ~0u : (1u << bits(kind.acc)) - 1;
  std::fill_n(wave.words(instr.dst), words, poison);
  wave.mmas.push_back(std::move(mma));
}

} // namespace soliton::emu
