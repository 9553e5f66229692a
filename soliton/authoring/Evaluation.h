//===- Evaluation.h - What a schedule has said so far ----------------------===//
//
// The state behind a ScheduleContext while the function of a schedule runs on one loop. Selections are answered at
// once; stages, orders and insertions are collected and laid out when the function is over:
//
//   stages (or the order of the source)  ->  order of the kernel  ->  insertions  ->  slots
//
// Evaluation.cpp selects, EvaluateStages.cpp lays out pipelines, EvaluateOrder.cpp orders and inserts,
// EvaluateRoles.cpp hears what is said of the whole workgroup,
// EvaluateSchedule.cpp runs the function and finishes the plan.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/EvaluateSchedule.h"

#include <set>

namespace soliton::sched {

/// Ends an evaluation that needs the loop unrolled first.
struct UnrollRequest {
  int factor = 1;
};

class Evaluation {
public:
  Evaluation(const WaveSchedule &schedule, const Problem &problem, const ScheduleInput &input);

  //===- Selections (Evaluation.cpp) -------------------------------------------------===//
  Nodes byTag(std::string_view tag, const Place &place);
  Nodes byTags(const std::vector<std::string> &tags, const Place &place);
  bool hasTag(std::string_view tag) const;
  Nodes all() const;
  Nodes keep(const Nodes &nodes, const std::function<bool(const Operation &)> &predicate, const Place &place);
  Nodes inPart(const Nodes &nodes, Subgraph part, std::optional<NodeType> type, const Place &place);
  std::pair<Nodes, Nodes> bySpace(const Nodes &nodes, Space space, const Place &place);
  std::vector<Nodes> byDim(const Nodes &nodes, const std::string &dim, int parts, const Place &place);
  int pieces(const Nodes &nodes, const std::string &dim) const;
  std::pair<Nodes, Nodes> byUse(const Nodes &nodes, const Nodes &users, const Place &place);
  Nodes item(const Nodes &nodes, int index, const Place &place);
  ScheduleCluster interleave(const Nodes &base, const std::vector<Nodes> &groups, const InterleaveOptions &options,
                             const Place &place);
  static bool isOfType(const Operation &op, NodeType type);

  //===- Pipelines (EvaluateStages.cpp) ----------------------------------------------===//
  void beginPipeline(const PipelineOptions &options, const Place &place);
  void setStage(int stage, const std::vector<Nodes> &nodes, const Place &place);
  void setStage(const std::vector<std::vector<Nodes>> &cycles, const Place &place);
  void unrollSource(int factor, const Place &place);
  void unrollKernel(int factor, const Place &place);

  //===- Orders and insertions (EvaluateOrder.cpp) -----------------------------------===//
  void reorder(Subgraph::Kind part, const std::vector<ScheduleItem> &order, const Place &place);
  void insertAt(const Nodes &target, bool before, const AddedOp &op, const Place &place, GroupMask groups = kAllGroups);
  void insertIn(Subgraph::Kind part, bool atStart, const AddedOp &op, const Place &place);
  void conditionalBarrier(WaveCondition condition, const Nodes &target, bool before, const Place &place);
  void stagger(const Place &place);
  void sayAround(const std::vector<SaidStep> &prologue, const std::vector<SaidStep> &epilogue, const Place &place);
  void waive(const Nodes &from, const Nodes &to, std::string_view reason, const Place &place);

  //===- The whole workgroup (EvaluateRoles.cpp) -------------------------------------===//
  void orderBy(std::string_view algorithm, const Place &place);
  void specialize(const Nodes &ops, const RoleOptions &options, const Place &place);
  void specializeTags(const std::vector<std::string> &tags, const RoleOptions &options, const Place &place);
  void persistent(int64_t workgroups, const WalkOptions &options, const Place &place);

  //===- Ends (EvaluateSchedule.cpp) --------------------------------------------------===//
  LoopPlan finish();
  LoopPlan finishUnrolled(int factor);

  void error(DiagId id, Place place, std::string message, std::string hint, std::vector<Note> notes = {});
  /// Reports a set where the call needs a loop; false then. True also for loops that are not this one.
  bool checkLoop(const Nodes &nodes, const Place &place);
  /// Reports a loop where the call needs instructions.
  bool checkNodes(const Nodes &nodes, const Place &place);
  const HardwareFacts &hardware() const { return input.hardware; }

private:
  struct Stage {
    Place place;
    /// By cycle; one list that phases divide in the spelling with numbers.
    std::vector<std::vector<int>> cycles;
  };
  struct Pipeline {
    bool begun = false;
    PipelineOptions options;
    Place place;
    std::map<int, Stage> stages;
    enum Spelling : uint8_t { Unsaid, Phases, Cycles } spelling = Unsaid;
  };
  struct Ordering {
    bool said = false;
    Place place;
    /// Ops with the cluster of each.
    std::vector<int> ops, clusters;
  };
  struct PendingInsertion {
    enum Where : uint8_t { Before, After, Start, End } where = Start;
    std::vector<int> target;
    std::vector<int> added;
  };

  const std::vector<Dependence> &dependences();
  /// The parts that have an op as an operation of the problem; what the target does not need is left out.
  std::vector<int> add(const AddedOp &op, const Place &place, GroupMask groups = kAllGroups);
  std::optional<int> counterOf(const AddedOp::Part &part, const Place &place);
  Nodes makeNodes(std::vector<int> ops) const;
  std::vector<std::string> allTags() const;
  std::optional<GroupMask> groupsOf(WaveCondition condition, const Place &place);

  // Laying out (EvaluateStages.cpp).
  void layOutSource();
  void layOutPipeline();
  bool checkStages();
  std::vector<int> phasesInStages();
  void assignPhases(int index, Stage &stage, const std::vector<int> &phases);
  void mention(int op, const Place &place, std::map<int, Place> &seen);
  bool checkMentioned(const std::map<int, Place> &seen, const Place &place, std::string_view where,
                      const std::function<bool(int)> &expected);
  void placeByTime();

  // Ordering (EvaluateOrder.cpp).
  void orderKernel();
  void orderOutside(Subgraph::Kind part);
  void flatten(const ScheduleItem &item, int cluster, const Place &place, Ordering &ordering, bool kernel);
  void follow(std::vector<int> &list, std::vector<int> &clusters, const std::function<bool(int)> &wanted);
  void applyInsertions();
  void insertOutside(Phase phase, bool atStart, const AddedOp &op, const Place &place, int rank = -1,
                     GroupMask groups = kAllGroups);
  void settleStagger();

  // The whole workgroup (EvaluateRoles.cpp).
  void adoptRole(const std::vector<int> &ops, const RoleOptions &options, const Place &place);
  void settleOrderedBy();
  std::vector<Entry> entriesOf(const std::vector<SaidStep> &steps, const Place &place);
  int numSource() const { return source.numOps(); }

  const WaveSchedule &schedule;
  const Problem &source;
  const ScheduleInput &input;
  LoopPlan plan;
  /// Ops that are mentioned twice, by origin and role: index of the message, further pieces.
  std::map<std::pair<int, OpKind>, std::pair<size_t, int>> repeated;
  std::optional<std::vector<Dependence>> derived;
  Pipeline pipeline;
  Ordering kernel, prologue, epilogue;
  std::vector<PendingInsertion> pending;
  /// Conditional barriers in front of and behind the loop, by wave group, and where the first was said.
  std::vector<int> barriersBefore, barriersAfter;
  Place staggerPlace, orderedPlace;
  int unrolledBySchedule = 1;
  int numAdded = 0;
  bool spoken = false;

  /// The kernel in order, and the slot of each op of it.
  std::vector<int> order;
  std::vector<int> stageOf, cycleOf, clusterOf;
  int interval = 1;
  int lastStage = 0;
};

} // namespace soliton::sched
