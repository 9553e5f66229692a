//===- InsertBarriers.cpp - Order the accesses of different waves ------------------===//
//
// Two accesses of one shared tile by different waves, one of them a write, need a barrier between them. Walking the
// program in order, a barrier goes before the first access that conflicts with one since the last barrier: no placement
// has fewer. A loop body is walked twice, so that what one iteration leaves behind meets the next:
//
//   wave.iterate {                              wave.iterate {
//     wave.write %a, %s                           wave.wait shared, 0   wave.barrier      (reads of the iteration
//     before) %0 = wave.read %s              becomes      wave.write %a, %s
//   }                                             wave.wait shared, 0   wave.barrier
//                                                 %0 = wave.read %s
//                                               }
//
// The wait before it makes the wave's own accesses visible; a barrier alone only stops execution.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Access.h"
#include "soliton/ir/Forms.h"

#include "llvm/ADT/SmallSet.h"

namespace soliton {
#define GEN_PASS_DEF_INSERTBARRIERSPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

namespace {
/// What was accessed since the last barrier. A write is known by its tile and the author's op: pieces of one op, and
/// the same op in the next iteration, write the same bytes from the same wave and need no order.
struct Pending {
  llvm::SmallPtrSet<void *, 4> read;
  llvm::SmallSet<std::pair<void *, int64_t>, 4> written;

  bool conflicts(void *tile, std::optional<int64_t> writer) const {
    bool other = llvm::any_of(written, [&](auto entry) { return entry.first == tile && entry.second != writer; });
    return other || (writer && read.contains(tile));
  }
  void add(void *tile, std::optional<int64_t> writer) {
    if (writer)
      written.insert({tile, *writer});
    else
      read.insert(tile);
  }
  void add(const Pending &other) {
    read.insert(other.read.begin(), other.read.end());
    for (auto entry : other.written)
      written.insert(entry);
  }
  void clear() {
    read.clear();
    written.clear();
  }
};

class BarrierPlacement {
public:
  /// Walks a block with what is pending before it; leaves what is pending after it.
  void walk(Block &block, Pending &pending) {
    for (Operation &op : block) {
      if (isa<BarrierOp>(op) || needed.contains(&op))
        pending.clear();
      if (auto loop = dyn_cast<IterateOp>(op)) {
        // The loop may run no times, so what is pending before it still is after it.
        Pending before = pending;
        walk(loop.block(), pending);
        walk(loop.block(), pending);
        pending.add(before);
        continue;
      }
      if (!isa<ReadOp, WriteOp>(op))
        continue;
      Value memory = memoryOf(&op);
      if (!cast<MemoryType>(memory.getType()).isShared())
        continue;
      std::optional<int64_t> writer;
      if (auto write = dyn_cast<WriteOp>(op))
        writer = write.getOrigin() ? write.getOrigin()->getOp() : reinterpret_cast<intptr_t>(&op);
      void *tile = memory.getAsOpaquePointer();
      if (pending.conflicts(tile, writer)) {
        needed.insert(&op);
        pending.clear();
      }
      pending.add(tile, writer);
    }
  }

  void insert() {
    for (Operation *op : needed) {
      OpBuilder builder(op);
      WaitOp::create(builder, op->getLoc(), wave::Counter::Shared, 0, ArrayAttr());
      BarrierOp::create(builder, op->getLoc(), ArrayAttr());
    }
  }

private:
  llvm::SetVector<Operation *> needed;
};

struct InsertBarriersPass final : impl::InsertBarriersPassBase<InsertBarriersPass> {
  using Base::Base;

  void runOnOperation() override {
    Pending pending;
    BarrierPlacement placement;
    placement.walk(getOperation().block(), pending);
    placement.insert();
    setForm(getOperation(), Form::Synchronized);
  }
};
} // namespace
} // namespace soliton
