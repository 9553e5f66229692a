#include "soliton/analysis/PlaceDigits.h"

namespace soliton {
using namespace wave;

sym::Expr PlaceDigit::of(sym::Expr place) const {
  sym::Expr from = divisor == 1 ? place : sym::floordiv(place, divisor);
  return extent ? sym::mod(from, *extent) : from;
}

const PlaceDigit *MemoryIndex::single() const {
  return terms.size() == 1 && terms[0].coefficient == 1 ? &terms[0].digit : nullptr;
}

bool MemoryIndex::isPlain() const {
  const PlaceDigit *digit = single();
  return terms.empty() || (digit && digit->divisor == 1 && !digit->extent);
}

//===- Digits ---------------------------------------------------------------------------===//

/// Nothing where the atom is no digit of one place.
static std::optional<PlaceDigit> digitOf(sym::Expr atom, size_t rank) {
  for (size_t k = 0; k < rank; ++k)
    if (atom == placeSymbol(k))
      return PlaceDigit{k, 1, std::nullopt};
  if (atom.kind() != sym::Kind::floordiv && atom.kind() != sym::Kind::mod)
    return std::nullopt;
  std::optional<int64_t> by = atom.operand(1).constantValue();
  std::optional<PlaceDigit> from = digitOf(atom.operand(0), rank);
  if (!by || *by < 1 || !from || (from->extent && *from->extent % *by != 0))
    return std::nullopt;
  if (atom.kind() == sym::Kind::mod)
    return PlaceDigit{from->k, from->divisor, by};
  return PlaceDigit{from->k, from->divisor * *by, from->extent ? std::optional(*from->extent / *by) : std::nullopt};
}

static bool hasPlace(sym::Expr expr, size_t rank) {
  for (size_t k = 0; k < rank; ++k)
    if (sym::contains(expr, placeSymbol(k)))
      return true;
  return false;
}

static std::optional<MemoryIndex> sumOf(sym::Expr index, size_t rank) {
  sym::AffineTerms terms = sym::affineTerms(index), base{{}, terms.constant};
  MemoryIndex sum;
  for (const sym::AffineTerm &term : terms.terms) {
    if (!hasPlace(term.atom, rank)) {
      base.terms.push_back(term);
      continue;
    }
    std::optional<PlaceDigit> digit = digitOf(term.atom, rank);
    if (!digit)
      return std::nullopt;
    sum.terms.push_back({term.coefficient, *digit});
  }
  sum.base = sym::fromAffineTerms(base);
  return sum;
}

SmallVector<sym::Expr> indicesOf(AccessOpInterface access, const Geometry &geometry) {
  if (ArrayAttr mapping = access.getIndicesAttr())
    return geometry.named(mapping, access.getSymbols());
  SmallVector<sym::Expr> places;
  for (size_t k = 0; k < access.getMovedTile().getRank(); ++k)
    places.push_back(placeSymbol(k));
  return places;
}

//===- Dimensions -------------------------------------------------------------------------===//

/// Whether there is but one place along it, at which everything lies.
static bool isPoint(const MemoryDim &dim) {
  return dim.extent.isConstant(1) && dim.index.terms.empty() && dim.index.base.isConstant(0);
}

/// Both as one, if the inner one's places follow each other into the outer one's, as digits and in memory.
static std::optional<MemoryDim> joined(const MemoryDim &outer, const MemoryDim &inner, const sym::Facts &facts) {
  const PlaceDigit *low = inner.index.single(), *high = outer.index.single();
  if (!low || !high || low->k != high->k || !low->extent || high->divisor != low->divisor * *low->extent ||
      !inner.index.base.isConstant(0) || !outer.index.base.isConstant(0) || !inner.extent.isConstant(*low->extent) ||
      sym::prove(sym::eq(outer.stride, inner.stride * inner.extent), facts) != true)
    return std::nullopt;
  MemoryDim both{sym::simplify(outer.extent * inner.extent, facts), inner.stride, inner.index};
  std::optional<int64_t> &extent = both.index.terms[0].digit.extent;
  extent = high->extent ? std::optional(*high->extent * *low->extent) : std::nullopt;
  return both;
}

SmallVector<bool> singlePlacesOf(AccessOpInterface access, const Geometry &geometry) {
  SmallVector<bool> single(access.getMovedTile().getRank(), false);
  std::optional<std::vector<DimExtent>> tile = geometry.extents(access.getMovedTile());
  if (tile && access.getStartsAttr())
    llvm::transform(*tile, single.begin(), [](const DimExtent &dim) { return dim.extent == 1; });
  return single;
}

/// What the whole tile shares is no place of its own, however a mapping speaks of it: the one head of a tile may be
/// `floordiv($index1, 4)` of the memory's.
static sym::Substitution startsOfSinglePlaces(AccessOpInterface access, const Geometry &geometry) {
  sym::Substitution starts;
  SmallVector<bool> single = singlePlacesOf(access, geometry);
  if (!llvm::is_contained(single, true))
    return starts;
  SmallVector<sym::Expr> named = geometry.named(access.getStartsAttr(), access.getSymbols());
  for (auto [k, start] : llvm::enumerate(named))
    if (single[k])
      starts.set(placeSymbol(k), start);
  return starts;
}

std::optional<SmallVector<MemoryDim>> memoryDimsOf(AccessOpInterface access, const Geometry &geometry,
                                                   const sym::Facts &knowing) {
  size_t rank = access.getMovedTile().getRank();
  sym::Substitution starts = startsOfSinglePlaces(access, geometry);
  MemoryShape shape = shapeOf(cast<MemoryType>(access.getIndexedMemory().getType()), geometry);
  SmallVector<MemoryDim> dims; // innermost first
  SmallVector<sym::Expr> indices = indicesOf(access, geometry);
  for (size_t i = indices.size(); i-- > 0;) {
    std::optional<MemoryIndex> index = sumOf(sym::simplify(sym::substitute(indices[i], starts), knowing), rank);
    if (!index)
      return std::nullopt;
    MemoryDim dim{shape.extents[i], shape.strides[i], *index};
    if (!dims.empty() && isPoint(dim))
      continue;
    std::optional<MemoryDim> both = dims.empty() ? std::nullopt : joined(dim, dims.back(), knowing);
    if (both)
      dims.back() = *both;
    else
      dims.push_back(dim);
  }
  std::reverse(dims.begin(), dims.end());
  return dims;
}

//===- Ranges -------------------------------------------------------------------------------===//

SmallVector<sym::Range> rangesOfPlaces(AccessOpInterface access, const Geometry &geometry) {
  SmallVector<sym::Range> ranges;
  for (StringAttr name : access.getMovedTile().getDims()) {
    const Distribution &dim = geometry[Dim(name.getValue().str())];
    std::optional<int64_t> size = dim.size.constantValue(), tile = dim.tile();
    if (size && tile)
      ranges.push_back({0, std::max<int64_t>(llvm::alignTo(*size, *tile), *tile) - 1});
    else
      ranges.push_back({0, std::nullopt});
  }
  return ranges;
}

bool areInRange(AccessOpInterface access, ArrayRef<sym::Range> ranges, const Geometry &geometry) {
  std::optional<std::vector<DimExtent>> tile = geometry.extents(access.getMovedTile());
  ArrayAttr starts = access.getStartsAttr();
  if (!tile || !starts)
    return false;
  for (auto [start, dim, range] : llvm::zip_equal(geometry.named(starts, access.getSymbols()), *tile, ranges)) {
    sym::Range found = sym::rangeOf(start, geometry.factsAt(access));
    if (!found.lo || *found.lo < 0 || (range.hi && (!found.hi || *found.hi + dim.extent - 1 > *range.hi)))
      return false;
  }
  return true;
}

} // namespace soliton
