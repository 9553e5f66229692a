// Every algorithm returns what the verifier accepts; MODULO against exhaustive search; EXACT against its checker.
#include "RandomLoops.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Certificate.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Verify.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

TEST(Modulo, NeverIllegalAndNearTheOptimum) {
  constexpr int kLoops = 1200;
  int recurrences = 0, multiCycle = 0, aboveBound = 0, optimal = 0;
  double excess = 0;
  for (int seed = 1201; seed <= 1200 + kLoops; ++seed) {
    RandomLoop loop = randomLoop(seed);
    Scheduled found = scheduleModulo(loop.problem);
    ASSERT_TRUE(found.schedule) << "seed " << seed << "\n" << format(found.diagnostics);
    ASSERT_TRUE(verify(loop.problem, *found.schedule).ok()) << "seed " << seed;
    int best = Exhaustive(loop.problem).optimumBelow(found.schedule->interval);
    ASSERT_GE(best, found.bounds.lower()) << "seed " << seed;
    recurrences += loop.recurrence;
    multiCycle += loop.multiCycle;
    aboveBound += best > found.bounds.lower();
    optimal += best == found.schedule->interval;
    excess += static_cast<double>(found.schedule->interval) / best - 1;
  }
  EXPECT_GE(recurrences, kLoops * 40 / 100);
  EXPECT_GE(multiCycle, kLoops * 30 / 100);
  EXPECT_GE(aboveBound, kLoops * 10 / 100);
  EXPECT_LE(excess / kLoops, 0.05);
  RecordProperty("optimal", optimal);
  std::printf("%d loops: %d recurrences, %d multi-cycle, %d above the bound, %d optimal, %.3f %% above on average\n",
              kLoops, recurrences, multiCycle, aboveBound, optimal, 100 * excess / kLoops);
}
