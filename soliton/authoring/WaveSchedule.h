//===- WaveSchedule.h - A schedule, said by the author ---------------------===//
//
// Kernel and schedule are two texts. A schedule is a function that runs when the instructions of the kernel's loops
// exist; it finds them by the tags of the kernel, selects among them, and says when they run:
//
//   WaveSchedule prefetch{"prefetch", [](ScheduleContext &s) {
//     auto loop = s.get_node_by_tag("k_loop");
//     auto [globalA, sharedA] = s.partition_by_address_space(s.get_node_by_tag_and_type("read_a", NodeType::Read),
//     global); auto writeA = s.get_node_by_tag_and_type("read_a", NodeType::Write); … auto p = s.pipeline(loop,
//     {.num_stages = 2, .initiation_interval = 2}); p.set_stage(0, {globalA, globalB, writeA, writeB}); p.set_stage(1,
//     {sharedA, sharedB, s.get_node_by_tag("mma")});
//   }};
//
// Names are Wave's. Every call takes the place where it stands, so that a mistake is reported there; after one, calls
// go on with empty sets and nothing throws. Nothing is dropped: a memory, matrix, cross-lane or arithmetic op of the
// loop that the schedule does not mention, or mentions twice, is an error. What the compiler made itself follows the op
// that it serves. EvaluateSchedule.h runs it; Verify.h judges what comes out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Problem.h"
#include "soliton/target/Hints.h"

#include <array>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

namespace soliton {

namespace sched {
class Evaluation;
} // namespace sched
class ScheduleContext;

//===- What a schedule speaks of -----------------------------------------------------===//

/// Classes of instructions, as Wave's op classes name them.
enum class NodeType : uint8_t {
  Read,        ///< loads, global and shared
  Write,       ///< stores, global and shared; the copy of a promoted read into shared memory is one
  GatherToLDS, ///< direct copies from global to shared memory
  MMA,
  Arithmetic,
  Shuffle,
  Barrier,
  Wait,
};

/// `global` or `shared`, as the kernel language spells them.
struct ScheduleSpace {
  sched::Space space;
  ScheduleSpace(sched::Space space) : space(space) {}
  /// From the language's own type, which this layer does not know.
  template <typename T>
    requires requires(T value) {
      value.kind;
      T::Global;
      T::Shared;
    }
  ScheduleSpace(T value) : space(value.kind == T::Global ? sched::Space::Global : sched::Space::Shared) {}
};

/// A dimension by its symbol or its name.
struct ScheduleDim {
  std::string name;
  ScheduleDim(const char *name) : name(name) {}
  ScheduleDim(std::string_view name) : name(name) {}
  ScheduleDim(const std::string &name) : name(name) {}
  template <typename T>
    requires requires(T symbol) { std::string(symbol.symbolName()); }
  ScheduleDim(const T &symbol) : name(symbol.isSymbol() ? std::string(symbol.symbolName()) : std::string("?")) {}
};

/// A set of instructions of the loop, in the order of the source (or in the order in which they were put together), or
/// a loop itself.
class Nodes {
public:
  Nodes() = default;

  bool empty() const { return members.empty(); }
  size_t size() const { return members.size(); }
  /// Indices into the operations of the problem.
  const std::vector<int> &ops() const { return members; }
  bool isLoop() const { return loop; }
  /// A loop of the kernel, but not the one that is being scheduled now: what is said about it has no effect yet.
  bool isOtherLoop() const { return foreign; }
  /// Both, this one first.
  Nodes operator+(const Nodes &other) const;

private:
  friend class sched::Evaluation;
  friend class ScheduleContext;
  std::vector<int> members;
  bool loop = false;
  /// A loop of the kernel that is not the one being scheduled now: what is said about it is for another evaluation.
  bool foreign = false;
};

/// Which waves of a workgroup: begin <= wave < end.
struct WaveCondition {
  int begin = 0;
  int end = std::numeric_limits<int>::max();
};

/// The number of a wave in its workgroup, in conditions: `hw.wave_id >= 4`.
struct WaveId {
  friend WaveCondition operator>=(WaveId, int wave) { return {wave, std::numeric_limits<int>::max()}; }
  friend WaveCondition operator>(WaveId, int wave) { return {wave + 1, std::numeric_limits<int>::max()}; }
  friend WaveCondition operator<(WaveId, int wave) { return {0, wave}; }
  friend WaveCondition operator<=(WaveId, int wave) { return {0, wave + 1}; }
};

/// What a schedule may ask about the machine.
struct HardwareFacts {
  int threads_per_wave = 64;
  std::array<int, 3> waves_per_block = {1, 1, 1};
  /// The matrix instruction, as the kernel language names it; empty if there is none.
  std::string mma_type;
  std::string target;
  WaveId wave_id;

  int num_waves() const { return waves_per_block[0] * waves_per_block[1] * waves_per_block[2]; }
};

//===- What a schedule puts in -------------------------------------------------------===//

/// Barriers, waits and hints that a schedule adds. Made by the constructors below; becomes one or more operations where
/// it is put.
struct AddedOp {
  struct Part {
    sched::OpKind kind = sched::OpKind::Hint;
    sched::HintKind hint = sched::HintKind::None;
    std::vector<int64_t> arguments = {};
    /// Wait: name of the counter and what may stay outstanding.
    std::string counter = {};
    int value = 0;
    /// Wait: left out where the target has no such counter, because its barrier completes those accesses.
    bool ifCounted = false;
  };
  std::vector<Part> parts;
  Place place;
};

/// All waves meet; completes nothing by itself.
struct WorkgroupBarrier : AddedOp {
  explicit WorkgroupBarrier(Place place = std::source_location::current());
};

/// Shared accesses of the wave are complete, then all waves meet.
struct SharedMemoryBarrier : AddedOp {
  explicit SharedMemoryBarrier(Place place = std::source_location::current());
};

struct MemoryCounterWait : AddedOp {
  explicit MemoryCounterWait(const CounterLimits &limits, Place place = std::source_location::current());
};

/// The wait, then a barrier.
struct MemoryCounterWaitBarrier : AddedOp {
  explicit MemoryCounterWaitBarrier(const CounterLimits &limits, Place place = std::source_location::current());
};

/// Issue priority of the wave from here on, 0 to 3.
struct SetWavePrio : AddedOp {
  explicit SetWavePrio(int level, Place place = std::source_location::current());
};

/// The back end moves nothing over this place but the classes that are named.
struct SchedulingBarrier : AddedOp {
  explicit SchedulingBarrier(const std::vector<InstructionClass> &mayCross = {},
                             Place place = std::source_location::current());
};

/// The back end keeps this many instructions of each class together, in this order.
struct SchedulingGroupBarrier : AddedOp {
  explicit SchedulingGroupBarrier(const std::vector<std::pair<InstructionClass, int>> &groups, int sync = 0,
                                  Place place = std::source_location::current());
};

struct ScheduleCluster;

/// One element of a cluster or of an order: a set of instructions, something put in, or a cluster.
struct ScheduleItem {
  std::variant<Nodes, AddedOp, std::shared_ptr<const ScheduleCluster>> value;

  ScheduleItem(Nodes nodes);
  ScheduleItem(AddedOp op);
  ScheduleItem(const ScheduleCluster &cluster);
};

/// Items that stay together in this order.
struct ScheduleCluster {
  std::vector<ScheduleItem> items;
};

/// A step of a prologue or epilogue that is said whole: instructions of one iteration, or a barrier or wait.
struct SaidStep {
  std::variant<Nodes, AddedOp> what;
  /// Of instructions: from the first iteration in front of the loop, from its end behind it (-1 is the last one).
  int iteration = 0;
  /// Of a barrier: those who pass it, where it puts one group of waves behind the other.
  sched::GroupMask groups = sched::kAllGroups;
};

//===- Pipelines ---------------------------------------------------------------------===//

/// A part of a pipelined loop, or the body of one that is not.
struct Subgraph {
  enum Kind : uint8_t { Kernel, Prologue, Epilogue } kind = Kernel;
  bool foreign = false;
};

/// Fields that are 0 are not said.
struct PipelineOptions {
  int num_stages = 0;
  int initiation_interval = 0;
  /// The kernel runs once per iteration of the source; early stages run past the end, guarded.
  bool eliminate_epilogue = false;
  /// Buffers of every shared tile that the loop fills; 0: as many as the stages need.
  int multi_buffer_count = 0;
  /// Copies of the kernel in the loop that is emitted.
  int unroll_factor = 1;
  /// Stages of nothing but direct copies run past the end; what they bring there nobody uses.
  bool copies_run_on = false;
  /// Waves that are done with a buffer say so and go on, and whoever copies boxes there alone waits for them, where a
  /// barrier would have all of them wait.
  bool releases = false;
};

/// Waves beside those that compute.
struct RoleOptions {
  int waves = 1;
  /// What each of their lanes keeps of its registers, the rest going to the others; 0: as few as copies need. Groups of
  /// four waves can.
  int registers = 0;
};

/// Workgroups that take several tiles, one after the other.
struct WalkOptions {
  /// Waves that are done with a tile go on to the next one while others are at theirs. Copies need a role of their own.
  bool overlap_tiles = false;
};

/// What `pipeline` returns. The stages hold once anything after them is said, or at the end of the schedule.
class PipelinedLoop {
public:
  /// The ops of stage `stage`: they go in the order of phases (global load, shared store | shared load, compute), one
  /// phase a cycle. Needs `initiation_interval`.
  void set_stage(int stage, const std::vector<Nodes> &nodes, Place place = std::source_location::current());
  /// The next stage, as one list for each cycle; every stage has the same number of cycles, which is the interval.
  void set_stage(const std::vector<std::vector<Nodes>> &cycles, Place place = std::source_location::current());

  Subgraph KERNEL, PROLOGUE, EPILOGUE;

private:
  friend class ScheduleContext;
  sched::Evaluation *owner = nullptr;
};

/// Where interleaved groups start, Wave's words; one entry per group, or one for all, or none.
struct InterleaveOptions {
  /// After every so many of the base.
  std::vector<int> intervals = {};
  /// Not before so many of the base.
  std::vector<int> start_offsets = {};
  /// Not before these groups are used up.
  std::vector<std::vector<int>> start_after_groups = {};
};

//===- The context -------------------------------------------------------------------===//

/// What the function of a schedule is given.
class ScheduleContext {
public:
  explicit ScheduleContext(sched::Evaluation &owner) : owner(owner) {}

  /// All instructions whose author's op has the tag, or the loop that has it. An unknown tag is an error.
  Nodes get_node_by_tag(std::string_view tag, Place place = std::source_location::current());
  /// Those whose tags are exactly these.
  Nodes get_node_by_tag(const std::vector<std::string> &tags, Place place = std::source_location::current());
  Nodes get_node_by_tag_and_type(std::string_view tag, NodeType type, Place place = std::source_location::current());
  /// Those in copy `iteration` of a loop that was unrolled before.
  Nodes get_node_by_tag_and_iteration(std::string_view tag, int iteration,
                                      Place place = std::source_location::current());
  /// Every instruction of the loop that is being scheduled, tagged or not.
  Nodes get_all_nodes();
  /// Does any op of the kernel have it?
  bool has_tag(std::string_view tag) const;

  /// (those that access `space`, the others); a direct copy is global. All must be reads, writes or copies.
  std::pair<Nodes, Nodes> partition_by_address_space(const Nodes &nodes, ScheduleSpace space,
                                                     Place place = std::source_location::current());
  /// Contiguous parts by the piece along `dim`; the first ones get one more where it does not divide.
  std::vector<Nodes> partition_by_dim(const Nodes &nodes, const ScheduleDim &dim, int num_partitions,
                                      Place place = std::source_location::current());
  /// How many different pieces along `dim` there are.
  int pieces(const Nodes &nodes, const ScheduleDim &dim) const;
  /// (those that some op of `users` needs in the same iteration, directly or through others, but not through pieces of
  /// the users' own op; the rest).
  std::pair<Nodes, Nodes> partition_by_use(const Nodes &nodes, const Nodes &users,
                                           Place place = std::source_location::current());
  Nodes filter_nodes(const Nodes &nodes, const std::function<bool(const sched::Operation &)> &keep,
                     Place place = std::source_location::current());
  Nodes filter_nodes(const Nodes &nodes, Subgraph subgraph, std::optional<NodeType> type = {},
                     Place place = std::source_location::current());
  Nodes getitem(const Nodes &nodes, int index, Place place = std::source_location::current());
  Nodes getitem(const std::vector<Nodes> &list, int index, Place place = std::source_location::current());

  PipelinedLoop pipeline(const Nodes &loop, const PipelineOptions &options = {},
                         Place place = std::source_location::current());
  /// Items in one group that nothing else comes between.
  ScheduleCluster cluster(const std::vector<ScheduleItem> &items);
  /// The order of a part. Each cluster is one; an item that is none belongs to the cluster in front of it.
  void reorder_graph(Subgraph part, const std::vector<ScheduleItem> &order,
                     Place place = std::source_location::current());
  /// The same for a loop that is not pipelined.
  void reorder_graph(const Nodes &loop, const std::vector<ScheduleItem> &order,
                     Place place = std::source_location::current());

  /// In front of the first op of `target`, or in front of the loop.
  void insert_before(const Nodes &target, const AddedOp &op, Place place = std::source_location::current());
  /// Behind the last op of `target`, or behind the loop.
  void insert_after(const Nodes &target, const AddedOp &op, Place place = std::source_location::current());
  void insert_at_start(Subgraph part, const AddedOp &op, Place place = std::source_location::current());
  void insert_at_end(Subgraph part, const AddedOp &op, Place place = std::source_location::current());
  void insert_at_start(const Nodes &loop, const AddedOp &op, Place place = std::source_location::current());
  void insert_at_end(const Nodes &loop, const AddedOp &op, Place place = std::source_location::current());
  /// A barrier that only these waves pass. In front of a loop it puts them one barrier behind the others, who must pass
  /// one behind the loop; the verifier refuses what would hang.
  void insert_cond_barrier_before(WaveCondition condition, const Nodes &target,
                                  Place place = std::source_location::current());
  void insert_cond_barrier_after(WaveCondition condition, const Nodes &target,
                                 Place place = std::source_location::current());
  /// The second half of the waves runs one barrier behind the first.
  void stagger(const Nodes &loop, Place place = std::source_location::current());
  void stagger(Subgraph kernel, Place place = std::source_location::current());

  /// Before pipelining: the body `factor` times; copies are told apart by get_node_by_tag_and_iteration.
  void unroll(const Nodes &loop, int factor, Place place = std::source_location::current());
  /// After pipelining: the kernel `factor` times.
  void unroll(Subgraph kernel, int factor, Place place = std::source_location::current());

  /// `base` with ops of the groups between them; what is left over follows.
  ScheduleCluster interleave_ops(const Nodes &base, const std::vector<Nodes> &groups,
                                 const InterleaveOptions &options = {}, Place place = std::source_location::current());

  /// Prologue and epilogue, step by step; with it the kernel's barriers and waits are those of its order too. Nothing
  /// is derived any more: the program runs as it is said, if the verifier accepts it. Latency protects there while
  /// direct copies take as long as memory does.
  void say_around(const std::vector<SaidStep> &prologue, const std::vector<SaidStep> &epilogue,
                  Place place = std::source_location::current());

  /// The order of the loop is what this algorithm finds (`ring`, `modulo`, …), and nothing else is said of it.
  void order_by(const Nodes &loop, std::string_view algorithm, Place place = std::source_location::current());

  /// These ops are issued by waves of their own: copies of boxes, all of the loop. Their program, what they wait for
  /// and what they await follow from the loop's.
  void specialize(const Nodes &ops, const RoleOptions &options = {}, Place place = std::source_location::current());
  /// The copies of the author's ops with these tags.
  void specialize(const std::vector<std::string> &tags, const RoleOptions &options = {},
                  Place place = std::source_location::current());
  /// A launch has no more workgroups than that, each of which takes several tiles: the next one's first copies are on
  /// their way while the results of the last one leave.
  void persistent(int64_t workgroups, const WalkOptions &options = {}, Place place = std::source_location::current());

  /// Says that hazards between these (all, if empty) which only latency protects are accepted, and why.
  void waive_latency_only(const Nodes &from, const Nodes &to, std::string_view reason,
                          Place place = std::source_location::current());
  /// A mistake that the schedule itself finds: `s.error("needs 8 waves", "…")`.
  void error(std::string_view message, std::string_view hint = "", Place place = std::source_location::current());
  /// The same with an id of its own.
  void error(const Diagnostic &mistake);

  const HardwareFacts &get_hardware_constraint() const;

private:
  sched::Evaluation &owner;
};

/// A schedule with its name. `strict`: barriers and waits that had to be added are errors, not remarks.
struct WaveSchedule {
  std::string name;
  std::function<void(ScheduleContext &)> body;
  bool strict = false;
};

} // namespace soliton
