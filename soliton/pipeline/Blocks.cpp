#include "soliton/pipeline/Blocks.h"

#include <algorithm>

namespace soliton::pipe {
namespace {
/// A list of ops that is written front to back.
class OpList {
public:
  void add(const OpDesc &op) {
    if (op.isPresent())
      ops.push_back(op);
  }
  void addIf(bool condition, const OpDesc &op) {
    if (condition)
      add(op);
  }
  void addAll(const std::vector<OpDesc> &more) { ops.insert(ops.end(), more.begin(), more.end()); }

  std::vector<OpDesc> ops;
};

void addEntryWaits(OpList &list, const MmaBlock &block, bool wrap) {
  bool fence = wrap && (block.entryWait.isPresent() || block.entryWaitLgkm.isPresent());
  list.addIf(fence, scheduleBarrier());
  list.add(block.entryWait);
  list.add(block.entryWaitLgkm);
  // A wait is one wave's own: what other waves copied is there for sure only behind a barrier.
  list.addIf(block.entryWait.isPresent(), barrier());
  list.addIf(fence, scheduleBarrier());
}

void addSync(OpList &list, const MmaBlock &block, bool wrap) {
  bool fence = wrap && (block.preSync.isPresent() || block.preMmaBarrier);
  list.addIf(fence, scheduleBarrier());
  list.add(block.preSync);
  list.addIf(block.preMmaBarrier, barrier());
  list.addIf(block.preMmaBarrier && block.postBarrierLgkm, waitLgkm(0));
  list.addIf(fence, scheduleBarrier());
}
} // namespace

std::string_view nameOf(Phase phase) {
  return phase == Phase::Prologue ? "prologue" : phase == Phase::Kernel ? "kernel" : "epilogue";
}

std::vector<OpDesc> expandBlock(const MmaBlock &block) {
  OpList list;
  addEntryWaits(list, block, block.wrapWaits);
  if (block.barrierBeforePreOps)
    addSync(list, block, block.wrapWaits);
  list.addAll(block.globalBeforeFrag ? block.loads : block.frags);
  list.addIf(block.drainLgkmBeforeLoads, waitLgkm(0));
  list.addAll(block.globalBeforeFrag ? block.frags : block.loads);
  if (!block.barrierBeforePreOps)
    addSync(list, block, block.wrapWaits);
  list.addIf(block.preMmaSetPrio, setPrio(1));
  list.add(block.mma);
  list.add(block.fusedMma);
  list.addIf(block.postMmaSetPrio, setPrio(0));
  list.addIf(block.postMmaBarrier, barrier());
  list.addIf(block.postMmaBarrier && block.trailingSchedBarrier, scheduleBarrier());
  return list.ops;
}

std::vector<OpDesc> expandMinimalBlock(const MmaBlock &block, bool wrapWaits, bool globalBeforeFrag) {
  OpList list;
  addEntryWaits(list, block, wrapWaits);
  list.addAll(globalBeforeFrag ? block.loads : block.frags);
  list.addIf(!block.frags.empty() && !block.loads.empty(), scheduleBarrier());
  list.addAll(globalBeforeFrag ? block.frags : block.loads);
  addSync(list, block, wrapWaits);
  list.add(block.mma);
  return list.ops;
}

std::vector<ScheduleEntry> toEntries(std::span<const OpDesc> ops, Phase phase, bool markPrefetch) {
  std::vector<ScheduleEntry> entries;
  for (const OpDesc &op : ops) {
    bool prefetch = markPrefetch && op.role == OpRole::GlobalLoad && isPrefetch(op.k);
    entries.push_back({op, static_cast<int>(entries.size()), phase, prefetch});
  }
  return entries;
}

std::vector<ScheduleEntry> PipelineProgram::expand(Phase phase) const {
  std::vector<OpDesc> all;
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::vector<OpDesc> ops = explicitBlocks.empty() ? expandBlock(blocks[i]) : explicitBlocks[i];
    all.insert(all.end(), ops.begin(), ops.end());
  }
  return toEntries(all, phase, explicitBlocks.empty());
}

int PipelineProgram::blockStart(int block) const {
  size_t start = 0;
  for (int i = 0; i < block; ++i)
    start += explicitBlocks.empty() ? expandBlock(blocks[i]).size() : explicitBlocks[i].size();
  return static_cast<int>(start);
}

int PipelineProgram::mmaEntry(int block) const {
  std::vector<OpDesc> ops = explicitBlocks.empty() ? expandBlock(blocks[block]) : explicitBlocks[block];
  auto mma = std::find_if(ops.begin(), ops.end(), [](const OpDesc &op) { return op.role == OpRole::Compute; });
  return blockStart(block) + static_cast<int>(mma - ops.begin());
}

} // namespace soliton::pipe
