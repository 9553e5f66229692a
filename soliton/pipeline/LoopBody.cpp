#include "soliton/pipeline/LoopBody.h"

#include <algorithm>

namespace soliton::pipe {
namespace {
std::string describe(const LoopBody &body, int op) {
  return "op " + std::to_string(op) + " (" + std::string(nameOf(body.ops[op].role)) + ")";
}

Diagnostic cycleError(const LoopBody &body, const std::vector<int> &cycle) {
  std::string text;
  for (int op : cycle)
    text += std::to_string(op) + " > ";
  Diagnostic error{Severity::error,
                   DiagId::PipelineCycle,
                   body.ops[cycle.front()].where.place(),
                   "ops wait for each other inside one trip: " + text + std::to_string(cycle.front()),
                   "let one of these edges lead to the next trip (distance 1), or drop it",
                   {}};
  for (int op : cycle)
    error.notes.push_back({body.ops[op].where.place(), describe(body, op) + " is declared here"});
  return error;
}

bool isMemory(const OpDesc &op) {
  return op.resource == ResourceKind::Shared || op.resource == ResourceKind::GlobalMem;
}

/// Depth first along the edges of one trip, with the way from where it began.
class CycleFinder {
public:
  CycleFinder(int numOps, std::span<const DepEdge> edges) : next(numOps), state(numOps, State::New) {
    for (const DepEdge &edge : edges)
      if (edge.distance == 0)
        next[edge.producer].push_back(edge.consumer);
  }

  std::vector<int> run() {
    for (int op = 0; op < static_cast<int>(next.size()); ++op)
      if (state[op] == State::New && closes(op))
        return way;
    return {};
  }

private:
  enum class State : uint8_t { New, OnTheWay, Done };

  /// True if a circle is found from `op` on; then `way` is just that.
  bool closes(int op) {
    state[op] = State::OnTheWay;
    way.push_back(op);
    for (int to : next[op]) {
      if (state[to] == State::OnTheWay) {
        way.erase(way.begin(), std::find(way.begin(), way.end(), to));
        return true;
      }
      if (state[to] == State::New && closes(to))
        return true;
    }
    state[op] = State::Done;
    way.pop_back();
    return false;
  }

  std::vector<std::vector<int>> next;
  std::vector<State> state;
  std::vector<int> way;
};

/// Of the ops on one serial unit: the earliest start, and all their cycles.
int serialBound(const LoopBody &body, const std::vector<int> &asap, ResourceKind unit) {
  int first = -1, cycles = 0;
  for (int i = 0; i < body.size(); ++i)
    if (body.ops[i].resource == unit) {
      first = first < 0 ? asap[i] : std::min(first, asap[i]);
      cycles += body.ops[i].latency;
    }
  return std::max(first, 0) + cycles;
}
} // namespace

std::vector<int> findCycle(int numOps, std::span<const DepEdge> edges) {
  return CycleFinder(numOps, edges).run();
}

std::vector<int> LoopBody::asap() const {
  std::vector<int> start(ops.size(), 0);
  bool changed = true;
  for (int sweep = 0; changed && sweep < size(); ++sweep) {
    changed = false;
    for (const DepEdge &edge : edges) {
      int earliest = start[edge.producer] + ops[edge.producer].latency;
      if (edge.distance == 0 && earliest > start[edge.consumer]) {
        start[edge.consumer] = earliest;
        changed = true;
      }
    }
  }
  return start;
}

std::vector<int> LoopBody::alap(int makespan) const {
  std::vector<int> start;
  for (const OpDesc &op : ops)
    start.push_back(makespan - op.latency);
  bool changed = true;
  for (int sweep = 0; changed && sweep < size(); ++sweep) {
    changed = false;
    for (const DepEdge &edge : edges) {
      int latest = start[edge.consumer] - ops[edge.producer].latency;
      if (edge.distance == 0 && latest < start[edge.producer]) {
        start[edge.producer] = latest;
        changed = true;
      }
    }
  }
  return start;
}

std::vector<Diagnostic> LoopBody::validate() const {
  std::vector<Diagnostic> errors;
  for (const DepEdge &edge : edges) {
    bool inside = edge.producer >= 0 && edge.producer < size() && edge.consumer >= 0 && edge.consumer < size();
    if (!inside)
      errors.push_back({Severity::error,
                        DiagId::PipelineCycle,
                        {},
                        "edge " + toString(edge) + " leads outside of a body of " + std::to_string(size()) + " ops",
                        "derive edges from the body that is compiled",
                        {}});
  }
  if (!errors.empty())
    return errors;
  std::vector<int> cycle = findCycle(size(), edges);
  if (!cycle.empty())
    errors.push_back(cycleError(*this, cycle));
  return errors;
}

int IssueClock::issue(const OpDesc &op, int ready) {
  bool memory = isContended(op);
  int *unit = op.resource == ResourceKind::MmaUnit ? &mmaFree : op.resource == ResourceKind::Valu ? &valuFree : nullptr;
  int start = std::max({ready, unit ? *unit : 0, memory ? memoryFree : 0});
  if (unit)
    *unit = start + op.latency;
  if (memory)
    memoryFree = start + penalty;
  live += op.vgprDef;
  metrics.vgprPeak = std::max(metrics.vgprPeak, live);
  live -= op.vgprKill;
  metrics.makespan = std::max(metrics.makespan, start + op.latency);
  return start;
}

Metrics evaluate(const LoopBody &body, std::span<const int> order, int penalty) {
  std::vector<std::vector<int>> producers(body.size());
  for (const DepEdge &edge : body.edges)
    if (edge.distance == 0)
      producers[edge.consumer].push_back(edge.producer);
  std::vector<int> finish(body.size(), 0);
  IssueClock clock;
  clock.penalty = penalty;
  for (int i : order) {
    int ready = 0;
    for (int producer : producers[i])
      ready = std::max(ready, finish[producer]);
    finish[i] = clock.issue(body.ops[i], ready) + body.ops[i].latency;
  }
  return clock.metrics;
}

int lowerBound(const LoopBody &body, int penalty) {
  std::vector<int> asap = body.asap();
  int bound = 0, memory = 0;
  for (int i = 0; i < body.size(); ++i) {
    bound = std::max(bound, asap[i] + body.ops[i].latency);
    memory += isMemory(body.ops[i]);
  }
  return std::max({bound, serialBound(body, asap, ResourceKind::MmaUnit), serialBound(body, asap, ResourceKind::Valu),
                   penalty * memory});
}

CostReport costReport(const LoopBody &body, std::span<const int> order, int penalty) {
  CostReport report;
  report.metrics = evaluate(body, order, penalty);
  report.bound = lowerBound(body, penalty);
  std::vector<int> asap = body.asap(), alap = body.alap(report.metrics.makespan);
  int last = -1;
  for (int i = 0; i < body.size(); ++i) {
    report.rows.push_back({i, asap[i], alap[i]});
    if (last < 0 || asap[i] + body.ops[i].latency > asap[last] + body.ops[last].latency)
      last = i;
  }
  // Back along the producers that made each op start when it does.
  while (last >= 0) {
    report.criticalPath.insert(report.criticalPath.begin(), last);
    auto before = std::find_if(body.edges.begin(), body.edges.end(), [&](const DepEdge &edge) {
      return edge.distance == 0 && edge.consumer == last && asap[last] > 0 &&
             asap[edge.producer] + body.ops[edge.producer].latency == asap[last];
    });
    last = before == body.edges.end() ? -1 : before->producer;
  }
  return report;
}

} // namespace soliton::pipe
