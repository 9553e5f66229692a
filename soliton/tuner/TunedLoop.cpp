#include "soliton/tuner/TunedLoop.h"

#include "soliton/authoring/ScheduleFile.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/tuner/ScheduleDomain.h"

#include <algorithm>

namespace soliton::tune {
using namespace sched;

/// As the automatic schedules do: with as many copies of the kernel as loaded values live at once, nothing moves.
static int copiesForLoads(const Problem &problem, const Schedule &schedule) {
  constexpr int kMostCopies = 4;
  int copies = 1;
  for (const Operation &op : problem.operations)
    if (op.kind == OpKind::GlobalLoad || op.kind == OpKind::SharedLoad)
      for (const Access &access : op.accesses)
        if (access.write && problem.regions[access.region].space == sched::Space::Register)
          copies = std::max(copies, schedule.buffers[access.region]);
  return std::min(copies, kMostCopies);
}

static size_t longestOf(const std::vector<LoopReport> &loops, const Target &target,
                        const std::vector<Launch> &launches) {
  size_t longest = 0;
  int64_t most = -1;
  for (size_t i = 0; i < loops.size(); ++i) {
    int64_t cycles = LoopCost(loops[i].problem, target, launches[i]).of(loops[i].schedule, loops[i].program).cycles;
    if (cycles > most) {
      most = cycles;
      longest = i;
    }
  }
  return longest;
}

TunedLoop::TunedLoop(std::vector<LoopReport> given, const Target &target, const std::vector<Launch> &launches)
    : loops(std::move(given)), which(longestOf(loops, target, launches)) {
  timed.emplace(problem(), target, launches[which]);
}

std::optional<Schedule> TunedLoop::inCycles(std::string &whyNot) const {
  if (loop().schedule.timing == Timing::Cycles)
    return loop().schedule;
  if (std::optional<std::string> why = ScheduleDomain::whyNot(problem(), loop().schedule)) {
    whyNot = *why;
    return std::nullopt;
  }
  ScheduleDomain domain(problem(), loop().schedule);
  Schedule shown = domain.presentable(domain.start());
  shown.timing = Timing::Cycles;
  shown.buffers.clear();
  for (Slot &slot : shown.slots)
    slot.rank = 0;
  for (const Diagnostic &diagnostic : verify(problem(), shown).diagnostics)
    if (diagnostic.severity == Severity::error) {
      whyNot = diagnostic.message;
      return std::nullopt;
    }
  return shown;
}

/// `plan` is this loop's.
std::string TunedLoop::fileWith(LoopPlan plan, const Schedule &schedule) const {
  // Most buffers follow from the slots, and said they would be demands; only those that were asked for are.
  plan.schedule = schedule;
  assignBuffers(plan.problem, plan.schedule);
  plan.unrollKernel = copiesForLoads(plan.problem, plan.schedule);
  plan.schedule.buffers = schedule.buffers;
  std::vector<ScheduleFile> files;
  for (size_t i = 0; i < loops.size(); ++i)
    files.push_back(toFile(i == which ? plan : LoopPlan(loops[i])));
  // Who copies and who walks are choices beside the file: whoever judges it at small sizes has fewer workgroups.
  for (ScheduleFile &file : files) {
    file.specialized.reset();
    file.persistent = 0;
  }
  return printText(files);
}

std::string TunedLoop::fileOf(const Schedule &schedule) const {
  return fileWith(loop(), schedule);
}

std::optional<std::string> TunedLoop::fileWithPriorities(const Schedule &schedule) const {
  LoopPlan plan = loop();
  Schedule hinted = schedule;
  // Ranks with room between them, for what stands before and behind an op.
  for (Slot &slot : hinted.slots)
    slot.rank = 3 * slot.rank + 1;
  auto isMatrix = [&](int op) {
    return problem().operations[op].kind == OpKind::Mma || problem().operations[op].kind == OpKind::MmaAsync;
  };
  auto add = [&](int64_t level, Slot slot, int by) {
    Operation op = makeAdded(OpKind::Hint, HintKind::Priority, {level}, -1, 0, kAllGroups);
    op.key = "schedule/priority." + std::to_string(hinted.slots.size());
    plan.problem.addOperation(std::move(op));
    slot.rank += by;
    hinted.slots.push_back(slot);
  };
  std::vector<int> order = emissionOrder(schedule);
  bool isRaised = false;
  for (size_t i = 0; i < order.size(); ++i) {
    if (problem().operations[order[i]].kind == OpKind::Hint)
      return std::nullopt;
    if (isMatrix(order[i]) == isRaised)
      continue;
    isRaised = !isRaised;
    if (isRaised)
      add(1, hinted.slots[order[i]], -1);
    else
      add(0, hinted.slots[order[i - 1]], +1);
  }
  if (isRaised)
    add(0, hinted.slots[order.back()], +1);
  return hinted.slots.size() > schedule.slots.size() ? std::optional(fileWith(std::move(plan), hinted)) : std::nullopt;
}

} // namespace soliton::tune
