#include "soliton/transforms/PublishWrites.h"

#include "soliton/analysis/Access.h"
#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Counters.h"
#include "soliton/transforms/Touches.h"

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
    findRefilled(kernel);
    kernel.walk([&](AccessOpInterface access) { copies |= access.isAsync() && writesTile(access); });
  }

  /// Barriers and releases that have to publish and did not.
  const SmallVector<Operation *> &missing() const { return found; }

  /// Goes through the block with or without writes that are not published yet; says whether there are some at its end.
  bool run(Block &block, bool written) {
    for (Operation &op : block)
      written = step(&op, written);
    return written;
  }

  bool isNeeded() const { return !tiles.empty() || !refilled.empty(); }

private:
  /// Tiles in whose place boxes are copied: their own, or that of another tile which lies there too.
  void findRefilled(KernelOp kernel) {
    SmallVector<AllocateOp> boxed;
    kernel.walk([&](CopyOp copy) {
      if (copy.getBoxed())
        boxed.push_back(sharedTileOf(copy));
    });
    auto begin = [](AllocateOp tile) { return static_cast<int64_t>(tile.getOffset().value_or(0)); };
    auto end = [&](AllocateOp tile) {
      return begin(tile) + bytesPerBuffer(tile) * static_cast<int64_t>(tile.getBuffers());
    };
    kernel.walk([&](AllocateOp tile) {
      bool isRefilled =
          llvm::any_of(boxed, [&](AllocateOp other) { return begin(tile) < end(other) && begin(other) < end(tile); });
      if (isRefilled)
        refilled.insert(tile.getResult());
    });
  }

  bool writesTile(AccessOpInterface access) const {
    return llvm::any_of(access.getMemoryUses(),
                        [&](const MemoryUse &use) { return use.isWrite && tiles.contains(use.memory); });
  }

  /// Whether lanes read a tile of which boxes take the place.
  bool readsRefilled(AccessOpInterface access) const {
    return !isInPlace(access) && llvm::any_of(access.getMemoryUses(), [&](const MemoryUse &use) {
      return !use.isWrite && refilled.contains(use.memory);
    });
  }

  void note(Operation *op) {
    if (!op->hasAttr(kPublishes) && !llvm::is_contained(found, op))
      found.push_back(op);
  }

  bool step(Operation *op, bool written) {
    if (auto access = dyn_cast<AccessOpInterface>(op))
      return written || (!access.isAsync() && (writesTile(access) || readsRefilled(access)));
    if (auto wait = dyn_cast<WaitOp>(op)) // a copy has written when it is waited for
      return written || (copies && kindOf(wait.getCounter()) == copyCounter);
    if (auto barrier = dyn_cast<BarrierOp>(op)) {
      if (written)
        note(barrier);
      return written && !barrier.isForAllWaves();
    }
    // Those that hear of it are not all: what was written is published once more where all meet.
    if (isa<ReleaseOp>(op) && written)
      note(op);
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
  llvm::DenseSet<Value> tiles, refilled;
  bool copies = false;
  SmallVector<Operation *> found;
};
} // namespace

static SmallVector<Operation *> unpublished(KernelOp kernel, const Target &target) {
  Publisher publisher(kernel, target);
  if (publisher.isNeeded())
    publisher.run(kernel.block(), false);
  return publisher.missing();
}

void publishWrites(KernelOp kernel, const Target &target) {
  for (Operation *op : unpublished(kernel, target))
    op->setAttr(kPublishes, mlir::UnitAttr::get(kernel.getContext()));
}

Operation *findUnpublished(KernelOp kernel, const Target &target) {
  SmallVector<Operation *> missing = unpublished(kernel, target);
  return missing.empty() ? nullptr : missing.front();
}

} // namespace soliton
