//===- LowerService.cpp - A wave that has tiles copied for those that compute ---------===//
//
// The program of a wave is said twice, once for each role, and which of the two a wave executes its number tells:
//
//   copy k 0, copy v 0                 scf.if wave >= 8 {                    the first four behind those that compute
//   loop                                 registers 40
//     wait boxes, 1                      scf.if wave == 8 {
//     products, softmax                    copy k 0, copy v 0, barrier
//     release                 becomes      loop { wait boxes, 1; await 0; copy k n+2; commit }
//     await 0                            } else { barrier }
//     copy k n+2                       } else {
//     commit boxes                       registers 232, barrier
//                                        loop { wait boxes, 1; products, softmax; release }
//                                      }
//
// The first barrier says that those in memory are there; the first copies do not wait for it.
//
// The copying wave does what the first wave did for copies, at the same places of the program: it waits for boxes,
// comes to every barrier, awaits what was released and counts what the others count. Whatever the proof of the whole
// kernel says of two waves that are not the same holds for it and any other, so that nothing is derived or proven anew;
// a workgroup that has one wave besides counts as two (WholeKernel.cpp). Barriers are for all waves that have work: the
// other waves of the copying group end behind their registers.
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/ServiceWaves.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace soliton {
using namespace wave;
namespace arith = mlir::arith;

MachineLowering::MachineLowering(const MachineLowering &whole, Crew crew, Block &at)
    : kernel(whole.kernel), geometry(whole.geometry), wideOffsets(whole.wideOffsets), crew(crew),
      builder(OpBuilder::atBlockEnd(&at)), exprs(builder, whole.geometry.facts()), cluster(whole.cluster),
      parameters(whole.parameters), turns(whole.turns), turnBegins(whole.turnBegins), turnEnds(whole.turnEnds),
      ring(whole.ring), ringOffset(whole.ringOffset), maps(whole.maps), mapValues(whole.mapValues),
      limits(whole.limits) {}

/// Why the program cannot be said for a wave that has none of its values; empty if it can.
static std::string reasonAgainstService(KernelOp kernel, const Geometry &geometry, const CopyRing &ring) {
  const Target &target = geometry.target();
  if (ring.size() == 0)
    return "a kernel that copies no boxes has nothing for service waves to do";
  if (geometry.allWaves() > target.maxWavesPerWorkgroup)
    return std::to_string(geometry.allWaves()) + " waves, expected at most " +
           std::to_string(target.maxWavesPerWorkgroup);
  if (kernel.getCluster())
    return "service waves in a cluster";
  std::string reason;
  kernel.walk([&](Operation *op) {
    auto loop = dyn_cast<IterateOp>(op);
    auto barrier = dyn_cast<BarrierOp>(op);
    if (isa<IndexOfOp>(op))
      reason = "service waves do not know numbers that are read from data";
    else if (loop && loop.exit())
      reason = "service waves do not know when a loop ends that data end";
    else if (barrier && barrier.getFirstWave())
      reason = "a barrier of some waves beside service waves";
  });
  return reason;
}

LogicalResult MachineLowering::checkService() {
  std::string reason = reasonAgainstService(kernel, geometry, ring);
  if (reason.empty())
    return success();
  return report(kernel.getLoc(), DiagId::NotSupportedHere).hint("leave service waves out") << reason;
}

static bool meetsOrCopies(Operation *op) {
  auto commit = dyn_cast<CommitOp>(op);
  auto wait = dyn_cast<WaitOp>(op);
  auto copy = dyn_cast<CopyOp>(op);
  auto barrier = dyn_cast<BarrierOp>(op);
  return (barrier && !barrier.getTeam()) || isa<ReleaseOp, AwaitOp>(op) || (copy && copy.getBoxed()) ||
         (commit && commit.getCounter() == wave::Counter::Boxes) || (wait && wait.getCounter() == wave::Counter::Boxes);
}

/// Whether waves of this role execute the op; what it counts all of them count.
bool MachineLowering::isForCrew(Operation *op) const {
  if (crew == Crew::All)
    return true;
  if (crew == Crew::Computing)
    return !isOfBoxes(op) || isa<WaitOp>(op);
  if (op->getNumRegions() == 0)
    return meetsOrCopies(op) && !isa<ReleaseOp>(op);
  return op
      ->walk([](Operation *inner) {
        return meetsOrCopies(inner) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

void MachineLowering::countOnly(Operation *op) {
  Location loc = op->getLoc();
  auto commit = dyn_cast<CommitOp>(op);
  if (commit && commit.getCounter() == wave::Counter::Boxes)
    committed() = arith::AddIOp::create(builder, loc, committed(), number(1, loc));
  if (isa<ReleaseOp>(op))
    released() = arith::AddIOp::create(builder, loc, released(), number(1, loc));
}

void MachineLowering::barrierOfAll(OpBuilder &at, Location loc) {
  mlir::IntegerAttr waves;
  if (crew != Crew::All && geometry.serviceWaves() > 1)
    waves = builder.getI64IntegerAttr(geometry.waveCount() + 1);
  machine::BarrierOp::create(at, loc, 0, waves);
}

void MachineLowering::barrierOfCluster(OpBuilder &at, Location loc) {
  machine::ClusterArriveOp::create(at, loc);
  machine::ClusterWaitOp::create(at, loc);
}

/// The kernel's program as waves of that role execute it, at the end of the block.
LogicalResult MachineLowering::lowerAs(Crew part, Block &block) {
  MachineLowering lowering(*this, part, block);
  lowering.bindSizes(*mlir::cast<BlockArgument>(parameters.begin()->second).getOwner());
  if (failed(lowering.lowerProgram()))
    return failure();
  maps = lowering.maps;
  mapValues = lowering.mapValues;
  limits = lowering.limits;
  return success();
}

LogicalResult MachineLowering::lowerRoles() {
  if (failed(checkService()))
    return failure();
  Location loc = kernel.getLoc();
  ServiceRegisters registers = registersWithService(geometry);
  Value wave = machine::IdOp::create(builder, loc, builder.getI32Type(), machine::IdKind::wave,
                                     builder.getI64IntegerAttr(geometry.allWaves()));
  Value first = number(geometry.waveCount(), loc);
  Value serves = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, wave, first);
  auto roles = mlir::scf::IfOp::create(builder, loc, serves, /*withElseRegion=*/true);
  OpBuilder copying = roles.getThenBodyBuilder(), computing = roles.getElseBodyBuilder();
  if (registers.change()) {
    machine::RegistersOp::create(copying, loc, registers.copying, /*increase=*/false);
    machine::RegistersOp::create(computing, loc, registers.computing, /*increase=*/true);
  }
  Block *copies = roles.thenBlock();
  if (geometry.serviceWaves() > 1) {
    Value copiesBoxes = arith::CmpIOp::create(copying, loc, arith::CmpIPredicate::eq, wave, first);
    auto branch = mlir::scf::IfOp::create(copying, loc, copiesBoxes, /*withElseRegion=*/true);
    copies = branch.thenBlock();
    OpBuilder others = branch.getElseBodyBuilder();
    // Those that have ended are missed by no barrier of a cluster behind the first.
    cluster ? barrierOfCluster(others, loc) : void(machine::BarrierOp::create(others, loc, 0, mlir::IntegerAttr()));
  }
  for (auto [part, block] : {std::pair(Crew::Copying, copies), {Crew::Computing, roles.elseBlock()}}) {
    // The terminator comes with the block; the program stands in front of it.
    Operation *end = &block->back();
    end->remove();
    LogicalResult lowered = lowerAs(part, *block);
    block->push_back(end);
    if (failed(lowered))
      return failure();
  }
  return success();
}

} // namespace soliton
