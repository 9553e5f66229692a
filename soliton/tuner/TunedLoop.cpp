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

std::string TunedLoop::fileOf(const Schedule &schedule) const {
  std::vector<ScheduleFile> files;
  for (size_t i = 0; i < loops.size(); ++i) {
    LoopPlan plan = loops[i];
    if (i == which) {
      // Most buffers follow from the slots, and said they would be demands; only those that were asked for are.
      plan.schedule = schedule;
      assignBuffers(plan.problem, plan.schedule);
      plan.unrollKernel = copiesForLoads(plan.problem, plan.schedule);
      plan.schedule.buffers = schedule.buffers;
    }
    files.push_back(toFile(plan));
  }
  return printText(files);
}

} // namespace soliton::tune
