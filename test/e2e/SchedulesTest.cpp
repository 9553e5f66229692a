//===- SchedulesTest.cpp - Every schedule on every target, at every kind of trip count ------------===//
//
// The matrix product under each algorithm and each schedule that ships: right on the emulator, with its checks and an
// adversarial order of the waves, at trip counts from 1 to many, static and known at launch; right after every pass.
//
//===----------------------------------------------------------------------===//
#include "kernels/Schedules.h"
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/driver/CheckPasses.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Wave.h"
#include "test/e2e/Support.h"

namespace soliton::test {
namespace {
using kernels::Sizes;

class Schedules : public testing::TestWithParam<Case> {
protected:
  void check(const Sizes &sizes, const std::vector<std::string> &dynamic = {}, const std::vector<Sizes> &further = {}) {
    std::optional<CompileResult> compiled = GetParam().compile(sizes, dynamic);
    if (!compiled)
      return;
    EXPECT_EQ(compiled->loops.size(), 1U);
    checkOnEmulator(GetParam(), *compiled, sizes);
    for (const Sizes &other : further)
      checkOnEmulator(GetParam(), *compiled, other);
  }
  int64_t tile(const char *name) const { return GetParam().tiles.at(name); }
  /// One workgroup, this many iterations.
  Sizes trips(int64_t count) const {
    return {{"M", tile("BLOCK_M")}, {"N", tile("BLOCK_N")}, {"K", count * tile("BLOCK_K")}};
  }
};

TEST_P(Schedules, TripCountsThatAreKnown) {
  for (int64_t count : {1, 2, 3, 4, 5, 6, 9})
    check(trips(count));
}

TEST_P(Schedules, UnalignedSizes) {
  // Direct copies need rows of whole chunks.
  check({{"M", 70}, {"N", 130}, {"K", GetParam().directCopies ? 200 : 197}});
}

TEST_P(Schedules, RowsThatAreKnownAtLaunch) {
  check({{"M", 64}, {"N", 64}, {"K", 256}}, {"M", "N"},
        {{{"M", 1}, {"N", 1}, {"K", 256}}, {{"M", 67}, {"N", 129}, {"K", 256}}});
}

TEST_P(Schedules, TripCountsThatAreKnownAtLaunch) {
  if (GetParam().directCopies) {
    // Rows of unknown length go through registers unless they are padded, which a schedule of copies says it cannot
    // use.
    CompileOptions options = GetParam().options(trips(7), {"M", "N", "K"});
    options.paddedRows = RowPadding::never;
    CompileAttempt attempt =
        compileImage(GetParam().entry->build(*GetParam().variant), options, rt::ImageKind::emulator);
    // A declared pipeline takes the tile through registers then.
    bool isDeclared = kernels::findSchedule(GetParam().schedule)->isDeclared;
    EXPECT_EQ(static_cast<bool>(attempt), isDeclared) << format(attempt.diagnostics);
    bool isRefused = format(attempt.diagnostics).find("[schedule-unsuitable]") != std::string::npos;
    EXPECT_EQ(isRefused, !isDeclared) << format(attempt.diagnostics);
  }
  std::vector<Sizes> further;
  for (int64_t depth : {0, 1, 63, 64, 65, 128, 192, 200, 256, 320, 576})
    further.push_back({{"M", 33}, {"N", 65}, {"K", depth}});
  check(trips(7), {"M", "N", "K"}, further);
}

TEST_P(Schedules, EveryPassIsRight) {
  for (const Sizes &sizes : {trips(1), trips(2), trips(5)}) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    CompileOptions options = GetParam().options(sizes);
    EmittedKernel emitted = emitKernel(GetParam().entry->build(*GetParam().variant), context,
                                       {options.subs, options.dynamic, options.target, {}});
    ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
    (*emitted.module->getOps<wave::KernelOp>().begin()).setDirectCopies(GetParam().directCopies);
    DiagnosticCollector collector(&context);
    PassCheckOptions check;
    check.build = [&](mlir::OpPassManager &pm) {
      buildScheduledPipeline(pm, options.schedule);
      buildMachinePipeline(pm);
    };
    EXPECT_TRUE(mlir::succeeded(checkPasses(*emitted.module, check))) << format(collector.diagnostics());
  }
}

/// A schedule that is written to a file and read again gives the same program, whatever the schedule puts in.
TEST_P(Schedules, SurviveAFile) {
  Sizes sizes = trips(8);
  std::optional<CompileResult> direct = GetParam().compile(sizes, {}, {Artefact::machine});
  ASSERT_TRUE(direct);
  ASSERT_EQ(direct->loops.size(), 1U);
  sched::ScheduleFile file = sched::toFile(direct->loops.front());
  EXPECT_EQ(file.directCopies, GetParam().directCopies);
  for (bool json : {false, true}) {
    CompileOptions options = GetParam().options(sizes);
    options.schedule = {.file = json ? sched::printJson(file) : sched::printText(file)};
    options.keep = {Artefact::machine};
    CompileAttempt again = compileImage(GetParam().entry->build(*GetParam().variant), options, rt::ImageKind::emulator);
    ASSERT_TRUE(again) << format(again.diagnostics);
    EXPECT_TRUE(again.result->artefacts == direct->artefacts) << options.schedule.file;
    EXPECT_EQ(sched::diff(file, sched::toFile(again.result->loops.front())), std::vector<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Schedules, testing::ValuesIn(scheduledCases()), caseName);

//===-- What schedules give ------------------------------------------------------------------------------===//

/// The schedule of the language's description and the algorithm of that name are the same program.
TEST(ShippedSchedules, Seed000IsPrefetch) {
  for (const char *target : {"gfx942", "gfx950"}) {
    std::vector<std::string> codes;
    for (const char *name : {"seed000", "prefetch"}) {
      Case which = scheduled(*findTarget(target), name);
      CompileOptions options = which.options({{"M", 256}, {"N", 256}, {"K", 256}});
      options.keep = {Artefact::hsaco};
      CompileAttempt attempt = compileImage(which.entry->build(*which.variant), options, rt::ImageKind::hsaco);
      ASSERT_TRUE(attempt) << format(attempt.diagnostics);
      codes.push_back(attempt.result->artefacts.front().second);
    }
    EXPECT_TRUE(codes[0] == codes[1]) << target;
  }
}

/// Kernels whose loops have two memory phases, transposed loads or reductions can be scheduled too.
TEST(ShippedSchedules, OtherKernelsWithLoops) {
  for (const Target *target : allTargets())
    for (const char *kernel : {"gemm_nn"})
      for (const char *name : {"prefetch", "four_stage", "modulo"}) {
        Case which{kernels::findKernel(kernel), nullptr, target};
        which.variant = &which.entry->variants.front();
        which.schedule = name;
        for (const Sizes &sizes : {Sizes{{"M", 128}, {"N", 128}, {"K", 128}}, Sizes{{"M", 65}, {"N", 33}, {"K", 77}}}) {
          std::optional<CompileResult> compiled = which.compile(sizes);
          ASSERT_TRUE(compiled);
          checkOnEmulator(which, *compiled, sizes);
        }
      }
}

/// Attention is bound by its vector unit: three waves that take turns keep it busy, and need fewer registers than one
/// that overlaps with itself.
TEST(ShippedSchedules, ModuloLeavesRoomForOtherWaves) {
  for (const char *target : {"gfx942", "gfx950"}) {
    Case which{kernels::findKernel("attention"), nullptr, findTarget(target)};
    which.variant = &which.entry->variants.front();
    which.schedule = "modulo";
    Sizes sizes{{"B", 1}, {"H", 2}, {"Q", 200}, {"KV", 200}, {"D", 64}};
    std::optional<CompileResult> compiled = which.compile(sizes);
    ASSERT_TRUE(compiled && compiled->loops.size() == 1);
    const sched::LoopReport &loop = compiled->loops.front();
    EXPECT_LE(loop.verified.registers, 128) << target;
    EXPECT_GT(loop.schedule.stages(), 1) << target;
    EXPECT_LE(loop.schedule.interval, 3 * loop.bounds.resource) << target;
    checkOnEmulator(which, *compiled, sizes);
  }
}

/// The tiles whose times are in bench/results/h200.md.
TEST(ShippedSchedules, LargeTilesFitTheRegisters) {
  using Tiles = kernels::Sizes;
  for (const Tiles &tiles :
       {Tiles{{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 32}},
        Tiles{{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 64}},
        Tiles{{"BLOCK_M", 128}, {"BLOCK_N", 256}, {"BLOCK_K", 64}, {"WAVES_M", 2}, {"WAVES_N", 4}}}) {
    Case which = scheduled(*findTarget("sm_90a"), "modulo", "f16-f16");
    which.tiles = tiles;
    which.directCopies = true;
    EXPECT_TRUE(which.compile({{"M", 4096}, {"N", 4096}, {"K", 4096}}));
    EXPECT_TRUE(which.compile({{"M", 4095}, {"N", 4097}, {"K", 4099}}));
  }
}

} // namespace
} // namespace soliton::test
