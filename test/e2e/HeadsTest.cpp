//===- HeadsTest.cpp - Heads that share keys, sequences that come first, lengths from data ----------===//
//
// Attention's other forms by matrix instructions of four waves. A tile has one head: whatever a mapping makes of its
// number, it is copied in boxes, from tensors [B, H_KV, S, D] as from [B, S, H, D]. What data bound is copied by lanes,
// which put zeros where it ends, and read by the same instructions.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "test/e2e/Asked.h"

#include <cmath>
#include <limits>

namespace soliton::test {
namespace {
constexpr std::array kOfOtherShape = {"attention_gqa", "attention_bshd", "attention_gqa_causal_bshd"};
constexpr std::array kOfGivenLengths = {"attention_lengths", "attention_ragged"};

TEST(Heads, TilesAreBoxesWhateverTheTensor) {
  for (const char *kernel : kOfOtherShape)
    for (int64_t d : {64, 128}) {
      SCOPED_TRACE(kernel);
      Asked a = asked(kernel, {{"B", 4}, {"H", 32}, {"H_KV", 8}, {"Q", 4096}, {"KV", 4096}, {"D", d}});
      std::string ptx = ptxOf(a);
      EXPECT_NE(ptx.find("cp.async.bulk.tensor.4d.shared"), std::string::npos);
      EXPECT_NE(ptx.find("cp.async.bulk.tensor.4d.global"), std::string::npos);
      EXPECT_EQ(ptx.find("cp.async.cg"), std::string::npos);
      EXPECT_EQ(ptx.find("ld.global"), std::string::npos);
      // Waves that copy have nothing else to do.
      EXPECT_NE(ptx.find("setmaxnreg.dec"), std::string::npos);
    }
}

TEST(Heads, EachHeadOfKeysServesItsOwn) {
  for (const char *kernel : kOfOtherShape)
    for (auto [depth, shared, workgroups] : {std::tuple(64, 1, 0), {64, 2, 3}, {128, 4, 0}}) {
      Asked a = asked(kernel, {{"B", 2}, {"H", 4}, {"H_KV", shared}, {"Q", 129}, {"KV", 257}, {"D", depth}});
      a.persistent = workgroups;
      expectRight(a);
    }
}

TEST(Heads, FewRowsAndKeys) {
  for (const char *kernel : kOfOtherShape)
    for (auto [q, kv] : {std::pair(1, 1), {1, 700}, {77, 1}, {129, 129}})
      expectRight(asked(kernel, {{"H", 4}, {"H_KV", 2}, {"Q", q}, {"KV", kv}, {"D", 64}}));
}

TEST(Heads, SizesThatALaunchSays) {
  for (const char *kernel : kOfOtherShape) {
    Asked a = asked(kernel, {{"B", 2}, {"H", 4}, {"H_KV", 2}, {"Q", 200}, {"KV", 300}, {"D", 64}});
    a.dynamic = {"Q", "KV"};
    expectRight(a);
  }
}

TEST(Heads, LengthsFromDataStayWithThoseInstructions) {
  for (const char *kernel : kOfGivenLengths)
    for (int64_t d : {64, 128}) {
      SCOPED_TRACE(kernel);
      std::string ptx = ptxOf(asked(kernel, {{"B", 4}, {"H", 16}, {"H_KV", 4}, {"Q", 4096}, {"KV", 4096}, {"D", d}}));
      EXPECT_NE(ptx.find("wgmma.mma_async"), std::string::npos);
      EXPECT_EQ(ptx.find("mma.sync.aligned.m16n8k16"), std::string::npos);
      // By lanes, sixteen bytes each, past their registers.
      EXPECT_NE(ptx.find("cp.async.cg"), std::string::npos);
    }
}

TEST(Heads, LengthsFromDataOfAllKinds) {
  for (const char *kernel : kOfGivenLengths)
    for (auto [q, kv, d] : {std::tuple(200, 330, 64), {128, 256, 64}, {5, 7, 64}, {300, 129, 128}})
      expectRight(asked(kernel, {{"B", 3}, {"H", 4}, {"H_KV", 2}, {"Q", q}, {"KV", kv}, {"D", d}}));
}

/// Behind the elements that count the memory may hold anything: here what would spoil every sum.
TEST(Heads, WhatDataBoundIsZeroBehindThem) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"bounded",
                {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 64),
                 WaveConstraint(M, 16), WaveConstraint(N, 64), HardwareConstraint{.mma = MmaType("F32_64x64x16_F16")}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto counts = kernel.memory("counts", {M}, global, i32);
  auto c = kernel.memory("c", {M, N}, global, f32);
  Expr count = sym::min(index_of(read_at(counts, {0})), K);
  auto body = [&](lang::Value acc) {
    return mma(read(a, {.bounds = {{{M, M}, {K, count}}}}), read(b, {.bounds = {{{N, N}, {K, count}}}}), acc);
  };
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0), body), c);
  constexpr int64_t m = 70, n = 80, k = 160;
  std::shared_ptr<rt::Device> device = rt::makeEmulatorDevice({.checks = true, .adversarial = true});
  for (bool direct : {false, true}) {
    CompileOptions options{.target = "sm_90a", .subs = {{M, m}, {N, n}, {K, k}}, .schedule = {.name = "none"}};
    options.directCopies = direct;
    CompileAttempt compiled = compileImage(kernel, options, rt::ImageKind::emulator);
    ASSERT_TRUE(compiled) << format(compiled.diagnostics);
    std::unique_ptr<rt::LoadedKernel> loaded = device->load(compiled.result->image);
    for (int32_t counted : {0, 1, 64, 100, 160, 900}) {
      constexpr uint16_t one = 0x3c00, nan = 0x7e00;
      auto fill = [&](int64_t rows) {
        std::vector<uint16_t> values(static_cast<size_t>(rows * k), one);
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t i = counted; i < k; ++i)
            values[static_cast<size_t>(row * k + i)] = nan;
        return values;
      };
      std::vector<uint16_t> left = fill(m), right = fill(n);
      std::vector<int32_t> given(m, counted);
      std::vector<float> result(m * n, -1.0F);
      const rt::Argument list[] = {rt::Tensor::dense(left.data(), DType::f16, {m, k}),
                                   rt::Tensor::dense(right.data(), DType::f16, {n, k}), rt::Tensor::of(given, {m}),
                                   rt::Tensor::of(result, {m, n})};
      loaded->launch(list);
      for (float each : result)
        ASSERT_EQ(each, static_cast<float>(std::min<int64_t>(counted, k))) << counted << (direct ? " direct" : "");
    }
  }
}

TEST(Heads, NothingSpills) {
  if (!backend::findPtxas())
    GTEST_SKIP() << "no ptxas here";
  for (const char *kernel :
       {"attention_gqa", "attention_bshd", "attention_gqa_causal_bshd", "attention_lengths", "attention_ragged"})
    for (int64_t d : {64, 128}) {
      Asked a = asked(kernel, {{"B", 4}, {"H", 32}, {"H_KV", 8}, {"Q", 4096}, {"KV", 4096}, {"D", d}});
      CompileAttempt compiled = a.compile(rt::ImageKind::cubin);
      ASSERT_TRUE(compiled) << format(compiled.diagnostics);
      // By the first row of the table: nothing was passed over.
      for (const Diagnostic &said : compiled.result->warnings)
        EXPECT_EQ(said.message.find("passed over"), std::string::npos) << kernel << ": " << said.message;
    }
}

} // namespace
} // namespace soliton::test
