#include "soliton/layout/Choose.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <set>

namespace soliton {
namespace {
/// What is minimised: the cost, then the sum of candidate numbers.
struct Rank {
  ChoiceCost cost = 0;
  int64_t numbers = 0;
  auto operator<=>(const Rank &) const = default;
  Rank operator+(const Rank &other) const { return {std::min(cost + other.cost, kForbidden), numbers + other.numbers}; }
};

/// A cost for each combination of its nodes' candidates; the last node's candidate runs fastest.
struct Table {
  std::vector<size_t> nodes; // ascending
  std::vector<Rank> ranks;
};

/// The number of combinations of the nodes, or `limit + 1` where there are more.
size_t countCombinations(const ChoiceProblem &problem, const std::vector<size_t> &nodes, size_t limit) {
  size_t count = 1;
  for (size_t node : nodes) {
    count *= problem.candidates(node);
    if (count > limit)
      return limit + 1;
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Elimination
//===----------------------------------------------------------------------===//

/// Nodes leave one by one: all tables that speak of a node are added up, and for each combination of the others the
/// best candidate of the leaving one is kept. Backwards, each node then reads its candidate off.
class Elimination {
public:
  Elimination(const ChoiceProblem &problem, size_t maxTable)
      : problem(problem), maxTable(maxTable), around(problem.size()) {
    for (size_t node = 0; node < problem.size(); ++node) {
      Table table{{node}, {}};
      for (size_t i = 0; i < problem.candidates(node); ++i)
        table.ranks.push_back({problem.costs(node)[i], static_cast<int64_t>(i)});
      tables.push_back(std::move(table));
    }
    for (const ChoiceProblem::Relation &relation : problem.relations()) {
      tables.push_back(tableOf(relation));
      connect(tables.back().nodes);
    }
  }

  /// Nothing where a table would become too large.
  std::optional<std::vector<size_t>> run() {
    std::set<size_t> left;
    for (size_t node = 0; node < problem.size(); ++node)
      left.insert(node);
    while (!left.empty()) {
      size_t best = 0, bestSize = maxTable + 1;
      for (size_t node : left)
        if (size_t size = countCombinations(problem, neighbours(node), maxTable); size < bestSize)
          best = node, bestSize = size;
      // The table that is searched has the leaving node's candidates as well.
      if (bestSize > maxTable || bestSize * problem.candidates(best) > maxTable * 8)
        return std::nullopt;
      eliminate(best);
      left.erase(best);
    }
    std::vector<size_t> chosen(problem.size(), 0);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step)
      chosen[step->node] = step->best[positionOf(step->others, chosen)];
    return chosen;
  }

private:
  struct Step {
    size_t node;
    std::vector<size_t> others;
    /// The node's best candidate for each combination of the others.
    std::vector<size_t> best;
  };

  Table tableOf(const ChoiceProblem::Relation &relation) const {
    size_t a = relation.first, b = relation.second, width = problem.candidates(b);
    Table table;
    if (a == b) {
      table.nodes = {a};
      for (size_t i = 0; i < width; ++i)
        table.ranks.push_back({relation.costs[i * width + i], 0});
      return table;
    }
    table.nodes = {std::min(a, b), std::max(a, b)};
    for (size_t i = 0; i < problem.candidates(table.nodes[0]); ++i)
      for (size_t j = 0; j < problem.candidates(table.nodes[1]); ++j)
        table.ranks.push_back({relation.costs[a < b ? i * width + j : j * width + i], 0});
    return table;
  }

  void connect(const std::vector<size_t> &nodes) {
    for (size_t a : nodes)
      for (size_t b : nodes)
        if (a != b)
          around[a].insert(b);
  }

  std::vector<size_t> neighbours(size_t node) const { return {around[node].begin(), around[node].end()}; }

  size_t positionOf(const std::vector<size_t> &nodes, const std::vector<size_t> &chosen) const {
    size_t position = 0;
    for (size_t node : nodes)
      position = position * problem.candidates(node) + chosen[node];
    return position;
  }

  void eliminate(size_t node) {
    Step step{node, neighbours(node), {}};
    std::vector<Table> involved;
    std::erase_if(tables, [&](Table &table) {
      bool speaks = std::ranges::binary_search(table.nodes, node);
      if (speaks)
        involved.push_back(std::move(table));
      return speaks;
    });
    Table rest{step.others, {}};
    std::vector<size_t> chosen(problem.size(), 0);
    size_t count = countCombinations(problem, step.others, SIZE_MAX / 2);
    for (size_t position = 0; position < count; ++position) {
      size_t remainder = position;
      for (auto other = step.others.rbegin(); other != step.others.rend(); ++other) {
        chosen[*other] = remainder % problem.candidates(*other);
        remainder /= problem.candidates(*other);
      }
      Rank best;
      for (size_t i = 0; i < problem.candidates(node); ++i) {
        chosen[node] = i;
        Rank sum;
        for (const Table &table : involved)
          sum = sum + table.ranks[positionOf(table.nodes, chosen)];
        if (i == 0 || sum < best) {
          best = sum;
          step.best.resize(position + 1);
          step.best[position] = i;
        }
      }
      rest.ranks.push_back(best);
    }
    tables.push_back(std::move(rest));
    connect(step.others);
    for (size_t other : step.others)
      around[other].erase(node);
    steps.push_back(std::move(step));
  }

  const ChoiceProblem &problem;
  size_t maxTable;
  std::vector<Table> tables;
  /// The nodes that share a table with each.
  std::vector<std::set<size_t>> around;
  std::vector<Step> steps;
};

//===----------------------------------------------------------------------===//
// Local search
//===----------------------------------------------------------------------===//

/// Each node in turn takes what is best beside the others until nothing changes; then a few neighbouring nodes are
/// moved and it settles again, kept where that is no worse. The moves come from a generator with a fixed start.
class LocalSearch {
public:
  LocalSearch(const ChoiceProblem &problem, int64_t budget)
      : problem(problem), budget(budget), touching(problem.size()) {
    for (size_t i = 0; i < problem.relations().size(); ++i) {
      const ChoiceProblem::Relation &relation = problem.relations()[i];
      touching[relation.first].push_back(i);
      if (relation.second != relation.first)
        touching[relation.second].push_back(i);
    }
  }

  std::vector<size_t> run() {
    std::vector<size_t> best(problem.size(), 0);
    for (size_t node = 0; node < problem.size(); ++node)
      best[node] = static_cast<size_t>(std::ranges::min_element(problem.costs(node)) - problem.costs(node).begin());
    settle(best);
    Rank bestRank = rank(best);
    while (budget > 0) {
      std::vector<size_t> moved = best;
      disturb(moved);
      settle(moved);
      if (Rank now = rank(moved); now <= bestRank)
        best = moved, bestRank = now;
    }
    return best;
  }

private:
  Rank rank(const std::vector<size_t> &chosen) const {
    return {problem.cost(chosen), std::accumulate(chosen.begin(), chosen.end(), int64_t(0))};
  }

  /// What `node` costs with this candidate beside the others as they are.
  Rank rankOf(size_t node, size_t candidate, const std::vector<size_t> &chosen) const {
    Rank sum{problem.costs(node)[candidate], static_cast<int64_t>(candidate)};
    for (size_t index : touching[node]) {
      const ChoiceProblem::Relation &relation = problem.relations()[index];
      size_t row = relation.first == node ? candidate : chosen[relation.first];
      size_t column = relation.second == node ? candidate : chosen[relation.second];
      sum = sum + Rank{relation.costs[row * problem.candidates(relation.second) + column], 0};
    }
    return sum;
  }

  void settle(std::vector<size_t> &chosen) {
    for (bool changed = true; changed && budget > 0;) {
      changed = false;
      for (size_t node = 0; node < problem.size(); ++node) {
        size_t now = chosen[node], best = now;
        Rank bestRank = rankOf(node, now, chosen);
        for (size_t i = 0; i < problem.candidates(node); ++i, --budget)
          if (Rank other = rankOf(node, i, chosen); other < bestRank)
            best = i, bestRank = other;
        changed |= best != now;
        chosen[node] = best;
      }
    }
    --budget;
  }

  void disturb(std::vector<size_t> &chosen) {
    size_t node = next() % problem.size();
    for (int64_t count = 0; count < 3; ++count) {
      chosen[node] = next() % problem.candidates(node);
      if (touching[node].empty())
        return;
      const ChoiceProblem::Relation &relation = problem.relations()[touching[node][next() % touching[node].size()]];
      node = relation.first == node ? relation.second : relation.first;
    }
  }

  size_t next() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>(state >> 33);
  }

  const ChoiceProblem &problem;
  int64_t budget;
  std::vector<std::vector<size_t>> touching;
  uint64_t state = 1;
};
} // namespace

size_t ChoiceProblem::addNode(std::vector<ChoiceCost> costs) {
  assert(!costs.empty() && "a node needs a candidate");
  nodes.push_back(std::move(costs));
  return nodes.size() - 1;
}

void ChoiceProblem::addRelation(size_t first, size_t second, std::vector<ChoiceCost> costs) {
  assert(costs.size() == candidates(first) * candidates(second) && "one cost per pair of candidates");
  related.push_back({first, second, std::move(costs)});
}

ChoiceCost ChoiceProblem::cost(const std::vector<size_t> &chosen) const {
  ChoiceCost sum = 0;
  for (size_t node = 0; node < nodes.size(); ++node)
    sum = std::min(sum + nodes[node][chosen[node]], kForbidden);
  for (const Relation &relation : related)
    sum = std::min(sum + relation.costs[chosen[relation.first] * candidates(relation.second) + chosen[relation.second]],
                   kForbidden);
  return sum;
}

Choice choose(const ChoiceProblem &problem, const ChooseOptions &options) {
  std::optional<std::vector<size_t>> exact = Elimination(problem, options.maxTable).run();
  Choice choice;
  choice.exact = exact.has_value();
  choice.chosen = exact ? *exact : LocalSearch(problem, options.maxMoves).run();
  choice.cost = problem.cost(choice.chosen);
  return choice;
}

std::optional<Choice> runnerUp(const ChoiceProblem &problem, const Choice &best, size_t node,
                               const ChooseOptions &options) {
  // The same problem without that candidate: one that no choice can afford.
  ChoiceProblem without;
  for (size_t i = 0; i < problem.size(); ++i) {
    std::vector<ChoiceCost> costs = problem.costs(i);
    if (i == node)
      costs[best.chosen[node]] = kForbidden;
    without.addNode(std::move(costs));
  }
  for (const ChoiceProblem::Relation &relation : problem.relations())
    without.addRelation(relation.first, relation.second, relation.costs);
  Choice second = choose(without, options);
  if (second.cost >= kForbidden)
    return std::nullopt;
  return second;
}

} // namespace soliton
