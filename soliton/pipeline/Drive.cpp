#include "soliton/pipeline/Drive.h"

#include "soliton/pipeline/InPlace.h"
#include "soliton/pipeline/TileProgram.h"

#include <algorithm>
#include <limits>
#include <set>

namespace soliton::pipe {
namespace {
/// One step of the loop of a kernel: an op of the body, or a barrier or hint that stands between.
struct Step {
  /// Index in the body; -1: `mark`, or in a program as shipped `said`.
  int op = -1;
  const sched::Operation *mark = nullptr;
  const OpDesc *said = nullptr;
};

/// The instructions of an op. Through registers, loads work one tile further ahead than the stores they follow.
struct Instructions {
  Nodes main;
  Nodes loadsAhead;
};

class Driver {
public:
  Driver(const PipelineSchedule &declared, ScheduleContext &context, const PipelineOptions &options)
      : s(context), options(options), inPlace(forKernel(declared)), pipeline(inPlace ? *inPlace : declared),
        made(compilePipeline(pipeline, options)) {}

  void run() {
    Nodes loop = s.get_node_by_tag(pipeline.loopTag());
    if (!loop.isLoop() || loop.isOtherLoop())
      return;
    if (!made.ok())
      return passOn();
    if ((isShipped() ? findShipped() : findTile()) && selectAll()) {
      checkGeometry();
      build(loop);
    }
  }

private:
  bool isShipped() const { return made.mode == Mode::Faithful; }
  std::string quoted(const OpDesc &op) const { return "`" + pipeline.text(op) + "`"; }
  void error(DiagId id, const OpDesc &op, std::string message, std::string hint, std::vector<Note> notes = {}) {
    s.error({Severity::error, id, op.where.place(), std::move(message), std::move(hint), std::move(notes)});
    failed = true;
  }
  void passOn() {
    for (const Diagnostic &diagnostic : made.diagnostics)
      if (diagnostic.severity == Severity::error)
        s.error(diagnostic);
  }

  //===- Factors in place --------------------------------------------------------------===//

  /// The declaration for matrix instructions that read shared memory by themselves, where the kernel has such.
  std::unique_ptr<const InPlace> forKernel(const PipelineSchedule &declared) {
    using sched::OpKind;
    auto has = [&](OpKind kind) {
      return !s.filter_nodes(s.get_all_nodes(), [&](const sched::Operation &op) { return op.kind == kind; }).empty();
    };
    if (!readsInPlace() || has(OpKind::SharedLoad) || options.mode == Mode::Faithful)
      return nullptr;
    bool single = declared.config().depth < 2;
    std::shared_ptr<const PipelineSchedule> lent(std::shared_ptr<void>(), &declared);
    return std::make_unique<const InPlace>(std::move(lent), single ? sm90aSingleBufferTarget() : sm90aTarget(),
                                           Arrival{has(OpKind::CopyAsync), has(OpKind::SharedStore)});
  }

  bool readsInPlace() { return !s.filter_nodes(s.get_all_nodes(), isUnderWay).empty(); }
  static bool isUnderWay(const sched::Operation &op) { return op.kind == sched::OpKind::Mma && !op.ticks.empty(); }

  /// Products that read the tiles of an op of the kernel where they lie.
  Nodes readersInPlace(const std::string &tag, const Place &place) {
    std::set<int> tiles;
    auto fills = [&](const sched::Operation &op) {
      if (op.kind == sched::OpKind::CopyAsync || op.kind == sched::OpKind::SharedStore)
        for (const sched::Access &access : op.accesses)
          if (access.write)
            tiles.insert(access.region);
      return false;
    };
    s.filter_nodes(s.get_node_by_tag(tag, place), fills, place);
    return s.filter_nodes(s.get_all_nodes(), [&](const sched::Operation &op) {
      return isUnderWay(op) && std::ranges::any_of(op.accesses, [&](const sched::Access &access) {
               return !access.write && tiles.count(access.region);
             });
    });
  }

  //===- One tile of the declaration ---------------------------------------------------===//

  int tileLength() const { return static_cast<int>(made.body.size()) / made.config.numPartitions; }
  int halfOf(int index) const { return std::min(index / tileLength(), made.config.numPartitions - 1); }
  int aheadOf(int index) const { return pipeline.tilesAhead(made.body[index], halfOf(index)); }

  /// What two halves must have in common at one place.
  bool isSame(const Step &a, const Step &b) const {
    if (a.op < 0 || b.op < 0)
      return a.op < 0 && b.op < 0 && a.mark->kind == b.mark->kind && a.mark->arguments == b.mark->arguments;
    const OpDesc &x = made.body[a.op], &y = made.body[b.op];
    return x.tag == y.tag && x.channel == y.channel && x.subtile == y.subtile &&
           (isStaged(x.role) || x.stage == y.stage) && aheadOf(a.op) == aheadOf(b.op);
  }

  /// The steps of the first half, which those of the others repeat.
  bool findTile() {
    const Proof &proof = made.proof;
    std::vector<std::vector<Step>> halves(made.config.numPartitions);
    int half = 0;
    bool apart = true;
    // A mark belongs to the half of the op in front of it; of those in front of all ops, to the first.
    for (int operation : sched::emissionOrder(proof.schedule)) {
      int index = proof.bodyIndices[operation];
      if (index >= 0) {
        apart &= halfOf(index) >= half;
        half = halfOf(index);
      }
      halves[half].push_back({index, &proof.problem.operations[operation]});
    }
    for (const std::vector<Step> &other : halves)
      if (!apart || !std::ranges::equal(halves[0], other, [&](const Step &a, const Step &b) { return isSame(a, b); }))
        return reportHalves();
    tile = std::move(halves[0]);
    return true;
  }

  bool reportHalves() {
    error(DiagId::PipelineHalvesDiffer, made.body.front(),
          "the halves of `" + pipeline.name() +
              "` are ordered differently, and one iteration of the kernel's loop is one half",
          "keep the declared order (`Strategy::Identity`), and declare the halves by one function: `halves`");
    return false;
  }

  /// The same of the framework's own program, whose waits are those of one geometry.
  bool findShipped() {
    if (!pipeline.geometry()) {
      error(DiagId::PipelineGeometry, made.body.front(),
            "the waits of `" + pipeline.name() + "` as shipped are those of one geometry, and it was given none",
            "make it from the kernel's own tile, element type and waves");
      return false;
    }
    shipped = byTiles(pipeline, made);
    if (!shipped)
      return reportHalves();
    for (const TileEntry &entry : shipped->kernel)
      tile.push_back({entry.op, nullptr, &entry.mark});
    return true;
  }

  //===- Instructions -----------------------------------------------------------------===//

  static bool hasRole(const sched::Operation &op, OpRole role) {
    using sched::OpKind;
    switch (role) {
    case OpRole::GlobalLoad:
      return op.kind == OpKind::GlobalLoad || op.kind == OpKind::CopyAsync;
    case OpRole::SharedStore:
      return op.kind == OpKind::SharedStore;
    case OpRole::FragmentLoad:
      return op.kind == OpKind::SharedLoad;
    case OpRole::Compute:
      return op.kind == OpKind::Mma || op.kind == OpKind::MmaAsync || op.kind == OpKind::Valu ||
             op.kind == OpKind::Shuffle;
    case OpRole::ValuCompute:
      return op.kind == OpKind::Valu || op.kind == OpKind::Shuffle;
    default:
      return false;
    }
  }

  Nodes select(const Selection &what, OpRole role, const Place &place) {
    bool isRead = inPlace && role == OpRole::FragmentLoad;
    Nodes nodes = isRead ? readersInPlace(what.tag, place)
                         : s.filter_nodes(
                               what.tag.empty() ? unclaimed() : s.get_node_by_tag(what.tag, place),
                               [&](const sched::Operation &op) { return hasRole(op, role); }, place);
    for (const Part &part : what.parts)
      if (part.of > 1) {
        if (!nodes.empty() && s.pieces(nodes, part.dim) < part.of)
          return reportPieces(what, part, s.pieces(nodes, part.dim), place);
        nodes = s.getitem(s.partition_by_dim(nodes, part.dim, part.of, place), part.index, place);
      }
    if (what.feeds.empty())
      return nodes;
    Nodes users;
    for (const Selection &fed : what.feeds)
      users = users + select(fed, fed.role, place);
    return s.partition_by_use(nodes, users, place).first;
  }

  Nodes reportPieces(const Selection &what, const Part &part, int pieces, const Place &place) {
    if (!failed)
      s.error({Severity::error,
               DiagId::SchedulePieces,
               place,
               "`" + pipeline.name() + "` divides what a wave has of `" + what.tag + "` along " + part.dim + " into " +
                   std::to_string(part.of) + " parts, found " + std::to_string(pieces) + " matrix instruction" +
                   (pieces == 1 ? "" : "s") + " there",
               "give a wave more along " + part.dim +
                   ": fewer waves, a larger tile, or a smaller instruction; what lies beyond a known size is none",
               {}});
    failed = true;
    return {};
  }

  /// What no op stands for yet.
  Nodes unclaimed() {
    Nodes rest;
    Nodes all = s.get_all_nodes();
    for (size_t i = 0; i < all.size(); ++i)
      if (!claimed.count(all.ops()[i]))
        rest = rest + s.getitem(all, static_cast<int>(i));
    return rest;
  }

  /// Tiles go from global to shared memory through registers, and the declaration has no op for the second step.
  bool goesThroughRegisters(const OpDesc &op, const Selection &what) {
    bool hasStores = std::ranges::count(made.body, OpRole::SharedStore, &OpDesc::role) > 0;
    bool isMeantDirect = op.role == OpRole::GlobalLoad && !hasStores && made.config.depth >= 2;
    return isMeantDirect && !what.tag.empty() && !select({what.tag}, OpRole::SharedStore, op.where.place()).empty();
  }

  /// Of two ops, the one that happens later for a tile.
  bool isLater(int op, int other) const {
    auto position = [&](int index) { return std::ranges::find(tile, index, &Step::op) - tile.begin(); };
    return std::pair(-aheadOf(op), position(op)) > std::pair(-aheadOf(other), position(other));
  }

  /// Each instruction runs once. One that brings rows for two ops runs with the later one: by then nobody needs what it
  /// overwrites in the stead of either.
  void claim(const Nodes &nodes, int index) {
    for (int instruction : nodes.ops()) {
      auto [known, isNew] = claimed.try_emplace(instruction, index);
      const OpDesc &op = made.body[index], &other = made.body[known->second];
      auto brings = [](OpRole role) { return role == OpRole::GlobalLoad || role == OpRole::SharedStore; };
      if (isNew || failed)
        continue;
      if (!brings(op.role) || !brings(other.role))
        error(DiagId::PipelineCounterpart, op,
              quoted(op) + " and " + quoted(other) + " stand for the same instruction of the kernel",
              "let each select its own pieces, or declare the two ops as one",
              {{other.where.place(), "the other one is declared here"}});
      else if (isLater(index, known->second))
        known->second = index;
    }
  }

  /// Those with tags first; the others take what is left.
  bool selectAll() {
    for (bool named : {true, false})
      for (const Step &step : tile)
        if (step.op >= 0 && !failed)
          selectFor(step.op, named);
    for (auto &[index, found] : instructions) {
      if (found.main.empty() && !failed)
        reportMissing(made.body[index]);
      found.main = claimedBy(index, found.main);
      found.loadsAhead = claimedBy(index, found.loadsAhead);
    }
    return !failed;
  }

  Nodes claimedBy(int index, const Nodes &nodes) {
    Nodes own;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (claimed.at(nodes.ops()[i]) == index)
        own = own + s.getitem(nodes, static_cast<int>(i));
    return own;
  }

  void selectFor(int index, bool named) {
    const OpDesc &op = made.body[index];
    Place place = op.where.place();
    Instructions &all = instructions[index];
    for (const Selection &what : isShipped() ? pipeline.selectsShipped(op) : pipeline.selects(op)) {
      if (what.tag.empty() == named || (named && !s.has_tag(what.tag)))
        continue;
      Instructions found;
      bool throughRegisters = goesThroughRegisters(op, what);
      if (throughRegisters && isShipped())
        return reportRegisters(op, what.tag);
      if (throughRegisters) {
        found.main = select(what, OpRole::SharedStore, place);
        found.loadsAhead = s.partition_by_use(select({what.tag}, OpRole::GlobalLoad, place), found.main, place).first;
      } else {
        found.main = select(what, what.role == OpRole::None ? op.role : what.role, place);
      }
      claim(found.main, index);
      claim(found.loadsAhead, index);
      all.main = all.main + found.main;
      all.loadsAhead = all.loadsAhead + found.loadsAhead;
    }
  }

  void reportRegisters(const OpDesc &op, const std::string &tag) {
    if (failed)
      return;
    error(DiagId::PipelineCounterpart, op,
          quoted(op) + " as shipped copies past the registers, and the tile of `" + tag + "` goes through them",
          "ask for direct copies and give the kernel rows of whole 16 bytes, or take the pipeline in exact mode");
  }

  void reportMissing(const OpDesc &op) {
    std::vector<std::string> tags;
    for (const Selection &what : pipeline.selects(op))
      tags.push_back(what.tag);
    bool isRead = op.role == OpRole::FragmentLoad && isShipped() && readsInPlace();
    error(DiagId::PipelineCounterpart, op,
          quoted(op) + " (" + std::string(nameOf(op.role)) + ") stands for no instruction of the kernel's loop",
          isRead         ? "its matrix instructions read shared memory by themselves; take the pipeline in exact mode"
          : tags.empty() ? "say which of the kernel's ops it is: override `selects`"
                         : "it selects " + listOf(tags) + "; give the kernel's op that tag, or select another one");
  }

  /// The numbers of the geometry that the declaration was made for are those of its own machine, with direct copies.
  /// How many matrix instructions multiply a quadrant is the kernel's choice. A program as shipped waits by these
  /// numbers.
  void checkGeometry() {
    const KernelGeometry *geometry = pipeline.geometry();
    if (!geometry)
      return;
    bool isItsMachine = s.get_hardware_constraint().target == mi355xName() || (inPlace && geometry->inPlace);
    if (!isItsMachine && !isShipped())
      return;
    for (const auto &[index, found] : instructions) {
      const OpDesc &op = made.body[index];
      bool isA = op.channel == 0;
      int expected = op.role == OpRole::GlobalLoad     ? (isA ? geometry->vmPerLoadA : geometry->vmPerLoadB)
                     : op.role == OpRole::FragmentLoad ? (isA ? geometry->lgkmPerLoadA : geometry->lgkmPerLoadB)
                                                       : 0;
      int number = static_cast<int>(found.main.size());
      if (!expected || number == expected || !found.loadsAhead.empty() || failed)
        continue;
      error(DiagId::PipelineGeometry, op,
            quoted(op) + " is " + std::to_string(number) + " instructions of the kernel, " + std::to_string(expected) +
                " by the pipeline's geometry",
            "make the geometry from the kernel's own tile, element type and waves");
    }
  }

  //===- The schedule -------------------------------------------------------------------===//

  int mostAhead() const {
    int most = 0;
    for (const auto &[index, found] : instructions)
      most = std::max(most, aheadOf(index) + (found.loadsAhead.empty() ? 0 : 1));
    return most;
  }

  void build(const Nodes &loop) {
    if (failed)
      return;
    int most = mostAhead();
    std::vector<std::vector<Nodes>> stages(most + 1);
    for (const auto &[index, found] : instructions) {
      stages[most - aheadOf(index)].push_back(found.main);
      if (!found.loadsAhead.empty())
        stages[most - aheadOf(index) - 1].push_back(found.loadsAhead);
    }
    constexpr int kPhases = 4; // loads, stores, fragments, arithmetic: their order is said below
    Place place = made.body.front().where.place();
    PipelinedLoop p = s.pipeline(
        loop, {.num_stages = most + 1, .initiation_interval = kPhases, .multi_buffer_count = made.config.depth}, place);
    for (int stage = 0; stage <= most; ++stage)
      p.set_stage(stage, stages[stage], place);
    s.reorder_graph(p.KERNEL, order(), place);
    if (pipeline.waveGroups() > 1)
      s.stagger(p.KERNEL, place);
    s.unroll(p.KERNEL, pipeline.copiesPerTrip(), place);
    if (shipped)
      sayAround(place);
  }

  /// Prologue and epilogue as shipped. Order is kept there without fences, and priorities matter in the loop.
  void sayAround(const Place &place) {
    auto steps = [&](const std::vector<TileEntry> &entries) {
      std::vector<SaidStep> list;
      for (const TileEntry &entry : entries)
        if (entry.op >= 0)
          list.push_back({instructionsFor(entry.op), entry.tile});
        else if (entry.mark.role == OpRole::Sync)
          list.push_back({addedFor(entry.mark, place), 0, entry.groups});
      return list;
    };
    s.say_around(steps(shipped->prologue), steps(shipped->epilogue), place);
    for (const sched::Waiver &waiver : options.waivers)
      s.waive_latency_only(Nodes(), Nodes(), waiver.reason, place);
  }

  /// Those of an op, whichever half it was found in: the other one has the same.
  const Nodes &instructionsFor(int index) const {
    auto known = instructions.find(index);
    for (auto other = instructions.begin(); known == instructions.end() && other != instructions.end(); ++other)
      if (index % tileLength() == other->first % tileLength())
        known = other;
    return known->second.main;
  }

  std::vector<ScheduleItem> order() {
    std::vector<OpDesc> hints = pipeline.spread(made.body, count());
    return hints.empty() ? oneAfterTheOther() : spreadBy(hints);
  }

  //===- Spread among each other ---------------------------------------------------------===//

  /// The instructions of a class, in the order of the body.
  std::vector<Nodes> instructionsOf(OpRole role) const {
    std::vector<Nodes> list;
    for (const Step &step : tile)
      if (step.op >= 0 && made.body[step.op].role == role)
        list.push_back(instructions.at(step.op).main);
    return list;
  }

  HintCounts count() const {
    auto total = [](const std::vector<Nodes> &list) {
      size_t sum = 0;
      for (const Nodes &nodes : list)
        sum += nodes.size();
      return static_cast<int>(sum);
    };
    std::vector<Nodes> fragments = instructionsOf(OpRole::FragmentLoad);
    HintCounts counts;
    counts.readsPerFragment = fragments.empty() ? 0 : total(fragments) / static_cast<int>(fragments.size());
    counts.mmas = total(instructionsOf(OpRole::Compute));
    counts.stores = total(instructionsOf(OpRole::SharedStore));
    counts.large = s.get_hardware_constraint().mma_type.find("32x32x") != std::string::npos;
    return counts;
  }

  /// What hints leave over follows in the order of the body.
  std::vector<ScheduleItem> spreadBy(const std::vector<OpDesc> &hints) {
    std::map<OpRole, std::vector<Nodes>> queues;
    for (const Step &step : tile)
      if (step.op >= 0)
        for (size_t i = 0; i < instructions.at(step.op).main.size(); ++i)
          queues[made.body[step.op].role].push_back(s.getitem(instructions.at(step.op).main, static_cast<int>(i)));
    std::map<OpRole, size_t> taken;
    std::vector<ScheduleItem> items;
    auto take = [&](OpRole role, int count) {
      for (; count > 0 && taken[role] < queues[role].size(); --count)
        items.emplace_back(queues[role][taken[role]++]);
    };
    for (const OpDesc &hint : hints)
      take(roleOf(static_cast<GroupClass>(hint.subtile)), hint.waitValue);
    for (const Step &step : tile)
      if (step.op >= 0)
        take(made.body[step.op].role, std::numeric_limits<int>::max());
    return {s.cluster(items)};
  }

  static OpRole roleOf(GroupClass kind) {
    switch (kind) {
    case GroupClass::SharedRead:
      return OpRole::FragmentLoad;
    case GroupClass::SharedWrite:
      return OpRole::SharedStore;
    case GroupClass::GlobalRead:
      return OpRole::GlobalLoad;
    case GroupClass::Mma:
      return OpRole::Compute;
    }
    return OpRole::None;
  }

  //===- One after the other --------------------------------------------------------------===//

  /// A cluster for each compute op, with all that stands in front of it and the marks behind it. Fragments arrive
  /// before the barrier at which a wave's turn to compute begins: it waits for them while others compute.
  std::vector<ScheduleItem> oneAfterTheOther() {
    std::vector<ScheduleItem> clusters, items;
    bool closed = false, pending = false;
    for (const Step &step : tile) {
      OpRole role = step.op >= 0 ? made.body[step.op].role : OpRole::None;
      if (closed && step.op >= 0) {
        clusters.emplace_back(s.cluster(items));
        items.clear();
        closed = false;
      }
      closed |= role == OpRole::Compute;
      pending |= role == OpRole::FragmentLoad;
      if (step.said && step.op < 0) {
        items.emplace_back(addedFor(*step.said, made.body.front().where.place()));
        continue;
      }
      if (step.op < 0) {
        items.push_back(marked(*step.mark, pending));
        pending &= step.mark->kind != sched::OpKind::Barrier;
        continue;
      }
      const Instructions &found = instructions.at(step.op);
      items.emplace_back(found.main);
      if (!found.loadsAhead.empty())
        items.emplace_back(found.loadsAhead);
    }
    clusters.emplace_back(s.cluster(items));
    return clusters;
  }

  ScheduleItem marked(const sched::Operation &mark, bool fragmentsPending) const {
    Place place = made.body.front().where.place();
    if (mark.kind == sched::OpKind::Barrier && fragmentsPending)
      return SharedMemoryBarrier(place);
    if (mark.kind == sched::OpKind::Barrier)
      return WorkgroupBarrier(place);
    if (mark.hint == sched::HintKind::Priority)
      return SetWavePrio(static_cast<int>(mark.arguments.front()), place);
    return SchedulingBarrier({}, place);
  }

  ScheduleContext &s;
  PipelineOptions options;
  std::unique_ptr<const InPlace> inPlace;
  const PipelineSchedule &pipeline;
  CompiledPipeline made;
  /// Faithful mode: the framework's own program.
  std::optional<TileProgram> shipped;
  std::vector<Step> tile;
  /// By index in the body.
  std::map<int, Instructions> instructions;
  /// The op that stands for an instruction.
  std::map<int, int> claimed;
  bool failed = false;
};
} // namespace

void drive(const PipelineSchedule &pipeline, ScheduleContext &context, const PipelineOptions &options) {
  Driver(pipeline, context, options).run();
}

WaveSchedule toSchedule(std::shared_ptr<const PipelineSchedule> pipeline, const PipelineOptions &options) {
  std::string name = pipeline->name();
  return {std::move(name),
          [pipeline = std::move(pipeline), options](ScheduleContext &s) { drive(*pipeline, s, options); }};
}

sched::ScheduleRequest pipeline(std::shared_ptr<const PipelineSchedule> declared, const PipelineOptions &options) {
  sched::ScheduleRequest request;
  request.name = declared->name();
  request.placement.swizzle = !declared->geometry() || declared->geometry()->swizzle;
  request.placement.copiesInOrder = options.mode == Mode::Faithful && declared->halvesAreRows();
  request.written = std::make_shared<WaveSchedule>(toSchedule(std::move(declared), options));
  return request;
}

} // namespace soliton::pipe
