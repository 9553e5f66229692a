//===- WaveGroupAttentionTest.cpp - Attention by matrix instructions of four waves ------------------===//
//
// The second product of attention takes its left factor, the weights, from registers: right on the emulator, whose
// checks know fences, groups and proxies, under every algorithm, at all kinds of sizes; the overlapped ring assembled
// by ptxas, where it is found, without a spill and without a serialised instruction.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "soliton/driver/Auto.h"
#include "test/e2e/Support.h"

namespace soliton::test {
namespace {
using kernels::Sizes;

struct Attended {
  Sizes sizes;
  std::string schedule = "ring";
  const char *kernel = "attention";
  const char *variant = "f16";
  bool directCopies = true;
  std::vector<std::string> dynamic = {};

  Case which() const {
    Case result{kernels::findKernel(kernel), nullptr, findTarget("sm_90a")};
    result.variant = result.entry->findVariant(variant);
    result.tiles = {{"BLOCK_Q", 128}, {"BLOCK_KV", 128}, {"WAVES", 8}};
    result.directCopies = directCopies;
    result.schedule = schedule;
    return result;
  }

  CompileAttempt compile(rt::ImageKind kind) const {
    CompileOptions options = which().options(sizes, dynamic);
    options.mma = "F32_64xNx16_F16";
    options.stagedWrites = true;
    if (kind == rt::ImageKind::ptx)
      options.keep = {Artefact::ptx};
    return compileImage(which().entry->build(*which().variant), options, kind);
  }
};

Sizes sizesOf(int64_t q, int64_t kv, int64_t d) {
  return {{"B", 1}, {"H", 2}, {"Q", q}, {"KV", kv}, {"D", d}};
}

void expectRight(const Attended &attended) {
  SCOPED_TRACE(attended.which().name() + " " + attended.schedule);
  CompileAttempt compiled = attended.compile(rt::ImageKind::emulator);
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  checkOnEmulator(attended.which(), *compiled.result, attended.sizes);
}

std::string ptxOf(const Attended &attended) {
  CompileAttempt compiled = attended.compile(rt::ImageKind::ptx);
  EXPECT_TRUE(compiled) << format(compiled.diagnostics);
  return compiled ? compiled.result->artefacts.front().second : "";
}

TEST(WaveGroupAttention, WeightsStayInRegisters) {
  std::string ptx = ptxOf({sizesOf(128, 256, 64), "none"});
  // Scores: both factors by descriptors. Weighted values: four registers, then a descriptor.
  EXPECT_NE(ptx.find("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"), std::string::npos);
  EXPECT_NE(ptx.find("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"), std::string::npos);
  EXPECT_EQ(ptx.find("mma.sync.aligned.m16n8k16"), std::string::npos);
}

TEST(WaveGroupAttention, EveryAlgorithm) {
  for (const char *schedule : {"none", "prefetch", "ring", "modulo"})
    for (bool directCopies : {false, true})
      expectRight({.sizes = sizesOf(128, 512, 64), .schedule = schedule, .directCopies = directCopies});
}

TEST(WaveGroupAttention, SizesThatFillNoTile) {
  for (auto [q, kv] : {std::pair(1, 1), {77, 130}, {200, 700}})
    for (const char *schedule : {"none", "ring"})
      expectRight({.sizes = sizesOf(q, kv, 64), .schedule = schedule});
  expectRight({.sizes = sizesOf(130, 900, 128)});
}

TEST(WaveGroupAttention, SizesThatALaunchSays) {
  for (int64_t kv : {64, 128, 300, 1030})
    expectRight({.sizes = sizesOf(200, kv, 64), .dynamic = {"Q", "KV"}});
}

TEST(WaveGroupAttention, Variants) {
  expectRight({.sizes = sizesOf(200, 700, 128), .kernel = "attention_causal"});
  expectRight({.sizes = sizesOf(128, 600, 64), .variant = "bf16"});
}

TEST(WaveGroupAttention, TheRingOverlapsProductsWithTheSoftmaxBefore) {
  std::string ptx = ptxOf({sizesOf(4096, 4096, 128)});
  // One wait leaves the later product under way; the loop has both products in front of it.
  size_t loop = ptx.find("nounroll");
  ASSERT_NE(loop, std::string::npos);
  size_t leaves = ptx.find("wgmma.wait_group.sync.aligned 1", loop),
         none = ptx.find("wgmma.wait_group.sync.aligned 0", loop);
  ASSERT_NE(leaves, std::string::npos);
  EXPECT_LT(leaves, none);
  std::string before = ptx.substr(loop, leaves - loop), between = ptx.substr(leaves, none - leaves);
  auto times = [](const std::string &text, std::string_view word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(times(before, "wgmma.mma_async"), 16u);
  EXPECT_EQ(times(before, "wgmma.fence"), 2u);
  EXPECT_GE(times(between, "ex2.approx"), 64u);
}

TEST(WaveGroupAttention, AutoTakesAChainOfProducts) {
  for (auto [depth, step] : {std::pair(64, 64), {128, 128}}) {
    Attended attended{.sizes = sizesOf(4096, 4096, depth)};
    CompileOptions open;
    open.target = "sm_90a";
    for (const auto &[name, size] : attended.sizes)
      open.subs.emplace_back(symbol(name), size);
    std::vector<AutoChoice> choices =
        chooseAutomatically(attended.which().entry->build(*attended.which().variant), open);
    const CompileOptions &first = choices.front().options;
    EXPECT_EQ(first.mma, "F32_64xNx16_F16");
    EXPECT_EQ(first.schedule.name, "ring");
    auto bound = [&](const char *name) {
      auto found = std::ranges::find(first.subs, sym::Expr(symbol(name)), &std::pair<sym::Expr, sym::Expr>::first);
      return found == first.subs.end() ? std::nullopt : found->second.constantValue();
    };
    EXPECT_EQ(bound("BLOCK_Q"), 128);
    EXPECT_EQ(bound("BLOCK_KV"), step);
    EXPECT_EQ(bound("WAVES"), 8);
  }
}

/// Both products of a gated one have the same left factor, which the first that is bound finds beside one that is not.
TEST(WaveGroupAttention, ProductsThatShareAFactor) {
  Case gated{kernels::findKernel("gemm_gated"), nullptr, findTarget("sm_90a")};
  gated.variant = gated.entry->findVariant("f16");
  gated.schedule = "auto";
  Sizes sizes{{"M", 130}, {"N", 144}, {"K", 128}};
  CompileOptions options = gated.options(sizes, {});
  for (const auto &[name, value] : std::exchange(options.subs, {}))
    (sizes.contains(std::string(name.symbolName())) ? options.subs : options.defaults).emplace_back(name, value);
  auto kernel = gated.entry->build(*gated.variant);
  CompileAttempt compiled = compileByChoice(kernel, options, [&](const CompileOptions &each) {
    return compileImage(kernel, each, rt::ImageKind::emulator);
  });
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  checkOnEmulator(gated, *compiled.result, sizes);
}

TEST(WaveGroupAttention, NothingSpills) {
  if (!backend::findPtxas())
    GTEST_SKIP() << "no ptxas here";
  for (const char *kernel : {"attention", "attention_causal"})
    for (int64_t d : {64, 128})
      for (const char *variant : {"f16", "bf16"}) {
        CompileAttempt compiled =
            Attended{.sizes = sizesOf(4096, 4096, d), .kernel = kernel, .variant = variant}.compile(
                rt::ImageKind::cubin);
        EXPECT_TRUE(compiled) << format(compiled.diagnostics);
      }
}

} // namespace
} // namespace soliton::test
