// Faithful mode: the framework's own programs, entry by entry.
#include "soliton/pipeline/Compile.h"

#include <algorithm>

namespace soliton::pipe {
namespace {
void append(std::vector<Diagnostic> &list, const std::vector<Diagnostic> &more) {
  list.insert(list.end(), more.begin(), more.end());
}

void error(CompiledPipeline &result, DiagId id, const OpDesc &op, std::string message, std::string hint) {
  result.diagnostics.push_back({Severity::error, id, op.where.place(), std::move(message), std::move(hint), {}});
}

bool isSame(const OpDesc &a, const OpDesc &b) {
  return a.tag == b.tag && a.stage == b.stage && a.subtile == b.subtile;
}

/// Every op of the body stands in the kernel as often as in the body, and no list has an op that the body lacks.
void checkConservation(CompiledPipeline &result) {
  auto countIn = [](const auto &list, const OpDesc &op, auto get) {
    return std::count_if(list.begin(), list.end(), [&](const auto &item) { return isSame(get(item), op); });
  };
  auto self = [](const OpDesc &op) { return op; };
  auto ofEntry = [](const ScheduleEntry &entry) { return entry.op; };
  for (const OpDesc &op : result.body)
    if (op.tag < kFirstFrameworkTag && countIn(result.kernel, op, ofEntry) != countIn(result.body, op, self))
      return error(result, DiagId::PipelineBlockCapacity, op,
                   "`" + result.text(op) + "` stands in the kernel " +
                       std::to_string(countIn(result.kernel, op, ofEntry)) + " times, in the body " +
                       std::to_string(countIn(result.body, op, self)) + " times",
                   "declare it in front of a compute op, and list it once in explicit blocks");
  for (const std::vector<ScheduleEntry> *list : {&result.prologue, &result.kernel})
    for (const ScheduleEntry &entry : *list)
      if (entry.op.tag < kFirstFrameworkTag && countIn(result.body, entry.op, self) == 0)
        return error(result, DiagId::PipelineOpUnknown, entry.op,
                     "the " + std::string(nameOf(entry.phase)) + " has `" + result.text(entry.op) +
                         "`, which the body does not have",
                     "declare it, or drop it from `bootstrapFrags` and `buildExplicitBlocks`");
}

void compileDoubleBuffer(const PipelineSchedule &pipeline, CompiledPipeline &result) {
  KernelProgram built = buildKernelProgram({result.body, result.edges}, result.config, result.knobs);
  append(result.diagnostics, built.diagnostics);
  result.order = std::move(built.order);
  result.blocks = std::move(built.program);
  if (!result.ok())
    return;
  result.blocks.explicitBlocks = pipeline.buildExplicitBlocks(result.body, result.blocks);
  size_t lists = result.blocks.explicitBlocks.size(), blocks = result.blocks.blocks.size();
  if (lists != 0 && lists != blocks)
    return error(result, DiagId::PipelineBlockCapacity, result.body.front(),
                 "`buildExplicitBlocks` gives " + std::to_string(lists) + " lists for " + std::to_string(blocks) +
                     " blocks",
                 "give one list for each block of the program");
  result.prologue = derivePrologue(result.blocks, result.config, result.knobs, pipeline.bootstrapFrags());
  result.kernel = result.blocks.expand(Phase::Kernel);
  result.epilogue = deriveEpilogue(result.blocks, result.config);
  result.kernelDeps = deriveKernelDeps(result.kernel, result.config);
  for (size_t b = 0; b < result.blocks.blocks.size(); ++b)
    result.blockStarts.push_back(result.blocks.blockStart(static_cast<int>(b)));
}

void compileSingleBuffer(const PipelineSchedule &pipeline, CompiledPipeline &result) {
  LoopBody body{result.body, result.edges};
  result.order.order = identityOrder(body.size());
  result.order.metrics = evaluate(body, result.order.order);
  result.order.bound = lowerBound(body);
  result.prologue = applyRecipe(singleBufferPrologueRecipe(), result.body, result.config, Phase::Prologue);
  result.kernel = pipeline.transformKernel(toEntries(result.body, Phase::Kernel, false), result.body);
  result.epilogue = applyRecipe(singleBufferEpilogueRecipe(), result.body, result.config, Phase::Epilogue);
  for (const DepEdge &edge : result.edges)
    result.kernelDeps.push_back({edge.producer, edge.consumer});
  result.blockStarts = {0};
}

void checkWaits(const std::vector<ScheduleEntry> &entries, CompiledPipeline &result) {
  for (const ScheduleEntry &entry : entries) {
    bool vm = entry.op.tag == kWaitVm;
    int limit = vm ? result.config.limits.vm : result.config.limits.lgkm;
    if ((!vm && entry.op.tag != kWaitLgkm) || entry.op.waitValue <= limit)
      continue;
    result.diagnostics.push_back({Severity::error,
                                  DiagId::PipelineWaitWidth,
                                  result.body.front().where.place(),
                                  "entry " + std::to_string(entry.timeSlot) + " of the " +
                                      std::string(nameOf(entry.phase)) + " waits for " + (vm ? "vm " : "lgkm ") +
                                      std::to_string(entry.op.waitValue) + ", the counter holds " +
                                      std::to_string(limit),
                                  "take a smaller tile, so that an op issues fewer accesses, or compile in exact mode",
                                  {}});
    return;
  }
}
} // namespace

void compileFaithful(const PipelineSchedule &pipeline, const PipelineOptions &options, CompiledPipeline &result) {
  result.edges = pipeline.deriveEdges(result.body);
  append(result.diagnostics, LoopBody{result.body, result.edges}.validate());
  if (!result.ok())
    return;
  if (result.config.depth >= 2)
    compileDoubleBuffer(pipeline, result);
  else
    compileSingleBuffer(pipeline, result);
  result.staggerIndex = staggerIndex(result.body, result.prologue.size(), result.config);
  for (const std::vector<ScheduleEntry> *list : {&result.prologue, &result.kernel, &result.epilogue})
    checkWaits(*list, result);
  if (result.ok())
    checkConservation(result);
  if (result.ok())
    auditProgram(pipeline, options, result);
}

} // namespace soliton::pipe
