// What a launch is known to be before it happens, and a loop as a search sees it.
#include "soliton/tuner/TunedLoop.h"
#include "soliton/driver/LoopLaunch.h"
#include "soliton/tuner/KernelJudge.h"
#include "soliton/tuner/ScheduleDomain.h"
#include "soliton/tuner/ScheduleValidator.h"
#include "soliton/tuner/TestLoops.h"

#include "gtest/gtest.h"

namespace soliton::tune {
namespace {

const kernels::KernelEntry &gemm() {
  return *kernels::findKernel("gemm");
}
Kernel gemmKernel() {
  return gemm().build(gemm().variants.front());
}

/// GEMM of these sizes with its own tiles.
lang::Substitutions bindings(int64_t size) {
  lang::Substitutions subs;
  for (const char *name : {"M", "N", "K"})
    subs.emplace_back(sym::Expr::symbol(name), size);
  for (const kernels::DefaultSize &tile : gemm().tilesFor(gemm().variants.front(), *findTarget("gfx942")))
    subs.emplace_back(sym::Expr::symbol(tile.name), tile.value);
  for (const auto &derived : gemm().derivedSubs())
    subs.push_back(derived);
  return subs;
}

CompileOptions optionsFor(lang::Substitutions subs, std::string schedule, bool isDynamic = false) {
  CompileOptions options{.target = "gfx942", .subs = std::move(subs)};
  options.schedule.name = std::move(schedule);
  options.schedule.reportsNone = true;
  options.cache = false;
  if (isDynamic) {
    options.dynamic = {sym::Expr::symbol("M"), sym::Expr::symbol("N"), sym::Expr::symbol("K")};
    options.subs.erase(options.subs.begin(), options.subs.begin() + 3);
  }
  return options;
}

TEST(LoopLaunch, SizesOfTheLaunchCountLikeThoseOfTheCompilation) {
  Kernel kernel = gemmKernel();
  std::vector<sched::Launch> launches;
  for (bool isDynamic : {false, true}) {
    CompileAttempt attempt =
        compileImage(kernel, optionsFor(bindings(512), "modulo", isDynamic), rt::ImageKind::emulator);
    ASSERT_TRUE(attempt);
    launches.push_back(launchOf(&kernel, *attempt.result, attempt.result->loops.front(), bindings(512)));
  }
  int64_t blockK = *valueOf(sym::Expr::symbol("BLOCK_K"), bindings(512));
  EXPECT_EQ(launches[0].iterations, 512 / blockK);
  EXPECT_GT(launches[0].workgroups, 1);
  EXPECT_EQ(launches[1].iterations, launches[0].iterations);
  EXPECT_EQ(launches[1].workgroups, launches[0].workgroups);
}

/// Rows of causal attention have loops of different lengths: larger tiles of keys have fewer iterations there too, and
/// would otherwise lose for being longer.
TEST(LoopLaunch, IterationsThatAWorkgroupDecidesAreCounted) {
  auto iterations = [](const std::string &name, int64_t blockQ, int64_t blockKv) {
    const kernels::KernelEntry &entry = *kernels::findKernel(name);
    Kernel kernel = entry.build(entry.variants.front());
    lang::Substitutions bound = {{sym::Expr::symbol("BLOCK_Q"), blockQ}, {sym::Expr::symbol("BLOCK_KV"), blockKv}};
    for (const kernels::DefaultSize &size : entry.sizes)
      bound.emplace_back(sym::Expr::symbol(size.name), size.name == "Q" || size.name == "KV" ? 2048 : size.value);
    for (const auto &derived : entry.derivedSubs())
      bound.push_back(derived);
    return iterationsOf(kernel, "KV", bound);
  };
  // 16 tiles of rows, with 2, 4, … 32 tiles of keys.
  EXPECT_EQ(iterations("attention_causal", 128, 64).mean, 17);
  EXPECT_EQ(iterations("attention_causal", 128, 64).most, 32);
  EXPECT_EQ(iterations("attention_causal", 128, 32).mean, 34);
  EXPECT_EQ(iterations("attention", 128, 64).mean, 32);
  EXPECT_EQ(iterations("attention", 128, 64).most, 32);
  // Where data decide it is the whole dimension.
  EXPECT_EQ(iterations("attention_lengths", 128, 64).most, 32);
}

TEST(LoopLaunch, SmallSizesHaveSixIterationsAndARaggedRest) {
  auto subs = bindings(4096);
  auto tile = [&](const char *name) { return *valueOf(sym::Expr::symbol(name), subs); };
  std::map<std::string, int64_t> aligned = smallSizes(gemmKernel(), subs, 0),
                                 ragged = smallSizes(gemmKernel(), subs, 13);
  EXPECT_EQ(aligned.at("K"), 6 * tile("BLOCK_K"));
  EXPECT_EQ(aligned.at("M"), tile("BLOCK_M"));
  EXPECT_EQ(ragged.at("K"), aligned.at("K") + 13);
  EXPECT_EQ(ragged.at("N"), aligned.at("N") + 13);
  // What is smaller than that stays as it is.
  EXPECT_EQ(smallSizes(gemmKernel(), bindings(16), 13).at("M"), 16);
}

TEST(KernelJudge, ModelsWhatCompilesAndSaysWhyNotWhereItDoesNot) {
  Kernel kernel = gemmKernel();
  auto judged = [&](const lang::Substitutions &subs) {
    return judgeByModel({[&](rt::ImageKind kind) { return compileImage(kernel, optionsFor(subs, "modulo"), kind); },
                         [&](const CompileResult &made, const sched::LoopReport &loop) {
                           return launchOf(&kernel, made, loop, subs);
                         }});
  };
  Result good = judged(bindings(512));
  EXPECT_EQ(good.refusedBy, "") << good.why;
  EXPECT_GT(good.modelledMicroseconds, 0);
  EXPECT_GE(good.cycles, good.bound);
  EXPECT_GT(good.registers, 0);
  lang::Substitutions large = bindings(4096);
  for (auto &[symbol, value] : large)
    if (symbol.symbolName() == "BLOCK_K")
      value = 4096;
  Result bad = judged(large);
  EXPECT_EQ(bad.refusedBy, "resources") << bad.why;
  EXPECT_NE(bad.why.find("shared"), std::string::npos) << bad.why;
  EXPECT_EQ(bad.cost(), std::numeric_limits<double>::infinity());
}

class InCycles : public ::testing::TestWithParam<const char *> {};

TEST_P(InCycles, ASearchCanStartFromWhatTheAlgorithmFound) {
  std::vector<sched::LoopReport> loops = {testing::loopOf({"attention", "gfx942", GetParam()})};
  TunedLoop loop(loops, *findTarget("gfx942"), {{.workgroups = 128, .waves = 4, .iterations = 8}});
  std::string whyNot;
  std::optional<sched::Schedule> start = loop.inCycles(whyNot);
  ASSERT_TRUE(start) << whyNot;
  EXPECT_EQ(start->timing, sched::Timing::Cycles);
  ScheduleValidator validator(loop.problem(), *start);
  int op = 0;
  while (!start->slots[op].scheduled())
    ++op;
  // To where it is: nothing is in the way, and the verifier agrees.
  EXPECT_TRUE(validator.attemptMove(op, start->time(op))) << validator.attemptMove(op, start->time(op)).error;
  EXPECT_TRUE(loop.cost().of(*start).accepted);
  EXPECT_NE(loop.fileOf(*start).find("soliton-schedule 2"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, InCycles,
                         ::testing::Values("none", "prefetch", "four_stage", "prefetch_attention", "modulo", "list"));

/// What a device is to judge: waves that have priority while they multiply. It is a schedule file like any other.
TEST(TunedLoop, PrioritiesStandAroundMatrixInstructions) {
  Kernel kernel = gemmKernel();
  CompileAttempt attempt = compileImage(kernel, optionsFor(bindings(512), "modulo"), rt::ImageKind::emulator);
  ASSERT_TRUE(attempt);
  const std::vector<sched::LoopReport> &loops = attempt.result->loops;
  TunedLoop loop(loops, *findTarget("gfx942"), {launchOf(&kernel, *attempt.result, loops.front(), bindings(512))});
  ScheduleDomain domain(loop.problem(), loop.loop().schedule);
  std::optional<std::string> text = loop.fileWithPriorities(domain.presentable(domain.start()));
  ASSERT_TRUE(text);
  EXPECT_NE(text->find(" priority 1 "), std::string::npos) << *text;
  CompileOptions options = optionsFor(bindings(512), "none");
  options.schedule.file = *text;
  options.schedule.fileName = "tuned.schedule";
  CompileAttempt made = compileImage(kernel, options, rt::ImageKind::emulator);
  ASSERT_TRUE(made) << made.diagnostics.front().message;
  // As often down as up, and the multiplications between them.
  int level = 0, raised = 0;
  const sched::LoopReport &hinted = made.result->loops.front();
  for (int op : sched::emissionOrder(hinted.schedule)) {
    const sched::Operation &operation = hinted.problem.operations[op];
    if (operation.hint == sched::HintKind::Priority)
      level = static_cast<int>(operation.arguments.front());
    bool isMatrix = operation.kind == sched::OpKind::Mma;
    EXPECT_TRUE(!isMatrix || level == 1);
    raised += isMatrix;
  }
  EXPECT_EQ(level, 0);
  EXPECT_GT(raised, 0);
}

} // namespace
} // namespace soliton::tune
