#include "soliton/pipeline/Phases.h"

#include <algorithm>

namespace soliton::pipe {
namespace {
bool isPrefetchLoad(const OpDesc &op) {
  return isPrefetch(op.k);
}

/// Prefetching loads of one stage, as the prologue issues them.
void addLoads(std::vector<OpDesc> &ops, const PipelineProgram &program, const PipelineConfig &config, int stage) {
  for (const MmaBlock &block : program.blocks)
    for (OpDesc load : block.loads) {
      if (!isPrefetchLoad(load) || load.stage != stage)
        continue;
      load.k = stage == 0 ? KOffset::K0 : KOffset::K1;
      load.vmCost = config.vmPerChannel(load.channel);
      load.channel = -1;
      ops.push_back(load);
    }
}

/// The blocks of the epilogue.
class EpilogueBuilder {
public:
  EpilogueBuilder(const PipelineProgram &program, const PipelineConfig &config) : program(program), config(config) {}

  std::vector<MmaBlock> run() {
    int size = static_cast<int>(program.blocks.size());
    std::vector<MmaBlock> blocks;
    for (int b = 0; b < size; ++b) {
      blocks.push_back(stripped(b));
      if (b + 1 < size && isEmpty(program.blocks[b + 1]))
        blocks.back().fusedMma = program.blocks[++b].mma;
    }
    if (!blocks.empty())
      blocks.back().preSync = noOp();
    return blocks;
  }

private:
  MmaBlock stripped(int b) const {
    const MmaBlock &from = program.blocks[b];
    MmaBlock block;
    block.mma = from.mma;
    block.frags = from.frags;
    for (const OpDesc &load : from.loads)
      if (!isPrefetchLoad(load))
        block.loads.push_back(load);
    block.entryWaitLgkm = waitLgkm(0);
    block.preMmaBarrier = from.preMmaBarrier;
    block.preMmaSetPrio = from.preMmaSetPrio;
    block.postMmaBarrier = from.postMmaBarrier;
    block.postMmaSetPrio = from.postMmaSetPrio;
    block.postBarrierLgkm = from.postBarrierLgkm;
    if (b >= drainStart(b / config.mmasPerPartition()))
      block.preSync = waitVm(0);
    return block;
  }

  static bool isEmpty(const MmaBlock &block) {
    return block.frags.empty() && std::all_of(block.loads.begin(), block.loads.end(), isPrefetchLoad);
  }

  /// The first block of a half that has a prefetching load.
  int drainStart(int half) const {
    int begin = half * config.mmasPerPartition(), size = static_cast<int>(program.blocks.size());
    for (int b = begin; b < std::min(begin + config.mmasPerPartition(), size); ++b)
      if (std::any_of(program.blocks[b].loads.begin(), program.blocks[b].loads.end(), isPrefetchLoad))
        return b;
    return size;
  }

  const PipelineProgram &program;
  const PipelineConfig &config;
};

/// Group hints, front to back.
class HintWriter {
public:
  HintWriter(const HintCounts &counts, int tiles) : counts(counts) {
    int reads = counts.readsPerFragment * tiles;
    mmasPerRead = std::min(counts.large ? 1 : 2, counts.mmas / std::max(reads, 1));
    left = counts.mmas - reads * mmasPerRead;
  }

  std::vector<OpDesc> hints;

  void readFragments(int count) {
    for (int i = 0; i < counts.readsPerFragment * count; ++i) {
      add(GroupClass::SharedRead, 1);
      add(GroupClass::Mma, mmasPerRead);
    }
  }

  void moveTiles() {
    int stores = std::max(counts.stores, 1), quotient = left / stores, rest = left % stores;
    for (int i = 0; i < counts.stores; ++i) {
      int share = quotient + (i < rest);
      add(GroupClass::SharedWrite, 1);
      add(GroupClass::Mma, share / 2);
      add(GroupClass::GlobalRead, 1);
      add(GroupClass::Mma, share - share / 2);
    }
  }

private:
  void add(GroupClass kind, int count) { hints.push_back(schedGroupBarrier(kind, count)); }

  HintCounts counts;
  int mmasPerRead = 1;
  /// Matrix instructions that no shared read takes.
  int left = 0;
};

bool isCarried(const OpDesc &op, const PipelineConfig &config) {
  return op.subtile == config.loopCarried.selector;
}
} // namespace

std::vector<ScheduleEntry> derivePrologue(const PipelineProgram &program, const PipelineConfig &pipeline,
                                          const ScheduleConfig &config, std::span<const OpDesc> bootstrap) {
  std::vector<OpDesc> ops;
  addLoads(ops, program, pipeline, 0);
  if (!config.partialPrologueDrain) {
    ops.push_back(waitVm(0));
    ops.push_back(barrier());
  }
  addLoads(ops, program, pipeline, 1);
  if (!config.partialPrologueDrain) {
    ops.push_back(waitVm(0));
    return toEntries(ops, Phase::Prologue, false);
  }
  int outstanding = 0;
  for (const OpDesc &load : ops)
    outstanding += load.vmCost;
  size_t loads = ops.size();
  for (size_t i = 0; i < bootstrap.size(); ++i) {
    outstanding -= i < loads ? ops[i].vmCost : 0;
    ops.push_back(waitVm(outstanding));
    ops.push_back(barrier());
    ops.push_back(bootstrap[i]);
  }
  return toEntries(ops, Phase::Prologue, false);
}

std::vector<ScheduleEntry> deriveEpilogue(const PipelineProgram &program, const PipelineConfig &pipeline) {
  std::vector<OpDesc> ops;
  for (const MmaBlock &block : EpilogueBuilder(program, pipeline).run()) {
    std::vector<OpDesc> list = expandBlock(block);
    ops.insert(ops.end(), list.begin(), list.end());
  }
  ops.push_back(barrier());
  return toEntries(ops, Phase::Epilogue, true);
}

static PhaseStep emit(OpRole role, Carried carried = Carried::Any, bool all = false) {
  return {PhaseAction::Emit, role, carried, all};
}

std::vector<PhaseStep> singleBufferPrologueRecipe() {
  return {emit(OpRole::GlobalLoad),
          emit(OpRole::SharedStore),
          {PhaseAction::Barrier},
          emit(OpRole::GlobalLoad),
          emit(OpRole::FragmentLoad, Carried::Yes),
          {PhaseAction::Fence}};
}

std::vector<PhaseStep> singleBufferEpilogueRecipe() {
  return {{PhaseAction::Fence},
          emit(OpRole::FragmentLoad, Carried::No, true),
          {PhaseAction::Barrier},
          emit(OpRole::SharedStore),
          emit(OpRole::Compute, Carried::Any, true),
          {PhaseAction::Fence},
          {PhaseAction::Barrier},
          emit(OpRole::FragmentLoad, Carried::Any, true),
          emit(OpRole::Compute, Carried::Any, true),
          {PhaseAction::Fence}};
}

std::vector<ScheduleEntry> applyRecipe(std::span<const PhaseStep> recipe, std::span<const OpDesc> body,
                                       const PipelineConfig &config, Phase phase) {
  std::vector<OpDesc> ops;
  for (const PhaseStep &step : recipe) {
    if (step.action != PhaseAction::Emit) {
      ops.push_back(step.action == PhaseAction::Barrier ? barrier() : scheduleBarrier());
      continue;
    }
    for (const OpDesc &op : body) {
      bool wanted = step.carried == Carried::Any || isCarried(op, config) == (step.carried == Carried::Yes);
      if (op.role != step.role || !wanted)
        continue;
      ops.push_back(op);
      if (!step.all)
        break;
    }
  }
  return toEntries(ops, phase, false);
}

std::vector<OpDesc> groupHints(std::span<const OpDesc> body, const PipelineConfig &config, const HintCounts &counts) {
  auto count = [&](bool carried) {
    return static_cast<int>(std::count_if(body.begin(), body.end(), [&](const OpDesc &op) {
      return op.role == OpRole::FragmentLoad && isCarried(op, config) == carried;
    }));
  };
  HintWriter writer(counts, count(false) + count(true));
  writer.readFragments(count(false));
  writer.moveTiles();
  writer.readFragments(count(true));
  return std::move(writer.hints);
}

void appendGroupHints(std::vector<ScheduleEntry> &entries, std::span<const OpDesc> body, const PipelineConfig &config,
                      const HintShape &shape) {
  HintCounts counts{shape.m + shape.n, shape.m * shape.n * shape.k, shape.aLoads + shape.bLoads,
                    shape.mmaM == 32 && shape.mmaN == 32};
  for (const OpDesc &hint : groupHints(body, config, counts))
    entries.push_back({hint, static_cast<int>(entries.size()), Phase::Kernel, false});
}

std::vector<EntryDep> deriveKernelDeps(std::span<const ScheduleEntry> kernel, const PipelineConfig &config) {
  std::vector<EntryDep> deps;
  int length = static_cast<int>(kernel.size()) / config.numPartitions;
  for (int half = 0; half < config.numPartitions; ++half) {
    int sync = -1, lgkm = -1;
    std::vector<int> mmas;
    for (int i = half * length; i < (half + 1) * length; ++i) {
      const OpDesc &op = kernel[i].op;
      sync = sync < 0 && op.role == OpRole::Sync ? i : sync;
      lgkm = lgkm < 0 && op.tag == kWaitLgkm ? i : lgkm;
      if (op.role == OpRole::Compute)
        mmas.push_back(i);
    }
    if (mmas.empty())
      continue;
    for (int wait : {sync, lgkm})
      if (wait >= 0)
        deps.push_back({wait, mmas[0]});
    for (size_t i = 0; i + 1 < std::min<size_t>(mmas.size(), 3); ++i)
      deps.push_back({mmas[i], mmas[i + 1]});
  }
  return deps;
}

int staggerIndex(std::span<const OpDesc> body, size_t prologueSize, const PipelineConfig &config) {
  const WaveStagger &stagger = config.waveStagger;
  if (!stagger.enabled)
    return static_cast<int>(prologueSize) + 1;
  if (!stagger.fromBody)
    return stagger.amount;
  return static_cast<int>(std::count_if(body.begin(), body.end(), [](const OpDesc &op) {
    return op.role == OpRole::GlobalLoad && op.stage == 0 && isPrefetch(op.k);
  }));
}

} // namespace soliton::pipe
