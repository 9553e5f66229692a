//===- Access.h - Where a read or write touches memory ---------------------------===//
//
// The address of every element that a lane moves, as an expression in lane, wave, workgroup and iteration, and what
// follows from it: how many consecutive registers one instruction may move. For a 128×32 f16 tile of a row-major
// [1024, 512] memory, eight elements a lane:
//
//   byteOffset(0) = 131072*$WG0 + 64*$ARG_K + 16*mod($LANE, 4) + 1024*floordiv($LANE, 4) + …      width = 8
//
// Widths are proven (contiguous, aligned, bounded alike), never probed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"
#include "soliton/layout/LayoutExpr.h"

namespace soliton {

class Access {
public:
  /// `op` is a `wave.read`, `wave.write` or, for its source, `wave.copy` whose tile has a layout and whose starts are
  /// known.
  Access(Operation *op, const Geometry &geometry);
  /// The same access with another layout or element count: for choosing one.
  Access(Operation *op, const Geometry &geometry, const Layout &layout);

  wave::MemoryType memory() const { return memoryType; }
  const Layout &layout() const { return tileLayout; }
  /// Bytes that so many elements side by side take.
  int64_t bytesOf(int64_t elements) const { return (elements * size + unitsPerByte - 1) / unitsPerByte; }

  /// Offset of register `reg`'s element from the start of the memory (global) or of the tile (shared), in bytes.
  sym::Expr byteOffset(int64_t reg) const;
  /// Which of the elements that share its byte register `reg`'s is; 0 where elements have bytes of their own.
  sym::Expr placeInByte(int64_t reg) const;
  /// Where register `reg`'s element lies along the k-th dimension of the tile, in the whole tensor.
  sym::Expr place(size_t k, int64_t reg) const;
  /// Holds where the guards allow register `reg`'s element and this lane is the one that writes it; 1 if always.
  sym::Expr mask(int64_t reg) const;

  /// What stands for the k-th dynamic value of register `reg` in offsets and masks. Registers for which the value is
  /// known to be the same share it.
  sym::Expr dynamicSymbol(size_t k, int64_t reg) const;
  size_t dynamicCount() const { return varying.size(); }

  /// Registers that one instruction moves: the largest power of two, at most `maxBytes` bytes, for which every group is
  /// contiguous, aligned and bounded alike. 0 where not even the least does, since a lane would write a part of a byte,
  /// or read an element that lies in two.
  int64_t width(int64_t maxBytes) const;

private:
  void read(Operation *op);
  void findStrides();
  std::optional<std::vector<sym::Expr>> memoryStrides() const;
  bool groupsAre(int64_t width) const;
  bool groupsAreByStrides(int64_t width) const;
  bool guardsFallBetweenGroups(int64_t first, int64_t width) const;
  bool holdsAlike(sym::Expr guard, int64_t first, int64_t width) const;
  bool isEndOfRow(sym::Expr guard) const;
  /// The places and dynamic values of register `reg`, for the placeholders of indices and guards.
  sym::Substitution placesOf(int64_t reg) const;
  sym::Expr replicaMask() const;
  /// The coordinate of register `reg` without what lane and wave add: a number.
  int64_t registerPart(size_t k, int64_t reg) const;
  sym::Expr unitOffset(int64_t reg) const;
  sym::Expr generalOffset(int64_t reg) const;

  const Geometry &geometry;
  /// What is known where the access stands.
  const sym::Facts &facts;
  Layout tileLayout;
  wave::MemoryType memoryType;
  SmallVector<Dim> dims;
  SmallVector<sym::Expr> starts;
  SmallVector<sym::Expr> indices;
  /// Of the memory's last dimension, along which elements share bytes.
  sym::Expr rowExtent;
  /// Of each dynamic value: the dimensions along which it differs.
  SmallVector<SmallVector<size_t>> varying;
  /// What must hold for an element to be touched.
  SmallVector<sym::Expr> guards;
  /// Offsets count units: bytes, or, where elements lie side by side in a byte, what divides both (4 bits of `i4`, 2 of
  /// `f6`). An element has `size` of them.
  int64_t size = 1, unitsPerByte = 1;
  bool isWrite = false;
  /// Of an atomic: the elements that one instruction changes.
  std::optional<int64_t> atomicWidth;
  /// Of a copy into a swizzled tile: the coordinate of a place is what this map stores there.
  std::optional<SharedMap> stored;
  /// Where the offset is a sum of places times strides: those strides in units, and the offset of a register at the
  /// origin of the layout. Then registers differ by numbers, and no two expressions have to be compared.
  SmallVector<sym::Expr> strides;
  sym::Expr base;
};

/// Whether every index of the read's memory is a dimension of its tile.
bool isPermutation(wave::ReadOp read);

/// The dimension of a tile of that rank whose places follow each other along the index, wherever they begin.
std::optional<size_t> dimAlong(sym::Expr index, size_t rank);

/// The dimensions of an access in the order in which the memory stores them, fastest last; nothing where an index of
/// the memory is no plain dimension. Those of which the tile has a single place may be anything: they come first.
std::optional<std::vector<DimExtent>> memoryOrder(Operation *op, const Geometry &geometry);

/// A layout for the access in which consecutive lanes touch consecutive addresses: within each wave's part of the tile,
/// or, if `allWaves`, the whole tile by all waves. `elements`, if not 0, is how many a lane has in a row.
FailureOr<Layout> coalescedLayout(Operation *op, const Geometry &geometry, bool allWaves, int64_t elements = 0);

/// The access' layout over the indices of its memory instead of the tile's coordinates: they differ where coordinates
/// that lie apart are stored side by side (`floordiv($index0, 64)`).
Layout layoutInMemory(Operation *op);

/// Where the tile of an access starts along `dim`: in the whole tensor, or, of a tile in shared memory, at 0.
sym::Expr startOf(Operation *access, Dim dim, const Geometry &geometry);

/// The extents of a memory: those of its shape, or, of a tile in shared memory, the tile's.
std::vector<sym::Expr> memoryExtents(Value memory, const Geometry &geometry);

/// Bytes from one buffer of a placed shared tile to the next.
int64_t bytesPerBuffer(wave::AllocateOp allocation);

/// The collective load that a read is, as the target's table has it, or null.
const MatrixAccess *matrixAccessOf(Operation *op, const Target &target);
/// Where the lanes of a collective load point: the registers are those of a row, then of further loads.
Layout matrixRowsOf(Operation *op, const Target &target);

/// The tile that an access moves.
wave::TileType tileOf(Operation *op);
/// The memory that it touches; of a copy, its source.
Value memoryOf(Operation *op);
/// Whether the op writes that memory.
bool writes(Operation *op, Value memory);
/// Where register 0 of a copy's tile is written: bytes from the start of the shared tile, which is placed.
sym::Expr destinationOffset(wave::CopyOp copy, const Geometry &geometry);
/// Where the box of a `wave.copy_out` begins: bytes from the start of the shared tile, which is placed.
sym::Expr sourceOffset(wave::CopyOutOp copy, const Geometry &geometry);

} // namespace soliton
