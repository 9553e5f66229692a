//===- MaskAccesses.cpp - Bounds exactly where they are needed -------------------===//
//
// A tile of a tensor whose size is no multiple of it reaches beyond the end. Along each dimension for which nothing
// proves the contrary, the access gets a bound:
//
//   %0 = wave.read %a                    becomes   %0 = wave.read %a {bounds = [#wave.expr<"M">, "unbounded"]}
//
// Reads give 0 beyond it. What a reduction would combine there becomes its identity, and what an mma would contract
// there becomes 0, unless it was read as 0 already. A kernel whose sizes are multiples of its tiles is left as it is.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Access.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"

#include <limits>

namespace soliton {
#define GEN_PASS_DEF_MASKACCESSESPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

/// Whether the tile of `dim` that starts at `start` may reach beyond the tensor.
static bool mayExceed(Dim dim, sym::Expr start, const Geometry &geometry) {
  const Distribution &distribution = geometry[dim];
  sym::Expr end = start + distribution.tile().value_or(1);
  return sym::prove(sym::le(end, distribution.size), geometry.facts()) != std::optional(true);
}

static void boundAccess(Operation *op, const Geometry &geometry) {
  if (cast<MemoryType>(memoryOf(op).getType()).isShared()) {
    op->removeAttr("bounds");
    return;
  }
  auto said = op->getAttrOfType<ArrayAttr>("bounds");
  auto starts = exprsOf(op->getAttrOfType<ArrayAttr>("starts"));
  SmallVector<Attribute> bounds;
  bool any = false;
  for (auto [k, name] : llvm::enumerate(tileOf(op).getDims())) {
    Dim dim(name.getValue().str());
    Attribute bound = StringAttr::get(op->getContext(), kUnbounded);
    if (said) {
      if (auto expr = dyn_cast<ExprAttr>(said[k]))
        bound = exprAttr(op->getContext(), geometry.bind(expr.getValue()));
    } else if (mayExceed(dim, starts[k], geometry)) {
      bound = exprAttr(op->getContext(), geometry[dim].size);
    }
    any |= isa<ExprAttr>(bound);
    bounds.push_back(bound);
  }
  if (any)
    op->setAttr("bounds", ArrayAttr::get(op->getContext(), bounds));
  else
    op->removeAttr("bounds");
}

/// The element that changes nothing when combined.
static mlir::TypedAttr identity(ReduceKind kind, Type type, OpBuilder &builder) {
  if (auto real = dyn_cast<mlir::FloatType>(type)) {
    double value =
        kind == ReduceKind::sum ? 0.0 : std::numeric_limits<double>::infinity() * (kind == ReduceKind::max ? -1 : 1);
    return mlir::FloatAttr::get(real, value);
  }
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  llvm::APInt value(width, 0);
  if (kind != ReduceKind::sum)
    value = kind == ReduceKind::max ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getSignedMaxValue(width);
  return mlir::IntegerAttr::get(type, value);
}

/// `value` inside the tensor along `dim`, `outside` beyond its end.
static Value selectInside(OpBuilder &builder, Location loc, Value value, Dim dim, sym::Expr start, sym::Expr size,
                          mlir::TypedAttr outside, const Geometry &geometry) {
  auto type = cast<TileType>(value.getType());
  Layout line = type.layout();
  for (Dim other : type.layout().dims())
    if (!(other == dim))
      line = line.withoutDim(other);
  MLIRContext *context = builder.getContext();
  StringAttr name = StringAttr::get(context, dim.name());
  auto lineType = TileType::get(context, {name}, builder.getI32Type(), LayoutAttr::get(context, line));
  auto wide = [&](Type element) { return TileType::get(context, type.getDims(), element, type.getLayout()); };
  Value place = SelfIndexOp::create(builder, loc, lineType, name, exprAttr(context, start), ArrayAttr(), OriginAttr());
  // The bound as a tile: an expression of sizes, the same everywhere.
  Value bound = ApplyExprOp::create(builder, loc, lineType, exprAttr(context, size), ValueRange(place), ArrayAttr(),
                                    OriginAttr());
  Value inside = CompareOp::create(builder, loc, lineType.withElementType(builder.getI1Type()), ComparePredicate::lt,
                                   place, bound, ArrayAttr(), OriginAttr());
  if (type.getRank() > 1)
    inside = BroadcastOp::create(builder, loc, wide(builder.getI1Type()), inside, ArrayAttr(), OriginAttr());
  Value fill = FillOp::create(builder, loc, type, outside, ArrayAttr(), OriginAttr());
  return SelectOp::create(builder, loc, type, inside, value, fill, ArrayAttr(), OriginAttr());
}

/// Whether elements of `value` beyond the end of its dimensions are 0: read as such, and only moved since.
static bool isZeroOutside(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isa<ConvertOp, CastOp, PermuteOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op && isa<ReadOp>(op);
}

static void maskReduction(ReduceOp reduce, const Geometry &geometry) {
  Dim dim(reduce.getDim().str());
  sym::Expr start = reduce.getStart()->getValue();
  if (!mayExceed(dim, start, geometry) || (reduce.getKind() == ReduceKind::sum && isZeroOutside(reduce.getSource())))
    return;
  OpBuilder builder(reduce);
  mlir::TypedAttr outside = identity(reduce.getKind(), reduce.getSource().getType().getElementType(), builder);
  reduce.getSourceMutable().assign(
      selectInside(builder, reduce.getLoc(), reduce.getSource(), dim, start, geometry[dim].size, outside, geometry));
}

static void maskContraction(MmaOp mma, const Geometry &geometry) {
  Dim dim(mma.getContractedDim().getValue().str());
  sym::Expr start = geometry.start(dim, mma);
  if (!mayExceed(dim, start, geometry))
    return;
  OpBuilder builder(mma);
  for (int which : {0, 1}) {
    Value operand = mma->getOperand(which);
    if (isZeroOutside(operand))
      continue;
    mlir::TypedAttr zero = builder.getZeroAttr(cast<TileType>(operand.getType()).getElementType());
    mma->setOperand(which,
                    selectInside(builder, mma.getLoc(), operand, dim, start, geometry[dim].size, zero, geometry));
  }
}

namespace {
struct MaskAccessesPass final : impl::MaskAccessesPassBase<MaskAccessesPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<Geometry> geometry = Geometry::of(getOperation());
    if (failed(geometry) || failed(requireForm(getOperation(), Form::Indexed)))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (isa<ReadOp, WriteOp>(op))
        boundAccess(op, *geometry);
      if (auto reduce = dyn_cast<ReduceOp>(op))
        maskReduction(reduce, *geometry);
      if (auto mma = dyn_cast<MmaOp>(op))
        maskContraction(mma, *geometry);
    }
  }
};
} // namespace
} // namespace soliton
