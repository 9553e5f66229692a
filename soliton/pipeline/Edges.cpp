#include "soliton/pipeline/Edges.h"

#include <map>

namespace soliton::pipe {
namespace {
/// A body with what rules ask of its ops.
class RuleEngine {
public:
  RuleEngine(std::span<const OpDesc> body, const PipelineConfig &config) : body(body), config(config) {
    std::map<OpRole, int> seen;
    for (const OpDesc &op : body)
      ordinal.push_back(seen[op.role]++);
  }

  void apply(const EdgeRule &rule, std::vector<DepEdge> &edges) const {
    int size = static_cast<int>(body.size());
    for (int p = 0; p < size; ++p)
      for (int c = 0; c < size; ++c) {
        if (p == c || !matchesAlone(rule, p, c) || !matchesTogether(rule, p, c))
          continue;
        edges.push_back({p, c, rule.kind, distanceOf(rule, p)});
        if (rule.firstMatchOnly)
          break;
      }
  }

private:
  int half(int i) const { return halfOf(i, body.size()); }

  bool isWanted(Carried wanted, int i) const {
    bool carried = body[i].subtile == config.loopCarried.selector;
    return wanted == Carried::Any || carried == (wanted == Carried::Yes);
  }

  /// What the rule asks of each op for itself.
  bool matchesAlone(const EdgeRule &rule, int p, int c) const {
    if (body[p].role != rule.producer || body[c].role != rule.consumer)
      return false;
    if (rule.producerOrdinal >= 0 && ordinal[p] != rule.producerOrdinal)
      return false;
    if (rule.consumerOrdinal >= 0 && ordinal[c] != rule.consumerOrdinal)
      return false;
    if (rule.producerHalf >= 0 && half(p) != rule.producerHalf)
      return false;
    bool previous = body[c].k == KOffset::KPrev;
    if (rule.consumerK != KFilter::Any && previous != (rule.consumerK == KFilter::OnlyPrevious))
      return false;
    return isWanted(rule.producerCarried, p) && isWanted(rule.consumerCarried, c);
  }

  bool matchesTogether(const EdgeRule &rule, int p, int c) const {
    const OpDesc &from = body[p], &to = body[c];
    if ((rule.matchChannel && from.channel != to.channel) || (rule.matchStage && from.stage != to.stage) ||
        (rule.matchSubtile && from.subtile != to.subtile))
      return false;
    if ((rule.sameHalf && half(p) != half(c)) || (rule.crossHalf && half(p) == half(c)))
      return false;
    return !rule.matchConfig ||
           ((from.stage == 0) == (half(c) == 0) && config.matchKey(to, from.channel) == from.subtile);
  }

  int distanceOf(const EdgeRule &rule, int p) const {
    return rule.distance != kByPrefetch ? rule.distance : body[p].k == KOffset::KPrev ? 0 : 1;
  }

  std::span<const OpDesc> body;
  const PipelineConfig &config;
  std::vector<int> ordinal;
};

/// A fragment of the leading quadrant that is read for the other half.
bool isRotated(std::span<const OpDesc> body, int i) {
  return body[i].role == OpRole::FragmentLoad && body[i].subtile == 0 && body[i].stage != halfOf(i, body.size());
}
} // namespace

std::string_view nameOf(DepKind kind) {
  return kind == DepKind::Flow ? "flow" : kind == DepKind::Anti ? "anti" : "output";
}

std::vector<EdgeRule> doubleBufferRules() {
  constexpr OpRole load = OpRole::GlobalLoad, frag = OpRole::FragmentLoad, compute = OpRole::Compute;
  return {
      {.producer = frag, .consumer = compute, .matchConfig = true, .sameHalf = true},
      // The accumulator: first half to second half, and on to the next trip.
      {.producer = compute,
       .consumer = compute,
       .matchStage = true,
       .matchSubtile = true,
       .crossHalf = true,
       .producerHalf = 0},
      {.producer = compute,
       .consumer = compute,
       .distance = 1,
       .matchStage = true,
       .matchSubtile = true,
       .crossHalf = true,
       .producerHalf = 1},
      {.producer = load, .consumer = frag, .distance = kByPrefetch, .matchChannel = true, .matchStage = true},
      {.producer = frag,
       .consumer = load,
       .kind = DepKind::Anti,
       .matchChannel = true,
       .matchStage = true,
       .consumerK = KFilter::NotPrevious},
  };
}

std::vector<EdgeRule> singleBufferRules() {
  constexpr OpRole load = OpRole::GlobalLoad, store = OpRole::SharedStore, frag = OpRole::FragmentLoad,
                   compute = OpRole::Compute, sync = OpRole::Sync;
  constexpr Carried yes = Carried::Yes, no = Carried::No;
  return {
      {.producer = frag,
       .consumer = compute,
       .matchSubtile = true,
       .producerCarried = no,
       .consumerCarried = no,
       .firstMatchOnly = true},
      {.producer = sync, .consumer = store, .producerOrdinal = 0},
      {.producer = store, .consumer = sync, .consumerOrdinal = 1},
      {.producer = sync, .consumer = frag, .consumerCarried = yes, .producerOrdinal = 1},
      {.producer = frag, .consumer = sync, .kind = DepKind::Anti, .producerCarried = no, .consumerOrdinal = 0},
      {.producer = frag, .consumer = compute, .distance = 1, .producerCarried = yes, .consumerCarried = yes},
      {.producer = load, .consumer = store, .distance = 1},
      {.producer = frag, .consumer = store, .kind = DepKind::Anti, .distance = 1, .producerCarried = yes},
  };
}

std::vector<DepEdge> applyEdgeRules(std::span<const OpDesc> body, const PipelineConfig &config,
                                    std::span<const EdgeRule> rules) {
  RuleEngine engine(body, config);
  std::vector<DepEdge> edges;
  for (const EdgeRule &rule : rules)
    engine.apply(rule, edges);
  return edges;
}

std::vector<DepEdge> deriveDefaultEdges(std::span<const OpDesc> body, const PipelineConfig &config) {
  return applyEdgeRules(body, config, config.depth >= 2 ? doubleBufferRules() : singleBufferRules());
}

int countDoubleBufferEdges(const PipelineConfig &config) {
  int h = config.numPartitions, mn = config.mmasPerPartition(), g = config.globalsPerPartition();
  return 2 * h * mn + 2 * mn + 2 * h * g + 2 * (2 * g - 1);
}

std::vector<DepEdge> deriveRotationEdges(std::span<const OpDesc> body) {
  std::vector<DepEdge> edges;
  int size = static_cast<int>(body.size());
  for (int f = 0; f < size; ++f)
    for (int m = 0; m < size && isRotated(body, f); ++m) {
      bool uses = body[m].role == OpRole::Compute && (body[f].channel == 0 ? body[m].stage : body[m].subtile) == 0;
      if (!uses)
        continue;
      if (halfOf(m, body.size()) != halfOf(f, body.size()))
        edges.push_back({f, m, DepKind::Flow, halfOf(f, body.size())});
      else
        edges.push_back({m, f, DepKind::Anti, 0});
    }
  return edges;
}

std::vector<DepEdge> dropSpuriousRotationFlow(std::vector<DepEdge> edges, std::span<const OpDesc> body) {
  std::erase_if(edges, [&](const DepEdge &edge) {
    return edge.kind == DepKind::Flow && isRotated(body, edge.producer) &&
           body[edge.consumer].role == OpRole::Compute &&
           halfOf(edge.producer, body.size()) == halfOf(edge.consumer, body.size());
  });
  return edges;
}

std::string toString(const DepEdge &edge) {
  std::string text = std::to_string(edge.producer) + ">" + std::to_string(edge.consumer);
  return edge.distance == 0 ? text : text + "@" + std::to_string(edge.distance);
}

} // namespace soliton::pipe
