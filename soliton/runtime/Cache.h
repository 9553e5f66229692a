//===- Cache.h - Compiled kernels on disk ------------------------------------===//
//
// A folder of kernel images, one file per key. The key is a hash of everything that decides the code (the scheduled
// program, the target, the options that survive, the compiler's build), so an entry never has to be invalidated.
// Entries appear by rename: readers in other processes see a whole file or none. A damaged entry is no entry.
//
//   CacheKey key = KeyBuilder().add("program", text).add("target", name).finish();
//   if (auto image = cache.find(key)) …; else cache.store(key, compile());
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/KernelImage.h"

#include <filesystem>

namespace soliton::rt {

/// SHA-256 of the parts.
struct CacheKey {
  std::array<uint8_t, 32> digest = {};

  /// 64 hexadecimal digits; the name of the entry's file.
  std::string text() const;
  bool operator==(const CacheKey &) const = default;
};

/// Hashes named parts; order, names and lengths count, so that no two lists of parts run together.
class KeyBuilder {
public:
  KeyBuilder &add(std::string_view name, std::string_view value);
  KeyBuilder &add(std::string_view name, int64_t value) { return add(name, std::to_string(value)); }
  CacheKey finish() const;

private:
  std::string parts;
};

class ImageCache {
public:
  /// Entries live in `folder`, which is made when the first one is stored.
  explicit ImageCache(std::filesystem::path folder) : folder(std::move(folder)) {}

  /// `SOLITON_CACHE_DIR`, else `$XDG_CACHE_HOME/soliton`, else `~/.cache/soliton`; nothing where none is set.
  static std::optional<std::filesystem::path> defaultFolder();

  /// The image under `key`; nothing where there is none that can be read.
  std::optional<KernelImage> find(const CacheKey &key) const;

  /// Whether the image was written; a cache that cannot be written is no error.
  bool store(const CacheKey &key, const KernelImage &image) const;

  std::filesystem::path pathOf(const CacheKey &key) const;

private:
  std::filesystem::path folder;
};

} // namespace soliton::rt
