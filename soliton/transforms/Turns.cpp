#include "soliton/transforms/Turns.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/Teams.h"
#include "soliton/ir/Diagnose.h"

namespace soliton {
using namespace wave;

static LogicalResult refuse(Operation *op, const std::string &reason) {
  return report(op->getLoc(), DiagId::NotSupportedHere).hint("leave `turns` out") << "turns " << reason;
}

static bool isProduct(Operation &op) {
  return !inPlaceFactors(&op).empty();
}

static bool isOfProducts(Operation *op) {
  auto commit = dyn_cast<CommitOp>(op);
  auto wait = dyn_cast<WaitOp>(op);
  return (commit && commit.getCounter() == wave::Counter::Mma) || (wait && wait.getCounter() == wave::Counter::Mma);
}

/// Whether the op waits for products, or for other teams, or they for it.
static bool endsTurn(Operation &op) {
  bool takesSum = llvm::any_of(op.getOperands(), [](Value operand) {
    Operation *product = operand.getDefiningOp();
    return product && isProduct(*product);
  });
  return isa<BarrierOp, ReleaseOp, YieldOp>(op) || op.getNumRegions() > 0 || (isa<WaitOp>(op) && isOfProducts(&op)) ||
         (takesSum && !isProduct(op));
}

/// Runs of products, with what can stand among them.
static void addTurns(Block &block, SmallVector<Turn> &turns) {
  Turn open;
  for (Operation &op : block) {
    if (open.first && endsTurn(op))
      turns.push_back(std::exchange(open, Turn()));
    if (isProduct(op) && !open.first)
      open.first = &op;
    if (open.first && (isProduct(op) || isOfProducts(&op)))
      open.last = &op;
  }
}

FailureOr<Turns> findTurns(KernelOp kernel, const Geometry &geometry) {
  const Target &target = geometry.target();
  MmaOp product;
  BarrierOp ofSome;
  kernel.walk([&](MmaOp op) { product = isProduct(*op) ? op : product; });
  kernel.walk([&](BarrierOp op) { ofSome = op.getFirstWave() ? op : ofSome; });
  if (!product)
    return refuse(kernel, "of a kernel in which no waves issue matrix instructions together");
  Turns found;
  found.wavesPerTeam = mmaKindOf(product, target).waves;
  found.teams = geometry.waveCount() / found.wavesPerTeam;
  found.firstBarrier = teamWavesOf(kernel, geometry) ? 1 + found.teams : 1;
  if (found.teams < 2)
    return refuse(kernel, "of " + std::to_string(geometry.waveCount()) +
                              " waves that issue matrix instructions together, "
                              "expected several such teams");
  if (found.firstBarrier + found.teams > target.namedBarriers)
    return refuse(kernel,
                  "of " + std::to_string(found.teams) + " teams, for which " + target.name + " has too few barriers");
  if (ofSome)
    return refuse(ofSome, "beside a barrier of some waves");
  kernel.walk<mlir::WalkOrder::PreOrder>([&](IterateOp loop) {
    if (!loop->getParentOfType<IterateOp>())
      loop.walk([&](Block *block) { addTurns(*block, found.turns); });
  });
  if (found.turns.empty())
    reportRemark(product.getLoc(), DiagId::NoTurns)
        << "no loop is left around these products, at which " << found.teams << " teams would take turns";
  return found;
}

} // namespace soliton
