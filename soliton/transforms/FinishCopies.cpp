#include "soliton/transforms/FinishCopies.h"

namespace soliton {
using namespace wave;

namespace {
/// The last copy of which a group is not closed, and the last one that was not waited for.
struct UnderWay {
  CopyOutOp open, committed;

  CopyOutOp any() const { return open ? open : committed; }
};
} // namespace

static UnderWay after(Block &block, UnderWay state) {
  for (Operation &op : block) {
    if (auto copy = dyn_cast<CopyOutOp>(op))
      state.open = copy;
    auto commit = dyn_cast<CommitOp>(op);
    if (commit && commit.getCounter() == wave::Counter::Bulk && state.open)
      state.committed = std::exchange(state.open, CopyOutOp());
    auto wait = dyn_cast<WaitOp>(op);
    if (wait && wait.getCounter() == wave::Counter::Bulk && wait.getCount() == 0)
      state.committed = {};
    // No copy is in a loop; a branch may or may not be taken.
    for (mlir::Region &region : op.getRegions())
      for (Block &inner : region) {
        UnderWay then = after(inner, state);
        if (then.any())
          state = then;
      }
  }
  return state;
}

CopyOutOp findUnfinished(KernelOp kernel) {
  UnderWay state = after(kernel.block(), {});
  // Behind the last tile that a workgroup walks it waits for all of them.
  return kernel.getOverlapTiles() ? state.open : state.any();
}

void finishCopies(KernelOp kernel) {
  CopyOutOp last = findUnfinished(kernel);
  if (!last)
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(&kernel.block());
  CommitOp::create(builder, last.getLoc(), wave::Counter::Bulk, ArrayAttr());
  if (!kernel.getOverlapTiles())
    WaitOp::create(builder, last.getLoc(), wave::Counter::Bulk, 0, ArrayAttr());
}

} // namespace soliton
