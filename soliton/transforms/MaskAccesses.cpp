//===- MaskAccesses.cpp - Guards exactly where they are needed -------------------===//
//
// A tile of a tensor whose size is no multiple of it reaches beyond the end, and a mapping may lead anywhere. An
// element is read or written where its place is within each dimension (or within the bounds that the author said
// instead), within the memory, and within the workgroup's part, where a tile holds places beyond it; of these
// conditions an access keeps those that nothing proves:
//
//   %0 = wave.read %a                                     becomes   wave.read %a {guards = ["$index0 < M"]}
//   %1 = wave.read %b {indices = ["$index0 - 1"]}         becomes   … {guards = ["1 <= $index0"]}
//
// Reads give 0 elsewhere. What a reduction or scan would combine outside of its dimension becomes its identity, and
// what an mma would contract there becomes 0, unless it was read as 0 already. A kernel whose sizes are multiples of
// its tiles is left as it is, and rows in the workspace have their zeros themselves.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Access.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"

namespace soliton {
#define GEN_PASS_DEF_MASKACCESSESPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

namespace {
/// The conditions of one access, in `$index<k>`.
class Guards {
public:
  Guards(Operation *op, const Geometry &geometry)
      : op(op), geometry(geometry), symbols(cast<IndexedOpInterface>(op).getSymbols()), facts(geometry.factsAt(op)) {
    starts = geometry.named(op->getAttrOfType<ArrayAttr>("starts"), symbols);
    // Places are the start plus a coordinate of the tile.
    for (auto [k, name] : llvm::enumerate(tileOf(op).getDims())) {
      sym::Expr coordinate = sym::Expr::symbol("$coordinate" + std::to_string(k));
      facts.setRange(coordinate, {0, geometry[Dim(name.getValue().str())].tile().value_or(1) - 1});
      places.set(placeSymbol(k), starts[k] + coordinate);
    }
  }

  void guardDimensions();
  void guardParts();
  void guardMemory();
  void guardWithin();
  void apply();

private:
  SmallVector<sym::Expr> indicesOf(size_t rank) const;
  /// Keeps the condition unless it always holds, and relies on it from here on.
  void require(sym::Expr condition) {
    sym::Expr placed = sym::substitute(condition, places);
    if (sym::prove(placed, facts) == std::optional(true))
      return;
    kept.push_back(condition);
    facts.assume(placed);
  }

  Operation *op;
  const Geometry &geometry;
  ValueRange symbols;
  sym::Facts facts;
  SmallVector<sym::Expr> starts, kept;
  sym::Substitution places;
};
} // namespace

/// The expressions that say where in its memory an element lies.
SmallVector<sym::Expr> Guards::indicesOf(size_t rank) const {
  if (auto mapping = op->getAttrOfType<ArrayAttr>("indices"))
    return geometry.named(mapping, symbols);
  return llvm::map_to_vector(llvm::seq<size_t>(0, rank), [](size_t k) { return placeSymbol(k); });
}

void Guards::guardDimensions() {
  auto said = op->getAttrOfType<ArrayAttr>("bounds");
  auto kernel = op->getParentOfType<KernelOp>();
  // Rows of the workspace hold zeros beyond their dimension.
  std::optional<sym::Expr> padded;
  if (kernel.isInWorkspace(memoryOf(op)))
    padded = indicesOf(cast<MemoryType>(memoryOf(op).getType()).getShape().size()).back();
  bool isTile = memoryOf(op).getDefiningOp<AllocateOp>() != nullptr;
  for (auto [k, name] : llvm::enumerate(tileOf(op).getDims())) {
    sym::Expr place = placeSymbol(k);
    if (isTile) // whose places are counted from the workgroup's part
      place = place + geometry.start(Dim(name.getValue().str()), op);
    if (!said) {
      require(sym::ge(place, 0));
      if (padded != place)
        require(sym::lt(place, geometry[Dim(name.getValue().str())].size));
    } else if (auto bound = dyn_cast<ExprAttr>(said[k])) {
      require(sym::lt(place, geometry.named(bound, symbols)));
    }
  }
}

/// What a tile holds beyond the workgroup's part is somebody else's.
void Guards::guardParts() {
  for (auto [k, name] : llvm::enumerate(tileOf(op).getDims()))
    if (const Distribution &dim = geometry[Dim(name.getValue().str())]; dim.hasPlacesBeyond())
      require(sym::lt(placeSymbol(k), starts[k] + *dim.part()));
}

void Guards::guardMemory() {
  std::vector<sym::Expr> extents = memoryExtents(memoryOf(op), geometry);
  for (auto [index, extent] : llvm::zip(indicesOf(extents.size()), extents)) {
    require(sym::ge(index, 0));
    require(sym::lt(index, extent));
  }
}

/// What was asked for beside the bounds.
void Guards::guardWithin() {
  if (auto within = op->getAttrOfType<ArrayAttr>("within"))
    for (sym::Expr condition : geometry.named(within, symbols))
      require(condition);
}

void Guards::apply() {
  op->removeAttr("bounds");
  op->removeAttr("within");
  OperandBinder binder(geometry.symbols(), llvm::to_vector(symbols));
  op->setAttr("guards", binder.bind(kept));
  cast<IndexedOpInterface>(op).getSymbolsMutable().assign(binder.operands());
}

static void guardAccess(Operation *op, const Geometry &geometry) {
  Guards guards(op, geometry);
  // A tile in shared memory has no places beyond its own, and takes what lies beyond the tensor too; but an atomic is
  // no matter of padding.
  if (!memoryOf(op).getDefiningOp<AllocateOp>() || cast<AccessOpInterface>(op).getAtomicKind())
    guards.guardDimensions();
  guards.guardParts();
  guards.guardMemory();
  guards.guardWithin();
  guards.apply();
}

namespace {
/// A tile's part along one dimension: where it starts in the whole tensor.
struct Part {
  Dim dim;
  sym::Expr start;
  const sym::Facts &facts;

  /// Whether all that the tile holds is within the dimension and the workgroup's part.
  bool isInside(const Geometry &geometry) const {
    if (geometry[dim].hasPlacesBeyond())
      return false;
    sym::Expr end = start + geometry[dim].tile().value_or(1);
    sym::Expr inside = sym::logicalAnd(sym::ge(start, 0), sym::le(end, geometry[dim].size));
    return sym::prove(inside, facts) == std::optional(true);
  }
};
} // namespace

/// 1 where an element is within the dimension of `part`, as a line of tiles like `type`.
static Value insideLine(OpBuilder &builder, Location loc, TileType type, const Part &part, const Geometry &geometry) {
  Layout line = type.layout();
  for (Dim other : type.layout().dims())
    if (!(other == part.dim))
      line = line.withoutDim(other);
  MLIRContext *context = builder.getContext();
  StringAttr name = StringAttr::get(context, part.dim.name());
  auto lineType = TileType::get(context, {name}, builder.getI32Type(), LayoutAttr::get(context, line));
  OperandBinder starts(geometry.symbols()), bounds(geometry.symbols());
  ExprAttr start = starts.bind(part.start);
  Value place = SelfIndexOp::create(builder, loc, lineType, name, starts.operands(), start, ArrayAttr(), OriginAttr());
  sym::Expr x = applySymbol(0);
  sym::Expr inside = sym::lt(x, geometry[part.dim].size);
  if (sym::prove(sym::ge(part.start, 0), part.facts) != std::optional(true))
    inside = sym::logicalAnd(sym::ge(x, 0), inside);
  sym::Expr end = part.start + geometry[part.dim].part().value_or(1);
  bool reachesBeyond = sym::prove(sym::le(geometry[part.dim].size, end), part.facts) != std::optional(true);
  if (geometry[part.dim].hasPlacesBeyond() && reachesBeyond)
    inside = sym::logicalAnd(sym::lt(x, end), inside);
  ExprAttr predicate = bounds.bind(inside);
  return ApplyExprOp::create(builder, loc, lineType.withElementType(builder.getI1Type()), predicate, ValueRange(place),
                             bounds.operands(), ArrayAttr(), OriginAttr());
}

/// `value` inside the tensor along `part`, `outside` elsewhere.
static Value selectInside(OpBuilder &builder, Location loc, Value value, const Part &part, mlir::TypedAttr outside,
                          const Geometry &geometry) {
  auto type = cast<TileType>(value.getType());
  Value inside = insideLine(builder, loc, type, part, geometry);
  if (type.getRank() > 1)
    inside =
        BroadcastOp::create(builder, loc, type.withElementType(builder.getI1Type()), inside, ArrayAttr(), OriginAttr());
  Value fill = FillOp::create(builder, loc, type, outside, ArrayAttr(), OriginAttr());
  return SelectOp::create(builder, loc, type, inside, value, fill, ArrayAttr(), OriginAttr());
}

/// Whether the read gives 0 outside of `dim`: within the memory it does so by itself, and what the author bounds ends
/// there where the bound is no further away.
static bool readsZeroOutside(ReadOp read, Dim dim, const Geometry &geometry) {
  if (!read.getBounds())
    return true;
  for (auto [name, said, start] : llvm::zip_equal(read.getResult().getType().getDims(), *read.getBounds(),
                                                  geometry.named(read.getStartsAttr(), read.getSymbols()))) {
    auto bound = dyn_cast<ExprAttr>(said);
    if (Dim(name.getValue().str()) != dim || !bound)
      continue;
    sym::Expr inside =
        sym::logicalAnd(sym::ge(start, 0), sym::le(geometry.named(bound, read.getSymbols()), geometry[dim].size));
    return sym::prove(inside, geometry.factsAt(read)) == std::optional(true);
  }
  return false;
}

/// Whether elements of `value` outside of `dim` are 0: read as such, and only moved since. Of scales, which have no 0,
/// the bits, which make a finite number.
static bool isZeroOutside(Value value, Dim dim, const Geometry &geometry) {
  Operation *op = value.getDefiningOp();
  auto keepsZeros = [](Operation *op) {
    auto cast = dyn_cast<CastOp>(op);
    bool keeps = cast && !isa<mlir::Float8E8M0FNUType>(cast.getOperand().getType().getElementType()) &&
                 !isa<mlir::Float8E8M0FNUType>(cast.getResult().getType().getElementType());
    return keeps || isa<ConvertOp, PermuteOp, BitcastOp>(op);
  };
  while (op && keepsZeros(op))
    op = op->getOperand(0).getDefiningOp();
  auto read = dyn_cast_or_null<ReadOp>(op);
  if (!read)
    return false;
  // A shared tile holds what its one writer read.
  if (auto allocation = read.getMemory().getDefiningOp<AllocateOp>()) {
    SmallVector<Operation *> writers;
    for (Operation *user : allocation.getResult().getUsers())
      if (writes(user, allocation.getResult()))
        writers.push_back(user);
    auto write = writers.size() == 1 ? dyn_cast<WriteOp>(writers[0]) : WriteOp();
    return write && isPermutation(read) && !write.getIndices() && isZeroOutside(write.getValue(), dim, geometry);
  }
  return readsZeroOutside(read, dim, geometry);
}

/// What a reduction or scan would combine outside of its dimension.
template <typename Op>
static void maskCombined(Op op, const Geometry &geometry) {
  Part part{Dim(op.getDim().str()), geometry.named(*op.getStart(), op.getSymbols()), geometry.factsAt(op)};
  bool zeroChangesNothing = op.getKind() == ReduceKind::sum || op.getKind() == ReduceKind::any;
  if (part.isInside(geometry) || (zeroChangesNothing && isZeroOutside(op.getSource(), part.dim, geometry)))
    return;
  OpBuilder builder(op);
  mlir::TypedAttr outside = identity(op.getKind(), op.getSource().getType().getElementType());
  op.getSourceMutable().assign(selectInside(builder, op.getLoc(), op.getSource(), part, outside, geometry));
}

/// An operand of the product with `outside` where its dimension `dim` ends, if it may hold anything there.
static void maskFactor(MmaOp mma, int which, Dim dim, double outside, const Geometry &geometry) {
  Part part{dim, geometry.start(dim, mma), geometry.factsAt(mma)};
  Value operand = mma->getOperand(which);
  if (part.isInside(geometry) || isZeroOutside(operand, dim, geometry))
    return;
  OpBuilder builder(mma);
  Type element = cast<TileType>(operand.getType()).getElementType();
  mlir::TypedAttr fill = builder.getZeroAttr(element);
  if (outside != 0)
    fill = builder.getFloatAttr(element, outside);
  mma->setOperand(which, selectInside(builder, mma.getLoc(), operand, part, fill, geometry));
}

/// Elements outside are 0; scales outside are some number, for there may be no NaN beside the 0.
static void maskContraction(MmaOp mma, const Geometry &geometry) {
  Dim contracted(mma.getContractedDim().getValue().str()), block = mma.getScaleDim().dim();
  for (int which : {0, 1})
    maskFactor(mma, which, contracted, 0, geometry);
  for (int which = 3; which < static_cast<int>(mma->getNumOperands()); ++which)
    maskFactor(mma, which, block, 1, geometry);
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
    // Who relies on zeros asks for bounds that the author said, so guards come last.
    for (Operation *op : ops) {
      if (auto reduce = dyn_cast<ReduceOp>(op))
        maskCombined(reduce, *geometry);
      if (auto scan = dyn_cast<ScanOp>(op))
        maskCombined(scan, *geometry);
      if (auto mma = dyn_cast<MmaOp>(op))
        maskContraction(mma, *geometry);
    }
    for (Operation *op : ops)
      if (isa<AccessOpInterface>(op))
        guardAccess(op, *geometry);
  }
};
} // namespace
} // namespace soliton
