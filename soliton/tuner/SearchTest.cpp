// Strategies on the loops of real kernels: what they find, how often random finds it, and that it is proven.
#include "soliton/tuner/Search.h"
#include "TestLoops.h"
#include "soliton/schedule/Starts.h"
#include "soliton/tuner/Regression.h"
#include "soliton/tuner/ScheduleDomain.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <set>

namespace soliton::tune {
namespace {
using namespace sched;
using namespace testing;

struct Outcome {
  double score = kRefused;
  Modelled modelled;
  Point point;
  std::vector<Point> proposed;
};

Outcome search(Strategy strategy, const ScheduleDomain &domain, LoopCost &cost, int budget, uint64_t seed = 1) {
  SearchOptions options{.seed = seed, .budget = budget};
  std::unique_ptr<Search> search = makeSearch(strategy, domain, options);
  Outcome best;
  for (int tried = 0; tried < budget;) {
    std::vector<double> costs;
    for (const Point &point : search->propose()) {
      Modelled modelled = cost.of(domain.scheduleOf(point), domain.moreOf(point));
      EXPECT_TRUE(!modelled.accepted || modelled.cycles >= cost.bound());
      costs.push_back(modelled.accepted ? modelled.score() : kRefused);
      best.proposed.push_back(point);
      if (costs.back() < best.score) {
        best.score = costs.back();
        best.modelled = modelled;
        best.point = point;
      }
    }
    tried += static_cast<int>(costs.size());
    search->learn(costs);
  }
  return best;
}

LoopChoice attentionD64(std::string target, std::string schedule) {
  return {
      "attention", std::move(target), std::move(schedule), {{"B", 1}, {"H", 32}, {"Q", 512}, {"KV", 512}, {"D", 64}}};
}

/// 32 heads of 4 tiles of queries, 8 tiles of keys.
constexpr Launch kAttention{.workgroups = 128, .waves = 4, .iterations = 8};
constexpr Launch kGemm{.workgroups = 256, .waves = 4, .iterations = 16};

/// Seeds of each search; SOLITON_SEARCH_SEEDS says more of them.
int seedsToTry() {
  const char *said = std::getenv("SOLITON_SEARCH_SEEDS");
  return said ? std::max(std::atoi(said), 1) : 1;
}

/// Five kernels, each from the order in which it was written; the mean of all seeds counts.
TEST(Search, EachStrategyBeatsRandomAtEqualBudget) {
  constexpr int budget = 320;
  struct Case {
    LoopChoice choice;
    Launch launch;
  };
  const Case cases[] = {{attentionD64("gfx942", "none"), kAttention},
                        {{"gemm", "sm_90a", "none"}, kGemm},
                        {{"gemm_gated", "gfx950", "none"}, kGemm},
                        {{"gemm_w8", "gfx942", "none"}, kGemm},
                        {{"conv2d_nhwc", "gfx942", "none"}, kGemm}};
  std::map<Strategy, int> wins;
  for (const Case &each : cases) {
    LoopReport report = loopOf(each.choice);
    LoopCost cost(report.problem, *findTarget(each.choice.target), each.launch);
    ScheduleDomain domain(report.problem, report.schedule);
    auto found = [&](Strategy strategy) {
      double sum = 0;
      for (int seed = 1; seed <= seedsToTry(); ++seed)
        sum += search(strategy, domain, cost, budget, seed).score;
      return sum / seedsToTry();
    };
    double start = cost.of(domain.scheduleOf(domain.start())).score(), random = found(Strategy::Random);
    std::cout << each.choice.kernel << " on " << each.choice.target << ": start " << std::lround(start)
              << " cycles modelled, random " << std::lround(random);
    for (Strategy strategy : {Strategy::HillClimbing, Strategy::Annealing, Strategy::Evolution, Strategy::Model}) {
      double score = found(strategy);
      wins[strategy] += score < random;
      std::cout << ", " << nameOf(strategy) << " " << std::lround(score);
    }
    std::cout << ", bound " << cost.bound() << "\n";
  }
  for (const auto &[strategy, count] : wins)
    EXPECT_GE(count, 4) << nameOf(strategy);
}

/// Each kind of move is made from a start that has something to move, and most of what comes of it is accepted.
TEST(ScheduleDomain, MovesChangeStagesOrderIntervalAndBuffers) {
  LoopReport report = loopOf({"gemm", "gfx942", "modulo"});
  LoopCost cost(report.problem, *findTarget("gfx942"), kGemm);
  ScheduleDomain domain(report.problem, report.schedule);
  Random random(11);
  std::set<int> stages;
  std::set<int64_t> intervals, sharedBytes;
  int wide = 0, faster = 0;
  Schedule start = domain.scheduleOf(domain.start());
  Modelled before = cost.of(start);
  for (int i = 0; i < 300; ++i) {
    Point point = disturbed(domain, domain.start(), 1 + i % 4, random);
    std::vector<int> more = domain.moreOf(point);
    Modelled modelled = cost.of(domain.scheduleOf(point), more);
    wide += std::ranges::any_of(more, [](int count) { return count > 0; });
    if (!modelled.accepted)
      continue;
    stages.insert(modelled.stages);
    intervals.insert(modelled.interval);
    sharedBytes.insert(modelled.sharedBytes);
    faster += modelled.cycles < before.cycles;
    // What is shown, and so compiled, has the buffers that were judged.
    Modelled shown = cost.of(domain.presentable(point));
    EXPECT_EQ(shown.sharedBytes, modelled.sharedBytes);
  }
  EXPECT_GT(stages.size(), 2U);
  EXPECT_GT(intervals.size(), 10U);
  EXPECT_GT(sharedBytes.size(), 2U);
  EXPECT_GT(wide, 5);
}

/// Hints of an author's schedule are ops like others: a search may start from it, and puts them elsewhere.
TEST(ScheduleDomain, HintsAreMoved) {
  LoopReport report = loopOf({"gemm", "gfx942", "modulo"});
  Problem problem = report.problem;
  Schedule schedule = report.schedule;
  Operation hint = makeAdded(OpKind::Hint, HintKind::Priority, {1}, -1, 0, kAllGroups);
  hint.key = "schedule/priority.0";
  int op = problem.addOperation(std::move(hint));
  schedule.slots.push_back({0, 0, 0, 0});
  ASSERT_FALSE(ScheduleDomain::whyNot(problem, schedule));
  LoopCost cost(problem, *findTarget("gfx942"), kGemm);
  ScheduleDomain domain(problem, schedule);
  Random random(2);
  std::set<int32_t> places;
  for (int i = 0; i < 200; ++i) {
    Point point = domain.neighbour(domain.start(), random);
    places.insert(point[op]);
    if (i % 20 == 0)
      EXPECT_TRUE(cost.of(domain.scheduleOf(point), domain.moreOf(point)).accepted);
  }
  EXPECT_GT(places.size(), 5U);
}

TEST(Search, AttentionIsAtLeastTenPercentBelowModulo) {
  LoopReport modulo = loopOf(attentionD64("gfx942", "modulo"));
  LoopCost cost(modulo.problem, *findTarget("gfx942"), kAttention);
  Modelled before = cost.of(modulo.schedule, modulo.program);
  std::vector<Start> starts = findStarts(modulo.problem, cost);
  ScheduleDomain domain(modulo.problem, starts.front().schedule);
  Outcome found = search(Strategy::Annealing, domain, cost, 800);
  EXPECT_LE(found.modelled.cycles * 10, before.cycles * 9);
  EXPECT_LE(found.modelled.cycles, starts.front().modelled.cycles);
  // What was found is right by the verifier that remembers nothing, and takes the time that was said.
  Schedule schedule = domain.presentable(found.point);
  Verdict verdict = verdictFromScratch(modulo.problem, schedule);
  EXPECT_TRUE(verdict.accepted);
  EXPECT_EQ(verdict.interval, found.modelled.interval);
}

TEST(Search, TheSameSeedProposesTheSame) {
  LoopReport report = loopOf({"gemm", "gfx942", "none"});
  LoopCost cost(report.problem, *findTarget("gfx942"), kGemm);
  ScheduleDomain domain(report.problem, report.schedule);
  for (Strategy strategy :
       {Strategy::Random, Strategy::HillClimbing, Strategy::Annealing, Strategy::Evolution, Strategy::Model}) {
    Outcome first = search(strategy, domain, cost, 160, 7), again = search(strategy, domain, cost, 160, 7);
    EXPECT_EQ(first.proposed, again.proposed) << nameOf(strategy);
    EXPECT_NE(first.proposed, search(strategy, domain, cost, 160, 8).proposed) << nameOf(strategy);
  }
}

TEST(ScheduleDomain, MovesKeepDependencesAndMostAreAccepted) {
  LoopReport report = loopOf({"gemm", "gfx942", "prefetch"});
  LoopCost cost(report.problem, *findTarget("gfx942"), kGemm);
  ScheduleDomain domain(report.problem, report.schedule);
  Random random(3);
  int accepted = 0;
  Point point = domain.start();
  for (int i = 0; i < 200; ++i) {
    point = i % 20 == 19 ? domain.anywhere(random) : domain.neighbour(point, random);
    Modelled modelled = cost.of(domain.scheduleOf(point), domain.moreOf(point));
    accepted += modelled.accepted;
    EXPECT_NE(modelled.reason, DiagId::ScheduleDependence);
    EXPECT_EQ(domain.pointOf(domain.scheduleOf(point), domain.moreOf(point)), point);
  }
  EXPECT_GT(accepted, 150);
}

TEST(ScheduleDomain, WhatIsShownHasTheSameOrderAndTime) {
  LoopReport report = loopOf({"gemm", "gfx942", "modulo"});
  LoopCost cost(report.problem, *findTarget("gfx942"), kGemm);
  ScheduleDomain domain(report.problem, report.schedule);
  Random random(5);
  for (int i = 0; i < 10; ++i) {
    Point point = disturbed(domain, domain.start(), i, random);
    Schedule plain = domain.scheduleOf(point), shown = domain.presentable(point);
    EXPECT_EQ(emissionOrder(plain), emissionOrder(shown));
    Modelled modelled = cost.of(plain, domain.moreOf(point));
    EXPECT_EQ(cost.of(shown).cycles, modelled.cycles);
    // That of one trip, where trips of different lengths alternate.
    EXPECT_NEAR(shown.interval, modelled.interval, modelled.interval / 10.0);
  }
}

TEST(LoopCost, NearAndFarGiveTheSame) {
  LoopReport report = loopOf(attentionD64("gfx950", "modulo"));
  LoopCost remembers(report.problem, *findTarget("gfx950"), kAttention);
  ScheduleDomain domain(report.problem, report.schedule);
  Random random(9);
  Point point = domain.start();
  for (int i = 0; i < 40; ++i) {
    point = domain.neighbour(point, random);
    Schedule schedule = domain.scheduleOf(point);
    LoopCost fresh(report.problem, *findTarget("gfx950"), kAttention);
    std::vector<int> more = domain.moreOf(point);
    EXPECT_EQ(remembers.of(schedule, more).score(), fresh.of(schedule, more).score());
  }
}

TEST(LoopCost, FewWorkgroupsTakeTheLengthAndManyTheUnits) {
  LoopReport report = loopOf(attentionD64("gfx942", "modulo"));
  const Target &target = *findTarget("gfx942");
  Modelled few = LoopCost(report.problem, target, kAttention).of(report.schedule);
  Launch more = kAttention;
  more.workgroups = 3 * target.computeUnits;
  Modelled many = LoopCost(report.problem, target, more).of(report.schedule);
  EXPECT_EQ(few.resident, 1);
  EXPECT_EQ(few.cycles, few.length);
  EXPECT_EQ(many.resident, 3);
  EXPECT_EQ(many.rounds, 1);
  EXPECT_GE(many.cycles, few.cycles);
  EXPECT_LT(many.cycles, 3 * few.cycles);
}

TEST(Regression, FindsWeightsAndIgnoresWhatNeverChanges) {
  Regression model(3, 1e-6);
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    double x = random.unit(), y = random.unit() * 1000;
    model.add(std::vector{x, y, 5.0}, 3 * x - 0.01 * y + 7);
  }
  model.fit();
  EXPECT_NEAR(model.predict(std::vector{0.5, 100.0, 5.0}), 7.5, 1e-3);
  EXPECT_NEAR(model.predict(std::vector{0.5, 100.0, 9.0}), 7.5, 1e-3);
}

TEST(Strategy, NamesAreReadBack) {
  for (const std::string &name : strategyNames())
    EXPECT_EQ(nameOf(*parseStrategy(name)), name);
  EXPECT_FALSE(parseStrategy("hill"));
}

} // namespace
} // namespace soliton::tune
