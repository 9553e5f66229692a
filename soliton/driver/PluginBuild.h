//===- PluginBuild.h - A user's C++ file to a library ------------------------------------===//
//
// Decides which compiler, which flags and which headers; runs it; keeps all that it says.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/PluginFile.h"

namespace soliton {

/// How plug-ins are built on this machine.
struct Toolchain {
  /// The compiler by its path, what a new one changes of it, and flags of the user's own (`SOLITON_CXXFLAGS`).
  std::string compiler, identity;
  std::vector<std::string> flags;
  /// The folder with `soliton/plugin.h`.
  std::string headers;
};

/// `SOLITON_CXX`, else `CXX`, else the first of c++, clang++ and g++ that is found; the headers beside this program, or
/// where `SOLITON_INCLUDE_DIR` says. Throws CompileError `plugin-toolchain`.
Toolchain findToolchain(const std::string &source);

struct BuiltPlugin {
  std::filesystem::path library;
  bool isFromCache = false;
  std::string compilerSaid;
};

/// Compiles to `library` and puts its record behind it; returns what the compiler said. Throws `plugin-compile`.
std::string compilePlugin(const std::string &source, const std::filesystem::path &library);

/// From the cache, otherwise compiled and kept there; where there is no cache, to a file of its own in a temporary
/// folder that the caller removes after loading it.
BuiltPlugin findOrBuildPlugin(const std::string &source);

} // namespace soliton
