// Judges the lists of a faithful program by the core's verifier: every hazard proven, left to latency, or violated.
//
// Ops of the lists are the operations of the body; their waits and barriers stand as they are. The instance of an op is
// counted: the prologue runs iterations 0, 1, … of it, the epilogue those that are left. A fragment that is read beyond
// the last one is of a tile that nobody loads: it is listed and left out, if nobody uses it.
#include "soliton/pipeline/Compile.h"
#include "soliton/pipeline/ToCore.h"

#include <algorithm>
#include <map>

namespace soliton::pipe {
namespace {
class Auditor {
public:
  Auditor(const PipelineSchedule &pipeline, CompiledPipeline &result)
      : pipeline(pipeline), result(result), loop(pipeline, result.body), taken(result.body.size(), 0) {}

  void run(const PipelineOptions &options) {
    std::vector<std::vector<int>> order = clusters();
    append(loop.checkTiles(order));
    result.proof.schedule = loop.schedule(order);
    sched::Program &program = result.proof.program;
    program.peeled = loop.numStages() - 1;
    program.prologue = convert(result.prologue, Phase::Prologue);
    program.kernel = convert(result.kernel, Phase::Kernel);
    program.epilogue = convert(result.epilogue, Phase::Epilogue);
    if (result.config.waveStagger.enabled)
      addStagger(program);
    result.proof.problem = loop.problem;
    sched::VerifyOptions verify;
    verify.waivers = options.waivers;
    result.proof.report = sched::verify(result.proof.problem, result.proof.schedule, program, verify);
    append(result.proof.report.diagnostics);
    result.proof.kernelBarriers =
        static_cast<int>(std::count_if(program.kernel.begin(), program.kernel.end(), [](const sched::Entry &entry) {
          return entry.kind == sched::EntryKind::Barrier;
        }));
    result.proof.hazards = static_cast<int>(result.proof.report.hazards.size());
  }

private:
  void append(const std::vector<Diagnostic> &more) {
    result.diagnostics.insert(result.diagnostics.end(), more.begin(), more.end());
  }

  /// The index in the body of the op of an entry. A prologue renames channel and tile of its loads, so a load is known
  /// by what it fills; equal compute ops of two halves are taken in turn.
  int bodyIndex(const OpDesc &op) {
    auto matches = [&](size_t i) {
      const OpDesc &other = result.body[i];
      return other.tag == op.tag && other.stage == op.stage && other.subtile == op.subtile;
    };
    int found = -1;
    for (size_t i = 0; i < result.body.size(); ++i)
      if (matches(i) && (found < 0 || taken[i] < taken[found]))
        found = static_cast<int>(i);
    if (found >= 0)
      ++taken[found];
    lastTaken = found;
    return found;
  }

  /// Operations in the order of the kernel, cut behind each compute op.
  std::vector<std::vector<int>> clusters() {
    std::vector<std::vector<int>> clusters(1);
    std::fill(taken.begin(), taken.end(), 0);
    for (const ScheduleEntry &entry : result.kernel) {
      if (entry.op.tag >= kFirstFrameworkTag)
        continue;
      clusters.back().push_back(loop.operationOf(bodyIndex(entry.op)));
      if (entry.op.role == OpRole::Compute)
        clusters.emplace_back();
    }
    if (clusters.back().empty())
      clusters.pop_back();
    return clusters;
  }

  std::vector<sched::Entry> convert(const std::vector<ScheduleEntry> &entries, Phase phase) {
    std::fill(taken.begin(), taken.end(), 0);
    std::vector<sched::Entry> list;
    int position = 0, cluster = 0;
    stale.clear();
    for (const ScheduleEntry &entry : entries) {
      sched::Entry converted = entry.op.tag < kFirstFrameworkTag ? operation(entry.op, phase) : mark(entry.op);
      bool hint = entry.op.role == OpRole::Fence;
      bool dead = converted.kind == sched::EntryKind::Op && phase == Phase::Epilogue && converted.iteration >= 0;
      if (dead)
        result.proof.deadReads.push_back(result.text(entry.op));
      if (converted.kind == sched::EntryKind::Op && !hint)
        checkBehindEnd(entry.op, dead);
      if (hint || dead)
        continue;
      converted.position = position++;
      converted.cluster = cluster;
      cluster += entry.op.role == OpRole::Compute;
      list.push_back(converted);
    }
    return list;
  }

  /// Beyond the last tile only fragments are read, and what they leave in registers is used by nobody.
  void checkBehindEnd(const OpDesc &op, bool dead) {
    int index = lastTaken, half = index / (static_cast<int>(result.body.size()) / result.config.numPartitions);
    auto report = [&](const std::string &message, const std::string &hint) {
      result.diagnostics.push_back({Severity::error, DiagId::PipelineTile, op.where.place(), message, hint, {}});
    };
    if (dead && op.role != OpRole::FragmentLoad)
      return report("`" + result.text(op) + "` runs behind the loop for a tile more than there are",
                    "leave it out of the epilogue");
    for (const Touch &touch : pipeline.touches(result.body[index], half)) {
      auto found = stale.find(touch.name);
      if (!touch.write && found != stale.end())
        report("`" + result.text(op) + "` finds in `" + touch.name + "` what `" + found->second +
                   "` read behind the loop, of a tile that nobody loads",
               "leave that read out of the epilogue, or put it behind");
      if (touch.write && !touch.shared && dead)
        stale[touch.name] = result.text(op);
      else if (touch.write)
        stale.erase(touch.name);
    }
  }

  /// A load fetches the tile of its stage: as declared, and in front of the loop counted from the first tile.
  void checkTile(const OpDesc &op, int index, Phase phase) {
    int parts = result.config.numPartitions, half = index / (static_cast<int>(result.body.size()) / parts);
    int tile = half + pipeline.tilesAhead(result.body[index], half);
    int expected = phase == Phase::Prologue ? tile % parts : tilesFromLoop(result.body[index].k);
    if (result.config.depth < 2 || op.role != OpRole::GlobalLoad || tilesFromLoop(op.k) == expected)
      return;
    result.diagnostics.push_back({Severity::error,
                                  DiagId::PipelineStage,
                                  op.where.place(),
                                  "`" + result.text(op) + "` in the " + std::string(nameOf(phase)) +
                                      " fetches another K tile than its stage holds, expected " +
                                      std::to_string(expected) + " from the loop variable",
                                  "give it the K offset of its stage",
                                  {}});
  }

  sched::Entry operation(const OpDesc &op, Phase phase) {
    int index = bodyIndex(op);
    checkTile(op, index, phase);
    sched::Entry entry;
    entry.op = loop.operationOf(index);
    int stage = loop.stageOf(entry.op), before = taken[index] - 1;
    entry.iteration = phase == Phase::Prologue ? before
                      : phase == Phase::Kernel ? loop.numStages() - 1 - stage
                                               : before - stage;
    return entry;
  }

  sched::Entry mark(const OpDesc &op) const {
    sched::Entry entry;
    entry.kind = op.tag == kBarrier ? sched::EntryKind::Barrier : sched::EntryKind::Wait;
    entry.counter = op.tag == kWaitVm ? loop.vm : op.tag == kWaitLgkm ? loop.shared : -1;
    entry.value = op.waitValue;
    return entry;
  }

  /// What the kernel around a staggered program does: the group behind passes a barrier inside the prologue, all pass
  /// one in front of the loop, and the group ahead passes one at the very end.
  void addStagger(sched::Program &program) {
    sched::Entry barrier;
    barrier.kind = sched::EntryKind::Barrier;
    program.prologue.push_back(barrier);
    barrier.stagger = true;
    barrier.groups = 2;
    program.prologue.insert(program.prologue.begin() + result.staggerIndex, barrier);
    barrier.groups = 1;
    program.epilogue.push_back(barrier);
  }

  const PipelineSchedule &pipeline;
  CompiledPipeline &result;
  CoreLoop loop;
  /// By index in the body: how often the list has it so far.
  std::vector<int> taken;
  /// The op of the body that was counted last.
  int lastTaken = -1;
  /// Registers that hold a tile that nobody loads, and by which op.
  std::map<std::string, std::string> stale;
};
} // namespace

void auditProgram(const PipelineSchedule &pipeline, const PipelineOptions &options, CompiledPipeline &result) {
  Auditor(pipeline, result).run(options);
}

} // namespace soliton::pipe
