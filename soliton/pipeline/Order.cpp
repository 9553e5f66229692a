#include "soliton/pipeline/Order.h"

#include <algorithm>
#include <numeric>

namespace soliton::pipe {
namespace {
std::vector<std::vector<int>> producersOf(const LoopBody &body) {
  std::vector<std::vector<int>> producers(body.size());
  for (const DepEdge &edge : body.edges)
    if (edge.distance == 0)
      producers[edge.consumer].push_back(edge.producer);
  return producers;
}

/// Which ops are placed and which may be next.
class Placement {
public:
  explicit Placement(const LoopBody &body) : producers(producersOf(body)), placed(body.size(), 0) {}

  bool isReady(int op) const {
    return !placed[op] &&
           std::all_of(producers[op].begin(), producers[op].end(), [&](int producer) { return placed[producer]; });
  }
  /// The lowest op of [begin, end) that is ready; -1 if there is none.
  int firstReady(int begin, int end) const {
    for (int op = begin; op < end; ++op)
      if (isReady(op))
        return op;
    return -1;
  }
  /// A producer of `op` that is not placed; -1 if all are.
  int missing(int op) const {
    auto it = std::find_if(producers[op].begin(), producers[op].end(), [&](int p) { return !placed[p]; });
    return it == producers[op].end() ? -1 : *it;
  }
  void place(int op) { placed[op] = 1; }
  void remove(int op) { placed[op] = 0; }
  bool isPlaced(int op) const { return placed[op]; }

private:
  std::vector<std::vector<int>> producers;
  std::vector<char> placed;
};

Diagnostic stuckError(const LoopBody &body, std::span<const int> order) {
  Placement placement(body);
  for (int op : order)
    placement.place(op);
  int stuck = 0;
  while (placement.isPlaced(stuck))
    ++stuck;
  int cause = placement.missing(stuck);
  Diagnostic error{Severity::error, DiagId::PipelineInfeasible, body.ops[stuck].where.place(), "", "", {}};
  std::string who = "op " + std::to_string(stuck);
  if (cause < 0) {
    error.message = who + " stands behind the last compute op of its half, so no block takes it";
    error.hint = "declare it in front of a compute op";
    return error;
  }
  std::string other = "op " + std::to_string(cause);
  error.message = "no order keeps the halves apart: " + who + " waits for " + other + ", which never comes before it";
  error.hint = "declare the order by hand (`Strategy::Identity`), or let the edge lead to the next trip";
  error.notes = {{body.ops[cause].where.place(), other + " is declared here"}};
  return error;
}

/// Depth-first search over positions, the op with the longest way to the end first.
class OrderSearch {
public:
  OrderSearch(const LoopBody &body, const OrderOptions &options)
      : body(body), options(options), placement(body), producers(producersOf(body)), finish(body.size(), 0),
        earliest(body.size(), 0), topological(simpleGreedyOrder(body)) {
    for (const OpDesc &op : body.ops) {
      mmaLeft += op.resource == ResourceKind::MmaUnit ? op.latency : 0;
      valuLeft += op.resource == ResourceKind::Valu ? op.latency : 0;
      leastPeak += op.vgprDef - op.vgprKill;
    }
    clock.penalty = options.penalty;
    // Cycles from an op's start to the end of its longest chain.
    int horizon = lowerBound(body);
    for (int latest : body.alap(horizon))
      tail.push_back(horizon - latest);
    byTail = identityOrder(body.size());
    std::sort(byTail.begin(), byTail.end(),
              [&](int a, int b) { return std::pair(-tail[a], a) < std::pair(-tail[b], b); });
  }

  OrderResult run(std::vector<int> seed) {
    result.bound = std::max(lowerBound(body, options.penalty), partialBound());
    result.order = std::move(seed);
    bool complete = static_cast<int>(result.order.size()) == body.size();
    result.metrics = evaluate(body, result.order, options.penalty);
    feasible = complete && result.metrics.vgprPeak <= options.maxVgpr;
    if (feasible && result.metrics.makespan == result.bound) {
      result.optimal = true;
      return std::move(result);
    }
    if (leastPeak <= options.maxVgpr)
      step(0);
    result.optimal = feasible && (done() || !spent());
    if (!complete && !feasible)
      result.diagnostics.push_back(stuckError(body, result.order));
    else if (!feasible)
      result.diagnostics.push_back(registersError());
    else if (!result.optimal)
      result.diagnostics.push_back(budgetRemark());
    return std::move(result);
  }

private:
  /// Where the search stands; copied at each step, so that it can go back.
  struct Clock : IssueClock {
    /// No order that begins like this ends earlier, by the ops that are placed.
    int bound = 0;
    /// Loads since the last compute op.
    int globals = 0;
  };

  bool spent() const { return result.nodes >= options.nodeBudget; }
  bool done() const {
    return feasible && result.metrics.makespan == result.bound && result.metrics.vgprPeak <= leastPeak;
  }

  Diagnostic diagnostic(Severity severity, DiagId id, std::string message, std::string hint) const {
    return {severity, id, body.ops.front().where.place(), std::move(message), std::move(hint), {}};
  }

  Diagnostic registersError() const {
    std::string limit = std::to_string(options.maxVgpr) + " registers";
    if (spent())
      return diagnostic(Severity::error, DiagId::PipelineInfeasible,
                        "no order that lives in " + limit + " was found in " + std::to_string(result.nodes) + " nodes",
                        "raise `maxVgpr` or `nodeBudget`");
    return diagnostic(Severity::error, DiagId::PipelineInfeasible,
                      "no order lives in " + limit + "; the best that was found takes " +
                          std::to_string(result.metrics.vgprPeak),
                      "raise `maxVgpr`, or let the cost model say where registers die (`vgprKill`)");
  }

  Diagnostic budgetRemark() const {
    return diagnostic(Severity::remark, DiagId::PipelineBudget,
                      "the search stopped after " + std::to_string(result.nodes) + " nodes at " +
                          std::to_string(result.metrics.makespan) + " cycles; the lower bound is " +
                          std::to_string(result.bound),
                      "raise `nodeBudget`");
  }

  void step(int position) {
    if (position == body.size())
      return leaf();
    int length = body.size() / options.partitions, part = std::min(position / length, options.partitions - 1);
    int begin = part * length, end = part + 1 == options.partitions ? body.size() : begin + length;
    for (int op : byTail) {
      if (op < begin || op >= end || !placement.isReady(op) || !fits(op))
        continue;
      if (spent() || done())
        return;
      ++result.nodes;
      Clock before = clock;
      int mma = mmaLeft, valu = valuLeft;
      place(op, position + 1 == end);
      if (mayImprove())
        step(position + 1);
      placement.remove(op);
      way.pop_back();
      clock = before;
      mmaLeft = mma;
      valuLeft = valu;
    }
  }

  bool fits(int op) const {
    bool load = body.ops[op].role == OpRole::GlobalLoad;
    if (load && options.maxGlobals > 0 && clock.globals >= options.maxGlobals)
      return false;
    return clock.live + body.ops[op].vgprDef <= options.maxVgpr;
  }

  void place(int i, bool endsPart) {
    const OpDesc &op = body.ops[i];
    int ready = 0;
    for (int producer : producers[i])
      ready = std::max(ready, finish[producer]);
    int start = clock.issue(op, ready);
    finish[i] = start + op.latency;
    clock.bound = std::max(clock.bound, start + tail[i]);
    mmaLeft -= op.resource == ResourceKind::MmaUnit ? op.latency : 0;
    valuLeft -= op.resource == ResourceKind::Valu ? op.latency : 0;
    bool resets = op.role == OpRole::Compute || endsPart;
    clock.globals = resets ? 0 : clock.globals + (op.role == OpRole::GlobalLoad);
    placement.place(i);
    way.push_back(i);
  }

  bool isContended(int op) const { return clock.isContended(body.ops[op]); }

  /// No order that begins like this is shorter. Each op that is left starts when its producers can be done; the k-th of
  /// the memory ops that are left starts no earlier than k penalties from now, whichever it is.
  int partialBound() {
    int bound = std::max({clock.bound, clock.mmaFree + mmaLeft, clock.valuFree + valuLeft}), memory = 0;
    for (int op : topological)
      if (!placement.isPlaced(op)) {
        earliest[op] = std::max(isContended(op) ? clock.memoryFree : 0, producersDone(op));
        bound = std::max(bound, earliest[op] + tail[op]);
      }
    for (int op : byTail)
      if (isContended(op) && !placement.isPlaced(op))
        bound = std::max(bound, clock.memoryFree + options.penalty * memory++ + tail[op]);
    return bound;
  }

  /// The earliest time at which all producers of `op` are done; memory ops among them start one penalty apart.
  int producersDone(int op) const {
    int done = 0, first = kUnlimited, shortest = kUnlimited, contended = 0;
    for (int producer : producers[op]) {
      int latency = body.ops[producer].latency;
      bool placed = placement.isPlaced(producer);
      done = std::max(done, placed ? finish[producer] : earliest[producer] + latency);
      if (placed || !isContended(producer))
        continue;
      first = std::min(first, earliest[producer]);
      shortest = std::min(shortest, latency);
      ++contended;
    }
    return contended ? std::max(done, first + (contended - 1) * options.penalty + shortest) : done;
  }

  /// It may become better than the best one. Equally short ones count too: they may need fewer registers.
  bool mayImprove() {
    if (!feasible)
      return true;
    int bound = partialBound();
    return bound < result.metrics.makespan ||
           (bound == result.metrics.makespan && std::max(clock.metrics.vgprPeak, leastPeak) < result.metrics.vgprPeak);
  }

  void leaf() {
    Metrics metrics = evaluate(body, way, options.penalty);
    bool better = metrics.makespan < result.metrics.makespan ||
                  (metrics.makespan == result.metrics.makespan && metrics.vgprPeak < result.metrics.vgprPeak);
    if (feasible && !better)
      return;
    feasible = true;
    result.order = way;
    result.metrics = metrics;
  }

  const LoopBody &body;
  const OrderOptions &options;
  Placement placement;
  std::vector<std::vector<int>> producers;
  std::vector<int> finish, earliest, tail, byTail, topological, way;
  Clock clock;
  int mmaLeft = 0, valuLeft = 0;
  /// Registers that live at the end of every order.
  int leastPeak = 0;
  /// The best order so far keeps to the options.
  bool feasible = false;
  OrderResult result;
};

OrderResult judged(const LoopBody &body, std::vector<int> order, int penalty) {
  OrderResult result;
  result.order = std::move(order);
  if (static_cast<int>(result.order.size()) != body.size())
    result.diagnostics.push_back(stuckError(body, result.order));
  result.metrics = evaluate(body, result.order, penalty);
  result.bound = lowerBound(body, penalty);
  result.optimal = result.diagnostics.empty() && result.metrics.makespan == result.bound;
  return result;
}
} // namespace

std::vector<int> identityOrder(int size) {
  std::vector<int> order(size);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int> greedyOrder(const LoopBody &body, int blocks, int partitions) {
  Placement placement(body);
  std::vector<int> order;
  int length = body.size() / partitions;
  for (int block = 0; block < blocks * partitions; ++block)
    for (bool closed = false; !closed;) {
      int part = block / blocks, end = part + 1 == partitions ? body.size() : (part + 1) * length;
      int op = placement.firstReady(part * length, end);
      if (op < 0)
        break;
      placement.place(op);
      order.push_back(op);
      closed = body.ops[op].role == OpRole::Compute;
    }
  return order;
}

std::vector<int> simpleGreedyOrder(const LoopBody &body) {
  Placement placement(body);
  std::vector<int> order;
  for (int op = placement.firstReady(0, body.size()); op >= 0; op = placement.firstReady(0, body.size())) {
    placement.place(op);
    order.push_back(op);
  }
  return order;
}

OrderResult searchOrder(const LoopBody &body, const OrderOptions &options) {
  auto computes =
      std::count_if(body.ops.begin(), body.ops.end(), [](const OpDesc &op) { return op.role == OpRole::Compute; });
  int blocks = static_cast<int>(computes) / options.partitions;
  return OrderSearch(body, options)
      .run(options.partitions > 1 ? greedyOrder(body, blocks, options.partitions) : simpleGreedyOrder(body));
}

OrderResult orderBody(const LoopBody &body, const PipelineConfig &pipeline, const ScheduleConfig &config) {
  if (config.scheduling == Strategy::Identity)
    return judged(body, identityOrder(body.size()), config.sharedContentionPenalty);
  if (config.scheduling == Strategy::Greedy)
    return judged(body, greedyOrder(body, pipeline.mmasPerPartition(), pipeline.numPartitions),
                  config.sharedContentionPenalty);
  OrderOptions options;
  options.maxGlobals = pipeline.blockSizing.maxGlobals;
  options.penalty = config.sharedContentionPenalty;
  options.maxVgpr = config.maxVgpr;
  options.nodeBudget = config.nodeBudget;
  options.partitions = pipeline.numPartitions;
  return searchOrder(body, options);
}

} // namespace soliton::pipe
