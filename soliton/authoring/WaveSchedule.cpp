#include "soliton/authoring/WaveSchedule.h"

#include "soliton/authoring/Evaluation.h"

namespace soliton {
using sched::HintKind;
using sched::OpKind;

//===- What a schedule puts in -------------------------------------------------------===//

namespace {
AddedOp::Part barrierPart() {
  return {.kind = OpKind::Barrier};
}

AddedOp::Part waitPart(std::string counter, int value, bool ifCounted = false) {
  return {.kind = OpKind::Wait, .counter = std::move(counter), .value = value, .ifCounted = ifCounted};
}

AddedOp::Part hintPart(HintKind hint, std::vector<int64_t> arguments) {
  return {.kind = OpKind::Hint, .hint = hint, .arguments = std::move(arguments)};
}

std::vector<AddedOp::Part> waitParts(const CounterLimits &limits) {
  std::vector<AddedOp::Part> parts;
  if (limits.load)
    parts.push_back(waitPart("vm", *limits.load));
  if (limits.ds)
    parts.push_back(waitPart("shared", *limits.ds));
  if (limits.cp_async)
    parts.push_back(waitPart("cp_async", *limits.cp_async));
  return parts;
}
} // namespace

WorkgroupBarrier::WorkgroupBarrier(Place place) : AddedOp{{barrierPart()}, std::move(place)} {}

SharedMemoryBarrier::SharedMemoryBarrier(Place place)
    : AddedOp{{waitPart("shared", 0, /*ifCounted=*/true), barrierPart()}, std::move(place)} {}

MemoryCounterWait::MemoryCounterWait(const CounterLimits &limits, Place place)
    : AddedOp{waitParts(limits), std::move(place)} {}

MemoryCounterWaitBarrier::MemoryCounterWaitBarrier(const CounterLimits &limits, Place place)
    : AddedOp{waitParts(limits), std::move(place)} {
  parts.push_back(barrierPart());
}

SetWavePrio::SetWavePrio(int level, Place place) : AddedOp{{hintPart(HintKind::Priority, {level})}, std::move(place)} {}

SchedulingBarrier::SchedulingBarrier(const std::vector<InstructionClass> &mayCross, Place place)
    : AddedOp{{}, std::move(place)} {
  int64_t mask = 0;
  for (InstructionClass value : mayCross)
    mask |= static_cast<int64_t>(value);
  parts.push_back(hintPart(HintKind::SchedBarrier, {mask}));
}

SchedulingGroupBarrier::SchedulingGroupBarrier(const std::vector<std::pair<InstructionClass, int>> &groups, int sync,
                                               Place place)
    : AddedOp{{}, std::move(place)} {
  for (const auto &[value, count] : groups)
    parts.push_back(hintPart(HintKind::SchedGroup, {static_cast<int64_t>(value), count, sync}));
}

ScheduleItem::ScheduleItem(Nodes nodes) : value(std::move(nodes)) {}
ScheduleItem::ScheduleItem(AddedOp op) : value(std::move(op)) {}
ScheduleItem::ScheduleItem(const ScheduleCluster &cluster) : value(std::make_shared<const ScheduleCluster>(cluster)) {}

Nodes Nodes::operator+(const Nodes &other) const {
  Nodes both = *this;
  both.members.insert(both.members.end(), other.members.begin(), other.members.end());
  return both;
}

//===- Selections --------------------------------------------------------------------===//

Nodes ScheduleContext::get_node_by_tag(std::string_view tag, Place place) {
  return owner.byTag(tag, place);
}

Nodes ScheduleContext::get_node_by_tag(const std::vector<std::string> &tags, Place place) {
  return owner.byTags(tags, place);
}

Nodes ScheduleContext::get_node_by_tag_and_type(std::string_view tag, NodeType type, Place place) {
  auto wanted = [type](const sched::Operation &op) { return sched::Evaluation::isOfType(op, type); };
  return owner.keep(owner.byTag(tag, place), wanted, place);
}

Nodes ScheduleContext::get_node_by_tag_and_iteration(std::string_view tag, int iteration, Place place) {
  auto wanted = [iteration](const sched::Operation &op) { return op.origin.copy == iteration; };
  return owner.keep(owner.byTag(tag, place), wanted, place);
}

Nodes ScheduleContext::get_all_nodes() {
  return owner.all();
}

bool ScheduleContext::has_tag(std::string_view tag) const {
  return owner.hasTag(tag);
}

std::pair<Nodes, Nodes> ScheduleContext::partition_by_address_space(const Nodes &nodes, ScheduleSpace space,
                                                                    Place place) {
  return owner.bySpace(nodes, space.space, place);
}

std::vector<Nodes> ScheduleContext::partition_by_dim(const Nodes &nodes, const ScheduleDim &dim, int num_partitions,
                                                     Place place) {
  return owner.byDim(nodes, dim.name, num_partitions, place);
}

int ScheduleContext::pieces(const Nodes &nodes, const ScheduleDim &dim) const {
  return owner.pieces(nodes, dim.name);
}

std::pair<Nodes, Nodes> ScheduleContext::partition_by_use(const Nodes &nodes, const Nodes &users, Place place) {
  return owner.byUse(nodes, users, place);
}

Nodes ScheduleContext::filter_nodes(const Nodes &nodes, const std::function<bool(const sched::Operation &)> &keep,
                                    Place place) {
  return owner.keep(nodes, keep, place);
}

Nodes ScheduleContext::filter_nodes(const Nodes &nodes, Subgraph subgraph, std::optional<NodeType> type, Place place) {
  return owner.inPart(nodes, subgraph, type, place);
}

Nodes ScheduleContext::getitem(const Nodes &nodes, int index, Place place) {
  return owner.item(nodes, index, place);
}

Nodes ScheduleContext::getitem(const std::vector<Nodes> &list, int index, Place place) {
  int count = static_cast<int>(list.size());
  if (index >= -count && index < count)
    return list[index < 0 ? index + count : index];
  owner.error(DiagId::ScheduleArgument, place,
              "`getitem` asks for element " + std::to_string(index) + " of " + std::to_string(count) + " sets",
              "elements count from 0");
  return {};
}

ScheduleCluster ScheduleContext::interleave_ops(const Nodes &base, const std::vector<Nodes> &groups,
                                                const InterleaveOptions &options, Place place) {
  return owner.interleave(base, groups, options, place);
}

//===- Pipelines ---------------------------------------------------------------------===//

PipelinedLoop ScheduleContext::pipeline(const Nodes &loop, const PipelineOptions &options, Place place) {
  PipelinedLoop result;
  bool ours = owner.checkLoop(loop, place) && !loop.foreign;
  for (Subgraph *part : {&result.KERNEL, &result.PROLOGUE, &result.EPILOGUE})
    part->foreign = !ours;
  result.PROLOGUE.kind = Subgraph::Prologue;
  result.EPILOGUE.kind = Subgraph::Epilogue;
  if (!ours)
    return result;
  result.owner = &owner;
  owner.beginPipeline(options, place);
  return result;
}

void PipelinedLoop::set_stage(int stage, const std::vector<Nodes> &nodes, Place place) {
  if (owner)
    owner->setStage(stage, nodes, place);
}

void PipelinedLoop::set_stage(const std::vector<std::vector<Nodes>> &cycles, Place place) {
  if (owner)
    owner->setStage(cycles, place);
}

ScheduleCluster ScheduleContext::cluster(const std::vector<ScheduleItem> &items) {
  return {items};
}

void ScheduleContext::reorder_graph(Subgraph part, const std::vector<ScheduleItem> &order, Place place) {
  if (!part.foreign)
    owner.reorder(part.kind, order, place);
}

void ScheduleContext::reorder_graph(const Nodes &loop, const std::vector<ScheduleItem> &order, Place place) {
  if (owner.checkLoop(loop, place) && !loop.foreign)
    owner.reorder(Subgraph::Kernel, order, place);
}

void ScheduleContext::insert_before(const Nodes &target, const AddedOp &op, Place place) {
  owner.insertAt(target, /*before=*/true, op, place);
}

void ScheduleContext::insert_after(const Nodes &target, const AddedOp &op, Place place) {
  owner.insertAt(target, /*before=*/false, op, place);
}

void ScheduleContext::insert_at_start(Subgraph part, const AddedOp &op, Place place) {
  if (!part.foreign)
    owner.insertIn(part.kind, /*atStart=*/true, op, place);
}

void ScheduleContext::insert_at_end(Subgraph part, const AddedOp &op, Place place) {
  if (!part.foreign)
    owner.insertIn(part.kind, /*atStart=*/false, op, place);
}

void ScheduleContext::insert_at_start(const Nodes &loop, const AddedOp &op, Place place) {
  if (owner.checkLoop(loop, place) && !loop.foreign)
    owner.insertIn(Subgraph::Kernel, /*atStart=*/true, op, place);
}

void ScheduleContext::insert_at_end(const Nodes &loop, const AddedOp &op, Place place) {
  if (owner.checkLoop(loop, place) && !loop.foreign)
    owner.insertIn(Subgraph::Kernel, /*atStart=*/false, op, place);
}

void ScheduleContext::insert_cond_barrier_before(WaveCondition condition, const Nodes &target, Place place) {
  owner.conditionalBarrier(condition, target, /*before=*/true, place);
}

void ScheduleContext::insert_cond_barrier_after(WaveCondition condition, const Nodes &target, Place place) {
  owner.conditionalBarrier(condition, target, /*before=*/false, place);
}

void ScheduleContext::stagger(const Nodes &loop, Place place) {
  if (owner.checkLoop(loop, place) && !loop.foreign)
    owner.stagger(place);
}

void ScheduleContext::stagger(Subgraph kernel, Place place) {
  if (!kernel.foreign)
    owner.stagger(place);
}

void ScheduleContext::unroll(const Nodes &loop, int factor, Place place) {
  if (owner.checkLoop(loop, place) && !loop.foreign)
    owner.unrollSource(factor, place);
}

void ScheduleContext::unroll(Subgraph kernel, int factor, Place place) {
  if (kernel.foreign)
    return;
  if (kernel.kind == Subgraph::Kernel)
    return owner.unrollKernel(factor, place);
  owner.error(DiagId::ScheduleUnroll, place, "only the kernel of a pipelined loop can be unrolled",
              "pass the `KERNEL` of the pipeline; prologue and epilogue are straight code already");
}

void ScheduleContext::say_around(const std::vector<SaidStep> &prologue, const std::vector<SaidStep> &epilogue,
                                 Place place) {
  owner.sayAround(prologue, epilogue, place);
}

void ScheduleContext::order_by(const Nodes &loop, std::string_view algorithm, Place place) {
  if (owner.checkLoop(loop, place) && !loop.foreign)
    owner.orderBy(algorithm, place);
}

void ScheduleContext::specialize(const Nodes &ops, const RoleOptions &options, Place place) {
  owner.specialize(ops, options, place);
}

void ScheduleContext::specialize(const std::vector<std::string> &tags, const RoleOptions &options, Place place) {
  owner.specializeTags(tags, options, place);
}

void ScheduleContext::persistent(int64_t workgroups, const WalkOptions &options, Place place) {
  owner.persistent(workgroups, options, place);
}

void ScheduleContext::waive_latency_only(const Nodes &from, const Nodes &to, std::string_view reason, Place place) {
  owner.waive(from, to, reason, place);
}

void ScheduleContext::error(std::string_view message, std::string_view hint, Place place) {
  owner.error(DiagId::ScheduleUnsuitable, std::move(place), std::string(message), std::string(hint));
}

void ScheduleContext::error(const Diagnostic &mistake) {
  owner.error(mistake.id, mistake.place, mistake.message, mistake.hint, mistake.notes);
}

const HardwareFacts &ScheduleContext::get_hardware_constraint() const {
  return owner.hardware();
}

} // namespace soliton
