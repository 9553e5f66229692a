//===- DecomposeOps.cpp - Ops that others say become those ----------------------------===//
//
// Where an extreme first occurs is the least place of an element that equals it. Of numbers that are not, the extreme
// is none either, and each of them counts as equal to it:
//
//   %v, %i = wave.arg_reduce max %0 along "N"     becomes     %v = wave.reduce max %0 along "N"
//                                                             %e = (%0 == %v) | (%0 != %0)
//                                                             %p = wave.select %e, self_index "N", the largest place
//                                                             %i = wave.reduce min %p along "N"
//
// Both reductions then go the ways of all reductions: registers, lanes, waves, bounds. What moves elements is said by
// tiles in shared memory (Decompose.cpp), what orders them by counting (DecomposeSort.cpp). A hint (prefetch) is left
// out: no back end makes an instruction of it yet.
//
// A scaled product on a target whose instructions do not scale is one of elements in bf16, in which they are exact; the
// expansion scales the sums over blocks (ExpandScaled.cpp):
//
//   %d = wave.mma %a, %b, %c scaled %s, %t        becomes     %d = wave.mma cast(%a, bf16), cast(%b, bf16), %c scaled
//   %s, %t
//
// One whose accumulator is short begins anew with every tile (DecomposeSums.cpp).
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Decompose.h"
#include "soliton/transforms/Passes.h"

#include "soliton/ir/Counters.h"
#include "soliton/ir/Forms.h"
#include "soliton/ir/Names.h"
#include "soliton/target/Target.h"

namespace soliton {
#define GEN_PASS_DEF_DECOMPOSEOPSPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

namespace {
class ArgReduceDecomposition {
public:
  explicit ArgReduceDecomposition(ArgReduceOp op) : op(op), builder(op), loc(op.getLoc()), tags(op.getTagsAttr()) {}

  void run() {
    ReduceKind kind = op.getKind() == ExtremeKind::max ? ReduceKind::max : ReduceKind::min;
    bool hasInit = !op.getInits().empty();
    Value extreme = reduce(kind, op.getSource(), hasInit ? op.getInits()[0] : Value());
    Value places = placesOf(op.getSource(), extreme, selfIndex());
    Value before = hasInit ? placesOf(op.getInits()[0], extreme, op.getInits()[1]) : Value();
    Value first = reduce(ReduceKind::min, places, before);
    op.getValue().replaceAllUsesWith(extreme);
    op.getIndex().replaceAllUsesWith(first);
    op.erase();
  }

private:
  Value reduce(ReduceKind kind, Value source, Value init) {
    auto from = cast<TileType>(source.getType());
    TileType to = op.getValue().getType().withElementType(from.getElementType());
    return ReduceOp::create(builder, loc, to, kind, source, init, ValueRange(), op.getDim(), ExprAttr(), tags,
                            OriginAttr());
  }
  Value selfIndex() {
    auto type = TileType::get(op.getContext(), {builder.getStringAttr(op.getDim())}, indexType(), LayoutAttr());
    return SelfIndexOp::create(builder, loc, type, op.getDim(), ValueRange(), ExprAttr(), tags, OriginAttr());
  }
  Type indexType() { return op.getIndex().getType().getElementType(); }

  /// The places of the elements that equal the extreme; elsewhere the largest there is.
  Value placesOf(Value elements, Value extreme, Value places) {
    TileType type = cast<TileType>(elements.getType()), truths = type.withElementType(builder.getI1Type());
    Value equal = CompareOp::create(builder, loc, truths, ComparePredicate::eq, elements, extreme, tags, OriginAttr());
    if (isa<mlir::FloatType>(type.getElementType())) {
      Value none =
          CompareOp::create(builder, loc, truths, ComparePredicate::ne, elements, elements, tags, OriginAttr());
      equal = BinaryOp::create(builder, loc, truths, BinaryKind::bit_or, equal, none, tags, OriginAttr());
    }
    TileType found = type.withElementType(indexType());
    Value nowhere = FillOp::create(builder, loc, found, identity(ReduceKind::min, indexType()), tags, OriginAttr());
    return SelectOp::create(builder, loc, found, equal, places, nowhere, tags, OriginAttr());
  }

  ArgReduceOp op;
  OpBuilder builder;
  Location loc;
  ArrayAttr tags;
};

/// Whether the target multiplies these elements in another type, without scaling them itself.
bool isConverted(MmaOp op, const Target &target) {
  auto element = [](Value value) { return *dtypeOf(llvm::cast<TileType>(value.getType()).getElementType()); };
  MmaTypes types{element(op.getLhs()), element(op.getRhs()), element(op.getAcc()), true};
  return op.isScaled() && !multipliedAs(target, types).scaled;
}

void convertFactors(MmaOp op) {
  OpBuilder builder(op);
  for (int which : {0, 1}) {
    Value factor = op->getOperand(which);
    auto type = llvm::cast<TileType>(factor.getType());
    if (!type.getElementType().isBF16())
      op->setOperand(which, CastOp::create(builder, op.getLoc(), type.withElementType(builder.getBF16Type()), factor,
                                           op.getTagsAttr(), OriginAttr()));
  }
}

/// Calls `decompose` for every op of that kind.
template <typename Op, typename Decompose>
LogicalResult forEach(KernelOp kernel, Decompose decompose) {
  SmallVector<Op> ops;
  kernel.walk([&](Op op) { ops.push_back(op); });
  return success(llvm::all_of(ops, [&](Op op) { return succeeded(decompose(op)); }));
}

/// Hints without an instruction, and waits of counters that do not exist: there, values are complete where they are
/// used and barriers complete shared accesses. What a counter cannot hold is never outstanding.
void dropWhatTheTargetLacks(KernelOp kernel, const Target *target) {
  if (!target)
    return;
  if (!target->hasPrefetch)
    (void)forEach<PrefetchOp>(kernel, [](PrefetchOp op) { return op.erase(), success(); });
  (void)forEach<WaitOp>(kernel, [&](WaitOp op) {
    const soliton::Counter *counter = target->counter(kindOf(op.getCounter()));
    if (!counter)
      op.erase();
    else
      op.setCount(std::min<uint64_t>(op.getCount(), static_cast<uint64_t>(counter->maxPending)));
    return success();
  });
}

struct DecomposeOpsPass final : impl::DecomposeOpsPassBase<DecomposeOpsPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Traced)) ||
        failed(forEach<RearrangeOp>(kernel, [&](RearrangeOp op) { return decomposeRearrange(op, *geometry); })) ||
        failed(forEach<ConcatenateOp>(kernel, [&](ConcatenateOp op) { return decomposeConcatenate(op, *geometry); })) ||
        failed(forEach<SortOp>(kernel, [&](SortOp op) { return decomposeSort(op, *geometry); })) ||
        failed(
            forEach<ArgReduceOp>(kernel, [](ArgReduceOp op) { return ArgReduceDecomposition(op).run(), success(); })))
      return signalPassFailure();
    const Target *target = kernel.getTarget() ? findTarget(kernel.getTarget()->str()) : nullptr;
    dropWhatTheTargetLacks(kernel, target);
    (void)forEach<MmaOp>(kernel, [&](MmaOp op) {
      if (target && isConverted(op, *target))
        convertFactors(op);
      if (target && !kernel.getShortSums())
        decomposeShortSum(op, *geometry);
      return success();
    });
  }
};
} // namespace
} // namespace soliton
