#include "soliton/analysis/Access.h"

#include "soliton/layout/Blocked.h"

namespace soliton {
using namespace wave;

TileType tileOf(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op))
    return read.getResult().getType();
  return cast<WriteOp>(op).getValue().getType();
}

Value memoryOf(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op))
    return read.getMemory();
  return cast<WriteOp>(op).getMemory();
}

static ArrayAttr attributeOf(Operation *op, StringRef name) { return op->getAttrOfType<ArrayAttr>(name); }

Access::Access(Operation *op, const Geometry &geometry) : Access(op, geometry, tileOf(op).layout()) {}

Access::Access(Operation *op, const Geometry &geometry, const Layout &layout) : geometry(geometry), tileLayout(layout) {
  read(op);
}

/// The k-th dimension's symbol in the indices of a mapping.
static sym::Expr iterator(size_t k) { return sym::Expr::symbol("$index" + std::to_string(k)); }

void Access::read(Operation *op) {
  TileType tile = tileOf(op);
  memoryType = cast<MemoryType>(memoryOf(op).getType());
  isWrite = isa<WriteOp>(op);
  bytes = soliton::elementBytes(tile.getElementType());
  for (StringAttr dim : tile.getDims())
    dims.push_back(Dim(dim.getValue().str()));
  if (ArrayAttr known = attributeOf(op, "starts"))
    starts = exprsOf(known);
  else
    for (Dim dim : dims)
      starts.push_back(memoryType.isShared() ? sym::Expr(0) : geometry.start(dim, op));
  if (ArrayAttr mapping = attributeOf(op, "indices"))
    for (sym::Expr index : exprsOf(mapping))
      indices.push_back(geometry.bind(index));
  else
    for (size_t k = 0; k < dims.size(); ++k)
      indices.push_back(iterator(k));
  bounds.resize(dims.size());
  if (ArrayAttr limits = attributeOf(op, "bounds"))
    for (auto [k, limit] : llvm::enumerate(limits))
      if (auto expr = dyn_cast<ExprAttr>(limit))
        bounds[k] = expr.getValue();
}

sym::Expr Access::place(size_t k, int64_t reg) const {
  return starts[k] + coordinateExpr(tileLayout, dims[k], reg, laneSymbol(), waveSymbol());
}

sym::Expr Access::byteOffset(int64_t reg) const {
  sym::Substitution places;
  for (size_t k = 0; k < dims.size(); ++k)
    places.set(iterator(k), place(k, reg));
  sym::Expr offset = 0;
  MemoryType memory = memoryType;
  if (memory.isShared() && memory.getMap()) {
    const SharedMap &map = memory.getMap().getValue();
    std::map<Dim, sym::Expr> coordinates;
    for (auto [i, index] : llvm::enumerate(indices))
      coordinates[map.dims[i].dim] = sym::substitute(index, places);
    offset = offsetExpr(map, coordinates);
  } else if (memory.isShared()) {
    // Not placed yet: rows without padding, which is what widths may rely on.
    sym::Expr stride = 1;
    for (size_t i = indices.size(); i-- > 0;) {
      offset = offset + sym::substitute(indices[i], places) * stride;
      stride = stride * geometry[dims[i]].tile().value_or(1);
    }
  } else {
    MemoryShape shape = shapeOf(memoryType, geometry);
    for (auto [index, stride] : llvm::zip(indices, shape.strides))
      offset = offset + sym::substitute(index, places) * stride;
  }
  return sym::simplify(offset * bytes, geometry.facts());
}

/// Where several lanes or waves hold the same element, one of them writes it.
sym::Expr Access::replicaMask() const {
  sym::Expr mask = 1;
  for (auto [digits, symbol] : {std::pair(&tileLayout.lane, laneSymbol()), std::pair(&tileLayout.wave, waveSymbol())}) {
    int64_t divisor = 1;
    for (const Digit &digit : *digits) {
      if (!digit.dim && digit.extent > 1)
        mask = sym::logicalAnd(mask, sym::eq(sym::mod(sym::floordiv(symbol, divisor), digit.extent), 0));
      divisor *= digit.extent;
    }
  }
  return mask;
}

sym::Expr Access::mask(int64_t reg) const {
  sym::Expr mask = isWrite ? replicaMask() : sym::Expr(1);
  for (size_t k = 0; k < dims.size(); ++k)
    if (bounds[k])
      mask = sym::logicalAnd(mask, sym::lt(place(k, reg), *bounds[k]));
  return sym::simplify(mask, geometry.facts());
}

bool Access::groupsAre(int64_t width) const {
  int64_t regs = tileLayout.regs();
  if (regs % width != 0)
    return false;
  const sym::Facts &facts = geometry.facts();
  for (int64_t first = 0; first < regs; first += width) {
    sym::Expr base = byteOffset(first);
    if (sym::divisorOf(base, facts) % (width * bytes) != 0)
      return false;
    for (int64_t i = 1; i < width; ++i)
      if (!(sym::simplify(byteOffset(first + i) - base, facts) == sym::Expr(i * bytes)))
        return false;
    for (size_t k = 0; k < dims.size(); ++k) {
      if (!bounds[k])
        continue;
      // Only the dimension that the group walks may tell its elements apart: its bound must fall between groups.
      bool walks = !(place(k, first + width - 1) == place(k, first));
      if (walks && (sym::divisorOf(sym::simplify(place(k, first), facts), facts) % width != 0 ||
                    sym::divisorOf(*bounds[k], facts) % width != 0))
        return false;
    }
  }
  return true;
}

int64_t Access::width(int64_t maxBytes) const {
  int64_t width = 1;
  while (width * 2 * bytes <= maxBytes && groupsAre(width * 2))
    width *= 2;
  return width;
}

std::optional<std::vector<DimExtent>> memoryOrder(Operation *op, const Geometry &geometry) {
  std::optional<std::vector<DimExtent>> extents = geometry.extents(tileOf(op));
  ArrayAttr mapping = attributeOf(op, "indices");
  if (!extents || !mapping)
    return extents;
  std::vector<DimExtent> ordered;
  for (sym::Expr index : exprsOf(mapping))
    for (size_t k = 0; k < extents->size(); ++k)
      if (index == iterator(k))
        ordered.push_back((*extents)[k]);
  if (ordered.size() != extents->size())
    return std::nullopt;
  return ordered;
}

/// The tile's dimensions with the part of each that one wave has.
static std::vector<DimExtent> wavePart(std::vector<DimExtent> tile, const Geometry &geometry) {
  for (DimExtent &dim : tile)
    dim.extent = geometry[dim.dim].waves > 1 ? geometry[dim.dim].waveTile : dim.extent;
  return tile;
}

static std::optional<Layout> blocked(const std::vector<DimExtent> &tile, const Geometry &geometry, bool allWaves, int64_t elements) {
  if (allWaves)
    return coalesced(tile, geometry.waveSize(), geometry.waveCount(), elements).layout;
  std::optional<Layout> layout = coalesced(wavePart(tile, geometry), geometry.waveSize(), 1, elements).layout;
  if (layout) {
    SmallVector<Dim> dims;
    for (const DimExtent &dim : tile)
      dims.push_back(dim.dim);
    layout->wave = geometry.waveDigits(dims);
  }
  return layout;
}

FailureOr<Layout> coalescedLayout(Operation *op, const Geometry &geometry, bool allWaves, int64_t elements) {
  std::optional<std::vector<DimExtent>> plain = geometry.extents(tileOf(op));
  if (!plain)
    return failure();
  std::vector<DimExtent> tile = memoryOrder(op, geometry).value_or(*plain);
  if (elements > 0)
    if (std::optional<Layout> layout = blocked(tile, geometry, allWaves, elements))
      return *layout;
  int64_t bytes = soliton::elementBytes(tileOf(op).getElementType());
  // The widest access that is proven, with work for every lane where the tile has enough.
  int64_t limit = bestElementsPerLane(allWaves ? tile : wavePart(tile, geometry), geometry.waveSize(),
                                      allWaves ? geometry.waveCount() : 1, geometry.maxBytesPerAccess() / bytes);
  for (int64_t width = std::max<int64_t>(limit, 1); width >= 1; --width) {
    std::optional<Layout> layout = blocked(tile, geometry, allWaves, width);
    if (layout && (width == 1 || Access(op, geometry, *layout).width(width * bytes) == width))
      return *layout;
  }
  return failure();
}

} // namespace soliton
