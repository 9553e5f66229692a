//===- InspectTest.cpp - Tiles that somebody looks at, and hints -----------------------------===//
#include "test/user/Values.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace soliton::test {
namespace {

class Inspect : public ForTarget {};

/// A log is a tensor behind the kernel's own; of a loop it has a place for each iteration.
TEST_P(Inspect, LogsAreTensors) {
  auto [M, K, T] = symbols<"M K T">();
  Kernel kernel{"logged", {WorkgroupConstraint(M, 16, 0), TilingConstraint(K, 32), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, global, f32), b = kernel.memory("b", {M}, global, f32);
  Value total = kernel.iterate(K, kernel.fill({M}, f32, 0.0), [&](Value acc) {
    Value next = sum(read(a), acc, K);
    debug_log(next, "sums", {.loops = {{T, K}}});
    return next;
  });
  EXPECT_EQ(debug_log(total * 2.0).name(), "debug_log_output_0");
  write(total, b);
  CompiledKernel run = compiled(kernel, options({{M, 20}, {K, 128}, {T, 3}}));
  std::vector<float> in(20 * 128, 1), out(20), sums(3 * 20, -1), twice(20);
  run(rt::Tensor::of(in, {20, 128}), rt::Tensor::of(out, {20}), rt::Tensor::of(sums, {3, 20}),
      rt::Tensor::of(twice, {20}));
  for (size_t m = 0; m < 20; ++m) {
    EXPECT_EQ(sums[m], 32);
    EXPECT_EQ(sums[20 + m], 64);
    EXPECT_EQ(sums[40 + m], 128) << "the last place has what comes behind it";
    EXPECT_EQ(twice[m], 256);
  }
}

/// Every element once or by each lane that holds it, with its place; none beyond the end.
TEST_P(Inspect, PrintsNameTilePlaceWaveAndLane) {
  auto [M] = symbols<"M">();
  Kernel kernel{"printed", {WorkgroupConstraint(M, 128, 0), WaveConstraint(M, 64), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M}, global, i32), b = kernel.memory("b", {M}, global, i32);
  write(debug_print(read(a) + 1, "x"), b);
  std::vector<int32_t> in(70), out(70);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<int32_t>(i);
  CompiledKernel run = compile(kernel, options({}, {M}));
  testing::internal::CaptureStdout();
  run(rt::Tensor::of(in, {70}), rt::Tensor::of(out, {70}));
  std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(out[69], 70);
  EXPECT_NE(text.find("x[M=0] = 1  (workgroup 0 0 0, wave 0, lane 0)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("x[M=69] = 70  (workgroup 0 0 0, wave 1, lane "), std::string::npos) << text;
  EXPECT_EQ(text.find("M=70]"), std::string::npos);

  // No GPU has it.
  CompileAttempt code = compileImage(kernel, options({}, {M}), binary());
  ASSERT_FALSE(code);
  EXPECT_EQ(idText(code.diagnostics.front().id), "backend-unsupported");
}

/// Tiles of three elements are held with places for four; what lies there is another workgroup's, and no line.
TEST_P(Inspect, PrintsOnlyTheWorkgroupsPart) {
  auto [M] = symbols<"M">();
  auto shifted = [](Expr workgroup) { return 3 * workgroup - 2; };
  Kernel kernel{"printed", {WorkgroupConstraint(M, 3, 0, {.apply_fn = shifted, .iters = 4}), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M}, global, i32), b = kernel.memory("b", {M}, global, i32);
  write(debug_print(read(a) + 1, "x"), b);
  std::vector<int32_t> in(9, 6), out(9);
  CompiledKernel run = compile(kernel, options({{M, 9}}));
  testing::internal::CaptureStdout();
  run(rt::Tensor::of(in, {9}), rt::Tensor::of(out, {9}));
  std::istringstream text(testing::internal::GetCapturedStdout());
  std::set<std::string> lines;
  for (std::string line; std::getline(text, line);)
    lines.insert(line.substr(0, line.find("  (")));
  std::set<std::string> expected;
  for (int i = 0; i < 9; ++i)
    expected.insert("x[M=" + std::to_string(i) + "] = 7");
  EXPECT_EQ(lines, expected);
}

TEST_P(Inspect, HintsChangeNothing) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"hinted", {WorkgroupConstraint(M, 64, 0), TilingConstraint(N, 16), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, i32), b = kernel.memory("b", {M, N}, global, i32);
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  kernel.iterate(N, [&] {
    Value x = read(a);
    prefetch(
        a, {.mapping = IndexMapping{.num_iterators = 2, .inputs = {{M, i}, {N, j + 16}}, .outputs = {{M, i}, {N, j}}}});
    write(x * 3, b);
  });
  CompiledKernel run = compiled(kernel, options({{N, 40}}, {M}));
  std::vector<int32_t> in(70 * 40, 2), out(70 * 40);
  run(rt::Tensor::of(in, {70, 40}), rt::Tensor::of(out, {70, 40}));
  EXPECT_TRUE(std::ranges::all_of(out, [](int32_t x) { return x == 6; }));
}

INSTANTIATE_TEST_SUITE_P(Targets, Inspect, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
