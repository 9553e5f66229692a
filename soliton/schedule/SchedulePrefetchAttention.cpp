//===- SchedulePrefetchAttention.cpp - Two products, four stages ------------===//
//
// Wave's PREFETCH_ATTENTION, for loops in which one product feeds another with arithmetic between them: keys are
// fetched three iterations ahead, values two, and the softmax of one tile runs beside the products of others.
//
//              cycle 0                                   cycle 1
//   stage 0    fetch keys n+3                            store keys n+3
//   stage 1    load keys n+2, fetch values n+2           store values n+2
//   stage 2    first product n+1                         softmax up to its first reduction n+1
//   stage 3    the rest of softmax n, load values n      second product n
//
// As with PREFETCH these are wishes that dependences may push later.
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Algorithms.h"

#include <algorithm>

namespace soliton::sched {
namespace {

constexpr int kInterval = 2;
enum Want : int {
  fetchKeys = 0,
  storeKeys = 1,
  loadKeys = 2,
  firstProduct = 4,
  reduced = 5,
  rest = 6,
  secondProduct = 7
};

/// What an op would like, by where it stands between the products.
class Wishes {
public:
  Wishes(const Problem &problem, std::span<const Dependence> dependences)
      : problem(problem), dependences(dependences), graph(problem.numOps(), dependences) {
    countProducts();
    findFirst();
    for (int op = 0; op < problem.numOps(); ++op)
      phases.push_back(wish(op));
    pullArithmetic();
  }
  std::vector<int> phases;

private:
  const Operation &at(int op) const { return problem.operations[op]; }
  bool isProduct(int op) const { return at(op).kind == OpKind::Mma; }
  bool isData(const Edge &edge) const {
    return edge.distance == 0 && edge.to > edge.from && dependences[edge.dependence].kind == DepKind::Raw;
  }

  /// How many products of the author's stand in front of each op. Ops are in the order of the source.
  void countProducts() {
    products.assign(problem.numOps(), 0);
    for (int op = 0; op < problem.numOps(); ++op)
      for (const Edge &edge : graph.from(op)) {
        if (!isData(edge))
          continue;
        bool isAnother = isProduct(op) && at(op).origin.op != at(edge.to).origin.op;
        products[edge.to] = std::max(products[edge.to], products[op] + isAnother);
      }
  }

  /// Which ops the first product needs, and which the first reduction behind it.
  void findFirst() {
    feedsProduct.assign(problem.numOps(), false);
    feedsReduction.assign(problem.numOps(), false);
    for (int op = 0; op < problem.numOps() && reduction < 0; ++op)
      if (products[op] > 0 && at(op).origin.type == "reduce")
        reduction = at(op).origin.op;
    for (int op = problem.numOps() - 1; op >= 0; --op) {
      feedsProduct[op] = isProduct(op) && products[op] == 0;
      feedsReduction[op] = reduction >= 0 && at(op).origin.op == reduction;
      for (const Edge &edge : graph.from(op))
        if (isData(edge)) {
          feedsProduct[op] = feedsProduct[op] || feedsProduct[edge.to];
          feedsReduction[op] = feedsReduction[op] || feedsReduction[edge.to];
        }
    }
  }

  int wish(int op) const {
    if (isProduct(op))
      return products[op] == 0 ? firstProduct : secondProduct;
    if (products[op] > 0)
      return feedsReduction[op] ? reduced : rest;
    bool ofKeys = feedsProduct[op];
    switch (at(op).kind) {
    case OpKind::GlobalLoad:
    case OpKind::CopyAsync:
      return ofKeys ? fetchKeys : fetchKeys + kInterval;
    case OpKind::SharedStore:
      return ofKeys ? storeKeys : storeKeys + kInterval;
    case OpKind::SharedLoad:
      return ofKeys ? loadKeys : rest;
    default:
      return ofKeys ? firstProduct : rest;
    }
  }

  /// What feeds memory of its iteration, and a barrier or wait in front of it, is wanted as early as that.
  void pullArithmetic() {
    auto isSync = [&](int op) {
      return at(op).kind == OpKind::Barrier || at(op).kind == OpKind::Wait || at(op).kind == OpKind::Commit;
    };
    for (int op = problem.numOps() - 1; op >= 0; --op)
      for (const Edge &edge : graph.from(op))
        if (isData(edge) || (edge.distance == 0 && edge.to > op && isSync(op)))
          phases[op] = std::min(phases[op], phases[edge.to]);
  }

  const Problem &problem;
  std::span<const Dependence> dependences;
  Graph graph;
  std::vector<int> products;
  std::vector<bool> feedsProduct, feedsReduction;
  int reduction = -1;
};

} // namespace

Scheduled schedulePrefetchAttention(const Problem &problem) {
  Scheduled result;
  std::vector<Dependence> dependences;
  if (!prepare(problem, dependences, result))
    return result;
  std::vector<int> phases = settledPhases(problem, dependences, kInterval, Wishes(problem, dependences).phases);
  accept(problem, inPhases(problem, dependences, "prefetch_attention", kInterval, phases), result);
  return result;
}

} // namespace soliton::sched
