//===- Geometry.h - How a kernel's dimensions are distributed ------------------===//
//
// The constraints of a kernel with all symbols bound, as numbers and expressions: which workgroup, wave and iteration
// has which part of each dimension, and how large the launch is. For M distributed by
// `workgroup<M, 64, 0>, wave<M, 32>`:
//
//   tile 64, workgroupStart 64*$WG0, waveTile 32, waves 2, grid[0] = ceildiv(M, 64)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"
#include "soliton/target/Target.h"

namespace soliton {

/// The symbols of the machine that expressions may use.
sym::Expr laneSymbol();
sym::Expr waveSymbol();
sym::Expr workgroupSymbol(int64_t dim);
sym::Expr inductionSymbol(StringRef axis);

/// How one dimension is distributed.
struct Distribution {
  Dim dim;
  /// Its whole size: a number, or a symbol known at launch.
  sym::Expr size;
  std::optional<int64_t> workgroupTile;
  int64_t workgroupDim = 0;
  /// Where a workgroup's part starts.
  sym::Expr workgroupStart;
  sym::Expr workgroupCount = 1;
  std::optional<int64_t> loopTile;
  sym::Expr loopStart;
  sym::Expr loopCount = 1;
  /// Elements of the workgroup's tile that one wave has, and how many waves share the tile.
  int64_t waveTile = 0;
  int64_t waves = 1;

  /// Elements of this dimension in a workgroup's tile; nothing for a size that is not known.
  std::optional<int64_t> tile() const;
};

class Geometry {
public:
  /// Reports what is wrong with the constraints at the kernel.
  static FailureOr<Geometry> of(wave::KernelOp kernel);

  const Target &target() const { return *chip; }
  const Distribution &operator[](Dim dim) const;
  const std::vector<Distribution> &distributions() const { return list; }

  int64_t waveSize() const { return laneCount; }
  /// Waves of a workgroup along each workgroup dimension.
  const std::array<int64_t, 3> &waves() const { return waveGrid; }
  int64_t waveCount() const { return waveGrid[0] * waveGrid[1] * waveGrid[2]; }
  const std::array<sym::Expr, 3> &grid() const { return launchGrid; }
  int64_t maxBytesPerAccess() const { return accessBytes; }
  std::optional<std::string> mmaName() const { return mma; }

  /// Where the tile of `dim` starts in the whole tensor, for an op at this place (its loops count).
  sym::Expr start(Dim dim, Operation *where) const;
  /// The sizes of a tile's dimensions; nothing if one is unknown.
  std::optional<std::vector<DimExtent>> extents(wave::TileType type) const;
  /// Digits of the wave axis for a tile with these dimensions: waves split some, the others replicate.
  Digits waveDigits(ArrayRef<Dim> dims) const;

  /// Ranges of lanes, waves, workgroups, iterations and sizes, and the author's assumptions.
  const sym::Facts &facts() const { return known; }
  /// Those that hold whether or not a loop runs. The others say that each iteration is one of its loop's, and so that
  /// there is one: nothing to decide by whether there is.
  const sym::Facts &launchFacts() const { return knownAtLaunch; }
  /// What the subs bind, for expressions of the author's.
  sym::Expr bind(sym::Expr expr) const;

private:
  LogicalResult read(wave::KernelOp kernel);
  LogicalResult readWaves(wave::KernelOp kernel);
  LogicalResult bindSymbols(wave::KernelOp kernel);
  void readLaunch(wave::KernelOp kernel);
  void learnFacts(wave::KernelOp kernel);
  Distribution &entry(Dim dim);

  const Target *chip = nullptr;
  std::vector<Distribution> list;
  int64_t laneCount = 0;
  std::array<int64_t, 3> waveGrid = {1, 1, 1};
  std::array<sym::Expr, 3> launchGrid = {1, 1, 1};
  int64_t accessBytes = 16;
  std::optional<std::string> mma;
  sym::Substitution bound;
  sym::Facts known, knownAtLaunch;
};

/// The memory's size in elements along its dimensions and the row-major strides, all bound.
struct MemoryShape {
  std::vector<sym::Expr> extents;
  std::vector<sym::Expr> strides;
  sym::Expr elements = 1;
};
/// The matrix instruction that an `mma` names; it was checked when symbols were bound.
const MmaKind &mmaKindOf(wave::MmaOp mma, const Target &target);

/// Width of an element; `index` has 64 bits.
int64_t elementBits(Type element);
/// Bytes that an element takes in memory; at least 1.
int64_t elementBytes(Type element);

MemoryShape shapeOf(wave::MemoryType type, const Geometry &geometry);

} // namespace soliton
