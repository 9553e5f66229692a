// What LLVM's archives ask for and a static link leaves out: Polly, whose archive is not installed with LLVM's own, and
// the targets that are no GPUs. Their names are in LeftOutTargets.inc, which StaticLlvm.cmake writes.
#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "no-polly", "0", [](llvm::PassBuilder &) {}};
}

extern "C" {
#define LEFT_OUT(target)                                                                                               \
  void LLVMInitialize##target##TargetInfo() {}                                                                         \
  void LLVMInitialize##target##Target() {}                                                                             \
  void LLVMInitialize##target##TargetMC() {}                                                                           \
  void LLVMInitialize##target##AsmPrinter() {}                                                                         \
  void LLVMInitialize##target##AsmParser() {}                                                                          \
  void LLVMInitialize##target##Disassembler() {}
#include "LeftOutTargets.inc"
#undef LEFT_OUT
}
