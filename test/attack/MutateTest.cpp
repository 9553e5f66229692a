// Proof by attack: whatever damage the adversary can turn into a wrong result or a hang, the verifier reports.
#include "test/attack/Mutate.h"
#include "soliton/schedule/Adversary.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/TestProblems.h"
#include "soliton/schedule/Verify.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
struct Good {
  std::string name;
  Problem problem;
  Schedule schedule;
  Program program;
};

void add(std::vector<Good> &list, std::string name, const Problem &problem, Schedule schedule) {
  assignBuffers(problem, schedule);
  Program program = synchronize(problem, schedule).program;
  list.push_back({std::move(name), problem, std::move(schedule), std::move(program)});
}

/// Small loops of every kind with every way to schedule them.
std::vector<Good> goodPrograms() {
  std::vector<Good> list;
  GemmShape plain{1, 1, 2, 1, 16, false, false}, direct = plain, grouped = plain;
  direct.asyncCopies = true;
  grouped.groupCopies = true;
  int index = 0;
  for (const GemmShape &shape : {plain, direct, grouped}) {
    Problem problem = gemm(shape);
    for (Algorithm algorithm :
         {Algorithm::None, Algorithm::Prefetch, Algorithm::FourStage, Algorithm::List, Algorithm::Modulo})
      if (Scheduled found = scheduleWith(algorithm, problem); found.schedule)
        add(list, std::string(nameOf(algorithm)) + std::to_string(index), problem, *found.schedule);
    ++index;
  }
  Body four = fourWave();
  add(list, "four_wave", four.problem, four.schedule);
  Body pingpong = pingPong(PingPong::Proven, {1, 1, 1, 1});
  add(list, "ping_pong", pingpong.problem, pingpong.schedule);
  // Two groups of waves, one behind the other, on loops of several sizes.
  for (int size = 0; size < 15; ++size) {
    Problem problem = gemm({1, 1 + size / 5, 1, 1 + size % 2, 8 + size, size % 3 == 1, size % 3 == 2});
    problem.groups = 2;
    problem.stagger = {0, 1 + size % 2};
    for (Algorithm algorithm : {Algorithm::Prefetch, Algorithm::Modulo})
      add(list, "staggered" + std::to_string(size), problem, *scheduleWith(algorithm, problem).schedule);
  }
  Problem ring = producerConsumer(2, 1);
  add(list, "ring", ring, *scheduleNone(ring).schedule);
  return list;
}

std::string harm(const Good &good, const Mutant &mutant) {
  int stages = good.schedule.stages();
  for (int trips : {stages + 2, stages})
    if (trips >= mutant.program.peeled)
      if (std::string failure = attack(good.problem, mutant.schedule, mutant.program, trips, 12); !failure.empty())
        return failure;
  return {};
}
} // namespace

TEST(Mutate, GoodProgramsRaiseNoAlarmAndResistTheAdversary) {
  for (const Good &good : goodPrograms()) {
    Report report = verify(good.problem, good.schedule, good.program);
    EXPECT_TRUE(report.ok()) << good.name << "\n" << format(report.diagnostics);
    for (int extra : {0, 1, 4})
      EXPECT_EQ(attack(good.problem, good.schedule, good.program, good.schedule.stages() + extra, 12), "") << good.name;
  }
}

TEST(Mutate, EveryHarmfulDamageIsReported) {
  std::map<Mutation, std::pair<int, int>> count; // harmful, reported
  int reportedWithFix = 0, harmful = 0;
  for (const Good &good : goodPrograms())
    for (Mutation kind : allMutations())
      for (uint32_t seed = 0; seed < (good.problem.stagger.empty() ? 8u : 3u); ++seed) {
        std::optional<Mutant> mutant = mutate(good.problem, good.schedule, good.program, kind, seed * 31 + 7);
        if (!mutant || harm(good, *mutant).empty())
          continue;
        Report report = verify(good.problem, mutant->schedule, mutant->program);
        ++harmful;
        ++count[kind].first;
        count[kind].second += !report.ok();
        EXPECT_FALSE(report.ok()) << good.name << ": " << mutant->what << ": " << harm(good, *mutant);
        if (!report.ok()) {
          const Diagnostic &first = report.diagnostics.front();
          reportedWithFix += !first.hint.empty();
        }
      }
  EXPECT_EQ(reportedWithFix, harmful);
  EXPECT_GE(harmful, 500);
  for (Mutation kind : allMutations())
    EXPECT_GE(count[kind].first, 50) << nameOf(kind);
  std::printf("%d harmful mutants\n", harmful);
  for (const auto &[kind, numbers] : count)
    std::printf("  %-16s %d harmful, %d reported\n", std::string(nameOf(kind)).c_str(), numbers.first, numbers.second);
}
