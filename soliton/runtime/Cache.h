//===- Cache.h - Compiled kernels on disk ------------------------------------===//
//
// A folder of kernel images, one file per key. The key is a hash of everything that decides the code (the traced
// program, the target, the options, the compiler's build), so an entry never has to be invalidated, and two compilers
// share a folder.
//
//   CacheKey key = KeyBuilder().add("program", text).add("target", name).finish();
//   if (auto image = cache.find(key)) …; else cache.store(key, compile());
//
// Entries appear by rename: readers in other processes see a whole file or none, whenever a writer dies. A damaged
// entry, or one under a name that is not its own, is no entry. When the folder holds more than its limit, entries that
// were not used for longest go first. Code is loaded from the folder, so it must belong to the user alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/KernelImage.h"

#include <chrono>
#include <filesystem>
#include <utility>

namespace soliton::rt {

/// SHA-256 of the parts.
struct CacheKey {
  std::array<uint8_t, 32> digest = {};

  /// 64 hexadecimal digits; the name of the entry's file.
  std::string text() const;
  auto operator<=>(const CacheKey &) const = default;
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

/// One file of a cache.
struct CacheEntry {
  std::filesystem::path file;
  uint64_t bytes = 0;
  std::chrono::file_clock::time_point used;
  /// What it holds; nothing where it is damaged.
  std::optional<KernelImage> image;
};

/// Who holds it compiles; others wait and then find the result. It ends with its process, however that ends.
class CacheClaim {
public:
  explicit CacheClaim(int file) : file(file) {}
  CacheClaim(CacheClaim &&other) noexcept : file(std::exchange(other.file, -1)) {}
  CacheClaim &operator=(CacheClaim &&) = delete;
  ~CacheClaim();

private:
  int file;
};

class ImageCache {
public:
  static constexpr uint64_t kDefaultLimit = uint64_t(1) << 30;

  /// Entries live in `folder`, which is made when the first one is stored.
  explicit ImageCache(std::filesystem::path folder, uint64_t limit = kDefaultLimit)
      : folder(std::move(folder)), limit(limit) {}

  /// `SOLITON_CACHE_DIR`, else `$XDG_CACHE_HOME/soliton`, else `~/.cache/soliton`; nothing where none is set.
  static std::optional<std::filesystem::path> defaultFolder();
  /// Whether the environment says `SOLITON_CACHE=off`.
  static bool isOff();
  /// The default folder, with the limit of `SOLITON_CACHE_MIB`; nothing where there is none, or the cache is off.
  static std::optional<ImageCache> byDefault();

  /// Why the folder is not used, in one sentence; nothing where it can be, or is not there yet.
  std::optional<std::string> flaw() const;

  /// The image under `key`; nothing where there is none that can be read.
  std::optional<KernelImage> find(const CacheKey &key) const;

  /// Waits until nobody else compiles this key, but no longer than `patience`: it may be stuck.
  std::optional<CacheClaim> claim(const CacheKey &key, std::chrono::milliseconds patience) const;

  /// Whether the image was written; a cache that cannot be written is no error.
  bool store(const CacheKey &key, KernelImage image) const;

  /// All entries, those first that were used last.
  std::vector<CacheEntry> entries() const;
  /// Removes an entry; it is no error if another process was faster.
  static void remove(const CacheEntry &entry);
  /// Files of another kind that live here (plug-ins), without what they hold, those first that were used last.
  std::vector<CacheEntry> files(std::string_view suffix) const;
  /// Removes entries of every kind, the longest unused first, until at most `bytes` are left, and what writers left
  /// that died.
  void trim(uint64_t bytes) const;
  /// Down to the cache's limit.
  void trim() const { trim(limit); }

  std::filesystem::path pathOf(const CacheKey &key) const;
  const std::filesystem::path &place() const { return folder; }

private:
  std::filesystem::path folder;
  uint64_t limit;
};

} // namespace soliton::rt
