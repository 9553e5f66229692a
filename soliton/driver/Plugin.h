//===- Plugin.h - From a user's C++ file to kernels in this process ----------------------===//
//
// A file of kernels (soliton/plugin.h) is compiled by the system's C++ compiler to a library that takes all of Soliton
// from the program that loads it (docs/decisions/0020-plug-ins.md). What was built before is found in the cache: by the
// file's path and text, the compiler and its flags, and this build of Soliton, as long as no header that it includes
// has changed.
//
//   Plugin plugin = loadPlugin("scale.cpp");
//   plugin.kernels[0].name == "scale"
//
// Throws CompileError: `plugin-toolchain`, `plugin-compile` with all that the compiler said, `plugin-build` for a
// library of another build, `plugin-load`, `plugin-threw`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/UserKernel.h"
#include "soliton/runtime/Cache.h"

namespace soliton {

struct PluginKernel {
  std::string name;
  Place place;
  UserKernel kernel;
};

struct Plugin {
  std::vector<PluginKernel> kernels;
  /// It was built before.
  bool isFromCache = false;
  /// What the compiler said though it succeeded: warnings.
  std::string compilerSaid;
};

/// The kernels of a `.cpp` file, or of a `.so` that `buildPlugin` made. The code stays until the process ends.
Plugin loadPlugin(const std::string &file);

/// Only builds: a library that this build of Soliton loads, where there may be no compiler. Returns warnings.
std::string buildPlugin(const std::string &file, const std::string &output);

/// Whether a name is that of a file with kernels in C++, or of a plug-in.
bool isPluginFile(std::string_view name);

/// What tells this program from any other, in hexadecimal digits.
std::string programBuild();

//===-- In the cache ------------------------------------------------------------------------===//

/// A plug-in that the cache holds; `source` is empty where it is damaged.
struct CachedPlugin {
  std::filesystem::path file;
  uint64_t bytes = 0;
  std::chrono::file_clock::time_point used;
  std::string source;
};
std::vector<CachedPlugin> cachedPlugins(const rt::ImageCache &cache);

} // namespace soliton
