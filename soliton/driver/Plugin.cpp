#include "soliton/driver/Plugin.h"

#include "soliton/driver/CompileCache.h"
#include "soliton/driver/PluginBuild.h"

#include <dlfcn.h>

namespace soliton {
namespace fs = std::filesystem;

bool isPluginFile(std::string_view name) {
  for (std::string_view suffix : {".cpp", ".cc", ".cxx", ".so"})
    if (name.size() > suffix.size() && name.ends_with(suffix))
      return true;
  return false;
}

std::string programBuild() {
  static const std::string build = [] {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (unsigned char byte : buildIdAt(reinterpret_cast<const void *>(&loadPlugin)).value_or("")) {
      text += digits[byte >> 4];
      text += digits[byte & 15];
    }
    return text;
  }();
  return build;
}

[[noreturn]] static void fail(DiagId id, Place place, std::string message, std::string hint) {
  throw CompileError({{Severity::error, id, std::move(place), std::move(message), std::move(hint), {}}});
}

/// A plug-in of another build must not run: its idea of our types is another one.
static void requireSameBuild(void *library, const std::string &file) {
  const auto *build = static_cast<const char *>(::dlsym(library, "solitonPluginBuild"));
  if (!build)
    fail(DiagId::PluginLoad, Place(file, 1, 1), "the library registers no kernels",
         "include `soliton/plugin.h` and write `SOLITON_KERNEL(name) { … }`");
  if (programBuild() != build)
    fail(DiagId::PluginBuild, Place(file, 1, 1),
         "the plug-in was built for Soliton " + std::string(build).substr(0, 16) + ", this is " +
             programBuild().substr(0, 16),
         "build it again: `soliton compile FILE.cpp --emit plugin -o FILE.so`");
}

static PluginKernel makeKernel(const plugin::Registered &each) {
  try {
    return {each.name, each.place, each.make()};
  } catch (const CompileError &) {
    throw;
  } catch (const std::exception &error) {
    fail(DiagId::PluginThrew, each.place, "`" + each.name + "` threw: " + error.what(),
         "mistakes in a kernel are collected without exceptions; this one is of the file's own code");
  }
}

/// Whether the program exports what plug-ins take from it is seen here, too: the linker names what is missing.
static std::vector<PluginKernel> kernelsOf(const fs::path &library, const std::string &file) {
  void *handle = ::dlopen(fs::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = ::dlerror();
    fail(
        DiagId::PluginLoad, Place(file, 1, 1), "it cannot be loaded: " + std::string(why ? why : "no reason given"),
        "a function that is declared but defined nowhere, or a library that is missing? `SOLITON_CXXFLAGS` adds `-l…`");
  }
  requireSameBuild(handle, file);
  using Kernels = const std::vector<plugin::Registered> *(*)();
  auto registered = reinterpret_cast<Kernels>(::dlsym(handle, "solitonPluginKernels"));
  std::vector<PluginKernel> kernels;
  if (registered)
    for (const plugin::Registered &each : *registered())
      kernels.push_back(makeKernel(each));
  if (kernels.empty())
    fail(DiagId::PluginLoad, Place(file, 1, 1), "the file registers no kernel",
         "write `SOLITON_KERNEL(name) { … return {.kernel = …}; }`");
  return kernels;
}

Plugin loadPlugin(const std::string &file) {
  if (file.ends_with(".so")) {
    if (::access(file.c_str(), R_OK) != 0)
      fail(DiagId::PluginLoad, Place(file, 1, 1), "there is no such file, or it cannot be read", "");
    return {kernelsOf(file, file), true, {}};
  }
  BuiltPlugin built = findOrBuildPlugin(file);
  bool isKept = built.library.extension() == ".plugin";
  Plugin plugin{{}, built.isFromCache, std::move(built.compilerSaid)};
  std::error_code error;
  try {
    plugin.kernels = kernelsOf(built.library, file);
  } catch (...) {
    fs::remove(built.library, error); // What cannot be loaded is not kept either.
    throw;
  }
  if (!isKept)
    fs::remove(built.library, error);
  return plugin;
}

std::string buildPlugin(const std::string &file, const std::string &output) {
  return compilePlugin(file, output);
}

} // namespace soliton
