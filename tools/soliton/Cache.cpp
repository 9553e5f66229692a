//===- Cache.cpp - soliton cache list|verify|clear ---------------------------------------------===//

#include "soliton/runtime/Cache.h"
#include "soliton/driver/Plugin.h"
#include "tools/soliton/Commands.h"

#include <iomanip>

namespace soliton::cli {

static rt::ImageCache cacheOfUser() {
  std::optional<rt::ImageCache> cache = rt::ImageCache::byDefault();
  if (!cache)
    throw UsageError(rt::ImageCache::isOff()
                         ? "the cache is off, since `SOLITON_CACHE` says so"
                         : "there is no cache: set `SOLITON_CACHE_DIR`, `XDG_CACHE_HOME` or `HOME`");
  if (std::optional<std::string> flaw = cache->flaw())
    throw UsageError(*flaw + "; set `SOLITON_CACHE_DIR` to a folder of your own");
  return *cache;
}

static int64_t secondsSince(std::chrono::file_clock::time_point then) {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::file_clock::now() - then).count();
}

static Json entryJson(const rt::CacheEntry &entry) {
  Json object = {{"key", entry.file.stem().string()},
                 {"bytes", entry.bytes},
                 {"seconds_since_use", secondsSince(entry.used)},
                 {"ok", entry.image.has_value()}};
  if (entry.image) {
    object["kernel"] = entry.image->kernel;
    object["target"] = entry.image->target;
    object["kind"] = rt::name(entry.image->kind);
  }
  return object;
}

static Json pluginJson(const CachedPlugin &plugin) {
  return {{"key", plugin.file.stem().string()},
          {"bytes", plugin.bytes},
          {"seconds_since_use", secondsSince(plugin.used)},
          {"ok", !plugin.source.empty()},
          {"source", plugin.source}};
}

static std::string describe(const CachedPlugin &plugin) {
  return plugin.source.empty() ? "damaged" : "plug-in of " + plugin.source;
}

static std::string describe(const rt::CacheEntry &entry) {
  return entry.image
             ? entry.image->kernel + " for " + entry.image->target + ", " + std::string(rt::name(entry.image->kind))
             : "damaged";
}

/// One line of a list, for kernels and plug-ins alike.
template <typename Entry>
static void print(std::ostream &out, const Entry &entry) {
  out << entry.file.stem().string().substr(0, 16) << std::setw(10) << entry.bytes << " bytes  " << describe(entry)
      << ", used " << secondsSince(entry.used) << " s ago\n";
}

static int listEntries(const rt::ImageCache &cache, bool json, std::ostream &out) {
  std::vector<rt::CacheEntry> entries = cache.entries();
  std::vector<CachedPlugin> plugins = cachedPlugins(cache);
  uint64_t bytes = 0;
  Json list = Json::array(), pluginList = Json::array();
  for (const rt::CacheEntry &entry : entries) {
    bytes += entry.bytes;
    list.push_back(entryJson(entry));
    if (!json)
      print(out, entry);
  }
  for (const CachedPlugin &plugin : plugins) {
    bytes += plugin.bytes;
    pluginList.push_back(pluginJson(plugin));
    if (!json)
      print(out, plugin);
  }
  if (json)
    out << line({{"folder", cache.place().string()}, {"bytes", bytes}, {"entries", list}, {"plugins", pluginList}});
  else
    out << entries.size() << " kernels, " << plugins.size() << " plug-ins, " << bytes << " bytes in "
        << cache.place().string() << "\n";
  return 0;
}

/// Damaged entries are found and removed wherever they are met; this looks at all of them.
static int verifyEntries(const rt::ImageCache &cache, bool json, std::ostream &out) {
  std::vector<rt::CacheEntry> entries = cache.entries();
  std::vector<CachedPlugin> plugins = cachedPlugins(cache);
  Json removed = Json::array();
  for (const rt::CacheEntry &entry : entries)
    if (!entry.image) {
      rt::ImageCache::remove(entry);
      removed.push_back(entry.file.stem().string());
    }
  for (const CachedPlugin &plugin : plugins)
    if (plugin.source.empty()) {
      rt::ImageCache::remove({plugin.file, plugin.bytes, plugin.used, std::nullopt});
      removed.push_back(plugin.file.stem().string());
    }
  size_t all = entries.size() + plugins.size();
  if (json)
    out << line({{"folder", cache.place().string()}, {"entries", all}, {"removed", removed}});
  else
    out << all - removed.size() << " kernels and plug-ins are whole, " << removed.size()
        << " were damaged and are gone\n";
  return removed.empty() ? 0 : 1;
}

static int clearEntries(const rt::ImageCache &cache, bool json, std::ostream &out) {
  size_t before = cache.entries().size() + cachedPlugins(cache).size();
  cache.trim(0);
  if (json)
    out << line({{"folder", cache.place().string()}, {"removed", before}});
  else
    out << "removed " << before << " kernels and plug-ins\n";
  return 0;
}

int manageCache(const CacheCommand &command, std::ostream &out) {
  rt::ImageCache cache = cacheOfUser();
  if (command.action == "list")
    return listEntries(cache, command.json, out);
  if (command.action == "verify")
    return verifyEntries(cache, command.json, out);
  return clearEntries(cache, command.json, out);
}

} // namespace soliton::cli
