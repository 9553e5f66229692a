#include "soliton/transforms/OverlapTiles.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/Persistent.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/schedule/WholeVerify.h"
#include "soliton/transforms/CopyRing.h"
#include "soliton/transforms/MachineLowering.h"
#include "soliton/transforms/WholeKernel.h"

namespace soliton {
using namespace wave;
namespace whole = sched::whole;

static LogicalResult refuse(KernelOp kernel, const std::string &reason) {
  return report(kernel.getLoc(), DiagId::NotSupportedHere).hint("leave `overlapTiles` out")
         << "tiles that overlap in " << reason;
}

/// What copies of boxes begin the program is a group, or several.
static void commitFirstCopies(Block &block) {
  CopyOp open;
  for (Operation &op : block) {
    auto copy = dyn_cast<CopyOp>(op);
    if (copy && copy.getBoxed())
      open = copy;
    else if (isa<CommitOp>(op))
      open = {};
    else if (!isInPlace(&op) &&
             (isa<WaitOp, BarrierOp, AccessOpInterface>(op) || op.getNumRegions() > 0 || !inPlaceFactors(&op).empty()))
      break;
  }
  if (!open)
    return;
  OpBuilder builder(open->getContext());
  builder.setInsertionPointAfter(open);
  CommitOp::create(builder, open.getLoc(), wave::Counter::Boxes, ArrayAttr());
}

/// Why there is nothing to overlap; empty if there is.
static std::string reasonAgainst(KernelOp kernel, const Geometry &geometry) {
  if (!persistentWorkgroups(kernel))
    return "a kernel whose workgroups have one tile each, expected `persistent` ones";
  if (geometry.serviceWaves() == 0)
    return "a kernel in which no wave serves the others, expected `serviceWaves`";
  if (kernel.getCluster() || kernel.getWorkgroupsPerCluster())
    return "workgroups of a cluster";
  if (firstCopies(kernel.block()).empty())
    return "a kernel that does not begin with copies of boxes";
  return "";
}

static void commitResults(Block &block) {
  CopyOutOp last;
  for (auto copy : block.getOps<CopyOutOp>())
    last = copy;
  if (!last)
    return;
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  CommitOp::create(builder, last.getLoc(), wave::Counter::Bulk, ArrayAttr());
}

static bool isWaitForProducts(Operation &op) {
  auto wait = dyn_cast<WaitOp>(op);
  return wait && wait.getCounter() == wave::Counter::Mma && wait.getCount() == 0;
}

static bool multiplies(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return inPlaceFactors(inner).empty() ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Behind each group of products that comes after the loops, but for the last: the one before it is complete there, so
/// that copies of the next tile are asked for while the rest of this one is multiplied.
///
///   loop, mma 62, commit, mma 63, commit, wait mma 0
///   becomes  loop, mma 62, commit, wait mma 1, release, mma 63, commit, wait mma 0
static SmallVector<Operation *> releaseBetweenProducts(Block &block) {
  SmallVector<Operation *> added;
  SmallVector<CommitOp> groups;
  bool isOpen = false;
  for (Operation &op : block) {
    if (isa<IterateOp>(op))
      groups.clear();
    isOpen |= op.getNumRegions() == 0 && multiplies(&op);
    auto commit = dyn_cast<CommitOp>(op);
    if (commit && commit.getCounter() == wave::Counter::Mma && std::exchange(isOpen, false))
      groups.push_back(commit);
  }
  for (CommitOp group : ArrayRef(groups).drop_back(groups.empty() ? 0 : 1)) {
    Operation *next = group->getNextNode();
    auto wait = dyn_cast<WaitOp>(next);
    bool isComplete = wait && wait.getCounter() == wave::Counter::Mma;
    OpBuilder builder(next);
    if (isComplete)
      builder.setInsertionPointAfter(wait);
    else
      added.push_back(WaitOp::create(builder, group.getLoc(), wave::Counter::Mma, 1, ArrayAttr()));
    added.push_back(ReleaseOp::create(builder, group.getLoc(), ArrayAttr()));
  }
  return added;
}

/// Behind the tile's last product, which is waited for there as all boxes are, or at its end.
static void releaseFactors(Block &block) {
  Operation *last = nullptr;
  for (Operation &op : block) {
    if (isWaitForProducts(op) || multiplies(&op))
      last = &op;
  }
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  if (last)
    builder.setInsertionPointAfter(last);
  if (last && !isWaitForProducts(*last)) {
    CommitOp::create(builder, last->getLoc(), wave::Counter::Mma, ArrayAttr());
    WaitOp::create(builder, last->getLoc(), wave::Counter::Mma, 0, ArrayAttr());
  }
  WaitOp::create(builder, block.back().getLoc(), wave::Counter::Boxes, 0, ArrayAttr());
  ReleaseOp::create(builder, block.back().getLoc(), ArrayAttr());
}

/// The first of the copies that may take the place of what is still used; null if there is none.
static Operation *findTooEarly(KernelOp kernel, const Geometry &geometry, ArrayRef<Operation *> copies) {
  WholeKernel tree = makeWholeKernel(kernel, geometry);
  llvm::SmallPtrSet<Operation *, 8> unproven;
  for (const whole::Unproven &each : whole::verify(tree.kernel).unproven)
    unproven.insert(tree.ops[each.to]);
  auto found = llvm::find_if(copies, [&](Operation *copy) { return unproven.contains(copy); });
  return found == copies.end() ? nullptr : *found;
}

/// Awaits in front of copies, each of which leaves as many releases open as is proven, and at most `open`; none if even
/// 0 is not enough. A tile's first await covers a release of the tile before, behind which every wave knows its number.
static SmallVector<Operation *> awaitReleases(KernelOp kernel, const Geometry &geometry, int64_t open) {
  SmallVector<Operation *> copies;
  kernel.walk<mlir::WalkOrder::PreOrder>([&](CopyOp copy) {
    if (copy.getBoxed())
      copies.push_back(copy);
  });
  auto releases = kernel.block().getOps<ReleaseOp>();
  open = std::min<int64_t>(open, std::distance(releases.begin(), releases.end()) - 1);
  OpBuilder builder(copies.front());
  auto last = AwaitOp::create(builder, copies.front()->getLoc(), open, ArrayAttr());
  SmallVector<Operation *> awaits = {last};
  while (Operation *early = findTooEarly(kernel, geometry, copies)) {
    if (open-- == 0)
      return {};
    if (last->getNextNode() == early) {
      last.setCount(open);
      continue;
    }
    builder.setInsertionPoint(early);
    last = AwaitOp::create(builder, early->getLoc(), open, ArrayAttr());
    awaits.push_back(last);
  }
  return awaits;
}

/// Whether there are barriers in memory for all groups and releases that may be under way.
static bool areToldApart(KernelOp kernel) {
  mlir::OwningOpRef<KernelOp> trial(kernel.clone());
  mlir::ScopedDiagnosticHandler silent(kernel.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  return mlir::succeeded(CopyRing::of(*trial));
}

LogicalResult overlapTiles(KernelOp kernel, const Geometry &geometry) {
  Block &block = kernel.block();
  closeGroups(block);
  commitFirstCopies(block);
  if (std::string reason = reasonAgainst(kernel, geometry); !reason.empty())
    return refuse(kernel, reason);
  commitResults(block);
  SmallVector<Operation *> betweenProducts = releaseBetweenProducts(block);
  releaseFactors(block);
  SmallVector<Operation *> awaits = awaitReleases(kernel, geometry, INT64_MAX);
  // Copies that follow one by one have more groups under way: if too many, they come when the tile is done.
  if (!awaits.empty() && !areToldApart(kernel)) {
    for (Operation *op : llvm::concat<Operation *>(betweenProducts, awaits))
      op->erase();
    awaits = awaitReleases(kernel, geometry, 0);
  }
  if (awaits.empty())
    return refuse(kernel, "a kernel whose copies take the place of what no release covers");
  // The judge knows of each buffer how far a tile's loop has come, the derivation of all of them together.
  for (auto copy : block.getOps<CopyOp>())
    copy->setAttr(kOrdered, mlir::UnitAttr::get(kernel.getContext()));
  return success();
}

} // namespace soliton
