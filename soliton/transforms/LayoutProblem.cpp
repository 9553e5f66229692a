#include "soliton/transforms/LayoutProblem.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/layout/Blocked.h"

namespace soliton {
using namespace wave;

/// More candidates of one class, or ways of one mma, are not looked at: what comes first is preferred.
static constexpr size_t kMaxCandidates = 16;

static TileType tileType(Value value) {
  return cast<TileType>(value.getType());
}

static Dim dimOf(StringRef name) {
  return Dim(name.str());
}

Layout restricted(Layout wide, TileType narrow) {
  SmallVector<Dim> dims = llvm::map_to_vector(narrow.getDims(), [](StringAttr name) { return dimOf(name.getValue()); });
  return restrictedTo(std::move(wide), dims);
}

Layout bridge(const Layout &groups, const Layout &elements, const ScaledDim &dim) {
  if (std::optional<Layout> found = grouped(elements, dim))
    return *found;
  return ungrouped(groups, dim) ? groups : groupedByForce(elements, dim);
}

static bool isShared(Operation *access) {
  return cast<AccessOpInterface>(access).isIndexedShared();
}

static auto unknownExtent(Location loc, TileType type) {
  return report(loc, DiagId::TileExtentUnknown)
             .hint("give every dimension of the tile a workgroup or tiling constraint")
         << "the tile `" << type << "` has a dimension whose extent is not known";
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

void LayoutProblem::joinClasses() {
  llvm::EquivalenceClasses<void *> equal;
  auto join = [&](Value a, Value b) { equal.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer()); };
  auto add = [&](Value value) {
    tiles.push_back(value);
    equal.insert(value.getAsOpaquePointer());
  };
  kernel.walk<mlir::WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      if (isa<TileType>(result.getType()))
        add(result);
    for (mlir::Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        if (isa<TileType>(argument.getType()))
          add(argument);
    auto tileOp = dyn_cast<TileOpInterface>(op);
    if (!tileOp)
      return;
    LayoutRelations relations;
    tileOp.relateLayouts(relations);
    for (auto [a, b] : relations.alike)
      join(a, b);
    for (auto [narrow, wide] : relations.parts)
      parts.push_back({narrow, wide, op});
    for (const LayoutRelations::Groups &tiles : relations.groups)
      groupings.push_back({tiles, op});
  });
  llvm::DenseMap<void *, size_t> numbers;
  for (Value value : tiles) {
    auto [number, isNew] = numbers.try_emplace(equal.getLeaderValue(value.getAsOpaquePointer()), all.size());
    if (isNew)
      all.push_back({value, {}, 0});
    classNumbers[value] = number->second;
  }
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

void LayoutProblem::addCandidate(Value value, Layout layout) {
  std::vector<Layout> &candidates = all[classNumbers.lookup(value)].candidates;
  // Renamed registers cost nothing: one of such layouts stands for all.
  if (candidates.size() < kMaxCandidates &&
      llvm::none_of(candidates, [&](const Layout &other) { return isRename(other, layout); }))
    candidates.push_back(std::move(layout));
}

/// How a class lies from which the mma takes the operand as the way wants it: a read has its registers in the order of
/// memory.
static Layout operandCandidate(MmaOp mma, int which, const MmaWay &way, const Geometry &geometry) {
  Layout layout = way.operand(which);
  Value source = mma->getOperand(which);
  while (auto cast = source.getDefiningOp<BitcastOp>())
    source = cast.getOperand();
  auto read = source.getDefiningOp<ReadOp>();
  if (!read || (which < 2 && takesInPlace(mma, static_cast<unsigned>(which), mmaKindOf(mma, geometry.target()))))
    return layout;
  // A parameter in the shared space is stored in the order of the tile's dimensions.
  std::optional<std::vector<DimExtent>> order =
      isShared(read) ? geometry.extents(tileOf(read)) : memoryOrder(read, geometry);
  if (!order)
    return layout;
  // Elements that are read as their groups lie along what these are groups of.
  Dim along = order->back().dim;
  return layout.registersAlong(layout.hasDim(along) ? along : scaledDim(along).base);
}

static auto factorsOf(MmaOp mma) {
  return mma.isScaled() ? SmallVector<int>{0, 1, 3, 4} : SmallVector<int>{0, 1};
}

void LayoutProblem::addHeldOrders(Multiplication &mma) {
  for (int which : {0, 1}) {
    const std::vector<Layout> held = classOf(mma.op->getOperand(which)).candidates;
    for (const Layout &layout : held)
      for (MmaWay &way : waysAsHeld(mma.op, which, layout, geometry))
        if (mma.ways.size() < kMaxCandidates && llvm::none_of(mma.ways, [&](const MmaWay &other) {
              return other.exchanged == way.exchanged && other.order == way.order;
            }))
          mma.ways.push_back(std::move(way));
  }
}

void LayoutProblem::collectWays() {
  kernel.walk([&](MmaOp mma) { mmas.push_back({mma, plainWays(mma, geometry), 0}); });
  for (Multiplication &mma : mmas)
    for (const MmaWay &way : mma.ways)
      addCandidate(mma.op.getAcc(), way.acc);
  // What lies as an accumulator is an operand as it stands, where the order of the contraction follows it.
  for (Multiplication &mma : mmas)
    addHeldOrders(mma);
  for (Multiplication &mma : mmas)
    for (const MmaWay &way : mma.ways)
      for (int which : factorsOf(mma.op))
        addCandidate(mma.op->getOperand(which), operandCandidate(mma.op, which, way, geometry));
  while (addGroups()) {
  }
}

/// Elements of a lane that the author or the instruction wants together; 0: as many as can be moved at once.
static int64_t elementsTogether(AccessOpInterface op, const Geometry &geometry) {
  if (auto said = op->getAttrOfType<mlir::IntegerAttr>("elements_per_thread"))
    return said.getInt();
  if (!op.getAtomicKind())
    return 0;
  return elementBits(op.getMovedTile().getElementType()) < 32 ? geometry.target().narrowAtomicElements : 1;
}

LogicalResult LayoutProblem::collectAccesses() {
  bool ok = true;
  SmallVector<std::pair<Value, Operation *>> reads, explicitReads, writes;
  kernel.walk([&](AccessOpInterface op) {
    int64_t elements = elementsTogether(op, geometry);
    FailureOr<Layout> layout = coalescedLayout(op, geometry, /*allWaves=*/false, elements);
    if (failed(layout)) {
      (void)unknownExtent(op->getLoc(), tileOf(op));
      ok = false;
      return;
    }
    SmallVector<Layout, 2> &layouts = coalescedLayouts[op];
    layouts.push_back(*layout);
    FailureOr<Layout> ofAll = coalescedLayout(op, geometry, /*allWaves=*/true, elements);
    if (succeeded(ofAll) && geometry.waveCount() > 1 && !isRename(*ofAll, *layout))
      layouts.push_back(*ofAll);
    auto &list = op.writesIndexed() ? writes : elements ? explicitReads : reads;
    list.emplace_back(op.getMovedValue(), op);
  });
  if (!ok)
    return failure();
  // A class that a matrix instruction holds is never better off as plain rows; its accesses can be staged. What the
  // author says about a read comes before what would be chosen, and reads before writes.
  for (auto *accesses : {&explicitReads, &reads, &writes}) {
    llvm::DenseMap<size_t, SmallVector<Layout>> found;
    for (auto [value, op] : *accesses)
      if (classOf(value).candidates.empty())
        found[classNumbers.lookup(value)].push_back(coalescedLayouts.at(op).front());
    for (auto [value, op] : *accesses)
      if (auto layouts = found.find(classNumbers.lookup(value)); layouts != found.end()) {
        llvm::sort(layouts->second, [](const Layout &a, const Layout &b) { return a.str() < b.str(); });
        for (const Layout &layout : layouts->second)
          addCandidate(value, layout);
      }
  }
  return success();
}

bool LayoutProblem::addGroups() {
  bool changed = false;
  for (const Grouping &each : groupings) {
    const auto &[groups, elements, dim] = each.tiles;
    size_t before = classOf(groups).candidates.size() + classOf(elements).candidates.size();
    const std::vector<Layout> ofElements = classOf(elements).candidates;
    for (const Layout &layout : ofElements)
      if (std::optional<Layout> found = grouped(layout, dim))
        addCandidate(groups, *found);
    const std::vector<Layout> ofGroups = classOf(groups).candidates;
    for (const Layout &layout : ofGroups)
      if (std::optional<Layout> found = ungrouped(layout, dim))
        addCandidate(elements, *found);
    changed |= classOf(groups).candidates.size() + classOf(elements).candidates.size() != before;
  }
  return changed;
}

void LayoutProblem::addParts() {
  for (bool changed = true; changed;) {
    changed = addGroups();
    for (const Part &part : parts) {
      size_t before = classOf(part.narrow).candidates.size();
      const std::vector<Layout> wide = classOf(part.wide).candidates;
      for (const Layout &layout : wide)
        addCandidate(part.narrow, restricted(layout, tileType(part.narrow)));
      changed |= classOf(part.narrow).candidates.size() != before;
    }
  }
}

LogicalResult LayoutProblem::addDefaults() {
  for (ValueClass &valueClass : all) {
    if (!valueClass.candidates.empty())
      continue;
    TileType type = tileType(valueClass.first);
    std::optional<std::vector<DimExtent>> tile = geometry.extents(type);
    if (!tile)
      return unknownExtent(valueClass.first.getLoc(), type);
    SmallVector<Dim> dims;
    for (const DimExtent &dim : *tile)
      dims.push_back(dim.dim);
    Layout layout = *coalesced(geometry.wavePart(*tile), geometry.waveSize(), 1, 1).layout;
    layout.wave = geometry.waveDigits(dims);
    valueClass.candidates.push_back(layout);
  }
  return success();
}

LogicalResult LayoutProblem::collectCandidates() {
  collectWays();
  if (failed(collectAccesses()))
    return failure();
  addParts();
  if (failed(addDefaults()))
    return failure();
  addParts();
  return success();
}

FailureOr<LayoutProblem> LayoutProblem::of(KernelOp kernel, const Geometry &geometry) {
  LayoutProblem problem(kernel, geometry);
  problem.joinClasses();
  if (failed(problem.collectCandidates()))
    return failure();
  problem.users.resize(problem.all.size());
  kernel.walk([&](TileOpInterface op) {
    if (Value priced = op.getPricedTile())
      problem.users[problem.classNumbers.lookup(priced)].push_back(op);
  });
  return problem;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

ChoiceCost LayoutProblem::accessCost(Operation *access, const Layout &own, const Layout &layout) const {
  ChoiceCost cost = costs.access(access, own);
  if (isRename(own, layout))
    return cost;
  bool writes = cast<AccessOpInterface>(access).writesIndexed();
  return cost + costs.convert(tileOf(access), writes ? layout : own, writes ? own : layout);
}

Layout LayoutProblem::accessLayout(Operation *access, const Layout &layout, bool stage) const {
  const SmallVector<Layout, 2> &plain = coalescedLayouts.at(access);
  // Lanes that would write parts of bytes hand their elements to one that has all of a byte; so do those that would
  // change one of two elements that the instruction changes together, and those that would read elements which lie in
  // two bytes get them from one that has all four of three.
  bool isPacked = memoryBits(tileOf(access).getElementType()) % 8 != 0;
  auto op = cast<AccessOpInterface>(access);
  if ((isPacked || op.getAtomicKind()) && Access(access, geometry, layout).width(geometry.maxBytesPerAccess()) == 0)
    return plain.front();
  if (!stage || isShared(access) || isRename(plain.front(), layout))
    return layout;
  const Layout *best = &layout;
  ChoiceCost least = accessCost(access, layout, layout);
  for (const Layout &candidate : plain)
    if (ChoiceCost cost = accessCost(access, candidate, layout); cost < least) {
      best = &candidate;
      least = cost;
    }
  return *best;
}

/// An access whose place no loop moves leaves it later.
static int64_t tripsOf(Operation *op, const Geometry &geometry) {
  auto access = dyn_cast<AccessOpInterface>(op);
  if (!access || access.writesIndexed())
    return LayoutCosts::trips(op, geometry);
  return LayoutCosts::trips(op, geometry, [&](IterateOp loop) { return walks(loop, tileOf(op), geometry); });
}

ChoiceCost LayoutProblem::priceOf(TileOpInterface op, const Layout &layout, bool stage) const {
  switch (op.getWork()) {
  case TileWork::reduce: {
    auto reduce = cast<ReduceOp>(op);
    return costs.reduce(reduce.getSource().getType(), layout, dimOf(reduce.getDim()));
  }
  case TileWork::scan: {
    auto scan = cast<ScanOp>(op);
    return costs.scan(scan.getSource().getType(), layout, dimOf(scan.getDim()));
  }
  case TileWork::exchange:
    return costs.exchange(tileType(op->getResult(0)), layout, dimOf(cast<ShuffleOp>(op).getDim()));
  case TileWork::access:
    if (isFactorInPlace(op, geometry.target())) // the matrix instruction's own matter
      return 0;
    return accessCost(op, accessLayout(op, layout, stage), layout);
  case TileWork::pointwise:
  case TileWork::generate:
  case TileWork::move:
    return costs.compute(layout);
  case TileWork::constant:
  case TileWork::rename:
  case TileWork::contract:
  case TileWork::region:
    return 0;
  }
  llvm_unreachable("no such work");
}

std::vector<ChoiceCost> LayoutProblem::ownCosts(const ValueClass &valueClass, bool stage) const {
  std::vector<ChoiceCost> result;
  for (const Layout &layout : valueClass.candidates) {
    ChoiceCost cost = 0;
    for (TileOpInterface op : users[classNumbers.lookup(valueClass.first)])
      cost += tripsOf(op, geometry) * priceOf(op, layout, stage);
    result.push_back(cost);
  }
  return result;
}

/// A cost for each pair of candidates.
template <typename A, typename B, typename Cost>
static std::vector<ChoiceCost> pairwise(const std::vector<A> &rows, const std::vector<B> &columns, Cost cost) {
  std::vector<ChoiceCost> table;
  for (const A &row : rows)
    for (const B &column : columns)
      table.push_back(std::min(cost(row, column), kForbidden));
  return table;
}

void LayoutProblem::addRelations(ChoiceProblem &problem) const {
  for (const Multiplication &mma : mmas) {
    int64_t trips = LayoutCosts::trips(mma.op, geometry);
    for (int which = 0; which < static_cast<int>(mma.op->getNumOperands()); ++which) {
      const ValueClass &operand = classOf(mma.op->getOperand(which));
      TileType type = tileType(mma.op->getOperand(which));
      // An accumulator that lies otherwise is converted to the way's layout and back.
      int64_t times = which == 2 ? 2 * trips : trips;
      problem.addRelation(
          mma.node, operand.node, pairwise(mma.ways, operand.candidates, [&](const MmaWay &way, const Layout &layout) {
            return times * std::min(costs.convert(type, layout, way.operand(which)), kForbidden / times);
          }));
    }
  }
  for (const Part &part : parts) {
    const ValueClass &narrow = classOf(part.narrow), &wide = classOf(part.wide);
    TileType type = tileType(part.narrow);
    auto reduce = dyn_cast<ReduceOp>(part.op);
    int64_t times = LayoutCosts::trips(part.op, geometry) * (reduce && reduce.getInit() ? 2 : 1);
    problem.addRelation(narrow.node, wide.node,
                        pairwise(narrow.candidates, wide.candidates, [&](const Layout &a, const Layout &b) {
                          Layout natural = restricted(b, type);
                          ChoiceCost cost = reduce ? costs.convert(type, natural, a) : costs.convert(type, a, natural);
                          return times * std::min(cost, kForbidden / times);
                        }));
  }
}

void LayoutProblem::addGroupRelations(ChoiceProblem &problem) const {
  for (const Grouping &each : groupings) {
    const LayoutRelations::Groups &tiles = each.tiles;
    const ValueClass &groups = classOf(tiles.groups), &elements = classOf(tiles.elements);
    int64_t times = LayoutCosts::trips(each.op, geometry);
    problem.addRelation(groups.node, elements.node,
                        pairwise(groups.candidates, elements.candidates, [&](const Layout &a, const Layout &b) {
                          Layout between = bridge(a, b, tiles.dim);
                          ChoiceCost cost = costs.convert(tileType(tiles.groups), a, between) +
                                            costs.convert(tileType(tiles.elements), *ungrouped(between, tiles.dim), b);
                          return times * std::min(cost, kForbidden / times);
                        }));
  }
}

ChoiceProblem LayoutProblem::choices(bool stage) {
  ChoiceProblem problem;
  for (ValueClass &valueClass : all)
    valueClass.node = problem.addNode(ownCosts(valueClass, stage));
  for (Multiplication &mma : mmas)
    mma.node = problem.addNode(std::vector<ChoiceCost>(mma.ways.size(), 0));
  addRelations(problem);
  addGroupRelations(problem);
  return problem;
}

static int64_t tileBytes(TileType type, const Geometry &geometry) {
  int64_t bytes = elementBytes(type.getElementType());
  if (auto extents = geometry.extents(type))
    for (const DimExtent &dim : *extents)
      bytes *= dim.extent;
  return bytes;
}

int64_t LayoutProblem::stagedBytes(const Choice &choice) const {
  int64_t bytes = 0;
  for (const ValueClass &valueClass : all) {
    const Layout &layout = valueClass.candidates[choice.chosen[valueClass.node]];
    for (TileOpInterface user : users[classNumbers.lookup(valueClass.first)]) {
      auto op = dyn_cast<AccessOpInterface>(user.getOperation());
      if (!op)
        continue;
      Layout own = accessLayout(op, layout, /*stage=*/true);
      bool fromOwn = !op.writesIndexed();
      if (costs.goesThroughShared(tileOf(op), fromOwn ? own : layout, fromOwn ? layout : own))
        bytes += tileBytes(tileOf(op), geometry);
    }
  }
  return bytes;
}

int64_t LayoutProblem::promotedBytes() const {
  int64_t bytes = 0;
  kernel->walk([&](AccessOpInterface op) {
    if (op.isIndexedShared())
      bytes += tileBytes(op.getMovedTile(), geometry);
  });
  return bytes;
}

} // namespace soliton
