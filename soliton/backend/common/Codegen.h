//===- Codegen.h - LLVM as a library: optimise, emit, survive -------------------===//
//
// One module at a time, in this process, with no way for LLVM to end it: fatal errors, crashes and backend diagnostics
// come back as text.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/backend/Backend.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"

#include <chrono>
#include <shared_mutex>

namespace soliton::backend {

/// Once per process; every entry to the back end calls it.
void initializeTargets();

/// LLVM's options are one set per process, and lld resets them all. Whoever generates code shares this; whoever links
/// has it alone and calls `applyOptions` before giving it back.
std::shared_mutex &optionsMutex();
void applyOptions();

/// Null if LLVM does not know the target.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const Target &target, const std::string &features);

/// What the code needs and LLVM's pipelines do too, without vectorising or unrolling what the schedule has arranged.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// From here on, what is compiled in the module's context is spared LLVM's passes that take too long on kernels as
/// large as this one and, if it `keepsOrder`, those that reorder instructions: a schedule has decided it.
void setGate(llvm::Module &module, bool keepsOrder);

/// Object code or assembly; empty if the target cannot emit that.
std::string emit(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type);

/// Adds the time until it dies to `phases`.
class PhaseTimer {
public:
  PhaseTimer(std::vector<Phase> &phases, std::string name) : phases(phases), name(std::move(name)) {}
  ~PhaseTimer() {
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    phases.push_back({std::move(name), time.count()});
  }

private:
  std::vector<Phase> &phases;
  std::string name;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Runs `work` so that a crash or fatal error in it only ends `work`. What went wrong, or nothing.
std::optional<std::string> runGuarded(llvm::function_ref<void()> work);

/// Gathers what LLVM has to say about a module, errors and warnings apart.
class LlvmMessages {
public:
  explicit LlvmMessages(llvm::LLVMContext &context);
  std::string errors, warnings;
};

} // namespace soliton::backend
