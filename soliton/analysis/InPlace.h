//===- InPlace.h - Factors that matrix instructions read from shared memory -----------===//
//
// Some matrix instructions take no registers for their factors: several waves issue one together, and it reads them
// from shared memory by itself, from tiles that lie as it expects. Such a factor is a `wave.read` that is `in_place`:
// it stands for the tile and moves nothing.
//
//   %a = wave.read %s {in_place} : tile [M, K] of layout reg = (16 K 1)(16 M 1), lane = (32), wave = (4 M 16)
//   %d = wave.mma %a, %b, %c {kind = "F32_64x128x16_F16"}
//
// The layout says what each wave's part of the instruction reads; nobody holds it, so all lanes have all of it. The
// left factor may be one that lanes hold, as the weights of attention are; the right one never is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"

namespace soliton {

/// Whether the instruction reads its factors from shared memory by itself.
inline bool readsInPlace(const MmaKind &kind) {
  return kind.async;
}

/// Rows of the accumulator that each of the instruction's waves has.
inline int64_t rowsPerWave(const MmaKind &kind) {
  return kind.m / kind.waves;
}

/// What a wave's part of one instruction reads of a factor (0: the left one, over "M" and "K"; 1: the right one, over
/// "N" and "K"), the contracted dimension fastest.
Layout inPlaceFragment(const MmaKind &kind, int which, int64_t waveSize);

/// Whether the read stands for a whole tile of a parameter in the shared space, or, once those are promoted, is marked
/// so: an instruction can take it from shared memory by itself.
bool mayStayInPlace(wave::ReadOp read);

/// Whether the instruction reads that factor (0 or 1) from shared memory by itself; the left one may be in registers.
bool takesInPlace(wave::MmaOp mma, unsigned which, const MmaKind &kind);

/// Registers of a piece that one instruction takes of an operand, as layouts count them.
int64_t registersTaken(wave::MmaOp mma, const MmaKind &kind, unsigned operand);

/// Whether the tile is known to be all zeros.
bool isZero(Value tile);

/// Along which dimension of the sum lie the groups of consecutive waves that issue the instruction together, its rows:
/// those of the author's left factor, or with the operands exchanged those of the right one, of which there are more
/// where a product has few rows. Nothing where waves form no such groups, or share the contracted dimension.
enum class InPlaceRows : uint8_t { left, right };
std::optional<InPlaceRows> rowsInPlace(wave::MmaOp mma, const MmaKind &kind, const Geometry &geometry);

/// The factors that the op reads from shared memory by itself; empty for any other op.
SmallVector<wave::ReadOp> inPlaceFactors(Operation *op);

/// Whether the tile that is read is used, and only as the same factor of instructions of one kind, which read it from
/// memory by themselves.
bool isFactorInPlace(Operation *op, const Target &target);

inline bool isInPlace(Operation *op) {
  auto read = dyn_cast<wave::ReadOp>(op);
  return read && read.getInPlace();
}

/// How such a tile lies: rows of `span` bytes in groups of eight, chunks of 16 bytes exchanged by row. What a row has
/// beyond `span` bytes lies in the next panel.
struct InPlaceTile {
  int64_t span = 128;
  /// From one panel to the next, in bytes.
  int64_t panel = 0;
  /// What the places of tile and buffers are multiples of, so that chunks are exchanged alike in all of them.
  int64_t alignment() const { return 8 * span; }
};

/// The widest span of which a row and the bytes of it that one instruction reads (`partOfRow`) are whole numbers;
/// nothing where there is none.
std::optional<InPlaceTile> inPlaceTile(const SharedMap &map, int64_t elementBytes, int64_t part);
/// The same for the tile of that plain map which an `in_place` read stands for.
std::optional<InPlaceTile> inPlaceTile(wave::ReadOp factor, const SharedMap &map, const Target &target);
/// Rows in panels of the tile's span, chunks exchanged as the instruction expects it.
SharedMap inPlaceMap(SharedMap plain, int64_t elementBytes, const InPlaceTile &tile);
/// What a map that inPlaceMap has made says.
InPlaceTile inPlaceTileOf(const SharedMap &map, int64_t elementBytes);

/// Bytes of a row of the factor's tile that one instruction reads, where rows go along the dimension that is not
/// contracted; 0 where they go along the contracted one, of which an instruction may begin anywhere inside a span.
int64_t partOfRow(const MmaKind &kind, int which, bool alongK);

} // namespace soliton
