//===- Geometry.h - How a kernel's dimensions are distributed ------------------===//
//
// What the constraints of a kernel say, as numbers and expressions: which workgroup, wave and iteration has which part
// of each dimension, and how large the launch is. For M distributed by `workgroup<M, 64, 0>, wave<M, 32>`:
//
//   tile 64, workgroupStart 64*$WG0, waveTile 32, waves 2, grid[0] = ceildiv(M, 64)
//
// Constraints are read once (ResolveConstraints.cpp) into the kernel's attribute `geometry`; this is the view of it
// that passes ask, together with the symbols of the kernel's index values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/IndexSymbols.h"
#include "soliton/target/Target.h"

namespace soliton {

/// How one dimension is distributed.
struct Distribution {
  Dim dim;
  /// Its whole size: a number, or a symbol known at launch.
  sym::Expr size;
  std::optional<int64_t> workgroupTile;
  int64_t workgroupDim = 0;
  /// Where a workgroup's part starts.
  sym::Expr workgroupStart;
  std::optional<int64_t> loopTile;
  sym::Expr loopStart;
  sym::Expr loopCount = 1;
  /// Loops along this axis place it: its own, or that of the dimension that it is an alias of.
  std::string axis;
  /// Elements of the workgroup's tile that one wave has, and how many waves share the tile.
  int64_t waveTile = 0;
  int64_t waves = 1;
  /// The dimension whose waves these are: itself, or the one that it is an alias of.
  Dim wavesOf;
  /// Elements that tiles hold; 0 for a size that is not known.
  int64_t held = 0;

  /// Elements of this dimension that a workgroup has at a time; nothing for a size that is not known.
  std::optional<int64_t> part() const;
  /// Those that its tiles hold: an odd number is held with places beyond the part's end, which nothing touches.
  std::optional<int64_t> tile() const { return held ? std::optional(held) : std::nullopt; }
  bool hasPlacesBeyond() const { return tile() != part(); }
};

/// Reads the constraints of a kernel; reports what is wrong with them at the kernel.
FailureOr<wave::GeometryAttr> resolveConstraints(wave::KernelOp kernel);

/// What the kernel's `subs` bind, put into an expression of the author's.
class SymbolBindings {
public:
  /// Fails where values refer to each other in a cycle.
  static FailureOr<SymbolBindings> of(wave::KernelOp kernel);
  sym::Expr operator()(sym::Expr expr) const { return sym::substitute(expr, bound); }

private:
  sym::Substitution bound;
};

class Geometry {
public:
  /// The resolved constraints of the kernel; resolves them where that has not happened yet.
  static FailureOr<Geometry> of(wave::KernelOp kernel);

  const Target &target() const { return *chip; }
  const Distribution &operator[](Dim dim) const;
  const std::vector<Distribution> &distributions() const { return list; }

  int64_t waveSize() const { return laneCount; }
  /// Waves of a workgroup along each workgroup dimension.
  const std::array<int64_t, 3> &waves() const { return waveGrid; }
  int64_t waveCount() const { return waveGrid[0] * waveGrid[1] * waveGrid[2]; }
  /// Waves beside those that compute; one of them has boxes copied.
  int64_t serviceWaves() const { return copyingWaves; }
  int64_t allWaves() const { return waveCount() + serviceWaves(); }
  /// What a schedule says that each of their lanes keeps of its registers; 0: nothing is said.
  int64_t serviceRegisters() const { return copyingRegisters; }
  /// Workgroups along each dimension of the grid.
  const std::array<sym::Expr, wave::kMaxGridDims> &grid() const { return gridSizes; }
  /// Whether workgroups are launched in one dimension and take their number apart.
  bool isLinear() const { return linear; }
  /// What a launch is given.
  std::array<sym::Expr, 3> launchGrid() const;
  int64_t maxBytesPerAccess() const { return accessBytes; }
  std::optional<std::string> mmaName() const { return mma; }

  /// Where the tile of `dim` starts in the whole tensor, for an op at this place (its loops count).
  sym::Expr start(Dim dim, Operation *where) const;
  /// The sizes of a tile's dimensions; nothing if one is unknown.
  std::optional<std::vector<DimExtent>> extents(wave::TileType type) const;
  /// Digits of the wave axis for a tile with these dimensions: waves split some, the others replicate.
  Digits waveDigits(ArrayRef<Dim> dims) const;
  /// The elements that one wave has of a tile's dimensions. Of a dimension and its alias one is split, the other whole.
  std::vector<DimExtent> wavePart(std::vector<DimExtent> tile) const;

  /// The kernel's index values as symbols.
  IndexSymbols &symbols() const { return *indexSymbols; }
  /// An op's expression in symbols, with what the subs bind.
  sym::Expr named(wave::ExprAttr expr, ValueRange operands) const;
  SmallVector<sym::Expr> named(ArrayAttr exprs, ValueRange operands) const;

  /// The author's assumptions and ranges of sizes: what holds at every launch, of empty tensors too.
  const sym::Facts &factsAtLaunch() const { return sizeFacts; }
  /// Those, and ranges of lanes, waves, workgroups and iterations: what holds where there is a workgroup.
  const sym::Facts &facts() const { return indexSymbols->known; }
  /// Those, and that the loops around the op are at one of their iterations.
  const sym::Facts &factsAt(Operation *op) const { return indexSymbols->factsAt(op); }
  /// What the subs bind, for expressions of the author's.
  sym::Expr bind(sym::Expr expr) const { return bindings(expr); }

private:
  /// Which of the dimensions the waves of `owner` split: itself, or an alias of it; null if there is none.
  const Distribution *movedByWavesOf(const Distribution &owner, ArrayRef<Dim> dims) const;
  void read(wave::GeometryAttr attribute);
  void learnFacts(wave::KernelOp kernel, wave::GeometryAttr attribute);

  const Target *chip = nullptr;
  std::vector<Distribution> list;
  std::map<Dim, size_t> places;
  int64_t laneCount = 0;
  std::array<int64_t, 3> waveGrid = {1, 1, 1};
  int64_t copyingWaves = 0, copyingRegisters = 0;
  std::array<sym::Expr, wave::kMaxGridDims> gridSizes;
  bool linear = false;
  int64_t accessBytes = 16;
  std::optional<std::string> mma;
  SymbolBindings bindings;
  sym::Facts sizeFacts;
  std::shared_ptr<IndexSymbols> indexSymbols;
};

/// The memory's size in elements along its dimensions and its strides, row-major where it says none; all bound.
struct MemoryShape {
  std::vector<sym::Expr> extents;
  std::vector<sym::Expr> strides;
  /// From the first to the last, with what lies between.
  sym::Expr elements = 1;
};
/// Whether the loop moves such a tile along one of its dimensions.
bool walks(wave::IterateOp loop, wave::TileType tile, const Geometry &geometry);

/// The matrix instruction that an `mma` names; it was checked when symbols were bound.
const MmaKind &mmaKindOf(wave::MmaOp mma, const Target &target);

/// Width of an element in registers; `index` has 64 bits.
int64_t elementBits(Type element);
/// Bytes that an element takes in memory; at least 1.
int64_t elementBytes(Type element);
/// Bits that an element takes in memory: `i1` is a byte, `i4`, `f4` and `f6` lie side by side.
int64_t memoryBits(Type element);

MemoryShape shapeOf(wave::MemoryType type, const Geometry &geometry);
/// Bytes that a global memory takes.
sym::Expr bytesOf(wave::MemoryType type, const Geometry &geometry);

} // namespace soliton
