// Moves of one op, their repair, and hill climbing by them.
#include "soliton/tuner/ScheduleValidator.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Judge.h"
#include "soliton/schedule/RandomLoops.h"
#include "soliton/schedule/TestProblems.h"
#include "soliton/tuner/Random.h"
#include "soliton/tuner/ScheduleOptimizer.h"

#include "gtest/gtest.h"

namespace soliton::tune {
namespace {
using namespace sched;
using namespace sched::testing;

TEST(ScheduleValidator, EveryAttemptIsVerifiedAndItsTableAddsUp) {
  int moved = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    Problem problem = randomLoop(seed, 12).problem;
    Schedule start = *scheduleModulo(problem).schedule;
    ScheduleValidator validator(problem, start);
    Random random(seed);
    for (int i = 0; i < 20; ++i) {
      int op = static_cast<int>(random.below(problem.numOps()));
      int64_t cycle = random.below(3 * int64_t{start.interval});
      ScheduleValidator::Attempt attempt = validator.attemptMove(op, cycle);
      EXPECT_EQ(verify(problem, attempt.schedule).ok(), true) << attempt.error;
      if (!attempt)
        continue;
      ++moved;
      EXPECT_EQ(attempt.table, validator.tableOf(attempt.schedule));
      for (const std::vector<int> &row : attempt.table)
        for (size_t r = 0; r < row.size(); ++r)
          EXPECT_LE(row[r], problem.resources[r].units);
      validator.commitMove(attempt.schedule);
      EXPECT_EQ(validator.table(), attempt.table);
    }
  }
  EXPECT_GT(moved, 200);
}

/// load (latency 4) -> mul -> add, one unit each.
Problem chain() {
  Problem problem;
  int memory = problem.addResource("memory"), arithmetic = problem.addResource("arithmetic");
  int loaded = problem.addRegion({"loaded"}), product = problem.addRegion({"product"}),
      sum = problem.addRegion({"sum"});
  auto add = [&](std::string key, int resource, int latency, std::vector<Access> accesses) {
    Operation op;
    op.key = std::move(key);
    op.latency = latency;
    op.reservations = {{resource}};
    op.accesses = std::move(accesses);
    problem.addOperation(std::move(op));
  };
  add("load", memory, 4, {writes(loaded)});
  add("mul", arithmetic, 1, {reads(loaded), writes(product)});
  add("add", arithmetic, 1, {reads(product), writes(sum)});
  return problem;
}

TEST(ScheduleValidator, RepairFollowsLatenciesForwardAndBackward) {
  Problem problem = chain();
  Schedule start = fromTimes("test", 2, std::vector<int64_t>{0, 4, 5});
  ScheduleValidator validator(problem, start);
  ScheduleValidator::Attempt later = validator.attemptMove(0, 2);
  ASSERT_TRUE(later) << later.error;
  // Its consumers move by as much as its latency asks for, and the first stage in use is 0.
  EXPECT_EQ(later.schedule.time(1) - later.schedule.time(0), 4);
  EXPECT_EQ(later.schedule.time(2) - later.schedule.time(1), 1);
  ScheduleValidator::Attempt earlier = validator.attemptMove(2, 3);
  ASSERT_TRUE(earlier) << earlier.error;
  EXPECT_GE(earlier.schedule.time(1) - earlier.schedule.time(0), 4);
  EXPECT_GE(earlier.schedule.time(2) - earlier.schedule.time(1), 1);
}

TEST(ScheduleValidator, AMoveOntoABusyUnitSaysWhich) {
  Problem problem = chain();
  ScheduleValidator validator(problem, fromTimes("test", 2, std::vector<int64_t>{0, 4, 5}));
  ScheduleValidator::Attempt attempt = validator.attemptMove(2, 8);
  ASSERT_FALSE(attempt);
  EXPECT_NE(attempt.error.find("`arithmetic` is in use in cycle 0"), std::string::npos) << attempt.error;
  EXPECT_EQ(attempt.schedule, validator.schedule());
  EXPECT_FALSE(validator.attemptMove(7, 0));
}

TEST(ScheduleOptimizer, KeepsWhatIsBetterAndCountsWhatIsNot) {
  Problem problem = gemm({2, 2, 2, 2, 16, false, false});
  Schedule start = *scheduleList(problem).schedule;
  ASSERT_EQ(start.timing, Timing::Cycles);
  ScheduleValidator validator(problem, start);
  int reported = 0;
  ScheduleOptimizer::Options options;
  options.measure = [&](const Schedule &schedule) {
    return static_cast<double>(verdictFromScratch(problem, schedule).registers);
  };
  options.report = [&](const OptimizationStep &step, const Schedule &) { reported += step.iteration > 0; };
  options.seed = 4;
  OptimizationResult result = ScheduleOptimizer(validator, options).optimize({200, 60});
  EXPECT_EQ(reported, result.iterations);
  EXPECT_EQ(result.latency, result.improvementHistory.back());
  for (size_t i = 1; i < result.improvementHistory.size(); ++i)
    EXPECT_LT(result.improvementHistory[i], result.improvementHistory[i - 1]);
  EXPECT_TRUE(verify(problem, result.schedule).ok());
  EXPECT_EQ(validator.schedule().slots, result.schedule.slots);
}

TEST(ScheduleOptimizer, EndsAtTheBoundAndAfterPatience) {
  Problem problem = chain();
  Schedule start = fromTimes("test", 2, std::vector<int64_t>{0, 4, 5});
  ScheduleOptimizer::Options options;
  options.measure = [](const Schedule &) { return 2.0; };
  options.bound = 2;
  ScheduleValidator atBound(problem, start);
  OptimizationResult bound = ScheduleOptimizer(atBound, options).optimize({50, 20});
  EXPECT_EQ(bound.ended, "bound");
  EXPECT_EQ(bound.iterations, 0);
  options.bound = 0;
  ScheduleValidator patient(problem, start);
  OptimizationResult patience = ScheduleOptimizer(patient, options).optimize({50, 20});
  EXPECT_EQ(patience.ended, "no_improvement");
  EXPECT_EQ(patience.iterations, 20);
}

} // namespace
} // namespace soliton::tune
