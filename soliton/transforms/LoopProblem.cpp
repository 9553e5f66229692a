#include "soliton/transforms/LoopProblem.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/ServiceWaves.h"
#include "soliton/analysis/TileCluster.h"
#include "soliton/ir/Counters.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/layout/Price.h"
#include "soliton/layout/Scan.h"
#include "soliton/transforms/PlaceTiles.h"
#include "soliton/transforms/Touches.h"

namespace soliton {
using namespace wave;
using sched::OpKind;

/// Costs no instruction: it says which registers or which places of memory are meant, or what is in them.
static bool isFree(Operation *op) {
  if (isInPlace(op))
    return true;
  auto tileOp = dyn_cast<TileOpInterface>(op);
  return tileOp && (tileOp.getWork() == TileWork::constant || tileOp.getWork() == TileWork::rename);
}

bool floatsToItsUsers(Operation *op) {
  // A value that is handed on has a time of its own, since the next iteration may be elsewhere.
  bool handedOn = llvm::any_of(op->getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
  return !handedOn && isFree(op);
}

void computeHandedOn(IterateOp loop) {
  Operation *yield = loop.block().getTerminator();
  OpBuilder builder(yield);
  llvm::DenseMap<Value, Value> copies;
  for (mlir::OpOperand &operand : yield->getOpOperands()) {
    Value value = operand.get();
    if (Operation *def = value.getDefiningOp(); def && def->getBlock() == &loop.block())
      continue;
    Value &copy = copies[value];
    if (!copy)
      copy = ConvertOp::create(builder, loop.getLoc(), value.getType(), value,
                               ConvertPlanKindAttr::get(builder.getContext(), ConvertPlanKind::rename), ArrayAttr(),
                               OriginAttr::get(builder.getContext(), -1, Role::Convert, {}, 0, {}));
    operand.set(copy);
  }
}

namespace {
/// What an instruction of a role costs, in issue slots of one wave.
struct Cost {
  int resource = -1;
  int64_t busy = 0;
  int64_t latency = 1;
  int64_t firstEffect = 0;
};

/// Registers of a value, as its layout counts elements.
struct Part {
  int64_t first = 0, count = 0;
};

class ProblemBuilder {
public:
  ProblemBuilder(IterateOp loop, const Geometry &geometry, IterateOp twin)
      : loop(loop), twin(twin), geometry(geometry) {}

  FailureOr<LoopProblem> build() {
    addMachine();
    for (Operation &op : loop.block().without_terminator()) {
      if (op.getNumRegions())
        return report(op.getLoc(), DiagId::NotSupportedHere).hint("schedule the inner loop, or unroll it")
               << "a loop that contains `" << op.getName() << "` can't be scheduled as a whole";
      if (isa<IndexOfOp, WhileOp>(op))
        return report(op.getLoc(), DiagId::NotSupportedHere)
                   .hint("take the number before the loop, or compile without a schedule")
               << "a loop whose iterations take numbers from data can't be scheduled";
      if (!floatsToItsUsers(&op))
        addOperation(&op);
    }
    for (Operation *op : result.instructions)
      if (failed(addAccesses(op)))
        return failure();
    return std::move(result);
  }

private:
  sched::Problem &problem() { return result.problem; }
  const Target &target() const { return geometry.target(); }

  void addMachine();
  void addOperation(Operation *op);
  LogicalResult addAccesses(Operation *op);
  void addSharedAccess(Operation *op, AllocateOp tile, sched::Operation &entry);
  bool writesByRows(AllocateOp tile);
  void addGlobalAccess(Operation *op, sched::Operation &entry);
  LogicalResult addRegisterReads(Value value, int offset, sched::Operation &entry, std::optional<Part> part = {});
  OpKind kindOf(Operation *op) const;
  Cost costOf(Operation *op, OpKind kind) const;
  std::string keyOf(Operation *op, OpKind kind);
  sched::Origin originOf(Operation *op) const;
  int tileRegion(AllocateOp tile);
  int counter(CounterKind kind) const;

  /// Is it in the loop, or in the one that runs in its stead?
  bool isInside(Operation *op) { return loop->isAncestor(op) || (twin && twin->isAncestor(op)); }

  IterateOp loop, twin;
  const Geometry &geometry;
  LoopProblem result;
  int mma = 0, valu = 0, lds = 0, vmem = 0;
  std::map<CounterKind, int> counters;
  llvm::DenseMap<Operation *, int> indices;
  llvm::DenseMap<Value, int> registers;
  llvm::DenseMap<Value, int> memories;
  /// The instructions that write to a shared tile.
  llvm::DenseMap<Value, SmallVector<Operation *>> writers;
  llvm::DenseMap<Value, bool> byRows;
  llvm::StringMap<int> keys;
};
} // namespace

/// Whether the launch is known to have no more workgroups than there are compute units.
static bool hasUnitForItself(const Geometry &geometry) {
  sym::Expr workgroups = 1;
  for (sym::Expr each : geometry.grid())
    workgroups = workgroups * each;
  std::optional<int64_t> count = sym::simplify(workgroups, geometry.factsAtLaunch()).constantValue();
  return count && *count <= geometry.target().computeUnits;
}

void ProblemBuilder::addMachine() {
  problem().loop = loop.getAxis().str();
  mma = problem().addResource("mma");
  valu = problem().addResource("valu");
  lds = problem().addResource("lds");
  vmem = problem().addResource("vmem");
  // A SIMD computes for its own waves, and shared memory serves one wave of the compute unit after the other. What is
  // asked of global memory waits in queues and keeps nobody from asking: each SIMD has a port of its own.
  int64_t waves = geometry.waveCount(), onSimd = llvm::divideCeil(waves, target().simdsPerComputeUnit);
  for (int unit : {mma, valu, lds, vmem})
    problem().resources[unit].waves = static_cast<int>(unit == lds ? waves : onSimd);
  for (const soliton::Counter &each : target().counters)
    if (each.kind != CounterKind::bulk)
      counters[each.kind] = problem().addCounter(std::string(name(each.kind)),
                                                 each.grouped ? sched::Retirement::Group : sched::Retirement::InOrder,
                                                 static_cast<int>(each.maxPending));
  for (const soliton::Counter &each : target().counters)
    if (int number = counter(each.kind); number >= 0)
      problem().counters[number].ofWorkgroup = each.ofWorkgroup;
  if (int global = counter(CounterKind::vm); global >= 0)
    problem().counters[global].saysRegisterWaits = true;
  problem().limits.registers = target().registersPerLane + target().accumulatorRegistersPerLane;
  if (geometry.serviceWaves() > 0)
    problem().limits.registers = std::min(problem().limits.registers, registersWithService(geometry).computing);
  // What other tiles take is not the loop's to use.
  int64_t others = bytesBeside(loop, geometry, [&](Operation *user) {
    // A factor that is read in place is touched where its products are.
    return isInside(user) ||
           (isInPlace(user) && llvm::any_of(user->getUsers(), [&](Operation *product) { return isInside(product); }));
  });

  problem().limits.sharedBytes = bytesForTiles(loop->getParentOfType<KernelOp>(), target()) - others;
  problem().limits.overlapsTiles = loop->getParentOfType<KernelOp>().getOverlapTiles();
  problem().limits.inCluster = tileClusterOf(loop->getParentOfType<KernelOp>()).has_value();
  problem().limits.alone = hasUnitForItself(geometry);
}

int ProblemBuilder::counter(CounterKind kind) const {
  auto found = counters.find(kind);
  return found == counters.end() ? -1 : found->second;
}

/// Otherwise it combines a lane's own registers.
static bool exchangesLanes(ReduceOp reduce) {
  return !planReduce(reduce.getSource().getType().layout(), Dim(reduce.getDim().str()),
                     reduce.getResult().getType().layout())
              .lanes.empty();
}

static ScanPlan scanPlan(ScanOp scan) {
  return planScan(scan.getSource().getType().layout(), Dim(scan.getDim().str()));
}

/// How elements get from the operand's registers to the result's.
static ConvertPlan movePlan(Operation *op) {
  auto from = cast<TileType>(op->getOperand(0).getType()), to = cast<TileType>(op->getResult(0).getType());
  return planConvert(from.layout(), to.layout(),
                     {.elementBits = static_cast<int>(elementBits(from.getElementType())), .trusted = true});
}

/// An atomic whose old value is used is one that is waited for.
static OpKind accessKind(AccessOpInterface access) {
  if (access.isAsync())
    return OpKind::CopyAsync;
  if (access.getAtomicKind() && !access.isIndexedShared() && !access->use_empty())
    return OpKind::GlobalLoad;
  if (access.isIndexedShared())
    return access.writesIndexed() ? OpKind::SharedStore : OpKind::SharedLoad;
  return access.writesIndexed() ? OpKind::GlobalStore : OpKind::GlobalLoad;
}

/// It changes timing, no result, and stands where the schedule puts it.
static bool isHint(Operation *op) {
  return isa<PriorityOp, SchedBarrierOp, SchedGroupOp, PrefetchOp>(op);
}

OpKind ProblemBuilder::kindOf(Operation *op) const {
  auto tileOp = dyn_cast<TileOpInterface>(op);
  if (!tileOp)
    return isa<BarrierOp>(op) ? OpKind::Barrier
           : isa<WaitOp>(op)  ? OpKind::Wait
           : isHint(op)       ? OpKind::Hint
                              : OpKind::Valu;
  switch (tileOp.getWork()) {
  case TileWork::access:
    return accessKind(cast<AccessOpInterface>(op));
  case TileWork::contract:
    return OpKind::Mma;
  case TileWork::move:
    return movePlan(op).kind == ConvertKind::rename ? OpKind::Valu : OpKind::Shuffle;
  case TileWork::reduce:
    return exchangesLanes(cast<ReduceOp>(op)) ? OpKind::Shuffle : OpKind::Valu;
  case TileWork::scan:
    return scanPlan(cast<ScanOp>(op)).crossesLanes() ? OpKind::Shuffle : OpKind::Valu;
  case TileWork::exchange:
    return OpKind::Shuffle;
  case TileWork::pointwise:
  case TileWork::generate:
  case TileWork::constant:
  case TileWork::rename:
  case TileWork::region:
    return OpKind::Valu;
  }
  llvm_unreachable("no such work");
}

/// 32-bit registers of a lane that a tile takes.
static int64_t registersOf(TileType type) {
  return std::max<int64_t>(1, llvm::divideCeil(type.layout().regs() * elementBits(type.getElementType()), 32));
}

static bool isTranscendental(Operation *op) {
  auto tileOp = dyn_cast<TileOpInterface>(op);
  return tileOp && tileOp.isTranscendental();
}

Cost ProblemBuilder::costOf(Operation *op, OpKind kind) const {
  const Costs &costs = target().costs;
  // One cycle of the problem is one issue slot.
  auto cycles = [&](int64_t clocks) { return std::max<int64_t>(1, llvm::divideCeil(clocks, costs.valuIssue)); };
  auto bytesOf = [&](TileType tile) { return tile.layout().regs() * elementBytes(tile.getElementType()); };
  switch (kind) {
  case OpKind::Mma: {
    int64_t clocks = mmaKindOf(cast<MmaOp>(op), target()).native.cycles;
    bool onlyAddedTo =
        llvm::all_of(op->getResult(0).getUsers(), [](Operation *user) { return isa<MmaOp, YieldOp>(user); });
    return {mma, cycles(clocks), cycles(clocks + (onlyAddedTo ? costs.mmaChainExtra : costs.mmaResultExtra))};
  }
  case OpKind::SharedLoad:
    return {lds, cycles(target().sharedAccess(bytesOf(tileOf(op)), false).clocks), cycles(costs.sharedLatency)};
  case OpKind::SharedStore:
    return {lds, cycles(std::max(target().sharedAccess(bytesOf(tileOf(op)), true).clocks, costs.sharedStoreIssue)),
            cycles(costs.sharedLatency)};
  case OpKind::GlobalLoad:
  case OpKind::GlobalStore: {
    int64_t service = bytesOf(tileOf(op)) > 4 ? costs.globalService16 : costs.globalService4;
    return {vmem, cycles(service), kind == OpKind::GlobalLoad ? cycles(costs.globalLatencyMemory) : 1};
  }
  case OpKind::CopyAsync:
    return {vmem, cycles(costs.globalService16), cycles(costs.globalLatencyMemory), cycles(costs.globalLatencyL1)};
  case OpKind::Shuffle: {
    int64_t busy = 1;
    if (auto scan = dyn_cast<ScanOp>(op)) {
      // One exchange waits for the other.
      ScanPlan plan = scanPlan(scan);
      busy = plan.combinations() + plan.exchanges();
      return {valu, busy, busy + plan.exchanges() * cycles(costs.shuffleLatency)};
    }
    if (isa<ShuffleOp>(op)) {
      busy = registersOf(cast<TileType>(op->getResult(0).getType()));
    } else if (!isa<ReduceOp>(op)) {
      auto from = cast<TileType>(op->getOperand(0).getType());
      ShuffleWork work =
          workOf(movePlan(op), from.layout().regs(), static_cast<int>(elementBits(from.getElementType())));
      busy = std::max<int64_t>(1, work.selects + work.exchanges);
    }
    return {valu, busy, busy + cycles(costs.shuffleLatency)};
  }
  case OpKind::Valu: {
    // Whoever uses it reads the same register again.
    if (isa<BroadcastOp>(op))
      return {-1, 0, 1};
    int64_t registers = 1;
    if (auto reduce = dyn_cast<ReduceOp>(op))
      registers = reduce.getSource().getType().layout().regs() - 1;
    if (auto scan = dyn_cast<ScanOp>(op))
      registers = scanPlan(scan).combinations();
    for (Type type : op->getResultTypes())
      registers = std::max(registers, registersOf(cast<TileType>(type)));
    return {valu, registers * cycles(isTranscendental(op) ? costs.transcendentalIssue : costs.valuIssue),
            2 * registers};
  }
  default:
    return {-1, 0, 0};
  }
}

sched::Origin ProblemBuilder::originOf(Operation *op) const {
  sched::Origin origin;
  auto attribute = op->getAttrOfType<OriginAttr>("origin");
  if (!attribute)
    return origin;
  origin.op = static_cast<int>(attribute.getOp());
  origin.copy = static_cast<int>(attribute.getCopy());
  origin.type = op->getName().stripDialect().str();
  if (attribute.getTags())
    for (Attribute tag : attribute.getTags())
      origin.tags.push_back(cast<StringAttr>(tag).getValue().str());
  if (attribute.getPiece())
    for (mlir::NamedAttribute piece : attribute.getPiece())
      origin.piece[piece.getName().str()] = cast<mlir::IntegerAttr>(piece.getValue()).getInt();
  auto tileOp = dyn_cast<TileOpInterface>(op);
  // What only says a value in another way goes where the value goes.
  bool isFollower =
      isa<CastOp, BitcastOp, BroadcastOp, PermuteOp>(op) || (tileOp && tileOp.getWork() == TileWork::generate);
  origin.required = !isFree(op) && !isHint(op) && !isFollower;
  return origin;
}

std::string ProblemBuilder::keyOf(Operation *op, OpKind kind) {
  sched::Origin origin = originOf(op);
  std::string key = origin.tags.empty() ? op->getName().stripDialect().str() : origin.tags.front();
  if (origin.tags.empty() && origin.op >= 0)
    key += std::to_string(origin.op);
  key += "/" + std::string(sched::nameOf(kind));
  std::string piece;
  for (auto &[dim, ordinal] : origin.piece)
    piece += (piece.empty() ? "/" : ".") + dim + std::to_string(ordinal);
  key += piece;
  if (origin.copy)
    key += "/copy" + std::to_string(origin.copy);
  int again = keys[key]++;
  return again ? key + "#" + std::to_string(again) : key;
}

void ProblemBuilder::addOperation(Operation *op) {
  OpKind kind = kindOf(op);
  sched::Operation entry;
  entry.key = keyOf(op, kind);
  entry.place = placeOf(op->getLoc());
  entry.kind = kind;
  entry.origin = originOf(op);
  Cost cost = costOf(op, kind);
  entry.latency = static_cast<int>(cost.latency);
  entry.firstEffect = static_cast<int>(cost.firstEffect);
  if (cost.resource >= 0)
    entry.reservations.push_back({cost.resource, 0, static_cast<int>(cost.busy), 1});
  if (std::optional<CounterKind> ticked = tickedBy(op, target()); ticked && counter(*ticked) >= 0)
    entry.ticks.push_back({counter(*ticked), 1});
  if (auto wait = dyn_cast<WaitOp>(op)) {
    entry.counter = counter(soliton::kindOf(wait.getCounter()));
    entry.value = static_cast<int>(wait.getCount());
  }
  indices[op] = problem().addOperation(std::move(entry));
  result.instructions.push_back(op);
  if (kind == OpKind::SharedStore || kind == OpKind::CopyAsync)
    writers[sharedTileOf(op).getResult()].push_back(op);
  for (Value value : op->getResults()) {
    sched::Region region;
    region.name = problem().operations.back().key;
    region.size = registersOf(cast<TileType>(value.getType()));
    registers[value] = problem().addRegion(std::move(region));
    result.tiles.emplace_back();
  }
}

int ProblemBuilder::tileRegion(AllocateOp tile) {
  auto [found, isNew] = memories.try_emplace(tile.getResult(), static_cast<int>(problem().regions.size()));
  if (!isNew)
    return found->second;
  sched::Region region;
  // Named after the first op of the author that touches it.
  for (Operation *user : tile.getResult().getUsers())
    if (auto index = indices.find(user); index != indices.end()) {
      const sched::Origin &origin = problem().operations[index->second].origin;
      region.name = "tile of " + (origin.tags.empty() ? origin.type + std::to_string(origin.op) : origin.tags.front());
    }
  region.space = sched::Space::Shared;
  region.size = bytesPerBuffer(tile);
  // A tile that is also used outside of the loop is one piece of storage.
  // So is one that atomics change: the next iteration goes on with what they left.
  region.rotating = llvm::all_of(tile.getResult().getUsers(), [&](Operation *user) {
    return isInside(user) && !cast<AccessOpInterface>(user).getAtomicKind();
  });
  if (!region.rotating)
    region.buffers = 1;
  result.tiles.push_back(tile);
  return problem().addRegion(std::move(region));
}

/// Pieces of one writer are different bytes. If they also are different rows, who reads some rows needs only those
/// pieces; otherwise each is known by its ordinal and readers need them all.
bool ProblemBuilder::writesByRows(AllocateOp tile) {
  auto [found, isNew] = byRows.try_emplace(tile.getResult(), false);
  if (!isNew)
    return found->second;
  llvm::BitVector all;
  bool apart = true;
  for (Operation *writer : writers[tile.getResult()]) {
    std::optional<llvm::BitVector> rows = rowsOf(writer, tile);
    apart &= rows && (all.empty() || !all.anyCommon(*rows));
    if (rows)
      all |= *rows;
  }
  return byRows[tile.getResult()] = apart;
}

void ProblemBuilder::addSharedAccess(Operation *op, AllocateOp tile, sched::Operation &entry) {
  sched::Access access;
  access.region = tileRegion(tile);
  access.write = cast<AccessOpInterface>(op).getMemoryUses().back().isWrite;
  bool isAsync = entry.kind == OpKind::CopyAsync || entry.kind == OpKind::Mma;
  bool completesAtBarrier = !isAsync && target().barrierCompletesShared;
  access.counter = entry.ticks.empty() || completesAtBarrier ? -1 : entry.ticks.front().counter;
  ArrayRef<Operation *> all = writers[tile.getResult()];
  bool oneWriter = llvm::all_of(all, [&](Operation *other) {
    const sched::Origin &with = problem().operations[indices.lookup(other)].origin;
    const sched::Origin &first = problem().operations[indices.lookup(all.front())].origin;
    return with.op == first.op && with.copy == first.copy;
  });
  if (!oneWriter || !writesByRows(tile)) {
    if (oneWriter && access.write) {
      access.begin = llvm::find(all, op) - all.begin();
      access.end = access.begin + 1;
    }
    entry.accesses.push_back(access);
    return;
  }
  std::optional<llvm::BitVector> rows = rowsOf(op, tile);
  if (!rows) {
    entry.accesses.push_back(access);
    return;
  }
  // One access for each run of neighbouring rows.
  for (int begin = rows->find_first(); begin >= 0; begin = rows->find_next(static_cast<unsigned>(access.end) - 1)) {
    int end = rows->find_next_unset(begin);
    access.begin = begin;
    access.end = end < 0 ? static_cast<int64_t>(rows->size()) : end;
    entry.accesses.push_back(access);
  }
}

void ProblemBuilder::addGlobalAccess(Operation *op, sched::Operation &entry) {
  Value memory = memoryOf(op);
  bool written =
      llvm::any_of(memory.getUsers(), [&](Operation *user) { return writes(user, memory) && loop->isAncestor(user); });
  if (!written)
    return;
  auto [found, isNew] = memories.try_emplace(memory, static_cast<int>(problem().regions.size()));
  if (isNew) {
    sched::Region region;
    region.name = "memory of " + entry.key;
    region.space = sched::Space::Global;
    region.rotating = false;
    // What waves do to each other there is ordered with the rest of the kernel (Synchronize.cpp).
    region.waveLocal = true;
    problem().addRegion(std::move(region));
    result.tiles.emplace_back();
  }
  sched::Access access;
  access.region = found->second;
  access.write = writes(op, memory);
  entry.accesses.push_back(access);
}

/// What a slice takes of its operand; nothing for other ops.
static std::optional<Part> partCutBy(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice)
    return std::nullopt;
  return Part{static_cast<int64_t>(slice.getFirst()), slice.getResult().getType().layout().regs()};
}

LogicalResult ProblemBuilder::addRegisterReads(Value value, int offset, sched::Operation &entry,
                                               std::optional<Part> part) {
  if (auto argument = dyn_cast<mlir::BlockArgument>(value); argument && argument.getOwner() == &loop.block()) {
    Value yielded = loop.block().getTerminator()->getOperand(argument.getArgNumber() - 1);
    if (yielded == value)
      return success();
    return addRegisterReads(yielded, offset - 1, entry, part);
  }
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != &loop.block())
    return success();
  if (floatsToItsUsers(def)) {
    // Of a value that is cut, only the part is needed: the rest may be gone.
    std::optional<Part> inner = partCutBy(def);
    if (inner && part)
      inner = Part{inner->first + part->first, part->count};
    for (Value operand : def->getOperands())
      if (isa<TileType>(operand.getType()) && failed(addRegisterReads(operand, offset, entry, inner)))
        return failure();
    return success();
  }
  sched::Access access;
  access.region = registers.lookup(value);
  access.offset = offset;
  if (part) {
    // From elements to whole registers.
    int64_t size = problem().regions[access.region].size, elements = cast<TileType>(value.getType()).layout().regs();
    access.begin = part->first * size / elements;
    access.end = llvm::divideCeil((part->first + part->count) * size, elements);
  }
  auto known = llvm::find_if(entry.accesses, [&](const sched::Access &other) {
    return !other.write && other.region == access.region && other.offset == access.offset;
  });
  if (known == entry.accesses.end()) {
    entry.accesses.push_back(access);
  } else {
    known->begin = std::min(known->begin, access.begin);
    known->end = std::max(known->end, access.end);
  }
  return success();
}

/// An atomic reads what it writes.
static void addReads(sched::Operation &atomic) {
  std::vector<sched::Access> reads;
  for (sched::Access access : atomic.accesses)
    if (std::exchange(access.write, false))
      reads.push_back(access);
  atomic.accesses.insert(atomic.accesses.begin(), reads.begin(), reads.end());
}

LogicalResult ProblemBuilder::addAccesses(Operation *op) {
  sched::Operation &entry = problem().operations[indices.lookup(op)];
  for (Value operand : op->getOperands())
    if (isa<TileType>(operand.getType()) && failed(addRegisterReads(operand, 0, entry, partCutBy(op))))
      return failure();
  if (AllocateOp tile = sharedTileOf(op))
    addSharedAccess(op, tile, entry);
  bool isUnderWay = !inPlaceFactors(op).empty();
  // A product that goes on with the sum of another one follows it in order on their counter. A factor in registers is
  // not written anew before the product is complete.
  if (isUnderWay)
    for (sched::Access &read : entry.accesses)
      read.counter = entry.ticks.front().counter;
  for (ReadOp factor : inPlaceFactors(op))
    addSharedAccess(factor, sharedTileOf(factor), entry);
  auto access = dyn_cast<AccessOpInterface>(op);
  if (access && !access.isIndexedShared())
    addGlobalAccess(op, entry);
  if (access && access.getAtomicKind())
    addReads(entry);
  for (Value value : op->getResults()) {
    sched::Access access;
    access.region = registers.lookup(value);
    access.write = true;
    // Said here, so that the back end has nothing to add. Shared loads it knows better: fragments are used one by one.
    if ((entry.kind == OpKind::GlobalLoad || isUnderWay) && !entry.ticks.empty())
      access.counter = entry.ticks.front().counter;
    entry.accesses.push_back(access);
  }
  return success();
}

FailureOr<LoopProblem> makeLoopProblem(IterateOp loop, const Geometry &geometry, IterateOp twin) {
  return ProblemBuilder(loop, geometry, twin).build();
}

} // namespace soliton
