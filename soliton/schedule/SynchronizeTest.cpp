// Schedules of every algorithm become programs that are proven, and that the adversary cannot break.
#include "Adversary.h"
#include "TestProblems.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/Verify.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
/// Trip counts around the number of stages.
std::set<int> tripCounts(const Schedule &schedule) {
  int stages = schedule.stages();
  return {0, 1, std::max(0, stages - 1), stages, stages + 1, stages + 5};
}

void expectRight(const Problem &problem, const Schedule &schedule, const SyncOptions &options = {}) {
  Synchronized made = synchronize(problem, schedule, options);
  Report report = verify(problem, schedule, made.program);
  EXPECT_TRUE(report.ok()) << schedule.algorithm << "\n" << format(report.diagnostics) << toString(problem, made.program);
  for (int trips : tripCounts(schedule)) {
    SyncOptions exact = options;
    exact.tripCount = trips;
    Synchronized once = synchronize(problem, schedule, exact);
    VerifyOptions known;
    known.tripCount = trips;
    Report exactReport = verify(problem, schedule, once.program, known);
    EXPECT_TRUE(exactReport.ok()) << schedule.algorithm << " trips " << trips << "\n" << format(exactReport.diagnostics);
    EXPECT_EQ(attack(problem, schedule, once.program, trips, 12), "") << schedule.algorithm << " trips " << trips;
    if (trips >= made.program.peeled)
      EXPECT_EQ(attack(problem, schedule, made.program, trips, 12), "") << schedule.algorithm << " trips " << trips;
  }
}
} // namespace

TEST(Synchronize, EveryAlgorithmOnGemm) {
  for (bool asyncCopies : {false, true}) {
    GemmShape shape;
    shape.asyncCopies = asyncCopies;
    Problem problem = gemm(shape);
    for (Algorithm algorithm : {Algorithm::None, Algorithm::Prefetch, Algorithm::FourStage, Algorithm::List,
                                Algorithm::Modulo, Algorithm::Exact}) {
      Scheduled found = scheduleWith(algorithm, problem);
      ASSERT_TRUE(found.schedule) << nameOf(algorithm) << "\n" << format(found.diagnostics);
      expectRight(problem, *found.schedule);
    }
  }
}
