//===- Choose.h - The cheapest combination of candidates ----------------------------===//
//
// A *node* takes one of its candidates, each with a cost of its own; a *relation* says what a pair of nodes costs for
// each pair of their candidates (what it takes to get from one layout to the other, say). Chosen is what costs least in
// all:
//
//   ChoiceProblem problem;
//   auto a = problem.addNode({0, 3}), b = problem.addNode({5, 0});
//   problem.addRelation(a, b, {0, 9, 9, 0});          // rows are a's candidates: 9 where they differ
//   choose(problem).chosen == {1, 1}                  // 3 + 0 + 0; {0, 0} costs 5
//
// The search is exact while nodes can be eliminated one after the other with small tables, which relations that form
// trees or thin graphs always allow; beyond that it is a local search with a budget of steps. Both are deterministic:
// of equal costs the one with the smaller sum of candidate numbers wins, so list first what is to be preferred.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace soliton {

using ChoiceCost = int64_t;
/// A combination that is not allowed.
constexpr ChoiceCost kForbidden = INT64_MAX / 4;

class ChoiceProblem {
public:
  struct Relation {
    size_t first = 0, second = 0;
    /// Row-major: a row per candidate of `first`.
    std::vector<ChoiceCost> costs;
  };

  /// A node with as many candidates as costs, at least one.
  size_t addNode(std::vector<ChoiceCost> costs);
  /// `costs` has one entry per pair of candidates. Several relations of the same nodes add up; a relation of a node
  /// with itself adds its diagonal.
  void addRelation(size_t first, size_t second, std::vector<ChoiceCost> costs);

  size_t size() const { return nodes.size(); }
  size_t candidates(size_t node) const { return nodes[node].size(); }
  const std::vector<ChoiceCost> &costs(size_t node) const { return nodes[node]; }
  const std::vector<Relation> &relations() const { return related; }
  /// What a choice costs in all; kForbidden at most.
  ChoiceCost cost(const std::vector<size_t> &chosen) const;

private:
  std::vector<std::vector<ChoiceCost>> nodes;
  std::vector<Relation> related;
};

struct ChooseOptions {
  /// Entries of the largest table that elimination may make.
  size_t maxTable = 1 << 16;
  /// Moves that the local search may try.
  int64_t maxMoves = 200000;
};

struct Choice {
  /// One candidate per node.
  std::vector<size_t> chosen;
  ChoiceCost cost = 0;
  /// Nothing is cheaper; otherwise nothing cheaper was found.
  bool exact = true;
};

/// The cheapest choice; its cost is kForbidden where everything is.
Choice choose(const ChoiceProblem &problem, const ChooseOptions &options = {});

/// The cheapest choice in which `node` takes another candidate than it has in `best`; nothing where it has only one or
/// no other is allowed.
std::optional<Choice> runnerUp(const ChoiceProblem &problem, const Choice &best, size_t node,
                               const ChooseOptions &options = {});

} // namespace soliton
