#include "soliton/driver/LoopLaunch.h"

#include "soliton/frontend/Program.h"

#include <algorithm>

namespace soliton {
using frontend::Program;

std::optional<int64_t> valueOf(sym::Expr formula, const lang::Substitutions &bound) {
  sym::Substitution known;
  for (const auto &[symbol, value] : bound)
    known.set(symbol, value);
  constexpr int kDepth = 4; // derived sizes are formulas of others
  for (int i = 0; i < kDepth && !formula.constantValue(); ++i)
    formula = sym::substitute(formula, known);
  return formula.constantValue();
}

/// Tiles that the grid has along one of its dimensions; 0 where that is not known.
static int64_t tilesAlong(const Program &program, int dim, const lang::Substitutions &bound) {
  int64_t count = 1;
  for (const frontend::AnyConstraint &constraint : program.constraints)
    if (const auto *workgroups = std::get_if<WorkgroupConstraint>(&constraint);
        workgroups && workgroups->options.primary && workgroups->workgroup_dim == dim)
      count *= std::max<int64_t>(valueOf(workgroups->options.iters ? *workgroups->options.iters
                                                                   : sym::ceildiv(workgroups->dim, workgroups->tile),
                                         bound)
                                     .value_or(0),
                                 0);
  return count;
}

/// What a formula of workgroups' numbers comes to for some of them, evenly from the first to the last; empty where that
/// is not known.
static std::vector<int64_t> valuesOverGrid(const Program &program, const sym::Expr &formula,
                                           const lang::Substitutions &bound, int dim = 0) {
  constexpr int kDims = 3;
  constexpr int64_t kMost = 64;
  if (dim == kDims) {
    std::optional<int64_t> value = valueOf(formula, bound);
    return value ? std::vector<int64_t>{*value} : std::vector<int64_t>();
  }
  if (!sym::contains(formula, workgroup_id(dim)))
    return valuesOverGrid(program, formula, bound, dim + 1);
  std::vector<int64_t> values;
  const int64_t tiles = tilesAlong(program, dim, bound), count = std::min(tiles, kMost);
  for (int64_t i = 0; i < count; ++i) {
    lang::Substitutions here = bound;
    here.emplace_back(workgroup_id(dim), count > 1 ? i * (tiles - 1) / (count - 1) : 0);
    std::vector<int64_t> more = valuesOverGrid(program, formula, here, dim + 1);
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

Iterations iterationsOf(const Kernel &kernel, std::string_view loop, const lang::Substitutions &bound) {
  const Program &program = *kernel.program();
  const auto *tiling = program.find<TilingConstraint>(
      [&](const TilingConstraint &each) { return each.dim.isSymbol() && each.dim.symbolName() == loop; });
  if (!tiling)
    return {};
  const sym::Expr whole = sym::ceildiv(tiling->dim, tiling->tile);
  std::vector<int64_t> values = valuesOverGrid(program, tiling->options.iters.value_or(whole), bound);
  if (values.empty()) {
    int64_t most = std::max<int64_t>(valueOf(whole, bound).value_or(0), 0);
    return {most, most};
  }
  Iterations found;
  for (int64_t &value : values) {
    value = std::max<int64_t>(value, 0);
    found.most = std::max(found.most, value);
    found.mean += value;
  }
  const auto count = static_cast<int64_t>(values.size());
  found.mean = (found.mean + count - 1) / count;
  return found;
}

int64_t tilesOf(const Kernel &kernel, const lang::Substitutions &bound) {
  int64_t count = 1;
  for (const frontend::AnyConstraint &constraint : kernel.program()->constraints) {
    const auto *workgroups = std::get_if<WorkgroupConstraint>(&constraint);
    if (!workgroups || !workgroups->options.primary)
      continue;
    std::optional<int64_t> tiles = valueOf(workgroups->options.iters ? *workgroups->options.iters
                                                                     : sym::ceildiv(workgroups->dim, workgroups->tile),
                                           bound);
    if (!tiles || *tiles < 1 || __builtin_mul_overflow(count, *tiles, &count))
      return 0;
  }
  return count;
}

/// Workgroups of a kernel of the plan; 0 where that is not known now, or where it does not run.
static int64_t workgroupsOf(const rt::LaunchStep &step, std::span<const int64_t> symbols) {
  int64_t count = 1;
  for (const rt::LaunchExpr &extent : step.grid) {
    rt::LaunchValue value = extent.evaluate(symbols);
    count *= value.ok() ? std::max<int64_t>(value.value, 0) : 0;
  }
  return count;
}

sched::Launch launchOf(const Kernel *kernel, const CompileResult &compiled, const sched::LoopReport &loop,
                       const lang::Substitutions &bound) {
  const rt::KernelImage &image = compiled.image;
  std::vector<int64_t> symbols;
  for (const rt::SymbolSpec &symbol : image.symbols)
    symbols.push_back(valueOf(sym::Expr::symbol(symbol.name), bound).value_or(0));
  sched::Launch launch;
  int64_t inCluster = 1;
  // Behind copies of tensors comes the kernel itself, in one of its forms.
  for (const rt::LaunchStep &step : rt::launchSteps(image)) {
    int64_t workgroups = workgroupsOf(step, symbols);
    if (workgroups == 0 && launch.workgroups > 0)
      continue;
    int64_t threads = int64_t{step.threads[0]} * step.threads[1] * step.threads[2];
    launch.workgroups = workgroups;
    launch.waves = std::max<int64_t>(threads / findTarget(image.target)->waveSize, 1);
    inCluster = int64_t{step.cluster[0]} * step.cluster[1] * step.cluster[2];
  }
  if (!kernel)
    return launch;
  const int64_t tiles = tilesOf(*kernel, bound);
  if (launch.workgroups > 0)
    launch.tiles = std::max<int64_t>((tiles + launch.workgroups - 1) / launch.workgroups, 1);
  // Where each workgroup has a compute unit of its own the launch takes as long as the longest of them.
  Iterations iterations = iterationsOf(*kernel, loop.problem.loop, bound);
  bool isAlone = launch.workgroups > 0 && launch.workgroups <= findTarget(image.target)->computeUnits;
  // A cluster that has one tile sums it together: each of its workgroups has a part of the loop.
  int64_t parts = tiles > 0 && launch.workgroups == tiles * inCluster ? inCluster : 1;
  int64_t own = (isAlone && launch.tiles == 1 ? iterations.most : iterations.mean) / std::max(loop.unrollFirst, 1);
  launch.iterations = (own + parts - 1) / parts;
  return launch;
}

/// What is left of a size: none where nothing tiles the dimension.
static std::optional<int64_t> smallSize(const Program &program, const sym::Expr &dim, const lang::Substitutions &bound,
                                        int64_t more) {
  constexpr int64_t kIterations = 6;
  const auto *tiling = program.findFor<TilingConstraint>(dim);
  const auto *workgroups = program.findFor<WorkgroupConstraint>(dim);
  if (!tiling && !workgroups)
    return std::nullopt;
  std::optional<int64_t> tile = valueOf(tiling ? tiling->tile : workgroups->tile, bound);
  if (!tile)
    return std::nullopt;
  // Of what each workgroup has one (batches, heads), two are enough, and no rest is ragged.
  if (*tile == 1 && !tiling)
    return 2;
  return (tiling ? kIterations * *tile : *tile) + more;
}

std::map<std::string, int64_t> smallSizes(const Kernel &kernel, const lang::Substitutions &bound, int64_t more) {
  std::map<std::string, int64_t> sizes;
  const std::shared_ptr<Program> &program = kernel.program();
  for (const frontend::Parameter &parameter : program->parameters)
    for (const sym::Expr &dim : parameter.shape) {
      std::optional<int64_t> size = dim.isSymbol() ? valueOf(dim, bound) : std::nullopt;
      if (!size)
        continue;
      std::string name(dim.symbolName());
      sizes[name] = std::min(*size, smallSize(*program, dim, bound, more).value_or(*size));
    }
  return sizes;
}

} // namespace soliton
