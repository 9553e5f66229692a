#include "soliton/analysis/LayoutCosts.h"

#include "soliton/layout/Blocked.h"
#include "soliton/layout/Scan.h"

namespace soliton {
using namespace wave;

LayoutCosts::LayoutCosts(const Geometry &geometry) : geometry(geometry) {
  const Target &target = geometry.target();
  prices.valu = target.costs.valuIssue;
  // An exchange uses the ports of shared memory, and its result is used at once.
  prices.exchange = target.costs.memoryIssue + target.sharedAccess(4, false).clocks;
  prices.exchangeLatency = target.costs.shuffleLatency;
}

int64_t LayoutCosts::trips(Operation *op, const Geometry &geometry, llvm::function_ref<bool(IterateOp)> follows) {
  // Beyond this a loop outweighs everything around it anyway, and costs stay small numbers.
  constexpr int64_t kMost = 64, kUnknown = 16;
  int64_t count = 1;
  for (auto loop = op->getParentOfType<IterateOp>(); loop; loop = loop->getParentOfType<IterateOp>())
    if (follows(loop))
      count *= std::clamp<int64_t>(geometry[Dim(loop.getAxis().str())].loopCount.constantValue().value_or(kUnknown), 1,
                                   kMost);
  return std::min<int64_t>(count, kMost * kMost);
}

ChoiceCost LayoutCosts::compute(const Layout &layout, int64_t instructions) const {
  return layout.regs() * instructions * prices.valu;
}

ChoiceCost LayoutCosts::sharedAccess(const Layout &layout, Dim fastest, int64_t elementBytes, bool write) const {
  int64_t most = std::max<int64_t>(1, geometry.maxBytesPerAccess() / elementBytes), run = layout.contiguousRun(fastest);
  int64_t width = 1;
  while (width * 2 <= most && run % (width * 2) == 0)
    width *= 2;
  const Target &target = geometry.target();
  int64_t clocks = target.sharedAccess(std::max<int64_t>(4, width * elementBytes), write).clocks;
  return layout.regs() / width * (target.costs.memoryIssue + clocks);
}

ChoiceCost LayoutCosts::throughShared(TileType type, const Layout &from, const Layout &to) const {
  Dim fastest(type.getDims().back().getValue().str());
  int64_t bytes = elementBytes(type.getElementType());
  const Costs &costs = geometry.target().costs;
  // The tile is published and, before it is written again, read by all: two barriers, and the latency of a read.
  return sharedAccess(from, fastest, bytes, true) + sharedAccess(to, fastest, bytes, false) + 2 * costs.barrier +
         2 * costs.sharedLatency;
}

ConvertRoute LayoutCosts::route(TileType type, const Layout &from, const Layout &to, bool trusted) const {
  return routeConvert(
      from, to, {.elementBits = static_cast<int>(elementBits(type.getElementType())), .trusted = trusted}, prices);
}

bool LayoutCosts::goesThroughShared(TileType type, const Layout &from, const Layout &to) const {
  return !isRename(from, to) && route(type, from, to, /*trusted=*/true).kind == ConvertKind::shared;
}

ChoiceCost LayoutCosts::convert(TileType type, const Layout &from, const Layout &to) const {
  if (isRename(from, to))
    return 0;
  ConvertRoute found = route(type, from, to, /*trusted=*/true);
  if (found.kind == ConvertKind::impossible)
    return kForbidden;
  return found.kind == ConvertKind::shared ? throughShared(type, from, to) : found.price;
}

ChoiceCost LayoutCosts::reduce(TileType type, const Layout &layout, Dim dim) const {
  ReducePlan plan = planReduce(layout, dim);
  ChoiceCost cost = soliton::priceOf(plan, static_cast<int>(elementBits(type.getElementType())), prices);
  if (plan.waves.empty())
    return cost;
  // Partial results of the waves meet in shared memory.
  const Costs &costs = geometry.target().costs;
  int64_t registers = plan.result.regs(), each = costs.memoryIssue + geometry.target().sharedAccess(4, true).clocks;
  return cost + registers * (1 + plan.wavePartials()) * each + 2 * costs.barrier + 2 * costs.sharedLatency;
}

ChoiceCost LayoutCosts::scan(TileType type, const Layout &layout, Dim dim) const {
  if (!isOrderedAlong(layout, dim)) {
    Layout ordered = orderedAlong(layout, dim);
    return std::min(convert(type, layout, ordered) + convert(type, ordered, layout) + scan(type, ordered, dim),
                    kForbidden);
  }
  ScanPlan plan = planScan(layout, dim);
  int64_t words = llvm::divideCeil(elementBits(type.getElementType()), 32);
  auto groups = static_cast<int64_t>(plan.groups.size());
  ChoiceCost cost = groups * words * (plan.combinations() * prices.valu + plan.exchanges() * prices.exchange) +
                    (plan.crossesLanes() ? prices.exchangeLatency : 0);
  // Totals of the waves are those of a reduction.
  return plan.waves.empty() ? cost : cost + reduce(type, layout, dim);
}

ChoiceCost LayoutCosts::exchange(TileType type, const Layout &layout, Dim dim) const {
  Layout own = oneElementPerLane(layout, dim);
  int64_t words = llvm::divideCeil(elementBits(type.getElementType()), 32);
  ChoiceCost cost = own.regs() * words * prices.exchange + prices.exchangeLatency;
  if (own == layout)
    return cost;
  return std::min(convert(type, layout, own) + convert(type, own, layout) + cost, kForbidden);
}

/// Where the tile's elements lie beside each other, by dimension; nothing where the memory does not store them in
/// order.
static std::optional<MemoryRows> rowsOf(Operation *op, const Geometry &geometry) {
  std::optional<std::vector<DimExtent>> order = memoryOrder(op, geometry);
  MemoryShape shape = shapeOf(cast<MemoryType>(memoryOf(op).getType()), geometry);
  if (!order || order->size() != shape.strides.size())
    return std::nullopt;
  MemoryRows rows{{}, soliton::elementBytes(tileOf(op).getElementType())};
  ArrayAttr mapping = cast<AccessOpInterface>(op).getIndicesAttr();
  for (auto [i, stride] : llvm::enumerate(shape.strides)) {
    std::optional<int64_t> elements = stride.constantValue();
    std::optional<size_t> k = mapping ? dimAlong(exprsOf(mapping)[i], order->size()) : std::optional(i);
    if (k)
      rows.strides[Dim(tileOf(op).getDims()[*k].getValue().str())] =
          elements ? *elements * rows.elementBytes : MemoryRows::kFar;
  }
  return rows;
}

ChoiceCost LayoutCosts::globalAccess(Operation *op, const Layout &layout) const {
  const Target &target = geometry.target();
  int64_t width = Access(op, geometry, layout).width(geometry.maxBytesPerAccess());
  if (width == 0)
    return kForbidden;
  // Of a mapped access nothing is known: every lane touches a sector of its own.
  int64_t instructions = layout.regs() / width, each = geometry.waveSize() * instructions;
  Traffic traffic{instructions, each, each};
  if (std::optional<MemoryRows> rows = rowsOf(op, geometry))
    traffic = trafficOf(layout, width, *rows, {target.sectorBytes, target.cacheLineBytes});
  return priceOf(traffic);
}

ChoiceCost LayoutCosts::priceOf(const Traffic &traffic) const {
  const Costs &costs = geometry.target().costs;
  return traffic.instructions * costs.memoryIssue + traffic.sectors * costs.globalSector +
         traffic.lines * costs.globalLine;
}

ChoiceCost LayoutCosts::stagedRead(ReadOp read, int64_t elements) const {
  const Target &target = geometry.target();
  std::optional<std::vector<DimExtent>> tile = memoryOrder(read, geometry);
  std::optional<MemoryRows> rows = rowsOf(read, geometry);
  if (!tile || !rows)
    return kForbidden;
  int64_t width = bestElementsPerLane(*tile, geometry.waveSize(), geometry.waveCount(), elements);
  std::optional<Layout> layout = coalesced(*tile, geometry.waveSize(), geometry.waveCount(), width).layout;
  if (!layout)
    return kForbidden;
  return priceOf(trafficOf(*layout, width, *rows, {target.sectorBytes, target.cacheLineBytes}));
}

ChoiceCost LayoutCosts::access(Operation *op, const Layout &layout) const {
  TileType tile = tileOf(op);
  if (!cast<AccessOpInterface>(op).isIndexedShared() || tile.getRank() == 0)
    return globalAccess(op, layout);
  // A tile in shared memory is stored in the order of its dimensions.
  return sharedAccess(layout, Dim(tile.getDims().back().getValue().str()), elementBytes(tile.getElementType()),
                      cast<AccessOpInterface>(op).writesIndexed());
}

} // namespace soliton
