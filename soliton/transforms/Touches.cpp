#include "soliton/transforms/Touches.h"

#include "soliton/analysis/InPlace.h"

namespace soliton {
using namespace wave;

AllocateOp sharedTileOf(Operation *op) {
  if (auto access = dyn_cast<AccessOpInterface>(op))
    for (const MemoryUse &use : access.getMemoryUses())
      if (auto tile = use.memory.getDefiningOp<AllocateOp>())
        return tile;
  return {};
}

namespace {
/// An index of the tile: (start + coordinate along the k-th dimension of the access) / divisor.
struct PlainIndex {
  size_t k = 0;
  int64_t start = 0;
  int64_t divisor = 1;
};
} // namespace

/// How the access indexes the tile's dimension of that number; nothing where it is no plain index.
static std::optional<PlainIndex> indexOf(Operation *op, size_t dimension) {
  PlainIndex plain{.k = dimension};
  auto access = cast<AccessOpInterface>(op);
  // A copy's layout says where it writes; its `indices` and `starts` are those of the source.
  if (!access.isIndexedShared())
    return plain;
  if (ArrayAttr mapping = access.getIndicesAttr()) {
    sym::Expr index = exprsOf(mapping)[dimension];
    if (index.kind() == sym::Kind::floordiv) {
      std::optional<int64_t> divisor = index.operand(1).constantValue();
      if (!divisor || *divisor < 1)
        return std::nullopt;
      plain.divisor = *divisor;
      index = index.operand(0);
    }
    size_t rank = tileOf(op).getDims().size();
    plain.k = 0;
    while (plain.k < rank && !(index == placeSymbol(plain.k)))
      ++plain.k;
    if (plain.k == rank)
      return std::nullopt;
  }
  if (ArrayAttr starts = access.getStartsAttr()) {
    std::optional<int64_t> start = exprsOf(starts)[plain.k].constantValue();
    if (!start)
      return std::nullopt;
    plain.start = *start;
  }
  return plain;
}

/// Which of `count` places, each of so many indices, any lane of any wave touches.
static std::optional<llvm::BitVector> placesAlong(Operation *op, size_t dimension, int64_t count, int64_t each) {
  std::optional<PlainIndex> index = indexOf(op, dimension);
  TileType type = tileOf(op);
  if (!index || index->k >= type.getDims().size())
    return std::nullopt;
  Dim dim(type.getDims()[index->k].getValue().str());
  Layout layout = type.layout();
  auto offset = layout.offset.find(dim);
  SmallVector<int64_t> places = {index->start + (offset == layout.offset.end() ? 0 : offset->second)};
  for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
    for (const Digit &digit : layout.digits(axis))
      if (digit.dim == dim) {
        size_t before = places.size();
        for (int64_t step = 1; step < digit.extent; ++step)
          for (size_t i = 0; i < before; ++i)
            places.push_back(places[i] + step * digit.stride);
      }
  llvm::BitVector touched(count);
  for (int64_t place : places)
    touched.set(std::clamp<int64_t>(place / index->divisor / each, 0, count - 1));
  return touched;
}

/// The first dimension along which the tile has more than one place: a batch's tile has one of each batch. Panels lie
/// along the last one, which is none of rows.
static size_t rowDimension(const SharedMap &map) {
  size_t end = map.panel == 0 ? map.dims.size() : map.dims.size() - 1, row = 0;
  while (row < end && map.dims[row].extent == 1)
    ++row;
  return row < end ? row : 0;
}

/// Rows of one panel follow each other: those of panel p begin at p times their number.
std::optional<llvm::BitVector> rowsOf(Operation *op, AllocateOp tile) {
  SharedMapAttr attribute = tile.getResult().getType().getMap();
  if (!attribute || attribute.getValue().dims.empty()) // a number
    return std::nullopt;
  const SharedMap &map = attribute.getValue();
  size_t dimension = rowDimension(map);
  int64_t count = map.dims[dimension].extent;
  std::optional<llvm::BitVector> rows = placesAlong(op, dimension, count, 1);
  if (!rows || map.panel == 0 || map.dims.size() < 2)
    return rows;
  int64_t panels = llvm::divideCeil(map.dims.back().extent, map.panel);
  std::optional<llvm::BitVector> along = placesAlong(op, map.dims.size() - 1, panels, map.panel);
  llvm::BitVector touched(count * panels);
  for (int64_t panel = 0; panel < panels; ++panel)
    for (unsigned row : rows->set_bits())
      if (!along || along->test(panel))
        touched.set(panel * count + row);
  return touched;
}

std::optional<CounterKind> tickedBy(Operation *op, const Target &target) {
  if (!inPlaceFactors(op).empty())
    return CounterKind::mma;
  auto access = dyn_cast<AccessOpInterface>(op);
  if (!access)
    return std::nullopt;
  if (auto copy = dyn_cast<CopyOp>(op); copy && copy.getBoxed())
    return CounterKind::boxes;
  if (isa<CopyOutOp>(op))
    return CounterKind::bulk;
  if (access.isAsync())
    return target.asyncCopyCounter;
  return access.isIndexedShared() ? CounterKind::shared : CounterKind::vm;
}

} // namespace soliton
