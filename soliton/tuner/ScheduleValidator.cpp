#include "soliton/tuner/ScheduleValidator.h"

#include <algorithm>
#include <set>

namespace soliton::tune {
using namespace sched;

ScheduleValidator::ScheduleValidator(const Problem &problem, Schedule schedule)
    : problem(problem), current(std::move(schedule)), dependences(deriveDependences(problem)),
      graph(problem.numOps(), dependences) {
  current.buffers.clear();
}

ReservationTable ScheduleValidator::tableOf(const Schedule &schedule) const {
  ReservationTable table(schedule.interval, std::vector<int>(problem.resources.size(), 0));
  for (int op = 0; op < problem.numOps(); ++op) {
    if (!schedule.slots[op].scheduled())
      continue;
    const Operation &operation = problem.operations[op];
    for (const Reservation &use : operation.reservations)
      for (int i = 0; i < problem.busyCycles(operation, use); ++i)
        table[(schedule.time(op) + use.start + i) % schedule.interval][use.resource] += use.units;
  }
  return table;
}

/// The op keeps its new cycle; each op that no longer fits goes to the nearest cycle in which it does.
bool ScheduleValidator::repair(std::vector<int64_t> &times, int op, bool later, std::string &error) const {
  int64_t interval = current.interval;
  ResourceTable table(problem, current.interval);
  for (int other = 0; other < problem.numOps(); ++other)
    if (other != op && current.slots[other].scheduled())
      table.place(other, times[other]);
  if (std::optional<std::pair<int, int>> taken = table.conflict(op, times[op])) {
    error = "`" + problem.resources[taken->first].name + "` is in use in cycle " + std::to_string(taken->second) +
            " of the interval; expected a cycle in which it is free";
    return false;
  }
  table.place(op, times[op]);
  // In the order of their times, so that an op moves once for all that it depends on, mostly.
  std::set<std::pair<int64_t, int>> waiting = {{0, op}};
  int64_t left = int64_t{8} * problem.numOps() + 64;
  while (!waiting.empty()) {
    int from = waiting.begin()->second;
    waiting.erase(waiting.begin());
    for (const Edge &edge : later ? graph.from(from) : graph.to(from)) {
      int other = later ? edge.to : edge.from;
      int64_t slack = times[edge.to] + edge.distance * interval - times[edge.from] - edge.latency;
      if (slack >= 0 || !current.slots[other].scheduled())
        continue;
      if (other == op || left-- == 0) {
        error = "`" + problem.operations[other].key + "` is part of a cycle of dependences that this would stretch";
        return false;
      }
      table.remove(other, times[other]);
      int64_t wanted = later ? times[other] - slack : times[other] + slack;
      std::optional<int64_t> place =
          later ? table.firstFit(other, wanted)
                : table.lastFit(other, wanted - interval + 1, wanted, static_cast<int>(interval));
      if (!place) {
        error = "no cycle has room for `" + problem.operations[other].key + "` " + (later ? "behind " : "before ") +
                std::to_string(wanted);
        return false;
      }
      times[other] = *place;
      table.place(other, *place);
      waiting.insert({later ? *place : -*place, other});
    }
  }
  return true;
}

ScheduleValidator::Attempt ScheduleValidator::attemptMove(int op, int64_t cycle) const {
  Attempt attempt{current, {}, {}};
  if (op < 0 || op >= problem.numOps() || !current.slots[op].scheduled()) {
    attempt.error =
        "there is no scheduled op " + std::to_string(op) + "; expected 0 to " + std::to_string(problem.numOps() - 1);
    return attempt;
  }
  std::vector<int64_t> times(problem.operations.size(), 0);
  for (int each = 0; each < problem.numOps(); ++each)
    if (current.slots[each].scheduled())
      times[each] = current.time(each);
  bool later = cycle > times[op];
  times[op] = cycle;
  if (!repair(times, op, later, attempt.error))
    return attempt;
  // Whole iterations earlier would change the stages alone: the first stage in use is 0.
  int64_t least = *std::min_element(times.begin(), times.end());
  int64_t back = least >= 0 ? least / current.interval : -((-least + current.interval - 1) / current.interval);
  Schedule moved = current;
  for (int each = 0; each < problem.numOps(); ++each) {
    int64_t time = times[each] - back * current.interval;
    if (current.slots[each].scheduled())
      moved.slots[each] = {static_cast<int>(time / current.interval), static_cast<int>(time % current.interval),
                           current.slots[each].cluster, current.slots[each].rank};
  }
  Report report = verify(problem, moved);
  for (const Diagnostic &diagnostic : report.diagnostics)
    if (diagnostic.severity == Severity::error) {
      attempt.error = diagnostic.message;
      return attempt;
    }
  attempt.table = tableOf(moved);
  attempt.schedule = std::move(moved);
  return attempt;
}

void ScheduleValidator::commitMove(const Schedule &schedule) {
  current = schedule;
  current.buffers.clear();
}

} // namespace soliton::tune
