// An empty Polly for static links: LLVM's list of built-in extensions names it, but its archive is not installed with
// LLVM's own.
#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "no-polly", "0", [](llvm::PassBuilder &) {}};
}
