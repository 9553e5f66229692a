//===- ScheduleLoops.cpp - When every instruction of a loop happens ----------------===//
//
// For each innermost loop: its problem (LoopProblem.h), a schedule for it (an algorithm, a file, or what the author
// wrote), barriers and waits derived from it, one proof of all that, and the loop as it then is (RebuildLoop.h).
//
//   wave.iterate "K" {                        %a0 = global load 0, shared store 0            prologue
//     global load, shared store      becomes  wave.iterate "K" {                             T - 1 times
//     shared load, mma                          barrier, shared load n, global load n+1, mma n, barrier, store n+1
//   }                                         }
//                                             barrier, shared load T-1, mma T-1              epilogue
//
// A trip count that is only known at launch may be too small for the pipeline; the loop then runs as it was written:
//
//   wave.conditional <"T >= 1"> { pipeline } else { plain loop }
//
// Only a schedule that the verifier accepts is ever built.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/ScheduleLoops.h"

#include "soliton/analysis/Persistent.h"
#include "soliton/authoring/LoopHooks.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/RegisterWaits.h"
#include "soliton/transforms/LoopScheduler.h"
#include "soliton/transforms/Passes.h"
#include "soliton/transforms/PlaceTiles.h"
#include "soliton/transforms/RebuildLoop.h"
#include "soliton/transforms/UnrollLoop.h"

#include <chrono>

namespace soliton {
#define GEN_PASS_DEF_SCHEDULELOOPSPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

namespace {
class Stopwatch {
public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double ms = std::chrono::duration<double, std::milli>(now - last).count();
    last = now;
    return ms;
  }

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

} // namespace

LogicalResult LoopScheduler::say(const std::vector<Diagnostic> &diagnostics) {
  bool wrong = false;
  for (const Diagnostic &diagnostic : diagnostics) {
    emit(kernel.getContext(), diagnostic);
    wrong |= diagnostic.severity == Severity::error;
  }
  return failure(wrong);
}

/// Removes the loop with copies of the body, and the tiles that only it used.
void LoopScheduler::dropUnrolled() {
  if (loop == source)
    return;
  geometry.symbols().forget(loop.iteration());
  loop.erase();
  loop = source;
  kernel.walk([](AllocateOp tile) {
    if (tile.getResult().use_empty())
      tile.erase();
  });
}

void LoopScheduler::adopt(LoopProblem problem) {
  found = std::move(problem);
  if (int64_t all = geometry.target().sharedBytes, share = all / std::max<int64_t>(request.workgroupsPerUnit, 1);
      share < all) {
    int64_t &room = found.problem.limits.sharedBytes;
    room = std::max<int64_t>(room - (all - share), 1); // 0 would be no limit
  }
  if (request.hooks && request.hooks->afterProblem)
    request.hooks->afterProblem(found.problem);
}

/// The loop with that many copies of its body, and its problem.
LogicalResult LoopScheduler::unrollTo(int factor) {
  dropUnrolled();
  unrolled = factor;
  loop = unrollLoop(source, unrolled, geometry.symbols());
  FailureOr<LoopProblem> problem = makeLoopProblem(loop, geometry, source);
  if (failed(problem))
    return failure();
  adopt(std::move(*problem));
  return success();
}

/// Of equally few barriers, those directly behind shared loads, where the wave has to wait for them anyway, and, where
/// matrix instructions run by themselves, those in front of copies: what is under way then stays so.
void LoopScheduler::orderBarriers(sched::SyncOptions &options) const {
  std::vector<int> order = sched::emissionOrder(plan.schedule);
  options.barriers.slotCost.assign(order.size(), 1);
  bool underWay = llvm::any_of(plan.problem.operations, [](const sched::Operation &op) {
    return op.kind == sched::OpKind::Mma && !op.ticks.empty();
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const sched::Operation &before = plan.problem.operations[i == 0 ? order.back() : order[i - 1]],
                           &after = plan.problem.operations[order[i]];
    bool endsLoads = i > 0 && before.kind == sched::OpKind::SharedLoad && after.kind != sched::OpKind::SharedLoad;
    bool beginsCopies = before.kind != sched::OpKind::CopyAsync && after.kind == sched::OpKind::CopyAsync;
    if (endsLoads || (underWay && beginsCopies))
      options.barriers.slotCost[i] = 0;
  }
}

/// An algorithm finds another schedule where registers do not suffice; what an author wrote would be spilled, if its
/// values alone take all that a wave of the workgroup has. Where there is one register file, the assembler says so.
LogicalResult LoopScheduler::checkWritten() {
  const Target &target = geometry.target();
  int64_t simds = target.simdsPerComputeUnit, waves = (geometry.allWaves() + simds - 1) / simds;
  int64_t own = target.registerFilePerSimdLane / std::max<int64_t>(waves, 1);
  if (!request.written || !target.accumulatorRegistersPerLane || report.verified.registers < own)
    return success();
  return soliton::report(loop.getLoc(), DiagId::ScheduleRegisters)
             .hint("take a smaller tile or fewer stages; rows that are aligned or padded go past the registers")
         << "`" << plan.schedule.algorithm << "` keeps " << report.verified.registers
         << " registers live, a wave of a workgroup of " << geometry.allWaves() << " has " << own
         << ", and addresses need some of them";
}

/// Peels the schedule, adds what is missing, and has all of it verified.
LogicalResult LoopScheduler::prove(std::optional<int> tripCount) {
  sched::assignBuffers(plan.problem, plan.schedule);
  if (request.hooks && request.hooks->afterSchedule)
    request.hooks->afterSchedule(plan.problem, plan.schedule);
  if (plan.around && tripCount && *tripCount < plan.schedule.stages() - 1)
    return soliton::report(loop.getLoc(), DiagId::ScheduleTrips)
               .hint(
                   "take the schedule without its own prologue and epilogue (a pipeline: exact mode), or a longer loop")
           << "the loop has " << *tripCount << (*tripCount == 1 ? " iteration" : " iterations")
           << ", the program that its schedule says is for at least " << plan.schedule.stages() - 1;
  sched::SyncOptions options;
  options.tripCount = tripCount;
  orderBarriers(options);
  sched::Synchronized made = sched::synchronize(plan, options);
  report.program = std::move(made.program);
  sched::mergeRegisterWaits(plan.problem, report.program);
  if (request.hooks && request.hooks->afterSynchronize)
    request.hooks->afterSynchronize(plan.problem, plan.schedule, report.program);
  if (request.hooks && request.hooks->skipProof)
    return success();
  report.remarks = std::move(made.remarks);
  report.verified = sched::verify(plan.problem, plan.schedule, report.program, plan.verifyOptions(tripCount));
  for (Diagnostic &diagnostic : report.verified.diagnostics)
    if (isAboutRegisters(diagnostic))
      diagnostic.severity = Severity::warning;
  if (failed(checkWritten()))
    return failure();
  bool strict = request.strict || plan.strict;
  if (strict)
    for (Diagnostic &remark : report.remarks)
      remark.severity = Severity::error;
  if (strict && failed(say(report.remarks)))
    return failure();
  return say(report.verified.diagnostics);
}

/// Tiles that got more buffers take more room; all tiles move together again.
LogicalResult LoopScheduler::placeBuffers() {
  bool skipsProof = request.hooks && request.hooks->skipProof;
  for (auto [i, tile] : llvm::enumerate(found.tiles))
    if (tile) {
      tile.setBuffers(std::max(plan.schedule.buffers[i], 1));
      // An instrument wants to see what happens: nobody adds what is missing later.
      if (skipsProof && found.problem.regions[i].rotating)
        tile->setAttr("unproven", mlir::UnitAttr::get(tile.getContext()));
    }
  return checkSharedBytes(kernel, geometry, placeTiles(kernel, geometry));
}

/// What the author accepts to be kept apart by latency alone, the proof of the whole kernel must know.
void LoopScheduler::markWaived() {
  for (const sched::Hazard &hazard : report.verified.hazards)
    if (hazard.waived)
      for (int op : {hazard.dependence.from, hazard.dependence.to})
        if (op < static_cast<int>(found.instructions.size()) && found.instructions[op])
          found.instructions[op]->setAttr("waived", mlir::UnitAttr::get(kernel.getContext()));
}

FailureOr<SmallVector<Value>> LoopScheduler::rebuild(OpBuilder &builder, const sched::Program &program, int rest) {
  RebuildOptions options;
  options.geometry = &geometry;
  options.unroll = plan.unrollKernel;
  options.rest = rest;
  options.buffers = plan.schedule.buffers;
  options.buffers.resize(plan.problem.regions.size(), 1);
  options.fenceClusters = llvm::any_of(plan.schedule.slots, [](const sched::Slot &slot) { return slot.cluster > 0; });
  options.waves = geometry.waveCount();
  options.groupStart = plan.groupStart;
  options.pipeline = pipelines++;
  LoopProblem planned{plan.problem, found.instructions, found.tiles};
  planned.instructions.resize(plan.problem.operations.size(), nullptr);
  return rebuildLoop(builder, loop, planned, program, options);
}

/// The loop in the order in which it was written, for trip counts that the pipeline is not for.
FailureOr<SmallVector<Value>> LoopScheduler::buildPlain(OpBuilder &builder) {
  // Where the pipeline takes any number of trips but none, there is nothing left to run.
  if (unrolled == 1 && report.program.peeled <= 1 && !report.program.exactTrips)
    return SmallVector<Value>(source.getInits());
  FailureOr<LoopProblem> problem = makeLoopProblem(source, geometry, loop);
  if (failed(problem))
    return failure();
  sched::Scheduled none = sched::scheduleNone(problem->problem);
  if (!none.schedule) {
    (void)say(none.diagnostics);
    return failure();
  }
  sched::assignBuffers(problem->problem, *none.schedule);
  sched::Synchronized made = sched::synchronize(problem->problem, *none.schedule);
  if (failed(say(sched::verify(problem->problem, *none.schedule, made.program).diagnostics)))
    return failure();
  RebuildOptions options;
  options.geometry = &geometry;
  options.buffers = none.schedule->buffers;
  options.buffers.resize(problem->problem.regions.size(), 1);
  options.waves = geometry.waveCount();
  options.pipeline = pipelines++;
  return rebuildLoop(builder, source, *problem, made.program, options);
}

/// `condition` decides at launch; a number decides now.
FailureOr<SmallVector<Value>>
LoopScheduler::choice(OpBuilder &builder, sym::Expr condition,
                      llvm::function_ref<FailureOr<SmallVector<Value>>(OpBuilder &)> first,
                      llvm::function_ref<FailureOr<SmallVector<Value>>(OpBuilder &)> second) {
  if (std::optional<int64_t> known = condition.constantValue())
    return *known ? first(builder) : second(builder);
  OperandBinder binder(geometry.symbols());
  wave::ExprAttr predicate = binder.bind(condition);
  auto branch = ConditionalOp::create(builder, source.getLoc(), source.getResultTypes(), predicate, binder.operands());
  for (auto [block, make] : {std::pair(&branch.thenBlock(), &first), {&branch.elseBlock(), &second}}) {
    block->clear();
    OpBuilder inside = OpBuilder::atBlockEnd(block);
    FailureOr<SmallVector<Value>> results = (*make)(inside);
    if (failed(results))
      return failure();
    YieldOp::create(inside, source.getLoc(), *results);
  }
  return SmallVector<Value>(branch.getResults());
}

/// The pipeline; with several copies of the kernel in a trip, one pipeline for each number of copies left over.
FailureOr<SmallVector<Value>> LoopScheduler::buildPipelined(OpBuilder &builder, int rest) {
  sym::Expr trips = iterations(loop) - report.program.peeled;
  if (report.program.exactTrips || rest + 1 == plan.unrollKernel)
    return rebuild(builder, report.program, rest);
  return choice(
      builder, sym::simplify(sym::eq(sym::mod(trips, plan.unrollKernel), rest)),
      [&](OpBuilder &at) { return rebuild(at, report.program, rest); },
      [&](OpBuilder &at) { return buildPipelined(at, rest + 1); });
}

/// Holds for the trip counts that the pipeline is for.
sym::Expr LoopScheduler::guard() {
  sym::Expr divides = sym::eq(sym::mod(iterations(source), unrolled), 0);
  sym::Expr enough = report.program.exactTrips ? sym::Expr(1) : sym::ge(iterations(loop), report.program.peeled);
  return sym::simplify(sym::logicalAnd(divides, enough), geometry.facts());
}

LogicalResult LoopScheduler::replace(OpBuilder &builder) {
  FailureOr<SmallVector<Value>> results = choice(
      builder, guard(), [&](OpBuilder &at) { return buildPipelined(at); },
      [&](OpBuilder &at) { return buildPlain(at); });
  if (failed(results))
    return failure();
  source.replaceAllUsesWith(*results);
  dropUnrolled();
  geometry.symbols().forget(source.iteration());
  source.erase();
  return success();
}

void LoopScheduler::handOut() {
  if (!request.reports)
    return;
  static_cast<sched::LoopPlan &>(report) = std::move(plan);
  request.reports->push_back(std::move(report));
}

LogicalResult LoopScheduler::run(IterateOp original) {
  source = loop = original;
  Stopwatch watch;
  computeHandedOn(loop);
  FailureOr<LoopProblem> problem = makeLoopProblem(loop, geometry);
  if (failed(problem))
    return failure();
  adopt(std::move(*problem));
  report.problemMs = watch.lap();
  if (failed(choose()))
    return failure();
  if (failed(settleRoles()))
    return failure();
  if (!plan.scheduled)
    return success();
  report.scheduleMs = watch.lap();
  std::optional<int64_t> trips = iterations(loop).constantValue();
  bool proven = succeeded(prove(trips ? std::optional<int>(static_cast<int>(*trips)) : std::nullopt));
  report.verifyMs = watch.lap();
  if (!proven) {
    handOut(); // those who want to look at it can
    return failure();
  }
  if (failed(placeBuffers()))
    return failure();
  markWaived();
  OpBuilder builder(source);
  if (failed(replace(builder)))
    return failure();
  handOut();
  return success();
}

namespace {
struct ScheduleLoopsPass final : impl::ScheduleLoopsPassBase<ScheduleLoopsPass> {
  using Base::Base;
  explicit ScheduleLoopsPass(sched::ScheduleRequest request) : request(std::move(request)) {}

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Expanded)))
      return signalPassFailure();
    if (schedule.hasValue())
      request.name = schedule;
    if (!request.isNone()) {
      SmallVector<IterateOp> loops;
      kernel.walk([&](IterateOp loop) {
        bool innermost = !loop.block().walk([](IterateOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
        if (innermost)
          loops.push_back(loop);
      });
      int64_t pipelines = 0;
      for (IterateOp loop : loops)
        if (failed(LoopScheduler(kernel, *geometry, request, loops.size(), pipelines).run(loop)))
          return signalPassFailure();
      kernel.setKeepOrder(true);
      // Which buffers a workgroup's first copies fill is known only now.
      if (persistentWorkgroups(kernel) && failed(checkSharedBytes(kernel, *geometry, placeTiles(kernel, *geometry))))
        return signalPassFailure();
    }
    setForm(kernel, Form::Scheduled);
  }

  sched::ScheduleRequest request;
};
} // namespace

std::unique_ptr<mlir::Pass> createScheduleLoopsPass(sched::ScheduleRequest request) {
  return std::make_unique<ScheduleLoopsPass>(std::move(request));
}

} // namespace soliton
