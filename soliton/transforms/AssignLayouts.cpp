//===- AssignLayouts.cpp - Who holds which element -----------------------------===//
//
// Values that compute on each other element by element want one layout; they form a *class*. Anchors pull a class
// towards a layout, the strongest wins:
//
//   accumulator of an mma  >  operand of an mma  >  part of a wider class (broadcast, reduction)  >  read  >  write
//
// so in `c = mma(a, b, c); d = c + broadcast(bias)` everything takes the accumulator's layout and `bias` is read as
// that layout without its rows. Where a use needs another layout than its class has, a `wave.convert` is inserted:
//
//   %p = wave.unary exp2 %s            : the accumulator's layout
//   %q = wave.convert %p               : the operand's layout of the second mma (often only a new name, see
//   PlanMovement)
//
// The result does not depend on the order of ops: ties are broken by the text of the layouts.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Access.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/layout/Blocked.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <queue>

namespace soliton {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

namespace {
enum Strength { kNone, kDefault, kWrite, kReduce, kRead, kExplicitRead, kDerived, kOperand, kAccumulator };

struct Anchor {
  Strength strength = kNone;
  std::optional<Layout> layout;
};

TileType tileType(Value value) {
  return cast<TileType>(value.getType());
}

SmallVector<Dim> dimsOf(TileType type) {
  SmallVector<Dim> dims;
  for (StringAttr dim : type.getDims())
    dims.push_back(Dim(dim.getValue().str()));
  return dims;
}

/// The layout of `wide` without the dimensions that `narrow` lacks.
Layout restricted(Layout wide, TileType narrow) {
  for (Dim dim : wide.dims())
    if (!narrow.hasDim(dim.name()))
      wide = wide.withoutDim(dim);
  return wide;
}

/// How the contraction of an mma is dealt to lanes. The sum does not care which k is which, as long as both operands
/// agree, so a lane takes the elements of `steps` instructions side by side: they are then one wide access in memory.
struct Contraction {
  Dim dim;
  /// Elements of one lane in one instruction, and instructions whose elements lie side by side.
  int64_t perLane = 1, steps = 1;
  bool packed = false;
};

/// The strides of `dim`'s digits as packing deals them: registers of an instruction, then its steps, then lanes.
Layout packed(Layout fragment, const Contraction &contraction) {
  int64_t stride = 1;
  for (Digit &digit : fragment.reg)
    if (digit.dim == contraction.dim)
      digit.stride = std::exchange(stride, stride * digit.extent);
  stride *= contraction.steps;
  for (Digit &digit : fragment.lane)
    if (digit.dim == contraction.dim)
      digit.stride = std::exchange(stride, stride * digit.extent);
  return contraction.steps == 1 ? fragment
                                : fragment.tiled(Axis::reg, contraction.dim, contraction.steps, contraction.perLane);
}

/// A fragment table's layout for a whole workgroup tile: its dims renamed, repeated over the wave's part, split over
/// waves.
Layout tiledFragment(const Layout &fragment, ArrayRef<std::pair<StringRef, StringAttr>> names, TileType type,
                     const Contraction &contraction, const Geometry &geometry) {
  std::map<Dim, Dim> renames;
  for (auto [table, dim] : names)
    renames.emplace(Dim(table.str()), Dim(dim.getValue().str()));
  Layout layout = fragment.renamed(renames);
  if (contraction.packed && layout.hasDim(contraction.dim))
    layout = packed(layout, contraction);
  std::map<Dim, int64_t> sizes = layout.extents();
  for (Dim dim : dimsOf(type)) {
    const Distribution &distribution = geometry[dim];
    int64_t size = sizes.contains(dim) ? sizes[dim] : 1;
    int64_t part = distribution.waves > 1 ? distribution.waveTile : distribution.tile().value_or(1);
    if (part > size)
      layout = layout.tiled(Axis::reg, dim, part / size, size);
  }
  layout.wave = geometry.waveDigits(dimsOf(type));
  return layout;
}

/// The same holders with the registers in the order in which memory has their elements: the digits of `fastest` first.
Layout inMemoryOrder(Layout layout, Dim fastest) {
  std::stable_sort(layout.reg.begin(), layout.reg.end(), [&](const Digit &a, const Digit &b) {
    if ((a.dim == fastest) != (b.dim == fastest))
      return a.dim == fastest;
    return a.dim == fastest && a.stride < b.stride;
  });
  return layout;
}

class LayoutAssignment {
public:
  LayoutAssignment(KernelOp kernel, const Geometry &geometry) : kernel(kernel), geometry(geometry) {}

  LogicalResult run() {
    makeBroadcastsExplicit();
    joinClasses();
    if (failed(collectAnchors()) || failed(fixClasses()))
      return failure();
    setTypes();
    insertConverts();
    setStarts();
    return success();
  }

private:
  void makeBroadcastsExplicit();
  void joinClasses();
  LogicalResult collectAnchors();
  LogicalResult fixClasses();
  void setTypes();
  void insertConverts();
  void setStarts();

  void join(Value a, Value b) { classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer()); }
  void *leader(Value value) { return *classes.findLeader(classes.insert(value.getAsOpaquePointer())); }
  void pull(Value value, Strength strength, const Layout &layout);
  Layout mmaOperand(MmaOp mma, int which);
  Contraction contractionOf(MmaOp mma);
  void pullOperand(MmaOp mma, int which);
  FailureOr<Layout> defaultLayout(Value value);
  Value converted(OpBuilder &builder, Location loc, Value value, const Layout &layout);

  KernelOp kernel;
  const Geometry &geometry;
  llvm::EquivalenceClasses<void *> classes;
  llvm::MapVector<void *, Anchor> anchors;
  /// Narrow value, wide value: the narrow one's layout follows from the wide one's.
  SmallVector<std::pair<Value, Value>> parts;
  SmallVector<Value> values;
  /// Decided before operands are converted, when it is still seen which of them are read.
  llvm::DenseMap<Operation *, Contraction> contractions;
};

void LayoutAssignment::makeBroadcastsExplicit() {
  kernel.walk([&](Operation *op) {
    if (!isa<BinaryOp, CompareOp, SelectOp>(op))
      return;
    auto result = tileType(op->getResult(0));
    OpBuilder builder(op);
    for (mlir::OpOperand &operand : op->getOpOperands()) {
      TileType type = tileType(operand.get());
      if (type.getRank() == result.getRank())
        continue;
      auto wide = TileType::get(op->getContext(), result.getDims(), type.getElementType(), LayoutAttr());
      auto broadcast = BroadcastOp::create(builder, op->getLoc(), wide, operand.get(), ArrayAttr(), OriginAttr());
      operand.set(broadcast);
    }
  });
}

void LayoutAssignment::joinClasses() {
  kernel.walk<mlir::WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      if (isa<TileType>(result.getType()))
        values.push_back(result), classes.insert(result.getAsOpaquePointer());
    if (isa<UnaryOp, CastOp, PermuteOp, BinaryOp, CompareOp, SelectOp, ApplyExprOp>(op))
      for (Value operand : op->getOperands())
        if (isa<TileType>(operand.getType()))
          join(op->getResult(0), operand);
    if (auto mma = dyn_cast<MmaOp>(op))
      join(mma.getResult(), mma.getAcc());
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (reduce.getInit())
        join(reduce.getResult(), reduce.getInit());
      parts.emplace_back(reduce.getResult(), reduce.getSource());
    }
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      parts.emplace_back(broadcast.getOperand(), broadcast.getResult());
    if (auto loop = dyn_cast<IterateOp>(op)) {
      Operation *yield = loop.block().getTerminator();
      for (auto [init, argument, yielded, result] :
           llvm::zip(loop.getInits(), loop.carried(), yield->getOperands(), loop.getResults())) {
        values.push_back(argument);
        join(init, argument);
        join(argument, yielded);
        join(argument, result);
      }
    }
  });
}

void LayoutAssignment::pull(Value value, Strength strength, const Layout &layout) {
  Anchor &anchor = anchors[leader(value)];
  if (anchor.strength > strength ||
      (anchor.strength == strength && anchor.layout && anchor.layout->str() <= layout.str()))
    return;
  anchor = {strength, layout};
}

Contraction LayoutAssignment::contractionOf(MmaOp mma) {
  const MmaKind &kind = mmaKindOf(mma, geometry.target());
  Contraction contraction{Dim(mma.getContractedDim().getValue().str())};
  auto lhs = mma.getLhs().getDefiningOp<ReadOp>(), rhs = mma.getRhs().getDefiningOp<ReadOp>();
  int64_t bytes = elementBytes(tileType(mma.getLhs()).getElementType());
  if (!lhs || !rhs || elementBytes(tileType(mma.getRhs()).getElementType()) != bytes)
    return contraction;
  for (const Digit &digit : kind.lhs.layout.reg)
    if (digit.dim == Dim("K"))
      contraction.perLane *= digit.extent;
  int64_t steps = geometry[contraction.dim].tile().value_or(kind.k) / kind.k;
  while (steps % (contraction.steps * 2) == 0 &&
         contraction.steps * 2 * contraction.perLane * bytes <= geometry.maxBytesPerAccess())
    contraction.steps *= 2;
  contraction.packed = true;
  return contraction;
}

Layout LayoutAssignment::mmaOperand(MmaOp mma, int which) {
  const MmaKind &kind = mmaKindOf(mma, geometry.target());
  const MmaOperand &operand = which == 0 ? kind.lhs : which == 1 ? kind.rhs : kind.acc;
  return tiledFragment(operand.layout,
                       {{"M", mma.getRowDim()}, {"N", mma.getColumnDim()}, {"K", mma.getContractedDim()}},
                       tileType(mma->getOperand(which)), contractions.find(mma)->second, geometry);
}

void LayoutAssignment::pullOperand(MmaOp mma, int which) {
  Layout layout = mmaOperand(mma, which);
  if (auto read = mma->getOperand(which).getDefiningOp<ReadOp>()) {
    // A parameter in the shared space is stored in the order of the tile's dimensions.
    bool shared = cast<MemoryType>(read.getMemory().getType()).isShared();
    std::optional<std::vector<DimExtent>> order = shared ? geometry.extents(tileOf(read)) : memoryOrder(read, geometry);
    if (order)
      layout = inMemoryOrder(layout, order->back().dim);
  }
  pull(mma->getOperand(which), kOperand, layout);
}

LogicalResult LayoutAssignment::collectAnchors() {
  bool ok = true;
  kernel.walk([&](Operation *op) {
    if (auto mma = dyn_cast<MmaOp>(op)) {
      contractions.try_emplace(mma, contractionOf(mma));
      pullOperand(mma, 0);
      pullOperand(mma, 1);
      pull(mma.getAcc(), kAccumulator, mmaOperand(mma, 2));
    }
    if (isa<ReadOp, WriteOp>(op)) {
      auto elements = op->getAttrOfType<mlir::IntegerAttr>("elements_per_thread");
      FailureOr<Layout> layout = coalescedLayout(op, geometry, /*allWaves=*/false, elements ? elements.getInt() : 0);
      if (failed(layout)) {
        report(op->getLoc(), DiagId::TileExtentUnknown)
                .hint("give every dimension of the tile a workgroup or tiling constraint")
            << "the tile `" << tileOf(op) << "` has a dimension whose extent is not known";
        ok = false;
        return;
      }
      Strength strength = isa<WriteOp>(op) ? kWrite : elements ? kExplicitRead : kRead;
      pull(isa<ReadOp>(op) ? op->getResult(0) : op->getOperand(0), strength, *layout);
    }
  });
  return success(ok);
}

FailureOr<Layout> LayoutAssignment::defaultLayout(Value value) {
  TileType type = tileType(value);
  std::optional<std::vector<DimExtent>> tile = geometry.extents(type);
  if (!tile)
    return report(value.getLoc(), DiagId::TileExtentUnknown)
               .hint("give every dimension of the tile a workgroup or tiling constraint")
           << "the tile `" << type << "` has a dimension whose extent is not known";
  for (DimExtent &dim : *tile)
    dim.extent = geometry[dim.dim].waves > 1 ? geometry[dim.dim].waveTile : dim.extent;
  Layout layout = *coalesced(*tile, geometry.waveSize(), 1, 1).layout;
  layout.wave = geometry.waveDigits(dimsOf(type));
  return layout;
}

/// Fixes the classes one by one: always the strongest anchor next. A part of a class that has an anchor and is not
/// fixed yet waits for it, unless a matrix instruction anchors the part itself.
LogicalResult LayoutAssignment::fixClasses() {
  llvm::MapVector<void *, unsigned> waitsFor; // class to the number of wider ones that it waits for
  llvm::DenseMap<void *, SmallVector<Value>> partsOf;
  for (Value value : values)
    waitsFor.insert({leader(value), 0});
  for (auto [narrow, wide] : parts) {
    if (leader(narrow) == leader(wide))
      continue;
    partsOf[leader(wide)].push_back(narrow);
    if (anchors[leader(wide)].strength > kNone && anchors[leader(narrow)].strength < kOperand)
      ++waitsFor[leader(narrow)];
  }
  // Strongest first, then in the order of the program; entries of classes that were fixed meanwhile are passed over.
  using Entry = std::tuple<Strength, int64_t, void *>;
  std::priority_queue<Entry> ready;
  llvm::DenseMap<void *, int64_t> order;
  for (auto [index, entry] : llvm::enumerate(waitsFor))
    order[entry.first] = -static_cast<int64_t>(index);
  auto push = [&](void *top) { ready.emplace(anchors[top].strength, order[top], top); };
  for (auto [top, count] : waitsFor)
    if (count == 0)
      push(top);
  llvm::DenseSet<void *> fixed;
  auto next = waitsFor.begin();
  while (fixed.size() < waitsFor.size()) {
    if (ready.empty()) {
      // Classes that wait for each other: the first of them starts.
      while (fixed.contains(next->first))
        ++next;
      push(next->first);
    }
    void *top = std::get<void *>(ready.top());
    ready.pop();
    if (!fixed.insert(top).second)
      continue;
    if (!anchors[top].layout) {
      FailureOr<Layout> layout = defaultLayout(Value::getFromOpaquePointer(top));
      if (failed(layout))
        return failure();
      anchors[top] = {kDefault, *layout};
    }
    for (Value narrow : partsOf[top]) {
      if (fixed.contains(leader(narrow)))
        continue;
      pull(narrow, kDerived, restricted(*anchors[top].layout, tileType(narrow)));
      if (unsigned &count = waitsFor[leader(narrow)]; count > 0)
        --count;
      if (waitsFor[leader(narrow)] == 0)
        push(leader(narrow));
    }
  }
  return success();
}

void LayoutAssignment::setTypes() {
  for (Value value : values)
    value.setType(tileType(value).withLayout(*anchors[leader(value)].layout));
}

Value LayoutAssignment::converted(OpBuilder &builder, Location loc, Value value, const Layout &layout) {
  if (tileType(value).layout() == layout)
    return value;
  return ConvertOp::create(builder, loc, tileType(value).withLayout(layout), value, ConvertPlanKindAttr(), ArrayAttr(),
                           OriginAttr());
}

void LayoutAssignment::insertConverts() {
  kernel.walk([&](Operation *op) {
    OpBuilder builder(op);
    if (auto mma = dyn_cast<MmaOp>(op)) {
      for (int which = 0; which < 3; ++which)
        mma->setOperand(which, converted(builder, op->getLoc(), mma->getOperand(which), mmaOperand(mma, which)));
      Layout natural = tileType(mma.getAcc()).layout(), wanted = tileType(mma.getResult()).layout();
      if (!(natural == wanted)) {
        mma.getResult().setType(tileType(mma.getAcc()));
        builder.setInsertionPointAfter(op);
        Value result = converted(builder, op->getLoc(), mma.getResult(), wanted);
        mma.getResult().replaceAllUsesExcept(result, result.getDefiningOp());
      }
    }
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      Layout wanted = restricted(tileType(broadcast.getResult()).layout(), tileType(broadcast.getOperand()));
      broadcast.getOperandMutable().assign(converted(builder, op->getLoc(), broadcast.getOperand(), wanted));
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      Layout natural = restricted(tileType(reduce.getSource()).layout(), tileType(reduce.getResult()));
      Layout wanted = tileType(reduce.getResult()).layout();
      if (natural == wanted)
        return;
      if (reduce.getInit())
        reduce.getInitMutable().assign(converted(builder, op->getLoc(), reduce.getInit(), natural));
      reduce.getResult().setType(tileType(reduce.getResult()).withLayout(natural));
      builder.setInsertionPointAfter(op);
      Value result = converted(builder, op->getLoc(), reduce.getResult(), wanted);
      reduce.getResult().replaceAllUsesExcept(result, result.getDefiningOp());
    }
  });
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
    if (isa<ReadOp, WriteOp>(op)) {
      SmallVector<sym::Expr> starts =
          llvm::map_to_vector(dimsOf(tileOf(op)), [&](Dim dim) { return soliton::startOf(op, dim, geometry); });
      bindStart(cast<IndexedOpInterface>(op), [&](OperandBinder &binder) { return binder.bind(starts); }, "starts");
    }
    StringRef dim = isa<SelfIndexOp>(op) ? cast<SelfIndexOp>(op).getDim()
                    : isa<ReduceOp>(op)  ? cast<ReduceOp>(op).getDim()
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
        failed(LayoutAssignment(getOperation(), *geometry).run()))
      return signalPassFailure();
    setForm(getOperation(), Form::Indexed);
  }
};
} // namespace
} // namespace soliton
