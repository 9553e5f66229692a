#include "soliton/transforms/PublishWrites.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Counters.h"

namespace soliton {
using namespace wave;

namespace {
class Publisher {
public:
  Publisher(KernelOp kernel, const Target &target) : copyCounter(target.asyncCopyCounter) {
    kernel.walk([&](ReadOp read) {
      if (read.getInPlace())
        tiles.insert(read.getMemory());
    });
    kernel.walk([&](CopyOutOp copy) { tiles.insert(copy.getSource()); });
    kernel.walk([&](AccessOpInterface access) { copies |= access.isAsync() && writesTile(access); });
  }

  /// Barriers that have to publish and did not.
  const SmallVector<BarrierOp> &missing() const { return found; }

  /// Goes through the block with or without writes that are not published yet; says whether there are some at its end.
  bool run(Block &block, bool written) {
    for (Operation &op : block)
      written = step(&op, written);
    return written;
  }

  bool isNeeded() const { return !tiles.empty(); }

private:
  bool writesTile(AccessOpInterface access) const {
    return llvm::any_of(access.getMemoryUses(),
                        [&](const MemoryUse &use) { return use.isWrite && tiles.contains(use.memory); });
  }

  bool step(Operation *op, bool written) {
    if (auto access = dyn_cast<AccessOpInterface>(op))
      return written || (!access.isAsync() && writesTile(access));
    if (auto wait = dyn_cast<WaitOp>(op)) // a copy has written when it is waited for
      return written || (copies && kindOf(wait.getCounter()) == copyCounter);
    if (auto barrier = dyn_cast<BarrierOp>(op)) {
      if (written && !barrier.getPublishes() && !llvm::is_contained(found, barrier))
        found.push_back(barrier);
      return written && !barrier.isForAllWaves();
    }
    if (auto loop = dyn_cast<IterateOp>(op)) {
      bool after = run(loop.block(), written);
      // What an iteration leaves is there when the next one begins.
      if (after && !written)
        after = run(loop.block(), true);
      return written || after;
    }
    if (auto conditional = dyn_cast<ConditionalOp>(op)) {
      bool then = run(conditional.thenBlock(), written);
      return run(conditional.elseBlock(), written) || then;
    }
    return written;
  }

  CounterKind copyCounter;
  llvm::DenseSet<Value> tiles;
  bool copies = false;
  SmallVector<BarrierOp> found;
};
} // namespace

static SmallVector<BarrierOp> unpublished(KernelOp kernel, const Target &target) {
  Publisher publisher(kernel, target);
  if (publisher.isNeeded())
    publisher.run(kernel.block(), false);
  return publisher.missing();
}

void publishWrites(KernelOp kernel, const Target &target) {
  for (BarrierOp barrier : unpublished(kernel, target))
    barrier.setPublishes(true);
}

BarrierOp findUnpublished(KernelOp kernel, const Target &target) {
  SmallVector<BarrierOp> missing = unpublished(kernel, target);
  return missing.empty() ? BarrierOp() : missing.front();
}

} // namespace soliton
