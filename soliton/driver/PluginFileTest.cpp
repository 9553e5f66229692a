//===- PluginFileTest.cpp - What is behind a built plug-in, and when it counts ------------------===//
#include "soliton/driver/PluginFile.h"

#include "gtest/gtest.h"

#include <fstream>
#include <unistd.h>

namespace soliton {
namespace {
namespace fs = std::filesystem;

class PluginFile : public testing::Test {
protected:
  PluginFile() : folder(fs::temp_directory_path() / ("soliton-plugin-file-" + std::to_string(::getpid()))) {
    fs::create_directories(folder);
  }
  ~PluginFile() override { fs::remove_all(folder); }

  fs::path write(const std::string &name, const std::string &text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  }
  fs::path folder;
};

TEST_F(PluginFile, RecordComesBackAsItWasSealed) {
  fs::path header = write("mine.h", "#pragma once\n"), library = write("a.plugin", "ELF of some kind");
  ASSERT_TRUE(sealPlugin(library, {"0123", "my kernel.cpp", {{header.string(), hashOfFile(header)}}}));
  std::optional<PluginRecord> record = recordOf(library);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->key, "0123");
  EXPECT_EQ(record->source, "my kernel.cpp");
  ASSERT_EQ(record->headers.size(), 1u);
  EXPECT_EQ(record->headers[0].path, header.string());
  EXPECT_TRUE(isUpToDate(*record));
}

TEST_F(PluginFile, HeaderThatChangedMakesItStale) {
  fs::path header = write("mine.h", "int a;"), library = write("a.plugin", "ELF");
  ASSERT_TRUE(sealPlugin(library, {"k", "s", {{header.string(), hashOfFile(header)}}}));
  write("mine.h", "int b;");
  EXPECT_FALSE(isUpToDate(*recordOf(library)));
  fs::remove(header);
  EXPECT_FALSE(isUpToDate(*recordOf(library)));
}

TEST_F(PluginFile, AnyChangedByteIsDamage) {
  fs::path library = write("a.plugin", "ELF");
  ASSERT_TRUE(sealPlugin(library, {"k", "s", {}}));
  std::ifstream stream(library, std::ios::binary);
  std::string good(std::istreambuf_iterator<char>(stream), {});
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(recordOf(write("b.plugin", bad))) << i;
    EXPECT_FALSE(recordOf(write("b.plugin", good.substr(0, i)))) << i;
  }
}

TEST(PluginDependences, AreReadAsCompilersWriteThem) {
  using Files = std::vector<std::string>;
  EXPECT_EQ(parseDependences("a.so: a.cpp \\\n  /x/soliton/plugin.h \\\n  with\\ space.h cost$$.h\n\nb: c\n"),
            (Files{"a.cpp", "/x/soliton/plugin.h", "with space.h", "cost$.h"}));
  EXPECT_EQ(parseDependences(""), Files{});
  EXPECT_EQ(parseDependences("a.so:"), Files{});
}

} // namespace
} // namespace soliton
