//===- MmaWays.cpp - How a matrix multiplication may be issued -----------------------===//
//
// acc[M, N] += lhs[M, K] * rhs[N, K] is also acc^T += rhs * lhs^T: with its operands exchanged the same instruction
// leaves the accumulator transposed, which is often how the next op wants it. And K may be walked in any order that
// both operands share; where blocks of it are scaled, in any order of the blocks.
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/InPlace.h"
#include "soliton/transforms/LayoutProblem.h"

namespace soliton {
using namespace wave;

namespace {
/// What one logical instruction holds, over the dimensions of the op.
struct MmaFragments {
  Layout lhs, rhs, acc;
  Layout lhsScale = {}, rhsScale = {};
};
} // namespace

static Dim dimOf(StringAttr name) {
  return Dim(name.getValue().str());
}

static MmaFragments fragmentsOf(MmaOp mma, const MmaKind &kind, bool exchanged) {
  Dim m("M"), n("N"), k("K"), row = dimOf(mma.getRowDim()), column = dimOf(mma.getColumnDim()),
                              depth = dimOf(mma.getContractedDim());
  Dim block = mma.getScaleDim().dim();
  if (exchanged)
    return {kind.rhs.layout.renamed({{n, row}, {k, depth}}), kind.lhs.layout.renamed({{m, column}, {k, depth}}),
            kind.acc.layout.renamed({{m, column}, {n, row}}), kind.rhsScale.renamed({{n, row}, {k, block}}),
            kind.lhsScale.renamed({{m, column}, {k, block}})};
  return {kind.lhs.layout.renamed({{m, row}, {k, depth}}), kind.rhs.layout.renamed({{n, column}, {k, depth}}),
          kind.acc.layout.renamed({{m, row}, {n, column}}), kind.lhsScale.renamed({{m, row}, {k, block}}),
          kind.rhsScale.renamed({{n, column}, {k, block}})};
}

/// Elements of the dimension that one wave has.
static int64_t wavePart(Dim dim, const Geometry &geometry) {
  const Distribution &distribution = geometry[dim];
  return distribution.waves > 1 ? distribution.waveTile : distribution.tile().value_or(1);
}

static SmallVector<Dim> dimsOf(TileType type) {
  SmallVector<Dim> dims;
  for (StringAttr name : type.getDims())
    dims.push_back(dimOf(name));
  return dims;
}

/// The fragment repeated over the wave's part of the tile along one dimension after the other, and split over waves.
/// Every coordinate of a batch has fragments of its own.
static Layout tiled(Layout layout, ArrayRef<Dim> dims, const Geometry &geometry) {
  std::map<Dim, int64_t> sizes = layout.extents();
  for (Dim dim : dims) {
    int64_t size = sizes.contains(dim) ? sizes[dim] : 1, part = wavePart(dim, geometry);
    if (part > size)
      layout = layout.tiled(Axis::reg, dim, part / size, size);
  }
  layout.wave = geometry.waveDigits(dims);
  return layout;
}

bool scalesBehind(MmaOp mma, const Geometry &geometry) {
  return mma.isScaled() && mmaKindOf(mma, geometry.target()).scaleBlock == 0;
}

static MmaWay wayOf(MmaOp mma, bool exchanged, const ContractionOrder &order, const Geometry &geometry) {
  MmaFragments fragments = fragmentsOf(mma, mmaKindOf(mma, geometry.target()), exchanged);
  Dim k = dimOf(mma.getContractedDim());
  MmaWay way;
  way.exchanged = exchanged;
  way.order = order;
  way.lhs = tiled(inOrder(fragments.lhs, k, order), dimsOf(mma.getLhs().getType()), geometry);
  way.rhs = tiled(inOrder(fragments.rhs, k, order), dimsOf(mma.getRhs().getType()), geometry);
  // Instructions follow each other along their rows first: the operand of the columns is used again at once.
  SmallVector<Dim> dims = dimsOf(mma.getAcc().getType());
  if (exchanged)
    std::swap(dims.back(), dims[dims.size() - 2]);
  way.acc = tiled(fragments.acc, dims, geometry);
  if (mma.isScaled()) {
    Dim block = mma.getScaleDim().dim();
    ContractionOrder blocks = orderOfBlocks(order, kScaleBlock);
    auto scales = [&](const Layout &fragment, Value tile) {
      auto type = cast<TileType>(tile.getType());
      // Behind the instruction they multiply what the accumulator's registers hold, block by block.
      Layout one = scalesBehind(mma, geometry) ? restricted(way.acc, type) : inOrder(fragment, block, blocks);
      return tiled(std::move(one), dimsOf(type), geometry);
    };
    way.lhsScale = scales(fragments.lhsScale, mma.getScales()[0]);
    way.rhsScale = scales(fragments.rhsScale, mma.getScales()[1]);
  }
  return way;
}

/// Bits of an element as it lies in memory: what is converted before is read as what it was.
static int64_t storedBits(Value operand, bool isConverted) {
  auto element = [](Value value) { return cast<TileType>(value.getType()).getElementType(); };
  if (!isConverted)
    return 8 * elementBytes(element(operand));
  while (auto cast = operand.getDefiningOp<CastOp>())
    operand = cast.getOperand();
  return elementBits(element(operand));
}

/// Instructions whose elements of K a lane has side by side, so that they are one wide access in memory. Where sums
/// over blocks are scaled, those of one block at most.
static int64_t stepsTogether(MmaOp mma, const MmaKind &kind, int64_t depth, const Geometry &geometry) {
  bool behind = scalesBehind(mma, geometry);
  int64_t bits = storedBits(mma.getLhs(), behind), perLane = 1, together = 1, most = behind ? kScaleBlock : depth;
  for (const Digit &digit : kind.lhs.layout.reg)
    perLane *= digit.dim == Dim("K") ? digit.extent : 1;
  while (depth / kind.k % (together * 2) == 0 && together * 2 * kind.k <= most &&
         together * 2 * perLane * bits <= 8 * geometry.maxBytesPerAccess())
    together *= 2;
  return together;
}

/// Exchanged operands need an instruction that takes the left one's elements on the right, and tiles that fit.
static SmallVector<bool> exchanges(MmaOp mma, const MmaKind &kind, const Geometry &geometry) {
  bool possible = kind.lhs.type == kind.rhs.type && kind.lhs.inRegisters && kind.rhs.inRegisters && !kind.async &&
                  wavePart(dimOf(mma.getRowDim()), geometry) % kind.n == 0 &&
                  wavePart(dimOf(mma.getColumnDim()), geometry) % kind.m == 0;
  return possible ? SmallVector<bool>{false, true} : SmallVector<bool>{false};
}

/// Scales belong to blocks of the instruction's own K: what is walked in another order are whole blocks. Those that
/// follow each other in a lane have their scales side by side, up to the bytes of a register.
static std::vector<MmaWay> scaledWays(MmaOp mma, const Geometry &geometry) {
  constexpr int64_t kMostTogether = 4;
  const MmaKind &kind = mmaKindOf(mma, geometry.target());
  int64_t depth = wavePart(dimOf(mma.getContractedDim()), geometry), steps = depth / kind.k, together = 1;
  while (together < kMostTogether && steps % (together * 2) == 0)
    together *= 2;
  std::vector<MmaWay> ways;
  for (bool exchanged : exchanges(mma, kind, geometry))
    for (int64_t each = together; each > 0; each = each > 1 ? 1 : 0)
      ways.push_back(wayOf(mma, exchanged, blockOrder(kind.k, kScaleBlock, depth, each), geometry));
  return ways;
}

/// What a tile of the rows of such instructions looks like. A group of waves has rows of its own, one instruction
/// behind the other, and each wave its part of every one: of 128 rows by four waves, (4 M 16) is who and (2 M 64)
/// which.
static Layout tiledByGroups(Layout layout, Dim row, const MmaKind &kind, ArrayRef<Dim> dims, const Geometry &geometry) {
  int64_t times = geometry[row].waveTile / rowsPerWave(kind);
  if (times > 1)
    layout = layout.tiled(Axis::reg, row, times, kind.m);
  layout = tiled(std::move(layout), dims, geometry);
  Digits waves;
  for (const Digit &digit : layout.wave) {
    if (digit.dim != row || times == 1) {
      waves.push_back(digit);
      continue;
    }
    waves.push_back(Digit(kind.waves, row, rowsPerWave(kind)));
    if (digit.extent > kind.waves)
      waves.push_back(Digit(digit.extent / kind.waves, row, times * kind.m));
  }
  layout.wave = std::move(waves);
  return layout;
}

/// Of an instruction that reads factors from memory: one way, whose factors are what its waves read, or hold of the
/// left one. They have the rows of the accumulator by their constraints, or its columns; then the operands are
/// exchanged.
static MmaWay wayInPlace(MmaOp mma, const MmaKind &kind, const Geometry &geometry) {
  bool exchanged = rowsInPlace(mma, kind, geometry) == InPlaceRows::right;
  Dim m("M"), n("N"), k("K"), row = dimOf(mma.getRowDim()), column = dimOf(mma.getColumnDim()),
                              depth = dimOf(mma.getContractedDim());
  Layout held = kind.lhs.layout;
  held.wave.clear();
  auto factor = [&](int which, Dim outer) {
    bool inPlace = exchanged || which == 1 || takesInPlace(mma, 0, kind);
    return (inPlace ? inPlaceFragment(kind, which, geometry.waveSize()) : held)
        .renamed({{which == 0 ? m : n, outer}, {k, depth}});
  };
  Layout acc = kind.acc.layout.renamed({{m, exchanged ? column : row}, {n, exchanged ? row : column}});
  acc.wave.clear();
  MmaWay way;
  way.exchanged = exchanged;
  Layout lhs = factor(exchanged ? 1 : 0, row), rhs = factor(exchanged ? 0 : 1, column);
  way.order = nativeOrder(rhs, depth, wavePart(depth, geometry));
  // Of exchanged operands, groups of waves have the columns.
  auto byGroups = [&](Layout layout, Value tile) {
    return tiledByGroups(std::move(layout), exchanged ? column : row, kind, dimsOf(cast<TileType>(tile.getType())),
                         geometry);
  };
  way.lhs = exchanged ? tiled(std::move(lhs), dimsOf(mma.getLhs().getType()), geometry) : byGroups(lhs, mma.getLhs());
  way.rhs = exchanged ? byGroups(rhs, mma.getRhs()) : tiled(std::move(rhs), dimsOf(mma.getRhs().getType()), geometry);
  way.acc = byGroups(std::move(acc), mma.getAcc());
  return way;
}

std::vector<MmaWay> plainWays(MmaOp mma, const Geometry &geometry) {
  const MmaKind &kind = mmaKindOf(mma, geometry.target());
  if (readsInPlace(kind))
    return {wayInPlace(mma, kind, geometry)};
  bool behind = scalesBehind(mma, geometry);
  if (mma.isScaled() && !behind)
    return scaledWays(mma, geometry);
  Dim k = dimOf(mma.getContractedDim());
  int64_t depth = wavePart(k, geometry);
  bool bothRead =
      mma.getLhs().getDefiningOp<ReadOp>() && mma.getRhs().getDefiningOp<ReadOp>() &&
      elementBits(mma.getLhs().getType().getElementType()) == elementBits(mma.getRhs().getType().getElementType());
  std::vector<MmaWay> ways;
  for (bool exchanged : exchanges(mma, kind, geometry)) {
    const Layout fragment = fragmentsOf(mma, kind, exchanged).lhs;
    if (bothRead || behind)
      ways.push_back(
          wayOf(mma, exchanged, packedOrder(fragment, k, depth, stepsTogether(mma, kind, depth, geometry)), geometry));
    ContractionOrder native = nativeOrder(fragment, k, depth);
    if (ways.empty() || !(ways.back().order == native) || ways.back().exchanged != exchanged)
      ways.push_back(wayOf(mma, exchanged, native, geometry));
  }
  return ways;
}

std::vector<MmaWay> waysAsHeld(MmaOp mma, int which, const Layout &held, const Geometry &geometry) {
  if (mma.isScaled()) // whose blocks an accumulator does not hold together
    return {};
  const MmaKind &kind = mmaKindOf(mma, geometry.target());
  if (readsInPlace(kind)) // which nobody holds
    return {};
  Dim k = dimOf(mma.getContractedDim());
  // Waves that share K as the constraints say walk their own parts in the same order.
  Layout inWave = held;
  if (canonical(held.wave) == canonical(geometry.waveDigits(dimsOf(cast<TileType>(mma->getOperand(which).getType())))))
    inWave.wave.clear();
  std::vector<MmaWay> ways;
  for (bool exchanged : exchanges(mma, kind, geometry)) {
    MmaFragments fragments = fragmentsOf(mma, kind, exchanged);
    if (auto order = orderAsHeld(which == 0 ? fragments.lhs : fragments.rhs, k, inWave))
      ways.push_back(wayOf(mma, exchanged, *order, geometry));
  }
  return ways;
}

} // namespace soliton
