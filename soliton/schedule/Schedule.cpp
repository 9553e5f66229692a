#include "soliton/schedule/Schedule.h"

#include <algorithm>
#include <tuple>

namespace soliton::sched {

std::string_view nameOf(Timing timing) {
  return timing == Timing::Order ? "order" : "cycles";
}

int Schedule::stages() const {
  int highest = 0;
  for (const Slot &slot : slots)
    highest = std::max(highest, slot.stage);
  return highest + 1;
}

Schedule emptySchedule(const Problem &problem, std::string algorithm, int interval, Timing timing) {
  Schedule schedule;
  schedule.algorithm = std::move(algorithm);
  schedule.interval = interval;
  schedule.timing = timing;
  schedule.slots.resize(problem.operations.size());
  return schedule;
}

Schedule fromTimes(std::string algorithm, int interval, std::span<const int64_t> times) {
  Schedule schedule;
  schedule.algorithm = std::move(algorithm);
  schedule.interval = interval;
  schedule.timing = Timing::Cycles;
  int64_t first = times.empty() ? 0 : *std::min_element(times.begin(), times.end());
  for (int64_t time : times) {
    int64_t start = time - first;
    schedule.slots.push_back({static_cast<int>(start / interval), static_cast<int>(start % interval), 0, 0});
  }
  return schedule;
}

std::vector<int> emissionOrder(const Schedule &schedule) {
  std::vector<int> order;
  for (size_t op = 0; op < schedule.slots.size(); ++op)
    if (schedule.slots[op].scheduled())
      order.push_back(static_cast<int>(op));
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const Slot &x = schedule.slots[a], &y = schedule.slots[b];
    return std::tuple(x.cycle, x.cluster, x.rank, -x.stage, a) < std::tuple(y.cycle, y.cluster, y.rank, -y.stage, b);
  });
  return order;
}

std::vector<int> positionsOf(std::span<const int> order, int numOps) {
  std::vector<int> positions(numOps, -1);
  for (size_t i = 0; i < order.size(); ++i)
    positions[order[i]] = static_cast<int>(i);
  return positions;
}

int tripDistance(const Schedule &schedule, const Dependence &dep) {
  return dep.distance + schedule.slots[dep.to].stage - schedule.slots[dep.from].stage;
}

std::string toTable(const Problem &problem, const Schedule &schedule) {
  std::string text = problem.loop + ": " + schedule.algorithm + ", interval " + std::to_string(schedule.interval) +
                     " (" + std::string(nameOf(schedule.timing)) + "), " + std::to_string(schedule.stages()) +
                     " stages\n";
  for (int op : emissionOrder(schedule)) {
    const Slot &slot = schedule.slots[op];
    text += "  cycle " + std::to_string(slot.cycle) + "  cluster " + std::to_string(slot.cluster) + "  stage " +
            std::to_string(slot.stage) + "  " + problem.operations[op].key + "\n";
  }
  return text;
}

} // namespace soliton::sched
