#include "soliton/backend/emulator/Translate.h"

#include "soliton/backend/emulator/Translator.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Wave.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace soliton {

std::pair<DType, uint32_t> slotType(Type type) {
  uint32_t count = 1;
  if (auto vector = dyn_cast<mlir::VectorType>(type)) {
    count = static_cast<uint32_t>(vector.getNumElements());
    type = vector.getElementType();
  }
  return {wave::dtypeOf(type).value_or(DType::i32), count};
}

/// What the target's table says about time, as the emulator wants it.
static emu::Rules rulesOf(const Target &target) {
  emu::Rules rules;
  rules.barrierCompletesShared = target.barrierCompletesShared;
  rules.globalTicksVm = target.counter(CounterKind::vm) != nullptr;
  for (const Counter &counter : target.counters)
    rules.counterMax[static_cast<size_t>(counter.kind)] = static_cast<uint32_t>(counter.maxPending);
  rules.banks = static_cast<uint32_t>(target.sharedAccess(4, false).model.banks);
  return rules;
}

static emu::Occupancy occupancyOf(const Target &target) {
  return {.computeUnits = static_cast<uint32_t>(target.computeUnits),
          .waves = static_cast<uint32_t>(target.simdsPerComputeUnit * target.maxWavesPerSimd),
          .sharedBytes = static_cast<uint32_t>(target.sharedBytes)};
}

static std::array<uint32_t, 3> clusterOf(machine::KernelOp kernel) {
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  for (auto [to, from] : llvm::zip(cluster, kernel.getCluster().value_or(ArrayRef<int64_t>())))
    to = static_cast<uint32_t>(from);
  return cluster;
}

EmulatorTranslator::EmulatorTranslator(machine::KernelOp kernel, const Target &target)
    : kernel(kernel), target(target), build({.name = kernel.getSymName().str(),
                                             .waveSize = static_cast<uint32_t>(kernel.getWaveSize()),
                                             .waves = static_cast<uint32_t>(kernel.getWaves()),
                                             .sharedBytes = static_cast<uint32_t>(kernel.getSharedBytes()),
                                             .cluster = clusterOf(kernel),
                                             .dependent = kernel.getDependent(),
                                             .rules = rulesOf(target),
                                             .occupancy = occupancyOf(target)}) {}

void EmulatorTranslator::bindArguments() {
  for (auto [argument, name] : llvm::zip(kernel.block().getArguments(), kernel.getArgNames())) {
    if (isa<machine::PtrType>(argument.getType()))
      regions[argument] = build.buffer(cast<StringAttr>(name).getValue().str(), kernel.isStable(argument));
    else if (!isa<machine::MapType>(argument.getType()))
      define(argument, build.scalar(slotType(argument.getType()).first));
  }
  bindMaps();
  if (kernel.getSharedBytes() > 0)
    sharedRegion = build.shared("shared", 0, static_cast<uint32_t>(kernel.getSharedBytes()));
}

LogicalResult EmulatorTranslator::loop(Operation *op) {
  auto loop = cast<mlir::scf::ForOp>(op);
  std::vector<emu::Value> inits;
  for (Value init : loop.getInitArgs())
    inits.push_back(value(init));
  // Carried values differ between lanes in general; only scalars that start uniform could stay so, and need not.
  emu::Loop state =
      build.beginFor(value(loop.getLowerBound()), value(loop.getUpperBound()), value(loop.getStep()), inits);
  define(loop.getInductionVar(), state.induction);
  for (auto [argument, slot] : llvm::zip(loop.getRegionIterArgs(), state.carried))
    define(argument, slot);
  if (failed(block(*loop.getBody())))
    return failure();
  std::vector<emu::Value> yields;
  for (Value yielded : loop.getBody()->getTerminator()->getOperands())
    yields.push_back(value(yielded));
  build.at(placeOf(op->getLoc()), "loop");
  build.endFor(state, yields);
  for (auto [result, slot] : llvm::zip(loop.getResults(), state.carried))
    define(result, slot);
  return success();
}

LogicalResult EmulatorTranslator::whileLoop(Operation *op) {
  auto loop = cast<mlir::scf::WhileOp>(op);
  auto variables = [&](ValueRange values) {
    std::vector<emu::Value> slots;
    for (Value value : values) {
      auto [type, count] = slotType(value.getType());
      slots.push_back(build.variable(type, count));
      define(value, slots.back());
    }
    return slots;
  };
  auto assign = [&](const std::vector<emu::Value> &slots, ValueRange values) {
    for (auto [slot, value] : llvm::zip(slots, values))
      build.assign(slot, this->value(value));
  };
  std::vector<emu::Value> carried = variables(loop.getBeforeArguments()), results = variables(loop.getResults());
  assign(carried, loop.getInits());
  build.beginLoop();
  if (failed(block(*loop.getBeforeBody())))
    return failure();
  mlir::scf::ConditionOp condition = loop.getConditionOp();
  assign(results, condition.getArgs());
  build.breakUnless(value(condition.getCondition()));
  for (auto [argument, slot] : llvm::zip(loop.getAfterArguments(), results))
    define(argument, slot);
  if (failed(block(*loop.getAfterBody())))
    return failure();
  assign(carried, loop.getYieldOp().getResults());
  build.at(placeOf(op->getLoc()), "loop");
  build.endLoop();
  return success();
}

LogicalResult EmulatorTranslator::branch(Operation *op) {
  auto branch = cast<mlir::scf::IfOp>(op);
  std::vector<emu::Value> results;
  for (Value result : branch.getResults()) {
    auto [type, count] = slotType(result.getType());
    results.push_back(build.variable(type, count));
    define(result, results.back());
  }
  auto side = [&](mlir::Region &region) -> LogicalResult {
    if (failed(block(region.front())))
      return failure();
    for (auto [slot, yielded] : llvm::zip(results, region.front().getTerminator()->getOperands()))
      build.assign(slot, value(yielded));
    return success();
  };
  build.beginIf(value(branch.getCondition()));
  if (failed(side(branch.getThenRegion())))
    return failure();
  if (!branch.getElseRegion().empty()) {
    build.beginElse();
    if (failed(side(branch.getElseRegion())))
      return failure();
  }
  build.endIf();
  return success();
}

LogicalResult EmulatorTranslator::translate(Operation *op) {
  StringRef name = op->getName().getStringRef();
  name.consume_front("machine."); // reports say `store`
  build.at(placeOf(op->getLoc()), name.str());
  if (isa<mlir::scf::YieldOp, mlir::scf::ConditionOp>(op))
    return success();
  if (isa<mlir::scf::ForOp>(op))
    return loop(op);
  if (isa<mlir::scf::WhileOp>(op))
    return whileLoop(op);
  if (isa<mlir::scf::IfOp>(op))
    return branch(op);
  if (isa<machine::MachineDialect>(op->getDialect()))
    return machineOp(op);
  if (std::optional<emu::Value> result = arithmetic(op)) {
    define(op->getResult(0), *result);
    return success();
  }
  return report(op->getLoc(), DiagId::BackendUnsupported)
         << "the emulator does not implement `" << op->getName() << "`";
}

LogicalResult EmulatorTranslator::block(Block &block) {
  for (Operation &op : block)
    if (failed(translate(&op)))
      return failure();
  return success();
}

FailureOr<emu::Program> EmulatorTranslator::run() {
  try {
    bindArguments();
    if (failed(block(kernel.block())))
      return failure();
    return build.finish();
  } catch (const emu::ProgramError &error) {
    return report(kernel.getLoc(), DiagId::BackendFailed) << "no emulator program: " << error.what();
  }
}

FailureOr<emu::Program> translateToEmulator(machine::KernelOp kernel, const Target &target) {
  return EmulatorTranslator(kernel, target).run();
}

} // namespace soliton
