//===- DropUnused.cpp - What no effect depends on is not computed -------------------===//
//
//   %5, %6 = wave.iterate "K" (%0, %1) {           %6 = wave.iterate "K" (%1) {
//   ^bb0(%k, %acc, %sum):                          ^bb0(%k, %sum):
//     %2 = wave.mma %a, %b, %acc         becomes     %3 = wave.binary add %sum, %c
//     %3 = wave.binary add %sum, %c                  wave.yield %3
//     wave.yield %2, %3                            }
//   }                                              wave.write %6, %m
//   wave.write %6, %m
//
// A value is used if an effect depends on it, through loops and branches; a product that only the next iteration's
// product uses is not. A value that a loop hands on unchanged is the one that it began with, and a loop that is known
// to make no iteration hands on nothing else. Schedules and waits count what is left, so nothing behind the compiler
// has a reason to drop an access of theirs.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace soliton {
#define GEN_PASS_DEF_DROPUNUSEDPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

/// Loops without iterations; outer ones first, since inner ones go with them.
static void dropEmptyLoops(KernelOp kernel) {
  kernel.walk<mlir::WalkOrder::PreOrder>([](IterateOp loop) {
    std::optional<ExprAttr> count = loop.getCount();
    if (!count || count->getValue().constantValue() != 0)
      return mlir::WalkResult::advance();
    loop.replaceAllUsesWith(loop.getInits());
    loop.erase();
    return mlir::WalkResult::skip();
  });
}

/// What a loop hands on as it was given; inner loops first, since an outer one may only pass theirs through.
static void forwardUnchanged(KernelOp kernel) {
  kernel.walk([](IterateOp loop) {
    Operation *yield = loop.block().getTerminator();
    for (auto [init, argument, next, result] :
         llvm::zip(loop.getInits(), loop.carried(), yield->getOperands(), loop.getResults())) {
      if (next != argument && next != init)
        continue;
      argument.replaceAllUsesWith(init);
      result.replaceAllUsesWith(init);
    }
  });
}

namespace {
/// The ops and values that some effect depends on.
class Uses {
public:
  explicit Uses(KernelOp kernel) {
    kernel.walk([&](Operation *op) {
      if (op != kernel && op->getNumRegions() == 0 && !isa<YieldOp>(op) && !mlir::wouldOpBeTriviallyDead(op))
        use(op);
    });
    while (!work.empty())
      follow(work.pop_back_val());
  }

  bool contains(Operation *op) const { return ops.contains(op); }
  bool contains(Value value) const { return values.contains(value); }

private:
  void use(Value value) {
    if (values.insert(value).second)
      work.push_back(value);
  }
  void use(Operation *op);
  void follow(Value value);

  llvm::DenseSet<Operation *> ops;
  llvm::DenseSet<Value> values;
  SmallVector<Value> work;
};
} // namespace

/// With the loops and branches around it. What those take and hand on is used value by value.
void Uses::use(Operation *op) {
  for (; !isa<KernelOp>(op) && ops.insert(op).second; op = op->getParentOp())
    for (Value operand : op->getOperands())
      if (op->getNumRegions() == 0 || !isa<TileType>(operand.getType()))
        use(operand);
}

void Uses::follow(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<IterateOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.iteration())
      return;
    unsigned number = argument.getArgNumber() - 1;
    use(loop.getInits()[number]);
    return use(loop.block().getTerminator()->getOperand(number));
  }
  Operation *op = value.getDefiningOp();
  use(op);
  unsigned number = cast<mlir::OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<IterateOp>(op))
    use(loop.getInits()[number]);
  for (mlir::Region &region : op->getRegions())
    use(region.front().getTerminator()->getOperand(number));
}

/// The op without the results that are not in `kept`; its blocks move to the new one.
static Operation *withResults(Operation *op, const llvm::BitVector &kept) {
  OpBuilder builder(op);
  SmallVector<Type> types;
  for (unsigned i : kept.set_bits())
    types.push_back(op->getResult(i).getType());
  Operation *made;
  if (auto loop = dyn_cast<IterateOp>(op)) {
    SmallVector<Value> inits;
    for (unsigned i : kept.set_bits())
      inits.push_back(loop.getInits()[i]);
    made = IterateOp::create(builder, loop.getLoc(), types, loop.getAxis(), inits, loop.getSymbols(),
                             loop.getCountAttr(), loop.getTagsAttr());
  } else {
    auto branch = cast<ConditionalOp>(op);
    auto copy = ConditionalOp::create(builder, op->getLoc(), types, branch.getConditionAttr(), branch.getSymbols());
    copy.setTagsAttr(branch.getTagsAttr());
    made = copy;
  }
  for (auto [from, to] : llvm::zip(op->getRegions(), made->getRegions()))
    to.takeBody(from);
  for (auto [from, i] : llvm::zip(made->getResults(), kept.set_bits()))
    op->getResult(i).replaceAllUsesWith(from);
  return made;
}

/// Hands on only what somebody uses.
static void narrow(Operation *op, const Uses &uses) {
  auto loop = dyn_cast<IterateOp>(op);
  llvm::BitVector kept(op->getNumResults());
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    kept[i] = uses.contains(op->getResult(i)) || (loop && uses.contains(loop.carried()[i]));
  if (kept.all())
    return;
  Operation *made = withResults(op, kept);
  for (mlir::Region &region : made->getRegions()) {
    kept.flip();
    region.front().getTerminator()->eraseOperands(kept);
    if (loop) {
      llvm::BitVector arguments(1);
      for (unsigned i = 0; i < kept.size(); ++i)
        arguments.push_back(kept[i]);
      for (unsigned i : arguments.set_bits())
        region.front().getArgument(i).dropAllUses();
      region.front().eraseArguments(arguments);
    }
    kept.flip();
  }
  // What nobody needs of it may still be handed to a loop that has not been narrowed yet.
  op->dropAllUses();
  op->erase();
}

namespace {
struct DropUnusedPass final : impl::DropUnusedPassBase<DropUnusedPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    dropEmptyLoops(kernel);
    forwardUnchanged(kernel);
    Uses uses(kernel);
    SmallVector<Operation *> unused, handing;
    kernel.walk<mlir::WalkOrder::PreOrder>([&](Operation *op) {
      if (op == kernel || isa<YieldOp>(op))
        return mlir::WalkResult::advance();
      if (!uses.contains(op)) {
        unused.push_back(op);
        return mlir::WalkResult::skip();
      }
      if (op->getNumRegions() > 0)
        handing.push_back(op);
      return mlir::WalkResult::advance();
    });
    for (Operation *op : unused)
      op->dropAllUses();
    for (Operation *op : unused)
      op->erase();
    for (Operation *op : handing)
      narrow(op, uses);
  }
};
} // namespace
} // namespace soliton
