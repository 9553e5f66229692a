//===- WaitForLaunches.cpp - What needs no earlier launch comes before the wait for it ---------===//
//
// A launch that is `dependent` begins while those ahead of it still run, and its wait ends when they have. All that
// does not touch what they may write or read comes first: barriers in memory, arithmetic, and boxes of memory that is
// `stable`. Weights on their way into a ring, b being stable:
//
//   machine.grid_wait                         scf.if %first { copy_tile b 0 }
//   scf.if %first {                           scf.if %first { copy_tile b 1 }
//     copy_tile a 0, copy_tile b 0            machine.grid_wait
//     mbarrier_arrive 0 }            becomes  scf.if %first { copy_tile a 0, mbarrier_arrive 0 }
//   scf.if %first {                           scf.if %first { copy_tile a 1, mbarrier_arrive 1 }
//     copy_tile a 1, copy_tile b 1            loop
//     mbarrier_arrive 1 }
//   loop
//
// An mbarrier's phase lacks its one arrival until all bytes of it were asked for, so that boxes may arrive before it
// hears how many they are.
//
// Every lane waits once, on every path, whatever it touches: a launch behind this one waits for this one only, and may
// rely on all that are ahead because this one has waited for them.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Uniform.h"

#include "llvm/ADT/TypeSwitch.h"

namespace soliton {
#define GEN_PASS_DEF_WAITFORLAUNCHESPASS
#include "soliton/transforms/Passes.h.inc"
using namespace machine;
using mlir::Block;
using mlir::Operation;
using mlir::Value;
namespace scf = mlir::scf;

/// The parameter that is the global memory an op touches; null where it touches none.
static Value globalMemory(Operation *op, KernelOp kernel) {
  auto ofMap = [&](Value map) -> Value {
    return kernel.block().getArgument(static_cast<unsigned>(kernel.mapOf(map).getArgument()));
  };
  auto ofBuffer = [](Value buffer) { return buffer ? buffer.getDefiningOp<BufferOp>().getBase() : Value(); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<LoadOp, StoreOp, AtomicOp, CopyAsyncOp, PrefetchOp>(
          [&](auto access) { return ofBuffer(access.getBuffer()); })
      .Case<CopyTileOp, StoreTileOp>([&](auto access) { return ofMap(access.getMap()); })
      .Default([](Operation *) { return Value(); });
}

/// Whether the op touches what an earlier launch may write or still read, or one inside of it does.
static bool needsWait(Operation *around, KernelOp kernel) {
  return around
      ->walk([&](Operation *op) {
        Value memory = globalMemory(op, kernel);
        return memory && !kernel.isStable(memory) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isArithmetic(Operation *op) {
  return op->getNumRegions() == 0 && mlir::isMemoryEffectFree(op);
}

/// Whether the op does nothing but ask for boxes, or arithmetic for that: it can change places with a wait.
static bool fillsRing(Operation *op) {
  if (auto branch = llvm::dyn_cast<scf::IfOp>(op))
    return branch.getNumResults() == 0 && llvm::all_of(branch->getRegions(), [](mlir::Region &region) {
             return region.empty() || llvm::all_of(region.front(), [](Operation &inner) { return fillsRing(&inner); });
           });
  return llvm::isa<CopyTileOp, MbarrierArriveOp, scf::YieldOp>(op) || isArithmetic(op);
}

/// The branch once more, in front of it, with the boxes of stable memory that it asks for; it keeps the others.
static void takeStable(scf::IfOp branch, KernelOp kernel) {
  auto isStable = [&](CopyTileOp copy) { return kernel.isStable(globalMemory(copy, kernel)); };
  auto stable = llvm::cast<scf::IfOp>(mlir::OpBuilder(branch).clone(*branch));
  int taken = 0;
  branch->walk([&](CopyTileOp copy) {
    if (!isStable(copy))
      return;
    copy.erase();
    ++taken;
  });
  if (taken == 0)
    return stable.erase();
  stable->walk([&](Operation *op) {
    auto copy = llvm::dyn_cast<CopyTileOp>(op);
    if (llvm::isa<MbarrierArriveOp>(op) || (copy && !isStable(copy)))
      op->erase();
  });
}

namespace {
struct WaitForLaunchesPass final : impl::WaitForLaunchesPassBase<WaitForLaunchesPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto waits = kernel.block().getOps<GridWaitOp>();
    if (!kernel.getDependent() || waits.empty())
      return;
    GridWaitOp wait = *waits.begin();
    sink(wait, std::next(wait->getIterator()), kernel.block());
    wait.erase();
  }

  /// Puts waits like this one behind what needs none, from that op of the block on.
  void sink(GridWaitOp wait, Block::iterator from, Block &block) {
    KernelOp kernel = getOperation();
    Block::iterator end = block.mightHaveTerminator() ? std::prev(block.end()) : block.end();
    Block::iterator first = std::find_if(from, end, [&](Operation &op) { return needsWait(&op, kernel); });
    auto branch = first == end ? scf::IfOp() : llvm::dyn_cast<scf::IfOp>(&*first);
    if (branch && branch.elseBlock() && UniformValues().isUniform(branch.getCondition())) {
      for (Block *taken : {branch.thenBlock(), branch.elseBlock()})
        sink(wait, taken->begin(), *taken);
      return;
    }
    Block::iterator last = std::find_if_not(first, end, [](Operation &op) { return fillsRing(&op); });
    llvm::SmallVector<Operation *> fills;
    for (Operation &op : llvm::make_range(first, last))
      if (needsWait(&op, kernel))
        fills.push_back(&op);
    mlir::OpBuilder(&block, last).clone(*wait);
    for (Operation *op : fills) {
      if (auto fill = llvm::dyn_cast<scf::IfOp>(op))
        takeStable(fill, kernel);
      op->moveBefore(&block, last);
    }
  }
};
} // namespace
} // namespace soliton
