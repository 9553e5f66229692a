//===- PipelinesTest.cpp - Declared pipelines on the language's own matrix products ----------------===//
//
// Four waves, ping-pong and the single buffer, at the tiles that they are for: right on the emulator with its checks
// and an adversarial order of the waves, at aligned and unaligned sizes, from less than one tile to many; code objects
// in the declared order without a spill; the barriers and waits of exact analysis.
//
//===----------------------------------------------------------------------===//
#include "soliton/pipeline/Drive.h"
#include "soliton/pipeline/PingPong.h"
#include "soliton/pipeline/Pipeline4Wave.h"
#include "soliton/pipeline/SingleBuffer.h"
#include "test/e2e/Support.h"

#include <algorithm>

namespace soliton::test {
namespace {
using kernels::Sizes;

/// A kernel, its tile, and the pipeline for it.
struct Driven {
  Case which;
  sched::ScheduleRequest schedule;

  std::optional<CompileResult> compile(const Sizes &sizes, rt::ImageKind kind,
                                       const std::vector<std::string> &dynamic = {}) const {
    CompileOptions options = which.options(sizes, dynamic);
    options.schedule = schedule;
    CompileAttempt attempt = compileImage(which.entry->build(*which.variant), options, kind);
    EXPECT_TRUE(attempt) << which.name() << "\n" << format(attempt.diagnostics);
    return attempt ? std::move(attempt.result) : std::nullopt;
  }
};

Sizes tileOf(int m, int n, int k, int wavesM = 2, int wavesN = 2) {
  return {{"BLOCK_M", m}, {"BLOCK_N", n}, {"BLOCK_K", k}, {"WAVES_M", wavesM}, {"WAVES_N", wavesN}};
}

Driven drivenBy(sched::ScheduleRequest schedule, const char *target, const char *variant, Sizes tiles,
                bool directCopies = true, const char *kernel = "gemm") {
  Case which{kernels::findKernel(kernel), nullptr, findTarget(target)};
  which.variant = which.entry->findVariant(variant);
  which.tiles = std::move(tiles);
  which.directCopies = directCopies;
  which.schedule = schedule.name;
  return {which, std::move(schedule)};
}

pipe::TileShape shapeOf(const char *variant, const Sizes &tiles) {
  pipe::TileShape shape;
  shape.bm = static_cast<int>(tiles.at("BLOCK_M"));
  shape.bn = static_cast<int>(tiles.at("BLOCK_N"));
  shape.bk = static_cast<int>(tiles.at("BLOCK_K"));
  shape.elemBytes = std::string_view(variant) == "f8" ? 1 : 2;
  return shape;
}

/// Where the geometry is one of gfx950's, the pipeline says it and it is checked.
Driven fourWaves(const char *target, const char *variant, const Sizes &tiles, bool directCopies = true) {
  pipe::GeometryResult shape = pipe::fourWaveGeometry(shapeOf(variant, tiles));
  bool known = shape.ok() && directCopies;
  return drivenBy(known ? pipe::pipeline(pipe::Pipeline4Wave(shape.geometry)) : pipe::pipeline(pipe::Pipeline4Wave()),
                  target, variant, tiles, directCopies);
}

Driven pingPong(const char *target, const char *variant, const Sizes &tiles) {
  pipe::GeometryResult shape = pipe::pingPongGeometry(shapeOf(variant, tiles));
  EXPECT_TRUE(shape.ok()) << format(shape.errors);
  return drivenBy(pipe::pipeline(pipe::PingPong(shape.geometry)), target, variant, tiles);
}

/// Right at every kind of size.
void checkSizes(const Driven &driven, bool unaligned = true) {
  const Sizes &tile = driven.which.tiles;
  int64_t m = tile.at("BLOCK_M"), n = tile.at("BLOCK_N"), k = tile.at("BLOCK_K");
  std::vector<Sizes> all = {{{"M", m}, {"N", n}, {"K", k}},
                            {{"M", m}, {"N", n}, {"K", 2 * k}},
                            {{"M", m + 6}, {"N", n + 2}, {"K", 5 * k}},
                            {{"M", 2 * m}, {"N", n - 1}, {"K", 6 * k + 16}}};
  if (unaligned) {
    all.push_back({{"M", m - 3}, {"N", n + 1}, {"K", k - 27}});
    all.push_back({{"M", m + 1}, {"N", n}, {"K", 4 * k + 5}});
  }
  for (const Sizes &sizes : all)
    if (std::optional<CompileResult> compiled = driven.compile(sizes, rt::ImageKind::emulator)) {
      EXPECT_EQ(compiled->loops.size(), 1U);
      checkOnEmulator(driven.which, *compiled, sizes);
    }
}

/// Its code object: the compiler holds it against the declared order itself; what it loads it keeps in registers.
void checkCodeObject(const Driven &driven) {
  const Sizes &tile = driven.which.tiles;
  Sizes sizes = {{"M", 4 * tile.at("BLOCK_M")}, {"N", 4 * tile.at("BLOCK_N")}, {"K", 16 * tile.at("BLOCK_K")}};
  if (std::optional<CompileResult> compiled = driven.compile(sizes, rt::ImageKind::hsaco))
    EXPECT_EQ(compiled->spillBytes, 0U) << driven.which.name();
}

int barriersOf(const sched::LoopReport &loop) {
  return static_cast<int>(std::ranges::count(loop.program.kernel, sched::EntryKind::Barrier, &sched::Entry::kind));
}

std::vector<int> waitsOf(const sched::LoopReport &loop, std::string_view counter) {
  std::vector<int> values;
  for (const sched::Entry &entry : loop.program.kernel)
    if (entry.kind == sched::EntryKind::Wait && loop.problem.counters[entry.counter].name == counter)
      values.push_back(entry.value);
  return values;
}

//===-- Four waves -----------------------------------------------------------------------------------------===//

TEST(Pipelines, FourWavesAtEveryTile) {
  for (const char *variant : {"bf16", "f16", "f8"})
    for (auto [m, n] : {std::pair(64, 64), {64, 128}, {128, 64}, {128, 128}})
      for (int k : {64, 128}) {
        SCOPED_TRACE(std::string(variant) + " " + std::to_string(m) + "x" + std::to_string(n) + "x" +
                     std::to_string(k));
        Driven driven = fourWaves("gfx950", variant, tileOf(m, n, k));
        checkSizes(driven, /*unaligned=*/m == 64);
        checkCodeObject(driven);
      }
}

/// Copies of four bytes: more instructions for an op, the same program. 64 KiB of shared memory.
TEST(Pipelines, FourWavesOnGfx942) {
  for (const auto &[variant, tile] : {std::pair("bf16", tileOf(64, 64, 64)),
                                      {"f16", tileOf(128, 64, 64)},
                                      {"f8", tileOf(64, 64, 128)},
                                      {"bf16", tileOf(128, 128, 64)}}) {
    SCOPED_TRACE(variant);
    for (bool direct : {true, false}) {
      Driven driven = fourWaves("gfx942", variant, tile, direct);
      checkSizes(driven, /*unaligned=*/tile.at("BLOCK_M") == 64);
      checkCodeObject(driven);
    }
  }
}

/// §9.4 on the kernel: two barriers a tile; each leaves four loads under way and no shared read.
TEST(Pipelines, FourWavesHaveTheBarriersAndWaitsOfExactAnalysis) {
  for (const auto &[variant, tile, copies] : {std::tuple("bf16", tileOf(128, 128, 64), 2),
                                              {"bf16", tileOf(64, 64, 64), 1},
                                              {"bf16", tileOf(128, 128, 128), 4},
                                              {"f8", tileOf(128, 128, 128), 2}}) {
    std::optional<CompileResult> compiled =
        fourWaves("gfx950", variant, tile).compile({{"M", 256}, {"N", 256}, {"K", 2048}}, rt::ImageKind::emulator);
    ASSERT_TRUE(compiled);
    const sched::LoopReport &loop = compiled->loops.front();
    EXPECT_EQ(barriersOf(loop), 2);
    EXPECT_EQ(waitsOf(loop, "vm"), (std::vector{4 * copies, 4 * copies}));
    EXPECT_EQ(waitsOf(loop, "shared"), (std::vector{0, 0}));
    for (const sched::Hazard &hazard : loop.verified.hazards)
      EXPECT_EQ(hazard.value, sched::HazardClass::Proven);
  }
}

TEST(Pipelines, FourWavesSplitK) {
  for (int splits : {1, 2, 4}) {
    Sizes tile = tileOf(64, 64, 64);
    tile["SPLIT_TILES"] = 8 / splits;
    Driven driven = drivenBy(pipe::pipeline(pipe::Pipeline4Wave()), "gfx950", "bf16", tile, true, "gemm_split_k");
    for (const Sizes &sizes :
         {Sizes{{"M", 128}, {"N", 64}, {"K", 8 * 64}}, Sizes{{"M", 70}, {"N", 50}, {"K", 7 * 64 + 8}}})
      if (std::optional<CompileResult> compiled = driven.compile(sizes, rt::ImageKind::emulator))
        checkOnEmulator(driven.which, *compiled, sizes);
    checkCodeObject(driven);
  }
}

TEST(Pipelines, SizesThatAreKnownAtLaunch) {
  for (const char *target : {"gfx942", "gfx950"}) {
    Driven driven = drivenBy(pipe::pipeline(pipe::Pipeline4Wave()), target, "bf16", tileOf(64, 64, 64));
    std::optional<CompileResult> compiled =
        driven.compile({{"M", 64}, {"N", 64}, {"K", 64}}, rt::ImageKind::emulator, {"M", "N", "K"});
    ASSERT_TRUE(compiled);
    for (int64_t k : {0, 1, 63, 64, 65, 128, 130, 192, 256, 321})
      checkOnEmulator(driven.which, *compiled, {{"M", 70}, {"N", 33}, {"K", k}});
  }
}

//===-- Ping-pong ------------------------------------------------------------------------------------------===//

TEST(Pipelines, PingPongAtItsTiles) {
  for (const auto &[variant, tile] : {std::pair("bf16", tileOf(256, 256, 64, 2, 4)),
                                      {"f8", tileOf(256, 256, 128, 2, 4)},
                                      {"f8", tileOf(128, 256, 128, 2, 4)}}) {
    Driven driven = pingPong("gfx950", variant, tile);
    checkSizes(driven, /*unaligned=*/false);
    checkCodeObject(driven);
    std::optional<CompileResult> compiled =
        driven.compile({{"M", 256}, {"N", 256}, {"K", 2048}}, rt::ImageKind::emulator);
    ASSERT_TRUE(compiled);
    // The phases, and nothing beside them.
    EXPECT_EQ(barriersOf(compiled->loops.front()), 8);
    EXPECT_EQ(compiled->loops.front().problem.stagger, (std::vector{0, 1}));
  }
}

TEST(Pipelines, PingPongOnGfx942) {
  Driven driven = drivenBy(pipe::pipeline(pipe::PingPong()), "gfx942", "bf16", tileOf(128, 128, 64, 2, 4));
  checkSizes(driven);
  checkCodeObject(driven);
}

//===-- One buffer -----------------------------------------------------------------------------------------===//

TEST(Pipelines, SingleBufferOfOneTwoAndFourSteps) {
  for (const char *target : {"gfx942", "gfx950"})
    for (int steps : {1, 2, 4}) {
      int64_t k = 32 * steps; // a shared load of 16 bytes serves 32 of K
      for (bool hints : {true, false}) {
        auto declared = hints ? pipe::SingleBuffer(steps, pipe::HintShape()) : pipe::SingleBuffer(steps);
        Driven driven = drivenBy(pipe::pipeline(declared), target, "bf16", tileOf(64, 64, k), /*directCopies=*/false);
        checkSizes(driven, /*unaligned=*/hints);
        checkCodeObject(driven);
      }
    }
}

//===-- What is refused --------------------------------------------------------------------------------------===//

TEST(Pipelines, AGeometryOfAnotherTile) {
  pipe::GeometryResult shape = pipe::fourWaveGeometry({.bm = 128, .bn = 128, .bk = 64, .elemBytes = 2});
  Driven driven = drivenBy(pipe::pipeline(pipe::Pipeline4Wave(shape.geometry)), "gfx950", "bf16", tileOf(64, 64, 64));
  CompileOptions options = driven.which.options({{"M", 64}, {"N", 64}, {"K", 256}});
  options.schedule = driven.schedule;
  CompileAttempt attempt =
      compileImage(driven.which.entry->build(*driven.which.variant), options, rt::ImageKind::emulator);
  EXPECT_FALSE(attempt);
  EXPECT_NE(format(attempt.diagnostics).find("[pipeline-geometry]"), std::string::npos) << format(attempt.diagnostics);
}

} // namespace
} // namespace soliton::test
