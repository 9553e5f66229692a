#include "soliton/transforms/CopyRing.h"

#include "soliton/analysis/Boxes.h"
#include "soliton/ir/Diagnose.h"

#include "llvm/Support/MathExtras.h"

namespace soliton {
using namespace wave;

static constexpr int64_t kBarrierBytes = 8;

/// Closes groups that control flow would leave open: how many bytes a group has must not depend on the way to its
/// commit, since that is where the barrier hears of them. One more group, older than those that waits count, is no
/// harm.
static void closeGroups(Block &block) {
  bool open = false;
  for (Operation &op : block) {
    auto copy = dyn_cast<CopyOp>(op);
    auto commit = dyn_cast<CommitOp>(op);
    if (copy && copy.getBoxed())
      open = true;
    if (commit && commit.getCounter() == wave::Counter::Boxes)
      open = false;
    if (open && (op.getNumRegions() > 0 || isa<YieldOp>(op))) {
      OpBuilder builder(&op);
      CommitOp::create(builder, op.getLoc(), wave::Counter::Boxes, ArrayAttr());
      open = false;
    }
    for (mlir::Region &region : op.getRegions())
      for (Block &inner : region)
        closeGroups(inner);
  }
}

void CopyRing::wait(WaitOp op, State &state) {
  auto left = std::min<int64_t>(state.outstanding, static_cast<int64_t>(op.getCount()));
  outstanding[op] = state.outstanding;
  completed[op] = state.outstanding - left;
  state.sinceBarrier += state.outstanding - left;
  state.outstanding = left;
}

/// A wait that leaves `count` groups in front of the op. True: what was found before is no longer so.
bool CopyRing::level(Operation *before, int64_t count) {
  OpBuilder builder(before);
  WaitOp::create(builder, before->getLoc(), wave::Counter::Boxes, count, ArrayAttr());
  return true;
}

/// True if a wait was put in.
bool CopyRing::runLoop(IterateOp loop, State &state) {
  for (;;) {
    State after = state;
    if (run(loop.block(), after))
      return true;
    if (after.outstanding < state.outstanding)
      return level(loop, after.outstanding);
    if (after.outstanding > state.outstanding)
      return level(loop.block().getTerminator(), state.outstanding);
    if (after.sinceBarrier <= state.sinceBarrier)
      return false;
    state.sinceBarrier = after.sinceBarrier;
    if (state.sinceBarrier * kBarrierBytes > kRingBytes) {
      isBounded = false;
      return false;
    }
  }
}

/// A workgroup must not end while something is on its way to its memory.
bool CopyRing::endWithNone(KernelOp kernel, const State &end) {
  if (end.outstanding == 0)
    return false;
  OpBuilder builder = OpBuilder::atBlockEnd(&kernel.block());
  WaitOp::create(builder, kernel.getLoc(), wave::Counter::Boxes, 0, ArrayAttr());
  return true;
}

bool CopyRing::runBranch(ConditionalOp branch, State &state) {
  State then = state, otherwise = state;
  if (run(branch.thenBlock(), then) || run(branch.elseBlock(), otherwise))
    return true;
  if (then.outstanding > otherwise.outstanding)
    return level(branch.thenBlock().getTerminator(), otherwise.outstanding);
  if (then.outstanding < otherwise.outstanding)
    return level(branch.elseBlock().getTerminator(), then.outstanding);
  state = {then.outstanding, std::max(then.sinceBarrier, otherwise.sinceBarrier)};
  return false;
}

bool CopyRing::run(Block &block, State &state) {
  for (Operation &op : block) {
    if (auto commit = dyn_cast<CommitOp>(op); commit && commit.getCounter() == wave::Counter::Boxes) {
      most = std::max(most, ++state.outstanding + state.sinceBarrier);
    } else if (auto waiting = dyn_cast<WaitOp>(op); waiting && waiting.getCounter() == wave::Counter::Boxes) {
      wait(waiting, state);
    } else if (auto barrier = dyn_cast<BarrierOp>(op); barrier && barrier.isForAllWaves()) {
      state.sinceBarrier = 0;
    } else if (auto loop = dyn_cast<IterateOp>(op)) {
      if (runLoop(loop, state))
        return true;
    } else if (auto branch = dyn_cast<ConditionalOp>(op)) {
      if (runBranch(branch, state))
        return true;
    }
  }
  return false;
}

mlir::FailureOr<CopyRing> CopyRing::of(KernelOp kernel) {
  CopyRing ring;
  if (!copiesBoxes(kernel))
    return ring;
  closeGroups(kernel.block());
  State begin;
  while (ring.run(kernel.block(), begin) || ring.endWithNone(kernel, begin)) {
    ring = CopyRing();
    begin = State();
  }
  ring.slots = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(ring.most, 1))));
  if (ring.isBounded && ring.slots * kBarrierBytes <= kRingBytes)
    return ring;
  return report(kernel.getLoc(), DiagId::NotSupportedHere)
             .hint("copy fewer iterations ahead, or turn direct copies off")
         << "groups of copied boxes are under way that " << kRingBytes / kBarrierBytes
         << " barriers in memory cannot tell apart";
}

} // namespace soliton
