#include "soliton/schedule/Algorithms.h"

#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Verify.h"

#include <algorithm>
#include <array>
#include <queue>

namespace soliton::sched {
namespace {
constexpr std::array<std::string_view, 8> kNames = {
    "none", "prefetch", "prefetch_attention", "four_stage", "ring", "list", "modulo", "exact"};

/// The phase an op would like: memory early, arithmetic late.
int wantedPhase(OpKind kind) {
  switch (kind) {
  case OpKind::GlobalLoad:
  case OpKind::CopyAsync:
    return 0;
  case OpKind::SharedStore:
    return 1;
  case OpKind::SharedLoad:
    return 2;
  default:
    return 3;
  }
}

bool isSync(OpKind kind) {
  return kind == OpKind::Barrier || kind == OpKind::Wait || kind == OpKind::Commit;
}

Diagnostic impossible(const Problem &problem, std::span<const Dependence> dependences, const Bounds &bounds) {
  Diagnostic diag{Severity::error, DiagId::ScheduleInfeasible, {}, {}, {}, {}};
  diag.message = "the dependences of `" + problem.loop + "` form a cycle that no interval satisfies";
  diag.hint = "give the region named below more buffers, or break the cycle";
  if (!bounds.cycle.empty())
    diag.place = problem.operations[dependences[bounds.cycle.front()].from].place;
  for (int index : bounds.cycle)
    diag.notes.push_back({problem.operations[dependences[index].to].place, describe(problem, dependences[index])});
  return diag;
}
} // namespace

std::string_view nameOf(Algorithm algorithm) {
  return kNames[static_cast<size_t>(algorithm)];
}

std::optional<Algorithm> parseAlgorithm(std::string_view text) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == text)
      return static_cast<Algorithm>(i);
  return std::nullopt;
}

const std::vector<std::string> &algorithmNames() {
  static const std::vector<std::string> names(kNames.begin(), kNames.end());
  return names;
}

Scheduled scheduleWith(Algorithm algorithm, const Problem &problem, const ScheduleOptions &options) {
  switch (algorithm) {
  case Algorithm::None:
    return scheduleNone(problem);
  case Algorithm::Prefetch:
    return schedulePrefetch(problem);
  case Algorithm::PrefetchAttention:
    return schedulePrefetchAttention(problem);
  case Algorithm::FourStage:
    return scheduleFourStage(problem);
  case Algorithm::Ring:
    return scheduleRing(problem);
  case Algorithm::List:
    return scheduleList(problem);
  case Algorithm::Modulo:
    return scheduleModulo(problem, options);
  case Algorithm::Exact:
    return scheduleExact(problem, options);
  }
  return {};
}

bool prepare(const Problem &problem, std::vector<Dependence> &dependences, Scheduled &result) {
  result.diagnostics = validate(problem);
  if (!result.diagnostics.empty())
    return false;
  dependences = deriveDependences(problem);
  result.bounds = lowerBounds(problem, dependences);
  if (result.bounds.impossible) {
    result.diagnostics.push_back(impossible(problem, dependences, result.bounds));
    return false;
  }
  result.provenBound = result.bounds.lower();
  return true;
}

bool accept(const Problem &problem, Schedule schedule, Scheduled &result) {
  assignBuffers(problem, schedule);
  Report report = verify(problem, schedule);
  result.diagnostics = report.diagnostics;
  if (!report.ok())
    return false;
  result.schedule = std::move(schedule);
  return true;
}

std::vector<int> wantedPhases(const Problem &problem, std::span<const Dependence> dependences) {
  int count = problem.numOps();
  std::vector<int> phase(count);
  for (int op = 0; op < count; ++op)
    phase[op] = wantedPhase(problem.operations[op].kind);
  // Arithmetic that feeds memory of the same iteration is wanted as early as that memory, and so is a barrier or wait
  // that stands in front of it.
  Graph graph(count, dependences);
  for (int op = count - 1; op >= 0; --op)
    for (const Edge &edge : graph.from(op))
      if (edge.distance == 0 && edge.to > op &&
          (dependences[edge.dependence].kind == DepKind::Raw || isSync(problem.operations[op].kind)))
        phase[op] = std::min(phase[op], phase[edge.to]);
  return phase;
}

std::vector<int> phasesOf(const Problem &problem, std::span<const Dependence> dependences, int interval) {
  return settledPhases(problem, dependences, interval, wantedPhases(problem, dependences));
}

std::vector<int> settledPhases(const Problem &problem, std::span<const Dependence> dependences, int interval,
                               std::vector<int> phase) {
  Graph graph(problem.numOps(), dependences);
  // No dependence may then run backwards. Distances pull down and the cycles of a possible problem have some, so this
  // settles.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Edge &edge : graph.edges()) {
      int earliest = phase[edge.from] - interval * edge.distance + (edge.distance < 0 ? 1 : 0);
      if (earliest > phase[edge.to]) {
        phase[edge.to] = earliest;
        changed = true;
      }
    }
  }
  return phase;
}

Schedule inPhases(const Problem &problem, std::span<const Dependence> dependences, std::string algorithm, int interval,
                  std::span<const int> phases) {
  std::vector<int> ranks = topologicalRanks(Graph(problem.numOps(), dependences));
  Schedule schedule = emptySchedule(problem, std::move(algorithm), interval, Timing::Order);
  int lastStage = 0;
  for (int phase : phases)
    lastStage = std::max(lastStage, phase / interval);
  // Older iterations first, then an order that the dependences of one iteration allow.
  for (int op = 0; op < problem.numOps(); ++op) {
    int stage = phases[op] / interval;
    schedule.slots[op] = {stage, phases[op] % interval, 0, (lastStage - stage) * problem.numOps() + ranks[op]};
  }
  return schedule;
}

std::vector<int> topologicalRanks(const Graph &graph) {
  int count = graph.numOps();
  std::vector<int> pending(count, 0), rank(count, 0);
  for (const Edge &edge : graph.edges())
    if (edge.distance <= 0)
      ++pending[edge.to];
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int op = 0; op < count; ++op)
    if (pending[op] == 0)
      ready.push(op);
  for (int next = 0; !ready.empty(); ++next) {
    int op = ready.top();
    ready.pop();
    rank[op] = next;
    for (const Edge &edge : graph.from(op))
      if (edge.distance <= 0 && --pending[edge.to] == 0)
        ready.push(edge.to);
  }
  return rank;
}

} // namespace soliton::sched
