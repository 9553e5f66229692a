#include "soliton/transforms/CopyRing.h"

#include "soliton/analysis/Boxes.h"
#include "soliton/ir/Diagnose.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace soliton {
using namespace wave;

static constexpr int64_t kBarrierBytes = 8;
static constexpr int64_t kMostBarriers = kRingBytes / kBarrierBytes;

/// Closes groups that control flow would leave open: how many bytes a group has must not depend on the way to its
/// commit, since that is where the barrier hears of them. One more group, older than those that waits count, is no
/// harm.
void closeGroups(Block &block) {
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

/// All bounds hold: of what was waited for since the last barriers, and since the last release that was awaited.
int64_t CopyRing::State::unseen() const {
  int64_t ofBarriers = std::accumulate(sinceBarrier.begin(), sinceBarrier.end(), int64_t{0});
  // Waves that run behind have met the others one barrier later.
  if (sinceBarrier.size() == 1)
    ofBarriers = std::min(ofBarriers, heldSinceBarrier - outstanding);
  return std::min({ofBarriers, sinceRelease.back(), heldSinceRelease.back() - outstanding});
}

/// `tells`: who has waited for the group knows what the first wave has awaited before it.
void CopyRing::State::commit(bool tells) {
  ++outstanding;
  // More than there is room for, whatever is under way, is the same.
  auto add = [](int64_t &held) { held = std::min(held + 1, 2 * kMostBarriers + 2); };
  add(heldSinceBarrier);
  llvm::for_each(heldSinceRelease, add);
  unknownBy.push_back(tells ? unawaited : kMostBarriers + 1);
}

void CopyRing::State::release() {
  sinceRelease.insert(sinceRelease.begin(), 0);
  heldSinceRelease.insert(heldSinceRelease.begin(), outstanding);
  // Older ones count as if they had come later.
  if (static_cast<int64_t>(sinceRelease.size()) > kMostBarriers) {
    sinceRelease.erase(sinceRelease.end() - 2);
    heldSinceRelease.erase(heldSinceRelease.end() - 2);
  }
  ++unawaited;
  ++unknown;
  for (int64_t &each : unknownBy)
    ++each;
}

void CopyRing::State::await(int64_t count) {
  if (static_cast<size_t>(count) + 1 < sinceRelease.size()) {
    sinceRelease.resize(static_cast<size_t>(count) + 1);
    heldSinceRelease.resize(sinceRelease.size());
  }
  unawaited = std::min(unawaited, count);
}

/// All waves have come to all releases, and have seen what they have waited for, those aside that run behind.
void CopyRing::State::barrier() {
  if (sinceBarrier.size() == 1) {
    sinceRelease = {0};
    heldSinceRelease = {outstanding};
    heldSinceBarrier = outstanding;
  }
  sinceBarrier.pop_back();
  sinceBarrier.insert(sinceBarrier.begin(), 0);
  if (sinceBarrier.size() > 1)
    return;
  // A wave that serves has come to the barrier too, but looks at what was released before it only later.
  if (!served)
    unawaited = 0;
  unknown = unawaited;
}

static bool raise(int64_t &mine, int64_t others) {
  bool grows = others > mine;
  mine = std::max(mine, others);
  return grows;
}

bool CopyRing::State::join(const State &other) {
  bool grows = raise(outstanding, other.outstanding);
  grows |= raise(unawaited, other.unawaited);
  grows |= raise(unknown, other.unknown);
  // By how young they are.
  while (unknownBy.size() < other.unknownBy.size())
    unknownBy.insert(unknownBy.begin(), 0);
  for (auto [mine, others] : llvm::zip(llvm::reverse(unknownBy), llvm::reverse(other.unknownBy)))
    grows |= raise(mine, others);
  grows |= raise(heldSinceBarrier, other.heldSinceBarrier);
  while (sinceRelease.size() < other.sinceRelease.size()) {
    sinceRelease.push_back(sinceRelease.back());
    heldSinceRelease.push_back(heldSinceRelease.back());
  }
  for (size_t i = 0; i < sinceRelease.size(); ++i) {
    size_t theirs = std::min(i, other.sinceRelease.size() - 1);
    grows |= raise(sinceRelease[i], other.sinceRelease[theirs]);
    grows |= raise(heldSinceRelease[i], other.heldSinceRelease[theirs]);
  }
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
  // More than there is room for is the same: one of the two bounds may be none.
  auto add = [&](int64_t &sum) { sum = std::min<int64_t>(sum + state.outstanding - left, kMostBarriers + 1); };
  add(state.sinceBarrier.front());
  llvm::for_each(state.sinceRelease, add);
  for (; state.outstanding > left; --state.outstanding) {
    state.unknown = std::min(state.unknown, state.unknownBy.front());
    state.unknownBy.erase(state.unknownBy.begin());
  }
}

/// True if a wait was put in: what was found before is no longer so.
bool CopyRing::runLoop(IterateOp loop, State &state) {
  // A loop of few trips need not come to rest: its tiles may never be filled again, and no barrier stands in it.
  return repeat(loop.block(), loop.getCount()->getValue().constantValue().value_or(INT64_MAX), state);
}

bool CopyRing::repeat(Block &block, int64_t trips, State &state) {
  const int64_t before = state.outstanding;
  for (int64_t trip = 0; trip < trips; ++trip) {
    State after = state;
    if (run(block, after))
      return true;
    if (!state.join(after))
      return false;
    if (state.outstanding * kBarrierBytes > kRingBytes) {
      bool isTerminated = block.back().hasTrait<mlir::OpTrait::IsTerminator>();
      OpBuilder builder(&block, isTerminated ? mlir::Block::iterator(block.back()) : block.end());
      WaitOp::create(builder, block.back().getLoc(), wave::Counter::Boxes, before, ArrayAttr());
      return true;
    }
    if (std::max(state.unseen(), state.unknown) * kBarrierBytes > kRingBytes) {
      isBounded = false;
      return false;
    }
  }
  return false;
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
    if (barrier.getFirstWave() && *barrier.getFirstWave() > 0)
      most = std::max(most, ++extra[barrier->getBlock()]);
  });
  return most;
}

bool CopyRing::run(Block &block, State &state) {
  for (Operation &op : block) {
    if (auto commit = dyn_cast<CommitOp>(op); commit && commit.getCounter() == wave::Counter::Boxes) {
      // That of one workgroup alone tells nothing of what another has awaited.
      state.commit(!state.isCluster || std::exchange(state.isShared, false));
      most = std::max(most, state.outstanding + state.unseen());
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      state.isShared |= copy.getMulticast();
    } else if (auto waiting = dyn_cast<WaitOp>(op); waiting && waiting.getCounter() == wave::Counter::Boxes) {
      wait(waiting, state);
    } else if (auto barrier = dyn_cast<BarrierOp>(op); barrier && barrier.isForAllWaves()) {
      state.barrier();
    } else if (isa<ReleaseOp>(op)) {
      mostReleases = std::max({mostReleases, state.unawaited + 1, state.unknown + 1});
      state.release();
    } else if (auto await = dyn_cast<AwaitOp>(op)) {
      // The phase of the release that is waited for must not be one that has come round again.
      mostReleases = std::max<int64_t>(mostReleases, static_cast<int64_t>(await.getCount()) + 1);
      state.await(static_cast<int64_t>(await.getCount()));
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
  const State nothing{.served = kernel.getServiceWaves().has_value(),
                      .isCluster = kernel.getWorkgroupsPerCluster().has_value(),
                      .sinceBarrier = SmallVector<int64_t>(mostBarriersBehind(kernel) + 1, 0)};
  auto runTiles = [&](State &state) {
    return kernel.getOverlapTiles() ? ring.repeat(kernel.block(), INT64_MAX, state) : ring.run(kernel.block(), state);
  };
  for (State state = nothing; runTiles(state) || ring.endWithNone(kernel, state); state = nothing)
    ring = CopyRing();
  ring.slots = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(ring.most, 1))));
  if (ring.mostReleases > 0)
    ring.releaseSlots = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(ring.mostReleases)));
  if (ring.isBounded && (ring.slots + ring.releaseSlots) * kBarrierBytes <= kRingBytes)
    return ring;
  return report(kernel.getLoc(), DiagId::NotSupportedHere)
             .hint("copy fewer iterations ahead, or turn direct copies off")
         << "groups of copied boxes are under way that " << kRingBytes / kBarrierBytes
         << " barriers in memory cannot tell apart";
}

} // namespace soliton
