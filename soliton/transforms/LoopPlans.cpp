//===- LoopPlans.cpp - Which schedule a loop gets ------------------------------------------===//
//
// What the author wrote, what a file says, or what an algorithm finds; the first two may want the loop with copies of
// its body, and are asked again about that one.
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/Persistent.h"
#include "soliton/analysis/ServiceWaves.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/LoopCost.h"
#include "soliton/transforms/LoopScheduler.h"

#include <limits>

namespace soliton {
using namespace wave;

bool isAboutRegisters(const Diagnostic &diagnostic) {
  return diagnostic.id == DiagId::ScheduleRegisters;
}

/// The file, or that part of it which is about this loop.
FailureOr<sched::ScheduleFile> LoopScheduler::readFile(bool wave) {
  std::vector<Diagnostic> diagnostics;
  std::vector<sched::ScheduleFile> files;
  if (wave) {
    files = {
        sched::toFile(found.problem, sched::parseWave(found.problem, request.file, diagnostics, request.fileName))};
    files.front().name = request.fileName;
  } else {
    files = sched::parseScheduleFiles(request.file, diagnostics, request.fileName);
  }
  if (failed(say(diagnostics)))
    return failure();
  if (files.size() > numLoops)
    return soliton::report(kernel.getLoc(), DiagId::ScheduleFile)
               .hint("remove those that no loop of the kernel is meant by")
           << "`" << request.fileName << "` holds " << files.size() << " schedules, the kernel has " << numLoops
           << (numLoops == 1 ? " loop" : " loops");
  return sched::fileOf(found.problem, files);
}

/// What a file says; where it was made for an unrolled loop, about the unrolled loop.
LogicalResult LoopScheduler::chooseFromFile() {
  bool wave = sched::isWaveFile(request.file);
  FailureOr<sched::ScheduleFile> file = readFile(wave);
  if (failed(file))
    return failure();
  auto waves = static_cast<int>(geometry.waveCount());
  plan = sched::planFromFile(found.problem, *file, unrolled, waves);
  if (plan.ok() && plan.unrollFirst != unrolled) {
    if (failed(unrollTo(plan.unrollFirst)))
      return failure();
    plan = sched::planFromFile(found.problem, *file, unrolled, waves);
  }
  if (failed(say(plan.diagnostics)))
    return failure();
  if (wave)
    plan.unrollKernel = copiesForLoads();
  return success();
}

/// Registers that addresses, masks and counters of a loop take from those that its values could have. Where there is no
/// second file for accumulators, a schedule that fills the only one spills: of GEMM's loops under `modulo`, ptxas
/// spilled those with 224 and more live values of 255, and none with 220. Rows whose length is known at launch have
/// addresses of their own, two registers each.
static int64_t registersForAddresses(IterateOp loop, const Geometry &geometry) {
  constexpr int64_t always = 32, mostForRows = 64;
  if (geometry.target().accumulatorRegistersPerLane)
    return 0;
  int64_t rows = 0;
  loop.block().walk([&](Operation *op) {
    if (!isa<AccessOpInterface>(op) || cast<MemoryType>(memoryOf(op).getType()).isShared())
      return;
    bool isKnown =
        llvm::all_of(memoryExtents(memoryOf(op), geometry), [](const sym::Expr &size) { return size.isConstant(); });
    rows += isKnown ? 0 : 2;
  });
  return always + std::min(rows, mostForRows);
}

/// Waves of other workgroups fill what one leaves idle, if they fit: of the schedules that leave room for three, two or
/// one a SIMD, the one with which most iterations are done in a time, and of equal ones that with more waves.
///
///   attention on gfx942, busy for 396 cycles:   1 wave   396 cycles, 262 registers    396 cycles for an iteration
///                                               3 waves  598 cycles, 128 registers    396
sched::Scheduled LoopScheduler::scheduleForWaves(const sched::Problem &problem) const {
  constexpr int64_t mostWaves = 3, beside = 40; // registers of addresses and of the back end's own
  const Target &target = geometry.target();
  sched::Scheduled best = sched::scheduleWith(sched::Algorithm::Modulo, problem);
  int64_t simds = target.simdsPerComputeUnit, busy = best.bounds.resource;
  int64_t own = (geometry.waveCount() + simds - 1) / simds;
  if (!best.schedule || own >= mostWaves)
    return best;
  auto time = [&](const sched::Schedule &schedule, int64_t waves) {
    return std::max<int64_t>(busy, (schedule.interval + waves - 1) / waves);
  };
  int64_t least = time(*best.schedule, own);
  // Overlap takes registers: what the program's own order needs is the least.
  sched::Scheduled written = sched::scheduleWith(sched::Algorithm::None, problem);
  int64_t needed = written.schedule ? sched::registerPressure(problem, *written.schedule) : INT64_MAX;
  for (int64_t waves = own + 1; waves <= mostWaves; ++waves) {
    sched::Problem limited = problem;
    int64_t room = target.registerFilePerSimdLane / waves / target.registerGranule * target.registerGranule - beside;
    if (needed > room)
      break;
    limited.limits.registers = std::min(problem.limits.registers, room);
    limited.limits.sharedBytes = problem.limits.sharedBytes * own / waves;
    sched::Scheduled other = sched::scheduleWith(sched::Algorithm::Modulo, limited, {.maxInterval = waves * busy});
    bool overlaps = other.schedule && other.schedule->stages() > 1;
    if (!overlaps || time(*other.schedule, waves) > least)
      continue;
    least = time(*other.schedule, waves);
    best = std::move(other);
  }
  return best;
}

sched::Scheduled LoopScheduler::scheduleBy(sched::Algorithm algorithm, const sched::Problem &problem) const {
  bool mayLeaveRoom = algorithm == sched::Algorithm::Modulo && geometry.target().accumulatorRegistersPerLane > 0;
  return mayLeaveRoom ? scheduleForWaves(problem) : sched::scheduleWith(algorithm, problem);
}

/// Of the algorithms, the one whose schedule takes the fewest modelled cycles in this launch; of equal ones the
/// simpler. A loop without matrix products waits for memory alone, which other waves hide as well as an order could.
sched::Algorithm LoopScheduler::fastest(const sched::Problem &problem) const {
  using sched::Algorithm;
  if (llvm::none_of(problem.operations, [](const sched::Operation &op) { return op.kind == sched::OpKind::Mma; }))
    return Algorithm::None;
  sched::Launch launch{.workgroups = 1, .waves = geometry.waveCount(), .iterations = 0};
  for (const sym::Expr &size : geometry.grid())
    launch.workgroups *= size.constantValue().value_or(0);
  launch.iterations = iterations(loop).constantValue().value_or(0);
  sched::LoopCost cost(problem, geometry.target(), launch);
  Algorithm best = Algorithm::Modulo;
  double least = std::numeric_limits<double>::infinity();
  for (Algorithm candidate :
       {Algorithm::None, Algorithm::Prefetch, Algorithm::PrefetchAttention, Algorithm::FourStage, Algorithm::Modulo}) {
    sched::Scheduled result = scheduleBy(candidate, problem);
    if (!result.schedule)
      continue;
    sched::Modelled modelled = cost.of(*result.schedule);
    if (modelled.accepted && modelled.score() < least) {
      least = modelled.score();
      best = candidate;
    }
  }
  return best;
}

FailureOr<sched::Algorithm> LoopScheduler::algorithm(const std::string &name, const sched::Problem &roomy) {
  if (name == sched::kFastest)
    return fastest(roomy);
  if (std::optional<sched::Algorithm> named = sched::parseAlgorithm(name))
    return *named;
  std::vector<std::string> known = sched::algorithmNames();
  known.emplace_back(sched::kFastest);
  return soliton::report(kernel.getLoc(), DiagId::ScheduleUnknown).hint("known are " + listOf(known))
         << "there is no schedule `" << name << "`";
}

LogicalResult LoopScheduler::chooseByAlgorithm(const std::string &name) {
  sched::Problem roomy = plan.problem;
  roomy.limits.registers -= registersForAddresses(loop, geometry);
  FailureOr<sched::Algorithm> algorithm = this->algorithm(name, roomy);
  if (failed(algorithm))
    return failure();
  sched::Scheduled result = scheduleBy(*algorithm, roomy);
  if (!result.schedule && roomy.limits.registers != plan.problem.limits.registers)
    result = sched::scheduleWith(*algorithm, plan.problem);
  // Registers are an estimate here: the code object tells whether they sufficed. So too many are a warning.
  if (!result.schedule && llvm::all_of(result.diagnostics, isAboutRegisters)) {
    for (Diagnostic &diagnostic : result.diagnostics)
      diagnostic.severity = Severity::warning;
    (void)say(result.diagnostics);
    plan.problem.limits.registers = 0;
    result = sched::scheduleWith(*algorithm, plan.problem);
  }
  report.bounds = result.bounds;
  report.provenBound = result.provenBound;
  report.certificate = std::move(result.certificate);
  if (!result.schedule)
    return say(result.diagnostics);
  plan.schedule = std::move(*result.schedule);
  plan.unrollKernel = copiesForLoads();
  return success();
}

/// A loaded value that is still needed when the next one is loaded would be moved to another register, and the move
/// would wait for the load. With as many copies of the kernel as such values live at once, nothing moves.
int LoopScheduler::copiesForLoads() {
  constexpr int kMostCopies = 4;
  sched::assignBuffers(plan.problem, plan.schedule);
  int copies = 1;
  for (const sched::Operation &op : plan.problem.operations)
    if (op.kind == sched::OpKind::GlobalLoad || op.kind == sched::OpKind::SharedLoad)
      for (const sched::Access &access : op.accesses)
        if (access.write && plan.problem.regions[access.region].space == sched::Space::Register)
          copies = std::max(copies, plan.schedule.buffers[access.region]);
  return std::min(copies, kMostCopies);
}

sched::ScheduleInput LoopScheduler::scheduleInput() {
  sched::ScheduleInput input;
  auto add = [](std::vector<std::string> &list, ArrayAttr tags) {
    for (Attribute tag : tags ? tags : ArrayAttr())
      list.push_back(cast<StringAttr>(tag).getValue().str());
  };
  if (ArrayAttr tags = loop.getTagsAttr())
    add(input.loopTags, tags);
  kernel.walk([&](Operation *op) {
    auto tags = op->getAttrOfType<ArrayAttr>("tags");
    if (!tags || loop->isAncestor(op) || source->isAncestor(op))
      return;
    add(isa<IterateOp>(op) ? input.otherLoopTags : input.otherTags, tags);
  });
  input.loopPlace = placeOf(loop.getLoc());
  input.hardware.threads_per_wave = static_cast<int>(geometry.waveSize());
  for (auto [to, from] : llvm::zip(input.hardware.waves_per_block, geometry.waves()))
    to = static_cast<int>(from);
  input.hardware.mma_type = geometry.mmaName().value_or("");
  input.hardware.target = geometry.target().name;
  input.unrolled = unrolled;
  input.strict = request.strict;
  input.isOneOfSeveral = numLoops > 1;
  return input;
}

/// Runs what the author wrote; where it wants the loop unrolled, on the unrolled loop.
LogicalResult LoopScheduler::evaluateWritten() {
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    plan = sched::evaluate(*request.written, found.problem, scheduleInput());
    if (failed(say(plan.diagnostics)))
      return failure();
    if (plan.unrollFirst == unrolled)
      return success();
    if (failed(unrollTo(plan.unrollFirst)))
      return failure();
  }
  return soliton::report(loop.getLoc(), DiagId::ScheduleMalformed)
         << "the schedule asks for another unrolling each time it is evaluated";
}

/// What the author wrote may leave the order to an algorithm; it stays the author's schedule.
LogicalResult LoopScheduler::chooseWritten() {
  if (failed(evaluateWritten()) || plan.orderedBy.empty())
    return success(plan.ok());
  if (failed(chooseByAlgorithm(plan.orderedBy)))
    return failure();
  plan.schedule.algorithm = request.written->name;
  return success();
}

sched::Roles rolesOf(KernelOp kernel) {
  sched::Roles roles;
  roles.copyingWaves = static_cast<int>(kernel.getServiceWaves().value_or(0));
  roles.copyingRegisters = static_cast<int>(kernel.getServiceRegisters().value_or(0));
  roles.workgroups = static_cast<int>(persistentWorkgroups(kernel).value_or(0));
  roles.overlapTiles = kernel.getOverlapTiles();
  return roles;
}

/// What the schedule says of the whole workgroup. Passes in front of this one had to know it: where the kernel does not
/// have it yet, whoever compiles is told, and begins anew.
LogicalResult LoopScheduler::settleRoles() {
  sched::Roles has = rolesOf(kernel), &said = plan.roles;
  if (has.hold(said)) {
    if (failed(checkBudget(said)))
      return failure();
    said = has;
    said.computingWaves = static_cast<int>(geometry.waveCount());
    return success();
  }
  auto contradicts = [](int known, int now) { return known > 0 && now > 0 && known != now; };
  if (!request.said)
    return soliton::report(kernel.getLoc(), DiagId::NotSupportedHere)
           << "the schedule says who copies and which workgroups walk, and nobody compiles again with that";
  sched::Roles &known = *request.said;
  bool isOther = contradicts(known.copyingWaves, said.copyingWaves) ||
                 contradicts(known.copyingRegisters, said.copyingRegisters) ||
                 contradicts(known.workgroups, said.workgroups);
  if (isOther)
    return say({{Severity::error,
                 DiagId::ScheduleRoles,
                 known.copyingWaves > 0 && said.copyingWaves > 0 ? said.copyingPlace : said.workgroupsPlace,
                 "the schedules of two loops say different things of the workgroup that has both",
                 "say the same, or say it of one loop only",
                 {}}});
  if (said.copyingWaves > 0) {
    known.copyingWaves = said.copyingWaves;
    known.copyingRegisters = std::max(known.copyingRegisters, said.copyingRegisters);
    known.copyingPlace = said.copyingPlace;
  }
  if (said.workgroups > 0) {
    known.workgroups = said.workgroups;
    known.workgroupsPlace = said.workgroupsPlace;
  }
  known.overlapTiles |= said.overlapTiles;
  return failure();
}

/// Registers change hands between groups of four waves, and what is kept is no more than there was at entry.
LogicalResult LoopScheduler::checkBudget(const sched::Roles &said) {
  if (said.copyingRegisters == 0)
    return success();
  ServiceRegisters budget = registersWithService(geometry);
  bool exchange = mayExchangeRegisters(geometry);
  if (exchange && said.copyingRegisters <= budget.atEntry)
    return success();
  std::string found = exchange ? "they begin with " + std::to_string(budget.atEntry)
                               : "registers change hands between whole groups of " +
                                     std::to_string(geometry.target().simdsPerComputeUnit) + " waves, here " +
                                     std::to_string(geometry.waveCount()) + " compute and " +
                                     std::to_string(geometry.serviceWaves()) + " copy";
  return say({{Severity::error,
               DiagId::ScheduleRoles,
               said.copyingPlace,
               "lanes that copy keep " + std::to_string(said.copyingRegisters) + " registers, and " + found,
               "leave `registers` out",
               {}}});
}

LogicalResult LoopScheduler::choose() {
  if (request.written)
    return chooseWritten();
  plan.problem = found.problem;
  plan.scheduled = true;
  return request.file.empty() ? chooseByAlgorithm(request.name) : chooseFromFile();
}

} // namespace soliton
