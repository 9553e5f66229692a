#include "soliton/runtime/Cache.h"

#include "soliton/runtime/TestSupport.h"

#include <cstdlib>
#include <fstream>
#include <thread>

using namespace soliton;
using namespace soliton::rt;

namespace {
struct Folder {
  std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "soliton-cache-test";
  Folder() { std::filesystem::remove_all(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};
} // namespace

TEST(Cache, KeysAreSha256OfTheirParts) {
  EXPECT_EQ(KeyBuilder().finish().text(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  // printf '1:a3:bcd' | sha256sum
  EXPECT_EQ(KeyBuilder().add("a", "bcd").finish().text(),
            "fc2e23b684fa6b77bcc0349b9cef3ad6f77f8496532380c61a578b3efa32f053");
  // printf '1:x200:%0200d' 0 | sha256sum: more than one block.
  EXPECT_EQ(KeyBuilder().add("x", std::string(200, '0')).finish().text(),
            "20c5527a949f354dc19db2305b8e48f2a57d93383e03f12236b96d12377ba5da");
  // printf '1:a54:%054d' 0 | sha256sum: 60 bytes, whose padding needs a block of its own.
  EXPECT_EQ(KeyBuilder().add("a", std::string(54, '0')).finish().text(),
            "1592378fb0d272c421236151a54ed1d22f72cdc2cbd6380cb5fb72b2f23d9786");
}

TEST(Cache, PartsDoNotRunTogether) {
  EXPECT_NE(KeyBuilder().add("a", "bc").finish(), KeyBuilder().add("ab", "c").finish());
  EXPECT_NE(KeyBuilder().add("a", "b").add("c", "d").finish(), KeyBuilder().add("c", "d").add("a", "b").finish());
  EXPECT_EQ(KeyBuilder().add("n", 12).finish(), KeyBuilder().add("n", "12").finish());
}

TEST(Cache, StoresAndFinds) {
  Folder folder;
  ImageCache cache(folder.path / "deep");
  CacheKey key = KeyBuilder().add("program", "p").finish(), other = KeyBuilder().add("program", "q").finish();
  EXPECT_EQ(cache.find(key), std::nullopt);
  EXPECT_TRUE(cache.store(key, scaleImage()));
  EXPECT_EQ(cache.find(key), scaleImage());
  EXPECT_EQ(cache.find(other), std::nullopt);
  EXPECT_EQ(std::filesystem::status(folder.path / "deep").permissions(), std::filesystem::perms::owner_all);
}

TEST(Cache, ADamagedEntryIsNone) {
  Folder folder;
  ImageCache cache(folder.path);
  CacheKey key = KeyBuilder().add("program", "p").finish();
  ASSERT_TRUE(cache.store(key, scaleImage()));
  std::ofstream(cache.pathOf(key), std::ios::app) << "x";
  EXPECT_EQ(cache.find(key), std::nullopt);
  EXPECT_TRUE(cache.store(key, scaleImage()));
  EXPECT_EQ(cache.find(key), scaleImage());
}

TEST(Cache, AFolderThatCannotBeWrittenIsNoError) {
  Folder folder;
  std::filesystem::create_directories(folder.path.parent_path());
  std::ofstream(folder.path) << "a file, not a folder";
  ImageCache cache(folder.path);
  EXPECT_FALSE(cache.store(KeyBuilder().finish(), scaleImage()));
  EXPECT_EQ(cache.find(KeyBuilder().finish()), std::nullopt);
}

TEST(Cache, WritersOfOneKeyDoNotDisturbEachOther) {
  Folder folder;
  ImageCache cache(folder.path);
  CacheKey key = KeyBuilder().add("program", "p").finish();
  ASSERT_TRUE(cache.store(key, scaleImage()));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(cache.store(key, scaleImage()));
        EXPECT_EQ(cache.find(key), scaleImage());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);
}

TEST(Cache, DefaultFolder) {
  ::setenv("SOLITON_CACHE_DIR", "/c", 1);
  EXPECT_EQ(ImageCache::defaultFolder(), "/c");
  ::unsetenv("SOLITON_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(ImageCache::defaultFolder(), "/x/soliton");
  ::unsetenv("XDG_CACHE_HOME");
  std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  ::setenv("HOME", "/h", 1);
  EXPECT_EQ(ImageCache::defaultFolder(), "/h/.cache/soliton");
  ::unsetenv("HOME");
  EXPECT_EQ(ImageCache::defaultFolder(), std::nullopt);
  ::setenv("HOME", home.c_str(), 1);
}
