//===- PersistentTest.cpp - Workgroups that walk several tiles --------------------------------------===//
//
// As many workgroups as a launch is given take all tiles, one after the other: right whatever their number is, at sizes
// that fill no tile and at sizes that a launch says; the next tile's copies are issued before the sums of this one are
// out, and the emulator finds what is taken away between them.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/Products.h"

#include "soliton/backend/Backend.h"

namespace soliton::test {
namespace {

Product several(int64_t m, int64_t n, int64_t k, int64_t workgroups) {
  return {.m = m, .n = n, .k = k, .directCopies = true, .schedule = "ring", .persistent = workgroups};
}

TEST(Persistent, AsManyWorkgroupsAsThereAre) {
  for (int64_t workgroups : {1, 2, 5, 6, 100})
    for (bool staged : {false, true}) {
      Product p = several(128, 192, 320, workgroups);
      p.stagedWrites = staged;
      check(p);
    }
}

TEST(Persistent, SizesThatFillNoTile) {
  for (auto [m, n, k] : {std::tuple(130, 72, 200), {1, 8, 8}, {65, 136, 72}, {200, 200, 1000}}) {
    Product p = several(m, n, k, 2);
    p.stagedWrites = true;
    check(p);
  }
}

TEST(Persistent, Schedules) {
  for (const char *schedule : {"none", "prefetch", "modulo"})
    for (bool copies : {false, true}) {
      Product p = several(128, 128, 320, 3);
      p.schedule = schedule;
      p.directCopies = copies;
      check(p);
    }
}

TEST(Persistent, SizesThatALaunchSays) {
  Product p = several(128, 128, 256, 2);
  p.dynamic = {"M", "N", "K"};
  p.stagedWrites = true;
  check(p, {several(1, 1, 1, 2), several(0, 64, 64, 2), several(200, 70, 0, 2), several(131, 257, 77, 2)});
}

TEST(Persistent, SumsThatBeginAnew) {
  Product p = several(128, 128, 640, 2);
  p.type = DType::f8e4m3fn;
  for (int64_t columns : {32, 64}) {
    p.columns = columns;
    check(p);
  }
}

/// In the loop over tiles the ring is filled for the next one in front of the stores.
TEST(Persistent, TheNextTileIsOnItsWayWhileSumsAreWritten) {
  Product p = several(256, 256, 1024, 4);
  p.stagedWrites = true;
  CompileOptions options = optionsOf(p);
  options.keep = {Artefact::machine};
  CompileAttempt code = compileImage(build(p), options, rt::ImageKind::ptx);
  ASSERT_TRUE(code) << format(code.diagnostics);
  std::string text = code.result->artefacts.front().second;
  size_t tiles = text.find("scf.for"), product = text.rfind("mma_async"), copy = text.rfind("copy_tile"),
         store = text.rfind("machine.store");
  EXPECT_LT(tiles, product);
  EXPECT_LT(product, copy);
  EXPECT_LT(copy, store);
}

TEST(Persistent, TheEmulatorMissesWhatIsTakenAway) {
  Product p = several(128, 192, 320, 1);
  p.stagedWrites = true;
  EXPECT_TRUE(findingsWith(p, "", "").empty());
  EXPECT_FALSE(findingsWith(p, "", "", "machine.barrier").empty());
  EXPECT_FALSE(findingsWith(p, "", "", "machine.mbarrier_wait").empty());
  // A phase that is counted from the tile's beginning, not from the workgroup's.
  std::vector<emu::FindingKind> early = findingsWith(p, "machine.wait mma, 0", "machine.wait mma, 7");
  EXPECT_FALSE(early.empty());
}

/// Where a barrier completes nothing, what lanes still read of shared memory is waited for.
TEST(Persistent, OnOtherTargets) {
  for (const char *target : {"gfx942", "gfx950", "sm_90a"})
    for (const char *schedule : {"none", "modulo"}) {
      Product p{.m = 160, .n = 192, .k = 128, .schedule = schedule, .named = false, .persistent = 2};
      CompileOptions options = optionsOf(p);
      options.target = target;
      expectRight(compile(build(p), options), p);
    }
}

TEST(Persistent, TheProgramSaysSo) {
  Product p = several(64, 64, 128, 1);
  CompileOptions options = optionsOf(p);
  options.keep = {Artefact::wave};
  CompileAttempt code = compileImage(build(p), options, rt::ImageKind::ptx);
  ASSERT_TRUE(code) << format(code.diagnostics);
  EXPECT_NE(code.result->artefacts.front().second.find("persistent = 1 : i64"), std::string::npos);
}

TEST(Persistent, NotInClusters) {
  Product p = several(64, 64, 2048, 2);
  p.cluster = 2;
  CompileAttempt code = compileImage(build(p), optionsOf(p), rt::ImageKind::ptx);
  ASSERT_FALSE(code);
  EXPECT_EQ(code.diagnostics.front().id, DiagId::NotSupportedHere);
  EXPECT_NE(code.diagnostics.front().message.find("walk several tiles"), std::string::npos);
}

} // namespace
} // namespace soliton::test
