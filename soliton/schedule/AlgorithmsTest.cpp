// Every algorithm returns what the verifier accepts; MODULO against exhaustive search; EXACT against its checker.
#include "soliton/schedule/Algorithms.h"
#include "RandomLoops.h"
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

TEST(Exact, OptimalWithACertificateThatChecks) {
  int proven = 0, refutations = 0;
  for (uint32_t seed = 1201; seed < 1501; ++seed) {
    RandomLoop loop = randomLoop(seed);
    ScheduleOptions options;
    options.exactBudget = 2'000'000;
    Scheduled found = scheduleExact(loop.problem, options);
    ASSERT_TRUE(found.schedule) << "seed " << seed;
    ASSERT_TRUE(verify(loop.problem, *found.schedule).ok()) << "seed " << seed;
    std::optional<std::string> wrong = checkCertificate(loop.problem, found.certificate);
    ASSERT_FALSE(wrong) << "seed " << seed << ": " << *wrong << "\n" << found.certificate;
    int best = Exhaustive(loop.problem).optimumBelow(found.schedule->interval);
    ASSERT_LE(found.provenBound, best) << "seed " << seed;
    if (found.optimal()) {
      ++proven;
      ASSERT_EQ(found.schedule->interval, best) << "seed " << seed;
    }
    refutations += found.certificate.find("refute") != std::string::npos;
  }
  EXPECT_GE(proven, 295);
  EXPECT_GE(refutations, 20);
}

TEST(Exact, CheckerRejectsWhatIsNotProven) {
  int rejected = 0, tried = 0;
  for (uint32_t seed = 1201; seed < 1501; ++seed) {
    RandomLoop loop = randomLoop(seed);
    Scheduled found = scheduleExact(loop.problem);
    std::string error;
    Certificate certificate = *parseCertificate(found.certificate, error);
    if (certificate.refutations.empty())
      continue;
    ++tried;
    Certificate dropped = certificate;
    dropped.refutations.clear();
    EXPECT_TRUE(checkCertificate(loop.problem, dropped));
    Certificate cut = certificate;
    cut.refutations.back().steps.pop_back();
    EXPECT_TRUE(checkCertificate(loop.problem, cut));
    Certificate moved = certificate;
    moved.start[0] += 1;
    moved.interval = moved.bound = certificate.bound;
    Certificate raised = certificate;
    raised.bound = raised.interval + 1;
    EXPECT_TRUE(checkCertificate(loop.problem, raised));
    // A schedule that does not exist cannot be certified at the interval below.
    Certificate shorter = certificate;
    --shorter.interval;
    --shorter.bound;
    EXPECT_TRUE(checkCertificate(loop.problem, shorter));
    rejected += checkCertificate(loop.problem, moved).has_value();
  }
  EXPECT_GE(tried, 20);
  EXPECT_GT(rejected, 0);
}

TEST(Exact, BudgetLimitsTheProofNotTheSchedule) {
  for (uint32_t seed = 1201; seed < 1301; ++seed) {
    RandomLoop loop = randomLoop(seed);
    ScheduleOptions options;
    options.exactBudget = 1;
    Scheduled found = scheduleExact(loop.problem, options);
    ASSERT_TRUE(found.schedule);
    EXPECT_LE(found.provenBound, found.schedule->interval);
    EXPECT_FALSE(checkCertificate(loop.problem, found.certificate)) << "seed " << seed;
  }
}

TEST(Prefetch, GemmHasWavesTwoStages) {
  Problem problem = gemm({});
  Schedule schedule = *schedulePrefetch(problem).schedule;
  EXPECT_EQ(schedule.interval, 2);
  EXPECT_EQ(schedule.stages(), 2);
  for (int op = 0; op < problem.numOps(); ++op) {
    OpKind kind = problem.operations[op].kind;
    int phase = kind == OpKind::GlobalLoad ? 0 : kind == OpKind::SharedStore ? 1 : kind == OpKind::SharedLoad ? 2 : 3;
    EXPECT_EQ(schedule.time(op), phase) << problem.operations[op].key;
  }
  // One buffer suffices: the read of this iteration comes before the store of the next.
  EXPECT_EQ(schedule.buffers[0], 1);
}

TEST(FourStage, FourStagesOrThreeWithDirectCopies) {
  EXPECT_EQ(scheduleFourStage(gemm({})).schedule->stages(), 4);
  GemmShape direct;
  direct.asyncCopies = true;
  Scheduled found = scheduleFourStage(gemm(direct));
  EXPECT_EQ(found.schedule->stages(), 3);
  EXPECT_EQ(found.schedule->interval, 1);
}

namespace {
/// index load -> address -> gather -> shared store -> shared load -> transpose -> shared store -> shared load -> mma.
Problem twoMemoryPhases() {
  Problem problem;
  std::vector<std::pair<std::string, OpKind>> chain = {
      {"index", OpKind::GlobalLoad},   {"address", OpKind::Valu},     {"gather", OpKind::GlobalLoad},
      {"store", OpKind::SharedStore},  {"load", OpKind::SharedLoad},  {"transpose", OpKind::Shuffle},
      {"store2", OpKind::SharedStore}, {"load2", OpKind::SharedLoad}, {"mma", OpKind::Mma}};
  int last = -1;
  for (auto &[key, kind] : chain) {
    Operation op = makeOp(key, kind, 8);
    if (last >= 0)
      op.accesses.push_back(reads(last));
    Space space = kind == OpKind::SharedStore ? Space::Shared : Space::Register;
    last = problem.addRegion({key, space, 16, 0, true, false, -1});
    op.accesses.push_back(writes(last));
    problem.addOperation(op);
  }
  return problem;
}
} // namespace

TEST(Prefetch, TwoMemoryPhasesWork) {
  Problem problem = twoMemoryPhases();
  Scheduled found = schedulePrefetch(problem);
  ASSERT_TRUE(found.schedule) << format(found.diagnostics);
  std::vector<int> expected = {0, 0, 0, 1, 1, 1, 1, 2, 3};
  for (int op = 0; op < problem.numOps(); ++op)
    EXPECT_EQ(found.schedule->time(op), expected[op]) << problem.operations[op].key;
}

TEST(Algorithms, AllHandleRecurrencesThroughMemory) {
  // The address of the next load comes from this iteration's arithmetic.
  Problem problem;
  int pointer = problem.addRegion({"pointer", Space::Register, 1, 0, true, false, -1});
  int value = problem.addRegion({"value", Space::Register, 1, 0, true, false, -1});
  Operation load = makeOp("load", OpKind::GlobalLoad, 100), next = makeOp("next", OpKind::Valu, 4);
  Access carried = reads(pointer);
  carried.offset = -1;
  load.accesses = {carried, writes(value)};
  next.accesses = {reads(value), writes(pointer)};
  problem.addOperation(load);
  problem.addOperation(next);
  for (Algorithm algorithm : {Algorithm::None, Algorithm::Prefetch, Algorithm::PrefetchAttention, Algorithm::FourStage,
                              Algorithm::List, Algorithm::Modulo, Algorithm::Exact}) {
    Scheduled found = scheduleWith(algorithm, problem);
    ASSERT_TRUE(found.schedule) << nameOf(algorithm) << format(found.diagnostics);
    if (found.schedule->timing == Timing::Cycles)
      EXPECT_EQ(found.schedule->interval, 104) << nameOf(algorithm);
  }
}

TEST(Modulo, DeterministicAndGivesInToRegisterPressure) {
  Problem problem = gemm({4, 4, 4, 2});
  Scheduled first = scheduleModulo(problem), second = scheduleModulo(problem);
  EXPECT_EQ(*first.schedule, *second.schedule);
  EXPECT_EQ(first.schedule->interval, first.bounds.lower());
  int64_t registers = registerPressure(problem, *first.schedule);
  problem.limits.registers = registers - 8;
  Scheduled tight = scheduleModulo(problem);
  ASSERT_TRUE(tight.schedule) << format(tight.diagnostics);
  EXPECT_LE(registerPressure(problem, *tight.schedule), registers - 8);
  EXPECT_GT(tight.schedule->interval, first.schedule->interval);
  problem.limits.registers = 8;
  Scheduled none = scheduleModulo(problem);
  EXPECT_FALSE(none.schedule);
  ASSERT_FALSE(none.diagnostics.empty());
  EXPECT_EQ(none.diagnostics[0].id, DiagId::ScheduleRegisters);
}

TEST(Modulo, LongReservationsFillTheirUnit) {
  // 32 mma of 16 cycles on one unit: no gap may be lost.
  Problem problem = gemm({2, 4, 4, 2, 16, false, false});
  Scheduled found = scheduleModulo(problem);
  EXPECT_EQ(found.bounds.resource, 512);
  EXPECT_EQ(found.schedule->interval, 512);
}

TEST(Algorithms, NamesRoundTrip) {
  for (const std::string &name : algorithmNames())
    EXPECT_EQ(nameOf(*parseAlgorithm(name)), name);
  EXPECT_FALSE(parseAlgorithm("magic"));
}
