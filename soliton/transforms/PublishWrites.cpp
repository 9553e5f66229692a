#include "soliton/transforms/PublishWrites.h"

#include "soliton/analysis/Access.h"
#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Counters.h"
#include "soliton/transforms/Touches.h"

namespace soliton {
using namespace wave;

namespace {
/// What is not published yet: that which each team has copied out by itself, and the rest.
struct Written {
  bool ofTeams = false, others = false;

  bool any() const { return ofTeams || others; }
  Written operator|(const Written &other) const { return {ofTeams || other.ofTeams, others || other.others}; }
  bool operator==(const Written &) const = default;
};

class Publisher {
public:
  Publisher(KernelOp kernel, const Target &target) : copyCounter(target.asyncCopyCounter) {
    kernel.walk([&](ReadOp read) {
      if (read.getInPlace())
        tiles.insert(read.getMemory());
    });
    kernel.walk([&](CopyOutOp copy) { tiles.insert(copy.getSource()); });
    findRefilled(kernel);
    findTilesOfTeams(kernel);
    kernel.walk([&](AccessOpInterface access) { copies |= access.isAsync() && writesOf(access).any(); });
  }

  /// Barriers and releases that have to publish and did not.
  const SmallVector<Operation *> &missing() const { return found; }

  /// Goes through the block with writes that are not published yet, and says which there are at its end.
  Written run(Block &block, Written written) {
    for (Operation &op : block)
      written = step(&op, written);
    return written;
  }

  /// What an iteration leaves is there when the next one begins.
  Written repeat(Block &block, Written written) {
    Written after = run(block, written) | written;
    return after == written ? after : run(block, after) | after;
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

  /// Tiles of which each team has its own part leave, and in whose place nothing is copied.
  void findTilesOfTeams(KernelOp kernel) {
    kernel.walk([&](AllocateOp tile) {
      bool isOfTeams = llvm::all_of(tile.getResult().getUsers(), [](Operation *user) {
        auto copy = dyn_cast<CopyOutOp>(user);
        bool isPart = copy && llvm::any_of(cast<TileType>(copy.getTile()).layout().wave,
                                           [](const Digit &digit) { return digit.dim.has_value(); });
        return isPart || (!copy && !isInPlace(user));
      });
      if (isOfTeams && !refilled.contains(tile.getResult()))
        ofTeams.insert(tile.getResult());
    });
  }

  Written writesOf(AccessOpInterface access) const {
    Written written;
    for (const MemoryUse &use : access.getMemoryUses())
      if (use.isWrite && tiles.contains(use.memory))
        (ofTeams.contains(use.memory) ? written.ofTeams : written.others) = true;
    return written;
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

  Written step(Operation *op, Written written) {
    if (auto access = dyn_cast<AccessOpInterface>(op)) {
      if (access.isAsync())
        return written;
      return written | writesOf(access) | Written{false, readsRefilled(access)};
    }
    if (auto wait = dyn_cast<WaitOp>(op)) // a copy has written when it is waited for
      return written | Written{false, copies && kindOf(wait.getCounter()) == copyCounter};
    if (auto barrier = dyn_cast<BarrierOp>(op)) {
      if (written.any())
        note(barrier);
      if (barrier.getTeam())
        return {false, written.others};
      return barrier.isForAllWaves() ? Written() : written;
    }
    // Those that hear of it are not all: what was written is published once more where all meet.
    if (isa<ReleaseOp>(op) && written.others)
      note(op);
    if (auto loop = dyn_cast<IterateOp>(op))
      return repeat(loop.block(), written);
    if (auto conditional = dyn_cast<ConditionalOp>(op)) {
      Written then = run(conditional.thenBlock(), written);
      return run(conditional.elseBlock(), written) | then;
    }
    return written;
  }

  CounterKind copyCounter;
  llvm::DenseSet<Value> tiles, refilled, ofTeams;
  bool copies = false;
  SmallVector<Operation *> found;
};
} // namespace

static SmallVector<Operation *> unpublished(KernelOp kernel, const Target &target) {
  Publisher publisher(kernel, target);
  if (publisher.isNeeded())
    kernel.getOverlapTiles() ? publisher.repeat(kernel.block(), {}) : publisher.run(kernel.block(), {});
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
