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
/// The index of the tile's first dimension: (start + coordinate along the k-th dimension of the access) / divisor.
struct RowIndex {
  size_t k = 0;
  int64_t start = 0;
  int64_t divisor = 1;
};
} // namespace

static std::optional<RowIndex> rowIndexOf(Operation *op) {
  RowIndex row;
  auto access = cast<AccessOpInterface>(op);
  // A copy's layout says where it writes; its `indices` and `starts` are those of the source.
  if (!access.isIndexedShared())
    return row;
  if (ArrayAttr mapping = access.getIndicesAttr()) {
    sym::Expr index = exprsOf(mapping).front();
    if (index.kind() == sym::Kind::floordiv) {
      std::optional<int64_t> divisor = index.operand(1).constantValue();
      if (!divisor || *divisor < 1)
        return std::nullopt;
      row.divisor = *divisor;
      index = index.operand(0);
    }
    size_t rank = tileOf(op).getDims().size();
    while (row.k < rank && !(index == placeSymbol(row.k)))
      ++row.k;
    if (row.k == rank)
      return std::nullopt;
  }
  if (ArrayAttr starts = access.getStartsAttr()) {
    std::optional<int64_t> start = exprsOf(starts)[row.k].constantValue();
    if (!start)
      return std::nullopt;
    row.start = *start;
  }
  return row;
}

std::optional<llvm::BitVector> rowsOf(Operation *op, AllocateOp tile) {
  std::optional<RowIndex> row = rowIndexOf(op);
  TileType type = tileOf(op);
  SharedMapAttr map = tile.getResult().getType().getMap();
  if (!map || !row || row->k >= type.getDims().size())
    return std::nullopt;
  Dim dim(type.getDims()[row->k].getValue().str());
  Layout layout = type.layout();
  auto offset = layout.offset.find(dim);
  SmallVector<int64_t> places = {row->start + (offset == layout.offset.end() ? 0 : offset->second)};
  for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
    for (const Digit &digit : layout.digits(axis))
      if (digit.dim == dim) {
        size_t before = places.size();
        for (int64_t step = 1; step < digit.extent; ++step)
          for (size_t i = 0; i < before; ++i)
            places.push_back(places[i] + step * digit.stride);
      }
  const DimExtent &rows = map.getValue().dims.front();
  llvm::BitVector touched(rows.extent);
  for (int64_t place : places)
    touched.set(std::clamp<int64_t>(place / row->divisor, 0, rows.extent - 1));
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
  if (access.isAsync())
    return target.asyncCopyCounter;
  return access.isIndexedShared() ? CounterKind::shared : CounterKind::vm;
}

} // namespace soliton
