//===- Synchronize.cpp - Barriers and waits of the whole kernel --------------------===//
//
// The kernel becomes a tree of plain values (WholeKernel.h), what is missing is derived (WholeSync.h), everything is
// proven (WholeVerify.h, WholePlaces.h) and put in. Loops that were scheduled are part of the tree as they were
// rebuilt, so their barriers count for what lies around them, and are proven once more together with it.
//
//   wave.write %a, %s                           wave.write %a, %s
//   wave.iterate {                              wave.wait shared, 0   wave.barrier
//     %0 = wave.read %s             becomes     wave.iterate {
//   }                                             %0 = wave.read %s
//                                               }
//
// A kernel that cannot be proven is not compiled: what the author wrote stands in the way, and the error says what.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/ir/Counters.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/schedule/WholePlaces.h"
#include "soliton/transforms/FinishCopies.h"
#include "soliton/transforms/OverlapTiles.h"
#include "soliton/transforms/PublishWrites.h"
#include "soliton/transforms/WholeKernel.h"

namespace soliton {
#define GEN_PASS_DEF_SYNCHRONIZEPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;
namespace whole = sched::whole;

/// The block in which an insertion `atEnd` stands.
static Block &blockOf(KernelOp kernel, const WholeKernel &whole, const whole::Insertion &insertion) {
  if (insertion.before < 0)
    return kernel.block();
  return whole.ops[insertion.before]->getRegion(insertion.body).front();
}

static void insert(KernelOp kernel, const WholeKernel &whole, const whole::Insertion &insertion) {
  OpBuilder builder(kernel.getContext());
  Location loc = kernel.getLoc();
  if (insertion.atEnd) {
    Block &block = blockOf(kernel, whole, insertion);
    bool terminated = !block.empty() && block.back().hasTrait<mlir::OpTrait::IsTerminator>();
    terminated ? builder.setInsertionPoint(&block.back()) : builder.setInsertionPointToEnd(&block);
  } else {
    builder.setInsertionPoint(whole.ops[insertion.before]);
    loc = whole.ops[insertion.before]->getLoc();
  }
  auto counter = [&] { return toWave(*parseCounterKind(whole.kernel.counters[insertion.counter].name)); };
  if (insertion.kind == whole::NodeKind::Barrier) {
    auto barrier = BarrierOp::create(builder, loc, ArrayAttr());
    if (insertion.team)
      barrier.setTeam(whole.teamWaves);
  }
  if (insertion.kind == whole::NodeKind::Wait)
    WaitOp::create(builder, loc, counter(), insertion.value, ArrayAttr());
  if (insertion.kind == whole::NodeKind::Commit)
    CommitOp::create(builder, loc, counter(), ArrayAttr());
}

void insertDerived(KernelOp kernel, const WholeKernel &whole, const whole::Derived &derived) {
  for (const whole::Insertion &insertion : derived.insertions)
    insert(kernel, whole, insertion);
}

namespace {
struct SynchronizePass final : impl::SynchronizePassBase<SynchronizePass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    bool isScheduled = getForm(kernel) == Form::Scheduled; // a schedule is optional
    if (failed(geometry) || (!isScheduled && failed(requireForm(kernel, Form::Expanded))))
      return signalPassFailure();
    if (kernel.getOverlapTiles() && failed(overlapTiles(kernel, *geometry)))
      return signalPassFailure();
    WholeKernel whole = makeWholeKernel(kernel, *geometry);
    // Instructions keep their number and order only where the kernel says so.
    whole::Derived derived = whole::derive(whole.kernel, {.counted = kernel.getKeepOrder()});
    for (Diagnostic &remark : derived.remarks)
      remark.severity = strict ? Severity::error : Severity::remark;
    std::vector<Diagnostic> wrong;
    if (!whole.unproven)
      wrong = whole::prove(derived.kernel);
    // All that was found is said, whichever of the two fails.
    LogicalResult remarked = say(derived.remarks), judged = say(wrong);
    if (failed(remarked) || failed(judged))
      return signalPassFailure();
    insertDerived(kernel, whole, derived);
    publishWrites(kernel, geometry->target());
    finishCopies(kernel);
    setForm(kernel, Form::Synchronized);
  }

private:
  LogicalResult say(const std::vector<Diagnostic> &diagnostics) {
    bool wrong = false;
    for (const Diagnostic &diagnostic : diagnostics) {
      emit(&getContext(), diagnostic);
      wrong |= diagnostic.severity == Severity::error;
    }
    return failure(wrong);
  }
};
} // namespace
} // namespace soliton
