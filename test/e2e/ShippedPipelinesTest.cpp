//===- ShippedPipelinesTest.cpp - The framework's own programs on the language's matrix products ---===//
//
// Compiled in their own order, with their own waits and barriers, under a waiver only; the emulator reports their races
// at the line that reads the tile. Beside them what else a geometry says: whether shared rows are swizzled.
//
//===----------------------------------------------------------------------===//
#include "soliton/pipeline/Drive.h"
#include "soliton/pipeline/PingPong.h"
#include "soliton/pipeline/Pipeline4Wave.h"
#include "soliton/pipeline/SingleBuffer.h"
#include "test/e2e/Support.h"

#include <algorithm>
#include <set>

namespace soliton::test {
namespace {
using kernels::Sizes;

Case productOf(const char *variant, const Sizes &tiles) {
  Case which{kernels::findKernel("gemm"), nullptr, findTarget("gfx950")};
  which.variant = which.entry->findVariant(variant);
  which.tiles = tiles;
  which.directCopies = true;
  return which;
}

pipe::TileShape shapeOf(const Case &which) {
  auto number = [&](const char *name) { return static_cast<int>(which.tiles.at(name)); };
  pipe::TileShape shape;
  shape.bm = number("BLOCK_M");
  shape.bn = number("BLOCK_N");
  shape.bk = number("BLOCK_K");
  shape.elemBytes = which.variant->name == "f8" ? 1 : 2;
  return shape;
}

Case fourWaves(const char *variant = "bf16", int m = 128, int n = 128, int k = 64) {
  return productOf(variant, {{"BLOCK_M", m}, {"BLOCK_N", n}, {"BLOCK_K", k}, {"WAVES_M", 2}, {"WAVES_N", 2}});
}

Case pingPong(const char *variant = "bf16", int m = 256, int n = 256, int k = 64) {
  return productOf(variant, {{"BLOCK_M", m}, {"BLOCK_N", n}, {"BLOCK_K", k}, {"WAVES_M", 2}, {"WAVES_N", 4}});
}

/// As many K tiles of one workgroup's rows and columns.
CompileAttempt compiled(const Case &which, const sched::ScheduleRequest &schedule, int tiles,
                        rt::ImageKind kind = rt::ImageKind::emulator) {
  CompileOptions options = which.options(
      {{"M", which.tiles.at("BLOCK_M")}, {"N", which.tiles.at("BLOCK_N")}, {"K", tiles * which.tiles.at("BLOCK_K")}});
  options.schedule = schedule;
  return compileImage(which.entry->build(*which.variant), options, kind);
}

sched::ScheduleRequest shippedFour(const Case &which, const std::string &waiver) {
  return pipe::pipeline(pipe::Pipeline4Wave(pipe::fourWaveGeometry(shapeOf(which)).geometry), pipe::faithful(waiver));
}

sched::ScheduleRequest shippedPingPong(const Case &which, const std::string &waiver) {
  return pipe::pipeline(pipe::PingPong(pipe::pingPongGeometry(shapeOf(which)).geometry), pipe::faithful(waiver));
}

/// What the emulator says of it, with its checks.
std::string findings(const Case &which, const CompileResult &result, int tiles) {
  std::shared_ptr<rt::Device> device = rt::makeEmulatorDevice({.checks = true, .seed = 1});
  testing::AssertionResult right = which.launch(
      *device, *device->load(result.image),
      {{"M", which.tiles.at("BLOCK_M")}, {"N", which.tiles.at("BLOCK_N")}, {"K", tiles * which.tiles.at("BLOCK_K")}},
      /*integers=*/true);
  return right ? "" : right.message();
}

std::vector<int> waitsOf(const sched::LoopReport &loop, const std::vector<sched::Entry> &entries,
                         std::string_view counter) {
  std::vector<int> values;
  for (const sched::Entry &entry : entries)
    if (entry.kind == sched::EntryKind::Wait && loop.problem.counters[entry.counter].name == counter)
      values.push_back(entry.value);
  return values;
}

int64_t barriersOf(const std::vector<sched::Entry> &entries) {
  return std::ranges::count(entries, sched::EntryKind::Barrier, &sched::Entry::kind);
}

bool mentions(const std::string &text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

//===-- Four waves -----------------------------------------------------------------------------------------===//

TEST(ShippedPipelines, FourWavesHaveTheFrameworksWaitsAndBarriers) {
  Case which = fourWaves();
  CompileAttempt attempt = compiled(which, shippedFour(which, "as shipped"), 8);
  ASSERT_TRUE(attempt) << format(attempt.diagnostics);
  const sched::LoopReport &loop = attempt.result->loops.front();
  EXPECT_EQ(waitsOf(loop, loop.program.prologue, "vm"), (std::vector{14, 12}));
  EXPECT_EQ(waitsOf(loop, loop.program.kernel, "vm"), (std::vector{8, 8, 8}));
  EXPECT_EQ(waitsOf(loop, loop.program.kernel, "shared"), (std::vector{4, 0, 0}));
  EXPECT_EQ(barriersOf(loop.program.kernel), 2);
  // The epilogue waits for everything and meets nobody.
  EXPECT_EQ(barriersOf(loop.program.epilogue), 1);
  EXPECT_EQ(loop.program.epilogue.back().kind, sched::EntryKind::Barrier);
  std::string warnings = format(attempt.result->warnings);
  EXPECT_TRUE(mentions(warnings, "only latency keeps them apart")) << warnings;
}

/// §9.2: the read of B that `LGKM(G)` lets stay in flight over the barrier, and the epilogue without barriers.
TEST(ShippedPipelines, TheEmulatorReportsTheRacesOfFourWaves) {
  Case which = fourWaves();
  CompileAttempt attempt = compiled(which, shippedFour(which, "as shipped"), 8);
  ASSERT_TRUE(attempt) << format(attempt.diagnostics);
  std::string said = findings(which, *attempt.result, 8);
  EXPECT_TRUE(mentions(said, "Gemm.cpp:")) << said;
  EXPECT_TRUE(mentions(said, "`copy_async` writes shared byte")) << said;
  EXPECT_TRUE(mentions(said, "not ordered after the read by `load`")) << said;
  EXPECT_TRUE(mentions(said, "insert `wait shared 0` between it and the barrier")) << said;
  EXPECT_TRUE(mentions(said, "not ordered after the write by `copy_async`")) << said;
  EXPECT_TRUE(mentions(said, "insert `barrier` between")) << said;
}

TEST(ShippedPipelines, FourWavesOfEveryGeometryOfTheReference) {
  for (const auto &[variant, m, n, k] : {std::tuple("f8", 64, 64, 128),
                                         {"f8", 128, 128, 128},
                                         {"bf16", 64, 64, 64},
                                         {"bf16", 64, 64, 128},
                                         {"bf16", 128, 128, 128}}) {
    Case which = fourWaves(variant, m, n, k);
    SCOPED_TRACE(which.name() + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
    CompileAttempt attempt = compiled(which, shippedFour(which, "as shipped"), 6);
    ASSERT_TRUE(attempt) << format(attempt.diagnostics);
    EXPECT_TRUE(mentions(findings(which, *attempt.result, 6), "not ordered after"));
    EXPECT_TRUE(compiled(which, shippedFour(which, "as shipped"), 6, rt::ImageKind::hsaco));
  }
}

//===-- Ping-pong ------------------------------------------------------------------------------------------===//

/// §9.2: rows of A and columns of B that the group behind has still to read are overwritten up to three phases early.
TEST(ShippedPipelines, TheEmulatorReportsTheRacesOfPingPong) {
  for (const auto &[variant, m, n, k] :
       {std::tuple("bf16", 256, 256, 64), {"f8", 256, 256, 128}, {"f8", 128, 256, 128}}) {
    Case which = pingPong(variant, m, n, k);
    SCOPED_TRACE(which.name() + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
    CompileAttempt attempt = compiled(which, shippedPingPong(which, "as shipped"), 6);
    ASSERT_TRUE(attempt) << format(attempt.diagnostics);
    const sched::LoopReport &loop = attempt.result->loops.front();
    EXPECT_EQ(barriersOf(loop.program.kernel), 8);
    EXPECT_EQ(waitsOf(loop, loop.program.kernel, "vm").size(), 1U);
    std::string said = findings(which, *attempt.result, 6);
    EXPECT_TRUE(mentions(said, "Gemm.cpp:")) << said;
    EXPECT_TRUE(mentions(said, "`copy_async` writes shared byte")) << said;
    EXPECT_TRUE(mentions(said, "not ordered after the read by `load`")) << said;
    EXPECT_FALSE(mentions(said, "not ordered after the write by `copy_async`")) << said;
    EXPECT_TRUE(compiled(which, shippedPingPong(which, "as shipped"), 6, rt::ImageKind::hsaco));
  }
}

//===-- What is refused --------------------------------------------------------------------------------------===//

TEST(ShippedPipelines, AreRefusedWithoutAWaiverThatNamesWhy) {
  Case four = fourWaves(), ping = pingPong();
  CompileAttempt first = compiled(four, shippedFour(four, ""), 8),
                 second = compiled(ping, shippedPingPong(ping, ""), 8);
  for (const CompileAttempt *attempt : {&first, &second}) {
    EXPECT_FALSE(*attempt);
    std::string said = format(attempt->diagnostics);
    EXPECT_TRUE(mentions(said, "[schedule-latency-only]")) << said;
    EXPECT_TRUE(mentions(said, "touch shared `B00` (WAR) and only latency keeps them apart")) << said;
  }
}

TEST(ShippedPipelines, NoWaiverIsForAProgramThatNothingProtects) {
  Case which = fourWaves();
  which.directCopies = false;
  CompileAttempt attempt = compiled(which, pipe::pipeline(pipe::SingleBuffer(2), pipe::faithful("as shipped")), 8);
  EXPECT_FALSE(attempt);
  EXPECT_TRUE(mentions(format(attempt.diagnostics), "[schedule-hazard]")) << format(attempt.diagnostics);
}

TEST(ShippedPipelines, ALoopOfOneTileIsTooShort) {
  Case which = fourWaves();
  CompileAttempt attempt = compiled(which, shippedFour(which, "as shipped"), 1);
  EXPECT_FALSE(attempt);
  EXPECT_TRUE(mentions(format(attempt.diagnostics), "[schedule-trips]")) << format(attempt.diagnostics);
}

/// 256x256 whose rows are read element by element: a tile on its way takes 128 registers, which are not there.
TEST(ShippedPipelines, TilesInRegistersThatDoNotFitAreRefused) {
  Case which = pingPong();
  which.paddedRows = RowPadding::never;
  CompileOptions options = which.options({{"M", 1023}, {"N", 1025}, {"K", 1027}});
  options.schedule = pipe::pipeline(pipe::PingPong());
  CompileAttempt attempt = compileImage(which.entry->build(*which.variant), options, rt::ImageKind::hsaco);
  EXPECT_FALSE(attempt);
  EXPECT_TRUE(mentions(format(attempt.diagnostics), "[schedule-registers]")) << format(attempt.diagnostics);
}

//===-- Swizzles -----------------------------------------------------------------------------------------------===//

TEST(ShippedPipelines, RowsAreSwizzledOrNot) {
  for (const char *variant : {"bf16", "f16", "f8"})
    for (bool swizzle : {true, false}) {
      Case which = fourWaves(variant, 64, 64, 128);
      pipe::TileShape shape = shapeOf(which);
      shape.swizzle = swizzle;
      CompileOptions options = which.options({{"M", 70}, {"N", 64}, {"K", 528}});
      options.schedule = pipe::pipeline(pipe::Pipeline4Wave(pipe::fourWaveGeometry(shape).geometry));
      options.keep = {Artefact::wave};
      options.countBankConflicts = true;
      CompileAttempt attempt = compileImage(which.entry->build(*which.variant), options, rt::ImageKind::emulator);
      ASSERT_TRUE(attempt) << format(attempt.diagnostics);
      EXPECT_EQ(mentions(attempt.result->artefacts.front().second, "swizzle("), swizzle);
      bool conflicts = std::ranges::any_of(attempt.result->bankConflicts,
                                           [](const BankConflicts &access) { return access.conflicts > 0; });
      EXPECT_EQ(conflicts, !swizzle) << which.name();
      checkOnEmulator(which, *attempt.result, {{"M", 70}, {"N", 64}, {"K", 528}});
    }
}

} // namespace
} // namespace soliton::test
