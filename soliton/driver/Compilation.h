//===- Compilation.h - One compilation, step by step ---------------------------------------===//
//
// The state between the steps: what was traced, what was said, how long each took. Compile.cpp compiles,
// CompileAndLoad.cpp looks for what was compiled before and puts it on a device.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/CompileCache.h"
#include "soliton/driver/CompilePlan.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Machine.h"
#include "soliton/target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>

namespace soliton {

class Compilation {
public:
  Compilation(const CompileOptions &options, rt::ImageKind kind);

  CompileAttempt fromKernel(const Kernel &kernel);

  /// What the kernel is known by in the cache; nothing where it is not to be looked for there.
  std::optional<rt::CacheKey> traceForCache(const Kernel &kernel);

  /// What was traced: from the cache, otherwise compiled, and then kept there.
  CompileAttempt findOrFinish(const std::optional<rt::CacheKey> &key);

  CompileAttempt fromText(std::string_view text, std::string_view fileName,
                          const std::function<rt::ImageKind(const std::string &)> &kindFor);

private:
  using Clock = std::chrono::steady_clock;

  void trace(const Kernel &kernel);

  std::optional<CompileAttempt> find(const rt::ImageCache &cache, const rt::CacheKey &key);

  CompileAttempt finish(mlir::OwningOpRef<mlir::ModuleOp> module);

  bool checkOptions();
  mlir::LogicalResult takeRoles(wave::KernelOp kernel);
  mlir::LogicalResult run(mlir::ModuleOp module);
  mlir::LogicalResult setTileCluster(wave::KernelOp kernel);
  mlir::LogicalResult compileOne(mlir::ModuleOp module);
  mlir::LogicalResult compileAll(mlir::ModuleOp module, const PaddingPlan &plan);
  void noteMissingVersion(std::string_view what);
  mlir::LogicalResult runPasses(mlir::ModuleOp module, llvm::function_ref<void(mlir::OpPassManager &)> build);
  mlir::LogicalResult translate(machine::KernelOp kernel, const Target &target);
  mlir::LogicalResult translateToBinary(machine::KernelOp kernel, const Target &target);
  void describeMachine(machine::KernelOp kernel);
  void keepText(Artefact artefact, mlir::Operation *op);
  bool wants(Artefact artefact) const { return llvm::is_contained(options.keep, artefact); }
  /// The time since the last one goes to this step.
  void lap(std::string_view name);

  const CompileOptions &options;
  rt::ImageKind kind;
  mlir::MLIRContext &context;
  DiagnosticCollector collector;
  std::vector<Diagnostic> early;
  mlir::OwningOpRef<mlir::ModuleOp> traced;
  CompileResult result;
  Clock::time_point last;
  /// That the verifiers of forms took, in the midst of the passes.
  double formsMs = 0;
};

/// Contexts are dear to make and cheap to keep: one per thread, renewed now and then so that interned attributes of
/// many compilations do not pile up.
mlir::MLIRContext &threadContext();

/// Compiles; once more where the schedule says of the whole workgroup what the kernel did not have yet: schedules run
/// on instructions, and passes in front of those have to know who copies and who walks (sched::Roles).
template <typename Compile>
auto compileAsSaid(const CompileOptions &options, Compile compileWith) {
  if (!options.schedule.written && options.schedule.file.empty())
    return compileWith(options);
  CompileOptions complete = options;
  complete.schedule.said = std::make_shared<sched::Roles>();
  for (;;) {
    const sched::Roles before = *complete.schedule.said;
    auto outcome = compileWith(complete);
    if (before.hold(*complete.schedule.said)) // each attempt adds something, and there are three things to add
      return outcome;
  }
}

/// The options with the line of the call, unless they have one, and the text of the schedule file that they name.
CompileOptions placed(CompileOptions options, const Place &call);

} // namespace soliton
