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

/// Behind the tile's last product, which is waited for there as all boxes are, or at its end.
static void releaseFactors(Block &block) {
  Operation *last = nullptr;
  for (Operation &op : block) {
    auto multiplies = [](Operation *inner) {
      return inPlaceFactors(inner).empty() ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
    };
    if (isWaitForProducts(op) || op.walk(multiplies).wasInterrupted())
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

/// Awaits in front of copies, each of which leaves as many releases open as is proven; false if even none is not
/// enough. A tile's first await covers a release of the tile before, behind which every wave knows its number.
static bool awaitReleases(KernelOp kernel, const Geometry &geometry) {
  SmallVector<Operation *> copies;
  kernel.walk<mlir::WalkOrder::PreOrder>([&](CopyOp copy) {
    if (copy.getBoxed())
      copies.push_back(copy);
  });
  auto releases = kernel.block().getOps<ReleaseOp>();
  int64_t open = std::distance(releases.begin(), releases.end()) - 1;
  OpBuilder builder(copies.front());
  auto last = AwaitOp::create(builder, copies.front()->getLoc(), open, ArrayAttr());
  while (Operation *early = findTooEarly(kernel, geometry, copies)) {
    if (open-- == 0)
      return false;
    if (last->getNextNode() == early) {
      last.setCount(open);
      continue;
    }
    builder.setInsertionPoint(early);
    last = AwaitOp::create(builder, early->getLoc(), open, ArrayAttr());
  }
  return true;
}

LogicalResult overlapTiles(KernelOp kernel, const Geometry &geometry) {
  Block &block = kernel.block();
  closeGroups(block);
  commitFirstCopies(block);
  if (std::string reason = reasonAgainst(kernel, geometry); !reason.empty())
    return refuse(kernel, reason);
  commitResults(block);
  releaseFactors(block);
  if (awaitReleases(kernel, geometry))
    return success();
  return refuse(kernel, "a kernel whose copies take the place of what no release covers");
}

} // namespace soliton
