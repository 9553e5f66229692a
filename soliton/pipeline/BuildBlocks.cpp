// From an ordered body to dressed blocks: cutting, redistribution of loads, waits.
#include "soliton/pipeline/Blocks.h"

#include <algorithm>
#include <deque>

namespace soliton::pipe {
namespace {
bool isDrained(const MmaBlock &block, uint32_t mask, size_t index) {
  return (mask >> index & 1) && !block.frags.empty() && !block.loads.empty();
}

class BlockBuilder {
public:
  BlockBuilder(const LoopBody &body, std::span<const int> order, const PipelineConfig &pipeline,
               const ScheduleConfig &config)
      : pipeline(pipeline), config(config) {
    cut(body, order);
    int prefetched = 0;
    for (const MmaBlock &block : blocks)
      for (const OpDesc &load : block.loads)
        prefetched += isPrefetch(load.k) ? pipeline.vmPerChannel(load.channel) : 0;
    mainWait = prefetched - prefetched / pipeline.numPartitions;
  }

  PipelineProgram run() {
    for (int b = 0; b < static_cast<int>(blocks.size()); ++b) {
      MmaBlock &block = blocks[b];
      int position = b % perHalf();
      bool first = opensRotation(b);
      if (first || (position == 0 && rotatesFrom(b)))
        block.entryWait = waitVm(mainWait);
      block.postBarrierLgkm = true;
      addWaits(block, position, first);
      addFlags(block, b, position, first);
    }
    return {std::move(blocks), {}};
  }

private:
  int perHalf() const { return pipeline.mmasPerPartition(); }

  void cut(const LoopBody &body, std::span<const int> order) {
    MmaBlock open;
    for (int i : order) {
      const OpDesc &op = body.ops[i];
      if (op.role == OpRole::FragmentLoad)
        open.frags.push_back(op);
      if (op.role == OpRole::GlobalLoad)
        open.loads.push_back(op);
      if (op.role != OpRole::Compute)
        continue;
      open.mma = op;
      blocks.push_back(std::move(open));
      open = {};
    }
  }

  /// The block reads a fragment that is staged for the other half.
  bool isRotated(int b) const {
    const std::vector<OpDesc> &frags = blocks[b].frags;
    return std::any_of(frags.begin(), frags.end(), [&](const OpDesc &op) { return op.stage != b / perHalf(); });
  }
  /// It is the first such block of its half.
  bool opensRotation(int b) const {
    if (!isRotated(b))
      return false;
    for (int earlier = b - b % perHalf(); earlier < b; ++earlier)
      if (isRotated(earlier))
        return false;
    return true;
  }
  /// This block or a later one of its half is such a block.
  bool rotatesFrom(int b) const {
    int end = std::min(b + perHalf(), static_cast<int>(blocks.size()));
    for (int later = b; later < end; ++later)
      if (isRotated(later))
        return true;
    return false;
  }

  void addWaits(MmaBlock &block, int position, bool first) {
    bool atEntry = block.entryWait.isPresent() && config.minimalBarriers;
    if (position == 0 && config.waitLgkmFirst < kNoWait)
      (atEntry ? block.entryWaitLgkm : block.preSync) = waitLgkm(atEntry ? 0 : config.waitLgkmFirst);
    else if (first)
      (atEntry ? block.entryWaitLgkm : block.preSync) = waitLgkm(0);
    else if (position == perHalf() - 1) {
      block.preSync = waitVm(config.waitVmLast);
      block.postBarrierLgkm = config.lgkmAfterLast;
    } else if (config.interBlockLgkmDrain)
      block.entryWaitLgkm = waitLgkm(0);
  }

  void addFlags(MmaBlock &block, int b, int position, bool first) {
    block.drainLgkmBeforeLoads = isDrained(block, config.drainLgkmMask, b);
    block.trailingSchedBarrier = config.schedBarrierMask >> b & 1;
    block.globalBeforeFrag = config.globalBeforeFrag;
    block.barrierBeforePreOps = config.barrierBeforePreOps;
    block.wrapWaits = config.wrapWaitsWithSchedBarrier;
    if (!config.minimalBarriers)
      return;
    block.preMmaBarrier = block.postMmaBarrier = block.postMmaSetPrio = block.postBarrierLgkm = false;
    block.preMmaSetPrio = !config.omitMmaSetPrio && (position == 0 || first);
  }

  const PipelineConfig &pipeline;
  const ScheduleConfig &config;
  std::vector<MmaBlock> blocks;
  int mainWait = 0;
};

/// Puts the derived pair of waits where the dressing left room for it.
void patchWaits(PipelineProgram &program, const BlockWaits &waits, const PipelineConfig &pipeline,
                const ScheduleConfig &config) {
  int perHalf = pipeline.mmasPerPartition();
  for (int b = 0; b + perHalf <= static_cast<int>(program.blocks.size()); b += perHalf) {
    MmaBlock &first = program.blocks[b];
    OpDesc wait = waitLgkm(config.barrierBeforePreOps ? 0 : waits.lgkmFirst);
    bool atEntry = config.minimalBarriers && first.entryWait.isPresent();
    if (atEntry)
      first.entryWaitLgkm = wait;
    first.preSync = atEntry ? noOp() : wait;
    program.blocks[b + perHalf - 1].preSync = waitVm(waits.vmLast);
  }
}
} // namespace

PipelineProgram constructBlocks(const LoopBody &body, std::span<const int> order, const PipelineConfig &pipeline,
                                const ScheduleConfig &config) {
  return BlockBuilder(body, order, pipeline, config).run();
}

void redistributeLoads(PipelineProgram &program, const PipelineConfig &pipeline, const ScheduleConfig &config) {
  size_t cap = pipeline.blockSizing.maxGlobals;
  if (cap == 0)
    return;
  std::deque<OpDesc> pool;
  for (MmaBlock &block : program.blocks)
    for (; block.loads.size() > cap; block.loads.pop_back())
      pool.push_back(block.loads.back());
  for (size_t b = 0; b < program.blocks.size() && !pool.empty(); ++b) {
    MmaBlock &block = program.blocks[b];
    for (; block.loads.size() < cap && !pool.empty(); pool.pop_front())
      block.loads.push_back(pool.front());
    block.drainLgkmBeforeLoads = isDrained(block, config.drainLgkmMask, b);
  }
}

BlockWaits deriveBlockWaits(const PipelineProgram &program, const PipelineConfig &pipeline,
                            const ScheduleConfig &config) {
  int perHalf = pipeline.mmasPerPartition(), halves = static_cast<int>(program.blocks.size()) / perHalf;
  auto lgkm = [&](int channel) {
    int own = pipeline.lgkmPerChannel(channel);
    return own ? own : channel == 0 ? config.lgkmPerLoadA : config.lgkmPerLoadB;
  };
  BlockWaits waits{0, kNoWait};
  for (int half = 0; half < halves; ++half) {
    int first = 0, inFlight = 0;
    for (const OpDesc &load : program.blocks[half * perHalf].loads)
      first += lgkm(load.channel);
    // Loads of the other stage complete what this half is about to need; the others may stay in flight.
    for (int b = half * perHalf; b < (half + 1) * perHalf; ++b)
      for (const OpDesc &load : program.blocks[b].loads)
        inFlight += load.stage == half ? pipeline.vmPerChannel(load.channel) : 0;
    waits.lgkmFirst = std::max(waits.lgkmFirst, first);
    waits.vmLast = std::min(waits.vmLast, inFlight);
  }
  return waits;
}

uint32_t deriveDrainMask(const PipelineProgram &program) {
  uint32_t mask = 0;
  for (size_t b = 0; b < program.blocks.size(); ++b) {
    const MmaBlock &block = program.blocks[b];
    bool mixed = !block.loads.empty() && std::any_of(block.frags.begin(), block.frags.end(), [&](const OpDesc &frag) {
      return frag.channel != block.loads.front().channel;
    });
    mask |= mixed ? uint32_t{1} << b : 0;
  }
  return mask;
}

static void append(std::vector<Diagnostic> &list, std::vector<Diagnostic> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

static void dressAutomatically(PipelineProgram &program, const PipelineConfig &pipeline, const ScheduleConfig &config) {
  if (config.autoDrain) {
    uint32_t mask = deriveDrainMask(program);
    for (size_t b = 0; b < program.blocks.size(); ++b)
      program.blocks[b].drainLgkmBeforeLoads = mask >> b & 1;
  }
  patchWaits(program, deriveBlockWaits(program, pipeline, config), pipeline, config);
}

KernelProgram buildKernelProgram(const LoopBody &body, const PipelineConfig &pipeline, const ScheduleConfig &config) {
  KernelProgram result;
  result.order = orderBody(body, pipeline, config);
  result.diagnostics = result.order.diagnostics;
  result.program = constructBlocks(body, result.order.order, pipeline, config);
  redistributeLoads(result.program, pipeline, config);
  if (config.autoWaits)
    dressAutomatically(result.program, pipeline, config);
  append(result.diagnostics, verifyBlocks(result.program, pipeline));
  return result;
}

} // namespace soliton::pipe
