#include "test/attack/WholeAttack.h"

#include "kernels/Kernels.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/Passes.h"
#include "soliton/transforms/ScheduleLoops.h"
#include "test/generate/Inputs.h"
#include "test/generate/Random.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <random>

namespace soliton::attack {
namespace {
using Module = mlir::OwningOpRef<mlir::ModuleOp>;

/// Two workgroups along each dimension, three trips of each loop.
lang::Substitutions sizesFor(const std::string &name) {
  auto at = [](const char *symbol, int64_t value) { return std::pair(Expr(sym::Expr::symbol(symbol)), Expr(value)); };
  if (name == "attention")
    return {at("M", 64), at("N", 32), at("K", 32), at("L", 96)};
  if (name.starts_with("gemm"))
    return {at("M", 64),       at("N", 64),       at("K", 96),      at("BLOCK_M", 32),
            at("BLOCK_N", 32), at("BLOCK_K", 32), at("WAVES_M", 2), at("WAVES_N", 2)};
  return {at("M", 8), at("N", 192), at("BLOCK_M", 4), at("BLOCK_N", 64), at("WAVES_M", 2), at("WAVES_N", 2)};
}

/// softmax(q k^T) v, a part of k and v at a time.
Kernel attention() {
  auto [M, N, K, L] = symbols<"M N K L">();
  Kernel kernel{"attention",
                {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(L, 32),
                 WaveConstraint(M, 16), HardwareConstraint{}}};
  auto q = kernel.memory("q", {M, K}, shared, f16), k = kernel.memory("k", {L, K}, shared, f16);
  auto v = kernel.memory("v", {N, L}, shared, f16);
  auto o = kernel.memory("o", {M, N}, global, f32);
  Value lowest = kernel.fill({M}, f32, -1e30), none = kernel.fill({M}, f32, 0.0), zero = kernel.fill({M, N}, f32, 0.0);
  auto [largest, total, sums] = kernel.iterate(L, {lowest, none, zero}, [&](Value before, Value acc, Value out) {
    Value scores = mma(read(q), read(k), kernel.fill({M, L}, f32, 0.0));
    Value now = max(scores, before, L), weight = exp(scores - now), shrink = exp(before - now);
    return std::tuple{now, sum(weight, acc * shrink, L), mma(cast(weight, f16), read(v), out * shrink)};
  });
  write(sums / total, o);
  return kernel;
}

Module traced(const WholeSetting &setting, mlir::MLIRContext &context, generate::Program &generated) {
  if (setting.name.starts_with("seed ")) {
    generated = generate::randomProgram(std::stoull(setting.name.substr(5)));
    return mlir::parseSourceString<mlir::ModuleOp>(generate::print(generated, setting.target), &context);
  }
  const kernels::KernelEntry *entry = setting.name == "attention" ? nullptr : kernels::findKernel(setting.name);
  Kernel kernel = entry ? entry->build(entry->variants.front()) : attention();
  return std::move(emitKernel(kernel, context, {sizesFor(setting.name), {}, setting.target, {}}).module);
}

bool run(mlir::ModuleOp module, llvm::function_ref<void(mlir::OpPassManager &)> build) {
  mlir::PassManager manager(module.getContext());
  build(manager);
  return mlir::succeeded(manager.run(module));
}

/// The road up to the final order, without the last step.
bool schedule(mlir::ModuleOp module, const std::string &name) {
  sched::ScheduleRequest request;
  request.name = name;
  return run(module, [&](mlir::OpPassManager &pm) { buildOrderedPipeline(pm, request); });
}
} // namespace

std::unique_ptr<Victim> makeVictim(const WholeSetting &setting, std::string &why) {
  auto victim = std::make_unique<Victim>();
  victim->setting = setting;
  victim->context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  victim->context->loadDialect<wave::WaveDialect, machine::MachineDialect>();
  DiagnosticCollector collector(victim->context.get());
  auto refused = [&] {
    why = format(collector.take());
    return nullptr;
  };
  generate::Program generated;
  victim->scheduled = traced(setting, *victim->context, generated);
  if (!victim->scheduled)
    return refused();
  wave::KernelOp kernel = *victim->scheduled->getOps<wave::KernelOp>().begin();
  OracleOptions options;
  if (!generated.memories.empty()) {
    options.symbols = generate::dynamicSizes(generated);
    options.arguments = generate::inputsOf(generated);
    options.mayDiffer = generate::mayDiffer(generated);
  }
  mlir::FailureOr<Oracle> oracle = Oracle::of(kernel, options);
  if (mlir::failed(oracle))
    return refused();
  victim->oracle = std::move(*oracle);
  kernel.setDirectCopies(setting.directCopies || generated.directCopies);
  if (!schedule(*victim->scheduled, setting.schedule))
    return refused();
  victim->synchronized = victim->scheduled->clone();
  bool done = run(*victim->synchronized,
                  [](mlir::OpPassManager &pm) { pm.nest<wave::KernelOp>().addPass(createSynchronizePass({})); });
  return done ? std::move(victim) : refused();
}

std::vector<WholeSetting> wholeSettings(int seeds) {
  std::vector<WholeSetting> list;
  for (const char *target : {"gfx942", "gfx950", "sm_90a"}) {
    for (const char *name : {"gemm", "gemm_nn", "row_softmax", "attention", "transpose"})
      for (const char *schedule : {"none", "prefetch", "modulo"})
        for (bool direct : {false, true})
          if (!direct || std::string_view(name).starts_with("gemm"))
            list.push_back({name, target, schedule, direct});
    for (int seed = 0; seed < seeds; ++seed)
      list.push_back({"seed " + std::to_string(seed), target, seed % 2 ? "none" : "prefetch", false});
  }
  std::shuffle(list.begin(), list.end(), std::mt19937(2026));
  return list;
}

} // namespace soliton::attack
