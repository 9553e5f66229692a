//===- InsertBarriers.cpp - Order the accesses of different waves ------------------===//
//
// Two accesses of one shared tile by different waves, one of them a write, need a barrier between them. Walking the program
// in order, a barrier goes before the first access that conflicts with one since the last barrier: no placement has fewer.
// A loop body is walked twice, so that what one iteration leaves behind meets the next:
//
//   wave.iterate {                              wave.iterate {
//     wave.write %a, %s                           wave.wait shared, 0   wave.barrier      (reads of the iteration before)
//     %0 = wave.read %s              becomes      wave.write %a, %s
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

namespace soliton {
#define GEN_PASS_DEF_INSERTBARRIERSPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

namespace {
/// What was accessed since the last barrier.
struct Pending {
  llvm::SmallPtrSet<void *, 4> read, written;

  bool conflicts(Value memory, bool writes) const {
    void *tile = memory.getAsOpaquePointer();
    return written.contains(tile) || (writes && read.contains(tile));
  }
  void add(Value memory, bool writes) { (writes ? written : read).insert(memory.getAsOpaquePointer()); }
  void clear() {
    read.clear();
    written.clear();
  }
  bool empty() const { return read.empty() && written.empty(); }
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
        for (void *tile : before.read)
          pending.read.insert(tile);
        for (void *tile : before.written)
          pending.written.insert(tile);
        continue;
      }
      if (!isa<ReadOp, WriteOp>(op))
        continue;
      Value memory = memoryOf(&op);
      if (!cast<MemoryType>(memory.getType()).isShared())
        continue;
      bool writes = isa<WriteOp>(op);
      if (pending.conflicts(memory, writes)) {
        needed.insert(&op);
        pending.clear();
      }
      pending.add(memory, writes);
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
