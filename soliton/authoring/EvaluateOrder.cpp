//===- EvaluateOrder.cpp - Clusters, insertions, stagger -------------------===//
//
// `reorder_graph` gives the kernel as a list. What it leaves out was made by the compiler and stands in front of its
// first user (or behind its last producer), in the stage of that op:
//
//   {shared load, barrier}, {mma}      the convert between them: in the second cluster, in front of the mma
//
// Barriers, waits and hints that a schedule puts in belong to the last stage: they run in the kernel and in the
// epilogue. In front of the kernel they are derived, or inserted into the prologue by name.
//
//===----------------------------------------------------------------------===//
#include "soliton/authoring/Evaluation.h"

#include <algorithm>

namespace soliton::sched {

//===- Adding ------------------------------------------------------------------------===//

std::optional<int> Evaluation::counterOf(const AddedOp::Part &part, const Place &place) {
  std::vector<std::string> names;
  for (size_t i = 0; i < source.counters.size(); ++i) {
    if (source.counters[i].name == part.counter)
      return static_cast<int>(i);
    names.push_back(source.counters[i].name);
  }
  if (!part.ifCounted)
    error(DiagId::ScheduleArgument, place, "there is no counter `" + part.counter + "` to wait for on this target",
          names.empty() ? "leave the wait out" : "it counts " + listOf(names));
  return std::nullopt;
}

std::vector<int> Evaluation::add(const AddedOp &op, const Place &place, GroupMask groups) {
  const Place &where = op.place.known() ? op.place : place;
  std::vector<int> added;
  if (op.parts.empty())
    error(DiagId::ScheduleArgument, where, "a wait that names no counter, or a group of nothing",
          "say what may stay outstanding: `MemoryCounterWait({.load = 0})`");
  for (const AddedOp::Part &part : op.parts) {
    if (std::string wrong = wrongNumber(part.kind, part.hint, part.arguments, part.value); !wrong.empty())
      error(DiagId::ScheduleArgument, where, wrong, "give a number in range");
    std::optional<int> counter = -1;
    if (part.kind == OpKind::Wait && !(counter = counterOf(part, where)))
      continue;
    Operation made = makeAdded(part.kind, part.hint, part.arguments, *counter, part.value, groups);
    made.key = "schedule/" + made.origin.type + "." + std::to_string(numAdded++);
    made.place = where;
    added.push_back(plan.problem.addOperation(std::move(made)));
  }
  return added;
}

void Evaluation::insertOutside(Phase phase, bool atStart, const AddedOp &op, const Place &place, int rank,
                               GroupMask groups) {
  const Place &where = op.place.known() ? op.place : place;
  std::vector<Insertion> made;
  for (const AddedOp::Part &part : op.parts) {
    if (part.kind == OpKind::Hint) {
      error(DiagId::ScheduleArgument, where, "a hint stands outside of the kernel", "put hints into the kernel only");
      continue;
    }
    if (std::string wrong = wrongNumber(part.kind, part.hint, part.arguments, part.value); !wrong.empty())
      error(DiagId::ScheduleArgument, where, wrong, "give a number in range");
    std::optional<int> counter = -1;
    if (part.kind == OpKind::Wait && !(counter = counterOf(part, where)))
      continue;
    EntryKind kind = part.kind == OpKind::Wait ? EntryKind::Wait : EntryKind::Barrier;
    made.push_back({phase, atStart, kind, *counter, part.value, groups, where, rank});
  }
  plan.insertions.insert(plan.insertions.end(), made.begin(), made.end());
}

void Evaluation::insertAt(const Nodes &target, bool before, const AddedOp &op, const Place &place, GroupMask groups) {
  if (target.isLoop()) {
    spoken |= !target.foreign;
    if (!target.foreign)
      insertOutside(before ? Phase::Prologue : Phase::Epilogue, before, op, place, -1, groups);
    return;
  }
  if (target.empty()) {
    // An empty set comes from a mistake that was reported already, or from a selection that found nothing.
    if (plan.diagnostics.empty())
      error(DiagId::ScheduleArgument, place, "something is put beside a set of no instructions",
            "select at least one instruction, or use `insert_at_start`");
    return;
  }
  spoken = true;
  pending.push_back(
      {before ? PendingInsertion::Before : PendingInsertion::After, target.ops(), add(op, place, groups)});
}

void Evaluation::insertIn(Subgraph::Kind part, bool atStart, const AddedOp &op, const Place &place) {
  spoken = true;
  if (part == Subgraph::Kernel)
    pending.push_back({atStart ? PendingInsertion::Start : PendingInsertion::End, {}, add(op, place)});
  else
    insertOutside(part == Subgraph::Prologue ? Phase::Prologue : Phase::Epilogue, atStart, op, place);
}

void Evaluation::applyInsertions() {
  for (const PendingInsertion &insertion : pending) {
    std::vector<int> position = positionsOf(order, plan.problem.numOps());
    int length = static_cast<int>(order.size());
    int at = insertion.where == PendingInsertion::End ? length : 0;
    for (size_t i = 0; i < insertion.target.size(); ++i) {
      int found = position[insertion.target[i]] + (insertion.where == PendingInsertion::After ? 1 : 0);
      at = i == 0 ? found : insertion.where == PendingInsertion::Before ? std::min(at, found) : std::max(at, found);
    }
    // It shares cycle and cluster with the op that it was put beside.
    bool behind = insertion.where == PendingInsertion::After || insertion.where == PendingInsertion::End;
    int beside = order.empty() ? -1 : order[std::clamp(behind ? at - 1 : at, 0, length - 1)];
    for (int op : insertion.added) {
      stageOf[op] = lastStage;
      cycleOf[op] = beside < 0 ? 0 : cycleOf[beside];
      clusterOf[op] = beside < 0 ? 0 : clusterOf[beside];
    }
    order.insert(order.begin() + at, insertion.added.begin(), insertion.added.end());
  }
}

//===- Orders ------------------------------------------------------------------------===//

void Evaluation::reorder(Subgraph::Kind part, const std::vector<ScheduleItem> &items, const Place &place) {
  spoken = true;
  Ordering &ordering = part == Subgraph::Kernel ? kernel : part == Subgraph::Prologue ? prologue : epilogue;
  if (ordering.said)
    return error(DiagId::ScheduleArgument, place, "the order of this part is said twice",
                 "say it once, with everything", {{ordering.place, "it is said here already"}});
  ordering.said = true;
  ordering.place = place;
  int cluster = -1;
  for (const ScheduleItem &item : items) {
    bool starts = std::holds_alternative<std::shared_ptr<const ScheduleCluster>>(item.value);
    if (starts || cluster < 0)
      ++cluster;
    flatten(item, cluster, place, ordering, part == Subgraph::Kernel);
  }
}

void Evaluation::flatten(const ScheduleItem &item, int cluster, const Place &place, Ordering &ordering, bool isKernel) {
  auto append = [&](const std::vector<int> &ops) {
    ordering.ops.insert(ordering.ops.end(), ops.begin(), ops.end());
    ordering.clusters.resize(ordering.ops.size(), cluster);
  };
  if (const Nodes *nodes = std::get_if<Nodes>(&item.value)) {
    if (checkNodes(*nodes, place))
      append(nodes->ops());
  } else if (const AddedOp *op = std::get_if<AddedOp>(&item.value)) {
    Phase phase = &ordering == &prologue ? Phase::Prologue : Phase::Epilogue;
    if (isKernel)
      append(add(*op, place));
    else
      insertOutside(phase, true, *op, place, static_cast<int>(ordering.ops.size()));
  } else {
    for (const ScheduleItem &inner : std::get<std::shared_ptr<const ScheduleCluster>>(item.value)->items)
      flatten(inner, cluster, place, ordering, isKernel);
  }
}

namespace {
/// A place in the list and the stage that an op would have there.
struct Spot {
  int stage = 0;
  int position = 0;
  auto operator<=>(const Spot &) const = default;
};
} // namespace

/// Puts the ops that are `wanted` and not in `list` where the others leave them room.
void Evaluation::follow(std::vector<int> &list, std::vector<int> &clusters, const std::function<bool(int)> &wanted) {
  Graph graph(numSource(), dependences());
  std::vector<int> missing, position = positionsOf(list, plan.problem.numOps());
  for (int op = 0; op < numSource(); ++op)
    if (position[op] < 0 && wanted(op))
      missing.push_back(op);
  auto put = [&](int op, Spot spot, int clusterFrom) {
    int cluster = clusters.empty() ? 0 : clusters[clusterFrom];
    list.insert(list.begin() + spot.position, op);
    clusters.insert(clusters.begin() + spot.position, cluster);
    stageOf[op] = std::clamp(spot.stage, 0, lastStage);
    std::erase(missing, op);
    position = positionsOf(list, plan.problem.numOps());
  };
  auto beforeUser = [&](int op) {
    std::optional<Spot> best;
    for (const Edge &edge : graph.from(op))
      if (position[edge.to] >= 0)
        best =
            std::min(best.value_or(Spot{lastStage + 1, 0}), Spot{stageOf[edge.to] + edge.distance, position[edge.to]});
    return best && best->stage <= lastStage ? best : std::nullopt;
  };
  auto behindProducer = [&](int op) {
    std::optional<Spot> best;
    for (const Edge &edge : graph.to(op))
      if (position[edge.from] >= 0)
        best = std::max(best.value_or(Spot{-1, 0}), Spot{stageOf[edge.from] - edge.distance, position[edge.from] + 1});
    return best;
  };
  while (!missing.empty()) {
    size_t before = missing.size();
    std::vector<int> tryThese(missing.rbegin(), missing.rend());
    for (int op : tryThese)
      if (std::optional<Spot> spot = beforeUser(op))
        put(op, *spot, spot->position);
    if (missing.size() < before)
      continue;
    int op = missing.front();
    Spot spot = behindProducer(op).value_or(Spot{stageOf[op], 0});
    put(op, spot, std::max(spot.position - 1, 0));
  }
}

void Evaluation::orderKernel() {
  std::map<int, Place> seen;
  for (int op : kernel.ops)
    if (op < numSource())
      mention(op, kernel.place, seen);
  checkMentioned(seen, kernel.place, "the order of its kernel", [](int) { return true; });
  if (!plan.diagnostics.empty())
    return;
  for (int op : kernel.ops)
    if (op >= numSource())
      stageOf[op] = lastStage;
  follow(kernel.ops, kernel.clusters, [](int) { return true; });
  order = kernel.ops;
  interval = order.empty() ? 1 : kernel.clusters.back() + 1;
  for (size_t i = 0; i < order.size(); ++i)
    cycleOf[order[i]] = clusterOf[order[i]] = kernel.clusters[i];
}

void Evaluation::orderOutside(Subgraph::Kind part) {
  Ordering &ordering = part == Subgraph::Prologue ? prologue : epilogue;
  if (!ordering.said)
    return;
  if (!pipeline.begun)
    return error(DiagId::ScheduleArgument, ordering.place, "a loop that is not pipelined has no prologue or epilogue",
                 "order the loop itself");
  auto runsThere = [&](int op) { return part == Subgraph::Prologue ? stageOf[op] < lastStage : stageOf[op] > 0; };
  std::map<int, Place> seen;
  for (int op : ordering.ops)
    mention(op, ordering.place, seen);
  checkMentioned(seen, ordering.place,
                 part == Subgraph::Prologue ? "the order of its prologue" : "the order of its epilogue", runsThere);
  if (!plan.diagnostics.empty())
    return;
  // Ranks leave room: those of the author are even, so that insertions stay in front of the op they were said before.
  std::vector<int> stages = stageOf, said = ordering.ops;
  follow(ordering.ops, ordering.clusters, runsThere);
  stageOf = std::move(stages);
  std::vector<int> &rank = part == Subgraph::Prologue ? plan.prologueRank : plan.epilogueRank;
  rank.assign(plan.problem.numOps(), 0);
  int next = 0;
  for (int op : ordering.ops) {
    rank[op] = next;
    next += seen.count(op) ? 1 : 0;
  }
}

//===- Wave groups -------------------------------------------------------------------===//

std::optional<GroupMask> Evaluation::groupsOf(WaveCondition condition, const Place &place) {
  int waves = hardware().num_waves();
  int begin = std::max(condition.begin, 0), end = std::min(condition.end, waves);
  if (begin == 0 && end == waves)
    return kAllGroups;
  std::string found =
      "waves " + std::to_string(begin) + " to " + std::to_string(end - 1) + " of " + std::to_string(waves);
  if (begin >= end) {
    error(DiagId::ScheduleStagger, place, "the condition holds for no wave of " + std::to_string(waves),
          "compare `wave_id` with a number below the number of waves");
    return std::nullopt;
  }
  if (begin > 0 && end < waves) {
    error(DiagId::ScheduleStagger, place, "the condition picks " + found,
          "pick the first or the last waves of a workgroup");
    return std::nullopt;
  }
  int split = begin > 0 ? begin : end;
  bool split2 = plan.groupStart.size() > 1;
  if (source.groups > 1 || (split2 && plan.groupStart[1] != split)) {
    error(DiagId::ScheduleStagger, place, "the waves are split at " + std::to_string(split) + " and elsewhere too",
          "split them at one place");
    return std::nullopt;
  }
  plan.groupStart = {0, split};
  plan.problem.groups = 2;
  barriersBefore.resize(2);
  barriersAfter.resize(2);
  return begin > 0 ? GroupMask{2} : GroupMask{1};
}

void Evaluation::conditionalBarrier(WaveCondition condition, const Nodes &target, bool before, const Place &place) {
  if (target.foreign)
    return;
  std::optional<GroupMask> groups = groupsOf(condition, place);
  if (!groups)
    return;
  if (!target.isLoop() || *groups == kAllGroups)
    return insertAt(target, before, WorkgroupBarrier(place), place, *groups);
  spoken = true;
  staggerPlace = place;
  ++(before ? barriersBefore : barriersAfter)[*groups == 1 ? 0 : 1];
}

void Evaluation::stagger(const Place &place) {
  int waves = hardware().num_waves();
  if (waves < 2 || waves % 2 != 0)
    return error(DiagId::ScheduleStagger, place,
                 "`stagger` splits the waves of a workgroup in half, found " + std::to_string(waves),
                 "give the workgroup an even number of waves");
  spoken = true;
  staggerPlace = place;
  if (!groupsOf({waves / 2, waves}, place))
    return;
  ++barriersBefore[1];
  ++barriersAfter[0];
}

void Evaluation::settleStagger() {
  if (barriersBefore.empty())
    return;
  if (barriersBefore[0] + barriersAfter[0] != barriersBefore[1] + barriersAfter[1])
    return error(DiagId::ScheduleStagger, staggerPlace,
                 "the first waves pass " + std::to_string(barriersBefore[0] + barriersAfter[0]) +
                     " barriers around the loop, the last ones " + std::to_string(barriersBefore[1] + barriersAfter[1]),
                 "waves that pass one in front of the loop skip one behind it, or the kernel hangs");
  int least = std::min(barriersBefore[0], barriersBefore[1]);
  plan.problem.stagger = {barriersBefore[0] - least, barriersBefore[1] - least};
}

//===- Programs that are said whole --------------------------------------------------===//

std::vector<Entry> Evaluation::entriesOf(const std::vector<SaidStep> &steps, const Place &place) {
  std::vector<Entry> entries;
  auto put = [&](Entry entry) {
    entry.position = static_cast<int>(entries.size());
    entries.push_back(entry);
  };
  for (const SaidStep &step : steps) {
    if (const Nodes *nodes = std::get_if<Nodes>(&step.what)) {
      for (int op : checkNodes(*nodes, place) ? nodes->ops() : std::vector<int>())
        put({.op = op, .iteration = step.iteration});
      continue;
    }
    size_t known = plan.insertions.size();
    insertOutside(Phase::Prologue, true, std::get<AddedOp>(step.what), place, -1, step.groups);
    for (size_t i = known; i < plan.insertions.size(); ++i) {
      const Insertion &made = plan.insertions[i];
      put({.kind = made.kind,
           .groups = made.groups,
           .counter = made.counter,
           .value = made.value,
           .stagger = made.groups != kAllGroups,
           .said = true});
    }
    plan.insertions.resize(known);
  }
  return entries;
}

void Evaluation::sayAround(const std::vector<SaidStep> &before, const std::vector<SaidStep> &behind,
                           const Place &place) {
  spoken = true;
  if (!pipeline.begun || plan.around)
    return error(DiagId::ScheduleArgument, place,
                 plan.around ? "prologue and epilogue are said twice"
                             : "a loop that is not pipelined has no prologue or epilogue",
                 plan.around ? "say them once" : "call `pipeline` and set its stages first");
  plan.around = {entriesOf(before, place), entriesOf(behind, place)};
  // What such programs leave to latency they leave to that of memory. Where a copy finds its rows in the nearest cache
  // it may be faster than that, which is one more reason to want a waiver.
  for (Operation &op : plan.problem.operations)
    if (op.kind == OpKind::CopyAsync)
      op.firstEffect = std::max(op.firstEffect, op.latency);
}

void Evaluation::waive(const Nodes &from, const Nodes &to, std::string_view reason, const Place &place) {
  if (!checkNodes(from, place) || !checkNodes(to, place))
    return;
  auto keys = [&](const Nodes &nodes) {
    std::vector<std::string> list;
    for (int op : nodes.ops())
      list.push_back(source.operations[op].key);
    return list.empty() ? std::vector<std::string>{""} : list;
  };
  for (const std::string &x : keys(from))
    for (const std::string &y : keys(to))
      plan.waivers.push_back({x, y, "", std::string(reason)});
}

} // namespace soliton::sched
