#include "soliton/analysis/Boxes.h"

#include "soliton/analysis/Access.h"
#include "soliton/analysis/PixelWalk.h"

namespace soliton {
using namespace wave;

/// Whether every element that the guards keep out lies outside of the memory.
static bool endsWithTheMemory(AccessOpInterface access, const Geometry &geometry) {
  ArrayAttr guards = access.getGuardsAttr();
  if (!guards)
    return true;
  sym::Facts inside = geometry.factsAt(access);
  for (auto [index, extent] :
       llvm::zip_equal(indicesOf(access, geometry),
                       shapeOf(cast<MemoryType>(access.getIndexedMemory().getType()), geometry).extents)) {
    inside.assume(sym::le(0, index));
    inside.assume(sym::lt(index, extent));
  }
  return llvm::all_of(geometry.named(guards, access.getSymbols()),
                      [&](sym::Expr guard) { return sym::prove(sym::ne(guard, 0), inside) == true; });
}

static bool isMultipleOf16(sym::Expr bytes, const sym::Facts &facts) {
  return sym::prove(sym::eq(sym::mod(bytes, 16), 0), facts) == true;
}

namespace {
/// What the engine sees of a tile's memory: dimensions along each of which the tile has one place, or images. Of the
/// latter, `places` is what was taken for granted of the tile's places.
struct Source {
  SmallVector<MemoryDim> dims;
  std::optional<PixelWalk> walk;
  SmallVector<sym::Range> places;
  std::string reason;
};
} // namespace

/// A place of every dimension along which the tile has several, and of no more than one.
static bool isPlain(ArrayRef<MemoryDim> dims, SmallVector<bool> seen) {
  for (const MemoryDim &dim : dims) {
    if (!dim.index.isPlain())
      return false;
    if (const PlaceDigit *digit = dim.index.single())
      if (std::exchange(seen[digit->k], true))
        return false;
  }
  return !llvm::is_contained(seen, false);
}

/// The memory of an access of which a box has so many elements of a row.
static Source sourceOf(AccessOpInterface access, int64_t perRow, const Geometry &geometry) {
  SmallVector<bool> single = singlePlacesOf(access, geometry);
  std::optional<SmallVector<MemoryDim>> dims = memoryDimsOf(access, geometry, geometry.factsAt(access));
  if (dims && isPlain(*dims, single))
    return {*dims, std::nullopt, {}, ""};
  Source source;
  source.places = rangesOfPlaces(access, geometry);
  sym::Facts knowing = geometry.factsAt(access);
  for (auto [k, range] : llvm::enumerate(source.places))
    knowing.setRange(placeSymbol(k), range);
  dims = memoryDimsOf(access, geometry, knowing);
  if (!dims) {
    source.reason = "an index of its memory is no place along one dimension";
    return source;
  }
  source.dims = *dims;
  if (isPlain(*dims, single))
    return source;
  // The engine reads pixels of images, and writes boxes only.
  if (access.writesIndexed()) {
    source.reason = "an index of its memory is no place along one dimension";
    return source;
  }
  PixelWalkPlan plan = findPixelWalk(*dims, source.places, perRow);
  source.walk = std::move(plan.walk);
  source.reason = plan.reason;
  return source;
}

/// Those of the tile's dimensions that have several places follow each other as those of the memory do.
static bool isInOrder(ArrayRef<MemoryDim> dims) {
  size_t next = 0;
  for (const MemoryDim &dim : dims)
    if (const PlaceDigit *digit = dim.index.single(); digit && std::exchange(next, digit->k + 1) > digit->k)
      return false;
  return true;
}

/// Where the tile begins along the innermost dimension of its memory, which it has a place of.
static sym::Expr startOfRows(AccessOpInterface access, const Source &source, const Geometry &geometry) {
  SmallVector<sym::Expr> starts = geometry.named(access.getStartsAttr(), access.getSymbols());
  const MemoryIndex &index = source.dims.back().index;
  return index.base + starts[index.single()->k];
}

/// What keeps the tile from being copied in boxes, whatever their size; nothing if all is well.
static std::optional<std::string> obstacle(AccessOpInterface access, int64_t perRow, const Geometry &geometry) {
  if (!access.getDynamicValues().empty())
    return "its mapping has dynamic values";
  Source source = sourceOf(access, perRow, geometry);
  if (!source.reason.empty())
    return source.reason;
  if (!source.places.empty() && !areInRange(access, source.places, geometry))
    return "it is not proven to lie between the first and the last place of its dimensions";
  if (source.dims.empty() || source.dims.size() > 5)
    return "its memory has no dimension, or more than five";
  int64_t bytes = elementBytes(access.getMovedTile().getElementType());
  const sym::Facts &facts = geometry.factsAt(access);
  if ((!source.walk && !isInOrder(source.dims)) || !source.dims.back().index.single() ||
      !source.dims.back().stride.isConstant(1))
    return "its memory has its dimensions in another order";
  for (const MemoryDim &dim : llvm::drop_end(source.dims))
    if (!isMultipleOf16(dim.stride * bytes, facts) || sym::prove(sym::le(1, dim.stride), facts) != true)
      return "rows of its memory are not proven to begin on multiples of 16 bytes";
  // Rows of images begin where a run of channels does: what precedes the tile in a row is whole runs.
  sym::Expr start = startOfRows(access, source, geometry);
  if (!isMultipleOf16(start * bytes, facts) ||
      (source.walk && sym::prove(sym::eq(sym::mod(start, perRow), 0), facts) != true))
    return "it is not proven to begin on a multiple of 16 bytes";
  if (!endsWithTheMemory(access, geometry))
    return "bounds keep out elements that lie in its memory";
  return std::nullopt;
}

/// Where the tile begins in its memory, by its own dimensions; nothing for one of which it has a single place.
static SmallVector<std::optional<sym::Expr>> beginningsOf(AccessOpInterface access, const Source &source,
                                                          const Geometry &geometry) {
  SmallVector<sym::Expr> starts = geometry.named(access.getStartsAttr(), access.getSymbols());
  SmallVector<std::optional<sym::Expr>> beginnings(starts.size());
  for (const MemoryDim &dim : source.dims)
    if (const PlaceDigit *digit = dim.index.single())
      beginnings[digit->k] = dim.index.base + starts[digit->k];
  return beginnings;
}

/// The most elements along a dimension, of those that divide `extent`, of which no box lies across the memory's
/// beginning: the engine writes none that begins in front of it, not even the part that is inside. 0 where there is no
/// such number.
///
///   192 rows, the first at 192*$WG0 - 128     64: boxes begin at -128, -64, 0, …; the first two are not written
static int64_t longestBeforeBeginning(int64_t extent, sym::Expr start, const sym::Facts &facts) {
  constexpr int64_t least = 8; // of shorter ones there are too many
  if (sym::prove(sym::le(0, start), facts) == true)
    return extent;
  for (int64_t parts = 1; extent / parts >= least; ++parts)
    if (extent % parts == 0 && sym::prove(sym::eq(sym::mod(start, extent / parts), 0), facts) == true)
      return extent / parts;
  return 0;
}

BoxPlan planBoxes(AccessOpInterface access, int64_t span, const DimExtent &piece, const Geometry &geometry) {
  constexpr int64_t longest = 256; // elements of a box along each dimension
  TileType type = access.getMovedTile();
  if (std::optional<std::string> reason = obstacle(access, span / elementBytes(type.getElementType()), geometry))
    return {std::nullopt, 0, *reason};
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
  const sym::Facts &facts = geometry.factsAt(access);
  SmallVector<std::optional<sym::Expr>> beginnings;
  if (access.writesIndexed())
    beginnings = beginningsOf(access, sourceOf(access, perRow, geometry), geometry);
  auto writable = [&](size_t k, int64_t extent) {
    return beginnings.empty() || !beginnings[k] ? extent : longestBeforeBeginning(extent, *beginnings[k], facts);
  };
  constexpr const char *acrossTheBeginning = "it may begin in front of its memory, and not by whole boxes";
  if (writable(tile->size() - 1, perRow) != perRow)
    return {std::nullopt, 0, acrossTheBeginning};
  for (const auto &[fromLast, dim] : llvm::enumerate(llvm::reverse(llvm::drop_end(*tile)))) {
    bool isCut = dim.dim == piece.dim && piece.extent > 0 && dim.extent % piece.extent == 0;
    int64_t extent = writable(tile->size() - 2 - fromLast, isCut ? piece.extent : dim.extent);
    if (extent == 0)
      return {std::nullopt, 0, acrossTheBeginning};
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

/// Of a map of images.
static Box boxOf(const PixelWalk &walk, const sym::Substitution &places, TileType tile, const sym::Facts &facts) {
  auto at = [&](sym::Expr expr) { return sym::simplify(sym::substitute(expr, places), facts); };
  Box box;
  for (StringAttr dim : llvm::reverse(tile.getDims()))
    box.extents.push_back(tile.layout().extent(Dim(dim.getValue().str())));
  box.coordinates = llvm::map_to_vector(walk.pixel, at);
  box.offsets = llvm::map_to_vector(walk.offsets, at);
  box.lower = walk.lower;
  box.upper = walk.upper;
  box.steps = walk.steps;
  return box;
}

/// Along `dim`, without what other waves copy.
static int64_t extentOfOne(const Layout &layout, Dim dim) {
  int64_t extent = 1;
  for (const Digit &digit : layout.reg)
    extent += digit.dim == dim ? (digit.extent - 1) * digit.stride : 0;
  return extent;
}

Box boxOf(AccessOpInterface copy, const Geometry &geometry) {
  TileType tile = copy.getMovedTile();
  Access places(copy, geometry);
  sym::Substitution first;
  for (size_t k = 0; k < tile.getDims().size(); ++k)
    first.set(placeSymbol(k), places.place(k, 0));
  auto extent = [&](size_t k) { return extentOfOne(tile.layout(), Dim(tile.getDims()[k].getValue().str())); };
  Source source = sourceOf(copy, extent(tile.getRank() - 1), geometry);
  assert(source.reason.empty() && "a copy was planned in boxes that it has not");
  Box box;
  if (source.walk) {
    box = boxOf(*source.walk, first, tile, geometry.factsAt(copy));
    source.dims.assign(source.walk->dims.rbegin(), source.walk->dims.rend());
  }
  for (const MemoryDim &dim : llvm::reverse(source.dims)) {
    if (!box.sizes.empty())
      box.strides.push_back(sym::simplify(dim.stride * elementBytes(tile.getElementType()), geometry.facts()));
    box.sizes.push_back(dim.extent);
    if (source.walk)
      continue;
    const PlaceDigit *digit = dim.index.single();
    box.extents.push_back(digit ? extent(digit->k) : 1);
    sym::Expr place = digit ? dim.index.base + places.place(digit->k, 0) : dim.index.base;
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
