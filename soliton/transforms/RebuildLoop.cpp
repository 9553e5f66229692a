#include "soliton/transforms/RebuildLoop.h"

#include "soliton/analysis/Boxes.h"
#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Counters.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/UnrollLoop.h"

#include <set>

namespace soliton {
using namespace wave;
using sched::Entry;
using sched::EntryKind;
using sym::Expr;

namespace {
/// A value of the loop body that trips hand on: what an instruction computes or, with its first value, an argument of
/// the loop.
using Carried = Value;

class Rebuilder {
public:
  Rebuilder(OpBuilder &builder, IterateOp loop, const LoopProblem &problem, const sched::Program &program,
            const RebuildOptions &options)
      : builder(builder), loop(loop), problem(problem), program(program), options(options),
        symbols(options.geometry->symbols()), count(options.geometry->named(*loop.getCount(), loop.getSymbols())),
        induction(symbols.symbol(loop.iteration())) {}

  FailureOr<SmallVector<Value>> run();

private:
  /// Where an instruction is emitted: what its iteration is called and who knows the values it uses.
  struct Place {
    sched::Phase phase;
    /// Iteration of the entry: absolute, relative to the first copy of the trip, or relative to the end.
    int iteration = 0;
  };

  /// What the value is before the first iteration, and what an iteration makes of it.
  Value init(BlockArgument argument) { return loop.getInits()[argument.getArgNumber() - 1]; }
  Value yielded(BlockArgument argument) {
    return loop.block().getTerminator()->getOperand(argument.getArgNumber() - 1);
  }
  bool isInside(Value value) {
    Operation *def = value.getDefiningOp();
    return def ? def->getBlock() == &loop.block() : cast<BlockArgument>(value).getOwner() == &loop.block();
  }

  void splitRemainder();
  void findOffsets();
  void findCarried();
  void visitUses(Value value, Place place);
  void need(Carried value, int distance) {
    int &depth = depths[value];
    depth = std::max(depth, distance);
  }
  /// Trips between the computation of `value` and a use in the kernel at iteration `iteration`, `back` iterations
  /// later.
  int distanceInKernel(Value value, int iteration, int back) const {
    return offsets.lookup(value.getDefiningOp()) + back - iteration;
  }
  /// The same for a use behind the kernel, counted from its end.
  int distanceFromEnd(Value value, int iteration) const {
    return offsets.lookup(value.getDefiningOp()) - peeled - iteration;
  }

  LogicalResult emitPrologue();
  LogicalResult emitKernel();
  LogicalResult emitLoop(ValueRange inits, Expr trips);
  LogicalResult emitTrip();
  SmallVector<Value> carriedAt(int base, llvm::function_ref<Value(Carried, int distance)> otherwise);
  void bindCarried(ValueRange at);
  LogicalResult emitEpilogue();
  LogicalResult emit(const Entry &entry, Place place);
  void emitTime(const Entry &entry);
  void emitHint(const sched::Operation &op, Location loc);
  LogicalResult emitInstruction(Operation *op, Place place, bool overruns);
  void sayWhenUsed(Operation *copy, Expr used);
  void setAddress(Operation *clone, Operation *original, Place place, bool overruns);
  Expr iterationExpr(Place place) const;
  std::optional<std::pair<int64_t, int64_t>> wavesOf(sched::GroupMask groups) const;

  Value resolve(Value value, Place place);
  Value resolveReal(Value value, Carried carried, Place place, int back);
  Value floating(Value value, Place place);
  Value carriedValue(Carried value, int distance) const;

  OpBuilder &builder;
  IterateOp loop;
  const LoopProblem &problem;
  const sched::Program &program;
  const RebuildOptions &options;
  IndexSymbols &symbols;
  /// Iterations of the loop, the one that its body speaks of, and the trip of the kernel.
  Expr count, induction, trip;
  /// The lists that are emitted; copies of the kernel that do not fill a trip go before the epilogue.
  std::vector<Entry> epilogue;
  int peeled = 0;
  /// Iteration of each instruction in the kernel, relative to the trip.
  llvm::DenseMap<Operation *, int> offsets;
  std::set<std::pair<Operation *, int>> inEpilogue;
  llvm::MapVector<Carried, int> depths;
  /// Values of the kernel that are at hand before (or after) the loop, by distance from its first (last) trip.
  std::map<std::pair<void *, int>, Value> atLoop;
  /// Computed so far in the phase: by value and iteration.
  std::map<std::pair<void *, int>, Value> values, copies;
  IterateOp kernel;
  /// The kernel has one trip and is no loop.
  bool runsOnce = false;
};
} // namespace

/// With several copies of the kernel in a trip, those that fill none run behind the loop.
void Rebuilder::splitRemainder() {
  peeled = program.peeled;
  epilogue = program.epilogue;
  std::vector<Entry> list;
  for (int copy = 0; copy < options.rest; ++copy)
    for (Entry entry : program.kernel) {
      entry.iteration += copy - options.rest - program.peeled;
      list.push_back(entry);
    }
  list.insert(list.end(), epilogue.begin(), epilogue.end());
  epilogue = std::move(list);
  peeled += options.rest;
}

void Rebuilder::findOffsets() {
  for (const Entry &entry : program.kernel)
    if (entry.op >= 0 && problem.instructions[entry.op])
      offsets[problem.instructions[entry.op]] = entry.iteration;
  for (const Entry &entry : epilogue)
    if (entry.op >= 0 && problem.instructions[entry.op])
      inEpilogue.insert({problem.instructions[entry.op], entry.iteration});
}

/// Notes what a use of `value` at this place takes from earlier trips of the kernel.
void Rebuilder::visitUses(Value value, Place place) {
  if (!isInside(value))
    return;
  Carried carried = value;
  int back = 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (yielded(argument) == value)
      return;
    value = yielded(argument);
    back = 1;
  } else if (floatsToItsUsers(value.getDefiningOp())) {
    for (Value operand : value.getDefiningOp()->getOperands())
      if (isa<TileType>(operand.getType()))
        visitUses(operand, place);
    return;
  }
  if (place.phase == sched::Phase::Kernel)
    return need(carried, distanceInKernel(value, place.iteration, back));
  if (!inEpilogue.contains({value.getDefiningOp(), place.iteration - back}))
    need(carried, distanceFromEnd(value, place.iteration - back));
}

void Rebuilder::findCarried() {
  auto visit = [&](const std::vector<Entry> &entries, sched::Phase phase) {
    for (const Entry &entry : entries)
      if (entry.op >= 0 && problem.instructions[entry.op])
        for (Value operand : problem.instructions[entry.op]->getOperands())
          if (isa<TileType>(operand.getType()))
            visitUses(operand, {phase, entry.iteration});
  };
  visit(program.kernel, sched::Phase::Kernel);
  visit(epilogue, sched::Phase::Epilogue);
  for (BlockArgument argument : loop.carried())
    visitUses(argument, {sched::Phase::Epilogue, 0});
  depths.remove_if([](auto &entry) { return entry.second <= 0; });
}

//===-- Values ----------------------------------------------------------------------------------------------------===//

Value Rebuilder::carriedValue(Carried value, int distance) const {
  auto found = atLoop.find({value.getAsOpaquePointer(), distance});
  return found == atLoop.end() ? Value() : found->second;
}

/// A copy of an op that floats, beside its user.
Value Rebuilder::floating(Value value, Place place) {
  auto key = std::make_pair(value.getAsOpaquePointer(), place.iteration);
  if (auto found = copies.find(key); found != copies.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  mlir::IRMapping mapping;
  for (Value operand : op->getOperands()) {
    if (!isa<TileType>(operand.getType()))
      continue;
    Value known = resolve(operand, place);
    if (!known)
      return nullptr;
    mapping.map(operand, known);
  }
  Operation *clone = builder.clone(*op, mapping);
  if (isInPlace(op))
    setAddress(clone, op, place, /*overruns=*/false);
  return copies[key] = clone->getResult(0);
}

/// The value that an instruction has computed `back` iterations before the one of `place`.
Value Rebuilder::resolveReal(Value value, Carried carried, Place place, int back) {
  if (auto found = values.find({value.getAsOpaquePointer(), place.iteration - back}); found != values.end())
    return found->second;
  switch (place.phase) {
  case sched::Phase::Prologue:
    return nullptr;
  case sched::Phase::Kernel:
    return carriedValue(carried, distanceInKernel(value, place.iteration, back));
  case sched::Phase::Epilogue:
    return carriedValue(carried, distanceFromEnd(value, place.iteration - back));
  }
  return nullptr;
}

/// What `value` is at the iteration of `place`; null if it is not there yet.
Value Rebuilder::resolve(Value value, Place place) {
  if (!isInside(value))
    return value;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value next = yielded(argument);
    if (next == value || (place.phase == sched::Phase::Prologue && place.iteration == 0))
      return init(argument);
    return resolveReal(next, argument, place, 1);
  }
  if (floatsToItsUsers(value.getDefiningOp()))
    return floating(value, place);
  return resolveReal(value, value, place, 0);
}

//===-- Instructions ----------------------------------------------------------------------------------------------===//

Expr Rebuilder::iterationExpr(Place place) const {
  switch (place.phase) {
  case sched::Phase::Prologue:
    return place.iteration;
  case sched::Phase::Kernel:
    return trip * options.unroll + place.iteration;
  case sched::Phase::Epilogue:
    return count + place.iteration;
  }
  return 0;
}

/// The verifier accepts no such schedule; said instead of building a wrong program.
static LogicalResult unsound(Location loc) {
  return report(loc, DiagId::ScheduleDependence) << "the schedule uses a value before it is computed";
}

/// Copies that run on past the end bring what nobody uses; who lowers them may leave them out.
void Rebuilder::sayWhenUsed(Operation *copy, Expr used) {
  const sym::Facts &facts = options.geometry->facts();
  used = sym::simplify(used, facts);
  if (sym::prove(sym::ne(used, 0), facts) == true)
    return;
  auto indexed = cast<IndexedOpInterface>(copy);
  OperandBinder binder(symbols, llvm::to_vector(indexed.getSymbols()));
  copy->setAttr(kUsed, binder.bind(used));
  indexed.getSymbolsMutable().assign(binder.operands());
}

void Rebuilder::setAddress(Operation *clone, Operation *original, Place place, bool overruns) {
  Expr iteration = iterationExpr(place);
  // Past the end the last iteration is read again, or the first where there is none: what it gives is not used. A box
  // outside of its tensor is none to the memory.
  Expr last = sym::simplify(sym::max(count - 1, 0), options.geometry->facts());
  auto copy = dyn_cast<CopyOp>(original);
  bool isHeldInside = overruns && !(copy && copy.getBoxed());
  Expr read = isHeldInside ? sym::min(iteration, last) : iteration;
  rewriteExpressions(clone, symbols, [&](Expr expr) { return sym::substitute(expr, {{induction, read}}); });
  if (overruns && copy && copy.getBoxed())
    sayWhenUsed(clone, sym::lt(iteration, count));
  AllocateOp tile = sharedTileOf(original);
  auto region = llvm::find(problem.tiles, tile);
  if (!tile || region == problem.tiles.end())
    return;
  int buffers = options.buffers[region - problem.tiles.begin()];
  if (buffers < 2)
    return;
  auto indexed = cast<IndexedOpInterface>(clone);
  OperandBinder binder(symbols, llvm::to_vector(indexed.getSymbols()));
  clone->setAttr("buffer", binder.bind(sym::simplify(sym::mod(iteration, buffers), options.geometry->facts())));
  indexed.getSymbolsMutable().assign(binder.operands());
  // Behind the kernel the last iteration is `peeled` further than the kernel has begun; one that is no loop has begun
  // none by itself.
  int64_t behind = peeled + (runsOnce ? options.unroll : 0);
  int64_t ahead = place.iteration + (place.phase == sched::Phase::Epilogue ? behind : 0);
  clone->setAttr("instance", InstanceAttr::get(clone->getContext(), options.pipeline, ahead));
}

LogicalResult Rebuilder::emitInstruction(Operation *op, Place place, bool overruns) {
  mlir::IRMapping mapping;
  for (Value operand : op->getOperands()) {
    if (!isa<TileType>(operand.getType()))
      continue;
    Value known = resolve(operand, place);
    if (!known)
      return unsound(op->getLoc());
    mapping.map(operand, known);
  }
  Operation *clone = builder.clone(*op, mapping);
  setAddress(clone, op, place, overruns);
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
    values[{from.getAsOpaquePointer(), place.iteration}] = to;
  return success();
}

std::optional<std::pair<int64_t, int64_t>> Rebuilder::wavesOf(sched::GroupMask groups) const {
  sched::GroupMask all = problem.problem.allGroups();
  if ((groups & all) == all)
    return std::nullopt;
  size_t first = llvm::countr_zero(groups & all), last = first + llvm::popcount(groups & all);
  int64_t end = last < options.groupStart.size() ? options.groupStart[last] : options.waves;
  return std::make_pair(static_cast<int64_t>(options.groupStart[first]), end);
}

void Rebuilder::emitHint(const sched::Operation &op, Location loc) {
  auto argument = [&](size_t i) { return i < op.arguments.size() ? op.arguments[i] : 0; };
  switch (op.hint) {
  case sched::HintKind::None:
    return;
  case sched::HintKind::Priority:
    PriorityOp::create(builder, loc, argument(0), ArrayAttr());
    return;
  case sched::HintKind::SchedBarrier:
    SchedBarrierOp::create(builder, loc, argument(0), ArrayAttr());
    return;
  case sched::HintKind::SchedGroup:
    SchedGroupOp::create(builder, loc, argument(0), argument(1), argument(2), ArrayAttr());
    return;
  }
}

/// Barriers, waits and commits.
void Rebuilder::emitTime(const Entry &entry) {
  Location loc =
      entry.op >= 0 && problem.instructions[entry.op] ? problem.instructions[entry.op]->getLoc() : loop.getLoc();
  auto counter = [&] { return toWave(*parseCounterKind(problem.problem.counters[entry.counter].name)); };
  if (entry.kind == EntryKind::Wait)
    WaitOp::create(builder, loc, counter(), entry.value, ArrayAttr());
  else if (entry.kind == EntryKind::Commit)
    CommitOp::create(builder, loc, counter(), ArrayAttr());
  else if (entry.kind == EntryKind::Release)
    ReleaseOp::create(builder, loc, ArrayAttr());
  else if (entry.kind == EntryKind::Await)
    AwaitOp::create(builder, loc, entry.value, ArrayAttr());
  else if (auto waves = wavesOf(entry.groups))
    BarrierOp::create(builder, loc, waves->first, waves->second);
  else
    BarrierOp::create(builder, loc, ArrayAttr());
}

LogicalResult Rebuilder::emit(const Entry &entry, Place place) {
  if (entry.kind == EntryKind::Arrive || entry.kind == EntryKind::PhaseWait)
    return report(loop.getLoc(), DiagId::NotSupportedHere) << "phases of barriers in memory have no lowering yet";
  if (entry.kind != EntryKind::Op)
    return emitTime(entry), success();
  if (Operation *op = problem.instructions[entry.op])
    return emitInstruction(op, place, entry.overruns);
  return emitHint(problem.problem.operations[entry.op], loop.getLoc()), success();
}

//===-- Phases ----------------------------------------------------------------------------------------------------===//

LogicalResult Rebuilder::emitPrologue() {
  for (const Entry &entry : program.prologue)
    if (failed(emit(entry, {sched::Phase::Prologue, entry.iteration})))
      return failure();
  return success();
}

/// Of each carried value, nearest first, what was computed `distance` trips before a trip whose first copy is `base`;
/// null where nothing was.
SmallVector<Value> Rebuilder::carriedAt(int base, llvm::function_ref<Value(Carried, int distance)> otherwise) {
  SmallVector<Value> result;
  for (auto &[value, depth] : depths)
    for (int distance = 1; distance <= depth; ++distance) {
      auto argument = dyn_cast<BlockArgument>(value);
      Value computed = argument ? yielded(argument) : value;
      int iteration = offsets.lookup(computed.getDefiningOp()) + base - distance;
      auto found = values.find({computed.getAsOpaquePointer(), iteration});
      result.push_back(found != values.end() ? found->second : otherwise(value, distance));
    }
  return result;
}

/// From here on carried values are these, in the order of carriedAt; what was computed before is out of reach.
void Rebuilder::bindCarried(ValueRange at) {
  atLoop.clear();
  size_t next = 0;
  for (auto &[value, depth] : depths)
    for (int distance = 1; distance <= depth; ++distance)
      atLoop[{value.getAsOpaquePointer(), distance}] = at[next++];
  values.clear();
  copies.clear();
}

LogicalResult Rebuilder::emitTrip() {
  int cluster = program.kernel.empty() ? 0 : program.kernel.front().cluster;
  for (int copy = 0; copy < options.unroll; ++copy)
    for (const Entry &entry : program.kernel) {
      if (options.fenceClusters && entry.cluster != cluster)
        SchedBarrierOp::create(builder, loop.getLoc(), 0, ArrayAttr());
      cluster = entry.cluster;
      if (failed(emit(entry, {sched::Phase::Kernel, entry.iteration + copy})))
        return failure();
    }
  return success();
}

LogicalResult Rebuilder::emitKernel() {
  // Before the first iteration an argument of the loop is what the loop began with.
  SmallVector<Value> inits = carriedAt(0, [&](Carried value, int distance) -> Value {
    auto argument = dyn_cast<BlockArgument>(value);
    bool before = argument && offsets.lookup(yielded(argument).getDefiningOp()) < distance;
    return before ? init(argument) : Value();
  });
  if (llvm::is_contained(inits, Value()))
    return unsound(loop.getLoc());
  Expr trips = sym::simplify(options.unroll == 1 ? count - peeled : sym::floordiv(count - peeled, options.unroll));
  if (trips.constantValue() == 0) // nothing runs between prologue and epilogue: there is no loop
    return bindCarried(inits), success();
  runsOnce = trips.constantValue() == 1;
  return emitLoop(inits, trips);
}

/// The kernel as a loop, or as it is where it runs once.
LogicalResult Rebuilder::emitLoop(ValueRange inits, Expr trips) {
  SmallVector<Type> types = llvm::map_to_vector(inits, [](Value init) { return init.getType(); });
  OpBuilder::InsertionGuard guard(builder);
  trip = 0;
  if (runsOnce) {
    bindCarried(inits);
  } else {
    OperandBinder binder(symbols);
    wave::ExprAttr tripCount = binder.bind(trips);
    kernel = IterateOp::create(builder, loop.getLoc(), types, loop.getAxis(), inits, binder.operands(), tripCount,
                               loop.getTagsAttr());
    kernel->setAttr("advances", InstanceAttr::get(builder.getContext(), options.pipeline, options.unroll));
    Block &body = kernel.makeBody();
    trip = symbols.symbol(kernel.iteration());
    bindCarried(kernel.carried());
    builder.setInsertionPointToEnd(&body);
  }
  if (failed(emitTrip()))
    return failure();
  SmallVector<Value> next = carriedAt(
      options.unroll, [&](Carried value, int distance) { return carriedValue(value, distance - options.unroll); });
  if (llvm::is_contained(next, Value()))
    return unsound(loop.getLoc());
  if (!runsOnce)
    YieldOp::create(builder, loop.getLoc(), next);
  bindCarried(runsOnce ? ValueRange(next) : ValueRange(kernel.getResults()));
  return success();
}

LogicalResult Rebuilder::emitEpilogue() {
  for (const Entry &entry : epilogue)
    if (failed(emit(entry, {sched::Phase::Epilogue, entry.iteration})))
      return failure();
  return success();
}

FailureOr<SmallVector<Value>> Rebuilder::run() {
  splitRemainder();
  findOffsets();
  if (failed(emitPrologue()))
    return failure();
  SmallVector<Value> results;
  Place end{sched::Phase::Epilogue, 0};
  if (program.exactTrips) {
    end = {sched::Phase::Prologue, *program.exactTrips};
  } else {
    findCarried();
    if (failed(emitKernel()) || failed(emitEpilogue()))
      return failure();
  }
  for (BlockArgument argument : loop.carried()) {
    Value result = resolve(argument, end);
    if (!result)
      return unsound(loop.getLoc());
    results.push_back(result);
  }
  return results;
}

FailureOr<SmallVector<Value>> rebuildLoop(OpBuilder &builder, IterateOp loop, const LoopProblem &problem,
                                          const sched::Program &program, const RebuildOptions &options) {
  return Rebuilder(builder, loop, problem, program, options).run();
}

} // namespace soliton
