//===- SplitLoops.cpp - Trips without a mask, then the others -----------------------===//
//
// A select whose condition compares places of elements is a mask: of causal attention, or of a last tile that is not
// full. Where the condition holds for all elements up to some trip, the trips before need no mask. The loop is run as
// two, one behind the other, and what trips hand on goes from the first to the second: the pipeline does not drain.
//
//   wave.iterate {count = T} {                    wave.iterate {count = s} { … %scores … }
//     %m = wave.compare le %key, %query           wave.iterate {count = T - s} {
//     %1 = wave.select %m, %scores, %none  becomes  %m = wave.compare le %key', %query
//     … %1 …                                        %1 = wave.select %m, %scores, %none …
//   }                                             }
//
// For that, the largest key and the smallest query of the tile are compared: both are affine in the trip, so
// `key - query <= 0` holds up to a trip that is a floor division. Only loops with products that run by themselves are
// split: lanes compute beside those, and what they save is time (docs/decisions/0045-released-buffers.md).
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Geometry.h"
#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Forms.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace soliton {
#define GEN_PASS_DEF_SPLITLOOPSPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;
using sym::Expr;

namespace {
/// The least and the largest element of a tile of integers.
struct Range {
  Expr least, largest;
};

/// Finds up to which trip of a loop its masks hold.
class MaskFinder {
public:
  MaskFinder(IterateOp loop, const Geometry &geometry)
      : geometry(geometry), trip(geometry.symbols().symbol(loop.iteration())) {}

  /// Conditions that hold up to some trip, and that trip, if the loop has any.
  void look(SelectOp select) {
    SmallVector<Expr> found;
    if (!addExcess(select.getCondition(), found) || found.empty())
      return;
    SmallVector<Expr> ends;
    for (Expr excess : found) {
      std::optional<Expr> end = firstPositive(excess);
      if (!end)
        return;
      ends.push_back(*end);
    }
    for (Expr end : ends)
      addEnd(end);
    selects.push_back(select);
  }

  ArrayRef<SelectOp> masks() const { return selects; }

  /// The trips before this one need none of them.
  Expr end(Expr count, const sym::Facts &facts) const {
    Expr least = count;
    for (Expr each : ends)
      least = sym::min(least, each);
    return sym::simplify(sym::max(least, 0), facts);
  }

private:
  std::optional<Range> rangeOf(Value tile) const {
    Operation *def = tile.getDefiningOp();
    if (auto index = dyn_cast_or_null<SelfIndexOp>(def); index && index.getStart()) {
      const Layout &layout = index.getResult().getType().layout();
      Dim dim(index.getDim().str());
      auto offset = layout.offset.find(dim);
      Expr least =
          geometry.named(*index.getStart(), index.getSymbols()) + (offset == layout.offset.end() ? 0 : offset->second);
      return Range{least, least + (layout.extent(dim) - 1)};
    }
    if (isa_and_nonnull<BroadcastOp, SliceOp, ConvertOp, PermuteOp>(def))
      return rangeOf(def->getOperand(0));
    if (auto join = dyn_cast_or_null<JoinOp>(def))
      return rangeOfAll(join->getOperands());
    return std::nullopt;
  }

  /// From the least to the largest of all of them, where these differ by numbers.
  std::optional<Range> rangeOfAll(ValueRange tiles) const {
    std::optional<Range> all = rangeOf(tiles.front());
    for (Value tile : tiles.drop_front()) {
      std::optional<Range> next = all ? rangeOf(tile) : std::nullopt;
      std::optional<int64_t> below, above;
      if (next) {
        below = sym::simplify(next->least - all->least).constantValue();
        above = sym::simplify(next->largest - all->largest).constantValue();
      }
      if (!below || !above)
        return std::nullopt;
      all = Range{*below < 0 ? next->least : all->least, *above > 0 ? next->largest : all->largest};
    }
    return all;
  }

  /// Adds expressions that are at most 0 only where all elements of the condition are true; false if there are none.
  bool addExcess(Value condition, SmallVector<Expr> &found) const {
    Operation *def = condition.getDefiningOp();
    if (auto compare = dyn_cast_or_null<CompareOp>(def))
      return addCompared(compare, found);
    if (auto apply = dyn_cast_or_null<ApplyExprOp>(def))
      return addApplied(apply, found);
    auto binary = dyn_cast_or_null<BinaryOp>(def);
    bool isAnd = binary && binary.getKind() == BinaryKind::bit_and;
    if (isAnd || isa_and_nonnull<BroadcastOp, SliceOp, ConvertOp, PermuteOp, JoinOp>(def))
      return llvm::all_of(def->getOperands(), [&](Value operand) { return addExcess(operand, found); });
    return false;
  }

  bool addCompared(CompareOp compare, SmallVector<Expr> &found) const {
    std::optional<Range> left = rangeOf(compare.getLhs()), right = rangeOf(compare.getRhs());
    if (!left || !right)
      return false;
    switch (compare.getPredicate()) {
    case ComparePredicate::le:
      return found.push_back(left->largest - right->least), true;
    case ComparePredicate::lt:
      return found.push_back(left->largest - right->least + 1), true;
    case ComparePredicate::ge:
      return found.push_back(right->largest - left->least), true;
    case ComparePredicate::gt:
      return found.push_back(right->largest - left->least + 1), true;
    default:
      return false;
    }
  }

  /// `a < b` or `a <= b` of expressions that are affine in the one input.
  bool addApplied(ApplyExprOp apply, SmallVector<Expr> &found) const {
    std::optional<Range> range = apply.getInputs().size() == 1 ? rangeOf(apply.getInputs()[0]) : std::nullopt;
    Expr relation = geometry.named(apply.getExprAttr(), apply.getSymbols());
    bool isLess = relation.kind() == sym::Kind::lt;
    if (!range || !(isLess || relation.kind() == sym::Kind::le))
      return false;
    Expr excess = relation.operand(0) - relation.operand(1) + (isLess ? 1 : 0), input = applySymbol(0);
    for (const sym::AffineTerm &term : sym::affineTerms(excess).terms)
      if (term.atom != input && sym::contains(term.atom, input))
        return false;
      else if (term.atom == input)
        excess = sym::substitute(excess, {{input, term.coefficient > 0 ? range->largest : range->least}});
    found.push_back(excess);
    return true;
  }

  /// The first trip at which an expression that grows with the trip is positive.
  std::optional<Expr> firstPositive(Expr excess) const {
    sym::AffineTerms sum = sym::affineTerms(sym::simplify(excess, geometry.facts())), rest;
    rest.constant = sum.constant;
    int64_t step = 0;
    for (const sym::AffineTerm &term : sum.terms) {
      if (term.atom == trip)
        step = term.coefficient;
      else if (sym::contains(term.atom, trip))
        return std::nullopt;
      else
        rest.terms.push_back(term);
    }
    if (step <= 0)
      return std::nullopt;
    return sym::simplify(sym::floordiv(-sym::fromAffineTerms(rest), step) + 1, geometry.facts());
  }

  /// Of ends that differ by a number the first is kept.
  void addEnd(Expr end) {
    for (Expr &each : ends)
      if (std::optional<int64_t> apart = sym::simplify(each - end, geometry.facts()).constantValue()) {
        each = *apart > 0 ? end : each;
        return;
      }
    ends.push_back(end);
  }

  const Geometry &geometry;
  Expr trip;
  SmallVector<SelectOp> selects;
  SmallVector<Expr> ends;
};

/// What nobody uses any more of what the masks were made from.
void dropDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (mlir::isOpTriviallyDead(&op))
      op.erase();
}

/// A loop over trips [first, first + count) of `loop`, in front of it.
IterateOp cloneTrips(IterateOp loop, Expr first, Expr count, ValueRange inits, IndexSymbols &symbols,
                     mlir::IRMapping &mapping) {
  OpBuilder builder(loop);
  OperandBinder binder(symbols);
  ExprAttr trips = binder.bind(count);
  auto part = IterateOp::create(builder, loop.getLoc(), loop.getResultTypes(), loop.getAxis(), inits, binder.operands(),
                                trips, loop.getTagsAttr());
  if (Attribute advances = loop->getAttr("advances"))
    part->setAttr("advances", advances);
  Block &body = part.makeBody();
  mapping.map(loop.block().getArguments(), body.getArguments());
  builder.setInsertionPointToEnd(&body);
  Expr trip = symbols.symbol(part.iteration());
  for (Operation &op : loop.block())
    rewriteExpressions(builder.clone(op, mapping), symbols,
                       [&](Expr expr) { return sym::substitute(expr, {{trip, trip + first}}); });
  return part;
}

bool runsProducts(IterateOp loop) {
  return llvm::any_of(loop.block(), [](Operation &op) { return !inPlaceFactors(&op).empty(); });
}

void split(IterateOp loop, const Geometry &geometry) {
  MaskFinder masks(loop, geometry);
  loop.block().walk([&](SelectOp select) { masks.look(select); });
  if (masks.masks().empty())
    return;
  IndexSymbols &symbols = geometry.symbols();
  Expr count = geometry.named(*loop.getCount(), loop.getSymbols()), end = masks.end(count, geometry.facts());
  if (end.constantValue() == 0)
    return;
  mlir::IRMapping whole, masked;
  IterateOp first = cloneTrips(loop, 0, end, loop.getInits(), symbols, whole);
  for (SelectOp select : masks.masks())
    whole.lookup(select.getResult()).replaceAllUsesWith(whole.lookup(select.getIfTrue()));
  dropDead(first.block());
  IterateOp rest =
      cloneTrips(loop, end, sym::simplify(count - end, geometry.facts()), first.getResults(), symbols, masked);
  loop.replaceAllUsesWith(rest.getResults());
  symbols.forget(loop.iteration());
  loop.erase();
}

struct SplitLoopsPass final : impl::SplitLoopsPassBase<SplitLoopsPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry))
      return signalPassFailure();
    SmallVector<IterateOp> loops;
    kernel.walk([&](IterateOp loop) {
      if (!loop.exit() && runsProducts(loop))
        loops.push_back(loop);
    });
    for (IterateOp loop : loops)
      split(loop, *geometry);
  }
};
} // namespace
} // namespace soliton
