#include "soliton/transforms/CopyRing.h"

#include "soliton/analysis/Boxes.h"
#include "soliton/ir/Diagnose.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

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

int64_t CopyRing::State::unseen() const {
  return std::accumulate(sinceBarrier.begin(), sinceBarrier.end(), int64_t{0});
}

bool CopyRing::State::join(const State &other) {
  bool grows = other.outstanding > outstanding;
  outstanding = std::max(outstanding, other.outstanding);
  for (auto [mine, others] : llvm::zip_equal(sinceBarrier, other.sinceBarrier)) {
    grows |= others > mine;
    mine = std::max(mine, others);
  }
  return grows;
}

void CopyRing::wait(WaitOp op, State &state) {
  auto left = std::min<int64_t>(state.outstanding, static_cast<int64_t>(op.getCount()));
  outstanding[op] = state.outstanding;
  completed[op] = state.outstanding - left;
  state.sinceBarrier.front() += state.outstanding - left;
  state.outstanding = left;
}

/// True if a wait was put in: what was found before is no longer so.
bool CopyRing::runLoop(IterateOp loop, State &state) {
  const int64_t before = state.outstanding;
  for (;;) {
    State after = state;
    if (run(loop.block(), after))
      return true;
    if (!state.join(after))
      return false;
    if (state.outstanding * kBarrierBytes > kRingBytes) {
      Operation *end = loop.block().getTerminator();
      OpBuilder builder(end);
      WaitOp::create(builder, end->getLoc(), wave::Counter::Boxes, before, ArrayAttr());
      return true;
    }
    if (state.unseen() * kBarrierBytes > kRingBytes) {
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
  State then = state;
  if (run(branch.thenBlock(), then) || run(branch.elseBlock(), state))
    return true;
  state.join(then);
  return false;
}

/// By how many barriers some wave runs behind the first one, which commits: groups of waves that it is not in have
/// executed one more.
static size_t mostBarriersBehind(KernelOp kernel) {
  llvm::DenseMap<Block *, size_t> extra;
  size_t most = 0;
  kernel.walk([&](BarrierOp barrier) {
    if (!barrier.isForAllWaves() && *barrier.getFirstWave() > 0)
      most = std::max(most, ++extra[barrier->getBlock()]);
  });
  return most;
}

bool CopyRing::run(Block &block, State &state) {
  for (Operation &op : block) {
    if (auto commit = dyn_cast<CommitOp>(op); commit && commit.getCounter() == wave::Counter::Boxes) {
      most = std::max(most, ++state.outstanding + state.unseen());
    } else if (auto waiting = dyn_cast<WaitOp>(op); waiting && waiting.getCounter() == wave::Counter::Boxes) {
      wait(waiting, state);
    } else if (auto barrier = dyn_cast<BarrierOp>(op); barrier && barrier.isForAllWaves()) {
      state.sinceBarrier.pop_back();
      state.sinceBarrier.insert(state.sinceBarrier.begin(), 0);
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
  const State nothing{0, SmallVector<int64_t>(mostBarriersBehind(kernel) + 1, 0)};
  for (State state = nothing; ring.run(kernel.block(), state) || ring.endWithNone(kernel, state); state = nothing)
    ring = CopyRing();
  ring.slots = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(ring.most, 1))));
  if (ring.isBounded && ring.slots * kBarrierBytes <= kRingBytes)
    return ring;
  return report(kernel.getLoc(), DiagId::NotSupportedHere)
             .hint("copy fewer iterations ahead, or turn direct copies off")
         << "groups of copied boxes are under way that " << kRingBytes / kBarrierBytes
         << " barriers in memory cannot tell apart";
}

} // namespace soliton
