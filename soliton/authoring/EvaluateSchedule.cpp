#include "soliton/authoring/EvaluateSchedule.h"

#include "soliton/authoring/Evaluation.h"
#include "soliton/schedule/Lifetimes.h"

#include <algorithm>

namespace soliton::sched {

//===- The end of a function ---------------------------------------------------------===//

LoopPlan Evaluation::finishUnrolled(int factor) {
  plan.unrollFirst = factor;
  plan.scheduled = true;
  plan.problem = source;
  plan.schedule = emptySchedule(source, schedule.name, 1, Timing::Order);
  return std::move(plan);
}

LoopPlan Evaluation::finish() {
  if (pipeline.begun)
    layOutPipeline();
  else
    layOutSource();
  int total = plan.problem.numOps();
  for (std::vector<int> *list : {&stageOf, &cycleOf, &clusterOf})
    list->resize(total, 0);
  if (kernel.said && plan.diagnostics.empty())
    orderKernel();
  orderOutside(Subgraph::Prologue);
  orderOutside(Subgraph::Epilogue);
  settleStagger();
  settleOrderedBy();
  if (!plan.diagnostics.empty()) {
    plan.problem = source;
    plan.schedule = emptySchedule(source, schedule.name, 1, Timing::Order);
    return std::move(plan);
  }
  applyInsertions();
  plan.scheduled = spoken;
  plan.unrollFirst = unrolledBySchedule;
  plan.schedule = emptySchedule(plan.problem, spoken ? schedule.name : "none", interval, Timing::Order);
  plan.schedule.copiesRunOn = pipeline.options.copies_run_on;
  plan.schedule.releases = pipeline.options.releases;
  for (size_t i = 0; i < order.size(); ++i)
    plan.schedule.slots[order[i]] = {stageOf[order[i]], cycleOf[order[i]], clusterOf[order[i]], static_cast<int>(i)};
  if (int buffers = pipeline.options.multi_buffer_count; buffers > 0) {
    plan.schedule.buffers.assign(plan.problem.regions.size(), 0);
    for (const Operation &op : source.operations)
      for (const Access &access : op.accesses)
        if (access.write && source.regions[access.region].space == Space::Shared &&
            source.regions[access.region].rotating)
          plan.schedule.buffers[access.region] = buffers;
  }
  return std::move(plan);
}

LoopPlan evaluate(const WaveSchedule &schedule, const Problem &problem, const ScheduleInput &input) {
  Evaluation evaluation(schedule, problem, input);
  auto threw = [&](std::string_view what) {
    evaluation.error(DiagId::ScheduleThrew, input.loopPlace,
                     "the function of schedule `" + schedule.name + "` ended in an exception" +
                         (what.empty() ? "" : ": " + std::string(what)),
                     "use `ScheduleContext::error` to refuse a kernel");
  };
  std::vector<Diagnostic> invalid = validate(problem);
  if (!invalid.empty()) {
    LoopPlan plan = evaluation.finishUnrolled(input.unrolled);
    plan.diagnostics = std::move(invalid);
    return plan;
  }
  try {
    ScheduleContext context(evaluation);
    if (schedule.body)
      schedule.body(context);
    else
      evaluation.error(DiagId::ScheduleArgument, input.loopPlace, "schedule `" + schedule.name + "` has no function",
                       "give it one: `WaveSchedule{\"name\", [](ScheduleContext &s) { … }}`");
  } catch (const UnrollRequest &request) {
    return evaluation.finishUnrolled(request.factor);
  } catch (const std::exception &exception) {
    threw(exception.what());
  } catch (...) {
    threw("");
  }
  return evaluation.finish();
}

//===- From a plan to a program ------------------------------------------------------===//

namespace {
/// The author's order of the prologue or epilogue: by rank, older iterations first.
void order(std::vector<Entry> &entries, const std::vector<int> &rank) {
  if (rank.empty())
    return;
  auto first = std::find_if(entries.begin(), entries.end(), [](const Entry &entry) { return !entry.stagger; });
  auto last = std::find_if(entries.rbegin(), entries.rend(), [](const Entry &entry) { return !entry.stagger; }).base();
  auto key = [&](const Entry &entry) {
    return std::tuple(entry.op >= 0 ? rank[entry.op] : 0, entry.iteration, entry.position);
  };
  if (first < last)
    std::sort(first, last, [&](const Entry &a, const Entry &b) { return key(a) < key(b); });
}

void insert(std::vector<Entry> &entries, const std::vector<Insertion> &insertions, Phase phase,
            const std::vector<int> &rank) {
  int atStart = 0;
  for (const Insertion &insertion : insertions) {
    if (insertion.phase != phase)
      continue;
    Entry entry;
    entry.kind = insertion.kind;
    entry.counter = insertion.counter;
    entry.value = insertion.value;
    entry.groups = insertion.groups;
    entry.said = true;
    auto place = insertion.atStart ? entries.begin() + atStart : entries.end();
    if (insertion.rank >= 0)
      place = std::find_if(entries.begin(), entries.end(), [&](const Entry &other) {
        return other.op >= 0 && !rank.empty() && rank[other.op] >= insertion.rank;
      });
    else if (insertion.atStart)
      ++atStart;
    entries.insert(place, entry);
  }
}
} // namespace

Synchronized synchronize(const LoopPlan &plan, SyncOptions options) {
  options.peel.eliminateEpilogue = plan.eliminateEpilogue;
  Schedule decided = plan.schedule;
  assignBuffers(plan.problem, decided);
  if (plan.around) {
    Synchronized said;
    said.program = peel(plan.problem, decided, options.peel);
    said.program.prologue = plan.around->prologue;
    said.program.epilogue = plan.around->epilogue;
    return said;
  }
  bool tooShort = options.tripCount && *options.tripCount < decided.stages() - 1 && !plan.eliminateEpilogue;
  Program program = tooShort ? peelExact(plan.problem, decided, *options.tripCount, options.peel)
                             : peel(plan.problem, decided, options.peel);
  if (!tooShort) {
    for (Phase phase : {Phase::Prologue, Phase::Epilogue}) {
      const std::vector<int> &rank = phase == Phase::Prologue ? plan.prologueRank : plan.epilogueRank;
      order(program.list(phase), rank);
      insert(program.list(phase), plan.insertions, phase, rank);
    }
  }
  Synchronized result = synchronize(plan.problem, decided, std::move(program), options);
  if (plan.strict)
    for (Diagnostic &remark : result.remarks)
      remark.severity = Severity::error;
  return result;
}

} // namespace soliton::sched
