//===- PlanMovement.cpp - How data moves between lanes and waves -----------------===//
//
// A conversion is decided by comparing digits: registers get new names, lanes exchange values, or waves meet in shared
// memory. The last becomes a write and a read, which later passes treat as any other:
//
//   %1 = wave.convert %0                becomes     wave.write %0, %s      %1 = wave.read %s
//
// A reduction of a dimension that waves share becomes one within each wave, a conversion that hands every wave the
// others' results as registers, and a reduction of those:
//
//   %1 = wave.reduce sum %0 along "N"   becomes     %a = wave.reduce sum %0 along "N" (partial: one N per wave)
//                                                   %b = wave.convert %a
//                                                   %1 = wave.reduce sum %b along "N"
//
// and each of them a chain of partial ones: a lane's registers, then one exchange between lanes after the other. A scan
// of such a dimension gets what the others' parts are combined to in the same way, and begins with those before its
// own.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/LayoutCosts.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/layout/Reduce.h"

#include <numeric>

namespace soliton {
#define GEN_PASS_DEF_PLANMOVEMENTPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

/// Whether waves share the dimension along which it combines.
template <typename Op>
static bool crossesWaves(Op op) {
  Dim dim(op.getDim().str());
  return llvm::any_of(op.getSource().getType().layout().wave,
                      [&](const Digit &digit) { return digit.dim == dim && digit.extent > 1; });
}

/// Whether it is partial already: lanes and waves keep what they have (CombineLate.cpp).
static bool combinesRegisters(ReduceOp reduce) {
  return reduce.getResult().getType().hasDim(reduce.getDim());
}

/// `layout` with only the wave digits of `dim` left of that dimension: one partial result per wave.
static Layout onePerWave(Layout layout, Dim dim) {
  Digits waves = layout.wave;
  Layout reduced = layout.withoutDim(dim);
  reduced.wave = waves;
  return reduced;
}

/// The same partial results, all of them in every wave's registers.
static Layout allInRegisters(const Layout &partial, Dim dim) {
  Layout result = partial;
  for (Digit &digit : result.wave)
    if (digit.dim == dim) {
      result.reg.push_back(digit);
      digit = Digit(digit.extent);
    }
  return result;
}

/// Where coordinates lie apart (partial results do), the shared tile stores them side by side: one index per dimension.
static ArrayAttr denseIndices(TileType type) {
  SmallVector<sym::Expr> indices;
  for (auto [k, name] : llvm::enumerate(type.getDims())) {
    Dim dim(name.getValue().str());
    int64_t apart = 0;
    for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
      for (const Digit &digit : type.layout().digits(axis))
        if (digit.dim == dim && digit.extent > 1)
          apart = std::gcd(apart, digit.stride);
    sym::Expr place = placeSymbol(k);
    indices.push_back(apart > 1 ? sym::floordiv(place, apart) : place);
  }
  bool plain = llvm::all_of(indices, [](sym::Expr index) { return index.isSymbol(); });
  return plain ? ArrayAttr() : exprArrayAttr(type.getContext(), indices);
}

/// Writes the operand to a shared tile and reads it back in the result's layout.
static void goThroughShared(ConvertOp convert, KernelOp kernel) {
  TileType from = convert.getOperand().getType(), to = convert.getResult().getType();
  OpBuilder top = OpBuilder::atBlockBegin(&kernel.block()), builder(convert);
  SmallVector<ExprAttr> shape;
  for (StringAttr dim : to.getDims())
    shape.push_back(exprAttr(kernel.getContext(), sizeSymbol(dim.getValue())));
  auto memory = MemoryType::get(kernel.getContext(), shape, to.getElementType(), AddressSpace::Shared, SharedMapAttr());
  Value tile = AllocateOp::create(top, convert.getLoc(), memory, mlir::IntegerAttr(), ArrayAttr());
  ArrayAttr starts = exprArrayAttr(kernel.getContext(), SmallVector<sym::Expr>(to.getRank(), sym::Expr(0)));
  // Written in the result's order of dimensions, which is the order of the shared tile.
  Value value = convert.getOperand();
  if (from.getDims() != to.getDims())
    value =
        PermuteOp::create(builder, convert.getLoc(), to.withLayout(from.layout()), value, ArrayAttr(), OriginAttr());
  ArrayAttr indices = denseIndices(to);
  WriteOp::create(builder, convert.getLoc(), value, tile, ValueRange(), ValueRange(), mlir::IntegerAttr(), indices,
                  starts, ArrayAttr(), ArrayAttr(), convert.getTagsAttr(), OriginAttr(), ExprAttr());
  auto read =
      ReadOp::create(builder, convert.getLoc(), to, tile, ValueRange(), ValueRange(), mlir::IntegerAttr(), indices,
                     starts, ArrayAttr(), ArrayAttr(), convert.getTagsAttr(), OriginAttr(), ExprAttr(), StringAttr());
  convert.getResult().replaceAllUsesWith(read.getResult());
  convert.erase();
}

/// The coordinate of a partial result stands for all that went into it: whether it is itself inside says nothing.
static void maskNothing(ReduceOp reduce) {
  reduce.removeStartAttr();
  reduce.getSymbolsMutable().clear();
}

/// What each wave's part of the source of a reduction or scan is combined to, all of it in every wave.
template <typename Op>
static ConvertOp partsOfWaves(Op op) {
  OpBuilder builder(op);
  TileType source = op.getSource().getType();
  Dim dim(op.getDim().str());
  Layout partial = onePerWave(source.layout(), dim);
  Value inWave = op.getSource();
  if (!(partial == source.layout()))
    inWave = ReduceOp::create(builder, op.getLoc(), source.withLayout(partial), op.getKind(), op.getSource(), Value(),
                              op.getSymbols(), op.getDim(), op.getStartAttr(), op.getTagsAttr(), OriginAttr());
  return ConvertOp::create(builder, op.getLoc(), source.withLayout(allInRegisters(partial, dim)), inWave,
                           ConvertPlanKindAttr(), op.getTagsAttr(), OriginAttr());
}

static void splitReduction(ReduceOp reduce, KernelOp kernel) {
  ConvertOp everywhere = partsOfWaves(reduce);
  reduce.getSourceMutable().assign(everywhere.getResult());
  maskNothing(reduce);
  // One coordinate per wave, with gaps between them: there is nothing to compare, waves meet in shared memory.
  goThroughShared(everywhere, kernel);
}

static void splitScan(ScanOp scan, KernelOp kernel) {
  ConvertOp everywhere = partsOfWaves(scan);
  scan.getTotalsMutable().assign(everywhere.getResult());
  goThroughShared(everywhere, kernel);
}

/// Registers are combined first, then lanes, one exchange an op, so that a schedule sees each of them.
static void splitIntoStages(ReduceOp reduce) {
  TileType source = reduce.getSource().getType();
  std::vector<Layout> stages = reduceStages(source.layout(), Dim(reduce.getDim().str()));
  OpBuilder builder(reduce);
  Value value = reduce.getSource();
  // The last stage is the op itself, which also has the initial value.
  for (size_t i = 0; i + 1 < stages.size(); ++i) {
    value = ReduceOp::create(builder, reduce.getLoc(), source.withLayout(stages[i]), reduce.getKind(), value, Value(),
                             reduce.getSymbols(), reduce.getDim(), reduce.getStartAttr(), reduce.getTagsAttr(),
                             OriginAttr());
    maskNothing(reduce);
  }
  reduce.getSourceMutable().assign(value);
}

/// The conversion as a chain: each op renames registers or exchanges one digit between lanes and registers.
static void followRoute(ConvertOp convert, const ConvertRoute &route) {
  OpBuilder builder(convert);
  TileType type = convert.getResult().getType();
  Value value = convert.getOperand();
  for (const Layout &stage : route.stages) {
    bool rename = isRename(cast<TileType>(value.getType()).layout(), stage);
    auto kind =
        ConvertPlanKindAttr::get(convert.getContext(), rename ? ConvertPlanKind::rename : ConvertPlanKind::shuffle);
    value = ConvertOp::create(builder, convert.getLoc(), type.withLayout(stage), value, kind, convert.getTagsAttr(),
                              OriginAttr());
  }
  convert.getResult().replaceAllUsesWith(value);
  convert.erase();
}

static LogicalResult planConvert(ConvertOp convert, KernelOp kernel, const LayoutCosts &costs) {
  TileType from = convert.getOperand().getType(), to = convert.getResult().getType();
  if (convert.getPlan() == ConvertPlanKind::shared) { // decided by who knows what the operand's holders lack
    goThroughShared(convert, kernel);
    return success();
  }
  ConvertRoute route = costs.route(from, from.layout(), to.layout());
  switch (route.kind) {
  case ConvertKind::rename:
  case ConvertKind::shuffle:
    followRoute(convert, route);
    return success();
  case ConvertKind::shared:
    goThroughShared(convert, kernel);
    return success();
  case ConvertKind::impossible:
    return report(convert.getLoc(), DiagId::NotSupportedHere)
           << "no way from layout `" << from.layout().str() << "` to `" << to.layout().str() << "`: " << route.reason;
  }
  return failure();
}

namespace {
struct PlanMovementPass final : impl::PlanMovementPassBase<PlanMovementPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Indexed)))
      return signalPassFailure();
    SmallVector<ReduceOp> overWaves;
    llvm::DenseSet<Operation *> inLanes;
    kernel.walk([&](ReduceOp reduce) {
      if (combinesRegisters(reduce))
        inLanes.insert(reduce);
      else if (crossesWaves(reduce))
        overWaves.push_back(reduce);
    });
    for (ReduceOp reduce : overWaves)
      splitReduction(reduce, kernel);

    SmallVector<ScanOp> scans;
    kernel.walk([&](ScanOp scan) {
      if (crossesWaves(scan))
        scans.push_back(scan);
    });
    for (ScanOp scan : scans)
      splitScan(scan, kernel);

    SmallVector<ReduceOp> reductions;
    kernel.walk([&](ReduceOp reduce) {
      if (!inLanes.contains(reduce))
        reductions.push_back(reduce);
    });
    for (ReduceOp reduce : reductions)
      splitIntoStages(reduce);

    SmallVector<ConvertOp> converts;
    kernel.walk([&](ConvertOp convert) { converts.push_back(convert); });
    LayoutCosts costs(*geometry);
    for (ConvertOp convert : converts)
      if (failed(planConvert(convert, kernel, costs)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace soliton
