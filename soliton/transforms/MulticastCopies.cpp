//===- MulticastCopies.cpp - Tiles that one workgroup copies for others ----------------===//
//
// Neighbours that form a cluster need not each fetch what is the same for all of them (Multicast.h):
//
//   wave.copy %A, %s {boxed}                 wave.copy %A, %s {boxed}               rows of $WG0: each its own
//   wave.copy %B, %t {boxed}      becomes    wave.copy %B, %t {boxed, multicast}    each a half, to both
//
// So a copy writes the memory of other workgroups, and what was ordered between the waves of one workgroup has to be
// so between those of the cluster. That the cluster is one workgroup with as many times the waves says how: a barrier
// is one of all of them, and a release is heard by all that copy. What is proven of any two waves of one workgroup,
// which run the same program, holds for any two of the cluster then, if all of them come to the same barriers, releases
// and copies: no loop or branch around these may depend on the place in the cluster. The lowering (LowerToMachine.cpp)
// makes barriers wider where a copy or a release follows; behind the last one a workgroup's own will do.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Multicast.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/transforms/Touches.h"

#include "llvm/ADT/MapVector.h"

#include <set>

namespace soliton {
#define GEN_PASS_DEF_MULTICASTCOPIESPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

namespace {
class Sharing {
public:
  Sharing(KernelOp kernel, const TileCluster &cluster, const Geometry &geometry)
      : kernel(kernel), cluster(cluster), geometry(geometry) {}

  LogicalResult run() {
    SmallVector<CopyOp> copies;
    kernel.walk([&](CopyOp copy) {
      if (copy.getBoxed())
        copies.push_back(copy);
    });
    // Of one tile, which several boxes may be: all of them are shared, or none.
    llvm::MapVector<Operation *, std::string> reasons;
    for (CopyOp copy : copies)
      if (std::string &reason = reasons[sharedTileOf(copy)]; reason.empty())
        reason = reasonAgainstSharing(copy, cluster, geometry);
    bool anything = llvm::any_of(reasons, [](const auto &entry) { return entry.second.empty(); });
    if (!anything)
      return refuse(kernel.getLoc(), copies.empty() ? "no tile of this kernel is copied in boxes" : reasonOf(reasons));
    if (failed(checkProgram()))
      return failure();
    for (CopyOp copy : copies)
      copy.setMulticast(reasons[sharedTileOf(copy)].empty());
    say(copies, reasons);
    return success();
  }

private:
  LogicalResult refuse(Location loc, const std::string &why) const {
    return report(loc, DiagId::NotSupportedHere).hint("leave `workgroups_per_cluster` out")
           << "clusters of " << cluster.size << " workgroups cannot share tiles here: " << why;
  }

  /// The most telling one.
  static std::string reasonOf(const llvm::MapVector<Operation *, std::string> &reasons) {
    const auto *found = llvm::find_if(reasons, [](const auto &entry) { return entry.second != kEachItsOwn; });
    return found == reasons.end() ? "no tile is the same for all of them"
                                  : "of a tile that is the same for all of them, " + found->second;
  }

  /// All workgroups of the cluster come to the same barriers, releases and copies.
  LogicalResult checkProgram() {
    auto found = kernel.walk([&](Operation *op) -> mlir::WalkResult {
      auto barrier = dyn_cast<BarrierOp>(op);
      auto copy = dyn_cast<CopyOp>(op);
      bool meets = barrier || isa<ReleaseOp, AwaitOp>(op) || (copy && copy.getBoxed());
      if (barrier && !barrier.isForAllWaves())
        return refuse(op->getLoc(), "a barrier is for some waves only");
      if (meets && mayPart(op))
        return refuse(op->getLoc(), "how often this is executed may differ between them");
      return mlir::WalkResult::advance();
    });
    return failure(found.wasInterrupted());
  }

  bool mayPart(Operation *op) const {
    // What is left out where nobody uses it is left out by all of them or by none.
    auto copy = dyn_cast<CopyOp>(op);
    auto used = copy ? copy->getAttrOfType<ExprAttr>(kUsed) : ExprAttr();
    if (used && mayDiffer({geometry.named(used, copy.getSymbols())}, cluster))
      return true;
    for (Operation *around = op->getParentOp(); around != kernel; around = around->getParentOp())
      if (partsCluster(around, cluster, geometry))
        return true;
    return false;
  }

  /// Once for each tile.
  void say(ArrayRef<CopyOp> copies, llvm::MapVector<Operation *, std::string> &reasons) const {
    std::set<Operation *> said;
    for (CopyOp copy : copies) {
      Operation *tile = sharedTileOf(copy);
      if (!said.insert(tile).second)
        continue;
      const std::string &reason = reasons[tile];
      reportRemark(copy.getLoc(), DiagId::ClusterTiles)
          << (reason.empty() ? "each of the " + std::to_string(cluster.size) +
                                   " workgroups of a cluster copies its share of this tile to all of them"
                             : "each workgroup of a cluster copies this tile for itself: " + reason);
    }
  }

  KernelOp kernel;
  TileCluster cluster;
  const Geometry &geometry;
};

struct MulticastCopiesPass final : impl::MulticastCopiesPassBase<MulticastCopiesPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    std::optional<TileCluster> cluster = tileClusterOf(kernel);
    if (!cluster)
      return;
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Synchronized)) ||
        failed(Sharing(kernel, *cluster, *geometry).run()))
      return signalPassFailure();
  }
};
} // namespace
} // namespace soliton
