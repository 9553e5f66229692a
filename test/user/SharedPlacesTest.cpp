//===- SharedPlacesTest.cpp - Tiles that share a place in shared memory -----------------===//
//
// Two loops, one after the other, each with tiles in shared memory of which only one set fits: they lie in one place,
// kept apart by a barrier. The whole kernel is proven before it runs, and the emulator judges every access.
//
//===----------------------------------------------------------------------===//
#include "soliton/soliton.h"
#include "soliton/target/Target.h"

#include "gtest/gtest.h"

namespace soliton::test {
namespace {

class SharedPlaces : public testing::TestWithParam<const Target *> {};

/// d = a b^T, then e = d' c^T with the same tiles again: `loops` products one after the other.
struct Products {
  Expr M, N, K;
  Kernel kernel;
};

Products products(int loops) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"products",
                {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 128),
                 WaveConstraint(M, 32), WaveConstraint(N, 32), HardwareConstraint{}}};
  for (int i = 0; i < loops; ++i) {
    std::string n = std::to_string(i);
    auto a = kernel.memory("a" + n, {M, K}, shared, f16), b = kernel.memory("b" + n, {N, K}, shared, f16);
    auto c = kernel.memory("c" + n, {M, N}, global, f32);
    write(kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); }), c);
  }
  return {M, N, K, std::move(kernel)};
}

/// Two tiles of 64 x 128 of f16 are 32 KiB; eight loops would take 256 KiB, more than any target has.
TEST_P(SharedPlaces, LoopsOneAfterTheOtherShareAPlace) {
  for (const char *schedule : {"none", "prefetch", "modulo"}) {
    constexpr int kLoops = 8;
    Products given = products(kLoops);
    CompileOptions options;
    options.target = GetParam()->name;
    options.subs = {{given.M, 64}, {given.N, 64}, {given.K, 384}};
    options.device = "emulator";
    options.schedule.name = schedule;
    CompiledKernel run = compile(given.kernel, options);
    EXPECT_LE(run.compiled().image.staticSharedBytes, GetParam()->sharedBytes) << schedule;
    std::vector<uint16_t> ones(64 * 384, 0x3c00), twos(64 * 384, 0x4000);
    std::vector<std::vector<float>> results(kLoops, std::vector<float>(64 * 64, -1));
    std::vector<rt::Argument> arguments;
    for (int i = 0; i < kLoops; ++i) {
      arguments.emplace_back(rt::Tensor::dense((i % 2 ? twos : ones).data(), DType::f16, {64, 384}));
      arguments.emplace_back(rt::Tensor::dense((i % 3 ? twos : ones).data(), DType::f16, {64, 384}));
      arguments.emplace_back(rt::Tensor::of(results[static_cast<size_t>(i)], {64, 64}));
    }
    run.loaded().launch(arguments);
    for (int i = 0; i < kLoops; ++i)
      for (float value : results[static_cast<size_t>(i)])
        ASSERT_EQ(value, 384.0f * (i % 2 ? 2 : 1) * (i % 3 ? 2 : 1)) << schedule << ", loop " << i;
  }
}

/// What fits, and would not make room for another workgroup, has places of its own: no barrier for nothing.
TEST_P(SharedPlaces, NothingIsSharedWithoutNeed) {
  auto [M] = symbols<"M">();
  Kernel kernel{"two", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M}, shared, f32), b = kernel.memory("b", {M}, shared, f32);
  auto c = kernel.memory("c", {M}, global, f32);
  write(read(a), c);
  write(read(b), c);
  CompileOptions options;
  options.target = GetParam()->name;
  options.subs = {{M, 64}};
  options.device = "emulator";
  EXPECT_EQ(compile(kernel, options).compiled().image.staticSharedBytes, 512u);
}

INSTANTIATE_TEST_SUITE_P(All, SharedPlaces, testing::ValuesIn(allTargets()),
                         [](const auto &info) { return info.param->name; });

} // namespace
} // namespace soliton::test
