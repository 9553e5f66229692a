//===- CallTest.cpp - Tensors, pointers, vectors and sizes by name ---------------------------------===//
#include "soliton/driver/Complaint.h"
#include "soliton/soliton.h"

namespace soliton {
namespace {

/// The first S workgroups negate.
Kernel firstOnes() {
  auto [M, S] = symbols<"M S">();
  Kernel k{"first", {WorkgroupConstraint(M, 64, 0)}};
  auto a = k.memory("a", {M}, global, f32), b = k.memory("b", {M}, global, f32);
  Value x = read(a);
  write(k.conditional(sym::lt(workgroup_id(0), S), [&] { return -x; }, [&] { return x; }), b);
  return k;
}

TEST(LaunchBySymbols, NamesFindTheirPlaces) {
  auto [M, S] = symbols<"M S">();
  auto run = compile(firstOnes(), {.target = "gfx942", .dynamic = {M, S}, .device = "emulator"});
  std::vector<float> in(200, 1), out(200, 0);
  for (int64_t s : {0, 2, 9}) {
    run(rt::Tensor::of(in, {200}), rt::Tensor::of(out, {200}), {S, s});
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], static_cast<int64_t>(i / 64) < s ? -1 : 1) << i;
  }
}

TEST(LaunchBySymbols, WrongNamesAreRefusedWithTheRightOnes) {
  auto [M, S, T] = symbols<"M S T">();
  auto run = compile(firstOnes(), {.target = "gfx942", .dynamic = {M, S}, .device = "emulator"});
  Tensor<float> in({200}), out({200});
  expectIn(complaint([&] { run(in, out, {S, 1}, {T, 2}); }), {"[symbol-unknown]", "no symbol `T`", "it takes", "`S`"});
  expectIn(complaint([&] { run(in, out, {S, 1}, {M, 2}); }), {"[symbol-conflict]", "given as 2", "`a` makes it 200"});
  expectIn(complaint([&] { run.launch({in, out}); }), {"[argument-count]", "`S`", "add it: `{S, 300}`"});
}

/// b[M, N] = 2 · a[M, N], with M known at launch only.
CompiledKernel twice(const char *target = "gfx942") {
  auto [M, N] = symbols<"M N">();
  Kernel k{"twice", {WorkgroupConstraint(M, 16, 0), WorkgroupConstraint(N, 16, 1)}};
  auto a = k.memory("a", {M, N}, global, f16), b = k.memory("b", {M, N}, global, f32);
  write(cast(read(a), f32) * 2.0, b);
  return compile(k, {.target = target, .subs = {{N, 20}}, .dynamic = {M}, .device = "emulator"});
}

class Twice : public testing::TestWithParam<const char *> {
protected:
  CompiledKernel run = twice(GetParam());
  Expr M = symbols<"M">()[0];
  Tensor<half> a{{30, 20}, [](int64_t i, int64_t j) { return 10 * i - j; }};
  Tensor<float> b{{30, 20}};

  void expectTwice() {
    for (int64_t i = 0; i < 30; ++i)
      for (int64_t j = 0; j < 20; ++j)
        ASSERT_EQ(b(i, j), 2 * a(i, j)) << i << ", " << j;
  }
};
INSTANTIATE_TEST_SUITE_P(All, Twice, testing::Values("gfx942", "gfx950", "sm_90a"));

TEST_P(Twice, TypedTensors) {
  run(a, b);
  expectTwice();
  const Tensor<float> fixed({30, 20});
  expectIn(complaint([&] { run(a, fixed); }), {"[argument-read-only]"});
}

TEST_P(Twice, PointersTakeTheirExtentsFromTheOthers) {
  run(a.data(), b);
  expectTwice();
}

TEST_P(Twice, PointersAndSizesByName) {
  run(a.data(), static_cast<void *>(b.data()), {M, 30});
  expectTwice();
}

TEST_P(Twice, Vectors) {
  std::vector<half> from(a.begin(), a.end());
  std::vector<float> to(600);
  run(from, to, {M, 30});
  std::ranges::copy(to, b.begin());
  expectTwice();
}

TEST_P(Twice, Dlpack) {
  int64_t shape[] = {30, 20};
  DLManagedTensor managed{{a.data(), {kDLCPU, 0}, 2, {kDLFloat, 16, 1}, shape, nullptr, 0}, nullptr, nullptr};
  run(&managed, b);
  expectTwice();
  std::ranges::fill(b, 0);
  run(managed.dl_tensor, b);
  expectTwice();
}

TEST_P(Twice, WhatIsWrongIsSaid) {
  const half *fixed = a.data();
  std::vector<float> few(10);
  expectIn(complaint([&] { run(a.data(), b.data()); }),
           {"[argument-count]", "`M` of `twice` is extent 0 of `a`, which is an array without extents",
            "add it: `{M, 300}`, or pass `a` as a tensor"});
  expectIn(complaint([&] { run(a.data(), b, {M, 29}); }), {"[symbol-conflict]", "given as 29", "`b` makes it 30"});
  expectIn(complaint([&] { run(a, few); }), {"[argument-shape]", "found 10 elements, expected 600"});
  expectIn(complaint([&] { run(b.data(), a.data(), {M, 30}); }), {"[argument-dtype]"});
  expectIn(complaint([&] { run(a.data(), {M, 30}); }), {"[argument-count]", "found 1 arguments, expected 2"});
  expectIn(complaint([&] { run(fixed, const_cast<const float *>(b.data()), {M, 30}); }), {"[argument-read-only]"});
  expectIn(complaint([&] { run(a.data(), b.data(), {M, -3}); }), {"[symbol-range]", "`M` is -3"});
  expectIn(complaint([&] { run(a.data(), static_cast<float *>(nullptr), {M, 30}); }), {"[argument-null]"});
  expectIn(complaint([&] { run(a.data(), b.data(), a.data(), {M, 30}); }), {"[argument-count]", "found 3"});
}

} // namespace
} // namespace soliton
