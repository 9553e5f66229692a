//===- LowerPrefetch.cpp - A hint for each line of a tile ------------------------------===//
//
// The lines of memory that a tile lies in are shared among all lanes of the workgroup, one after the other along its
// rows. A tile of 64x128 f16 by 256 lanes, lines of 128 bytes:
//
//   wave.prefetch %a {starts = …}       becomes     machine.prefetch %buffer [%far : i64] mask %inside
//                                                   lane t: row t / 2, column 64 * (t mod 2)
//
// Lanes whose place is outside of the tensor are masked: nothing outside of it is ever named.
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace soliton {
using namespace wave;
using sym::Expr;

namespace {
/// More hints of one lane cost more than they bring; the rest of such a tile is not announced.
constexpr int64_t kMostHints = 16;

/// Where the lines of a tile are.
class Lines {
public:
  Lines(PrefetchOp op, const Geometry &geometry, std::vector<DimExtent> tile)
      : memory(op.getMemory().getType()), geometry(geometry), tile(std::move(tile)),
        shape(shapeOf(op.getMemory().getType(), geometry)), starts(geometry.named(*op.getStarts(), op.getSymbols())) {
    if (ArrayAttr mapping = op.getIndicesAttr())
      indices = geometry.named(mapping, op.getSymbols());
    else
      for (size_t k = 0; k < this->tile.size(); ++k)
        indices.push_back(placeSymbol(k));
    const int64_t lineBits = geometry.target().cacheLineBytes * 8;
    steps.assign(this->tile.size(), 1);
    for (size_t k = 0; k < steps.size(); ++k)
      if (indices.back() == placeSymbol(k))
        steps[k] = std::max<int64_t>(1, lineBits / memoryBits(memory.getElementType()));
  }

  int64_t count() const {
    int64_t product = 1;
    for (size_t k = 0; k < tile.size(); ++k)
      product *= along(k);
    return product;
  }

  /// The places in the whole tensor of line `number`, for `$index<k>`.
  sym::Substitution places(Expr number) const {
    sym::Substitution result;
    for (size_t k = tile.size(); k-- > 0; number = sym::floordiv(number, along(k)))
      result.set(placeSymbol(k), starts[k] + sym::mod(number, along(k)) * steps[k]);
    return result;
  }

  /// Holds where the line's first element is one of the tensor.
  Expr inside(const sym::Substitution &at) const {
    Expr all = 1;
    auto within = [&](Expr place, Expr extent) {
      all = sym::logicalAnd(all, sym::logicalAnd(sym::le(0, place), sym::lt(place, extent)));
    };
    for (size_t k = 0; k < tile.size(); ++k)
      within(sym::substitute(placeSymbol(k), at), geometry[tile[k].dim].size);
    for (auto [index, extent] : llvm::zip(indices, shape.extents))
      within(sym::substitute(index, at), extent);
    return all;
  }

  Expr byteOffset(const sym::Substitution &at) const {
    Expr elements = 0;
    for (auto [index, stride] : llvm::zip(indices, shape.strides))
      elements = elements + sym::substitute(index, at) * stride;
    return sym::floordiv(elements * memoryBits(memory.getElementType()), 8);
  }

private:
  int64_t along(size_t k) const { return llvm::divideCeil(tile[k].extent, steps[k]); }

  MemoryType memory;
  const Geometry &geometry;
  std::vector<DimExtent> tile;
  MemoryShape shape;
  SmallVector<Expr> starts, indices;
  /// Elements from one line to the next along each dimension of the tile.
  SmallVector<int64_t> steps;
};
} // namespace

LogicalResult MachineLowering::lowerPrefetch(PrefetchOp op) {
  std::optional<std::vector<DimExtent>> tile = geometry.extents(cast<TileType>(op.getTile()));
  if (!tile)
    return success();
  Location loc = op.getLoc();
  Lines lines(op, geometry, *tile);
  int64_t lanes = geometry.waveCount() * geometry.waveSize(), count = lines.count();
  sym::Facts facts = geometry.factsAt(op);
  for (int64_t i = 0; i < kMostHints && i * lanes < count; ++i) {
    Expr number = waveSymbol() * geometry.waveSize() + laneSymbol() + i * lanes;
    try {
      sym::Substitution at = lines.places(number);
      Expr mask = sym::simplify(sym::logicalAnd(sym::lt(number, count), lines.inside(at)), facts);
      if (mask.isConstant(0))
        continue;
      Value far = exprs.emitI64(sym::simplify(lines.byteOffset(at), facts), loc);
      Value condition = mask.isConstant(1) ? Value() : exprs.emitI1(mask, loc);
      machine::PrefetchOp::create(builder, loc, wholeBuffer(op.getMemory(), loc), far, Value(), condition, 0);
    } catch (const sym::ExprError &error) {
      return report(loc, DiagId::ExpressionInvalid) << "the address of this `prefetch` has no value: " << error.what();
    }
  }
  return success();
}

} // namespace soliton
