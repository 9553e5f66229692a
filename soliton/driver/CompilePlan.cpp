#include "soliton/driver/CompilePlan.h"

#include "soliton/driver/LaunchInfo.h"

#include <set>

namespace soliton {
using rt::LaunchExpr;
using rt::LaunchOp;

//===-- Several steps as one -------------------------------------------------------------===//

/// Leaves a kernel out of the launches for which `used` does not hold.
static void useWhere(rt::KernelImage &image, const LaunchExpr &used) {
  image.grid[0] = LaunchExpr::apply(LaunchOp::select, {used, image.grid[0], 0});
  for (rt::LaunchCheck &check : image.checks)
    check.predicate =
        LaunchExpr::apply(LaunchOp::logicalOr, {LaunchExpr::apply(LaunchOp::logicalNot, {used}), check.predicate});
}

static bool runTogether(const PlanStep &a, const PlanStep &b) {
  return a.use == b.use || a.use == StepUse::always || b.use == StepUse::always;
}

/// Whether every element of `read` is read before the launch writes that of `written`: a step says so of itself, what
/// it reads for a later one is read in time, and what an earlier one wrote would be read too late.
static bool isReadInTime(const std::vector<PlanStep> &steps, uint32_t read, uint32_t written) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const rt::KernelImage &writer = steps[i].compiled.image;
    if (!writer.arguments[written].isOutput)
      continue;
    for (size_t j = i; j < steps.size(); ++j) {
      bool reads = steps[j].compiled.image.arguments[read].isRead && runTogether(steps[i], steps[j]);
      bool saysSo = j == i && llvm::is_contained(writer.mayAliasExactly, std::array<uint32_t, 2>{read, written});
      if (reads && !saysSo)
        return false;
    }
  }
  return true;
}

static std::vector<std::array<uint32_t, 2>> findExactAliases(const std::vector<PlanStep> &steps) {
  std::vector<std::array<uint32_t, 2>> pairs;
  auto isOutput = [&](uint32_t i) {
    return llvm::any_of(steps, [&](const PlanStep &step) { return step.compiled.image.arguments[i].isOutput; });
  };
  auto isInput = [&](uint32_t i) {
    return llvm::any_of(steps, [&](const PlanStep &step) {
      const rt::ArgumentSpec &argument = step.compiled.image.arguments[i];
      return argument.isRead && argument.kind == rt::ArgumentKind::buffer;
    });
  };
  auto count = static_cast<uint32_t>(steps.front().compiled.image.arguments.size());
  for (uint32_t read = 0; read < count; ++read)
    for (uint32_t written = 0; written < count; ++written)
      if (isInput(read) && !isOutput(read) && isOutput(written) && isReadInTime(steps, read, written))
        pairs.push_back({read, written});
  return pairs;
}

/// What a step asks of a launch becomes what all of them do.
static void addDemands(rt::KernelImage &all, const rt::KernelImage &step) {
  all.checks.insert(all.checks.end(), step.checks.begin(), step.checks.end());
  for (auto [to, from] : llvm::zip(all.arguments, step.arguments)) {
    to.alignment = std::max(to.alignment, from.alignment);
    to.isRead |= from.isRead;
    to.isOutput |= from.isOutput;
  }
}

CompileResult asOne(std::vector<PlanStep> steps, const LaunchExpr &pays) {
  LaunchExpr otherwise = LaunchExpr::apply(LaunchOp::logicalNot, {pays});
  for (PlanStep &step : steps)
    if (step.use != StepUse::always)
      useWhere(step.compiled.image, step.use == StepUse::wherePlanPays ? pays : otherwise);
  std::vector<std::array<uint32_t, 2>> aliases = findExactAliases(steps);
  CompileResult all = steps.back().compiled;
  all.phases.clear();
  all.image.further.clear();
  for (const PlanStep &step : steps) {
    all.phases.insert(all.phases.end(), step.compiled.phases.begin(), step.compiled.phases.end());
    all.image.further.push_back(rt::firstStep(step.compiled.image));
  }
  for (const PlanStep &step : llvm::drop_end(steps))
    addDemands(all.image, step.compiled.image);
  all.image.mayAliasExactly = std::move(aliases);
  rt::LaunchStep first = std::move(all.image.further.front());
  all.image.further.erase(all.image.further.begin());
  all.image.entry = std::move(first.entry);
  all.image.code = std::move(first.code);
  all.image.threads = first.threads;
  all.image.cluster = first.cluster;
  all.image.grid = first.grid;
  all.image.staticSharedBytes = first.staticSharedBytes;
  all.image.dynamicSharedBytes = first.dynamicSharedBytes;
  all.image.tensorMaps = std::move(first.tensorMaps);
  all.image.isDependent = first.isDependent;
  return all;
}

//===-- Copies of rows -------------------------------------------------------------------===//

namespace {
wave::KernelOp kernelOf(mlir::ModuleOp module) {
  return *module.getOps<wave::KernelOp>().begin();
}

class PaddedPlan {
public:
  PaddedPlan(mlir::ModuleOp module, const PaddingPlan &plan, const PlanCompiler &compiler)
      : module(module), plan(plan), compiler(compiler), name(kernelOf(module).getSymName().str()) {
    std::vector<rt::SymbolSpec> symbols;
    for (mlir::StringAttr symbol : kernelOf(module).getDynamic().getAsRange<mlir::StringAttr>())
      symbols.push_back({symbol.getValue().str(), std::nullopt, 0});
    for (mlir::BlockArgument argument : kernelOf(module).block().getArguments())
      if (kernelOf(module).isStable(argument))
        stable.insert(argument.getArgNumber());
    pays = launchExpr(plan.pays, symbols);
    bytes = launchExpr(plan.workspaceBytes, symbols);
  }

  mlir::FailureOr<CompileResult> compile();

private:
  mlir::LogicalResult addStep(mlir::ModuleOp step, std::vector<PlanStep> &steps) {
    mlir::FailureOr<CompileResult> compiled = compiler.compile(step);
    if (mlir::succeeded(compiled))
      steps.push_back({std::move(*compiled)});
    return compiled;
  }
  mlir::FailureOr<std::vector<PlanStep>> compileVersions();

  mlir::ModuleOp module;
  const PaddingPlan &plan;
  const PlanCompiler &compiler;
  std::string name;
  LaunchExpr pays, bytes;
  /// Arguments that no launch writes, so that they are no array that this one writes.
  std::set<uint32_t> stable;
};
} // namespace

/// The kernel that reads the copies and, where only the launch knows whether they pay, the one that does not. Where one
/// of these cannot be compiled every launch uses the other.
mlir::FailureOr<std::vector<PlanStep>> PaddedPlan::compileVersions() {
  std::vector<PlanStep> versions;
  mlir::OwningOpRef<mlir::ModuleOp> padded(module.clone());
  addWorkspace(kernelOf(*padded), plan, /*read=*/true);
  if (!plan.isAlwaysUsed())
    kernelOf(*padded).setSymName(name + "_on_rows");
  mlir::LogicalResult onRows = addStep(*padded, versions);
  if (plan.isAlwaysUsed())
    return mlir::failed(onRows) ? mlir::FailureOr<std::vector<PlanStep>>() : std::move(versions);
  if (mlir::failed(onRows)) {
    compiler.doWithout("rows are never padded, since the kernel that reads them cannot be compiled");
    pays = 0;
  } else {
    addWorkspace(kernelOf(module), plan, /*read=*/false);
  }
  if (mlir::succeeded(addStep(module, versions)))
    return versions;
  if (mlir::failed(onRows))
    return mlir::failure();
  compiler.doWithout("rows are padded in every launch, since the kernel cannot be compiled without");
  pays = 1;
  return versions;
}

mlir::FailureOr<CompileResult> PaddedPlan::compile() {
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> copies;
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    copies.push_back(paddingKernel(kernelOf(module), plan, i));
  mlir::FailureOr<std::vector<PlanStep>> versions = compileVersions();
  if (mlir::failed(versions))
    return mlir::failure();
  bool padded = pays != LaunchExpr(0), both = versions->size() == 2;
  std::vector<PlanStep> steps;
  for (size_t i = 0; i < copies.size() && padded; ++i)
    if (mlir::failed(addStep(*copies[i], steps)))
      return mlir::failure();
  std::move(versions->begin(), versions->end(), std::back_inserter(steps));
  for (PlanStep &step : steps)
    if (both)
      step.use = &step == &steps.back() ? StepUse::elsewhere : StepUse::wherePlanPays;
  CompileResult result = asOne(std::move(steps), pays);
  result.image.kernel = name;
  std::erase_if(result.image.mayAliasExactly, [&](const auto &pair) { return stable.contains(pair[0]); });
  if (padded)
    result.image.workspace.bytes = both ? LaunchExpr::apply(LaunchOp::select, {pays, bytes, 0}) : bytes;
  return result;
}

mlir::FailureOr<CompileResult> compilePlan(mlir::ModuleOp module, const PaddingPlan &plan,
                                           const PlanCompiler &compiler) {
  return PaddedPlan(module, plan, compiler).compile();
}

} // namespace soliton
