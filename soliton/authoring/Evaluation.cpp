#include "soliton/authoring/Evaluation.h"

#include <algorithm>
#include <numeric>

namespace soliton::sched {

Evaluation::Evaluation(const WaveSchedule &schedule, const Problem &problem, const ScheduleInput &input)
    : schedule(schedule), source(problem), input(input) {
  plan.problem = problem;
  plan.unrollFirst = input.unrolled;
  plan.strict = input.strict || schedule.strict;
}

void Evaluation::error(DiagId id, Place place, std::string message, std::string hint, std::vector<Note> notes) {
  if (!place.known())
    place = input.loopPlace;
  plan.diagnostics.push_back(
      {Severity::error, id, std::move(place), std::move(message), std::move(hint), std::move(notes)});
}

const std::vector<Dependence> &Evaluation::dependences() {
  if (!derived)
    derived = deriveDependences(source);
  return *derived;
}

Nodes Evaluation::makeNodes(std::vector<int> ops) const {
  Nodes nodes;
  nodes.members = std::move(ops);
  return nodes;
}

bool Evaluation::checkLoop(const Nodes &nodes, const Place &place) {
  if (nodes.loop)
    return true;
  // An empty set comes from a tag that was reported already.
  if (!nodes.empty() || plan.diagnostics.empty())
    error(DiagId::ScheduleArgument, place,
          "this needs a loop, found a set of " + std::to_string(nodes.size()) + " instructions",
          "tag the loop, `iterate(…, {.tag = \"k_loop\"})`, and pass what `get_node_by_tag` gives for it");
  return false;
}

bool Evaluation::checkNodes(const Nodes &nodes, const Place &place) {
  if (!nodes.loop)
    return true;
  error(DiagId::ScheduleArgument, place, "this needs instructions, found the loop itself",
        "pass what `get_node_by_tag` gives for an op inside the loop");
  return false;
}

//===- By tag ------------------------------------------------------------------------===//

namespace {
bool contains(const std::vector<std::string> &list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}
} // namespace

std::vector<std::string> Evaluation::allTags() const {
  std::set<std::string> tags(input.loopTags.begin(), input.loopTags.end());
  tags.insert(input.otherTags.begin(), input.otherTags.end());
  tags.insert(input.otherLoopTags.begin(), input.otherLoopTags.end());
  for (const Operation &op : source.operations)
    tags.insert(op.origin.tags.begin(), op.origin.tags.end());
  return {tags.begin(), tags.end()};
}

bool Evaluation::hasTag(std::string_view tag) const {
  return contains(allTags(), tag);
}

Nodes Evaluation::byTag(std::string_view tag, const Place &place) {
  Nodes nodes;
  if (contains(input.loopTags, tag) || contains(input.otherLoopTags, tag)) {
    nodes.loop = true;
    nodes.foreign = !contains(input.loopTags, tag);
    return nodes;
  }
  for (int op = 0; op < numSource(); ++op)
    if (contains(source.operations[op].origin.tags, tag))
      nodes.members.push_back(op);
  if (!nodes.empty() || contains(input.otherTags, tag))
    return nodes;
  std::vector<std::string> known = allTags();
  std::optional<std::string> close = nearest(tag, known);
  error(DiagId::ScheduleTag, place, "no op of the kernel has the tag `" + std::string(tag) + "`",
        close           ? "did you mean `" + *close + "`?"
        : known.empty() ? "give the ops of the kernel tags: `read(a, {.tag = \"read_a\"})`"
                        : "the kernel has " + listOf(known));
  return nodes;
}

Nodes Evaluation::byTags(const std::vector<std::string> &tags, const Place &place) {
  std::set<std::string> wanted(tags.begin(), tags.end());
  Nodes nodes;
  for (const std::string &tag : wanted)
    if (!hasTag(tag))
      return byTag(tag, place); // reports it
  for (int op = 0; op < numSource(); ++op) {
    const std::vector<std::string> &has = source.operations[op].origin.tags;
    if (std::set<std::string>(has.begin(), has.end()) == wanted)
      nodes.members.push_back(op);
  }
  return nodes;
}

Nodes Evaluation::all() const {
  std::vector<int> ops(numSource());
  std::iota(ops.begin(), ops.end(), 0);
  return makeNodes(std::move(ops));
}

//===- Selections --------------------------------------------------------------------===//

bool Evaluation::isOfType(const Operation &op, NodeType type) {
  switch (type) {
  case NodeType::Read:
    return op.kind == OpKind::GlobalLoad || op.kind == OpKind::SharedLoad;
  case NodeType::Write:
    return op.kind == OpKind::GlobalStore || op.kind == OpKind::SharedStore;
  case NodeType::GatherToLDS:
    return op.kind == OpKind::CopyAsync;
  case NodeType::MMA:
    return op.kind == OpKind::Mma || op.kind == OpKind::MmaAsync;
  case NodeType::Arithmetic:
    return op.kind == OpKind::Valu;
  case NodeType::Shuffle:
    return op.kind == OpKind::Shuffle;
  case NodeType::Barrier:
    return op.kind == OpKind::Barrier;
  case NodeType::Wait:
    return op.kind == OpKind::Wait;
  }
  return false;
}

Nodes Evaluation::keep(const Nodes &nodes, const std::function<bool(const Operation &)> &predicate,
                       const Place &place) {
  Nodes kept;
  if (!checkNodes(nodes, place))
    return kept;
  for (int op : nodes.members)
    if (predicate && predicate(source.operations[op]))
      kept.members.push_back(op);
  return kept;
}

Nodes Evaluation::inPart(const Nodes &nodes, Subgraph part, std::optional<NodeType> type, const Place &place) {
  Nodes kept;
  if (part.foreign || !checkNodes(nodes, place))
    return kept;
  int last = pipeline.stages.empty() ? 0 : pipeline.stages.rbegin()->first;
  std::map<int, int> stages;
  for (const auto &[index, stage] : pipeline.stages)
    for (const std::vector<int> &cycle : stage.cycles)
      for (int op : cycle)
        stages[op] = index;
  for (int op : nodes.members) {
    auto found = stages.find(op);
    // What was not staged runs with what it serves, in the kernel at least.
    int stage = found == stages.end() ? 0 : found->second;
    bool inside = part.kind == Subgraph::Kernel || (part.kind == Subgraph::Prologue ? stage < last : stage > 0);
    if (inside && (!type || isOfType(source.operations[op], *type)))
      kept.members.push_back(op);
  }
  return kept;
}

std::pair<Nodes, Nodes> Evaluation::bySpace(const Nodes &nodes, Space space, const Place &place) {
  std::pair<Nodes, Nodes> result;
  if (!checkNodes(nodes, place))
    return result;
  for (int index : nodes.members) {
    const Operation &op = source.operations[index];
    bool isGlobal = op.kind == OpKind::GlobalLoad || op.kind == OpKind::GlobalStore || op.kind == OpKind::CopyAsync;
    bool isShared = op.kind == OpKind::SharedLoad || op.kind == OpKind::SharedStore;
    if (!isGlobal && !isShared) {
      error(DiagId::ScheduleArgument, place,
            "`" + op.key + "` is " + std::string(nameOf(op.kind)) + " and accesses no memory",
            "select reads and writes first: `get_node_by_tag_and_type(tag, NodeType::Read)`",
            {{op.place, "`" + op.key + "` stands here"}});
      return {};
    }
    bool matches = space == Space::Global ? isGlobal : space == Space::Shared ? isShared : false;
    (matches ? result.first : result.second).members.push_back(index);
  }
  return result;
}

namespace {
int64_t pieceOf(const Operation &op, const std::string &dim) {
  auto found = op.origin.piece.find(dim);
  return found == op.origin.piece.end() ? 0 : found->second;
}
} // namespace

int Evaluation::pieces(const Nodes &nodes, const std::string &dim) const {
  std::set<int64_t> ids;
  for (int op : nodes.members)
    ids.insert(pieceOf(source.operations[op], dim));
  return static_cast<int>(ids.size());
}

std::vector<Nodes> Evaluation::byDim(const Nodes &nodes, const std::string &dim, int parts, const Place &place) {
  std::vector<Nodes> result(std::clamp(parts, 1, 1 << 16));
  if (!checkNodes(nodes, place))
    return result;
  std::set<int64_t> ids;
  for (int op : nodes.members)
    ids.insert(pieceOf(source.operations[op], dim));
  int count = static_cast<int>(ids.size());
  if (parts < 1 || parts > count) {
    if (nodes.empty() && parts >= 1)
      return result;
    error(DiagId::SchedulePieces, place,
          "`partition_by_dim` asks for " + std::to_string(parts) + " parts along " + dim +
              " of instructions that have " + std::to_string(count) + (count == 1 ? " piece" : " pieces") + " there",
          "ask for at most " + std::to_string(std::max(count, 1)) + ", or choose a tile with more pieces along " + dim);
    return result;
  }
  // The first parts get one piece more where it does not divide.
  std::map<int64_t, int> partOf;
  int next = 0;
  for (int part = 0; part < parts; ++part)
    for (int share = count / parts + (part < count % parts ? 1 : 0); share > 0; --share)
      partOf[*std::next(ids.begin(), next++)] = part;
  for (int op : nodes.members)
    result[partOf[pieceOf(source.operations[op], dim)]].members.push_back(op);
  return result;
}

std::pair<Nodes, Nodes> Evaluation::byUse(const Nodes &nodes, const Nodes &users, const Place &place) {
  std::pair<Nodes, Nodes> result;
  if (!checkNodes(nodes, place) || !checkNodes(users, place))
    return result;
  Graph graph(numSource(), dependences());
  std::vector<int> work = users.members;
  std::set<int> needed(work.begin(), work.end());
  // Other pieces of the users' own op (a chain of sums) are not what they need, but where they stand.
  std::set<std::pair<int, OpKind>> own;
  for (int op : users.members)
    own.insert({source.operations[op].origin.op, source.operations[op].kind});
  auto follows = [&](const Edge &edge) {
    const Operation &from = source.operations[edge.from];
    return edge.distance == 0 && dependences()[edge.dependence].kind == DepKind::Raw &&
           !own.count({from.origin.op, from.kind});
  };
  while (!work.empty()) {
    int op = work.back();
    work.pop_back();
    for (const Edge &edge : graph.to(op))
      if (follows(edge) && needed.insert(edge.from).second)
        work.push_back(edge.from);
  }
  for (int op : nodes.members)
    (needed.count(op) ? result.first : result.second).members.push_back(op);
  return result;
}

Nodes Evaluation::item(const Nodes &nodes, int index, const Place &place) {
  if (!checkNodes(nodes, place))
    return {};
  int count = static_cast<int>(nodes.size());
  if (index >= -count && index < count)
    return makeNodes({nodes.members[index < 0 ? index + count : index]});
  error(DiagId::ScheduleArgument, place,
        "`getitem` asks for element " + std::to_string(index) + " of " + std::to_string(count) + " instructions",
        "elements count from 0");
  return {};
}

//===- Interleaving ------------------------------------------------------------------===//

namespace {
/// Entry `group` of a list that has one for each, one for all, or none.
int settingOf(const std::vector<int> &list, size_t group, int otherwise) {
  return list.empty() ? otherwise : list[std::min(group, list.size() - 1)];
}
} // namespace

ScheduleCluster Evaluation::interleave(const Nodes &base, const std::vector<Nodes> &groups,
                                       const InterleaveOptions &options, const Place &place) {
  ScheduleCluster result;
  auto wrongLength = [&](size_t size) { return size > 1 && size != groups.size(); };
  bool bad = wrongLength(options.intervals.size()) || wrongLength(options.start_offsets.size()) ||
             options.start_after_groups.size() > groups.size();
  for (int interval : options.intervals)
    bad |= interval < 1;
  for (const std::vector<int> &list : options.start_after_groups)
    for (int group : list)
      bad |= group < 0 || group >= static_cast<int>(groups.size());
  if (bad)
    error(DiagId::ScheduleArgument, place,
          "`interleave_ops` got settings that do not fit its " + std::to_string(groups.size()) + " groups",
          "give one interval of at least 1 and one offset per group (or one for all), and groups by their index");
  if (bad || !checkNodes(base, place))
    return result;
  std::vector<size_t> used(groups.size(), 0);
  auto take = [&](size_t group) { result.items.emplace_back(makeNodes({groups[group].members[used[group]++]})); };
  auto ready = [&](size_t group, int at) {
    if (used[group] == groups[group].size())
      return false;
    if (group < options.start_after_groups.size())
      for (int before : options.start_after_groups[group])
        if (used[before] < groups[before].size())
          return false;
    int offset = settingOf(options.start_offsets, group, 0);
    return at >= offset && (at - offset) % settingOf(options.intervals, group, 1) == 0;
  };
  for (size_t i = 0; i < base.size(); ++i) {
    result.items.emplace_back(makeNodes({base.members[i]}));
    for (size_t group = 0; group < groups.size(); ++group)
      if (ready(group, static_cast<int>(i)))
        take(group);
  }
  for (size_t group = 0; group < groups.size(); ++group)
    while (used[group] < groups[group].size())
      take(group);
  return result;
}

} // namespace soliton::sched
