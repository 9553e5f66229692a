//===- LowerBoxes.cpp - Boxes of a tensor, asked for by one lane ----------------------------===//
//
// Neighbouring copies of boxes and the commit behind them are one branch, which the first lane of the first wave takes.
// The barrier in memory of their group hears there how many bytes it has to wait for:
//
//   wave.copy %A, %s {boxed}           scf.if %first {
//   wave.copy %B, %t {boxed}             machine.copy_tile %mapA [%k, %m], [%s], %barrier
//   wave.commit boxes          becomes   machine.copy_tile %mapB [%k, %n], [%t], %barrier
//                                        machine.mbarrier_arrive %barrier {expect = 49152}
//                                      }
//                                      %committed1 = %committed + 1
//   wave.wait boxes, 1                 machine.mbarrier_wait of barrier (committed1 - 2) mod R
//
// The number of groups committed so far is a value that loops and branches carry, and so is that of releases, at each
// of which one lane of every wave arrives; the copying lane awaits their phases. CopyRing.h says what both are for.
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/Boxes.h"
#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/Multicast.h"
#include "soliton/transforms/MachineLowering.h"
#include "soliton/transforms/PublishWrites.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace soliton {
using namespace wave;
namespace arith = mlir::arith;

static bool isBoxed(Operation *op) {
  auto copy = dyn_cast_or_null<CopyOp>(op);
  return copy && copy.getBoxed();
}

static bool commitsBoxes(Operation *op) {
  auto commit = dyn_cast_or_null<CommitOp>(op);
  return commit && commit.getCounter() == wave::Counter::Boxes;
}

bool MachineLowering::isOfBoxes(Operation *op) const {
  auto wait = dyn_cast<WaitOp>(op);
  return isBoxed(op) || commitsBoxes(op) || isa<AwaitOp>(op) || (wait && wait.getCounter() == wave::Counter::Boxes);
}

bool MachineLowering::countsBoxes(Operation *around) const {
  return around
      ->walk([](Operation *op) {
        return commitsBoxes(op) || isa<ReleaseOp, AwaitOp>(op) ? mlir::WalkResult::interrupt()
                                                               : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

Value MachineLowering::number(int64_t value, Location loc) {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value MachineLowering::firstLane() {
  sym::Expr first = sym::logicalAnd(sym::eq(laneSymbol(), 0), sym::eq(waveSymbol(), 0));
  return exprs.emitI1(sym::simplify(first, geometry.facts()), kernel.getLoc());
}

/// In front of everything, by the lane that has boxes copied, which may begin at once: the others meet it behind its
/// first copies.
void MachineLowering::makeBarriers() {
  Location loc = kernel.getLoc();
  auto branch = mlir::scf::IfOp::create(builder, loc, isFirstLane, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    for (int64_t slot = 0; slot < ring.size(); ++slot)
      machine::MbarrierInitOp::create(builder, loc, number(ringOffset + 8 * slot, loc), /*count=*/1);
    for (int64_t slot = 0; slot < ring.numReleases(); ++slot)
      machine::MbarrierInitOp::create(builder, loc, number(ringOffset + 8 * (ring.size() + slot), loc),
                                      geometry.waveCount() * cluster.value_or(TileCluster()).size);
  }
}

/// Behind it all waves may use the barriers in memory, those of other workgroups that copy for them too.
void MachineLowering::meetAtBarriers() {
  if (cluster)
    return barrierOfCluster(builder, kernel.getLoc());
  machine::BarrierOp::create(builder, kernel.getLoc(), 0, mlir::IntegerAttr());
}

void MachineLowering::beginBoxes() {
  if (ring.size() == 0)
    return;
  isFirstLane = firstLane();
  size_t counts = ring.numReleases() == 0 ? 1 : crew == Crew::Copying ? 3 : 2;
  counted.assign(counts, number(0, kernel.getLoc()));
  if (crew != Crew::Computing)
    makeBarriers();
  // The wave that copies begins with what it has copied, unless that completes at barriers of other workgroups.
  if (crew != Crew::Copying || cluster)
    meetAtBarriers();
}

/// The barrier in memory of the group that was, or is going to be, committed as the given one.
Value MachineLowering::barrierOf(Value group, Location loc) {
  Value slot = arith::AndIOp::create(builder, loc, group, number(ring.size() - 1, loc));
  Value offset = arith::MulIOp::create(builder, loc, slot, number(8, loc));
  return arith::AddIOp::create(builder, loc, offset, number(ringOffset, loc));
}

/// The same of releases, which lie behind.
Value MachineLowering::releaseBarrierOf(Value release, Location loc) {
  Value slot = arith::AndIOp::create(builder, loc, release, number(ring.numReleases() - 1, loc));
  Value offset = arith::MulIOp::create(builder, loc, slot, number(8, loc));
  return arith::AddIOp::create(builder, loc, offset, number(ringOffset + 8 * ring.size(), loc));
}

/// One lane arrives for its wave, at each workgroup that copies to this one.
void MachineLowering::lowerRelease(ReleaseOp op) {
  Location loc = op.getLoc();
  Value isFirst = exprs.emitI1(sym::simplify(sym::eq(laneSymbol(), 0), geometry.facts()), loc);
  Value barrier = releaseBarrierOf(released(), loc);
  if (op->hasAttr(kPublishes))
    machine::FenceOp::create(builder, loc, machine::FenceSpace::shared_async);
  SmallVector<Value> ranks = {Value()};
  if (cluster)
    ranks = llvm::map_to_vector(llvm::seq(cluster->size), [&](int64_t rank) { return number(rank, loc); });
  auto branch = mlir::scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  OpBuilder inside = branch.getThenBodyBuilder();
  for (Value rank : ranks)
    machine::MbarrierArriveOp::create(inside, loc, barrier, rank, /*expect=*/uint64_t{0});
  released() = arith::AddIOp::create(builder, loc, released(), number(1, loc));
}

/// Waits for the phase of the last release but `count`: all waves came to those before it first. A wave that releases
/// nothing itself may find that the others have come round the ring since it awaited that release, and its parity
/// with them: it looks at each release once.
void MachineLowering::lowerAwait(AwaitOp op) {
  Location loc = op.getLoc();
  Value release = arith::SubIOp::create(builder, loc, released(), number(static_cast<int64_t>(op.getCount()) + 1, loc));
  OpBuilder::InsertionGuard guard(builder);
  if (crew == Crew::Copying) {
    Value isNew = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, release, awaited());
    auto branch = mlir::scf::IfOp::create(builder, loc, isNew, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  Value turn = arith::ShRUIOp::create(builder, loc, release, number(llvm::Log2_64(ring.numReleases()), loc));
  Value parity = arith::AndIOp::create(builder, loc, turn, number(1, loc));
  machine::MbarrierWaitOp::create(builder, loc, releaseBarrierOf(release, loc), parity);
}

/// Everything up to the release that it waits for is awaited.
void MachineLowering::countAwait(AwaitOp op) {
  if (crew != Crew::Copying)
    return;
  Location loc = op.getLoc();
  Value behind = arith::SubIOp::create(builder, loc, released(), number(static_cast<int64_t>(op.getCount()), loc));
  awaited() = arith::MaxSIOp::create(builder, loc, awaited(), behind);
}

/// The parameter whose map describes a tensor of which boxes lie in shared memory as `type` says.
Value MachineLowering::mapOf(Value tensor, MemoryType type, const Box &box, Location loc) {
  int64_t span = inPlaceTileOf(type.getMap().getValue(), elementBytes(type.getElementType())).span;
  auto argument = cast<BlockArgument>(parameters.lookup(tensor));
  sym::Expr offset = 0;
  if (kernel.isInWorkspace(tensor)) {
    unsigned entry = cast<BlockArgument>(tensor).getArgNumber() - kernel.numGivenParameters();
    offset = geometry.bind(cast<ExprAttr>((*kernel.getWorkspace())[entry]).getValue());
  }
  auto map = machine::TensorMapAttr::get(kernel.getContext(), argument.getArgNumber(), type.getElementType(), box.sizes,
                                         box.strides, box.extents, span, offset, box.lower, box.upper, box.steps);
  auto found = llvm::find(maps, Attribute(map));
  size_t number = static_cast<size_t>(found - maps.begin());
  if (found == maps.end()) {
    maps.push_back(map);
    mapValues.push_back(argument.getOwner()->addArgument(machine::MapType::get(kernel.getContext()), loc));
  }
  return mapValues[number];
}

void MachineLowering::lowerBox(CopyOp copy, Value barrier) {
  Location loc = copy.getLoc();
  Box box = boxOf(copy, geometry);
  if (copy.getMulticast())
    box = shareOf(box, *cluster);
  auto emit = [&](sym::Expr place) { return exprs.emitI32(place, loc); };
  SmallVector<Value> coordinates = llvm::map_to_vector(box.coordinates, emit);
  SmallVector<Value> offsets = llvm::map_to_vector(box.offsets, emit);
  Address to = sharedAddress(copy, copy.getDestination(), destinationOffset(copy, geometry));
  Value destination = to.lane;
  if (to.immediate != 0)
    destination = arith::AddIOp::create(builder, loc, destination, number(to.immediate, loc));
  Value everyone;
  if (copy.getMulticast()) {
    Value before = exprs.emitI32(rankSymbol() * (copy.bytesPerLane() / cluster->size), loc);
    destination = arith::AddIOp::create(builder, loc, destination, before);
    everyone = number((int64_t{1} << cluster->size) - 1, loc);
  }
  machine::CopyTileOp::create(builder, loc, mapOf(copy.getSource(), copy.getDestination().getType(), box, loc),
                              coordinates, destination, barrier, offsets, everyone);
  // Those of the shares of others too.
  openBytes += copy.bytesPerLane();
}

/// Whether anybody uses what the copies bring; null where somebody always does, or where it is not asked: a wave that
/// computes would pay for the question.
Value MachineLowering::usedBy(ArrayRef<CopyOp> copies, Location loc) {
  if (crew != Crew::Copying || copies.empty() || openBytes > 0)
    return {};
  auto used = [&](CopyOp copy) -> std::optional<sym::Expr> {
    auto attribute = copy->getAttrOfType<ExprAttr>(kUsed);
    return attribute ? std::optional(geometry.named(attribute, copy.getSymbols())) : std::nullopt;
  };
  std::optional<sym::Expr> first = used(copies.front());
  bool areAlike = llvm::all_of(copies, [&](CopyOp copy) { return used(copy) == first; });
  if (!first || !areAlike)
    return {};
  return exprs.emitI1(sym::simplify(*first, geometry.factsAt(copies.front())), loc);
}

/// Copies, and the commit behind them, if it is there. A group that nobody uses is complete without a byte.
void MachineLowering::lowerGroup(ArrayRef<CopyOp> copies, CommitOp commit, Value barrier) {
  Value used = commit ? usedBy(copies, commit.getLoc()) : Value();
  OpBuilder::InsertionGuard guard(builder);
  if (used) {
    auto branch = mlir::scf::IfOp::create(builder, commit.getLoc(), used, /*withElseRegion=*/true);
    OpBuilder otherwise = branch.getElseBodyBuilder();
    machine::MbarrierArriveOp::create(otherwise, commit.getLoc(), barrier);
    exprs.enterLoop(branch);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  for (CopyOp copy : copies)
    lowerBox(copy, barrier);
  if (commit)
    machine::MbarrierArriveOp::create(builder, commit.getLoc(), barrier, std::exchange(openBytes, 0));
  if (used)
    exprs.leaveLoop();
}

/// The copy, its neighbours, the commit behind them, and what they await.
void MachineLowering::lowerBoxes(Operation *first) {
  Location loc = first->getLoc();
  auto branch = mlir::scf::IfOp::create(builder, loc, isFirstLane, /*withElseRegion=*/false);
  CommitOp commit;
  SmallVector<CopyOp> copies;
  SmallVector<AwaitOp> awaits;
  // What is awaited behind a copy may be released only where its tile was used: it begins a branch of its own.
  auto goesOn = [&](Operation *op) {
    return isBoxed(op) || commitsBoxes(op) || (isa_and_nonnull<AwaitOp>(op) && copies.empty());
  };
  for (Operation *op = first; !commit && goesOn(op); op = op->getNextNode()) {
    if (auto await = dyn_cast<AwaitOp>(op))
      awaits.push_back(await);
    else if (auto copy = dyn_cast<CopyOp>(op))
      copies.push_back(copy);
    else
      commit = cast<CommitOp>(op);
    done.insert(op);
  }
  SmallVector<Value, 3> before = counted;
  {
    OpBuilder::InsertionGuard guard(builder);
    exprs.enterLoop(branch);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value barrier = barrierOf(committed(), loc);
    for (AwaitOp await : awaits) {
      lowerAwait(await);
      countAwait(await);
    }
    lowerGroup(copies, commit, barrier);
    exprs.leaveLoop();
  }
  // What the first lane has awaited all lanes of its wave count.
  counted = before;
  llvm::for_each(awaits, [&](AwaitOp await) { countAwait(await); });
  if (!commit)
    return;
  committed() = arith::AddIOp::create(builder, loc, committed(), number(1, loc));
}

/// Until all boxes of the group that was, or is going to be, committed as the given one are there.
void MachineLowering::waitForGroup(Value group, Location loc) {
  Value turn = arith::ShRUIOp::create(builder, loc, group, number(llvm::Log2_64(ring.size()), loc));
  Value parity = arith::AndIOp::create(builder, loc, turn, number(1, loc));
  machine::MbarrierWaitOp::create(builder, loc, barrierOf(group, loc), parity);
}

/// Waits for the phases of all groups that it completes, the oldest first.
void MachineLowering::lowerBoxWait(WaitOp wait) {
  Location loc = wait.getLoc();
  int64_t outstanding = ring.outstandingAt(wait);
  for (int64_t i = 0; i < ring.completedBy(wait); ++i) {
    waitForGroup(arith::SubIOp::create(builder, loc, committed(), number(outstanding - i, loc)), loc);
  }
}

} // namespace soliton
