//===- SyncTest.cpp - Barriers, waits and hints that authors write ---------------------------===//
//
// What is said about time changes no result, on any target, in straight code, in loops and under schedules. Every
// program is compiled for the chip and run by the emulator.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <algorithm>
#include <numeric>

namespace soliton::test {
namespace {

class Sync : public ForTarget {};

std::string textOf(const rt::KernelImage &image) {
  return {reinterpret_cast<const char *>(image.code.data()), image.code.size()};
}

size_t countOf(const std::string &text, const std::string &what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

/// Everything there is, around a tile that two waves share, in a loop.
Kernel everything() {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"everything",
                {WorkgroupConstraint(M, 128, 0), WaveConstraint(M, 64), TilingConstraint(N, 8), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, f32), b = kernel.memory("b", {M, N}, global, f32);
  auto tile = kernel.allocate("tile", {M, N}, f32);
  kernel.iterate(N,
                 [&] {
                   kernel.set_wave_prio(1);
                   Value x = read(a);
                   kernel.memory_counter_wait({.load = 0, .ds = 3, .cp_async = 0});
                   write(x * 2.0, tile);
                   kernel.shared_memory_barrier_signal(1);
                   kernel.scheduling_barrier();
                   kernel.shared_memory_barrier_wait(1);
                   write(read(tile) + x, b);
                   kernel.workgroup_barrier();
                   kernel.memory_counter_wait_barrier({.load = 1000});
                   kernel.set_wave_prio(0);
                 },
                 {.tag = "loop"});
  kernel.shared_memory_barrier({.wait_async_ops = true});
  return kernel;
}

TEST_P(Sync, HintsAndBarriersChangeNoResult) {
  auto [M, N] = symbols<"M N">();
  for (const char *schedule : {"none", "prefetch", "modulo"}) {
    CompileOptions request = options({{M, 200}, {N, 40}});
    request.schedule.name = schedule;
    CompiledKernel run = compiled(everything(), request);
    std::vector<float> in(200 * 40), out(200 * 40);
    std::iota(in.begin(), in.end(), 1.0f);
    run(rt::Tensor::of(in, {200, 40}), rt::Tensor::of(out, {200, 40}));
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(out[i], 3 * in[i]) << i << " " << schedule;
  }
}

TEST_P(Sync, RelationsChooseMaskAndDecide) {
  auto [N] = symbols<"N">();
  Kernel kernel{"relations", {WorkgroupConstraint(N, 64, 0), HardwareConstraint{}}};
  auto a = kernel.memory("a", {N}, global, i32), b = kernel.memory("b", {N}, global, i32);
  Value x = read(a);
  Value small = apply_expr(x, [](Expr e) { return sym::lt(sym::mod(e, 10), 4); });
  Value odd = apply_expr({x, kernel.self_index(N)}, [](const std::vector<Expr> &e) {
    return sym::logicalOr(sym::eq(sym::mod(e[0], 2), 1), sym::lt(e[1], 3));
  });
  Value chosen = select(small & odd, x, -1);
  Value first = apply_expr(read_at(a, {0}), [](Expr e) { return sym::eq(e, 5); });
  Value result = kernel.conditional(index_of(first), [&] { return chosen; }, [&] { return x; });
  write(result, b);
  CompiledKernel run = compiled(kernel, options({{N, 100}}));
  for (int32_t begin : {5, 6}) {
    std::vector<int32_t> in(100), out(100);
    std::iota(in.begin(), in.end(), begin);
    run(rt::Tensor::of(in, {100}), rt::Tensor::of(out, {100}));
    for (int32_t i = 0; i < 100; ++i) {
      int32_t value = in[static_cast<size_t>(i)];
      bool taken = begin != 5 || (value % 10 < 4 && (value % 2 == 1 || i < 3));
      ASSERT_EQ(out[static_cast<size_t>(i)], taken ? value : -1) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Sync, testing::ValuesIn(allTargets()), targetName);

/// 64 rows of 512 bytes are 256 lines of 128: one for each of 256 lanes, and of those only the ones in the tensor.
TEST(Prefetch, EveryLineOfTheTileThatIsInTheTensorIsNamedOnce) {
  auto [M, N] = symbols<"M N">();
  auto text = [&, M = M, N = N](int64_t rows, int64_t columns) {
    Kernel kernel{"hinted", {WorkgroupConstraint(M, 64, 0), WaveConstraint(M, 8), HardwareConstraint{}}};
    auto a = kernel.memory("a", {M, N}, global, f32), b = kernel.memory("b", {M, N}, global, f32);
    prefetch(a);
    write(read(a), b);
    CompileAttempt attempt =
        compileImage(kernel, {.target = "sm_90a", .subs = {{M, rows}, {N, columns}}}, rt::ImageKind::ptx);
    EXPECT_TRUE(attempt) << format(attempt.diagnostics);
    return attempt ? textOf(attempt.result->image) : "";
  };
  std::string whole = text(128, 128), odd = text(100, 128);
  EXPECT_EQ(countOf(whole, "prefetch.global.L2"), 1u) << whole;
  EXPECT_EQ(countOf(odd, "prefetch.global.L2"), 1u) << odd;
  // A lane whose row is not there says nothing.
  auto lineOf = [](const std::string &ptx) {
    size_t at = ptx.find("prefetch.global.L2"), begin = ptx.rfind('\n', at) + 1;
    return ptx.substr(begin, at - begin);
  };
  EXPECT_EQ(lineOf(whole).find('@'), std::string::npos) << lineOf(whole);
  EXPECT_NE(lineOf(odd).find("@%p"), std::string::npos) << lineOf(odd);
}

/// A hint is no access: what one workgroup prefetches another may write.
TEST(Prefetch, NothingRacesWithIt) {
  auto [M] = symbols<"M">();
  Kernel kernel{"hinted", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M}, global, f32);
  auto i = IndexMapping::iterator(0);
  prefetch(a, {.mapping = IndexMapping{.num_iterators = 1, .inputs = {{M, i + 64}}, .outputs = {{M, i}}}});
  write(read(a) * 2.0, a);
  CompiledKernel run = compile(kernel, {.target = "sm_90a", .subs = {{M, 200}}});
  std::vector<float> values(200, 3);
  run(rt::Tensor::of(values, {200}));
  EXPECT_TRUE(std::ranges::all_of(values, [](float each) { return each == 6; }));
}

} // namespace
} // namespace soliton::test
