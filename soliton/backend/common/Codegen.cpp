//===- Codegen.cpp - LLVM as a library: optimise, emit, survive -----------------===//

#include "soliton/backend/common/Codegen.h"

#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Target/TargetLoweringObjectFile.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

// Only these two; LLVM's own header would ask for all of them.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUDisassembler();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace soliton::backend {

static void setOption(llvm::StringRef name, llvm::StringRef value) {
  auto &options = llvm::cl::getRegisteredOptions();
  auto entry = options.find(name);
  if (entry == options.end())
    return;
  entry->second->reset();
  entry->second->addOccurrence(0, name, value);
}

std::shared_mutex &optionsMutex() {
  static std::shared_mutex mutex;
  return mutex;
}

void applyOptions() {
  setOption("amdgpu-load-store-vectorizer", "false");           // accesses have their final width
  setOption("amdgpu-codegenprepare-break-large-phis", "false"); // accumulators stay whole: no copies around loops
  setOption("disable-nvptx-load-store-vectorizer", "true");
  setOption("nvptx-short-ptr", "true"); // shared addresses are 32 bits
}

/// What LLVM said before it gave up, per thread.
static thread_local std::string fatalMessage;

/// LLVM would end the process after this: leave before it does.
static void onFatalError(void *, const char *reason, bool) {
  fatalMessage = reason;
  if (llvm::CrashRecoveryContext *recovery = llvm::CrashRecoveryContext::GetCurrent())
    recovery->HandleExit(1);
}

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUDisassembler();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    applyOptions();
    llvm::install_fatal_error_handler(onFatalError);
  });
}

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const Target &target, const std::string &features) {
  initializeTargets();
  bool isAmd = target.vendor == Vendor::amd;
  llvm::Triple triple(isAmd ? "amdgcn-amd-amdhsa" : "nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(triple, target.name, features,
                                                                         llvm::TargetOptions(), llvm::Reloc::PIC_,
                                                                         std::nullopt, llvm::CodeGenOptLevel::Default));
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager groups;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(groups);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, groups, modules);

  llvm::FunctionPassManager pipeline;
  pipeline.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  pipeline.addPass(llvm::SimplifyCFGPass());
  pipeline.addPass(llvm::InstCombinePass());
  pipeline.addPass(llvm::ReassociatePass());
  pipeline.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  pipeline.addPass(llvm::GVNPass());
  pipeline.addPass(llvm::InstCombinePass());
  pipeline.addPass(llvm::SimplifyCFGPass());
  pipeline.addPass(llvm::ADCEPass());
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(pipeline)));
  all.run(module, modules);
}

namespace {
/// Refuses passes of LLVM. They are skipped, not left out: other passes are placed relative to them.
class Gate final : public llvm::OptPassGate {
public:
  Gate(bool keepsOrder, bool isLarge) : keepsOrder(keepsOrder), isLarge(isLarge) {}

  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    // They compare addresses pair by pair through all that each is made of: a kernel with 500 stores at places that a
    // dynamic size sets apart takes minutes. Our addresses share what they have in common already.
    if (pass == "slsr" || pass == "nary-reassociate")
      return false;
    // It begins a block anew with each change: 40,000 instructions in a row take minutes.
    if (pass == "codegenprepare" && isLarge)
      return false;
    // Instruction selection keeps the order of the IR by itself.
    bool reorders = pass == "machine-scheduler" || pass == "postmisched" || pass == "post-RA-sched";
    return !reorders || !keepsOrder;
  }

private:
  bool keepsOrder, isLarge;
};
} // namespace

void setGate(llvm::Module &module, bool keepsOrder) {
  constexpr unsigned kLarge = 10000;
  static Gate gates[2][2] = {{{false, false}, {false, true}}, {{true, false}, {true, true}}};
  module.getContext().setOptPassGate(gates[keepsOrder][module.getInstructionCount() > kLarge]);
}

std::string emit(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  // As TargetMachine::addPassesToEmitFile does it, but without the pass that joins neighbouring accesses: waits and
  // groups of the schedule count instructions.
  auto *info = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  if (const llvm::PassInfo *joins =
          llvm::PassRegistry::getPassRegistry()->getPassInfo(llvm::StringRef("si-load-store-opt")))
    config->disablePass(joins->getTypeInfo());
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses())
    return {};
  config->addMachinePasses();
  config->setInitialized();
  if (machine.addAsmPrinter(passes, stream, nullptr, type, info->getMMI().getContext()))
    return {};
  passes.add(llvm::createFreeMachineFunctionPass());
  // What addPassesToEmitFile would also have told the lowering of the object file.
  const_cast<llvm::TargetLoweringObjectFile *>(machine.getObjFileLowering())
      ->Initialize(info->getMMI().getContext(), machine);
  passes.run(module);
  return std::string(buffer.begin(), buffer.end());
}

//===-- Survival ----------------------------------------------------------------===//

namespace {
/// Crash recovery is on while somebody compiles, and off when nobody does: the process has its own signal handlers.
class RecoveryScope {
public:
  RecoveryScope() {
    std::lock_guard lock(mutex);
    if (users++ == 0)
      llvm::CrashRecoveryContext::Enable();
  }
  ~RecoveryScope() {
    std::lock_guard lock(mutex);
    if (--users == 0)
      llvm::CrashRecoveryContext::Disable();
  }

private:
  static inline std::mutex mutex;
  static inline int users = 0;
};
} // namespace

std::optional<std::string> runGuarded(llvm::function_ref<void()> work) {
  initializeTargets();
  RecoveryScope scope;
  fatalMessage.clear();
  llvm::CrashRecoveryContext recovery;
  if (recovery.RunSafely(work))
    return std::nullopt;
  return fatalMessage.empty() ? "crashed with code " + std::to_string(recovery.RetCode) : fatalMessage;
}

LlvmMessages::LlvmMessages(llvm::LLVMContext &context) {
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *self) {
        if (info->getSeverity() != llvm::DS_Error && info->getSeverity() != llvm::DS_Warning)
          return;
        std::string text;
        llvm::raw_string_ostream stream(text);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
        auto &messages = *static_cast<LlvmMessages *>(self);
        std::string &list = info->getSeverity() == llvm::DS_Error ? messages.errors : messages.warnings;
        list += (list.empty() ? "" : "; ") + text;
      },
      this);
}

} // namespace soliton::backend
