//===- PluginFile.h - A built plug-in as a file of the cache -----------------------------===//
//
// The library itself, which a loader takes as it is, and behind it what it was built from:
//
//   <ELF> "soliton-plugin 1\nkey …\nsource scale.cpp\nheader <sha256> /…/mine.h\n" <length> <sha256 of all before>
//
// A file whose checksum or key is wrong, or one of whose headers has changed, is no entry.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/Cache.h"

namespace soliton {

/// A file that a plug-in includes, as it was when it was built.
struct PluginHeader {
  std::string path, hash;
};

struct PluginRecord {
  /// Of the cache; see PluginBuild.cpp.
  std::string key;
  std::string source;
  std::vector<PluginHeader> headers;
};

/// The sha256 of a file in hexadecimal digits; empty where it cannot be read.
std::string hashOfFile(const std::filesystem::path &file);

/// Puts the record behind the library.
bool sealPlugin(const std::filesystem::path &library, const PluginRecord &record);
/// What is behind the library; nothing where it is damaged, or nothing is there.
std::optional<PluginRecord> recordOf(const std::filesystem::path &library);
/// Whether every header is as it was.
bool isUpToDate(const PluginRecord &record);

/// The files that the first rule of a makefile, as compilers write it for `-MMD`, names after the colon.
std::vector<std::string> parseDependences(std::string_view makefile);

} // namespace soliton
