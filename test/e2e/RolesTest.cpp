//===- RolesTest.cpp - Schedules that say who copies and which workgroups walk tiles ----------------===//
//
// What a schedule says of the whole workgroup is what the options of a compilation say: the same program comes of
// either, from a function or from the file that is written of it. It runs right on the emulator, with all checks, in
// orders of the author's own as in those of an algorithm. And what contradicts is refused where it is said.
//
//===----------------------------------------------------------------------===//
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/backend/Backend.h"
#include "soliton/driver/Compile.h"
#include "test/e2e/Support.h"

#include <regex>

namespace soliton::test {
namespace {
using kernels::Sizes;
using Body = std::function<void(ScheduleContext &)>;

/// A kernel of the library under a schedule.
struct Scheduled {
  const char *kernel = "gemm";
  Sizes sizes = {{"M", 256}, {"N", 256}, {"K", 512}};
  Sizes tiles = {{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 64}, {"WAVES_M", 8}, {"WAVES_N", 1}};
  std::string mma = "F32_64x128x16_F16";
  std::vector<std::string> dynamic = {};

  Case which() const {
    Case result{kernels::findKernel(kernel), nullptr, findTarget("sm_90a"), tiles, /*directCopies=*/true};
    result.variant = result.entry->findVariant("f16");
    return result;
  }

  CompileOptions options(const Body &body = {}) const {
    CompileOptions result = which().options(sizes, dynamic);
    result.mma = mma;
    result.stagedWrites = true;
    result.keep = {Artefact::machine};
    result.schedule.name = "ring";
    if (body)
      result.schedule.written = std::make_shared<WaveSchedule>(WaveSchedule{"mine", body});
    return result;
  }

  CompileAttempt compile(const CompileOptions &options, rt::ImageKind kind = rt::ImageKind::emulator) const {
    return compileImage(which().entry->build(*which().variant), options, kind);
  }
};

Scheduled attention(int64_t q, int64_t kv, int64_t d, const char *kernel = "attention") {
  Scheduled result{.kernel = kernel};
  result.sizes.clear();
  for (const kernels::DefaultSize &size : kernels::findKernel(kernel)->sizes)
    result.sizes[size.name] = size.value;
  for (auto [name, value] : {std::pair("B", int64_t{1}), {"H", 2}, {"Q", q}, {"KV", kv}, {"D", d}})
    result.sizes[name] = value;
  result.tiles = {{"BLOCK_Q", 128}, {"BLOCK_KV", 128}, {"WAVES", 8}};
  result.mma = "F32_64xNx16_F16";
  return result;
}

/// The program, without the places of its lines.
std::string programOf(const CompileAttempt &compiled) {
  EXPECT_TRUE(compiled) << format(compiled.diagnostics);
  return compiled ? compiled.result->artefacts.front().second : "";
}

rt::ImageKind binary() {
  return backend::findPtxas() ? rt::ImageKind::cubin : rt::ImageKind::ptx;
}

/// The assembler is asked where `kind` says so: what few keys unroll may spill, whoever copies.
void expectRight(const Scheduled &what, const Body &body, std::optional<rt::ImageKind> kind = {}) {
  SCOPED_TRACE(testing::PrintToString(what.sizes));
  CompileAttempt compiled = what.compile(what.options(body));
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  checkOnEmulator(what.which(), *compiled.result, what.sizes);
  CompileAttempt code = what.compile(what.options(body), kind ? *kind : binary());
  EXPECT_TRUE(code) << format(code.diagnostics);
}

const std::vector<std::string> kFactors = {"read_a", "read_b"}, kKeysAndValues = {"read_k", "read_v"};

Body ringOfProducts(int waves, int64_t workgroups, int registers = 0) {
  return [=](ScheduleContext &s) {
    s.order_by(s.get_node_by_tag("k_loop"), "ring");
    s.specialize(kFactors, {.waves = waves, .registers = registers});
    if (workgroups > 0)
      s.persistent(workgroups);
  };
}

/// Copies three iterations ahead in four buffers, said stage by stage; early stages run past the end.
Body pipelineOfProducts(int waves, int64_t workgroups, bool releases) {
  return [=](ScheduleContext &s) {
    Nodes copies = s.get_node_by_tag_and_type("read_a", NodeType::GatherToLDS) +
                   s.get_node_by_tag_and_type("read_b", NodeType::GatherToLDS);
    auto p =
        s.pipeline(s.get_node_by_tag("k_loop"), {.multi_buffer_count = 4, .copies_run_on = true, .releases = releases});
    p.set_stage({{}, {copies}});
    p.set_stage({{}, {}});
    p.set_stage({{}, {}});
    p.set_stage({{s.get_node_by_tag("mma")}, {}});
    s.specialize(copies, {.waves = waves});
    if (workgroups > 0)
      s.persistent(workgroups);
  };
}

Body ringOfAttention(int waves, int64_t workgroups) {
  return [=](ScheduleContext &s) {
    s.order_by(s.get_node_by_tag("kv_loop"), "ring");
    s.specialize(kKeysAndValues, {.waves = waves});
    if (workgroups > 0)
      s.persistent(workgroups);
  };
}

//===-- The same program ------------------------------------------------------------------------------------===//

TEST(Roles, SaidInAScheduleOrAsOptions) {
  for (int waves : {1, 4})
    for (int64_t workgroups : {0, 2}) {
      Scheduled product, chain = attention(300, 520, 64);
      for (const auto &[what, body] :
           {std::pair(product, ringOfProducts(waves, workgroups)), {chain, ringOfAttention(waves, workgroups)}}) {
        CompileOptions asOptions = what.options();
        asOptions.serviceWaves = waves;
        asOptions.persistent = workgroups;
        std::string expected = programOf(what.compile(asOptions));
        EXPECT_EQ(programOf(what.compile(what.options(body))), expected);
        // Whoever says the same twice contradicts nobody.
        CompileOptions both = what.options(body);
        both.serviceWaves = waves;
        both.persistent = workgroups;
        EXPECT_EQ(programOf(what.compile(both)), expected);
      }
    }
}

TEST(Roles, TilesThatOverlap) {
  for (const auto &[what, order] :
       {std::pair(Scheduled{}, ringOfProducts(4, 0)), {attention(300, 520, 64), ringOfAttention(4, 0)}}) {
    Body body = [&](ScheduleContext &s) {
      order(s);
      s.persistent(2, {.overlap_tiles = true});
    };
    CompileOptions asOptions = what.options();
    asOptions.serviceWaves = 4;
    asOptions.persistent = 2;
    asOptions.overlapTiles = true;
    EXPECT_EQ(programOf(what.compile(what.options(body))), programOf(what.compile(asOptions)));
    expectRight(what, body);
  }
}

/// Rows below a causal mask are uneven: workgroups draw their tiles, which needs a counter in the workspace, and that
/// is decided in front of the first pass.
TEST(Roles, UnevenTilesAreDrawn) {
  Scheduled causal = attention(400, 300, 64, "attention_causal");
  CompileAttempt compiled = causal.compile(causal.options(ringOfAttention(4, 3)));
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  EXPECT_EQ(compiled.result->image.workspace.zeroed.size(), 1u);
  checkOnEmulator(causal.which(), *compiled.result, causal.sizes);
}

TEST(Roles, FilesSayThem) {
  for (const auto &[what, body] :
       {std::pair(Scheduled(), ringOfProducts(4, 2, 56)), {attention(300, 520, 64), ringOfAttention(4, 0)}}) {
    CompileAttempt written = what.compile(what.options(body));
    ASSERT_TRUE(written) << format(written.diagnostics);
    ASSERT_EQ(written.result->loops.size(), 1u);
    sched::ScheduleFile file = sched::toFile(written.result->loops.front());
    ASSERT_TRUE(file.specialized);
    EXPECT_EQ(file.specialized->waves, 4);
    for (const std::string &text : {printText(file), printJson(file)}) {
      CompileOptions options = what.options();
      options.schedule.file = text;
      CompileAttempt read = what.compile(options);
      EXPECT_EQ(programOf(read), programOf(written)) << text;
      ASSERT_TRUE(read);
      EXPECT_EQ(printText(sched::toFile(read.result->loops.front())), printText(file));
    }
  }
}

/// What options said, the file says too: it is compiled alone to the same program.
TEST(Roles, FilesSayWhatOptionsSaid) {
  Scheduled what;
  CompileOptions options = what.options();
  options.serviceWaves = 2;
  options.persistent = 3;
  options.overlapTiles = true;
  CompileAttempt asOptions = what.compile(options);
  ASSERT_TRUE(asOptions) << format(asOptions.diagnostics);
  std::string text = printText(sched::toFile(asOptions.result->loops.front()));
  EXPECT_NE(text.find("specialize waves 2 registers 0 \"read_a/"), std::string::npos) << text;
  EXPECT_NE(text.find("persistent 3\noverlap_tiles\n"), std::string::npos) << text;
  CompileOptions byFile = what.options();
  byFile.schedule.file = text;
  EXPECT_EQ(programOf(what.compile(byFile)), programOf(asOptions));
}

TEST(Roles, LanesKeepTheRegistersThatAreSaid) {
  Scheduled what;
  for (auto [said, copying, computing] : {std::tuple(0, 40, 232), {24, 24, 240}, {56, 56, 224}, {104, 104, 200}}) {
    CompileOptions options = what.options(ringOfProducts(4, 0, said));
    options.keep = {Artefact::ptx};
    std::string ptx =
        std::regex_replace(programOf(what.compile(options, rt::ImageKind::ptx)), std::regex("[ \t]+"), " ");
    EXPECT_NE(ptx.find("setmaxnreg.dec.sync.aligned.u32 " + std::to_string(copying) + ";"), std::string::npos) << said;
    EXPECT_NE(ptx.find("setmaxnreg.inc.sync.aligned.u32 " + std::to_string(computing) + ";"), std::string::npos)
        << said;
  }
}

//===-- Right ----------------------------------------------------------------------------------------------===//

/// Whole tiles, odd ones, fewer than one, and more stages than iterations.
TEST(Roles, ProductsAreRight) {
  for (const Sizes &sizes : {Sizes{{"M", 256}, {"N", 256}, {"K", 512}},
                             {{"M", 130}, {"N", 72}, {"K", 200}},
                             {{"M", 1}, {"N", 8}, {"K", 8}},
                             {{"M", 200}, {"N", 136}, {"K", 128}}})
    for (const Body &body :
         {ringOfProducts(4, 0), ringOfProducts(1, 2), pipelineOfProducts(4, 2, false), pipelineOfProducts(1, 0, false),
          pipelineOfProducts(4, 0, true), pipelineOfProducts(4, 2, true)}) {
      Scheduled what;
      what.sizes = sizes;
      expectRight(what, body);
    }
}

TEST(Roles, SizesThatALaunchSays) {
  for (const Body &body : {ringOfProducts(4, 2), pipelineOfProducts(4, 2, false), pipelineOfProducts(4, 2, true)}) {
    Scheduled what;
    what.dynamic = {"M", "N"};
    what.sizes = {{"M", 131}, {"N", 200}, {"K", 320}};
    expectRight(what, body);
  }
}

TEST(Roles, AttentionIsRight) {
  for (auto [q, kv] : {std::pair(256, 512), {300, 520}, {1, 700}, {77, 1}})
    for (int64_t workgroups : {0, 2})
      expectRight(attention(q, kv, 64), ringOfAttention(4, workgroups), rt::ImageKind::ptx);
  for (int64_t workgroups : {0, 132}) {
    Scheduled large = attention(4096, 4096, 128);
    CompileAttempt code = large.compile(large.options(ringOfAttention(4, workgroups)), binary());
    EXPECT_TRUE(code) << format(code.diagnostics);
  }
}

//===-- What is refused -----------------------------------------------------------------------------------===//

void expectRefused(const CompileAttempt &attempt, std::string_view message) {
  ASSERT_FALSE(attempt) << message;
  std::vector<Diagnostic> errors;
  std::ranges::copy_if(attempt.diagnostics, std::back_inserter(errors),
                       [](const Diagnostic &each) { return each.severity == Severity::error; });
  ASSERT_EQ(errors.size(), 1u) << format(attempt.diagnostics);
  EXPECT_EQ(errors[0].id, DiagId::ScheduleRoles) << format(errors);
  EXPECT_NE(errors[0].message.find(message), std::string::npos) << format(errors);
  EXPECT_NE(errors[0].place.file.find("RolesTest.cpp"), std::string::npos) << format(errors);
  EXPECT_FALSE(errors[0].hint.empty());
}

TEST(Roles, ContradictionsWithOptions) {
  Scheduled what;
  for (int64_t other : {0, 2}) {
    CompileOptions options = what.options(ringOfProducts(4, 0));
    options.serviceWaves = other;
    expectRefused(what.compile(options), "the schedule says 4 waves that copy, and the kernel or the compilation's "
                                         "options say " +
                                             std::to_string(other) + " service waves");
  }
  CompileOptions options = what.options(ringOfProducts(4, 132));
  options.persistent = 66;
  expectRefused(what.compile(options), "the schedule says 132 workgroups that walk tiles, and the kernel or the "
                                       "compilation's options say 66");
}

TEST(Roles, BudgetsThatNobodyCanHave) {
  Scheduled what;
  expectRefused(what.compile(what.options(ringOfProducts(1, 0, 40))),
                "lanes that copy keep 40 registers, and registers change hands between whole groups of 4 waves, here 8 "
                "compute and 1 copy");
  expectRefused(what.compile(what.options(ringOfProducts(4, 0, 176))),
                "lanes that copy keep 176 registers, and they begin with 168");
}

TEST(Roles, OpsThatAreNoCopiesOfBoxes) {
  Scheduled what;
  expectRefused(what.compile(what.options([](ScheduleContext &s) { s.specialize({"read_a", "read_b", "mma"}); })),
                "and waves beside those that compute can issue copies of boxes only");
  CompileOptions byLanes = what.options([](ScheduleContext &s) { s.specialize(kFactors); });
  byLanes.directCopies = false;
  expectRefused(what.compile(byLanes), "and waves beside those that compute can issue copies of boxes only");
}

/// Each time it runs it says something else.
TEST(Roles, ASchedulesWordsThatChange) {
  Scheduled what;
  auto calls = std::make_shared<int>(0);
  expectRefused(what.compile(what.options([=](ScheduleContext &s) { s.persistent(++*calls); })),
                "say different things of the workgroup");
}

} // namespace
} // namespace soliton::test
