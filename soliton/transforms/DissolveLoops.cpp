//===- DissolveLoops.cpp - Rows that are read again stay in registers ------------------===//
//
// A kernel walks its rows once for each statistic and once to write. Where a tile has the whole row, each of these
// loops runs once, and what one reads and computes the next reads and computes again:
//
//   %1 = iterate "N" (%0) {                      %r = read %a
//     %r = read %a                               %1 = reduce max %r init %0 along "N"
//     yield (reduce max %r init %acc)  becomes   %s = read %a                            common subexpressions: %s is
//     %r
//   }                                            …
//   iterate "N" () { %s = read %a … }
//
// Done where a tensor is read by several such loops, and what a lane would keep of it is a quarter of its registers at
// most: half for the row and what is computed from it, the rest for everybody else. A loop with products or shared
// tiles stays: its schedule is worth more.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Geometry.h"
#include "soliton/ir/Forms.h"

#include "llvm/ADT/MapVector.h"

namespace soliton {
#define GEN_PASS_DEF_DISSOLVELOOPSPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

/// Whether places stay where they are without the loop around them: `Geometry::start` counts its axis from the loop's.
static bool placesStay(IterateOp loop, const Geometry &geometry) {
  for (auto outer = loop->getParentOfType<IterateOp>(); outer; outer = outer->getParentOfType<IterateOp>())
    if (outer.getAxis() == loop.getAxis())
      return false;
  return llvm::all_of(geometry.distributions(), [&](const Distribution &each) {
    return !each.loopTile || each.axis != loop.getAxis() || each.loopStart.isConstant(0);
  });
}

static bool touchesSharedMemory(Operation *op) {
  auto access = dyn_cast<AccessOpInterface>(op);
  return access && cast<MemoryType>(access.getIndexedMemory().getType()).isShared();
}

/// Whether the loop runs once, and neither a schedule nor a place needs it.
static bool mayDissolve(IterateOp loop, const Geometry &geometry) {
  bool runsOnce = loop.getCount() && loop.getCount()->getValue().isConstant(1) && !loop.exit();
  if (!runsOnce || !loop.iteration().use_empty() || loop.getTags() || !placesStay(loop, geometry))
    return false;
  return llvm::none_of(loop.block(), [](Operation &op) {
    return isa<MmaOp>(op) || op.getNumRegions() > 0 || op.hasTrait<OrdersOthers>() || touchesSharedMemory(&op);
  });
}

static void dissolve(IterateOp loop) {
  Operation *yield = loop.block().getTerminator();
  for (auto [argument, init] : llvm::zip(loop.carried(), loop.getInits()))
    argument.replaceAllUsesWith(init);
  for (Operation &op : llvm::make_early_inc_range(loop.block().without_terminator()))
    op.moveBefore(loop);
  loop.replaceAllUsesWith(yield->getOperands());
  loop.erase();
}

namespace {
/// What loops of one block read: of each tensor how many loops do, and what a lane holds of its largest tile.
class Reads {
public:
  void add(IterateOp loop) {
    llvm::SmallDenseSet<Value> seen;
    for (auto read : loop.block().getOps<ReadOp>()) {
      Row &row = rows[read.getMemory()];
      row.loops += seen.insert(read.getMemory()).second;
      row.elements = std::max(row.elements, read.getResult().getType().layout().regs());
    }
  }

  /// Elements a lane of the tensors that are read again.
  int64_t kept() const {
    int64_t sum = 0;
    for (const auto &[memory, row] : rows)
      sum += row.loops > 1 ? row.elements : 0;
    return sum;
  }

private:
  struct Row {
    int loops = 0;
    int64_t elements = 0;
  };
  llvm::MapVector<Value, Row> rows;
};

struct DissolveLoopsPass final : impl::DissolveLoopsPassBase<DissolveLoopsPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<Geometry> geometry = Geometry::of(getOperation());
    if (failed(geometry) || failed(requireForm(getOperation(), Form::Indexed)))
      return signalPassFailure();
    llvm::MapVector<Block *, SmallVector<IterateOp>> blocks;
    getOperation().walk([&](IterateOp loop) {
      if (mayDissolve(loop, *geometry))
        blocks[loop->getBlock()].push_back(loop);
    });
    for (auto &[block, loops] : blocks) {
      Reads reads;
      for (IterateOp loop : loops)
        reads.add(loop);
      if (reads.kept() > 0 && 4 * reads.kept() <= geometry->target().registersPerLane + 1)
        llvm::for_each(loops, dissolve);
    }
  }
};
} // namespace
} // namespace soliton
