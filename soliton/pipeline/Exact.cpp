// Exact mode: the declaration handed to the scheduling core.
#include "soliton/pipeline/Compile.h"
#include "soliton/pipeline/ToCore.h"
#include "soliton/schedule/Synchronize.h"

#include <algorithm>

namespace soliton::pipe {
namespace {
/// What stands in front of one compute op, by index in the body. What stands behind the last one is a block without.
struct Block {
  std::vector<int> loads, others;
  int mma = -1;
};

class ExactCompiler {
public:
  ExactCompiler(const PipelineSchedule &pipeline, CompiledPipeline &result)
      : result(result), loop(pipeline, result.body) {}

  bool orderOps() {
    LoopBody body{result.body, loop.edges()};
    result.edges = body.edges;
    append(body.validate());
    if (!result.ok())
      return false;
    bool declared = result.config.depth < 2;
    ScheduleConfig knobs = result.knobs;
    knobs.scheduling = declared ? Strategy::Identity : knobs.scheduling;
    result.order = orderBody(body, result.config, knobs);
    append(result.order.diagnostics);
    return result.ok();
  }

  void derive(const PipelineOptions &options) {
    Proof &proof = result.proof;
    std::vector<std::vector<int>> clusters = hasPhases() ? phases() : blocksAsOrdered();
    append(loop.checkTiles(clusters));
    proof.problem = loop.problem;
    for (int operation = 0; operation < proof.problem.numOps(); ++operation)
      proof.bodyIndices.push_back(loop.bodyIndexOf(operation));
    proof.schedule = loop.schedule(clusters);
    sched::SyncOptions sync;
    sync.barriers.clusterEntriesOnly = result.config.depth >= 2;
    sync.barriers.remarks = false;
    sched::Synchronized made = sched::synchronize(proof.problem, proof.schedule, sync);
    proof.program = std::move(made.program);
    proof.hazards = made.barriers.hazards;
    proof.kernelBarriers = made.barriers.fixed + static_cast<int>(made.barriers.kernelSlots.size());
    sched::VerifyOptions verify;
    verify.waivers = options.waivers;
    proof.report = sched::verify(proof.problem, proof.schedule, proof.program, verify);
    append(proof.report.diagnostics);
  }

  void fillLists() {
    result.prologue = convert(result.proof.program.prologue, Phase::Prologue);
    result.kernel = convert(result.proof.program.kernel, Phase::Kernel);
    result.epilogue = convert(result.proof.program.epilogue, Phase::Epilogue);
    int cluster = -1, index = 0;
    for (const sched::Entry &entry : result.proof.program.kernel) {
      if (entry.cluster != cluster)
        result.blockStarts.push_back(index);
      cluster = entry.cluster;
      ++index;
    }
    result.kernelDeps = deriveKernelDeps(result.kernel, result.config);
    // The core lets the group behind pass its barrier first of all.
    result.staggerIndex = loop.problem.groups > 1 ? 0 : static_cast<int>(result.prologue.size()) + 1;
  }

private:
  void append(const std::vector<Diagnostic> &more) {
    result.diagnostics.insert(result.diagnostics.end(), more.begin(), more.end());
  }

  /// Barriers around each compute op are part of the pipeline: groups of waves take turns by them.
  bool hasPhases() const { return result.config.depth >= 2 && !result.knobs.minimalBarriers; }

  std::vector<Block> blocks() const {
    std::vector<Block> blocks(1);
    for (int i : result.order.order) {
      OpRole role = result.body[i].role;
      if (loop.operationOf(i) < 0)
        continue;
      if (role != OpRole::Compute) {
        (role == OpRole::GlobalLoad ? blocks.back().loads : blocks.back().others).push_back(i);
        continue;
      }
      blocks.back().mma = i;
      blocks.emplace_back();
    }
    if (blocks.back().loads.empty() && blocks.back().others.empty())
      blocks.pop_back();
    return blocks;
  }

  /// The order as it is, a cluster per compute op.
  std::vector<std::vector<int>> blocksAsOrdered() const {
    std::vector<std::vector<int>> clusters(1);
    for (int i : result.order.order) {
      if (loop.operationOf(i) < 0)
        continue;
      clusters.back().push_back(loop.operationOf(i));
      if (result.body[i].role == OpRole::Compute)
        clusters.emplace_back();
    }
    if (clusters.back().empty())
      clusters.pop_back();
    return clusters;
  }

  /// Each block as two phases: data, barrier, compute with priority, barrier.
  std::vector<std::vector<int>> phases() {
    std::vector<Block> all = blocks();
    delayLoads(all);
    std::vector<std::vector<int>> clusters;
    for (const Block &block : all) {
      std::vector<int> cluster;
      for (const std::vector<int> *list : {&block.others, &block.loads})
        for (int i : *list)
          cluster.push_back(loop.operationOf(i));
      if (block.mma >= 0) {
        std::string id = "b" + std::to_string(clusters.size()) + ".";
        cluster.push_back(loop.addMark(barrier(), id + "before"));
        cluster.push_back(loop.addMark(setPrio(1), id + "raise"));
        cluster.push_back(loop.operationOf(block.mma));
        cluster.push_back(loop.addMark(setPrio(0), id + "lower"));
        cluster.push_back(loop.addMark(barrier(), id + "behind"));
      }
      if (!cluster.empty())
        clusters.push_back(std::move(cluster));
    }
    return clusters;
  }

  /// A load goes to the first block from which every reader of what it overwrites is known to be done. A fragment is
  /// complete at its compute op, so the barrier behind that op tells; each block has two barriers, and a group that
  /// runs behind tells one barrier later.
  void delayLoads(std::vector<Block> &all) const {
    std::vector<int> blockOf(result.body.size(), 0);
    for (size_t b = 0; b < all.size(); ++b)
      for (const std::vector<int> *list : {&all[b].others, &all[b].loads})
        for (int i : *list)
          blockOf[i] = static_cast<int>(b);
    for (size_t b = 0; b < all.size(); ++b)
      if (all[b].mma >= 0)
        blockOf[all[b].mma] = static_cast<int>(b);
    std::vector<std::vector<int>> moved(all.size());
    for (Block &block : all) {
      for (int load : block.loads)
        moved[std::min(provenBlock(load, blockOf), static_cast<int>(all.size()) - 1)].push_back(load);
      block.loads.clear();
    }
    for (size_t b = 0; b < all.size(); ++b)
      all[b].loads = std::move(moved[b]);
  }

  int provenBlock(int load, const std::vector<int> &blockOf) const {
    int first = blockOf[load];
    for (const sched::Dependence &dep : sched::deriveDependences(loop.problem)) {
      int reader = loop.bodyIndexOf(dep.from);
      bool overwrites = dep.kind == sched::DepKind::War && dep.crossWave && loop.bodyIndexOf(dep.to) == load;
      bool sameTrip = dep.distance + loop.stageOf(dep.to) == loop.stageOf(dep.from);
      if (overwrites && sameTrip)
        first = std::max(first, blockOf[reader] + 1 + (latestReader(dep) + 1) / 2);
    }
    return first;
  }

  /// By how many barriers the last group that reads runs behind the first one.
  int latestReader(const sched::Dependence &dep) const {
    int behind = 0;
    for (int group = 0; group < loop.problem.groups; ++group)
      if (dep.fromGroups >> group & 1)
        behind = std::max(behind, loop.problem.staggerOf(group));
    return behind;
  }

  OpDesc describe(const sched::Entry &entry) const {
    if (entry.kind == sched::EntryKind::Barrier)
      return barrier();
    bool inPlace = result.config.fragmentsInPlace;
    if (entry.kind == sched::EntryKind::Commit)
      return entry.counter == loop.vm ? commitBoxes() : commitMma();
    if (entry.kind == sched::EntryKind::Wait && entry.counter == loop.vm)
      return inPlace ? waitBoxes(entry.value) : waitVm(entry.value);
    if (entry.kind == sched::EntryKind::Wait)
      return inPlace && entry.counter == loop.products ? waitMma(entry.value) : waitLgkm(entry.value);
    int index = loop.bodyIndexOf(entry.op);
    if (index >= 0)
      return inPlace ? inItsStage(result.body[index], entry) : result.body[index];
    const sched::Operation &mark = loop.problem.operations[entry.op];
    return mark.hint == sched::HintKind::Priority ? setPrio(static_cast<int>(mark.arguments[0])) : scheduleBarrier();
  }

  /// Stages are taken in turn: that of the entry's own tile, counted from the first of its list.
  OpDesc inItsStage(OpDesc op, const sched::Entry &entry) const {
    int depth = result.config.depth;
    if (isStaged(op.role))
      op.stage = (entry.iteration % depth + depth) % depth;
    return op;
  }

  std::vector<ScheduleEntry> convert(const std::vector<sched::Entry> &entries, Phase phase) const {
    std::vector<OpDesc> ops;
    for (const sched::Entry &entry : entries)
      if (!entry.stagger)
        ops.push_back(describe(entry));
    return toEntries(ops, phase, true);
  }

  CompiledPipeline &result;
  CoreLoop loop;
};
} // namespace

void compileExact(const PipelineSchedule &pipeline, const PipelineOptions &options, CompiledPipeline &result) {
  ExactCompiler compiler(pipeline, result);
  if (!compiler.orderOps())
    return;
  compiler.derive(options);
  compiler.fillLists();
}

} // namespace soliton::pipe
