//===- GroupPipelinesTest.cpp - Declared pipelines by matrix instructions of four waves ---------------===//
//
// The same declarations as in PipelinesTest.cpp, on a machine whose matrix instructions read shared memory by
// themselves, where tiles come in boxes: right on the emulator with its checks and an adversarial order of the waves,
// from less than one tile to many; in the declared order with the derived waits and no others; assembled without a
// spill or a serialised instruction; refused where there are no quadrants.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "soliton/pipeline/Drive.h"
#include "soliton/pipeline/PingPong.h"
#include "soliton/pipeline/Pipeline4Wave.h"
#include "soliton/pipeline/SingleBuffer.h"
#include "test/e2e/Findings.h"
#include "test/e2e/Support.h"

#include <algorithm>

namespace soliton::test {
namespace {
using kernels::Sizes;

/// `gemm` by instructions of four waves, its tile, and the pipeline for it.
struct Driven {
  Case which;
  sched::ScheduleRequest schedule;
  std::string mma = "F32_64x64x16_F16";

  CompileAttempt attempt(const Sizes &sizes, rt::ImageKind kind, const std::vector<std::string> &dynamic = {},
                         const std::vector<Artefact> &keep = {}) const {
    CompileOptions options = which.options(sizes, dynamic);
    options.schedule = schedule;
    options.mma = mma;
    options.keep = keep;
    options.cache = false;
    return compileImage(which.entry->build(*which.variant), options, kind);
  }
  std::optional<CompileResult> compile(const Sizes &sizes, rt::ImageKind kind,
                                       const std::vector<std::string> &dynamic = {},
                                       const std::vector<Artefact> &keep = {}) const {
    CompileAttempt made = attempt(sizes, kind, dynamic, keep);
    EXPECT_TRUE(made) << schedule.name << "\n" << format(made.diagnostics);
    return made ? std::move(made.result) : std::nullopt;
  }
  /// The id of what is wrong.
  std::string refusal(const Sizes &sizes) const {
    for (const Diagnostic &diagnostic : attempt(sizes, rt::ImageKind::emulator).diagnostics)
      if (diagnostic.severity == Severity::error)
        return std::string(idText(diagnostic.id));
    return "";
  }
};

Sizes tileOf(int m, int n, int k, int wavesM, int wavesN = 1) {
  return {{"BLOCK_M", m}, {"BLOCK_N", n}, {"BLOCK_K", k}, {"WAVES_M", wavesM}, {"WAVES_N", wavesN}};
}

Driven drivenBy(sched::ScheduleRequest schedule, Sizes tiles, const char *variant = "f16",
                const char *kernel = "gemm") {
  Case which{kernels::findKernel(kernel), nullptr, findTarget("sm_90a")};
  which.variant = which.entry->findVariant(variant);
  which.tiles = std::move(tiles);
  which.directCopies = true;
  which.schedule = schedule.name;
  return {which, std::move(schedule)};
}

Driven fourWaves(const char *variant = "f16", int columns = 128, int depth = 64) {
  pipe::GeometryResult shape = pipe::fourWaveGroupGeometry({.bm = 128, .bn = columns, .bk = depth});
  EXPECT_TRUE(shape.ok()) << format(shape.errors);
  Driven driven =
      drivenBy(pipe::pipeline(pipe::Pipeline4Wave(shape.geometry)), tileOf(128, columns, depth, 4), variant);
  driven.mma = "F32_64x" + std::to_string(columns / 2) + "x16_F16";
  return driven;
}

/// Two groups of waves that share the rows, or the columns.
Driven pingPong(const char *variant = "f16", bool alongM = true) {
  int m = alongM ? 256 : 128, n = alongM ? 128 : 256;
  pipe::GeometryResult shape = pipe::pingPongGroupGeometry({.bm = m, .bn = n, .bk = 64});
  EXPECT_TRUE(shape.ok()) << format(shape.errors);
  return drivenBy(pipe::pipeline(pipe::PingPong(shape.geometry)), alongM ? tileOf(m, n, 64, 8) : tileOf(m, n, 64, 4, 2),
                  variant);
}

Driven singleBuffer(const char *variant = "f16", int steps = 2, bool copies = true) {
  Driven driven =
      drivenBy(pipe::pipeline(pipe::SingleBuffer(steps, pipe::HintShape())), tileOf(128, 128, 64, 4), variant);
  driven.which.directCopies = copies;
  return driven;
}

std::vector<Driven> allPipelines(const char *variant = "f16") {
  return {fourWaves(variant), pingPong(variant), singleBuffer(variant)};
}

void checkAt(const Driven &driven, const Sizes &sizes) {
  if (std::optional<CompileResult> compiled = driven.compile(sizes, rt::ImageKind::emulator)) {
    EXPECT_EQ(compiled->loops.size(), 1U);
    checkOnEmulator(driven.which, *compiled, sizes);
  }
}

/// Whole tiles, rows and columns beyond them, K of one, two and an odd number of tiles, and of less than one.
void checkSizes(const Driven &driven) {
  const Sizes &tile = driven.which.tiles;
  int64_t m = tile.at("BLOCK_M"), n = tile.at("BLOCK_N"), k = tile.at("BLOCK_K");
  for (const Sizes &sizes : {Sizes{{"M", m}, {"N", n}, {"K", k}},
                             {{"M", m}, {"N", n}, {"K", 2 * k}},
                             {{"M", m + 6}, {"N", n + 2}, {"K", 5 * k}},
                             {{"M", m - 3}, {"N", n + 1}, {"K", k - 27}},
                             {{"M", m + 1}, {"N", n - 1}, {"K", 4 * k + 5}}})
    checkAt(driven, sizes);
}

TEST(GroupPipelines, RightAtEveryKindOfSize) {
  for (const char *variant : {"f16", "bf16"})
    for (const Driven &driven : allPipelines(variant)) {
      SCOPED_TRACE(std::string(variant) + " " + driven.schedule.name);
      checkSizes(driven);
    }
}

TEST(GroupPipelines, OtherTiles) {
  for (const Driven &driven : {fourWaves("f16", 192), fourWaves("bf16", 64), fourWaves("f16", 128, 32),
                               fourWaves("f16", 64, 128), pingPong("f16", /*alongM=*/false)}) {
    SCOPED_TRACE(driven.schedule.name + " by " + driven.mma);
    checkAt(driven, {{"M", 140}, {"N", 264}, {"K", 456}});
  }
  for (int steps : {1, 2, 4})
    checkAt(singleBuffer("f16", steps), {{"M", 140}, {"N", 130}, {"K", 456}});
}

/// Rows that begin anywhere and are not copied to ones that do not: tiles go through registers.
TEST(GroupPipelines, ThroughRegisters) {
  for (Driven driven : allPipelines()) {
    SCOPED_TRACE(driven.schedule.name);
    driven.which.paddedRows = RowPadding::never;
    checkAt(driven, {{"M", 130}, {"N", 129}, {"K", 333}});
    driven.which.directCopies = false;
    checkAt(driven, {{"M", 130}, {"N", 129}, {"K", 320}});
  }
}

TEST(GroupPipelines, FactorsTheOtherWayRound) {
  for (const char *kernel : {"gemm_nn", "gemm_tn", "gemm_tt"})
    for (const Driven &driven : allPipelines()) {
      SCOPED_TRACE(std::string(kernel) + " " + driven.schedule.name);
      checkAt(drivenBy(driven.schedule, driven.which.tiles, "f16", kernel), {{"M", 264}, {"N", 136}, {"K", 328}});
    }
}

/// K split over workgroups, a batch, arithmetic behind the loop, sums of bytes.
TEST(GroupPipelines, OtherProducts) {
  Sizes tile = tileOf(128, 128, 64, 4), split = tile;
  split["SPLIT_TILES"] = 2;
  auto schedule = [] { return pipe::pipeline(pipe::Pipeline4Wave()); };
  checkAt(drivenBy(schedule(), split, "f16", "gemm_split_k"), {{"M", 130}, {"N", 72}, {"K", 328}});
  checkAt(drivenBy(schedule(), tile, "f16", "gemm_batched"), {{"B", 2}, {"M", 130}, {"N", 72}, {"K", 200}});
  checkAt(drivenBy(schedule(), tile, "bf16", "gemm_gelu"), {{"M", 130}, {"N", 136}, {"K", 200}});
  Driven bytes = drivenBy(schedule(), tile, "i8");
  bytes.mma = "I32_64x64x32_I8";
  checkAt(bytes, {{"M", 130}, {"N", 136}, {"K", 208}});
}

TEST(GroupPipelines, SizesThatAreKnownAtLaunch) {
  for (const Driven &driven : allPipelines()) {
    SCOPED_TRACE(driven.schedule.name);
    std::optional<CompileResult> compiled =
        driven.compile({{"M", 64}, {"N", 64}, {"K", 64}}, rt::ImageKind::emulator, {"M", "N", "K"});
    ASSERT_TRUE(compiled);
    for (int64_t k : {0, 1, 63, 64, 65, 128, 130, 192, 256, 321})
      checkOnEmulator(driven.which, *compiled, {{"M", 70}, {"N", 33}, {"K", k}});
  }
}

//===-- The program ------------------------------------------------------------------------------------------===//

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

/// `a+2 M0N0 b+2 M0N1`: copies by operand and tiles ahead, products by quadrant; each once for a run of them.
std::string orderOf(const sched::LoopReport &loop) {
  std::vector<std::string> words;
  int stages = loop.schedule.stages();
  for (int op : sched::emissionOrder(loop.schedule)) {
    const sched::Operation &entry = loop.problem.operations[op];
    std::string word;
    if (entry.kind == sched::OpKind::CopyAsync)
      word = entry.origin.tags.front().substr(5) + "+" + std::to_string(stages - 1 - loop.schedule.slots[op].stage);
    else if (entry.kind == sched::OpKind::Mma)
      word = "M" + std::to_string(entry.origin.piece.at("M")) + "N" + std::to_string(entry.origin.piece.at("N"));
    if (!word.empty() && (words.empty() || words.back() != word))
      words.push_back(word);
  }
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

const Sizes kLarge = {{"M", 4096}, {"N", 4096}, {"K", 4096}};

TEST(GroupPipelines, FourWavesInTheDeclaredOrderWithTheDerivedWaits) {
  std::optional<CompileResult> compiled = fourWaves().compile(kLarge, rt::ImageKind::ptx, {}, {Artefact::ptx});
  ASSERT_TRUE(compiled);
  const sched::LoopReport &loop = compiled->loops.front();
  EXPECT_EQ(orderOf(loop), "a+2 M0N0 b+2 M0N1 b+2 M1N0 a+2 M1N1");
  // At the one barrier of a tile the products of the tile before are under way, and so is the next tile.
  EXPECT_EQ(barriersOf(loop), 1);
  EXPECT_EQ(waitsOf(loop, "mma"), std::vector{1});
  EXPECT_EQ(waitsOf(loop, "boxes"), std::vector{1});
  for (const sched::Hazard &hazard : loop.verified.hazards)
    EXPECT_EQ(hazard.value, sched::HazardClass::Proven);
  // The one wait of the loop, and the one for the sums.
  std::string ptx = compiled->artefacts.front().second;
  auto count = [&](const std::string &text) {
    int found = 0;
    for (size_t at = 0; (at = ptx.find(text, at)) != std::string::npos; ++at)
      ++found;
    return found;
  };
  EXPECT_EQ(count("wgmma.wait_group.sync.aligned 1;"), 1);
  EXPECT_EQ(count("wgmma.wait_group"), 2);
  EXPECT_EQ(count("wgmma.commit_group"), 3); // the loop's tile, and the two of the epilogue
  EXPECT_EQ(count("wgmma.mma_async"), 3 * 16);
}

TEST(GroupPipelines, PingPongInTheDeclaredOrderWithTheDerivedWaits) {
  std::optional<CompileResult> compiled = pingPong().compile(kLarge, rt::ImageKind::emulator, {}, {Artefact::machine});
  ASSERT_TRUE(compiled);
  const sched::LoopReport &loop = compiled->loops.front();
  EXPECT_EQ(orderOf(loop), "a+1 M0N0 M0N1 a+2 b+2 M1N0 b+2 M1N1");
  // The phases, and nothing beside them; products of two quadrants stay under way.
  EXPECT_EQ(barriersOf(loop), 8);
  EXPECT_EQ(loop.problem.stagger, (std::vector{0, 1}));
  EXPECT_EQ(waitsOf(loop, "mma"), (std::vector{2, 2}));
  // The group behind has seen what it waited for one barrier earlier: more barriers in memory than are under way.
  std::string machine = compiled->artefacts.front().second;
  int barriers = 0;
  for (size_t at = 0; (at = machine.find("machine.mbarrier_init", at)) != std::string::npos; ++at)
    ++barriers;
  EXPECT_EQ(barriers, 8);
}

TEST(GroupPipelines, SingleBufferInTheDeclaredOrderWithTheDerivedWaits) {
  std::optional<CompileResult> compiled = singleBuffer().compile(kLarge, rt::ImageKind::emulator);
  ASSERT_TRUE(compiled);
  const sched::LoopReport &loop = compiled->loops.front();
  // The first half of K, the copies, the second half.
  EXPECT_EQ(orderOf(loop), "M0N0 M1N0 M0N1 M1N1 a+2 b+2 M0N0 M1N0 M0N1 M1N1");
  EXPECT_EQ(barriersOf(loop), 1);
  EXPECT_EQ(waitsOf(loop, "mma"), std::vector{1});
}

/// A spill or a serialised instruction is an error or a warning of the assembler's.
TEST(GroupPipelines, AssembledWithoutSpillOrSerialisation) {
  if (!backend::findPtxas())
    GTEST_SKIP() << "ptxas is not found";
  auto check = [](const Driven &driven, std::initializer_list<int64_t> depths) {
    for (int64_t k : depths) {
      SCOPED_TRACE(driven.schedule.name + " by " + driven.mma + ", K = " + std::to_string(k));
      std::optional<CompileResult> compiled =
          driven.compile({{"M", 1024}, {"N", 1024}, {"K", k}}, rt::ImageKind::cubin);
      ASSERT_TRUE(compiled);
      EXPECT_EQ(compiled->spillBytes, 0U);
      EXPECT_TRUE(compiled->warnings.empty()) << format(compiled->warnings);
    }
  };
  // Few tiles are no loop.
  for (const Driven &driven : allPipelines())
    check(driven, {64, 128, 192, 4096});
  for (const Driven &driven :
       {fourWaves("bf16"), fourWaves("f16", 192), pingPong("bf16"), pingPong("f16", false), singleBuffer("bf16", 4)})
    check(driven, {456});
  for (const Driven &driven : allPipelines())
    if (std::optional<CompileResult> compiled = driven.compile(kLarge, rt::ImageKind::cubin, {"M", "N", "K"}))
      EXPECT_EQ(compiled->spillBytes, 0U) << driven.schedule.name;
}

//===-- What is taken away is found ----------------------------------------------------------------------------===//

TEST(GroupPipelines, TheEmulatorMissesWhatIsTakenAway) {
  for (const Driven &driven : allPipelines()) {
    SCOPED_TRACE(driven.schedule.name);
    int64_t m = driven.which.tiles.at("BLOCK_M"), n = 128, k = 640;
    std::optional<CompileResult> compiled =
        driven.compile({{"M", m}, {"N", n}, {"K", k}}, rt::ImageKind::emulator, {}, {Artefact::machine});
    ASSERT_TRUE(compiled);
    std::string machine = compiled->artefacts.front().second;
    std::vector<uint16_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k));
    std::vector<float> c(static_cast<size_t>(m * n));
    auto findings = [&](const Change &change) {
      return findingsOf(machine, change,
                        {{reinterpret_cast<uint8_t *>(a.data()), 2 * a.size()},
                         {reinterpret_cast<uint8_t *>(b.data()), 2 * b.size()},
                         {reinterpret_cast<uint8_t *>(c.data()), 4 * c.size()}});
    };
    EXPECT_TRUE(findings({}).empty());
    const char *underWay = driven.schedule.name == "ping_pong" ? "machine.wait mma, 2" : "machine.wait mma, 1";
    EXPECT_FALSE(findings({underWay, "machine.wait mma, 7", ""}).empty());
    EXPECT_FALSE(findings({"machine.wait mma, 0", "machine.wait mma, 7", ""}).empty());
    EXPECT_FALSE(findings({"machine.commit mma\n", "\n", ""}).empty());
    EXPECT_FALSE(findings({"", "", "machine.mbarrier_wait"}).empty());
    EXPECT_FALSE(findings({"machine.barrier\n", "\n", ""}).empty());
  }
}

//===-- What is refused ------------------------------------------------------------------------------------------===//

TEST(GroupPipelines, RefusedWithoutQuadrants) {
  Sizes sizes = {{"M", 256}, {"N", 256}, {"K", 256}};
  // Sixteen rows a wave are one instruction; so are 128 columns by one of 128.
  EXPECT_EQ(drivenBy(pipe::pipeline(pipe::Pipeline4Wave()), tileOf(128, 128, 64, 8)).refusal(sizes), "schedule-pieces");
  Driven wide = drivenBy(pipe::pipeline(pipe::Pipeline4Wave()), tileOf(128, 128, 64, 4));
  EXPECT_EQ(wide.refusal(sizes), "");
  wide.mma = "F32_64x128x16_F16";
  EXPECT_EQ(wide.refusal(sizes), "schedule-pieces");
  // Columns that no size reaches are not multiplied.
  EXPECT_EQ(fourWaves().refusal({{"M", 256}, {"N", 40}, {"K", 256}}), "schedule-pieces");
}

TEST(GroupPipelines, RefusedForAnotherTileAndAsShipped) {
  Sizes sizes = {{"M", 256}, {"N", 256}, {"K", 256}};
  pipe::GeometryResult shape = pipe::fourWaveGroupGeometry({.bm = 128, .bn = 128, .bk = 64});
  auto deep = pipe::pipeline(pipe::Pipeline4Wave(shape.geometry));
  EXPECT_EQ(drivenBy(deep, tileOf(128, 128, 128, 4)).refusal(sizes), "pipeline-geometry");
  auto shipped = pipe::pipeline(pipe::Pipeline4Wave(shape.geometry), pipe::faithful("as shipped"));
  EXPECT_EQ(drivenBy(shipped, tileOf(128, 128, 64, 4)).refusal(sizes), "pipeline-counterpart");
}

} // namespace
} // namespace soliton::test
