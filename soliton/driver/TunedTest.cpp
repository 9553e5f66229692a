//===- TunedTest.cpp - Results of the tuner that `auto` takes -----------------------===//
#include "soliton/driver/Tuned.h"

#include "soliton/driver/CompileCache.h"
#include "soliton/soliton.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace soliton {
namespace {

Kernel product(bool isScaled = false) {
  auto [M, N, K, BM, BN] = symbols<"M N K BM BN">();
  Kernel kernel{"product",
                {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, 32),
                 WaveConstraint(M, BM / 2), WaveConstraint(N, BN / 2), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto c = kernel.memory("c", {M, N}, global, f32);
  Value sum = kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); });
  write(isScaled ? sum * 2.0f : sum, c);
  return kernel;
}

/// A folder of its own for what is left, in which nothing was left before.
class Tuned : public testing::Test {
protected:
  Tuned() : folder(std::filesystem::temp_directory_path() / ("soliton-tuned-" + std::to_string(::getpid()))) {
    setenv("SOLITON_CACHE_DIR", folder.c_str(), 1);
    unsetenv("SOLITON_TUNED");
  }
  ~Tuned() override {
    std::filesystem::remove_all(folder);
    unsetenv("SOLITON_CACHE_DIR");
  }

  CompileOptions options(int64_t m = 256) const {
    auto [M, N, K, BM, BN] = symbols<"M N K BM BN">();
    CompileOptions options{.target = "gfx942", .subs = {{M, m}, {N, 256}, {K, 128}}};
    options.defaults = {{BM, 64}, {BN, 64}};
    options.tunedOn = "Chip 1, driver 2";
    options.cache = false;
    return options;
  }
  /// Tiles of 128 rows, left for `Chip 1, driver 2`.
  TunedResult leave(const Kernel &kernel) const {
    TunedResult result;
    result.origin = "run 7 of today, 5.00 us measured";
    result.microseconds = 5;
    result.choices = {{"BM", "128"}, {"BN", "64"}, {"schedule", "modulo"}};
    result.program = *programHash(kernel, std::get<CompileOptions>(withTuned(options(), result)));
    EXPECT_TRUE(publishTuned(kernel, options(), "Chip 1, driver 2", result));
    return result;
  }
  std::string said(const Kernel &kernel, const CompileOptions &options) const {
    CompileAttempt attempt = compileImage(kernel, options, rt::ImageKind::emulator);
    EXPECT_TRUE(attempt) << format(attempt.diagnostics);
    return attempt ? format(attempt.result->warnings) : "";
  }

  std::filesystem::path folder;
};

TEST_F(Tuned, IsTakenFirstAndSaysWhereItIsFrom) {
  leave(product());
  AutoChoice first = chooseAutomatically(product(), options()).front();
  EXPECT_EQ(first.options.schedule.name, "modulo");
  std::string remark = said(product(), options());
  EXPECT_NE(remark.find("`auto` took a tuned result: run 7 of today, 5.00 us measured"), std::string::npos) << remark;
  EXPECT_NE(remark.find("[auto-choice]"), std::string::npos);
}

TEST_F(Tuned, IsForItsDeviceDriverSizesAndTargetAlone) {
  leave(product());
  auto isTaken = [&](const CompileOptions &options) {
    return chooseAutomatically(product(), options).front().why.starts_with("a tuned result");
  };
  EXPECT_TRUE(isTaken(options()));
  EXPECT_FALSE(isTaken(options(512)));
  CompileOptions other = options();
  other.tunedOn = "Chip 1, driver 3";
  EXPECT_FALSE(isTaken(other));
  other = options();
  other.tunedOn.clear();
  EXPECT_FALSE(isTaken(other));
  other = options();
  other.target = "gfx950";
  EXPECT_FALSE(isTaken(other));
  // Sizes may be bound in any order.
  other = options();
  std::ranges::reverse(other.subs);
  EXPECT_TRUE(isTaken(other));
}

TEST_F(Tuned, CanBeForbidden) {
  leave(product());
  CompileOptions off = options();
  off.tuned = TunedUse::off;
  EXPECT_EQ(said(product(), off).find("tuned"), std::string::npos);
  setenv("SOLITON_TUNED", "off", 1);
  EXPECT_EQ(said(product(), options()).find("tuned"), std::string::npos);
  unsetenv("SOLITON_TUNED");
  EXPECT_NE(said(product(), options()).find("tuned"), std::string::npos);
}

TEST_F(Tuned, ModelledResultsAreTakenWhereTheyAreAskedFor) {
  TunedResult result = leave(product());
  result.origin = "run 8, modelled";
  ASSERT_TRUE(publishTuned(product(), options(512), modelledOn("gfx942"), result));
  CompileOptions asked = options(512);
  EXPECT_EQ(said(product(), asked).find("tuned"), std::string::npos);
  asked.tuned = TunedUse::modelled;
  // The program of 512 rows is another one than that of 256, whose hash it has.
  EXPECT_NE(said(product(), asked).find("passed over a tuned result: run 8, modelled: the kernel is another one"),
            std::string::npos);
  result.program = *programHash(product(), std::get<CompileOptions>(withTuned(options(512), result)));
  ASSERT_TRUE(publishTuned(product(), options(512), modelledOn("gfx942"), result));
  EXPECT_NE(said(product(), asked).find("took a tuned result: run 8, modelled"), std::string::npos);
}

TEST_F(Tuned, WhatDoesNotFitIsPassedOverWithTheReason) {
  TunedResult result = leave(product());
  // Another program under the same name.
  EXPECT_NE(said(product(/*isScaled=*/true), options()).find("the kernel is another one by now"), std::string::npos);
  // What was said is kept.
  auto [BM] = symbols<"BM">();
  CompileOptions bound = options();
  bound.subs.emplace_back(BM, 32);
  EXPECT_NE(said(product(), bound).find("`BM = 32` was said, and it has `128`"), std::string::npos);
  // A schedule that the loop does not have any more.
  result.choices.erase("schedule");
  result.schedule = "soliton-schedule 1\nnonsense\n";
  ASSERT_TRUE(publishTuned(product(), options(), "Chip 1, driver 2", result));
  std::string remark = said(product(), options());
  EXPECT_NE(remark.find("`auto` passed over a tuned result"), std::string::npos) << remark;
  EXPECT_NE(remark.find("`auto` took "), std::string::npos) << remark;
  // A file that is none.
  for (const auto &entry : std::filesystem::directory_iterator(folder / "tuned"))
    std::ofstream(entry.path()) << "garbage";
  EXPECT_NE(said(product(), options()).find("is no file that `soliton tune` wrote"), std::string::npos);
}

TEST_F(Tuned, ClustersAreTakenAndWhatWasSaidOfThemIsKept) {
  CompileOptions asked = options();
  TunedResult result;
  result.choices = {{"workgroups_per_cluster", "1x2"}};
  EXPECT_EQ(std::get<CompileOptions>(withTuned(asked, result)).workgroupsPerCluster, (std::vector<int64_t>{1, 2}));
  asked.workgroupsPerCluster = {2};
  EXPECT_NE(
      std::get<std::string>(withTuned(asked, result)).find("`workgroups_per_cluster = 2` was said, and it has `1x2`"),
      std::string::npos);
  result.choices["workgroups_per_cluster"] = "many";
  EXPECT_TRUE(std::holds_alternative<std::string>(withTuned(options(), result)));
}

/// Roles of waves and walks of workgroups, as a run on sm_90a leaves them.
TEST_F(Tuned, RolesAndWalksAreTakenAndWhatWasSaidOfThemIsKept) {
  CompileOptions asked = options();
  asked.target = "sm_90a";
  TunedResult result;
  result.origin = "run 9 of today, 4.00 us measured";
  result.choices = {{"BM", "128"},           {"BN", "128"},           {"mma", "F32_64x128x16_F16"},
                    {"direct_copies", "on"}, {"staged_writes", "on"}, {"persistent", "1"},
                    {"service_waves", "4"},  {"raster", "-8"},        {"cluster", "1"},
                    {"schedule", "ring"},    {"overlap_tiles", "on"}};
  auto [M, N, K, BM, BN] = symbols<"M N K BM BN">();
  Kernel kernel{"walked",
                {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, 64),
                 WaveConstraint(M, 16), WaveConstraint(N, BN), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto c = kernel.memory("c", {M, N}, global, f32);
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); }), c);
  result.program = *programHash(kernel, std::get<CompileOptions>(withTuned(asked, result)));
  ASSERT_TRUE(publishTuned(kernel, asked, "Chip 1, driver 2", result));
  AutoChoice first = chooseAutomatically(kernel, asked).front();
  EXPECT_EQ(first.options.serviceWaves, 4);
  EXPECT_EQ(first.options.persistent, 1);
  EXPECT_EQ(first.options.raster, -8);
  EXPECT_TRUE(first.options.overlapTiles);
  CompileAttempt attempt = compileImage(kernel, asked, rt::ImageKind::emulator);
  ASSERT_TRUE(attempt) << format(attempt.diagnostics);
  EXPECT_NE(format(attempt.result->warnings).find("took a tuned result: run 9"), std::string::npos);
  // Eight waves compute, four serve, and one workgroup walks all tiles.
  EXPECT_EQ(attempt.result->image.threads[0], 12u * 32);
  EXPECT_EQ(attempt.result->image.grid[0].constantValue(), 1);
  // Other numbers, or none of them, were said: half of a result is none.
  auto passedOver = [&](auto say) {
    CompileOptions said = asked;
    say(said);
    return chooseAutomatically(kernel, said).front().misfit;
  };
  EXPECT_EQ(passedOver([](CompileOptions &said) { said.serviceWaves = 0; }),
            "`service_waves = 0` was said, and it has `4`");
  EXPECT_EQ(passedOver([](CompileOptions &said) { said.persistent = 132; }),
            "`persistent = 132` was said, and it has `1`");
  EXPECT_EQ(passedOver([](CompileOptions &said) { said.raster = 8; }), "`raster = 8` was said, and it has `-8`");
  EXPECT_EQ(passedOver([](CompileOptions &said) { said.serviceWaves = 4, said.persistent = 1; }), "");
  result.choices["overlap_tiles"] = "off";
  asked.overlapTiles = true;
  EXPECT_EQ(std::get<std::string>(withTuned(asked, result)), "`overlap_tiles = on` was said, and it has `off`");
}

/// What was taken is part of what is compiled, and so of the key by which it is kept.
TEST_F(Tuned, TheCacheKeepsThemApart) {
  leave(product());
  CompileOptions tuned = chooseAutomatically(product(), options()).front().options;
  CompileOptions off = options();
  off.tuned = TunedUse::off;
  CompileOptions untuned = chooseAutomatically(product(), off).front().options;
  EXPECT_NE(compileKey("program", tuned, rt::ImageKind::emulator)->text(),
            compileKey("program", untuned, rt::ImageKind::emulator)->text());
}

} // namespace
} // namespace soliton
