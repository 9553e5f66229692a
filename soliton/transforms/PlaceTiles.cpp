#include "soliton/transforms/PlaceTiles.h"

#include "soliton/analysis/Access.h"
#include "soliton/analysis/Boxes.h"
#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/Persistent.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/schedule/WholeFacts.h"
#include "soliton/transforms/CopyRing.h"
#include "soliton/transforms/Tickets.h"
#include "soliton/transforms/WholeKernel.h"

#include <numeric>

namespace soliton {
using namespace wave;
namespace whole = sched::whole;

static int64_t bytesOf(AllocateOp tile) {
  return bytesPerBuffer(tile) * static_cast<int64_t>(tile.getBuffers());
}

/// 16 bytes: the widest access stays aligned in every tile. What matrix instructions read by themselves, or leaves in
/// boxes, says more.
static int64_t alignmentOf(AllocateOp tile) {
  MemoryType type = tile.getResult().getType();
  auto isPastRegisters = [](Operation *user) { return isInPlace(user) || isa<CopyOutOp>(user); };
  if (!llvm::any_of(tile.getResult().getUsers(), isPastRegisters))
    return 16;
  return inPlaceTileOf(type.getMap().getValue(), elementBytes(type.getElementType())).alignment();
}

static SmallVector<AllocateOp> tilesOf(KernelOp kernel) {
  SmallVector<AllocateOp> tiles;
  kernel.walk([&](AllocateOp tile) { tiles.push_back(tile); });
  return tiles;
}

/// All of them are touched in one loop, and so live together whatever its schedule is: the usual case, in which nothing
/// has to be found out.
static bool areOfOneLoop(ArrayRef<AllocateOp> tiles) {
  Operation *common = nullptr;
  for (AllocateOp tile : tiles)
    for (Operation *user : tile.getResult().getUsers()) {
      Operation *loop = user->getParentOfType<IterateOp>();
      if (!loop || (common && common != loop))
        return false;
      common = loop;
    }
  return true;
}

/// When each tile lives, in positions of the text; nothing for one that nobody touches.
static llvm::DenseMap<Operation *, std::vector<LiveInterval>> findLives(const WholeKernel &kernel) {
  llvm::DenseMap<Operation *, std::vector<LiveInterval>> lives;
  for (const whole::Lifetime &lifetime : whole::findLifetimes(kernel.kernel, whole::Order::OfLoops))
    for (const whole::LiveInterval &interval : lifetime.intervals)
      lives[kernel.memories[lifetime.region].getDefiningOp()].push_back({interval.begin, interval.end + 1});
  return lives;
}

/// Workgroups that a compute unit holds if each takes that much shared memory.
static int64_t residents(int64_t bytes, const Geometry &geometry) {
  const Target &target = geometry.target();
  int64_t byWaves = target.simdsPerComputeUnit * target.maxWavesPerSimd / geometry.allWaves();
  return std::min(std::max<int64_t>(byWaves, 1), bytes == 0 ? byWaves : target.sharedBytes / bytes);
}

/// How often a tile is filled in front of all loops.
static int64_t fillsInFront(AllocateOp tile) {
  return llvm::count_if(tile.getResult().getUsers(),
                        [&](Operation *user) { return isa<CopyOp>(user) && user->getBlock() == tile->getBlock(); });
}

/// For workgroups that walk several tiles: what lives throughout, then rings, smaller buffers first, and the one tile
/// that lives behind them all at the end of shared memory, where it meets only the last buffer of the last ring, which
/// of rings alike is one that begins with fewer tiles. The others can be filled for the next tile then while it is in
/// use. Nothing where it would reach further.
static std::optional<SharedPlan> planRingsFirst(llvm::MutableArrayRef<AllocateOp> allocations,
                                                ArrayRef<SharedTile> tiles, int64_t room) {
  SharedPlan plan{.offsets = std::vector<int64_t>(tiles.size(), 0)};
  SmallVector<size_t> rings, order, behind;
  for (size_t i = 0; i < tiles.size(); ++i)
    if (allocations[i].getBuffers() > 1)
      rings.push_back(i);
  for (size_t i = 0; i < tiles.size(); ++i)
    if (!llvm::is_contained(rings, i)) {
      bool isBehind = llvm::none_of(rings, [&](size_t ring) { return liveTogether(tiles[i], tiles[ring]); });
      (isBehind ? behind : order).push_back(i);
    }
  if (rings.empty() || behind.size() != 1)
    return std::nullopt;
  auto buffer = [&](size_t i) { return bytesPerBuffer(allocations[i]); };
  llvm::stable_sort(rings, [&](size_t a, size_t b) {
    return std::pair(buffer(a), -fillsInFront(allocations[a])) < std::pair(buffer(b), -fillsInFront(allocations[b]));
  });
  llvm::append_range(order, rings);
  for (size_t i : order) {
    plan.offsets[i] = static_cast<int64_t>(llvm::alignTo(plan.bytes, tiles[i].alignment));
    plan.bytes = plan.offsets[i] + tiles[i].bytes;
  }
  const SharedTile &last = tiles[behind.front()];
  int64_t start = (room - last.bytes) / last.alignment * last.alignment;
  if (plan.bytes > room || start < plan.bytes - buffer(rings.back()))
    return std::nullopt;
  plan.offsets[behind.front()] = start;
  plan.bytes = std::max(plan.bytes, start + last.bytes);
  return plan;
}

static SharedPlan planTiles(KernelOp kernel, const Geometry &geometry, llvm::MutableArrayRef<AllocateOp> allocations) {
  std::vector<SharedTile> tiles;
  for (AllocateOp allocation : allocations)
    tiles.push_back({.bytes = bytesOf(allocation), .alignment = alignmentOf(allocation)});
  SharedPlan apart = planShared(tiles);
  // Where tiles overlap, the next one's copies come while this one's results leave.
  if (allocations.size() < 2 || areOfOneLoop(allocations) || kernel.getOverlapTiles())
    return apart;
  WholeKernel whole = makeWholeKernel(kernel, geometry);
  if (whole.unproven)
    return apart;
  llvm::DenseMap<Operation *, std::vector<LiveInterval>> lives = findLives(whole);
  for (auto [tile, allocation] : llvm::zip(tiles, allocations))
    tile.live = lives.lookup(allocation);
  SharedPlan shared = planShared(tiles);
  bool areShared = residents(shared.bytes, geometry) > residents(apart.bytes, geometry);
  if (areShared && persistentWorkgroups(kernel))
    if (std::optional<SharedPlan> plan = planRingsFirst(allocations, tiles, bytesForTiles(kernel, geometry.target())))
      return *plan;
  return areShared ? shared : apart;
}

int64_t placeTiles(KernelOp kernel, const Geometry &geometry) {
  SmallVector<AllocateOp> allocations = tilesOf(kernel);
  SharedPlan plan = planTiles(kernel, geometry, allocations);
  for (auto [allocation, offset] : llvm::zip(allocations, plan.offsets))
    allocation.setOffset(offset);
  return plan.bytes;
}

int64_t bytesBeside(IterateOp loop, const Geometry &geometry, llvm::function_ref<bool(Operation *)> inside) {
  auto kernel = loop->getParentOfType<KernelOp>();
  SmallVector<AllocateOp> others;
  for (AllocateOp tile : tilesOf(kernel))
    if (llvm::none_of(tile.getResult().getUsers(), inside))
      others.push_back(tile);
  if (kernel.getOverlapTiles())
    return std::accumulate(others.begin(), others.end(), int64_t{0},
                           [](int64_t bytes, AllocateOp tile) { return bytes + bytesOf(tile); });
  if (others.empty())
    return 0;
  WholeKernel whole = makeWholeKernel(kernel, geometry);
  llvm::DenseMap<Operation *, std::vector<LiveInterval>> lives = findLives(whole);
  auto node = static_cast<int>(llvm::find(whole.ops, loop.getOperation()) - whole.ops.begin());
  whole::LiveInterval when = whole::positionsOf(whole.kernel, node);
  int64_t bytes = 0;
  for (AllocateOp tile : others)
    if (whole.unproven || liveTogether({.live = lives.lookup(tile)}, {.live = {{when.begin, when.end + 1}}}))
      bytes += bytesOf(tile);
  return bytes;
}

int64_t bytesForTiles(KernelOp kernel, const Target &target) {
  int64_t tickets = kernel.getTickets() ? 2 * kTicketBytes : 0;
  return target.sharedBytes - (copiesBoxes(kernel) ? kRingBytes : 0) - tickets;
}

LogicalResult checkSharedBytes(KernelOp kernel, const Geometry &geometry, int64_t bytes) {
  if (bytes <= bytesForTiles(kernel, geometry.target()))
    return success();
  return report(kernel.getLoc(), DiagId::SharedMemoryExceeded)
             .hint("use smaller tiles, or keep an operand out of shared memory")
         << "the kernel needs " << bytes << " bytes of shared memory, `" << geometry.target().name << "` has "
         << geometry.target().sharedBytes;
}

} // namespace soliton
