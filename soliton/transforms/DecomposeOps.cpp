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
// Both reductions then go the ways of all reductions: registers, lanes, waves, bounds.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/ir/Forms.h"
#include "soliton/ir/Names.h"

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

struct DecomposeOpsPass final : impl::DecomposeOpsPassBase<DecomposeOpsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(requireForm(getOperation(), Form::Traced)))
      return signalPassFailure();
    SmallVector<ArgReduceOp> ops;
    getOperation().walk([&](ArgReduceOp op) { ops.push_back(op); });
    for (ArgReduceOp op : ops)
      ArgReduceDecomposition(op).run();
  }
};
} // namespace
} // namespace soliton
