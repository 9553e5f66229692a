//===- CombineLate.cpp - Lanes and waves meet after the loop ---------------------------===//
//
// A loop that sums rows needs no sum before its end. Each lane of each wave carries what it has summed itself, and they
// are combined once, behind the loop:
//
//   %1 = iterate (%0) {                         %1 = iterate (0) {                     one N for each lane and wave
//     %2 = reduce sum %x init %acc along "N"      %2 = reduce sum %x along "N"         a lane's registers
//     yield %2                        becomes     yield %acc + %2
//   }                                           }
//                                               %3 = reduce sum %1 init %0 along "N"
//
// That is right where nobody looks at what is carried but to add to it, or, if it begins with 0, to scale all of it by
// the same factor: an online softmax does. Otherwise lanes and waves meet in every iteration.
//
// The product of a K that waves share is such a sum: each wave has an accumulator of its own, the *partial* mma, whose
// first dimension is K with one place for each wave.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Geometry.h"
#include "soliton/ir/Forms.h"

namespace soliton {
#define GEN_PASS_DEF_COMBINELATEPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

static bool has(const Digits &digits, Dim dim) {
  return llvm::any_of(digits, [&](const Digit &digit) { return digit.dim == dim && digit.extent > 1; });
}

//===-- Products ------------------------------------------------------------------------------------------===//

/// The accumulators of all waves that share the contracted dimension.
static TileType accumulatorsOfWaves(MmaOp mma, const Geometry &geometry) {
  TileType acc = mma.getAcc().getType();
  SmallVector<StringAttr> names = {mma.getContractedDim()};
  llvm::append_range(names, acc.getDims());
  SmallVector<Dim> dims = llvm::map_to_vector(names, [](StringAttr name) { return Dim(name.getValue().str()); });
  Layout layout = acc.layout();
  layout.wave = geometry.waveDigits(dims);
  return TileType::get(acc.getContext(), names, acc.getElementType(), LayoutAttr::get(acc.getContext(), layout));
}

static Value fill(OpBuilder &builder, Location loc, TileType type, ReduceKind kind) {
  return FillOp::create(builder, loc, type, identity(kind, type.getElementType()), ArrayAttr(), OriginAttr());
}

/// Each wave multiplies its part of the contracted dimension; the products are summed behind it.
static void splitProduct(MmaOp mma, const Geometry &geometry) {
  OpBuilder builder(mma);
  TileType partial = accumulatorsOfWaves(mma, geometry);
  Value none = fill(builder, mma.getLoc(), partial, ReduceKind::sum);
  auto product = MmaOp::create(builder, mma.getLoc(), partial, mma.getLhs(), mma.getRhs(), none, mma.getScales(),
                               mma.getKindAttr(), mma.getTagsAttr(), OriginAttr());
  auto sum =
      ReduceOp::create(builder, mma.getLoc(), mma.getResult().getType(), ReduceKind::sum, product.getResult(),
                       mma.getAcc(), ValueRange(), mma.getContractedDim(), ExprAttr(), mma.getTagsAttr(), OriginAttr());
  mma.getResult().replaceAllUsesWith(sum.getResult());
  mma.erase();
}

//===-- Loops -----------------------------------------------------------------------------------------------===//

/// What a lane holds of the reduction's source after it has combined its own registers.
static TileType partialOf(ReduceOp reduce) {
  TileType source = reduce.getSource().getType();
  Layout layout = source.layout();
  Dim dim(reduce.getDim().str());
  std::erase_if(layout.reg, [&](const Digit &digit) { return digit.dim == dim; });
  return source.withLayout(layout);
}

namespace {
/// What happens to a carried value from the beginning of an iteration to its end.
struct Carried {
  IterateOp loop;
  unsigned index = 0;
  /// Reductions that go on from it, and products with what all lanes and waves have alike.
  SmallVector<Operation *> steps = {};
  ReduceOp first = {};

  BlockArgument argument() { return loop.carried()[index]; }
  TileType partial() { return partialOf(first); }
  bool add(mlir::OpOperand &use);
};
} // namespace

/// Whether scaling the parts scales their sum.
static bool scales(BinaryOp op, mlir::OpOperand &use) {
  bool isFloat = isa<mlir::FloatType>(op.getResult().getType().getElementType());
  return op.getLhs() != op.getRhs() && (op.getKind() == BinaryKind::mul ||
                                        (op.getKind() == BinaryKind::div && isFloat && use.getOperandNumber() == 0));
}

bool Carried::add(mlir::OpOperand &use) {
  Operation *op = use.getOwner();
  if (op->getBlock() != &loop.block())
    return false;
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (reduce.getInit() != use.get() || reduce.getSource() == use.get())
      return false;
    if (first &&
        (first.getKind() != reduce.getKind() || first.getDim() != reduce.getDim() || partialOf(reduce) != partial()))
      return false;
    first = first ? first : reduce;
  } else if (auto scale = dyn_cast<BinaryOp>(op); !scale || !scales(scale, use)) {
    return false;
  }
  steps.push_back(op);
  return true;
}

/// Whether nothing is carried into the loop; only then is what joins behind it not to be scaled too.
static bool beginsWithZero(IterateOp loop, unsigned index) {
  auto fill = loop.getInits()[index].getDefiningOp<FillOp>();
  return fill && (mlir::matchPattern(fill.getValue(), mlir::m_Zero()) ||
                  mlir::matchPattern(fill.getValue(), mlir::m_AnyZeroFloat()));
}

/// The way of the carried value, if lanes or waves need not meet on it.
static std::optional<Carried> followCarried(IterateOp loop, unsigned index) {
  Carried carried{loop, index};
  Value value = carried.argument();
  while (value.hasOneUse()) {
    mlir::OpOperand &use = *value.getUses().begin();
    if (isa<YieldOp>(use.getOwner()) && use.getOwner()->getBlock() == &loop.block()) {
      bool scaled = carried.first && llvm::any_of(carried.steps, llvm::IsaPred<BinaryOp>);
      if (use.getOperandNumber() != index || !carried.first)
        return std::nullopt;
      if (scaled && (carried.first.getKind() != ReduceKind::sum || !beginsWithZero(loop, index)))
        return std::nullopt;
      Dim dim(carried.first.getDim().str());
      const Layout layout = carried.partial().layout();
      return has(layout.lane, dim) || has(layout.wave, dim) ? std::optional(carried) : std::nullopt;
    }
    if (!carried.add(use))
      return std::nullopt;
    value = use.getOwner()->getResult(0);
  }
  return std::nullopt;
}

/// `value` goes on from `before`: the op's parts are added, none of which lanes or waves have combined.
static Value accumulate(ReduceOp reduce, Value before) {
  OpBuilder builder(reduce);
  auto type = cast<TileType>(before.getType());
  auto product = reduce.getSource().getDefiningOp<MmaOp>();
  if (product && product.getAcc().getDefiningOp<FillOp>() && product.getResult().hasOneUse() &&
      product->getBlock() == reduce->getBlock()) {
    product->moveBefore(reduce); // what is carried may be made behind it
    product.getAccMutable().assign(before);
    return product.getResult();
  }
  Value part = reduce.getSource();
  if (part.getType() != type)
    part = ReduceOp::create(builder, reduce.getLoc(), type, reduce.getKind(), part, Value(), reduce.getSymbols(),
                            reduce.getDim(), reduce.getStartAttr(), reduce.getTagsAttr(), OriginAttr());
  return BinaryOp::create(builder, reduce.getLoc(), type, combination(reduce.getKind()), before, part,
                          reduce.getTagsAttr(), OriginAttr());
}

static Value scale(BinaryOp op, Value old, Value before) {
  OpBuilder builder(op);
  bool isFirst = op.getLhs() == old;
  Value factor = BroadcastOp::create(builder, op.getLoc(), before.getType(), isFirst ? op.getRhs() : op.getLhs(),
                                     ArrayAttr(), OriginAttr());
  return BinaryOp::create(builder, op.getLoc(), before.getType(), op.getKind(), isFirst ? before : factor,
                          isFirst ? factor : before, op.getTagsAttr(), OriginAttr());
}

static void combineBehind(Carried &carried) {
  IterateOp loop = carried.loop;
  TileType partial = carried.partial();
  OpBuilder builder(loop);
  Value init = loop.getInits()[carried.index], old = carried.argument();
  loop.getInitsMutable()[carried.index].assign(fill(builder, loop.getLoc(), partial, carried.first.getKind()));
  Value result = loop.getResults()[carried.index];
  Type whole = result.getType();
  result.setType(partial);
  builder.setInsertionPointAfter(loop);
  auto sum = ReduceOp::create(builder, loop.getLoc(), whole, carried.first.getKind(), result, init, ValueRange(),
                              carried.first.getDim(), ExprAttr(), carried.first.getTagsAttr(), OriginAttr());
  result.replaceAllUsesExcept(sum.getResult(), sum);

  Value value = carried.argument();
  value.setType(partial);
  for (Operation *step : carried.steps) {
    auto reduce = dyn_cast<ReduceOp>(step);
    value = reduce ? accumulate(reduce, value) : scale(cast<BinaryOp>(step), old, value);
    old = step->getResult(0);
  }
  old.replaceAllUsesWith(value);
  for (Operation *step : llvm::reverse(carried.steps))
    step->erase();
}

namespace {
struct CombineLatePass final : impl::CombineLatePassBase<CombineLatePass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Indexed)))
      return signalPassFailure();
    SmallVector<MmaOp> products;
    kernel.walk([&](MmaOp mma) {
      if (has(mma.getLhs().getType().layout().wave, Dim(mma.getContractedDim().getValue().str())))
        products.push_back(mma);
    });
    for (MmaOp mma : products)
      splitProduct(mma, *geometry);

    // Inner loops first: what they leave behind is a step of the loop around them.
    SmallVector<IterateOp> loops;
    kernel.walk([&](IterateOp loop) { loops.push_back(loop); });
    for (IterateOp loop : loops)
      for (unsigned index = 0; index < loop.getInits().size(); ++index)
        if (std::optional<Carried> carried = followCarried(loop, index))
          combineBehind(*carried);
  }
};
} // namespace
} // namespace soliton
