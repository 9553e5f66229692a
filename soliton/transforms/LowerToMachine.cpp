//===- LowerToMachine.cpp - One lane's program --------------------------------------===//
//
// Every tile becomes the vector of registers that a lane holds of it; layouts, starts and bounds become address
// arithmetic (ExprEmitter.h); each memory op becomes the one instruction that it is:
//
//   %0 = wave.read %a {starts = ["64*$WG0"]} : … -> !wave.tile<[M], f16, "reg = (8 M 1), lane = (64 M 8)">
//
// becomes
//
//   %1 = arith.muli %lane, 16
//   %2 = machine.buffer %a[%base], %bytes
//   %3 = machine.load %2 [%1] {alignment = 16 : i64} : vector<8xf16>
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/Multicast.h"
#include "soliton/analysis/Persistent.h"
#include "soliton/ir/Counters.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/transforms/MachineLowering.h"
#include "soliton/transforms/Tickets.h"

namespace soliton {
#define GEN_PASS_DEF_LOWERTOMACHINEPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;
namespace arith = mlir::arith;

/// Elements that registers hold: `index` is 64 bits wide there.
static Type registerType(Type element) {
  return element.isIndex() ? Type(mlir::IntegerType::get(element.getContext(), 64)) : element;
}

mlir::VectorType MachineLowering::vectorType(TileType type) {
  return mlir::VectorType::get({type.layout().regs()}, registerType(type.getElementType()));
}

machine::KernelOp MachineLowering::makeKernel() {
  MLIRContext *context = kernel.getContext();
  SmallVector<Type> types;
  SmallVector<Location> locations;
  SmallVector<Attribute> names;
  SmallVector<Value> order;
  // Memories first, then the workspace, then scalars, then the sizes that are known at launch.
  auto given = kernel.block().getArguments().take_front(kernel.numGivenParameters());
  for (bool memories : {true, false}) {
    for (auto [argument, name] : llvm::zip(given, kernel.getArgNames()))
      if (isa<MemoryType>(argument.getType()) == memories) {
        types.push_back(memories ? Type(machine::PtrType::get(context)) : registerType(argument.getType()));
        locations.push_back(argument.getLoc());
        names.push_back(name);
        order.push_back(argument);
      }
    if (memories && kernel.getWorkspace()) {
      types.push_back(machine::PtrType::get(context));
      locations.push_back(kernel.getLoc());
      names.push_back(builder.getStringAttr("workspace"));
      order.push_back(Value());
    }
  }
  for (Attribute symbol : kernel.getDynamic()) {
    types.push_back(builder.getI32Type());
    locations.push_back(kernel.getLoc());
    names.push_back(symbol);
  }
  int64_t shared = 0;
  kernel.walk([&](AllocateOp allocation) {
    int64_t bytes = bytesPerBuffer(allocation) * static_cast<int64_t>(allocation.getBuffers());
    shared = std::max<int64_t>(shared, *allocation.getOffset() + bytes);
  });
  builder.setInsertionPoint(kernel);
  ringOffset = static_cast<int64_t>(llvm::alignTo(shared, 16));
  auto result = machine::KernelOp::create(
      builder, kernel.getLoc(), kernel.getSymName(), builder.getArrayAttr(names), geometry.waveSize(),
      geometry.allWaves(),
      static_cast<int64_t>(llvm::alignTo(
          ringOffset + 8 * (ring.size() + ring.numReleases()) + (kernel.getTickets() ? 2 * kTicketBytes : 0), 16)),
      *kernel.getTarget(), kernel.getKeepOrder());
  if (kernel.getCluster())
    result.setCluster(ArrayRef<int64_t>{static_cast<int64_t>(*kernel.getCluster()), 1, 1});
  if (cluster)
    result.setCluster(ArrayRef<int64_t>{cluster->size, 1, 1});
  result.setDependent(kernel.getDependent());
  result.setStableAttr(kernel.getStableAttr());
  Block &body = result.getBody().emplaceBlock();
  body.addArguments(types, locations);
  builder.setInsertionPointToEnd(&body);
  for (auto [from, to] : llvm::zip(order, body.getArguments())) {
    if (from)
      parameters[from] = to;
    else
      for (BlockArgument part : kernel.block().getArguments().drop_front(kernel.numGivenParameters()))
        parameters[part] = to;
  }
  bindSizes(body);
  return result;
}

void MachineLowering::bindSizes(Block &body) {
  // They come behind what a launch is given, in front of the maps.
  size_t first = kernel.numGivenParameters() + (kernel.getWorkspace() ? 1 : 0);
  for (auto [i, symbol] : llvm::enumerate(kernel.getDynamic()))
    exprs.bind(sym::Expr::symbol(cast<StringAttr>(symbol).getValue()), body.getArgument(first + i));
}

void MachineLowering::bindIds() {
  auto id = [&](machine::IdKind kind, std::optional<int64_t> upper) -> Value {
    return machine::IdOp::create(builder, kernel.getLoc(), builder.getI32Type(), kind,
                                 upper ? builder.getI64IntegerAttr(*upper) : mlir::IntegerAttr());
  };
  exprs.bind(laneSymbol(), id(machine::IdKind::lane, geometry.waveSize()));
  // The wave that serves stands for the first.
  if (geometry.waveCount() > 1 && crew != Crew::Copying)
    exprs.bind(waveSymbol(), id(machine::IdKind::wave, geometry.waveCount()));
  else
    exprs.bind(waveSymbol(), arith::ConstantOp::create(builder, kernel.getLoc(), builder.getI32IntegerAttr(0)));
  if (cluster)
    exprs.bind(rankSymbol(), id(machine::IdKind::cluster_rank, cluster->size));
}

/// Which of the tiles of the grid's first two dimensions a workgroup of that number takes: bands of `height` along the
/// first dimension, in each of them the first dimension fastest. For 5 × 3 tiles and a height of 2:
///
///   0 2 4
///   1 3 5
///   6 8 10
///   7 9 11
///   12 13 14
static std::pair<sym::Expr, sym::Expr> inBands(sym::Expr number, sym::Expr rows, sym::Expr columns, int64_t height) {
  sym::Expr band = sym::floordiv(number, height * columns), inside = sym::mod(number, height * columns);
  // The last band is lower where rows do not fill it.
  bool areEqual = rows.constantValue() && *rows.constantValue() % height == 0;
  sym::Expr tall = areEqual ? sym::Expr(height) : sym::min(height, rows - height * band);
  return {height * band + sym::mod(inside, tall), sym::floordiv(inside, tall)};
}

/// The number of a workgroup along each dimension of the grid: as the machine counts them, or taken apart from the one
/// number that a linear launch has. Of clusters it is the cluster's number.
void MachineLowering::bindWorkgroupIds() {
  Location loc = kernel.getLoc();
  auto id = [&](int64_t dim, std::optional<int64_t> last) -> Value {
    auto kind = static_cast<machine::IdKind>(static_cast<int64_t>(machine::IdKind::workgroup0) + dim);
    return machine::IdOp::create(builder, loc, builder.getI32Type(), kind,
                                 last ? builder.getI64IntegerAttr(*last + 1) : mlir::IntegerAttr());
  };
  // The pass that shares a loop among the workgroups of a cluster has the launch linear.
  if (geometry.isLinear())
    return bindTile(kernel.getCluster() ? Value(machine::IdOp::create(builder, loc, builder.getI32Type(),
                                                                      machine::IdKind::cluster0, mlir::IntegerAttr()))
                                        : id(0, std::nullopt));
  for (int64_t dim = 0; dim < kMaxGridDims; ++dim) {
    sym::Expr symbol = workgroupSymbol(dim);
    exprs.bind(symbol, geometry.grid()[dim].isConstant(1) ? number(0, loc)
                                                          : id(dim, sym::rangeOf(symbol, geometry.facts()).hi));
  }
}

/// The first dimension fastest, or in bands, of the second dimension where they are negative; workgroups of a cluster
/// that share a sum, which are neighbours, are counted along the last. Those that share tiles are neighbours along a
/// dimension of the grid: clusters are counted in the order of tiles, and the rank says which one of it is meant.
void MachineLowering::bindTile(Value tile) {
  Location loc = kernel.getLoc();
  sym::Expr linear = sym::Expr::symbol("$WORKGROUP"), before = 1;
  exprs.bind(linear, tile);
  std::array<sym::Expr, kMaxGridDims> grid = geometry.grid();
  if (cluster) {
    linear = sym::floordiv(linear, cluster->size);
    grid[cluster->dim] = sym::simplify(sym::floordiv(grid[cluster->dim], cluster->size), geometry.facts());
  }
  auto bind = [&](int64_t dim, sym::Expr place) {
    if (cluster && dim == cluster->dim)
      place = place * cluster->size + rankSymbol();
    exprs.bind(workgroupSymbol(dim), exprs.emitI32(place, loc));
  };
  auto raster = static_cast<int64_t>(kernel.getRaster().value_or(0));
  const int64_t banded = raster < 0 ? 1 : 0;
  for (int64_t dim = 0; dim < kMaxGridDims; ++dim) {
    sym::Expr size = grid[dim], symbol = workgroupSymbol(dim);
    if (kernel.getCluster() && dim == kClusterDim) {
      exprs.bind(symbol, machine::IdOp::create(builder, loc, builder.getI32Type(), machine::IdKind::cluster_rank,
                                               kernel.getClusterAttr()));
    } else if (raster != 0 && dim < 2) {
      sym::Expr rows = grid[banded], columns = grid[1 - banded];
      auto [row, column] = inBands(sym::mod(linear, rows * columns), rows, columns, std::abs(raster));
      bind(dim, dim == banded ? row : column);
    } else {
      bind(dim, size.isConstant(1) ? sym::Expr(0) : sym::mod(sym::floordiv(linear, before), size));
    }
    before = before * size;
  }
}

LogicalResult MachineLowering::lowerBody(Operation *around, Block &from, Block &to) {
  OpBuilder::InsertionGuard guard(builder);
  exprs.enterLoop(around);
  bool isOutermost = !outermost;
  if (isOutermost)
    outermost = around;
  // A block without values comes with its terminator.
  if (!to.empty())
    to.back().erase();
  builder.setInsertionPointToEnd(&to);
  if (auto loop = dyn_cast<mlir::scf::ForOp>(around))
    exprs.bind(geometry.symbols().symbol(cast<IterateOp>(from.getParentOp()).iteration()), loop.getInductionVar());
  if (failed(lowerBlock(from)))
    return failure();
  SmallVector<Value> yielded;
  if (crew != Crew::Copying)
    for (Value value : from.getTerminator()->getOperands())
      yielded.push_back(vector(value));
  if (around->getNumResults() > yielded.size())
    llvm::append_range(yielded, counted);
  mlir::scf::YieldOp::create(builder, around->getLoc(), yielded);
  exprs.leaveLoop();
  if (isOutermost)
    outermost = nullptr;
  return success();
}

LogicalResult MachineLowering::lowerLoop(IterateOp loop) {
  if (loop.exit())
    return lowerWhile(loop);
  Location loc = loop.getLoc();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  Value one = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
  Value count = exprs.emitI32(geometry.named(*loop.getCount(), loop.getSymbols()), loc);
  bool hasTiles = crew != Crew::Copying;
  SmallVector<Value> inits;
  if (hasTiles)
    for (Value init : loop.getInits())
      inits.push_back(vector(init));
  bool counts = countsBoxes(loop);
  if (counts)
    llvm::append_range(inits, counted);
  auto lowered = mlir::scf::ForOp::create(builder, loc, zero, count, one, inits);
  if (counts)
    takeCounted(lowered.getRegionIterArgs());
  if (hasTiles)
    for (auto [argument, carried, result, value] :
         llvm::zip(loop.carried(), lowered.getRegionIterArgs(), loop.getResults(), lowered.getResults())) {
      define(argument, carried);
      define(result, value);
    }
  bool before = enterWithProducts(loop);
  if (failed(lowerBody(lowered, loop.block(), *lowered.getBody())))
    return failure();
  if (counts)
    takeCounted(lowered.getResults());
  leaveWithProducts(loop, before);
  return success();
}

/// A loop whose body decides whether it runs again:
///
///   %r:2 = scf.while (%i = 0, %x = %init) { body; scf.condition(%goesOn) %i + 1, %next } do { scf.yield }
LogicalResult MachineLowering::lowerWhile(IterateOp loop) {
  Location loc = loop.getLoc();
  sym::Expr count = sym::simplify(geometry.named(*loop.getCount(), loop.getSymbols()), geometry.factsAt(loop));
  mlir::scf::IfOp guard;
  SmallVector<Value> inits = {arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0))};
  SmallVector<Type> types = {builder.getI32Type()};
  for (Value init : loop.getInits()) {
    inits.push_back(vector(init));
    types.push_back(inits.back().getType());
  }
  bool counts = countsBoxes(loop);
  if (counts) {
    llvm::append_range(inits, counted);
    types.append(counted.size(), builder.getI32Type());
  }
  OpBuilder::InsertionGuard outside(builder);
  bool mayBeEmpty = sym::prove(sym::le(1, count), geometry.factsAt(loop)) != true;
  if (mayBeEmpty) {
    guard = mlir::scf::IfOp::create(builder, loc, ArrayRef(types).drop_front(), exprs.emitI1(sym::le(1, count), loc),
                                    /*addThenBlock=*/true, /*addElseBlock=*/true);
    exprs.enterLoop(guard);
    builder.setInsertionPointToEnd(guard.elseBlock());
    mlir::scf::YieldOp::create(builder, loc, ArrayRef(inits).drop_front());
    builder.setInsertionPointToEnd(guard.thenBlock());
  }
  auto lowered = mlir::scf::WhileOp::create(builder, loc, types, inits);
  if (failed(lowerRepeated(loop, count, lowered)))
    return failure();
  builder.setInsertionPointAfter(lowered);
  ValueRange results = lowered.getResults().drop_front();
  if (mayBeEmpty) {
    mlir::scf::YieldOp::create(builder, loc, results);
    exprs.leaveLoop();
    results = guard.getResults();
  }
  for (auto [result, value] : llvm::zip(loop.getResults(), results))
    define(result, value);
  if (counts)
    takeCounted(results);
  return success();
}

/// Fills the regions of `lowered`: the body, and what hands its values on.
LogicalResult MachineLowering::lowerRepeated(IterateOp loop, sym::Expr count, mlir::scf::WhileOp lowered) {
  Location loc = loop.getLoc();
  SmallVector<Location> places(lowered.getNumResults(), loc);
  Block *body = builder.createBlock(&lowered.getBefore(), {}, lowered.getResultTypes(), places);
  exprs.enterLoop(lowered);
  bool isOutermost = !outermost;
  if (isOutermost)
    outermost = lowered;
  exprs.bind(geometry.symbols().symbol(loop.iteration()), body->getArgument(0));
  for (auto [argument, carried] : llvm::zip(loop.carried(), body->getArguments().drop_front()))
    define(argument, carried);
  bool counts = lowered.getNumResults() > loop.getNumResults() + 1;
  if (counts)
    takeCounted(body->getArguments());
  if (failed(lowerBlock(loop.block())))
    return failure();
  Value one = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
  SmallVector<Value> next = {arith::AddIOp::create(builder, loc, body->getArgument(0), one)};
  for (Value value : loop.block().getTerminator()->getOperands())
    next.push_back(vector(value));
  if (counts)
    llvm::append_range(next, counted);
  Value goesOn = conditions.lookup(loop);
  if (count.constantValue().value_or(0) != INT32_MAX)
    goesOn = arith::AndIOp::create(
        builder, loc, goesOn,
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, next.front(), exprs.emitI32(count, loc)));
  mlir::scf::ConditionOp::create(builder, loc, goesOn, next);
  exprs.leaveLoop();
  if (isOutermost)
    outermost = nullptr;
  Block *again = builder.createBlock(&lowered.getAfter(), {}, lowered.getResultTypes(), places);
  mlir::scf::YieldOp::create(builder, loc, again->getArguments());
  return success();
}

/// Every lane has it; what depends on it is the same for all of them.
void MachineLowering::lowerIndexOf(IndexOfOp op) {
  Location loc = op.getLoc();
  Value number = mlir::vector::ExtractOp::create(builder, loc, vector(op.getTile()), ArrayRef<int64_t>{0});
  if (number.getType().getIntOrFloatBitWidth() < 32)
    number = arith::ExtSIOp::create(builder, loc, builder.getI32Type(), number);
  exprs.bind(geometry.symbols().symbol(op.getResult()), machine::UniformOp::create(builder, loc, number));
}

LogicalResult MachineLowering::lowerConditional(ConditionalOp op) {
  bool hasTiles = crew != Crew::Copying;
  sym::Expr condition = sym::simplify(geometry.named(op.getCondition(), op.getSymbols()), geometry.factsAt(op));
  if (std::optional<bool> known = sym::prove(sym::ne(condition, 0), geometry.factsAt(op))) {
    Block &taken = *known ? op.thenBlock() : op.elseBlock();
    if (failed(lowerBlock(taken)))
      return failure();
    if (hasTiles)
      for (auto [result, value] : llvm::zip(op.getResults(), taken.getTerminator()->getOperands()))
        define(result, vector(value));
    return success();
  }
  SmallVector<Type> types;
  if (hasTiles)
    for (Value result : op.getResults())
      types.push_back(vectorType(cast<TileType>(result.getType())));
  bool counts = countsBoxes(op);
  if (counts)
    types.append(counted.size(), builder.getI32Type());
  SmallVector<Value, 3> before = counted;
  auto lowered = mlir::scf::IfOp::create(builder, op.getLoc(), types, exprs.emitI1(condition, op.getLoc()),
                                         /*addThenBlock=*/true, /*addElseBlock=*/true);
  if (hasTiles)
    for (auto [result, value] : llvm::zip(op.getResults(), lowered.getResults()))
      define(result, value);
  for (auto [from, to] : {std::pair(&op.thenBlock(), lowered.thenBlock()), {&op.elseBlock(), lowered.elseBlock()}}) {
    counted = before;
    if (failed(lowerBody(lowered, *from, *to)))
      return failure();
  }
  if (counts)
    takeCounted(lowered.getResults());
  return success();
}

/// Copies go to all workgroups of the cluster, so that a barrier in front of one, or of a release that lets one come,
/// is theirs. Behind the last of them nobody else touches this workgroup's memory, but where it walks several tiles.
bool MachineLowering::isForCluster(BarrierOp op) const {
  auto copiesOrReleases = [](Operation *around) {
    return around
        ->walk([](Operation *inner) {
          auto copy = dyn_cast<CopyOp>(inner);
          auto commit = dyn_cast<CommitOp>(inner);
          return (copy && copy.getBoxed()) || (commit && commit.getCounter() == wave::Counter::Boxes) ||
                         isa<ReleaseOp>(inner)
                     ? mlir::WalkResult::interrupt()
                     : mlir::WalkResult::advance();
        })
        .wasInterrupted();
  };
  if (!cluster || persistentWorkgroups(kernel))
    return cluster.has_value();
  for (Operation *at = op; at != kernel; at = at->getParentOp()) {
    if (isa<IterateOp>(at) && copiesOrReleases(at))
      return true;
    for (Operation *next = at->getNextNode(); next; next = next->getNextNode())
      if (copiesOrReleases(next))
        return true;
  }
  return false;
}

/// Each team has a barrier of its own, behind that of all waves, in a branch that its waves take.
void MachineLowering::barrierOfTeams(BarrierOp op) {
  Location loc = op.getLoc();
  if (op.getPublishes())
    machine::FenceOp::create(builder, loc, machine::FenceSpace::shared_async);
  auto waves = static_cast<int64_t>(*op.getTeam());
  for (int64_t team = 0; team < geometry.waveCount() / waves; ++team) {
    sym::Expr isIn = sym::simplify(sym::eq(sym::floordiv(waveSymbol(), waves), team), geometry.facts());
    auto branch = mlir::scf::IfOp::create(builder, loc, exprs.emitI1(isIn, loc), /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    machine::BarrierOp::create(inside, loc, 1 + team, builder.getI64IntegerAttr(waves));
  }
}

/// A barrier for some waves stands in a branch on the wave's number, which all lanes of a wave take or none.
LogicalResult MachineLowering::lowerBarrier(BarrierOp op) {
  Location loc = op.getLoc();
  auto barrier = [&](OpBuilder &at) {
    if (op.getPublishes() && crew != Crew::Copying)
      machine::FenceOp::create(at, loc, machine::FenceSpace::shared_async);
    if (op.getCluster() || isForCluster(op)) {
      barrierOfCluster(at, loc);
      return;
    }
    barrierOfAll(at, loc);
  };
  auto waves = geometry.waveCount();
  if (op.getTeam())
    return barrierOfTeams(op), success();
  if (op.isForAllWaves())
    return barrier(builder), success();
  auto first = static_cast<int64_t>(*op.getFirstWave()), last = static_cast<int64_t>(*op.getLastWave());
  if (last > waves)
    return report(loc, DiagId::NotSupportedHere)
           << "a barrier for the waves " << first << " to " << last << " of a workgroup that has " << waves;
  if (first == 0 && last == waves)
    return barrier(builder), success();
  sym::Expr inside =
      sym::simplify(sym::logicalAnd(sym::le(first, waveSymbol()), sym::lt(waveSymbol(), last)), geometry.facts());
  auto branch = mlir::scf::IfOp::create(builder, loc, exprs.emitI1(inside, loc), /*withElseRegion=*/false);
  OpBuilder at = branch.getThenBodyBuilder();
  return barrier(at), success();
}

void MachineLowering::lowerTime(Operation *op) {
  Location loc = op->getLoc();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](CommitOp commit) {
        if (commit.getCounter() == wave::Counter::Mma)
          return commitProducts(loc);
        machine::CommitOp::create(builder, loc, toMachine(kindOf(commit.getCounter())));
      })
      .Case([&](WaitOp wait) {
        if (wait.getCounter() == wave::Counter::Mma)
          return waitForProducts(loc, static_cast<int64_t>(wait.getCount()));
        auto waits = machine::WaitOp::create(builder, loc, mlir::TypeRange(), toMachine(kindOf(wait.getCounter())),
                                             wait.getCount(), ValueRange());
        waits.setRead(wait.getCounter() == wave::Counter::Bulk);
      })
      .Case([&](PriorityOp priority) { machine::PriorityOp::create(builder, loc, priority.getLevel()); })
      .Case([&](SchedBarrierOp barrier) { machine::SchedBarrierOp::create(builder, loc, barrier.getMask()); })
      .Case([&](SchedGroupOp group) {
        machine::SchedGroupOp::create(builder, loc, group.getMask(), group.getCount(), group.getGroup());
      });
}

LogicalResult MachineLowering::lower(Operation *op) {
  if (!products.empty() && !goesOnWithProducts(op))
    finishProducts();
  if (isInPlace(op) || done.contains(op)) // whoever uses it reads
    return success();
  if (!isForCrew(op))
    return countOnly(op), success();
  if (turnBegins.contains(op))
    beginTurn(op->getLoc());
  if (isOfBoxes(op)) {
    auto wait = dyn_cast<WaitOp>(op);
    return wait ? lowerBoxWait(wait) : lowerBoxes(op), success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ReadOp>([&](ReadOp read) { return lowerRead(read); })
      .Case<WriteOp>([&](WriteOp write) { return lowerWrite(write); })
      .Case<AtomicOp>([&](AtomicOp atomic) { return lowerAtomic(atomic); })
      .Case<CopyOp>([&](CopyOp copy) { return lowerCopy(copy); })
      .Case<CopyOutOp>([&](CopyOutOp copy) { return lowerCopiesOut(copy), success(); })
      .Case<PrefetchOp>([&](PrefetchOp prefetch) { return lowerPrefetch(prefetch); })
      .Case<IterateOp>([&](IterateOp loop) { return lowerLoop(loop); })
      .Case<UnaryOp>([&](UnaryOp unary) { return lowerUnary(unary); })
      .Case<BinaryOp>([&](BinaryOp binary) { return lowerBinary(binary); })
      .Case<BitcastOp>([&](BitcastOp bitcast) { return lowerBitcast(bitcast), success(); })
      .Case<CastOp>([&](CastOp cast) { return lowerCast(cast); })
      .Case<ApplyExprOp>([&](ApplyExprOp apply) { return lowerApplyExpr(apply); })
      .Case<BroadcastOp, ConvertOp>([&](Operation *remap) { return lowerRemap(remap); })
      .Case<CompareOp>([&](CompareOp compare) { return lowerCompare(compare), success(); })
      .Case<FillOp>([&](FillOp fill) { return lowerFill(fill), success(); })
      .Case<SelfIndexOp>([&](SelfIndexOp index) { return lowerSelfIndex(index), success(); })
      .Case<PrintOp>([&](PrintOp print) { return lowerPrint(print), success(); })
      .Case<JoinOp>([&](JoinOp join) { return lowerJoin(join), success(); })
      .Case<MmaOp>([&](MmaOp mma) {
        return readsInPlace(mmaKindOf(mma, geometry.target())) ? lowerInPlace(mma) : (lowerMma(mma), success());
      })
      .Case<ReduceOp>([&](ReduceOp reduce) { return lowerReduce(reduce), success(); })
      .Case<ScanOp>([&](ScanOp scan) { return lowerScan(scan), success(); })
      .Case<ShuffleOp>([&](ShuffleOp shuffle) { return lowerShuffle(shuffle), success(); })
      .Case<SelectOp>([&](SelectOp select) {
        define(select.getResult(), arith::SelectOp::create(builder, op->getLoc(), vector(select.getCondition()),
                                                           vector(select.getIfTrue()), vector(select.getIfFalse())));
        return success();
      })
      .Case<SplatOp>([&](SplatOp splat) {
        define(splat.getResult(),
               mlir::vector::BroadcastOp::create(builder, op->getLoc(), vectorType(splat.getResult().getType()),
                                                 parameters.lookup(splat.getScalar())));
        return success();
      })
      .Case<SliceOp>([&](SliceOp slice) {
        define(slice.getResult(), this->slice(vector(slice.getOperand()), static_cast<int64_t>(slice.getFirst()),
                                              slice.getResult().getType().layout().regs(), op->getLoc()));
        return success();
      })
      .Case<PermuteOp>(
          [&](PermuteOp permute) { return define(permute.getResult(), vector(permute.getOperand())), success(); })
      .Case<ConditionalOp>([&](ConditionalOp conditional) { return lowerConditional(conditional); })
      .Case<IndexOfOp>([&](IndexOfOp index) { return lowerIndexOf(index), success(); })
      .Case<WhileOp>([&](WhileOp exit) {
        conditions[exit->getParentOp()] =
            exprs.emitI1(geometry.named(exit.getCondition(), exit.getSymbols()), op->getLoc());
        return success();
      })
      .Case<BarrierOp>([&](BarrierOp barrier) { return lowerBarrier(barrier); })
      .Case<ReleaseOp>([&](ReleaseOp release) { return lowerRelease(release), success(); })
      .Case<CommitOp, WaitOp, PriorityOp, SchedBarrierOp, SchedGroupOp>(
          [&](Operation *) { return lowerTime(op), success(); })
      .Case<AllocateOp, YieldOp, WorkgroupIdOp>([&](Operation *) { return success(); })
      .Default([&](Operation *) {
        return report(op->getLoc(), DiagId::NotSupportedHere) << "`" << op->getName() << "` has no machine form";
      });
}

LogicalResult MachineLowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    if (failed(lower(&op)))
      return failure();
    if (takesTurns() && turnEnds.contains(&op))
      endTurn(op.getLoc());
  }
  return success();
}

LogicalResult MachineLowering::lowerProgram() {
  bindIds();
  std::optional<int64_t> persistent = persistentWorkgroups(kernel);
  if (!persistent)
    bindWorkgroupIds();
  beginBoxes();
  if (crew == Crew::Copying && !persistent) {
    for (Operation *op : firstCopies(kernel.block()))
      if (failed(lower(op)))
        return failure();
    if (!cluster)
      meetAtBarriers();
  }
  closeTurns(turns.teams - 1, /*arrives=*/true);
  if (failed(persistent ? lowerTiles(*persistent) : lowerBlock(kernel.block())))
    return failure();
  finishProducts();
  closeTurns(0, /*arrives=*/false);
  // No workgroup ends while another one may copy or arrive there; behind a tile that is walked they have met.
  if (cluster && !persistent)
    barrierOfCluster(builder, kernel.getLoc());
  return success();
}

LogicalResult MachineLowering::run() {
  if (persistentWorkgroups(kernel)) {
    closeGroups(kernel.block());
    if (!kernel.getOverlapTiles())
      settleBoxes(kernel);
  }
  FailureOr<CopyRing> found = CopyRing::of(kernel);
  if (failed(found))
    return failure();
  ring = *found;
  if (kernel.getTurns() && failed(planTurns()))
    return failure();
  machine::KernelOp lowered = makeKernel();
  if (kernel.getDependent()) {
    // The next launch may begin at once: what it finds in memory it asks by its own wait. Ours is right here, and goes
    // to where it is needed later (WaitForLaunches.cpp).
    machine::GridLaunchOp::create(builder, kernel.getLoc());
    machine::GridWaitOp::create(builder, kernel.getLoc());
  }
  if (failed(geometry.serviceWaves() > 0 ? lowerRoles() : lowerProgram()))
    return failure();
  gatherFactors(lowered.getBody().front());
  if (!maps.empty()) {
    SmallVector<Attribute> names = llvm::to_vector(lowered.getArgNames());
    for (size_t i = 0; i < maps.size(); ++i)
      names.push_back(builder.getStringAttr("map" + std::to_string(i)));
    lowered.setArgNamesAttr(builder.getArrayAttr(names));
    lowered.setMapsAttr(builder.getArrayAttr(maps));
  }
  SmallVector<Attribute> texts;
  for (sym::Expr largest : limits)
    texts.push_back(builder.getStringAttr(sym::toString(sym::le(largest, INT32_MAX))));
  if (!texts.empty())
    lowered->setAttr(machine::kLimits, builder.getArrayAttr(texts));
  return success();
}

namespace {
struct LowerToMachinePass final : impl::LowerToMachinePassBase<LowerToMachinePass> {
  using Base::Base;

  void runOnOperation() override {
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      FailureOr<Geometry> geometry = Geometry::of(kernel);
      if (failed(geometry) || failed(requireForm(kernel, Form::Synchronized)) ||
          failed(MachineLowering(kernel, *geometry, wideOffsets).run()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
} // namespace soliton
