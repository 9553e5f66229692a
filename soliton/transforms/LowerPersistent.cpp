//===- LowerPersistent.cpp - A workgroup walks several tiles --------------------------------===//
//
// The program of one tile becomes the body of a loop over tiles. What begins it, copies that fill a ring of buffers, is
// issued for the next tile as soon as nobody reads the ring any more: results are on their way out meanwhile, and the
// next tile's first products find their factors there.
//
//   scf.if %first { copies of tile %workgroup }
//   scf.for %tile = %workgroup to %tiles step 132 {
//     wait, products of all iterations
//     results to shared memory, barrier                        every wave is done with its products
//     scf.if %first and %tile + 132 < %tiles { copies of tile %tile + 132 }
//     results to global memory
//     barrier                                                  nobody reads what the next tile writes
//   }
//
// Where tiles differ in length workgroups draw the next one (Tickets.h).
//
// Copies that run on past the loop have arrived by then: they are waited for in front of that barrier, not behind it
// where somebody takes their place. Where results lie in shared memory in the ring's own place, the copies come behind
// the last barrier.
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/Persistent.h"
#include "soliton/ir/Counters.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"
#include "soliton/transforms/PlaceTiles.h"
#include "soliton/transforms/Tickets.h"
#include "soliton/transforms/Touches.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <set>

namespace soliton {
using namespace wave;
namespace arith = mlir::arith;

static bool isOfCounter(Operation *op, wave::Counter counter) {
  auto commit = dyn_cast<CommitOp>(op);
  auto wait = dyn_cast<WaitOp>(op);
  return (commit && commit.getCounter() == counter) || (wait && wait.getCounter() == counter);
}

/// Shared tiles that the op, or one inside of it, touches; a factor in place is touched by its products.
static void collectTouched(Operation *around, llvm::SmallSetVector<AllocateOp, 4> &tiles) {
  around->walk([&](Operation *op) {
    for (ReadOp factor : inPlaceFactors(op))
      tiles.insert(sharedTileOf(factor));
    if (auto access = dyn_cast<AccessOpInterface>(op); access && !isInPlace(op))
      if (AllocateOp tile = sharedTileOf(op))
        tiles.insert(tile);
  });
}

/// Bytes of shared memory.
struct Bytes {
  int64_t begin = 0, end = 0;
  bool meets(const Bytes &other) const { return begin < other.end && other.begin < end; }
};

/// Those of a tile, or of one of its buffers.
static Bytes bytesOf(AllocateOp tile, std::optional<int64_t> buffer = {}) {
  int64_t each = bytesPerBuffer(tile), start = static_cast<int64_t>(*tile.getOffset()) + buffer.value_or(0) * each;
  return {start, start + (buffer ? 1 : static_cast<int64_t>(tile.getBuffers())) * each};
}

/// What the copy writes.
static Bytes bytesOf(CopyOp copy) {
  auto buffer = copy->getAttrOfType<ExprAttr>("buffer");
  AllocateOp tile = sharedTileOf(copy);
  return bytesOf(tile, buffer ? buffer.getValue().constantValue() : std::nullopt);
}

SmallVector<Operation *> firstCopies(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block) {
    auto copy = dyn_cast<CopyOp>(op);
    bool isBox = copy && copy.getBoxed();
    if (isBox || isa<AwaitOp>(op) || (isa<CommitOp>(op) && isOfCounter(&op, wave::Counter::Boxes)))
      ops.push_back(&op);
    else if (isInPlace(&op)) // read where its product stands
      continue;
    else if (isa<WaitOp, BarrierOp, AccessOpInterface>(op) || op.getNumRegions() > 0)
      break;
  }
  bool isClosed = !ops.empty() && isa<CommitOp>(ops.back());
  return isClosed ? ops : SmallVector<Operation *>();
}

/// Whether the op copies boxes, or one inside of it.
static bool copiesBoxes(Operation *around) {
  return around
      ->walk([](Operation *op) {
        auto copy = dyn_cast<CopyOp>(op);
        bool copies = (copy && copy.getBoxed()) || (isa<CommitOp>(op) && isOfCounter(op, wave::Counter::Boxes));
        return copies ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// The first barrier behind which nothing touches the bytes that the copies write, and nothing is copied; null if there
/// is none.
static Operation *barrierBehind(Block &block, ArrayRef<Operation *> copies) {
  Operation *barrier = nullptr;
  for (Operation &op : llvm::reverse(block)) {
    llvm::SmallSetVector<AllocateOp, 4> touched;
    collectTouched(&op, touched);
    bool touches = llvm::any_of(touched, [&](AllocateOp tile) {
      return llvm::any_of(copies, [&](Operation *each) {
        auto copy = dyn_cast<CopyOp>(each);
        return copy && bytesOf(tile).meets(bytesOf(copy));
      });
    });
    if (touches || copiesBoxes(&op))
      break;
    if (auto each = dyn_cast<BarrierOp>(op); each && each.isForAllWaves())
      barrier = &op;
  }
  return barrier;
}

void settleBoxes(KernelOp kernel) {
  SmallVector<Operation *> copies = firstCopies(kernel.block());
  Operation *barrier = copies.empty() ? nullptr : barrierBehind(kernel.block(), copies);
  if (!barrier)
    return;
  OpBuilder builder(barrier);
  WaitOp::create(builder, barrier->getLoc(), wave::Counter::Boxes, 0, ArrayAttr());
}

/// Copies of the tile of that number, and what they await, by the lane for which `condition` holds; all lanes count
/// their groups.
void MachineLowering::fillRing(ArrayRef<Operation *> copies, Value tile, Value condition) {
  if (crew == Crew::Computing) {
    for (Operation *op : copies) {
      done.insert(op);
      countOnly(op);
    }
    return;
  }
  Location loc = kernel.getLoc();
  auto branch = mlir::scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  int64_t groups = 0;
  SmallVector<Value, 3> before = counted;
  {
    OpBuilder::InsertionGuard guard(builder);
    exprs.enterLoop(branch);
    builder.setInsertionPointToStart(branch.thenBlock());
    bindTile(tile);
    Value group = committed(), barrier = barrierOf(group, loc);
    for (Operation *op : copies) {
      done.insert(op);
      if (auto copy = dyn_cast<CopyOp>(op)) {
        lowerBox(copy, barrier);
        continue;
      }
      if (auto await = dyn_cast<AwaitOp>(op)) {
        lowerAwait(await);
        countAwait(await);
        continue;
      }
      machine::MbarrierArriveOp::create(builder, loc, barrier, std::exchange(openBytes, 0));
      group = arith::AddIOp::create(builder, loc, committed(), number(++groups, loc));
      barrier = barrierOf(group, loc);
    }
    exprs.leaveLoop();
  }
  // What the first lane has awaited all lanes of its wave count.
  counted = before;
  for (Operation *op : copies)
    if (auto await = dyn_cast<AwaitOp>(op))
      countAwait(await);
  committed() = arith::AddIOp::create(builder, loc, committed(), number(groups, loc));
}

/// Behind the last tile: whoever waits for the first group of another one goes on, and hears that there is none.
void MachineLowering::commitNothing(ArrayRef<Operation *> copies, Value condition) {
  Location loc = kernel.getLoc();
  SmallVector<Value, 3> before = counted;
  {
    auto branch = mlir::scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    for (Operation *op : copies) {
      if (auto await = dyn_cast<AwaitOp>(op)) {
        lowerAwait(await);
        countAwait(await);
      }
      if (isa<CommitOp>(op))
        break;
    }
    machine::MbarrierArriveOp::create(builder, loc, barrierOf(committed(), loc));
  }
  counted = before;
}

/// Behind a tile: whatever of it touches shared memory is complete in every wave before the next one begins.
void MachineLowering::endTile() {
  Location loc = kernel.getLoc();
  auto meet = [&] { cluster ? barrierOfCluster(builder, loc) : barrierOfAll(builder, loc); };
  if (crew == Crew::Copying)
    return meet();
  const Target &target = geometry.target();
  std::set<CounterKind> pending;
  kernel.walk([&](Operation *op) {
    auto copy = dyn_cast<CopyOp>(op);
    bool isShared = sharedTileOf(op) && !target.barrierCompletesShared;
    std::optional<CounterKind> counter = tickedBy(op, target);
    if (counter && (copy ? !copy.getBoxed() : isShared && !isInPlace(op)))
      pending.insert(*counter);
  });
  for (CounterKind counter : pending)
    machine::WaitOp::create(builder, loc, mlir::TypeRange(), toMachine(counter), 0, ValueRange());
  // The next tile's copies may write where lanes read and wrote, which the one proxy has to know of the other.
  if (!counted.empty())
    machine::FenceOp::create(builder, loc, machine::FenceSpace::shared_async);
  meet();
}

/// The number of the tile behind those that were drawn, by the lane that has boxes copied; 0 to the others.
Value MachineLowering::drawTicket() {
  Location loc = kernel.getLoc();
  Value one = arith::ConstantOp::create(
      builder, loc, mlir::DenseElementsAttr::get(mlir::VectorType::get({1}, builder.getI32Type()), int32_t{1}));
  Address counter{.buffer = wholeBuffer(kernel.block().getArguments().back(), loc), .lane = number(0, loc)};
  auto branch = mlir::scf::IfOp::create(builder, loc, builder.getI32Type(), isFirstLane, /*addThenBlock=*/true,
                                        /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value drawn = atomicAt(machine::AtomicKind::add, one, counter, Value(), loc);
  mlir::scf::YieldOp::create(builder, loc,
                             mlir::vector::ExtractOp::create(builder, loc, drawn, ArrayRef<int64_t>{0}).getResult());
  builder.setInsertionPointToStart(branch.elseBlock());
  mlir::scf::YieldOp::create(builder, loc, number(0, loc));
  return branch.getResult(0);
}

/// Where waves hear of it: two places in turn, so that nobody writes the one that is still being read.
MachineLowering::Address MachineLowering::ticketSlot(Value turn) {
  Location loc = kernel.getLoc();
  Value offset = arith::MulIOp::create(builder, loc, turn, number(kTicketBytes, loc));
  return {.lane = offset, .immediate = ringOffset + 8 * (ring.size() + ring.numReleases()), .alignment = kTicketBytes};
}

void MachineLowering::publishTicket(Value drawn, Value turn) {
  Location loc = kernel.getLoc();
  Address slot = ticketSlot(turn);
  auto branch = mlir::scf::IfOp::create(builder, loc, isFirstLane, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  storePieces(slot,
              mlir::vector::BroadcastOp::create(builder, loc, mlir::VectorType::get({1}, builder.getI32Type()), drawn),
              loc);
}

/// Behind the barrier that ends a tile.
Value MachineLowering::readTicket(Value turn) {
  Location loc = kernel.getLoc();
  Value read = loadPieces(ticketSlot(turn), mlir::VectorType::get({1}, builder.getI32Type()), loc);
  return machine::UniformOp::create(builder, loc,
                                    mlir::vector::ExtractOp::create(builder, loc, read, ArrayRef<int64_t>{0}));
}

/// Which places of a tile are a lane's is found out for each tile: it is needed behind the products only.
void MachineLowering::bindIdsAnew() {
  Location loc = kernel.getLoc();
  for (sym::Expr symbol : {laneSymbol(), waveSymbol()}) {
    Value known = exprs.emitI32(symbol, loc);
    auto pin = machine::PinOp::create(builder, loc, known.getType(), known);
    pin->setAttr(kAnew, builder.getUnitAttr());
    // A pin hides that all lanes have the same wave; descriptors of tiles would be made lane by lane.
    bool isUniform = symbol == waveSymbol();
    exprs.bind(symbol, isUniform ? Value(machine::UniformOp::create(builder, loc, pin)) : Value(pin));
  }
}

/// The program of the tile of that number. Which one is next is asked in front of the barrier behind which its copies
/// are issued, and comes back; the waves that compute need not know it.
FailureOr<Value> MachineLowering::lowerTile(const FirstCopies &early, Value tile, Value tiles,
                                            llvm::function_ref<Value()> nextTile) {
  Location loc = kernel.getLoc();
  bool asks = crew != Crew::Computing;
  Value next, isThere;
  bindTile(tile);
  for (Operation &op : kernel.block()) {
    bool beginsNext = &op == early.barrier;
    if (beginsNext) {
      finishProducts();
      next = asks ? nextTile() : Value();
    }
    if (failed(lower(&op)))
      return failure();
    if (!beginsNext)
      continue;
    if (asks) {
      isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, next, tiles);
      isThere = arith::AndIOp::create(builder, loc, isFirstLane, isThere);
    }
    fillRing(early.copies, next, isThere);
    bindTile(tile);
  }
  finishProducts();
  return asks && !next ? nextTile() : next;
}

/// Where tiles overlap: the copying wave goes on to the next tile as its copies are let in, the others without waiting
/// for each other.
void MachineLowering::beginNextTile(const FirstCopies &early, Value next, Value tiles) {
  Value isThere;
  if (crew == Crew::Copying) {
    Location loc = kernel.getLoc();
    isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, next, tiles);
    isThere = arith::AndIOp::create(builder, loc, isFirstLane, isThere);
  }
  fillRing(early.copies, next, isThere);
}

/// Its number comes with the first group of its boxes: whoever waits for that may read it. The place in which it stands
/// was read two tiles ago, behind which each wave has released something that was awaited since.
Value MachineLowering::beginDrawnTile(const FirstCopies &early, Value drawn, Value turn, Value tiles) {
  Location loc = kernel.getLoc();
  if (crew == Crew::Computing) {
    waitForGroup(committed(), loc);
    Value next = readTicket(turn);
    fillRing(early.copies, next, Value());
    return next;
  }
  Value next = machine::UniformOp::create(builder, loc, drawn);
  publishTicket(next, turn);
  Value isOver = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, next, tiles);
  commitNothing(early.copies, arith::AndIOp::create(builder, loc, isFirstLane, isOver));
  beginNextTile(early, next, tiles);
  return next;
}

/// Behind the last tile, whose results may still be on their way.
void MachineLowering::finishTiles() {
  if (crew == Crew::Copying || kernel.block().getOps<CopyOutOp>().empty())
    return;
  auto wait =
      machine::WaitOp::create(builder, kernel.getLoc(), mlir::TypeRange(), machine::Counter::bulk, 0, ValueRange());
  wait.setRead(true);
}

LogicalResult MachineLowering::lowerTilesInOrder(const FirstCopies &early, Value first, Value tiles,
                                                 int64_t workgroups) {
  Location loc = kernel.getLoc();
  Value step = number(workgroups, loc);
  auto loop = mlir::scf::ForOp::create(builder, loc, first, tiles, step, counted);
  OpBuilder::InsertionGuard guard(builder);
  Block &body = *loop.getBody();
  if (!body.empty())
    body.back().erase();
  builder.setInsertionPointToEnd(&body);
  exprs.enterLoop(loop);
  outermost = loop;
  takeCounted(loop.getRegionIterArgs());
  bindIdsAnew();
  auto nextTile = [&]() -> Value { return arith::AddIOp::create(builder, loc, loop.getInductionVar(), step); };
  FailureOr<Value> next = lowerTile(early, loop.getInductionVar(), tiles, nextTile);
  if (failed(next))
    return failure();
  kernel.getOverlapTiles() ? beginNextTile(early, *next, tiles) : endTile();
  mlir::scf::YieldOp::create(builder, loc, counted);
  exprs.leaveLoop();
  outermost = nullptr;
  return success();
}

/// The next tile is drawn where one comes to its end, so that nobody keeps one while it is at a long tile, and known to
/// all waves behind the last barrier:
///
///   scf.while (%tile = %workgroup, %turn = 0) {
///     …
///     scf.if %first { draw }
///     barrier, copies of the next tile, results
///     scf.if %first { what was drawn to slot %turn }   barrier
///     scf.condition(next < tiles) next, 1 - %turn
///   }
LogicalResult MachineLowering::lowerTilesByTickets(const FirstCopies &early, Value first, Value tiles,
                                                   int64_t workgroups) {
  Location loc = kernel.getLoc();
  Value begun = arith::MinSIOp::create(builder, loc, tiles, number(workgroups, loc));
  SmallVector<Value> inits = {first, number(0, loc)};
  llvm::append_range(inits, counted);
  SmallVector<Type> types(inits.size(), builder.getI32Type());
  SmallVector<Location> places(inits.size(), loc);
  auto loop = mlir::scf::WhileOp::create(builder, loc, types, inits);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&loop.getBefore(), {}, types, places);
  exprs.enterLoop(loop);
  outermost = loop;
  takeCounted(body->getArguments());
  bindIdsAnew();
  Value tile = body->getArgument(0), turn = body->getArgument(1);
  auto nextTile = [&]() -> Value { return arith::AddIOp::create(builder, loc, begun, drawTicket()); };
  FailureOr<Value> next = lowerTile(early, tile, tiles, nextTile);
  if (failed(next))
    return failure();
  Value following;
  if (kernel.getOverlapTiles()) {
    following = beginDrawnTile(early, *next, turn, tiles);
  } else {
    if (crew != Crew::Computing)
      publishTicket(*next, turn);
    endTile();
    following = readTicket(turn);
  }
  SmallVector<Value> handed = {following, arith::XOrIOp::create(builder, loc, turn, number(1, loc))};
  llvm::append_range(handed, counted);
  Value goesOn = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, handed.front(), tiles);
  mlir::scf::ConditionOp::create(builder, loc, goesOn, handed);
  exprs.leaveLoop();
  outermost = nullptr;
  Block *again = builder.createBlock(&loop.getAfter(), {}, types, places);
  mlir::scf::YieldOp::create(builder, loc, again->getArguments());
  return success();
}

LogicalResult MachineLowering::lowerTiles(int64_t workgroups) {
  Location loc = kernel.getLoc();
  if (kernel.getCluster())
    return report(loc, DiagId::NotSupportedHere).hint("leave `cluster` or `persistent` out")
           << "workgroups of a cluster that walk several tiles";
  sym::Expr count = 1;
  for (sym::Expr size : geometry.grid())
    count = count * size;
  Value first = machine::IdOp::create(builder, loc, builder.getI32Type(), machine::IdKind::workgroup0,
                                      builder.getI64IntegerAttr(workgroups));
  Value tiles = exprs.emitI32(sym::simplify(count, geometry.facts()), loc);
  if (!isFirstLane && kernel.getTickets())
    isFirstLane = firstLane();
  FirstCopies early{firstCopies(kernel.block())};
  bool overlap = kernel.getOverlapTiles();
  if (!early.copies.empty() && !overlap)
    early.barrier = barrierBehind(kernel.block(), early.copies);
  if (early.barrier || overlap)
    fillRing(early.copies, first, isFirstLane);
  if (crew == Crew::Copying && !cluster)
    meetAtBarriers();
  LogicalResult lowered = kernel.getTickets() ? lowerTilesByTickets(early, first, tiles, workgroups)
                                              : lowerTilesInOrder(early, first, tiles, workgroups);
  if (succeeded(lowered) && overlap)
    finishTiles();
  return lowered;
}

} // namespace soliton
