#include "soliton/transforms/WholeKernel.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/Teams.h"
#include "soliton/analysis/WaveFunction.h"
#include "soliton/ir/Counters.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/Touches.h"

#include <set>

namespace soliton {
using namespace wave;
namespace whole = sched::whole;

namespace {
class Builder {
public:
  Builder(KernelOp kernel, const Geometry &geometry) : kernel(kernel), geometry(geometry) {}

  WholeKernel build() {
    result.kernel.name = kernel.getSymName().str();
    // Of the waves that serve, one has work.
    result.kernel.waves = static_cast<int>(geometry.waveCount() + (geometry.serviceWaves() > 0 ? 1 : 0));
    // Lanes that are not in lockstep meet each other in memory as waves do.
    if (!target().lanesInLockstep)
      result.kernel.waves = std::max(result.kernel.waves, 2);
    // Waves of another workgroup are others, too.
    result.kernel.together = kernel.getWorkgroupsPerCluster().has_value();
    if (result.kernel.together)
      result.kernel.waves = std::max(result.kernel.waves, 2);
    addCounters();
    findGroups();
    result.teamWaves = teamWavesOf(kernel, geometry);
    result.kernel.body = kernel.getOverlapTiles() ? whole::Sequence{tilesNode()} : sequenceOf(kernel.block());
    return std::move(result);
  }

private:
  const Target &target() const { return geometry.target(); }

  void addCounters() {
    // Elsewhere barriers stand behind waits for boxes, as they always did.
    bool releases = kernel.walk([](ReleaseOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
    for (const soliton::Counter &each : target().counters) {
      counters[each.kind] = static_cast<int>(result.kernel.counters.size());
      sched::Retirement kind = each.grouped   ? sched::Retirement::Group
                               : each.inOrder ? sched::Retirement::InOrder
                                              : sched::Retirement::OutOfOrder;
      result.kernel.counters.push_back({std::string(name(each.kind)), kind, static_cast<int>(each.maxPending)});
      result.kernel.counters.back().ofWorkgroup = each.ofWorkgroup && releases;
    }
  }

  int counterOf(CounterKind kind) const {
    auto found = counters.find(kind);
    return found == counters.end() ? -1 : found->second;
  }

  /// Barriers for some waves only cut the waves into groups.
  void findGroups() {
    std::set<int64_t> starts = {0};
    kernel.walk([&](BarrierOp barrier) {
      if (barrier.getFirstWave())
        for (int64_t wave : {*barrier.getFirstWave(), *barrier.getLastWave()})
          if (wave < geometry.waveCount())
            starts.insert(wave);
    });
    groupStart.assign(starts.begin(), starts.end());
    result.kernel.groups = std::min<int>(static_cast<int>(groupStart.size()), sched::kMaxGroups);
  }

  sched::GroupMask groupsOf(BarrierOp barrier) const {
    if (!barrier.getFirstWave())
      return sched::kAllGroups;
    sched::GroupMask mask = 0;
    for (auto [g, start] : llvm::enumerate(groupStart))
      if (static_cast<int64_t>(*barrier.getFirstWave()) <= start &&
          start < static_cast<int64_t>(*barrier.getLastWave()))
        mask |= sched::GroupMask{1} << g;
    return mask;
  }

  //===-- Nodes ------------------------------------------------------------------------------------===//

  whole::Sequence sequenceOf(Block &block) {
    whole::Sequence sequence;
    for (Operation &op : block) {
      beginPipeline(&op, sequence);
      if (std::optional<whole::Node> node = nodeOf(&op)) {
        sequence.push_back(std::move(*node));
      }
    }
    return sequence;
  }

  whole::Node newNode(whole::NodeKind kind, Operation *op) {
    whole::Node node;
    node.kind = kind;
    node.id = static_cast<int>(result.ops.size());
    node.place = placeOf(op->getLoc());
    node.name = nameOf(op);
    result.ops.push_back(op);
    return node;
  }

  std::optional<whole::Node> nodeOf(Operation *op) {
    if (auto barrier = dyn_cast<BarrierOp>(op)) {
      whole::Node node = newNode(whole::NodeKind::Barrier, op);
      node.groups = groupsOf(barrier);
      node.cluster = barrier.getCluster();
      node.team = barrier.getTeam().has_value();
      return node;
    }
    if (auto wait = dyn_cast<WaitOp>(op)) {
      whole::Node node = newNode(whole::NodeKind::Wait, op);
      node.counter = counterOf(kindOf(wait.getCounter()));
      node.value = static_cast<int>(wait.getCount());
      return node;
    }
    if (auto commit = dyn_cast<CommitOp>(op)) {
      whole::Node node = newNode(whole::NodeKind::Commit, op);
      node.counter = counterOf(kindOf(commit.getCounter()));
      return node;
    }
    if (isa<ReleaseOp>(op))
      return newNode(whole::NodeKind::Release, op);
    if (auto await = dyn_cast<AwaitOp>(op)) {
      whole::Node node = newNode(whole::NodeKind::Await, op);
      node.value = static_cast<int>(await.getCount());
      return node;
    }
    if (auto loop = dyn_cast<IterateOp>(op))
      return loopNode(loop);
    if (auto conditional = dyn_cast<ConditionalOp>(op)) {
      whole::Node node = newNode(whole::NodeKind::Branch, op);
      node.bodies.push_back(sequenceOf(conditional.thenBlock()));
      node.bodies.push_back(sequenceOf(conditional.elseBlock()));
      return node;
    }
    if (SmallVector<ReadOp> factors = inPlaceFactors(op); !factors.empty())
      return productNode(op, factors);
    if (auto access = dyn_cast<AccessOpInterface>(op); access && !isInPlace(op))
      return instructionNode(access);
    return std::nullopt;
  }

  /// A workgroup walks one tile at the least.
  whole::Node tilesNode() {
    whole::Node node = newNode(whole::NodeKind::Loop, kernel);
    tiles = node.id;
    node.least = 1;
    node.bodies.push_back(sequenceOf(kernel.block()));
    return node;
  }

  whole::Node loopNode(IterateOp loop) {
    whole::Node node = newNode(whole::NodeKind::Loop, loop);
    loops[loop] = node.id;
    if (std::optional<int64_t> trips = loop.getCount()->getValue().constantValue()) {
      node.least = node.most.emplace(std::max<int64_t>(0, *trips));
      if (loop.exit())
        node.least = std::min<int64_t>(node.least, 1);
    }
    if (auto advances = loop->getAttrOfType<InstanceAttr>("advances")) {
      node.clock = static_cast<int>(advances.getPipeline());
      node.step = static_cast<int>(advances.getIteration());
    }
    node.bodies.push_back(sequenceOf(loop.block()));
    return node;
  }

  /// The first thing that a pipeline does: iterations are counted from 0 again.
  void beginPipeline(Operation *op, whole::Sequence &sequence) {
    auto instance = op->getAttrOfType<InstanceAttr>(isa<IterateOp>(op) ? "advances" : "instance");
    if (!instance || !begun.insert(instance.getPipeline()).second)
      return;
    whole::Node node = newNode(whole::NodeKind::Restart, op);
    node.clock = static_cast<int>(instance.getPipeline());
    sequence.push_back(std::move(node));
  }

  /// As the author calls it: "`read` tagged read_a".
  static std::string nameOf(Operation *op) {
    std::string text = op->getName().stripDialect().str();
    auto origin = op->getAttrOfType<OriginAttr>("origin");
    if (origin && origin.getTags() && !origin.getTags().empty())
      text += " " + cast<StringAttr>(origin.getTags()[0]).getValue().str();
    return text;
  }

  //===-- Accesses ---------------------------------------------------------------------------------===//

  whole::Node instructionNode(AccessOpInterface op) {
    whole::Node node = newNode(whole::NodeKind::Instruction, op);
    std::optional<CounterKind> ticked = tickedBy(op, target());
    int counter = ticked ? counterOf(*ticked) : -1;
    if (counter >= 0)
      node.ticks.push_back({counter, 1});
    // An ordinary access is complete for others wherever a barrier is passed, on targets that promise it.
    int completes = !op.isAsync() && target().barrierCompletesShared ? -1 : counter;
    if (AllocateOp tile = sharedTileOf(op))
      addShared(op, tile, completes, node);
    if (!op.isIndexedShared())
      node.accesses.push_back(accessOf(op, op.getIndexedMemory(), op.writesIndexed(), completes, false));
    if (op.getAtomicKind())
      addReads(node);
    return node;
  }

  /// Reads its factors from shared memory until its group has been waited for.
  whole::Node productNode(Operation *op, ArrayRef<ReadOp> factors) {
    whole::Node node = newNode(whole::NodeKind::Instruction, op);
    int counter = counterOf(CounterKind::mma);
    node.ticks.push_back({counter, 1});
    for (ReadOp factor : factors)
      addShared(factor, sharedTileOf(factor), counter, node);
    return node;
  }

  /// An atomic reads what it writes.
  static void addReads(whole::Node &node) {
    std::vector<whole::Access> reads = node.accesses;
    for (whole::Access &read : reads)
      read.write = false;
    node.accesses.insert(node.accesses.begin(), reads.begin(), reads.end());
  }

  /// Neither iterations nor values decide which elements it touches.
  static bool isSteady(Operation *op) {
    auto isPlain = [](sym::Expr expr) {
      return llvm::all_of(sym::symbolsOf(expr),
                          [](sym::Expr symbol) { return StringRef(symbol.symbolName()).starts_with("$index"); });
    };
    for (StringRef name : {"starts", "indices"})
      if (auto exprs = op->getAttrOfType<ArrayAttr>(name); exprs && !llvm::all_of(exprsOf(exprs), isPlain))
        return false;
    return true;
  }

  whole::Access accessOf(Operation *op, Value memory, bool write, int counter, bool destination) {
    whole::Access access;
    access.region = regionOf(memory);
    access.write = write;
    access.counter = counter;
    if (auto kind = cast<AccessOpInterface>(op).getAtomicKind())
      access.atomic = static_cast<int>(*kind);
    access.waived = op->hasAttr("waived");
    access.ordered = op->hasAttr(kOrdered);
    auto read = dyn_cast<ReadOp>(op);
    access.remote = read && read.getWorkgroup();
    access.steady = destination || isSteady(op);
    // Which of its waves reads what is the matrix instruction's matter.
    std::optional<WaveFunction> function;
    if (!isInPlace(op))
      function = waveFunctionOf(op, geometry, destination);
    if (function) {
      std::string shape = shapeText(memory) + ": ";
      access.function = numberOf(shape + function->text);
      if (!function->who.empty())
        access.who = numberOf("who " + shape + function->who);
      access.oneWave = function->isOneWave;
      access.oneWorkgroup = function->isOneWorkgroup;
      for (IterateOp loop : function->apart)
        access.apart.push_back(loops.lookup(loop));
      // What no other workgroup would touch, no other tile does.
      if (tiles >= 0 && function->isOneWorkgroup)
        access.apart.push_back(tiles);
    }
    if (result.teamWaves)
      if (std::string team = teamFunctionOf(op, geometry, *result.teamWaves, destination); !team.empty())
        access.team = numberOf("teams of " + shapeText(memory) + ": " + team);
    return access;
  }

  int numberOf(const std::string &function) {
    return functions.try_emplace(function, static_cast<int>(functions.size())).first->second;
  }

  /// Memories of equal shape and type may turn out to be one memory at launch.
  static std::string shapeText(Value memory) {
    std::string text;
    llvm::raw_string_ostream(text) << memory.getType();
    return text;
  }

  void addShared(AccessOpInterface op, AllocateOp tile, int counter, whole::Node &node) {
    if (tile->hasAttr("unproven")) {
      result.unproven = true;
      return;
    }
    whole::Access access =
        accessOf(op, tile.getResult(), op.getMemoryUses().back().isWrite, counter, !op.isIndexedShared());
    if (auto instance = op->getAttrOfType<InstanceAttr>("instance")) {
      access.clock = static_cast<int>(instance.getPipeline());
      access.phase = static_cast<int>(instance.getIteration());
    }
    std::optional<llvm::BitVector> rows = rowsOf(op, tile);
    if (!rows) {
      node.accesses.push_back(access);
      return;
    }
    // One access for each run of neighbouring rows.
    for (int begin = rows->find_first(); begin >= 0; begin = rows->find_next(static_cast<unsigned>(access.end) - 1)) {
      int end = rows->find_next_unset(begin);
      access.begin = begin;
      access.end = end < 0 ? static_cast<int64_t>(rows->size()) : end;
      node.accesses.push_back(access);
    }
  }

  int regionOf(Value memory) {
    auto [found, isNew] = regions.try_emplace(memory, static_cast<int>(result.kernel.regions.size()));
    if (!isNew)
      return found->second;
    whole::Region region;
    if (auto tile = memory.getDefiningOp<AllocateOp>()) {
      region.buffers = static_cast<int>(tile.getBuffers());
      region.name = "tile " + std::to_string(result.kernel.regions.size());
      region.offset = static_cast<int64_t>(tile.getOffset().value_or(0));
      region.bytes = tile.getOffset() ? bytesPerBuffer(tile) * region.buffers : 0;
    } else {
      region.space = sched::Space::Global;
      region.name = cast<StringAttr>(kernel.getArgNames()[cast<BlockArgument>(memory).getArgNumber()]).getValue().str();
    }
    result.kernel.regions.push_back(std::move(region));
    result.memories.push_back(memory);
    return found->second;
  }

  KernelOp kernel;
  const Geometry &geometry;
  WholeKernel result;
  std::map<CounterKind, int> counters;
  /// First wave of each group.
  SmallVector<int64_t> groupStart;
  llvm::DenseMap<Value, int> regions;
  std::map<std::string, int> functions;
  llvm::DenseMap<Operation *, int> loops;
  /// Pipelines whose first access was seen.
  std::set<int64_t> begun;
  /// The loop over tiles, where they overlap.
  int tiles = -1;
};
} // namespace

WholeKernel makeWholeKernel(KernelOp kernel, const Geometry &geometry) {
  return Builder(kernel, geometry).build();
}

} // namespace soliton
