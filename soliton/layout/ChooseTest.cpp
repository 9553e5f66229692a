#include "soliton/layout/Choose.h"

#include "soliton/layout/RandomLayouts.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace soliton;
using soliton::test::pick;
using soliton::test::Random;

namespace {
ChoiceCost randomCost(Random &random) {
  return pick(random, 0, 9) == 0 ? kForbidden : pick(random, 0, 20);
}

ChoiceProblem randomProblem(Random &random, int64_t nodes, int64_t maxCandidates, int64_t relations) {
  ChoiceProblem problem;
  for (int64_t i = 0; i < nodes; ++i) {
    std::vector<ChoiceCost> costs(static_cast<size_t>(pick(random, 1, maxCandidates)));
    std::ranges::generate(costs, [&] { return pick(random, 0, 20); });
    problem.addNode(costs);
  }
  for (int64_t i = 0; i < relations; ++i) {
    size_t a = static_cast<size_t>(pick(random, 0, nodes - 1)), b = static_cast<size_t>(pick(random, 0, nodes - 1));
    std::vector<ChoiceCost> costs(problem.candidates(a) * problem.candidates(b));
    std::ranges::generate(costs, [&] { return randomCost(random); });
    problem.addRelation(a, b, costs);
  }
  return problem;
}

/// Every choice in turn; false after the last.
bool advance(const ChoiceProblem &problem, std::vector<size_t> &chosen) {
  for (size_t node = 0; node < chosen.size(); ++node) {
    if (++chosen[node] < problem.candidates(node))
      return true;
    chosen[node] = 0;
  }
  return false;
}

/// The least cost of all choices, and the least sum of candidate numbers that has it; `avoid` is left out for `node`.
std::pair<ChoiceCost, size_t> bruteForce(const ChoiceProblem &problem, size_t node = SIZE_MAX, size_t avoid = 0) {
  std::pair<ChoiceCost, size_t> best{kForbidden, SIZE_MAX};
  std::vector<size_t> chosen(problem.size(), 0);
  do {
    if (node == SIZE_MAX || chosen[node] != avoid)
      best = std::min(best, {problem.cost(chosen), std::accumulate(chosen.begin(), chosen.end(), size_t(0))});
  } while (advance(problem, chosen));
  return best;
}

TEST(ChoiceProblem, PaysForARelationWhereThatIsCheaperThanAgreeing) {
  ChoiceProblem problem;
  size_t a = problem.addNode({0, 3}), b = problem.addNode({5, 0});
  problem.addRelation(a, b, {0, 9, 9, 0});
  EXPECT_EQ(choose(problem).chosen, (std::vector<size_t>{1, 1}));
  ChoiceProblem cheap;
  cheap.addNode({0, 3}), cheap.addNode({5, 0});
  cheap.addRelation(0, 1, {0, 1, 1, 0});
  EXPECT_EQ(choose(cheap).chosen, (std::vector<size_t>{0, 1}));
}

TEST(ChoiceProblem, EliminationFindsWhatTryingAllFinds) {
  Random random(1);
  for (int round = 0; round < 600; ++round) {
    ChoiceProblem problem = randomProblem(random, pick(random, 1, 7), 4, pick(random, 0, 12));
    Choice choice = choose(problem);
    auto [cost, numbers] = bruteForce(problem);
    EXPECT_TRUE(choice.exact);
    ASSERT_EQ(choice.cost, cost) << "round " << round;
    if (cost < kForbidden) {
      EXPECT_EQ(std::accumulate(choice.chosen.begin(), choice.chosen.end(), size_t(0)), numbers);
    }
  }
}

TEST(ChoiceProblem, RunnerUpIsTheBestOfAllOthers) {
  Random random(2);
  int found = 0;
  for (int round = 0; round < 200; ++round) {
    ChoiceProblem problem = randomProblem(random, pick(random, 1, 6), 3, pick(random, 0, 8));
    Choice best = choose(problem);
    if (best.cost >= kForbidden)
      continue;
    size_t node = static_cast<size_t>(pick(random, 0, static_cast<int64_t>(problem.size()) - 1));
    std::optional<Choice> second = runnerUp(problem, best, node);
    ChoiceCost expected = bruteForce(problem, node, best.chosen[node]).first;
    ASSERT_EQ(second.has_value(), expected < kForbidden) << "round " << round;
    if (!second)
      continue;
    ++found;
    EXPECT_EQ(second->cost, expected);
    EXPECT_NE(second->chosen[node], best.chosen[node]);
  }
  EXPECT_GT(found, 50);
}

TEST(ChoiceProblem, DoesNotDependOnTheOrderOfRelationsOrNodes) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    ChoiceProblem problem = randomProblem(random, 6, 4, 9);
    std::vector<size_t> order(problem.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    ChoiceProblem other;
    std::vector<size_t> where(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      where[order[i]] = other.addNode(problem.costs(order[i]));
    for (auto relation = problem.relations().rbegin(); relation != problem.relations().rend(); ++relation)
      other.addRelation(where[relation->first], where[relation->second], relation->costs);
    Choice a = choose(problem), b = choose(other);
    EXPECT_EQ(a.cost, b.cost);
    if (a.cost < kForbidden) {
      EXPECT_EQ(std::accumulate(a.chosen.begin(), a.chosen.end(), size_t(0)),
                std::accumulate(b.chosen.begin(), b.chosen.end(), size_t(0)));
    }
  }
}

TEST(ChoiceProblem, LocalSearchIsDeterministicAndRarelyWorse) {
  Random random(4);
  int optimal = 0, rounds = 0;
  for (int round = 0; round < 150; ++round) {
    ChoiceProblem problem = randomProblem(random, 7, 4, 10);
    Choice exact = choose(problem), local = choose(problem, {.maxTable = 0, .maxMoves = 4000});
    if (exact.cost >= kForbidden)
      continue;
    ++rounds;
    EXPECT_FALSE(local.exact);
    EXPECT_GE(local.cost, exact.cost);
    EXPECT_EQ(local.cost, problem.cost(local.chosen));
    EXPECT_EQ(local.chosen, choose(problem, {.maxTable = 0, .maxMoves = 4000}).chosen);
    optimal += local.cost == exact.cost;
  }
  EXPECT_GE(optimal * 10, rounds * 9);
}

TEST(ChoiceProblem, LongChainsAreExactAndFast) {
  Random random(5);
  ChoiceProblem problem;
  for (int i = 0; i < 300; ++i)
    problem.addNode({pick(random, 0, 9), pick(random, 0, 9), pick(random, 0, 9)});
  for (size_t i = 0; i + 1 < problem.size(); ++i)
    problem.addRelation(i, i + 1, {0, 4, 4, 4, 0, 4, 4, 4, 0});
  EXPECT_TRUE(choose(problem).exact);
}
} // namespace
