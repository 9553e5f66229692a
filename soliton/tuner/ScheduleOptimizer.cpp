#include "soliton/tuner/ScheduleOptimizer.h"

#include "soliton/tuner/Random.h"

#include <algorithm>
#include <limits>

namespace soliton::tune {
using namespace sched;

OptimizationResult ScheduleOptimizer::optimize(const Limits &limits) {
  const Problem &problem = validator.loop();
  Random random(options.seed);
  OptimizationResult best;
  best.schedule = validator.schedule();
  best.latency = options.measure(best.schedule);
  best.improvementHistory.push_back(best.latency);
  best.ended = "iterations";
  std::vector<int> movable;
  for (int op = 0; op < problem.numOps(); ++op)
    if (problem.operations[op].kind != OpKind::Free && best.schedule.slots[op].scheduled())
      movable.push_back(op);
  int interval = best.schedule.interval, without = 0;
  for (int i = 1; i <= limits.maxIterations && !movable.empty(); ++i) {
    if (best.latency <= options.bound) {
      best.ended = "bound";
      break;
    }
    if (without >= limits.maxNoImprovement) {
      best.ended = "no_improvement";
      break;
    }
    best.iterations = i;
    OptimizationStep step;
    step.iteration = i;
    step.op = random.pick(movable);
    int64_t by = random.between(1, interval) * (random.chance(0.5) ? 1 : -1);
    step.cycle = std::max<int64_t>(0, validator.schedule().time(step.op) + by);
    ScheduleValidator::Attempt attempt = validator.attemptMove(step.op, step.cycle);
    step.latency = attempt ? options.measure(attempt.schedule) : std::numeric_limits<double>::infinity();
    step.why = attempt.error;
    step.isImprovement = step.latency < best.latency;
    without = step.isImprovement ? 0 : without + 1;
    if (step.isImprovement) {
      validator.commitMove(attempt.schedule);
      best.schedule = attempt.schedule;
      best.latency = step.latency;
      best.improvementHistory.push_back(step.latency);
    }
    if (options.report)
      options.report(step, attempt.schedule);
  }
  return best;
}

} // namespace soliton::tune
