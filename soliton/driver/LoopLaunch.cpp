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

int64_t iterationsOf(const Kernel &kernel, std::string_view loop, const lang::Substitutions &bound) {
  const auto *tiling = kernel.program()->find<TilingConstraint>(
      [&](const TilingConstraint &each) { return each.dim.isSymbol() && each.dim.symbolName() == loop; });
  if (!tiling)
    return 0;
  sym::Expr count = tiling->options.iters ? *tiling->options.iters : sym::ceildiv(tiling->dim, tiling->tile);
  return std::max<int64_t>(valueOf(count, bound).value_or(0), 0);
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
  // Behind copies of tensors comes the kernel itself, in one of its forms.
  for (const rt::LaunchStep &step : rt::launchSteps(image)) {
    int64_t workgroups = workgroupsOf(step, symbols);
    if (workgroups == 0 && launch.workgroups > 0)
      continue;
    int64_t threads = int64_t{step.threads[0]} * step.threads[1] * step.threads[2];
    launch.workgroups = workgroups;
    launch.waves = std::max<int64_t>(threads / findTarget(image.target)->waveSize, 1);
  }
  if (kernel && launch.workgroups > 0)
    launch.tiles = std::max<int64_t>((tilesOf(*kernel, bound) + launch.workgroups - 1) / launch.workgroups, 1);
  if (kernel)
    launch.iterations = iterationsOf(*kernel, loop.problem.loop, bound) / std::max(loop.unrollFirst, 1);
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
