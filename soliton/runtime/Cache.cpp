#include "soliton/runtime/Cache.h"

#include "soliton/support/Diagnostics.h"
#include "soliton/support/Sha256.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace soliton::rt {
namespace fs = std::filesystem;

/// Where an entry says whose it is: a file under another name must not be taken for that one.
static constexpr const char *kKey = "cache.key";
static constexpr const char *kSuffix = ".kernel";
/// What the driver keeps here beside kernels.
static constexpr const char *kPluginSuffix = ".plugin";

std::string CacheKey::text() const {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

KeyBuilder &KeyBuilder::add(std::string_view name, std::string_view value) {
  for (std::string_view piece : {name, value}) {
    parts += std::to_string(piece.size());
    parts += ':';
    parts += piece;
  }
  return *this;
}

CacheKey KeyBuilder::finish() const {
  return {sha256(parts)};
}

std::optional<fs::path> ImageCache::defaultFolder() {
  auto variable = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value ? value : "";
  };
  if (std::string folder = variable("SOLITON_CACHE_DIR"); !folder.empty())
    return folder;
  if (std::string folder = variable("XDG_CACHE_HOME"); !folder.empty())
    return fs::path(folder) / "soliton";
  if (std::string home = variable("HOME"); !home.empty())
    return fs::path(home) / ".cache" / "soliton";
  return std::nullopt;
}

bool ImageCache::isOff() {
  const char *wanted = std::getenv("SOLITON_CACHE");
  return wanted && std::string_view(wanted) == "off";
}

std::optional<ImageCache> ImageCache::byDefault() {
  const char *size = std::getenv("SOLITON_CACHE_MIB");
  std::optional<fs::path> folder = defaultFolder();
  if (!folder || isOff())
    return std::nullopt;
  uint64_t mebibytes = kDefaultLimit >> 20;
  if (size)
    std::from_chars(size, size + std::string_view(size).size(), mebibytes);
  return ImageCache(*folder, mebibytes << 20);
}

std::optional<std::string> ImageCache::flaw() const {
  struct stat found = {};
  if (::stat(folder.c_str(), &found) != 0)
    return std::nullopt;
  std::string what = "the cache `" + folder.string() + "` ";
  if (!S_ISDIR(found.st_mode))
    return what + "is no folder";
  if (found.st_uid != ::geteuid())
    return what + "belongs to another user";
  if (found.st_mode & (S_IWGRP | S_IWOTH))
    return what + "can be written by others";
  if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0)
    return what + "cannot be written";
  return std::nullopt;
}

fs::path ImageCache::pathOf(const CacheKey &key) const {
  return folder / (key.text() + kSuffix);
}

static std::optional<KernelImage> readEntry(const fs::path &file) {
  try {
    KernelImage image = readImage(file);
    auto key = std::ranges::find(image.metadata, kKey, &std::pair<std::string, std::string>::first);
    if (key == image.metadata.end() || key->second + kSuffix != file.filename())
      return std::nullopt;
    image.metadata.erase(key);
    return image;
  } catch (const CompileError &) {
    return std::nullopt;
  }
}

std::optional<KernelImage> ImageCache::find(const CacheKey &key) const {
  std::error_code error;
  fs::path file = pathOf(key);
  if (flaw() || !fs::is_regular_file(file, error))
    return std::nullopt;
  std::optional<KernelImage> image = readEntry(file);
  if (image)
    fs::last_write_time(file, fs::file_time_type::clock::now(), error); // The order of going when room is made.
  else
    fs::remove(file, error);
  return image;
}

/// For the user alone: code is loaded from it.
static void makeFolder(const fs::path &folder) {
  std::error_code error;
  if (fs::create_directories(folder, error))
    fs::permissions(folder, fs::perms::owner_all, error);
}

bool ImageCache::store(const CacheKey &key, KernelImage image) const {
  makeFolder(folder);
  if (flaw())
    return false;
  image.metadata.emplace_back(kKey, key.text());
  try {
    writeImage(pathOf(key), image);
  } catch (const CompileError &) {
    return false;
  }
  trim(limit);
  return true;
}

CacheClaim::~CacheClaim() {
  if (file >= 0)
    ::close(file);
}

std::optional<CacheClaim> ImageCache::claim(const CacheKey &key, std::chrono::milliseconds patience) const {
  using namespace std::chrono_literals;
  makeFolder(folder);
  // Few files for all keys: two that share one wait for each other now and then.
  fs::path path = folder / ("claim-" + key.text().substr(0, 2));
  int file = flaw() ? -1 : ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return std::nullopt;
  CacheClaim claim(file);
  for (auto end = std::chrono::steady_clock::now() + patience; ::flock(file, LOCK_EX | LOCK_NB) != 0;
       std::this_thread::sleep_for(2ms))
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > end)
      return std::nullopt;
  return claim;
}

/// Files of the cache without what they hold, those first that were used last.
static std::vector<CacheEntry> filesIn(const fs::path &folder, std::string_view suffix) {
  std::vector<CacheEntry> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    CacheEntry entry{at->path(), at->file_size(gone), at->last_write_time(gone), std::nullopt};
    if (!gone && entry.file.filename().string().find(suffix) != std::string::npos)
      found.push_back(std::move(entry));
  }
  std::ranges::sort(found, std::greater(), &CacheEntry::used);
  return found;
}

std::vector<CacheEntry> ImageCache::files(std::string_view suffix) const {
  std::vector<CacheEntry> found = filesIn(folder, suffix);
  std::erase_if(found, [&](const CacheEntry &entry) { return entry.file.extension() != suffix; });
  return found;
}

std::vector<CacheEntry> ImageCache::entries() const {
  std::vector<CacheEntry> found = files(kSuffix);
  for (CacheEntry &entry : found)
    entry.image = readEntry(entry.file);
  return found;
}

void ImageCache::remove(const CacheEntry &entry) {
  std::error_code gone;
  fs::remove(entry.file, gone);
}

void ImageCache::trim(uint64_t bytes) const {
  using namespace std::chrono_literals;
  uint64_t sum = 0;
  std::vector<CacheEntry> all = filesIn(folder, kSuffix), plugins = filesIn(folder, kPluginSuffix);
  all.insert(all.end(), plugins.begin(), plugins.end());
  std::ranges::sort(all, std::greater(), &CacheEntry::used);
  for (const CacheEntry &entry : all) {
    bool isWhole = entry.file.extension() == kSuffix || entry.file.extension() == kPluginSuffix,
         isAbandoned = fs::file_time_type::clock::now() - entry.used > 1h;
    if (isWhole)
      sum += entry.bytes;
    if (isWhole ? sum > bytes : isAbandoned)
      remove(entry);
  }
}

} // namespace soliton::rt
