#include "soliton/analysis/Boxes.h"

#include "soliton/analysis/Access.h"

namespace soliton {
using namespace wave;

namespace {
/// Along one dimension of the memory: its index is `base`, or `base` plus the place along the tile's k-th dimension.
struct Along {
  sym::Expr base;
  std::optional<size_t> k;
};
} // namespace

/// Nothing where an index is anything but one place and what the whole tile shares.
static std::optional<SmallVector<Along>> indicesOf(AccessOpInterface access, const Geometry &geometry) {
  TileType tile = access.getMovedTile();
  SmallVector<sym::Expr> indices;
  if (ArrayAttr mapping = access.getIndicesAttr())
    indices = geometry.named(mapping, access.getSymbols());
  else
    for (size_t k = 0; k < tile.getRank(); ++k)
      indices.push_back(placeSymbol(k));
  SmallVector<Along> result;
  SmallVector<bool> seen(tile.getRank(), false);
  for (sym::Expr index : indices) {
    Along along{index, std::nullopt};
    for (size_t k = 0; k < tile.getRank(); ++k) {
      if (!sym::contains(index, placeSymbol(k)))
        continue;
      along.base = sym::simplify(index - placeSymbol(k), geometry.factsAt(access));
      if (along.k || seen[k] || sym::contains(along.base, placeSymbol(k)))
        return std::nullopt;
      along.k = k;
      seen[k] = true;
    }
    result.push_back(along);
  }
  if (llvm::is_contained(seen, false))
    return std::nullopt;
  return result;
}

/// The tile's dimensions follow each other as those of the memory do.
static bool isInOrder(ArrayRef<Along> indices) {
  size_t next = 0;
  for (const Along &along : indices)
    if (along.k && *along.k != next++)
      return false;
  return true;
}

/// Whether every element that the guards keep out lies outside of the memory.
static bool endsWithTheMemory(AccessOpInterface access, ArrayRef<Along> indices, const MemoryShape &shape,
                              const Geometry &geometry) {
  ArrayAttr guards = access.getGuardsAttr();
  if (!guards)
    return true;
  sym::Facts inside = geometry.factsAt(access);
  for (auto [along, extent] : llvm::zip(indices, shape.extents)) {
    sym::Expr index = along.k ? along.base + placeSymbol(*along.k) : along.base;
    inside.assume(sym::le(0, index));
    inside.assume(sym::lt(index, extent));
  }
  return llvm::all_of(geometry.named(guards, access.getSymbols()),
                      [&](sym::Expr guard) { return sym::prove(sym::ne(guard, 0), inside) == true; });
}

static bool isMultipleOf16(sym::Expr bytes, const sym::Facts &facts) {
  return sym::prove(sym::eq(sym::mod(bytes, 16), 0), facts) == true;
}

/// What keeps the tile from being copied in boxes, whatever their size; nothing if all is well.
static std::optional<std::string> obstacle(AccessOpInterface access, const Geometry &geometry) {
  if (!access.getDynamicValues().empty())
    return "its mapping has dynamic values";
  std::optional<SmallVector<Along>> indices = indicesOf(access, geometry);
  if (!indices || indices->size() > 5)
    return "an index of its memory is no place along one dimension";
  MemoryShape shape = shapeOf(cast<MemoryType>(access.getIndexedMemory().getType()), geometry);
  int64_t bytes = elementBytes(access.getMovedTile().getElementType());
  const sym::Facts &facts = geometry.factsAt(access);
  if (!isInOrder(*indices) || indices->empty() || !indices->back().k || !shape.strides.back().isConstant(1))
    return "its memory has its dimensions in another order";
  for (sym::Expr stride : llvm::drop_end(shape.strides))
    if (!isMultipleOf16(stride * bytes, facts) || sym::prove(sym::le(1, stride), facts) != true)
      return "rows of its memory are not proven to begin on multiples of 16 bytes";
  sym::Expr start =
      indices->back().base + geometry.named(access.getStartsAttr(), access.getSymbols())[*indices->back().k];
  if (!isMultipleOf16(start * bytes, facts))
    return "it is not proven to begin on a multiple of 16 bytes";
  if (!endsWithTheMemory(access, *indices, shape, geometry))
    return "bounds keep out elements that lie in its memory";
  return std::nullopt;
}

BoxPlan planBoxes(AccessOpInterface access, int64_t span, const DimExtent &piece, const Geometry &geometry) {
  constexpr int64_t longest = 256; // elements of a box along each dimension
  if (std::optional<std::string> reason = obstacle(access, geometry))
    return {std::nullopt, 0, *reason};
  TileType type = access.getMovedTile();
  std::optional<std::vector<DimExtent>> tile = geometry.extents(type);
  if (!tile)
    return {std::nullopt, 0, "its extents are not known"};
  int64_t perRow = span / elementBytes(type.getElementType());
  const DimExtent &row = tile->back();
  if (row.extent % perRow != 0)
    return {std::nullopt, 0, "its rows are no whole number of " + std::to_string(span) + " bytes"};
  Layout layout({{perRow, row.dim, 1}}, {Digit(geometry.waveSize())});
  if (geometry.waveCount() > 1)
    layout.wave.push_back(Digit(geometry.waveCount()));
  int64_t elements = perRow;
  Digits further;
  for (const DimExtent &dim : llvm::reverse(llvm::drop_end(*tile))) {
    bool isCut = dim.dim == piece.dim && piece.extent > 0 && dim.extent % piece.extent == 0;
    int64_t extent = isCut ? piece.extent : dim.extent;
    if (extent > longest)
      return {std::nullopt, 0,
              "it has more than " + std::to_string(longest) + " elements along `" + dim.dim.name() + "`"};
    layout.reg.push_back({extent, dim.dim, 1});
    if (extent < dim.extent)
      further.push_back({dim.extent / extent, dim.dim, extent});
    elements *= extent;
  }
  llvm::append_range(layout.reg, further);
  if (row.extent > perRow)
    layout.reg.push_back({row.extent / perRow, row.dim, perRow});
  return {layout, elements, ""};
}

Box boxOf(AccessOpInterface copy, const Geometry &geometry) {
  TileType tile = copy.getMovedTile();
  SmallVector<Along> indices = *indicesOf(copy, geometry);
  MemoryShape shape = shapeOf(cast<MemoryType>(copy.getIndexedMemory().getType()), geometry);
  int64_t bytes = elementBytes(tile.getElementType());
  Access places(copy, geometry);
  Box box;
  for (size_t i = indices.size(); i-- > 0;) {
    const Along &along = indices[i];
    box.sizes.push_back(shape.extents[i]);
    if (i + 1 < indices.size())
      box.strides.push_back(sym::simplify(shape.strides[i] * bytes, geometry.facts()));
    box.extents.push_back(along.k ? tile.layout().extent(Dim(tile.getDims()[*along.k].getValue().str())) : 1);
    sym::Expr place = along.k ? along.base + places.place(*along.k, 0) : along.base;
    box.coordinates.push_back(sym::simplify(place, geometry.factsAt(copy)));
  }
  return box;
}

bool copiesBoxes(KernelOp kernel) {
  auto stopAtBox = [](CopyOp copy) {
    return copy.getBoxed() ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  };
  return kernel.walk(stopAtBox).wasInterrupted();
}

} // namespace soliton
