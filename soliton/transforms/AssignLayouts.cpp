//===- AssignLayouts.cpp - Who holds which element -----------------------------===//
//
// Collects what there is to choose (LayoutProblem.h), takes the cheapest (layout/Choose.h), and applies it: every tile
// gets its layout, an mma that is issued transposed has its operands exchanged, and where a use needs another layout
// than its class has, a `wave.convert` says so:
//
//   %s = wave.mma %q, %k, %c           becomes   %s = wave.mma %k, %q, %c     the accumulator's columns are registers
//   %p = wave.unary exp2 %s                      %p = wave.unary exp2 %s
//   %o = wave.mma %p, %v, %acc                   %o = wave.mma %v, %p, %acc   %p is an operand as it lies
//
// `explain` reports for every class and multiplication what was chosen and what came second.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/MatrixLoads.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/layout/Scan.h"
#include "soliton/transforms/LayoutProblem.h"

namespace soliton {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

namespace {
TileType tileType(Value value) {
  return cast<TileType>(value.getType());
}

SmallVector<Dim> dimsOf(TileType type) {
  return llvm::map_to_vector(type.getDims(), [](StringAttr dim) { return Dim(dim.getValue().str()); });
}

class LayoutAssignment {
public:
  LayoutAssignment(KernelOp kernel, const Geometry &geometry) : kernel(kernel), geometry(geometry) {}

  LogicalResult run(bool explain) {
    separateFactors();
    FailureOr<LayoutProblem> collected = LayoutProblem::of(kernel, geometry);
    if (failed(collected))
      return failure();
    problem = &*collected;
    if (failed(checkShuffles()))
      return failure();
    decide();
    if (explain)
      explainChoices();
    setTypes();
    if (explain)
      explainLoads();
    insertConverts();
    setStarts();
    return success();
  }

private:
  void separateFactors();
  void decide();
  void explainChoices() const;
  void explainLoads() const;
  void setTypes();
  void insertConverts();
  void convertMma(MmaOp mma, const MmaWay &way);
  void convertReduce(ReduceOp reduce);
  void convertGroups(BitcastOp cast);
  void convertScan(ScanOp scan);
  void convertShuffle(ShuffleOp shuffle);
  LogicalResult checkShuffles() const;
  void convertAccess(AccessOpInterface access);
  void shareOld(AtomicOp atomic, const Layout &own, const Layout &wanted);
  void setStarts();

  const Layout &layoutOf(const LayoutProblem::ValueClass &valueClass) const {
    return valueClass.candidates[choice.chosen[valueClass.node]];
  }
  Value converted(OpBuilder &builder, Location loc, Value value, const Layout &layout);
  /// The result of `op` has `own`; its users see it converted to `wanted`.
  void convertResult(Operation *op, const Layout &own, const Layout &wanted);

  KernelOp kernel;
  const Geometry &geometry;
  LayoutProblem *problem = nullptr;
  ChoiceProblem choices;
  Choice choice;
  bool staged = true;
};

/// A factor that an instruction reads from memory by itself has a read of its own: whoever else uses the tile holds it.
void LayoutAssignment::separateFactors() {
  kernel->walk([&](MmaOp mma) {
    const MmaKind &kind = mmaKindOf(mma, geometry.target());
    for (mlir::OpOperand &operand : mma->getOpOperands().take_front(2))
      if (auto read = operand.get().getDefiningOp<ReadOp>();
          read && takesInPlace(mma, operand.getOperandNumber(), kind) && !isFactorInPlace(read, geometry.target()))
        operand.set(OpBuilder(read).clone(*read)->getResult(0));
  });
}

/// Staged accesses take shared memory, which a schedule may want to fill with several buffers of the promoted tiles;
/// where that would be tight nothing is staged.
void LayoutAssignment::decide() {
  choices = problem->choices(/*stage=*/true);
  choice = choose(choices);
  int64_t bytes = problem->stagedBytes(choice);
  staged = bytes == 0 || bytes + 4 * problem->promotedBytes() <= geometry.target().sharedBytes;
  if (staged)
    return;
  choices = problem->choices(/*stage=*/false);
  choice = choose(choices);
}

void LayoutAssignment::explainChoices() const {
  auto explain = [&](Location loc, size_t node, auto describe) {
    std::string text = describe(choice.chosen[node]) + ": " + std::to_string(choice.cost) + " clocks";
    if (!choice.exact)
      text += " (bounded search)";
    if (std::optional<Choice> second = runnerUp(choices, choice, node))
      text += "; second " + describe(second->chosen[node]) + ": " + std::to_string(second->cost);
    reportRemark(loc, DiagId::LayoutChoice) << text;
  };
  for (const LayoutProblem::Multiplication &mma : problem->multiplications())
    explain(mma.op->getLoc(), mma.node, [&](size_t i) { return "mma " + mma.ways[i].str(); });
  for (const LayoutProblem::ValueClass &valueClass : problem->classes())
    if (valueClass.candidates.size() > 1)
      explain(valueClass.first.getLoc(), valueClass.node,
              [&](size_t i) { return "tile " + valueClass.candidates[i].str(); });
}

/// Tiles that a collective load will hand over transposed (PromoteToShared).
void LayoutAssignment::explainLoads() const {
  kernel->walk([&](ReadOp read) {
    if (!read.getMemory().getType().isShared() || isFactorInPlace(read, geometry.target()))
      return;
    if (std::optional<MatrixLoadChoice> choice = findMatrixLoad(read, geometry))
      reportRemark(read.getLoc(), DiagId::LayoutChoice)
          << "tile stored as it lies, loaded by `" << choice->load->name << "`: " << choice->cost
          << " clocks; second transposed in registers: " << choice->inRegisters;
  });
}

void LayoutAssignment::setTypes() {
  for (Value value : problem->values())
    value.setType(tileType(value).withLayout(layoutOf(problem->classOf(value))));
}

Value LayoutAssignment::converted(OpBuilder &builder, Location loc, Value value, const Layout &layout) {
  if (tileType(value).layout() == layout)
    return value;
  // On its way from memory to those who need it, a tile goes by the tags of its read.
  auto read = value.getDefiningOp<ReadOp>();
  return ConvertOp::create(builder, loc, tileType(value).withLayout(layout), value, ConvertPlanKindAttr(),
                           read ? read.getTagsAttr() : ArrayAttr(), OriginAttr());
}

void LayoutAssignment::convertResult(Operation *op, const Layout &own, const Layout &wanted) {
  Value result = op->getResult(0);
  result.setType(tileType(result).withLayout(own));
  if (own == wanted)
    return;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value users = converted(builder, op->getLoc(), result, wanted);
  result.replaceAllUsesExcept(users, users.getDefiningOp());
}

void LayoutAssignment::convertMma(MmaOp mma, const MmaWay &way) {
  OpBuilder builder(mma);
  Layout wanted = tileType(mma.getResult()).layout();
  for (int which = 0; which < static_cast<int>(mma->getNumOperands()); ++which)
    mma->setOperand(which, converted(builder, mma.getLoc(), mma->getOperand(which), way.operand(which)));
  if (way.exchanged) {
    Value lhs = mma.getLhs();
    mma.getLhsMutable().assign(mma.getRhs());
    mma.getRhsMutable().assign(lhs);
    if (mma.isScaled())
      mma.getScalesMutable().assign({mma.getScales()[1], mma.getScales()[0]});
  }
  convertResult(mma, way.acc, wanted);
}

/// Groups lie so that their elements need no move.
void LayoutAssignment::convertGroups(BitcastOp cast) {
  std::optional<ScaledDim> dim = cast.getGroups();
  if (!dim)
    return;
  OpBuilder builder(cast);
  Layout from = tileType(cast.getOperand()).layout(), to = tileType(cast.getResult()).layout();
  Layout groups = cast.isGrouping() ? bridge(to, from, *dim) : bridge(from, to, *dim);
  Layout elements = *ungrouped(groups, *dim);
  cast.getOperandMutable().assign(
      converted(builder, cast.getLoc(), cast.getOperand(), cast.isGrouping() ? elements : groups));
  convertResult(cast, cast.isGrouping() ? groups : elements, to);
}

void LayoutAssignment::convertReduce(ReduceOp reduce) {
  Layout natural = restricted(tileType(reduce.getSource()).layout(), tileType(reduce.getResult()));
  Layout wanted = tileType(reduce.getResult()).layout();
  if (natural == wanted)
    return;
  OpBuilder builder(reduce);
  if (reduce.getInit())
    reduce.getInitMutable().assign(converted(builder, reduce.getLoc(), reduce.getInit(), natural));
  convertResult(reduce, natural, wanted);
}

void LayoutAssignment::convertScan(ScanOp scan) {
  Dim dim(scan.getDim().str());
  OpBuilder builder(scan);
  Layout wanted = tileType(scan.getResult()).layout(), own = wanted;
  if (!isOrderedAlong(wanted, dim))
    own = orderedAlong(wanted, dim);
  scan.getSourceMutable().assign(converted(builder, scan.getLoc(), scan.getSource(), own));
  if (scan.getInit())
    scan.getInitMutable().assign(
        converted(builder, scan.getLoc(), scan.getInit(), restricted(own, tileType(scan.getInit()))));
  convertResult(scan, own, wanted);
}

/// Lanes exchange what they hold, so each of them has one element of the row.
LogicalResult LayoutAssignment::checkShuffles() const {
  bool ok = true;
  kernel->walk([&](ShuffleOp shuffle) {
    std::optional<int64_t> extent = geometry[Dim(shuffle.getDim().str())].tile();
    if (extent == geometry.waveSize())
      return;
    auto diagnostic = report(shuffle.getLoc(), DiagId::ShuffleSource).hint("shuffle along a row of that many elements");
    diagnostic << "a shuffle along `" << shuffle.getDim() << "`, of which a workgroup has " << extent.value_or(0)
               << " elements, expected " << geometry.waveSize() << ", one for each lane of a wave";
    ok = false;
  });
  return mlir::success(ok);
}

void LayoutAssignment::convertShuffle(ShuffleOp shuffle) {
  OpBuilder builder(shuffle);
  Layout wanted = tileType(shuffle.getResult()).layout();
  Layout own = oneElementPerLane(wanted, Dim(shuffle.getDim().str()));
  shuffle.getSourceMutable().assign(converted(builder, shuffle.getLoc(), shuffle.getSource(), own));
  if (shuffle.getIndex())
    shuffle.getIndexMutable().assign(converted(builder, shuffle.getLoc(), shuffle.getIndex(), own));
  convertResult(shuffle, own, wanted);
}

void LayoutAssignment::convertAccess(AccessOpInterface access) {
  Layout layout = access.getMovedTile().layout(), own = problem->accessLayout(access, layout, staged);
  OpBuilder builder(access);
  auto convertOperand = [&](mlir::OpOperand &operand) {
    operand.set(converted(builder, access->getLoc(), operand.get(), own));
  };
  for (mlir::OpOperand &value : access.getDynamicValuesMutable())
    convertOperand(value);
  if (!access.writesIndexed())
    return convertResult(access, own, layout);
  for (mlir::OpOperand &operand : access->getOpOperands())
    if (operand.get() == access.getMovedValue() && tileType(operand.get()).layout() != own)
      convertOperand(operand);
  auto atomic = dyn_cast<AtomicOp>(access.getOperation());
  if (atomic && atomic.getExpected())
    atomic.getExpectedMutable().assign(converted(builder, atomic.getLoc(), atomic.getExpected(), own));
  if (atomic)
    shareOld(atomic, own, layout);
}

/// Of those that hold an element one changes its place and gets what was there; the others hear of it through memory.
void LayoutAssignment::shareOld(AtomicOp atomic, const Layout &own, const Layout &wanted) {
  Value old = atomic.getResult();
  if (own.replication() == 1 || old.use_empty())
    return convertResult(atomic, own, wanted);
  old.setType(tileType(old).withLayout(own));
  OpBuilder builder(atomic->getContext());
  builder.setInsertionPointAfter(atomic);
  auto plan = ConvertPlanKindAttr::get(builder.getContext(), ConvertPlanKind::shared);
  Value shared = ConvertOp::create(builder, atomic.getLoc(), tileType(old).withLayout(wanted), old, plan, ArrayAttr(),
                                   OriginAttr());
  old.replaceAllUsesExcept(shared, shared.getDefiningOp());
}

void LayoutAssignment::insertConverts() {
  for (const LayoutProblem::Multiplication &mma : problem->multiplications())
    convertMma(mma.op, mma.ways[choice.chosen[mma.node]]);
  SmallVector<Operation *> others;
  kernel.walk([&](TileOpInterface op) { others.push_back(op); });
  for (Operation *op : others) {
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      OpBuilder builder(op);
      Layout wanted = restricted(tileType(broadcast.getResult()).layout(), tileType(broadcast.getOperand()));
      broadcast.getOperandMutable().assign(converted(builder, op->getLoc(), broadcast.getOperand(), wanted));
    } else if (auto bitcast = dyn_cast<BitcastOp>(op)) {
      convertGroups(bitcast);
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      convertReduce(reduce);
    } else if (auto scan = dyn_cast<ScanOp>(op)) {
      convertScan(scan);
    } else if (auto shuffle = dyn_cast<ShuffleOp>(op)) {
      convertShuffle(shuffle);
    } else if (auto access = dyn_cast<AccessOpInterface>(op)) {
      convertAccess(access);
    }
  }
}

void LayoutAssignment::setStarts() {
  // The op's own expressions keep their operands; those of the starts join them.
  auto bindStart = [&](IndexedOpInterface op, llvm::function_ref<Attribute(OperandBinder &)> make, StringRef name) {
    OperandBinder binder(geometry.symbols(), llvm::to_vector(op.getSymbols()));
    op->setAttr(name, make(binder));
    op.getSymbolsMutable().assign(binder.operands());
  };
  kernel.walk([&](Operation *op) {
    auto startOf = [&](Dim dim) { return sym::simplify(geometry.start(dim, op), geometry.factsAt(op)); };
    if (isa<AccessOpInterface>(op)) {
      SmallVector<sym::Expr> starts =
          llvm::map_to_vector(dimsOf(tileOf(op)), [&](Dim dim) { return soliton::startOf(op, dim, geometry); });
      bindStart(cast<IndexedOpInterface>(op), [&](OperandBinder &binder) { return binder.bind(starts); }, "starts");
    }
    if (auto print = dyn_cast<PrintOp>(op)) {
      SmallVector<sym::Expr> starts = llvm::map_to_vector(dimsOf(print.getOperand().getType()), startOf);
      bindStart(print, [&](OperandBinder &binder) { return binder.bind(starts); }, "starts");
    }
    if (auto prefetch = dyn_cast<PrefetchOp>(op)) {
      SmallVector<sym::Expr> starts = llvm::map_to_vector(dimsOf(cast<TileType>(prefetch.getTile())), startOf);
      bindStart(prefetch, [&](OperandBinder &binder) { return binder.bind(starts); }, "starts");
    }
    StringRef dim = isa<SelfIndexOp>(op) ? cast<SelfIndexOp>(op).getDim()
                    : isa<ReduceOp>(op)  ? cast<ReduceOp>(op).getDim()
                    : isa<ScanOp>(op)    ? cast<ScanOp>(op).getDim()
                                         : StringRef();
    if (!dim.empty())
      bindStart(
          cast<IndexedOpInterface>(op), [&](OperandBinder &binder) { return binder.bind(startOf(Dim(dim.str()))); },
          "start");
  });
}

struct AssignLayoutsPass final : impl::AssignLayoutsPassBase<AssignLayoutsPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<Geometry> geometry = Geometry::of(getOperation());
    if (failed(geometry) || failed(requireForm(getOperation(), Form::Traced)) ||
        failed(LayoutAssignment(getOperation(), *geometry).run(explain)))
      return signalPassFailure();
    setForm(getOperation(), Form::Indexed);
  }
};
} // namespace
} // namespace soliton
