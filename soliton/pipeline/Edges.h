//===- Edges.h - Declared dependences between the ops of a body --------------------===//
//
// Edges come from rules: a rule joins producers and consumers by role, channel, stage, subtile, half. All its
// conditions must hold. The double-buffer table has five rules, the single-buffer table eight.
//
//   {.producer = GlobalLoad, .consumer = FragmentLoad, .distance = kByPrefetch, .matchChannel = true, .matchStage =
//   true} LOAD_B[s0,0]@K0 -> MMA_LOAD_B[s0,1], one trip later
//
// These edges order a body and are reported. They are the framework's approximation (they ignore which half-tile is
// meant); what is really between two ops, the exact mode derives from the storage that they touch (ToCore.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Config.h"

namespace soliton::pipe {

enum class DepKind : uint8_t { Flow = 0, Anti = 1, Output = 2 };
std::string_view nameOf(DepKind kind);

/// The consumer comes after the producer of `distance` trips before.
struct DepEdge {
  int producer = 0;
  int consumer = 0;
  DepKind kind = DepKind::Flow;
  int distance = 0;

  auto operator<=>(const DepEdge &) const = default;
};

/// EdgeRule::distance: 0 from a load of the previous K tile, otherwise 1.
inline constexpr int kByPrefetch = -1;

/// Which consumers a rule wants by their K offset.
enum class KFilter : uint8_t { Any, OnlyPrevious, NotPrevious };
/// Which ops a rule wants by whether they are loop-carried.
enum class Carried : uint8_t { Any, No, Yes };

struct EdgeRule {
  OpRole producer = OpRole::None;
  OpRole consumer = OpRole::None;
  DepKind kind = DepKind::Flow;
  int distance = 0;
  bool matchChannel = false, matchStage = false, matchSubtile = false;
  /// A fragment feeds the compute ops of its stage's half whose coordinate is its subtile.
  bool matchConfig = false;
  bool sameHalf = false, crossHalf = false;
  /// -1: any.
  int producerHalf = -1;
  KFilter consumerK = KFilter::Any;
  Carried producerCarried = Carried::Any, consumerCarried = Carried::Any;
  /// The n-th op of its role; -1: any.
  int producerOrdinal = -1, consumerOrdinal = -1;
  /// Only the first consumer of each producer.
  bool firstMatchOnly = false;
};

std::vector<EdgeRule> doubleBufferRules();
std::vector<EdgeRule> singleBufferRules();

/// Rule by rule, producer by producer, consumer by consumer, in the order of the body.
std::vector<DepEdge> applyEdgeRules(std::span<const OpDesc> body, const PipelineConfig &config,
                                    std::span<const EdgeRule> rules);

/// The table for the config's depth.
std::vector<DepEdge> deriveDefaultEdges(std::span<const OpDesc> body, const PipelineConfig &config);

/// Edges that double-buffer rules give for `config`: 2hmn + 2mn + 2hg + 2(2g - 1).
int countDoubleBufferEdges(const PipelineConfig &config);

/// For each fragment of subtile 0 that is staged for the other half: flow to the compute ops of the other half that use
/// its registers, and anti dependences from those of its own half.
std::vector<DepEdge> deriveRotationEdges(std::span<const OpDesc> body);

/// Drops flow edges from such a fragment to compute ops of its own half. (The default rules make none.)
std::vector<DepEdge> dropSpuriousRotationFlow(std::vector<DepEdge> edges, std::span<const OpDesc> body);

/// 0 for the first half of a body of `size` ops, 1 for the second.
inline int halfOf(int index, size_t size) {
  return index < static_cast<int>(size / 2) ? 0 : 1;
}

/// "3>22@1": for tests and reports.
std::string toString(const DepEdge &edge);

} // namespace soliton::pipe
