#include "soliton/driver/CompileCache.h"

#include "soliton/soliton.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

namespace soliton {
namespace {

/// A cache of its own for each test.
class CompileCache : public testing::Test {
protected:
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "soliton-compile-cache-test";

  void SetUp() override {
    std::filesystem::remove_all(folder);
    ::setenv("SOLITON_CACHE_DIR", folder.c_str(), 1);
    ::unsetenv("SOLITON_CACHE");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static Kernel scale(double factor) {
    auto [M, BM] = symbols<"M BM">();
    Kernel kernel{"scale", {WorkgroupConstraint(M, BM, 0)}};
    auto a = kernel.memory("a", {M}, global, f32), b = kernel.memory("b", {M}, global, f32);
    write(read(a) * kernel.fill({M}, f32, factor), b);
    return kernel;
  }

  static CompileOptions options(const std::string &target = "gfx942") {
    auto [M, BM] = symbols<"M BM">();
    return {.target = target, .subs = {{M, 256}, {BM, 64}}, .device = "emulator", .place = Place("test.cpp", 1, 1)};
  }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const rt::CacheEntry &entry : rt::ImageCache(folder).entries())
      found.push_back(entry.file);
    return found;
  }
};

TEST_F(CompileCache, TheSecondTimeItIsFound) {
  CompileAttempt first = compileOrFind(scale(2), options(), rt::ImageKind::emulator);
  ASSERT_TRUE(first) << format(first.diagnostics);
  EXPECT_FALSE(first.result->isFromCache);
  CompileAttempt second = compileOrFind(scale(2), options(), rt::ImageKind::emulator);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second.result->isFromCache);
  EXPECT_EQ(second.result->image, first.result->image);
  EXPECT_EQ(second.result->machineOps, first.result->machineOps);
  EXPECT_EQ(format(second.result->warnings), format(first.result->warnings));
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(CompileCache, WhatDecidesTheCodeDecidesTheKey) {
  auto compiled = [&](const Kernel &kernel, const CompileOptions &wanted, rt::ImageKind kind) {
    CompileAttempt attempt = compileOrFind(kernel, wanted, kind);
    EXPECT_TRUE(attempt) << format(attempt.diagnostics);
    return attempt && attempt.result->isFromCache;
  };
  EXPECT_FALSE(compiled(scale(2), options(), rt::ImageKind::emulator));
  EXPECT_FALSE(compiled(scale(3), options(), rt::ImageKind::emulator)) << "another program";
  EXPECT_FALSE(compiled(scale(2), options("gfx950"), rt::ImageKind::emulator)) << "another target";
  EXPECT_FALSE(compiled(scale(2), options(), rt::ImageKind::hsaco)) << "another kind";
  CompileOptions other = options();
  other.wideOffsets = true;
  EXPECT_FALSE(compiled(scale(2), other, rt::ImageKind::emulator)) << "another option";
  other = options();
  other.shortSums = true;
  EXPECT_FALSE(compiled(scale(2), other, rt::ImageKind::emulator)) << "sums that are allowed to be short";
  other = options();
  other.schedule.name = "list";
  EXPECT_FALSE(compiled(scale(2), other, rt::ImageKind::emulator)) << "another schedule";
  EXPECT_TRUE(compiled(scale(2), options(), rt::ImageKind::emulator));
  EXPECT_TRUE(compiled(scale(2), options(), rt::ImageKind::hsaco));
}

TEST_F(CompileCache, WhatShallLeaveTextsIsCompiled) {
  CompileOptions wanted = options();
  wanted.keep = {Artefact::machine};
  for (int i = 0; i < 2; ++i) {
    CompileAttempt attempt = compileOrFind(scale(2), wanted, rt::ImageKind::emulator);
    ASSERT_TRUE(attempt);
    EXPECT_EQ(attempt.result->artefacts.size(), 1u);
  }
  wanted = options();
  wanted.cache = false;
  EXPECT_FALSE(compileOrFind(scale(2), wanted, rt::ImageKind::emulator).result->isFromCache);
  ::setenv("SOLITON_CACHE", "off", 1);
  EXPECT_TRUE(compileOrFind(scale(2), options(), rt::ImageKind::emulator));
  ::unsetenv("SOLITON_CACHE");
  EXPECT_EQ(files().size(), 0u);
}

TEST_F(CompileCache, ADamagedEntryIsCompiledAgain) {
  ASSERT_TRUE(compileOrFind(scale(2), options(), rt::ImageKind::emulator));
  std::filesystem::path file = files().at(0);
  auto size = static_cast<std::streamoff>(std::filesystem::file_size(file));
  for (std::streamoff at : {std::streamoff(0), size / 3, size - 1}) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(at);
    int was = bytes.get();
    bytes.seekp(at);
    bytes.put(static_cast<char>(was ^ 16));
    bytes.close();
    EXPECT_FALSE(compileOrFind(scale(2), options(), rt::ImageKind::emulator).result->isFromCache) << at;
    EXPECT_TRUE(compileOrFind(scale(2), options(), rt::ImageKind::emulator).result->isFromCache) << at;
  }
}

TEST_F(CompileCache, AnEntryOfAnotherKeyIsNotTaken) {
  ASSERT_TRUE(compileOrFind(scale(2), options(), rt::ImageKind::emulator));
  std::filesystem::path two = files().at(0), three;
  ASSERT_TRUE(compileOrFind(scale(3), options(), rt::ImageKind::emulator));
  for (const std::filesystem::path &file : files())
    if (file != two)
      three = file;
  std::filesystem::copy_file(two, three, std::filesystem::copy_options::overwrite_existing);
  EXPECT_FALSE(compileOrFind(scale(3), options(), rt::ImageKind::emulator).result->isFromCache);
}

TEST_F(CompileCache, AFolderOfOthersIsRefusedWithAMessage) {
  std::filesystem::create_directories(folder);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  CompileAttempt attempt = compileOrFind(scale(2), options(), rt::ImageKind::emulator);
  ASSERT_TRUE(attempt);
  EXPECT_NE(format(attempt.diagnostics).find("can be written by others, so nothing is kept there [image-file]"),
            std::string::npos)
      << format(attempt.diagnostics);
  EXPECT_EQ(files().size(), 0u);
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
}

TEST_F(CompileCache, InOneProcessItIsTheSameKernel) {
  CompiledKernel first = compile(scale(2), options()), second = compile(scale(2), options());
  EXPECT_EQ(&first.loaded(), &second.loaded());
  EXPECT_NE(&first.loaded(), &compile(scale(4), options()).loaded());
}

TEST(CompileCacheBuild, TheCompilerKnowsItsBuild) {
  std::optional<std::string> ours = buildIdAt(reinterpret_cast<const void *>(&compileKey));
  ASSERT_TRUE(ours);
  EXPECT_GE(ours->size(), 16u);
  EXPECT_FALSE(buildIdAt(nullptr));
}

TEST(CompileCacheFindings, WarningsComeBackWithPlacesAndNotes) {
  CompileResult result;
  result.image.kernel = "k";
  result.vgprs = 12;
  result.warnings = {
      {Severity::remark, DiagId::LayoutChoice, Place("a.cpp", 3, 4), "what", "do", {{Place("b", 1, 2), "n"}}}};
  std::optional<CompileResult> back = fromFindings(withFindings(result));
  ASSERT_TRUE(back);
  EXPECT_EQ(format(back->warnings), format(result.warnings));
  EXPECT_EQ(back->vgprs, 12u);
  EXPECT_EQ(back->image, result.image);
  EXPECT_FALSE(fromFindings(result.image)) << "an image that no compilation of ours kept";
  result.image.metadata = {{"compile.findings", "[]"}};
  EXPECT_FALSE(fromFindings(result.image));
}

} // namespace
} // namespace soliton
