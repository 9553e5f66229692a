#include "soliton/runtime/Cache.h"

#include "soliton/runtime/TestSupport.h"

#include <cstdlib>
#include <fstream>
#include <thread>
#include <unistd.h>

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

TEST(Cache, WhatWasNotUsedForLongestGoesFirst) {
  Folder folder;
  auto key = [](int i) { return KeyBuilder().add("i", i).finish(); };
  ImageCache unlimited(folder.path);
  ASSERT_TRUE(unlimited.store(key(0), scaleImage()));
  uint64_t one = std::filesystem::file_size(unlimited.pathOf(key(0)));
  ImageCache cache(folder.path, 3 * one + one / 2);
  auto age = [&](int i, int minutes) {
    std::filesystem::last_write_time(cache.pathOf(key(i)),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::minutes(minutes));
  };
  for (int i = 1; i < 3; ++i)
    ASSERT_TRUE(cache.store(key(i), scaleImage()));
  age(0, 30), age(1, 20), age(2, 10);
  EXPECT_TRUE(cache.find(key(0))) << "which makes it the one that was used last";
  ASSERT_TRUE(cache.store(key(3), scaleImage()));
  EXPECT_FALSE(cache.find(key(1)));
  for (int i : {0, 2, 3})
    EXPECT_TRUE(cache.find(key(i))) << i;
}

TEST(Cache, WhatDeadWritersLeftGoesAfterAnHour) {
  Folder folder;
  ImageCache cache(folder.path);
  CacheKey key = KeyBuilder().finish();
  ASSERT_TRUE(cache.store(key, scaleImage()));
  auto left = [&](const char *name, int minutes) {
    std::filesystem::path file = cache.pathOf(key).string() + name;
    std::ofstream(file) << "half";
    std::filesystem::last_write_time(file,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::minutes(minutes));
    return file;
  };
  std::filesystem::path old = left(".tmp1-1", 70), fresh = left(".tmp2-1", 1);
  EXPECT_EQ(cache.entries().size(), 1u);
  ASSERT_TRUE(cache.store(key, scaleImage()));
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(fresh));
}

TEST(Cache, AnEntryUnderAnotherNameIsNone) {
  Folder folder;
  ImageCache cache(folder.path);
  CacheKey key = KeyBuilder().add("a", "b").finish(), other = KeyBuilder().add("a", "c").finish();
  ASSERT_TRUE(cache.store(key, scaleImage()));
  std::filesystem::copy_file(cache.pathOf(key), cache.pathOf(other));
  EXPECT_EQ(cache.entries().size(), 2u);
  EXPECT_EQ(cache.find(other), std::nullopt);
  EXPECT_EQ(cache.entries().size(), 1u) << "it is gone, since it will never be one";
}

TEST(Cache, FoldersOfOthersAreNotUsed) {
  Folder folder;
  std::filesystem::create_directories(folder.path);
  ImageCache cache(folder.path);
  CacheKey key = KeyBuilder().finish();
  ASSERT_TRUE(cache.store(key, scaleImage()));
  EXPECT_EQ(cache.flaw(), std::nullopt);
  std::filesystem::permissions(folder.path, std::filesystem::perms::all);
  EXPECT_NE(cache.flaw().value_or("").find("can be written by others"), std::string::npos);
  EXPECT_EQ(cache.find(key), std::nullopt);
  EXPECT_FALSE(cache.store(key, scaleImage()));
  EXPECT_FALSE(cache.claim(key, std::chrono::milliseconds(1)));
  std::filesystem::permissions(folder.path, std::filesystem::perms::owner_all);
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(folder.path.c_str(), 12345, 12345), 0);
  EXPECT_NE(cache.flaw().value_or("").find("belongs to another user"), std::string::npos);
  EXPECT_EQ(cache.find(key), std::nullopt);
}

TEST(Cache, OneClaimsOthersWait) {
  Folder folder;
  ImageCache cache(folder.path);
  CacheKey key = KeyBuilder().finish();
  {
    std::optional<CacheClaim> first = cache.claim(key, std::chrono::milliseconds(1));
    ASSERT_TRUE(first);
    EXPECT_FALSE(cache.claim(key, std::chrono::milliseconds(5)));
  }
  EXPECT_TRUE(cache.claim(key, std::chrono::milliseconds(5)));
}

/// A variable of the environment as a test wants it, and afterwards as it was:
/// whoever runs the tests may have said something about the cache too.
class Variable {
public:
  Variable(const char *name, std::optional<std::string> value) : name_(name) {
    if (const char *was = std::getenv(name))
      was_ = was;
    set(value);
  }
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;
  ~Variable() { set(was_); }

private:
  void set(const std::optional<std::string> &value) {
    if (value)
      ::setenv(name_, value->c_str(), 1);
    else
      ::unsetenv(name_);
  }

  const char *name_;
  std::optional<std::string> was_;
};

TEST(Cache, TheEnvironmentSaysHowLarge) {
  Folder folder;
  Variable where("SOLITON_CACHE_DIR", folder.path.string());
  Variable whether("SOLITON_CACHE", std::nullopt);
  Variable size("SOLITON_CACHE_MIB", "0");
  CacheKey key = KeyBuilder().finish();
  ASSERT_TRUE(ImageCache::byDefault());
  EXPECT_TRUE(ImageCache::byDefault()->store(key, scaleImage()));
  EXPECT_EQ(ImageCache::byDefault()->find(key), std::nullopt) << "no room";
}

TEST(Cache, TheEnvironmentSaysWhether) {
  Folder folder;
  Variable where("SOLITON_CACHE_DIR", folder.path.string());
  Variable whether("SOLITON_CACHE", "off");
  EXPECT_FALSE(ImageCache::byDefault());
}

TEST(Cache, DefaultFolder) {
  Variable home("HOME", std::nullopt);
  Variable xdg("XDG_CACHE_HOME", std::nullopt);
  Variable own("SOLITON_CACHE_DIR", std::nullopt);
  EXPECT_EQ(ImageCache::defaultFolder(), std::nullopt);
  ::setenv("HOME", "/h", 1);
  EXPECT_EQ(ImageCache::defaultFolder(), "/h/.cache/soliton");
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(ImageCache::defaultFolder(), "/x/soliton");
  ::setenv("SOLITON_CACHE_DIR", "/c", 1);
  EXPECT_EQ(ImageCache::defaultFolder(), "/c");
}
