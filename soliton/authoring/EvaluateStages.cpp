//===- EvaluateStages.cpp - Stages and cycles of a said pipeline -----------===//
//
// Ops that the author mentioned have their stage, and a cycle by their phase or by the list they stand in. All others
// were made by the compiler and go as late as their users allow, at the latest where everything is done:
//
//   stage 0 {load, store}, stage 1 {shared load, mma}, interval 2      a convert in front of the mma: stage 1, cycle 1
//
//===----------------------------------------------------------------------===//
#include "soliton/authoring/Evaluation.h"
#include "soliton/schedule/Algorithms.h"

#include <algorithm>
#include <numeric>

namespace soliton::sched {
namespace {
constexpr int kMostStages = 64;
constexpr int kMostCycles = 1 << 16;
constexpr int kLargestFactor = 64;
constexpr std::string_view kPhaseNames[] = {"global load", "shared store", "shared load", "compute"};

std::string count(size_t number, std::string_view what) {
  return std::to_string(number) + " " + std::string(what) + (number == 1 ? "" : "s");
}
} // namespace

//===- What the author says ----------------------------------------------------------===//

void Evaluation::beginPipeline(const PipelineOptions &options, const Place &place) {
  spoken = true;
  if (pipeline.begun)
    return error(DiagId::ScheduleStage, place, "the loop is pipelined twice", "say all stages in one `pipeline`",
                 {{pipeline.place, "it is pipelined here already"}});
  if (kernel.said)
    return error(DiagId::ScheduleStage, place, "the loop is pipelined after its order was said",
                 "call `pipeline` first and order its `KERNEL`", {{kernel.place, "the order is said here"}});
  pipeline.begun = true;
  pipeline.place = place;
  pipeline.options = options;
  bool bad = options.num_stages < 0 || options.num_stages > kMostStages || options.initiation_interval < 0 ||
             options.initiation_interval > kMostCycles || options.multi_buffer_count < 0 ||
             options.multi_buffer_count > kMostStages || options.unroll_factor < 1 ||
             options.unroll_factor > kLargestFactor;
  if (bad)
    error(DiagId::ScheduleArgument, place, "a number of `pipeline` is out of range",
          "stages and buffers up to " + std::to_string(kMostStages) +
              ", an interval of at least 1, an unroll factor from 1 to " + std::to_string(kLargestFactor));
  else
    plan.unrollKernel = options.unroll_factor;
  plan.eliminateEpilogue = options.eliminate_epilogue;
}

void Evaluation::setStage(int stage, const std::vector<Nodes> &nodes, const Place &place) {
  const PipelineOptions &options = pipeline.options;
  if (pipeline.spelling == Pipeline::Cycles)
    return error(DiagId::ScheduleStage, place, "this stage has a number, the ones before have lists of cycles",
                 "use one spelling of `set_stage` in a pipeline", {{pipeline.place, "the pipeline stands here"}});
  pipeline.spelling = Pipeline::Phases;
  if (options.num_stages < 1 || options.initiation_interval < 1)
    return error(DiagId::ScheduleStage, place, "`set_stage` with a number needs num_stages and initiation_interval",
                 "say `pipeline(loop, {.num_stages = 2, .initiation_interval = 2})`, or give one list per cycle",
                 {{pipeline.place, "the pipeline stands here"}});
  if (stage < 0 || stage >= options.num_stages)
    return error(DiagId::ScheduleStage, place,
                 "stage " + std::to_string(stage) + " of a pipeline with " + count(options.num_stages, "stage"),
                 "stages count from 0 to " + std::to_string(options.num_stages - 1),
                 {{pipeline.place, "the pipeline stands here"}});
  Stage added{place, {{}}};
  for (const Nodes &set : nodes)
    if (checkNodes(set, place))
      added.cycles[0].insert(added.cycles[0].end(), set.ops().begin(), set.ops().end());
  auto [known, isNew] = pipeline.stages.emplace(stage, std::move(added));
  if (!isNew)
    error(DiagId::ScheduleStage, place, "stage " + std::to_string(stage) + " is said twice", "name all its ops at once",
          {{known->second.place, "it is said here already"}});
}

void Evaluation::setStage(const std::vector<std::vector<Nodes>> &cycles, const Place &place) {
  if (pipeline.spelling == Pipeline::Phases)
    return error(DiagId::ScheduleStage, place, "this stage has lists of cycles, the ones before have numbers",
                 "use one spelling of `set_stage` in a pipeline", {{pipeline.place, "the pipeline stands here"}});
  pipeline.spelling = Pipeline::Cycles;
  int index = static_cast<int>(pipeline.stages.size());
  size_t expected = pipeline.options.initiation_interval > 0 ? pipeline.options.initiation_interval
                    : index > 0                              ? pipeline.stages.begin()->second.cycles.size()
                                                             : cycles.size();
  if (cycles.empty() || cycles.size() != expected)
    error(DiagId::ScheduleStage, place,
          "stage " + std::to_string(index) + " has " + count(cycles.size(), "cycle") + ", expected " +
              std::to_string(std::max<size_t>(expected, 1)),
          "give every stage one list per cycle of the interval; a list may be empty",
          {{pipeline.place, "the pipeline stands here"}});
  Stage added{place, {}};
  for (const std::vector<Nodes> &cycle : cycles) {
    std::vector<int> &ops = added.cycles.emplace_back();
    for (const Nodes &set : cycle)
      if (checkNodes(set, place))
        ops.insert(ops.end(), set.ops().begin(), set.ops().end());
  }
  pipeline.stages.emplace(index, std::move(added));
}

void Evaluation::unrollSource(int factor, const Place &place) {
  spoken = true;
  if (factor < 1 || factor > kLargestFactor)
    return error(DiagId::ScheduleUnroll, place, "a loop cannot be unrolled " + std::to_string(factor) + " times",
                 "give a factor from 1 to " + std::to_string(kLargestFactor));
  if (pipeline.begun || kernel.said)
    return error(DiagId::ScheduleUnroll, place, "the loop is unrolled after it was pipelined or ordered",
                 "unroll the loop first, or unroll the `KERNEL` of the pipeline",
                 {{pipeline.begun ? pipeline.place : kernel.place, "that is said here"}});
  if (unrolledBySchedule * factor > kLargestFactor)
    return error(DiagId::ScheduleUnroll, place,
                 "the loop is unrolled " + std::to_string(unrolledBySchedule * factor) + " times in all",
                 "unroll it at most " + std::to_string(kLargestFactor) + " times");
  unrolledBySchedule *= factor;
  if (input.unrolled % unrolledBySchedule != 0)
    throw UnrollRequest{unrolledBySchedule};
}

void Evaluation::unrollKernel(int factor, const Place &place) {
  spoken = true;
  if (factor < 1 || plan.unrollKernel * factor > kLargestFactor)
    return error(DiagId::ScheduleUnroll, place, "a kernel cannot be unrolled " + std::to_string(factor) + " times",
                 "give a factor from 1 to " + std::to_string(kLargestFactor));
  plan.unrollKernel *= factor;
}

//===- Laying out --------------------------------------------------------------------===//

void Evaluation::layOutSource() {
  int number = numSource();
  interval = std::max(number, 1);
  order.resize(number);
  std::iota(order.begin(), order.end(), 0);
  stageOf.assign(number, 0);
  clusterOf.assign(number, 0);
  cycleOf = order;
  lastStage = 0;
}

bool Evaluation::checkStages() {
  size_t errors = plan.diagnostics.size();
  int said = static_cast<int>(pipeline.stages.size());
  int expected = pipeline.options.num_stages > 0 ? pipeline.options.num_stages : said;
  if (said == 0)
    error(DiagId::ScheduleStage, pipeline.place, "the pipeline has no stages", "say them with `set_stage`");
  else if (said != expected) {
    std::vector<std::string> missing;
    for (int stage = 0; stage < expected; ++stage)
      if (!pipeline.stages.count(stage))
        missing.push_back(std::to_string(stage));
    error(DiagId::ScheduleStage, pipeline.place,
          "the pipeline has " + count(expected, "stage") + ", found " + std::to_string(said) + " with `set_stage`",
          missing.empty() ? "raise num_stages" : "say stage " + listOf(missing) + ", or lower num_stages");
  }
  return plan.diagnostics.size() == errors;
}

void Evaluation::mention(int op, const Place &place, std::map<int, Place> &seen) {
  auto [known, isNew] = seen.emplace(op, place);
  if (isNew)
    return;
  const Operation &operation = source.operations[op];
  // One message for all pieces of an op in a role.
  int origin = operation.origin.op >= 0 ? operation.origin.op : -2 - op;
  auto [found, isFirst] = repeated.try_emplace({origin, operation.kind}, std::pair(plan.diagnostics.size(), 0));
  if (!isFirst) {
    std::string more = "the op stands here, and " + std::to_string(++found->second.second) + " more of it";
    plan.diagnostics[found->second.first].notes.back().message = more;
    return;
  }
  error(DiagId::ScheduleUnknownOp, place, "`" + operation.key + "` is mentioned twice", "mention every op once",
        {{known->second, "it is mentioned here first"}, {operation.place, "the op stands here"}});
}

bool Evaluation::checkMentioned(const std::map<int, Place> &seen, const Place &place, std::string_view where,
                                const std::function<bool(int)> &expected) {
  size_t errors = plan.diagnostics.size();
  // One message for all pieces of an op in a role.
  std::map<std::pair<int, OpKind>, std::vector<int>> missing;
  for (int op = 0; op < numSource(); ++op)
    if (source.operations[op].origin.required && expected(op) && !seen.count(op))
      missing[{source.operations[op].origin.op, source.operations[op].kind}].push_back(op);
  for (const auto &[key, ops] : missing) {
    const Operation &first = source.operations[ops.front()];
    std::string tag = first.origin.tags.empty() ? "" : " (tag `" + first.origin.tags.front() + "`)";
    error(DiagId::ScheduleMissingOp, first.place,
          "`" + first.key + "`" + tag +
              (ops.size() > 1 ? " and " + std::to_string(ops.size() - 1) + " more of it" : "") + " is in the loop `" +
              source.loop + "` but not in " + std::string(where),
          first.origin.tags.empty() ? "give it a tag and mention it; nothing is left out silently"
                                    : "mention it; nothing is left out silently",
          {{place, "the schedule stands here"}});
  }
  return plan.diagnostics.size() == errors;
}

std::vector<int> Evaluation::phasesInStages() {
  std::vector<int> phases = wantedPhases(source, dependences());
  std::vector<int> stageOfOp(numSource(), -1);
  for (const auto &[index, stage] : pipeline.stages)
    for (int op : stage.cycles[0])
      stageOfOp[op] = index;
  Graph graph(numSource(), dependences());
  // Ops are in source order, so one walk settles what dependences inside an iteration push.
  for (int op = 0; op < numSource(); ++op)
    for (const Edge &edge : graph.from(op))
      if (edge.distance == 0 && stageOfOp[op] >= 0 && stageOfOp[op] == stageOfOp[edge.to])
        phases[edge.to] = std::max(phases[edge.to], phases[op]);
  return phases;
}

/// One phase a cycle.
void Evaluation::assignPhases(int index, Stage &stage, const std::vector<int> &phases) {
  std::map<int, std::vector<int>> byPhase;
  for (int op : stage.cycles[0])
    byPhase[phases[op]].push_back(op);
  if (static_cast<int>(byPhase.size()) > interval) {
    std::vector<Note> notes;
    for (const auto &[phase, ops] : byPhase)
      notes.push_back({source.operations[ops.front()].place,
                       "`" + source.operations[ops.front()].key + "` is of phase " + std::string(kPhaseNames[phase])});
    return error(DiagId::SchedulePhases, stage.place,
                 "stage " + std::to_string(index) + " has ops of " + count(byPhase.size(), "phase") +
                     ", the initiation interval has " + count(interval, "cycle"),
                 "move a phase to another stage, or raise initiation_interval to " + std::to_string(byPhase.size()),
                 std::move(notes));
  }
  std::vector<std::vector<int>> cycles;
  for (auto &[phase, ops] : byPhase)
    cycles.push_back(std::move(ops));
  cycles.resize(interval);
  stage.cycles = std::move(cycles);
}

void Evaluation::layOutPipeline() {
  if (!checkStages())
    return layOutSource();
  interval = pipeline.spelling == Pipeline::Phases ? pipeline.options.initiation_interval
                                                   : static_cast<int>(pipeline.stages.begin()->second.cycles.size());
  lastStage = static_cast<int>(pipeline.stages.size()) - 1;
  std::map<int, Place> seen;
  for (auto &[index, stage] : pipeline.stages)
    for (const std::vector<int> &cycle : stage.cycles)
      for (int op : cycle)
        mention(op, stage.place, seen);
  checkMentioned(seen, pipeline.place, "any stage", [](int) { return true; });
  if (pipeline.spelling == Pipeline::Phases) {
    std::vector<int> phases = phasesInStages();
    for (auto &[index, stage] : pipeline.stages)
      assignPhases(index, stage, phases);
  }
  if (!plan.diagnostics.empty())
    return layOutSource();
  stageOf.assign(numSource(), -1);
  cycleOf.assign(numSource(), 0);
  clusterOf.assign(numSource(), 0);
  for (const auto &[index, stage] : pipeline.stages)
    for (size_t cycle = 0; cycle < stage.cycles.size(); ++cycle)
      for (int op : stage.cycles[cycle]) {
        stageOf[op] = index;
        cycleOf[op] = static_cast<int>(cycle);
      }
  placeByTime();
}

/// Gives what was not mentioned its time, then orders everything as PREFETCH does: by cycle, older iterations first,
/// then as the dependences of one iteration allow.
void Evaluation::placeByTime() {
  Graph graph(numSource(), dependences());
  std::vector<bool> fixed(numSource());
  std::vector<int> time(numSource());
  int latest = (lastStage + 1) * interval - 1;
  for (int op = 0; op < numSource(); ++op) {
    fixed[op] = stageOf[op] >= 0;
    time[op] = fixed[op] ? stageOf[op] * interval + cycleOf[op] : latest;
  }
  for (int op = numSource() - 1; op >= 0; --op)
    for (const Edge &edge : graph.from(op))
      if (!fixed[op])
        time[op] = std::clamp(time[edge.to] + interval * edge.distance, 0, time[op]);
  for (int op = 0; op < numSource(); ++op)
    for (const Edge &edge : graph.to(op))
      if (!fixed[op] && edge.distance == 0)
        time[op] = std::max(time[op], time[edge.from]);
  std::vector<int> ranks = topologicalRanks(graph);
  order.resize(numSource());
  std::iota(order.begin(), order.end(), 0);
  for (int op : order) {
    stageOf[op] = time[op] / interval;
    cycleOf[op] = time[op] % interval;
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tuple(cycleOf[a], -stageOf[a], ranks[a]) < std::tuple(cycleOf[b], -stageOf[b], ranks[b]);
  });
}

} // namespace soliton::sched
