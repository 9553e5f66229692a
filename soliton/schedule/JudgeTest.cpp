// The judge that remembers gives the verdicts of the verifier that does not.
#include "soliton/schedule/Judge.h"
#include "RandomLoops.h"
#include "TestCandidates.h"
#include "soliton/schedule/Algorithms.h"

#include "gtest/gtest.h"

namespace soliton::sched {
namespace {
using namespace testing;

std::string text(const Verdict &verdict) {
  return std::string(verdict.accepted ? "accepted" : "rejected") + ", reason " +
         (verdict.reason ? std::to_string(static_cast<int>(*verdict.reason)) : "none") + ", registers " +
         std::to_string(verdict.registers) + ", bytes " + std::to_string(verdict.sharedBytes) + ", interval " +
         std::to_string(verdict.interval);
}

/// Changes of random ops, one after the other, each judged both ways.
void expectEqual(const Problem &problem, Schedule schedule, int candidates, uint32_t seed, int &accepted) {
  schedule.buffers.clear();
  Judge judge(problem);
  ASSERT_EQ(judge.judge(schedule), verdictFromScratch(problem, schedule));
  Candidates next(problem, schedule, seed);
  for (int i = 0; i < candidates; ++i) {
    std::vector<Change> changes = next.propose(judge.schedule());
    Verdict remembered = judge.rejudge(changes), fresh = verdictFromScratch(problem, next.schedule());
    ASSERT_EQ(remembered, fresh) << "candidate " << i << "\n" << text(remembered) << "\n" << text(fresh);
    if (remembered.violated) {
      ASSERT_EQ(describe(problem, *remembered.violated), describe(problem, *fresh.violated));
    }
    accepted += remembered.accepted;
    if (std::vector<Change> back = next.settle(remembered.accepted); !back.empty())
      judge.rejudge(back);
  }
}

TEST(Judge, EqualsTheVerifierOnGemmLoops) {
  int accepted = 0;
  uint32_t seed = 1;
  for (const GemmShape &shape : {GemmShape{2, 2, 2, 2, 16, false, false}, GemmShape{1, 1, 2, 2, 4, true, false},
                                 GemmShape{2, 2, 2, 1, 4, false, true}, GemmShape{4, 8, 4, 4, 16, false, false}})
    for (Algorithm algorithm :
         {Algorithm::Prefetch, Algorithm::PrefetchAttention, Algorithm::FourStage, Algorithm::Modulo}) {
      Problem problem = gemm(shape);
      expectEqual(problem, *scheduleWith(algorithm, problem).schedule, shape.loads < 4 ? 60 : 15, ++seed, accepted);
    }
  EXPECT_GT(accepted, 100);
}

TEST(Judge, EqualsTheVerifierOnRandomLoops) {
  int accepted = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Problem problem = randomLoop(seed, 12).problem;
    problem.limits.registers = 8;
    expectEqual(problem, *scheduleModulo(problem).schedule, 12, seed, accepted);
  }
  EXPECT_GT(accepted, 50);
}

TEST(Judge, EqualsTheVerifierWithGroupsAndPhases) {
  int accepted = 0;
  Body body = pingPong(PingPong::Proven, {2, 2, 8, 4});
  expectEqual(body.problem, body.schedule, 40, 3, accepted);
  Problem ring = producerConsumer(3);
  expectEqual(ring, *scheduleModulo(ring).schedule, 40, 4, accepted);
  EXPECT_GT(accepted, 5);
}

TEST(Judge, SlotsThatNoScheduleMayHaveAreReportedAndForgotten) {
  Problem problem = gemm({2, 2, 2, 2, 16, false, false});
  Schedule schedule = *scheduleModulo(problem).schedule;
  Judge judge(problem);
  Verdict good = judge.judge(schedule);
  ASSERT_TRUE(good.accepted);
  Slot before = schedule.slots[3];
  EXPECT_EQ(judge.rejudge({{3, {0, schedule.interval, 0, 0}}}).reason, DiagId::ScheduleMalformed);
  EXPECT_EQ(judge.rejudge({{3, {-1, 0, 0, 0}}}).reason, DiagId::ScheduleMissingOp);
  EXPECT_EQ(judge.rejudge({{3, before}}), good);
}

TEST(Judge, BuffersThatAreSaidStay) {
  Problem problem = gemm({2, 2, 2, 2, 4, true, false});
  Schedule schedule = *scheduleModulo(problem).schedule;
  ASSERT_GT(schedule.buffers[0], 1);
  schedule.buffers.assign(problem.regions.size(), 0);
  schedule.buffers[0] = 1;
  Verdict verdict = Judge(problem).judge(schedule);
  EXPECT_EQ(verdict.reason, DiagId::ScheduleBuffers);
  EXPECT_EQ(verdict, verdictFromScratch(problem, schedule));
}

} // namespace
} // namespace soliton::sched
