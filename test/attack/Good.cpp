//===- Good.cpp - Schedules that are right by construction -------------------------===//
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/schedule/Algorithms.h"
#include "test/attack/Attack.h"

#include <algorithm>
#include <random>

namespace soliton::attack {
namespace {
using sched::Dependence;
using sched::Schedule;

void judge(const Setting &setting, Good &good) {
  std::vector<Diagnostic> wrong;
  std::optional<Base> base = makeBase(setting, wrong);
  if (!base) {
    bool impossible = !wrong.empty() && std::none_of(wrong.begin(), wrong.end(), isAboutOrder);
    (impossible ? good.notApplicable : good.alarm) = wrong.empty() ? "no loop" : format(wrong.front());
    return;
  }
  for (uint64_t seed : {0, 1, 2}) {
    Outcome outcome = run(*base, base->program, seed, /*checks=*/true);
    if (!outcome.result.ok())
      good.alarm = emu::format(outcome.result);
    else if (!outcome.right)
      good.alarm = "wrong result at seed " + std::to_string(seed);
    if (!good.alarm.empty())
      return;
  }
}

/// Edits of a schedule that leave every dependence as it was.
class Editor {
public:
  Editor(const sched::Problem &problem, Schedule schedule, uint32_t seed)
      : problem(problem), schedule(std::move(schedule)), random(seed) {}

  /// Nothing if no edit was possible.
  std::optional<Schedule> run() {
    // Whoever edits leaves the number of buffers to the compiler.
    schedule.buffers.clear();
    const Schedule before = schedule;
    for (int edit = 2 + static_cast<int>(random() % 6); edit > 0; --edit)
      switch (random() % 3) {
      case 0:
        widen();
        break;
      case 1:
        delay();
        break;
      default:
        reorder();
      }
    return schedule == before ? std::nullopt : std::optional(schedule);
  }

private:
  /// Idle cycles at the end of the interval: everything keeps its order, later iterations begin later.
  void widen() { schedule.interval += 1 + static_cast<int>(random() % 3); }

  /// All ops from some time on run one stage later, where nothing flows back from them across iterations.
  void delay() {
    std::vector<sched::Slot> slots = schedule.slots;
    int64_t last = 0;
    for (int i = 0; i < problem.numOps(); ++i)
      last = std::max(last, slots[i].scheduled() ? schedule.time(i) : 0);
    int64_t cut = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(std::max<int64_t>(1, last)));
    auto isLate = [&](int op) { return slots[op].scheduled() && schedule.time(op) >= cut; };
    for (const Dependence &dep : sched::deriveDependences(problem, {}))
      if (isLate(dep.from) && !isLate(dep.to) && !dep.reuse)
        return;
    for (int i = 0; i < problem.numOps(); ++i)
      if (isLate(i))
        ++schedule.slots[i].stage;
  }

  /// Two neighbours that no dependence ties change places.
  void reorder() {
    std::vector<int> order = sched::emissionOrder(schedule);
    if (order.size() < 2)
      return;
    size_t at = random() % (order.size() - 1);
    int a = order[at], b = order[at + 1];
    sched::Slot &x = schedule.slots[a], &y = schedule.slots[b];
    if (x.stage != y.stage || x.cycle != y.cycle || x.cluster != y.cluster || schedule.timing != sched::Timing::Order)
      return;
    for (const Dependence &dep : sched::deriveDependences(problem, {}))
      if ((dep.from == a && dep.to == b) || (dep.from == b && dep.to == a))
        return;
    for (size_t i = 0; i < order.size(); ++i)
      schedule.slots[order[i]].rank = static_cast<int>(i);
    std::swap(x.rank, y.rank);
  }

  const sched::Problem &problem;
  Schedule schedule;
  std::mt19937 random;
};

/// A file can hold it: nothing in it but the loop's own ops, for one group of waves.
bool fitsAFile(const sched::LoopReport &loop) {
  return loop.problem.groups == 1 &&
         std::all_of(loop.problem.operations.begin(), loop.problem.operations.end(),
                     [](const sched::Operation &op) { return op.origin.op >= 0 && op.origin.copy == 0; });
}

std::optional<Schedule> derived(const sched::LoopReport &loop, bool edited, uint32_t seed, std::string &how) {
  if (edited) {
    how = ", edited";
    return Editor(loop.problem, loop.schedule, seed).run();
  }
  int more = 1 + static_cast<int>(seed % 64);
  how = ", modulo with an interval longer by " + std::to_string(more);
  sched::ScheduleOptions options;
  sched::Scheduled best = sched::scheduleModulo(loop.problem);
  options.minInterval = (best.schedule ? best.schedule->interval : 1) + more;
  return sched::scheduleModulo(loop.problem, options).schedule;
}
} // namespace

Good tryGood(uint32_t number, uint32_t seed) {
  const std::vector<Setting> &settings = allSettings();
  std::mt19937 random(seed ^ (number * 0x9e3779b9U));
  Setting setting = settings[number % settings.size()];
  Good good;
  if (number % 2 == 0) {
    good.name = setting.name();
    judge(setting, good);
    return good;
  }
  std::vector<Diagnostic> wrong;
  std::optional<Base> base = makeBase(setting, wrong);
  if (!base || !fitsAFile(base->loop)) {
    good.name = setting.name();
    good.notApplicable = "a file cannot hold it";
    return good;
  }
  std::string how;
  std::optional<Schedule> schedule = derived(base->loop, number % 4 == 1, static_cast<uint32_t>(random()), how);
  good.name = setting.name() + how;
  good.origin = number % 4 == 1 ? Origin::Edited : Origin::Interval;
  if (!schedule) {
    good.notApplicable = "no schedule";
    return good;
  }
  setting.file = sched::printText(sched::toFile(base->loop.problem, *schedule));
  judge(setting, good);
  return good;
}

} // namespace soliton::attack
