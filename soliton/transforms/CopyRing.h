//===- CopyRing.h - Groups of copied boxes, and the barriers in memory that they complete --------===//
//
// Copies of boxes complete on barriers in shared memory, one for each group that may be under way, used in turn: group
// g completes phase g div R of barrier g mod R. A wait for "at most n groups" becomes waits for the phases of those
// groups that may still be under way before it, which the structure of the program tells.
//
//   commit boxes              outstanding 1        arrive at barrier 0
//   commit boxes              outstanding 2        arrive at barrier 1
//   loop                      begins and ends with 2
//     wait boxes, 1           completes one        wait for the phase of group committed - 2
//     barrier
//     commit boxes
//
// A group that is open where a loop or a branch begins or ends is closed there.
// Where paths meet with different numbers of groups, the larger one is taken: a wait then also asks for groups that are
// complete already, or that were never there (before the first, whose barriers say so). A loop that would add groups
// without end waits for them where it ends.
//
// A barrier is used again by group g + R. Its arrival must not come before every wave has seen the phase of g, or a
// wave that is late would take one phase for the other. A wave has seen it if a barrier of the workgroup, or a release
// that the first wave has awaited, lies between its wait for g and the commit of g + R. So R is larger than what is
// outstanding at a commit, together with what was waited for since. Waves that run behind by barriers count those too.
//
// Releases have a ring of their own: release k is an arrival of every wave at phase k div S of barrier k mod S, and
// `await n` waits for the phase of the last release but n. No wave may arrive as k + S before all have arrived as k. It
// knows that they have by a barrier, or by a group that it has waited for: the first wave committed it behind an await.
// So S is larger than the number of releases of which a wave that comes to the next one knows nothing yet.
// Where a wave that serves commits (LowerService.cpp), it must have looked at k before the others have all arrived as
// k + S, or would see a parity that has come round again. That they know by a group that it committed behind its await
// too; a barrier, which it may meet in front of that await, tells them nothing.
//
// Where tiles overlap, the program of one is a loop too: no wave waits for all others before it begins the next.
//
// In a cluster whose workgroups copy to each other a release is an arrival at each of them, one after the other, and
// each awaits its own. A wave knows of all of them by a group in which each has copied a share.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"

namespace soliton {

/// Room for the barriers behind the tiles of a kernel that copies boxes: thirty-two of eight bytes.
inline constexpr int64_t kRingBytes = 256;

/// Closes groups of boxes where loops and branches begin and end. `CopyRing::of` does so; whoever asks before it which
/// groups begin a program closes them first.
void closeGroups(Block &block);

class CopyRing {
public:
  /// Puts the waits in that paths which meet lack, and finds out the rest.
  static mlir::FailureOr<CopyRing> of(wave::KernelOp kernel);

  /// A power of two; 0 for a kernel that copies no boxes.
  int64_t size() const { return slots; }
  /// Barriers in memory for releases: a power of two, or 0.
  int64_t numReleases() const { return releaseSlots; }
  /// How many of the groups under way the wait completes: the oldest ones.
  int64_t completedBy(wave::WaitOp wait) const { return completed.lookup(wait); }
  /// Groups under way in front of the wait.
  int64_t outstandingAt(wave::WaitOp wait) const { return outstanding.lookup(wait); }

private:
  struct State {
    /// Whether a wave that serves commits, which releases nothing itself.
    bool served = false;
    /// Whether workgroups copy to each other, and have, in the group that is open.
    bool isCluster = false, isShared = false;
    int64_t outstanding = 0;
    /// Groups waited for since the last barrier, between that and the one before it, and so on.
    SmallVector<int64_t> sinceBarrier;
    /// Groups waited for with at most 0, 1, … releases since; all that no await covers with the last number.
    SmallVector<int64_t> sinceRelease = {0};
    /// What was under way at that barrier, or at those releases, and was committed since: no more can have been waited
    /// for, however often a loop waits.
    int64_t heldSinceBarrier = 0;
    SmallVector<int64_t> heldSinceRelease = {0};
    /// Releases of which the first wave does not know that all waves have come to them, and a late one likewise.
    int64_t unawaited = 0, unknown = 0;
    /// By group under way, the oldest first: of how many releases a wave knows nothing that has just waited for it.
    SmallVector<int64_t> unknownBy;

    int64_t unseen() const;
    void commit(bool tells);
    void release();
    void await(int64_t count);
    void barrier();
    /// Grows to what the other one has; true if that is more.
    bool join(const State &other);
  };

  bool run(Block &block, State &state);
  bool runLoop(wave::IterateOp loop, State &state);
  bool repeat(Block &block, int64_t trips, State &state);
  bool runBranch(wave::ConditionalOp branch, State &state);
  void wait(wave::WaitOp op, State &state);
  bool endWithNone(wave::KernelOp kernel, const State &end);

  int64_t slots = 0, most = 0, releaseSlots = 0, mostReleases = 0;
  bool isBounded = true;
  llvm::DenseMap<Operation *, int64_t> completed, outstanding;
};

} // namespace soliton
