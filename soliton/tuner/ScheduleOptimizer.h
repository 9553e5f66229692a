//===- ScheduleOptimizer.h - Hill climbing by measured moves ---------------===//
//
// The loop of seed 001: move a random op to a random cycle, repair, measure, keep what is faster. Ends after so many
// iterations, after so many without an improvement, or where no schedule can be faster.
//
//   ScheduleOptimizer optimizer(validator, {.measure = latencyOf, .seed = 1});
//   OptimizationResult best = optimizer.optimize({.maxIterations = 50, .maxNoImprovement = 30});
//
// The strategies of Search.h find more in the same number of measurements; this is the one that the seed describes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/tuner/ScheduleValidator.h"

#include <functional>

namespace soliton::tune {

/// What came of one iteration.
struct OptimizationStep {
  int iteration = 0;
  int op = -1;
  int64_t cycle = 0;
  /// Infinity where nothing was measured; `why` then says so.
  double latency = 0;
  bool isImprovement = false;
  std::string why;
};

struct OptimizationResult {
  sched::Schedule schedule;
  double latency = 0;
  int iterations = 0;
  std::string algorithm = "hill_climbing";
  /// The first latency, and each that was better than all before it.
  std::vector<double> improvementHistory;
  /// Why it ended: `iterations`, `no_improvement` or `bound`.
  std::string ended;
};

class ScheduleOptimizer {
public:
  struct Options {
    /// Seconds, or any other cost; infinity for what does not run.
    std::function<double(const sched::Schedule &)> measure;
    /// Told of every iteration; may be empty.
    std::function<void(const OptimizationStep &, const sched::Schedule &)> report = {};
    uint64_t seed = 0;
    /// Nothing is faster than this; a schedule that reaches it ends the search.
    double bound = 0;
  };
  struct Limits {
    int maxIterations = 100;
    int maxNoImprovement = 20;
  };

  /// The validator must outlive the optimizer; it holds the best schedule afterwards.
  ScheduleOptimizer(ScheduleValidator &validator, Options options)
      : validator(validator), options(std::move(options)) {}

  OptimizationResult optimize(const Limits &limits);

private:
  ScheduleValidator &validator;
  Options options;
};

} // namespace soliton::tune
