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
// The wait before it makes the wave's own accesses visible; a barrier alone only stops execution. Of a conditional both
// blocks are walked, and what either leaves behind is pending after it. A barrier for some waves only orders nothing
// here: which accesses it separates is known to the schedule that wrote it. A copy past the registers is a write that
// the wait for its own counter completes.
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
  /// Copies past the registers are under way: a barrier that protects them comes after a wait for their counter.
  bool copies = false;

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
    copies |= other.copies;
  }
  void clear() {
    read.clear();
    written.clear();
    copies = false;
  }
};

class BarrierPlacement {
public:
  explicit BarrierPlacement(const Target &target) : target(target) {}

  /// Walks a block with what is pending before it; leaves what is pending after it.
  void walk(Block &block, Pending &pending) {
    for (Operation &op : block) {
      auto barrier = dyn_cast<BarrierOp>(op);
      if ((barrier && barrier.isForAllWaves()) || needed.contains(&op))
        passBarrier(&op, pending);
      if (auto conditional = dyn_cast<ConditionalOp>(op)) {
        Pending other = pending;
        walk(conditional.thenBlock(), pending);
        walk(conditional.elseBlock(), other);
        pending.add(other);
        continue;
      }
      if (auto loop = dyn_cast<IterateOp>(op)) {
        // The loop may run no times, so what is pending before it still is after it.
        Pending before = pending;
        walk(loop.block(), pending);
        walk(loop.block(), pending);
        pending.add(before);
        continue;
      }
      if (!isa<ReadOp, WriteOp, CopyOp>(op))
        continue;
      auto copy = dyn_cast<CopyOp>(op);
      Value memory = copy ? copy.getDestination() : memoryOf(&op);
      if (!cast<MemoryType>(memory.getType()).isShared() || memory.getDefiningOp<AllocateOp>().getSynchronized())
        continue;
      std::optional<int64_t> writer;
      if (!isa<ReadOp>(op)) {
        auto origin = op.getAttrOfType<OriginAttr>("origin");
        writer = origin ? origin.getOp() : reinterpret_cast<intptr_t>(&op);
      }
      void *tile = memory.getAsOpaquePointer();
      if (pending.conflicts(tile, writer)) {
        needed.insert(&op);
        passBarrier(&op, pending);
      }
      pending.add(tile, writer);
      pending.copies |= copy != nullptr;
    }
  }

  void insert() {
    for (Operation *op : completed)
      completeCopies(op);
    for (Operation *op : needed) {
      OpBuilder builder(op);
      WaitOp::create(builder, op->getLoc(), wave::Counter::Shared, 0, ArrayAttr());
      BarrierOp::create(builder, op->getLoc(), ArrayAttr());
    }
  }

private:
  /// There is a barrier at `op`, or right before it.
  void passBarrier(Operation *op, Pending &pending) {
    if (pending.copies)
      completed.insert(op);
    pending.clear();
  }

  void completeCopies(Operation *op) {
    OpBuilder builder(op);
    auto counter = static_cast<wave::Counter>(target.asyncCopyCounter);
    if (target.counter(target.asyncCopyCounter)->grouped)
      CommitOp::create(builder, op->getLoc(), counter, ArrayAttr());
    WaitOp::create(builder, op->getLoc(), counter, 0, ArrayAttr());
  }

  const Target &target;
  llvm::SetVector<Operation *> needed;
  /// Where copies under way must be complete.
  llvm::SetVector<Operation *> completed;
};

struct InsertBarriersPass final : impl::InsertBarriersPassBase<InsertBarriersPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<Geometry> geometry = Geometry::of(getOperation());
    bool isScheduled = getForm(getOperation()) == Form::Scheduled; // a schedule is optional
    if (failed(geometry) || (!isScheduled && failed(requireForm(getOperation(), Form::Expanded))))
      return signalPassFailure();
    Pending pending;
    BarrierPlacement placement(geometry->target());
    placement.walk(getOperation().block(), pending);
    placement.insert();
    setForm(getOperation(), Form::Synchronized);
  }
};
} // namespace
} // namespace soliton
