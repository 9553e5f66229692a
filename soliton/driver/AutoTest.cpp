//===- AutoTest.cpp - What `schedule = auto` takes, and that it is right ------------===//
#include "soliton/driver/Auto.h"

#include "soliton/schedule/LoopCost.h"
#include "soliton/soliton.h"
#include "soliton/support/Float.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace soliton {
namespace {

/// c[M, N] = a[M, K] · b[N, K]ᵀ with tiles and waves that are symbols.
Kernel product(ElementType type = f16) {
  auto [M, N, K, BM, BN, BK, WM, WN] = symbols<"M N K BM BN BK WM WN">();
  Kernel kernel{"product",
                {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
                 WaveConstraint(M, BM / WM), WaveConstraint(N, BN / WN), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, shared, type), b = kernel.memory("b", {N, K}, shared, type);
  auto c = kernel.memory("c", {M, N}, global, f16);
  Value sum = kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); });
  write(cast(sum, f16), c);
  return kernel;
}

CompileOptions options(int64_t m, int64_t n, int64_t k, const std::string &target = "sm_90a") {
  auto [M, N, K] = symbols<"M N K">();
  CompileOptions options{.target = target, .subs = {{M, m}, {N, n}, {K, k}}, .device = "emulator"};
  options.schedule.name = "auto";
  options.cache = false;
  return options;
}

/// Tiles and waves that the kernel would have otherwise.
CompileOptions withTiles(CompileOptions options) {
  auto [BM, BN, BK, WM, WN] = symbols<"BM BN BK WM WN">();
  options.defaults = {{BM, 64}, {BN, 64}, {BK, 32}, {WM, 2}, {WN, 2}};
  return options;
}

int64_t boundTo(const CompileOptions &options, const std::string &name) {
  for (const auto &[symbol, value] : options.subs)
    if (symbol.symbolName() == name)
      return *value.constantValue();
  return -1;
}

void expectRight(const CompileOptions &options, int64_t m, int64_t n, int64_t k) {
  std::mt19937 engine(7);
  auto numbers = [&](int64_t count) {
    std::vector<int> values(static_cast<size_t>(count));
    for (int &value : values)
      value = static_cast<int>(engine() % 5) - 2;
    return values;
  };
  auto encoded = [](const std::vector<int> &values) {
    std::vector<uint16_t> bits;
    for (int value : values)
      bits.push_back(static_cast<uint16_t>(encode(DType::f16, value)));
    return bits;
  };
  std::vector<int> a = numbers(m * k), b = numbers(n * k);
  std::vector<uint16_t> left = encoded(a), right = encoded(b), sums(static_cast<size_t>(m * n), 0xffff);
  compile(product(), options)(rt::Tensor::dense(left.data(), DType::f16, {m, k}),
                              rt::Tensor::dense(right.data(), DType::f16, {n, k}),
                              rt::Tensor::dense(sums.data(), DType::f16, {m, n}));
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      int want = 0;
      for (int64_t i = 0; i < k; ++i)
        want += a[static_cast<size_t>(row * k + i)] * b[static_cast<size_t>(column * k + i)];
      ASSERT_EQ(decode(DType::f16, sums[static_cast<size_t>(row * n + column)]), want)
          << "row " << row << " column " << column;
    }
}

TEST(Auto, FillsTheMachine) {
  std::vector<AutoChoice> large = chooseAutomatically(product(), options(8192, 8192, 8192));
  EXPECT_EQ(large.front().options.mma, "F32_64x256x16_F16");
  EXPECT_EQ(boundTo(large.front().options, "BM"), 128);
  EXPECT_EQ(boundTo(large.front().options, "BN"), 256);
  EXPECT_EQ(boundTo(large.front().options, "BK"), 64);
  EXPECT_EQ(boundTo(large.front().options, "WM"), 8);
  EXPECT_EQ(boundTo(large.front().options, "WN"), 1);
  EXPECT_EQ(large.front().options.schedule.name, "ring");
  // Few rows: more tiles, so that more compute units have one.
  std::vector<AutoChoice> flat = chooseAutomatically(product(), options(16, 4096, 4096));
  EXPECT_EQ(boundTo(flat.front().options, "BM"), 16);
  EXPECT_EQ(boundTo(flat.front().options, "BN"), 64);
  // The last two leave everything as it is but the schedule.
  EXPECT_EQ(large[large.size() - 2].options.mma, "");
  EXPECT_EQ(large[large.size() - 2].options.schedule.name, "fastest");
  EXPECT_EQ(large.back().options.mma, "");
  EXPECT_EQ(large.back().options.schedule.name, "none");
}

TEST(Auto, KeepsWhatWasSaid) {
  auto [BN, WM] = symbols<"BN WM">();
  CompileOptions said = options(4096, 4096, 4096);
  said.subs.emplace_back(BN, 128);
  for (const AutoChoice &choice : chooseAutomatically(product(), said))
    EXPECT_EQ(boundTo(choice.options, "BN"), 128);
  // Four waves of 32 rows each are none that issue such an instruction together.
  said.subs.emplace_back(WM, 4);
  std::vector<AutoChoice> choices = chooseAutomatically(product(), said);
  ASSERT_FALSE(choices.empty());
  EXPECT_EQ(boundTo(choices.front().options, "BM"), 64);
  CompileOptions named = withTiles(options(256, 256, 256));
  named.mma = "F32_16x16x16_F16";
  EXPECT_EQ(chooseAutomatically(product(), named).size(), 2u);
  EXPECT_EQ(chooseAutomatically(product(), named).front().options.mma, "F32_16x16x16_F16");
}

TEST(Auto, OtherTargetsAndTypes) {
  EXPECT_EQ(chooseAutomatically(product(), withTiles(options(512, 512, 512, "gfx942"))).size(), 2u);
  CompileOptions plain = withTiles(options(512, 512, 512, "gfx942"));
  EXPECT_EQ(boundTo(chooseAutomatically(product(), plain).front().options, "BK"), 32);
}

/// Sums that go on in f32 after every tile take as many registers as the accumulator.
TEST(Auto, SumsOfBytes) {
  CompileOptions large = options(8192, 8192, 8192);
  std::vector<AutoChoice> exact = chooseAutomatically(product(f8), large);
  // Two groups of waves, with the registers of a third one, which copies.
  EXPECT_EQ(exact.front().options.mma, "F32_64x192x32_F8");
  EXPECT_EQ(boundTo(exact.front().options, "BM"), 128);
  EXPECT_EQ(boundTo(exact.front().options, "BK"), 128);
  EXPECT_EQ(exact.front().options.serviceWaves, 4);
  EXPECT_EQ(exact.front().options.persistent, 132);
  EXPECT_EQ(exact.front().options.overlapTiles, std::optional(true));
  EXPECT_EQ(exact[1].options.overlapTiles, std::nullopt) << "the same without comes next";
  // Without it three groups, or two that have two pieces in turn.
  large.serviceWaves = 0;
  std::vector<AutoChoice> alone = chooseAutomatically(product(f8), large);
  EXPECT_EQ(alone.front().options.mma, "F32_64x128x32_F8");
  EXPECT_EQ(boundTo(alone.front().options, "BM"), 192);
  auto wide = std::ranges::find_if(alone, [](const AutoChoice &each) { return boundTo(each.options, "BN") == 192; });
  ASSERT_NE(wide, alone.end());
  EXPECT_EQ(wide->options.mma, "F32_64x96x32_F8");
  EXPECT_FALSE(exact.front().options.shortSums);
  EXPECT_EQ(chooseAutomatically(product(f8), options(512, 512, 512)).front().options.mma, "F32_64x64x32_F8");
  large.shortSums = true;
  EXPECT_EQ(chooseAutomatically(product(f8), large).front().options.mma, "F32_64x256x32_F8");
}

/// Workgroups walk tiles that were measured to gain by it, where each has several and not very many.
TEST(Auto, WalksTiles) {
  for (auto [m, n, k, workgroups] : {std::tuple(4096, 4096, 4096, 132),
                                     {8192, 8192, 8192, 132},
                                     {2048, 2048, 2048, 0},
                                     {8192, 28672, 4096, 0},
                                     {4095, 4097, 4099, 0},
                                     {16, 4096, 4096, 0}})
    EXPECT_EQ(chooseAutomatically(product(), options(m, n, k)).front().options.persistent, workgroups) << m << " " << n;
  // The same tiles without it are what comes next, for kernels that have no registers left for it.
  std::vector<AutoChoice> choices = chooseAutomatically(product(), options(4096, 4096, 4096));
  EXPECT_EQ(choices[1].options.mma, choices[0].options.mma);
  EXPECT_EQ(choices[1].options.persistent, 0);
  CompileOptions asked = options(4096, 4096, 4096);
  asked.persistent = 64;
  EXPECT_EQ(chooseAutomatically(product(), asked).front().options.persistent, 64);
}

/// A product for each of `count` right factors, of one left factor, and of one more where `leftToo`.
Kernel siblings(int count, bool leftToo = false) {
  auto [M, N, K, BM, BN, BK, WM, WN] = symbols<"M N K BM BN BK WM WN">();
  Kernel kernel{"siblings",
                {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
                 WaveConstraint(M, BM / WM), WaveConstraint(N, BN / WN), HardwareConstraint{}}};
  std::vector<MemoryRef> factors;
  auto a = kernel.memory("a", {M, K}, shared, f16), z = leftToo ? kernel.memory("z", {M, K}, shared, f16) : a;
  for (int i = 0; i < count; ++i)
    factors.push_back(kernel.memory("b" + std::to_string(i), {N, K}, shared, f16));
  auto c = kernel.memory("c", {M, N}, global, f32);
  std::vector<Value> zeros(static_cast<size_t>(count), kernel.fill({M, N}, f32, 0.0));
  std::vector<Value> sums = kernel.iterate(K, zeros, [&](std::vector<Value> acc) {
    Value left = read(a), other = leftToo ? read(z) : left;
    for (size_t i = 0; i < acc.size(); ++i)
      acc[i] = mma(i == 0 ? other : left, read(factors[i]), acc[i]);
    return acc;
  });
  Value product = sums[0];
  for (size_t i = 1; i < sums.size(); ++i)
    product = product * sums[i];
  write(product, c);
  return kernel;
}

/// Products of one left factor share a tile's columns, and so its registers and shared memory.
TEST(Auto, Siblings) {
  for (int64_t count : {2, 4}) {
    AutoChoice first = chooseAutomatically(siblings(static_cast<int>(count)), options(4096, 4096, 4096)).front();
    EXPECT_EQ(boundTo(first.options, "BM"), 128);
    EXPECT_EQ(boundTo(first.options, "BN"), 256 / count);
    EXPECT_EQ(first.options.mma, "F32_64x" + std::to_string(256 / count) + "x16_F16");
    CompileAttempt attempt =
        compileImage(siblings(static_cast<int>(count)), options(4096, 4096, 4096), rt::ImageKind::ptx);
    ASSERT_TRUE(attempt) << format(attempt.diagnostics);
    EXPECT_EQ(format(attempt.result->warnings).find("passed over"), std::string::npos);
  }
  // With few rows, too: tiles whose columns lie on the instruction's rows are for one product.
  AutoChoice flat = chooseAutomatically(siblings(2), options(16, 4096, 4096)).front();
  EXPECT_EQ(boundTo(flat.options, "BM"), 64);
  EXPECT_EQ(flat.options.cluster, 1);
  // Of two left factors they have nothing in common.
  EXPECT_EQ(chooseAutomatically(siblings(2, /*leftToo=*/true), withTiles(options(512, 512, 512))).size(), 2u);
}

/// A batch of small problems fills the machine as one large problem does.
TEST(Auto, CountsBatches) {
  auto [B, M, N, K, BM, BN, BK, WM, WN] = symbols<"B M N K BM BN BK WM WN">();
  Kernel kernel{"batched",
                {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), WorkgroupConstraint(B, 1, 2),
                 TilingConstraint(K, BK), WaveConstraint(M, BM / WM), WaveConstraint(N, BN / WN),
                 HardwareConstraint{}}};
  auto a = kernel.memory("a", {B, M, K}, shared, f16), b = kernel.memory("b", {B, N, K}, shared, f16);
  auto c = kernel.memory("c", {B, M, N}, global, f32);
  auto body = [&](Value acc) { return mma(read(a), read(b), acc); };
  write(kernel.iterate(K, kernel.fill({B, M, N}, f32, 0.0), body), c);
  auto tileOf = [&](int64_t batches) {
    CompileOptions said = options(512, 512, 4096);
    said.subs.emplace_back(B, batches);
    AutoChoice first = chooseAutomatically(kernel, said).front();
    return std::pair(boundTo(first.options, "BM"), boundTo(first.options, "BN"));
  };
  EXPECT_EQ(tileOf(66), std::pair(int64_t{128}, int64_t{256})); // 528 tiles, four for each compute unit
  EXPECT_NE(tileOf(1), std::pair(int64_t{128}, int64_t{256}));  // 8 tiles would leave most of them idle
}

TEST(Auto, Right) {
  expectRight(options(256, 512, 192), 256, 512, 192);
  // Bands of tiles, of which the last is lower than the others; tiles, rows and columns that are not whole.
  CompileOptions bands = options(650, 390, 136);
  bands.raster = 2;
  expectRight(bands, 650, 390, 136);
  expectRight(options(1, 8, 8), 1, 8, 8);
  expectRight(options(130, 70, 77), 130, 70, 77);
  expectRight(withTiles(options(130, 70, 72, "gfx950")), 130, 70, 72);
}

/// K is shared by clusters where that fills more of the machine, and each workgroup has much to sum.
TEST(Auto, Clusters) {
  for (auto [m, n, k, tile, cluster] : {std::tuple(16, 4096, 4096, 16, 2),
                                        {16, 8192, 8192, 16, 1},
                                        {64, 4096, 4096, 64, 2},
                                        {128, 4096, 4096, 128, 2},
                                        {128, 4096, 512, 64, 1},
                                        {4096, 4096, 4096, 128, 1}}) {
    CompileOptions best = chooseAutomatically(product(), options(m, n, k)).front().options;
    EXPECT_EQ(boundTo(best, "BM"), tile) << m << " " << n << " " << k;
    EXPECT_EQ(best.cluster, cluster) << m << " " << n << " " << k;
  }
  // What was asked for is kept.
  CompileOptions asked = options(16, 4096, 4096);
  asked.cluster = 4;
  for (const AutoChoice &choice : chooseAutomatically(product(), asked))
    EXPECT_EQ(choice.options.cluster, 4);
  expectRight(options(16, 128, 2304), 16, 128, 2304);
  expectRight(options(100, 72, 1100), 100, 72, 1100);
}

/// y[M, F] = the windows of three samples of x[L, C] · w[F, 3·C]ᵀ, of which M are bound as an expression.
Kernel windows() {
  auto [M, F, K, L, C, BM, BF, BK, WM] = symbols<"M F K L C BM BF BK WM">();
  Kernel kernel{"windows",
                {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(F, BF, 1), TilingConstraint(K, BK),
                 WaveConstraint(M, BM / WM), HardwareConstraint{}}};
  auto x = kernel.memory("x", {L, C}, shared, f16), w = kernel.memory("w", {F, K}, shared, f16);
  Expr m = IndexMapping::iterator(0), k = IndexMapping::iterator(1);
  IndexMapping window{.num_iterators = 2,
                      .inputs = {{L, m - 1 + sym::floordiv(k, C)}, {C, sym::mod(k, C)}},
                      .outputs = {{M, m}, {K, k}}};
  Value sum = kernel.iterate(K, kernel.fill({M, F}, f32, 0.0),
                             [&](Value acc) { return mma(read(x, {.mapping = window}), read(w), acc); });
  write(cast(sum, f16), kernel.memory("y", {M, F}, global, f16));
  return kernel;
}

/// Sizes that are expressions of others count as the numbers that they are; an iteration takes no more of K than lies
/// side by side.
TEST(Auto, Windows) {
  auto [M, F, K, L, C] = symbols<"M F K L C">();
  for (auto [length, channels, filters, rows, columns, depth] : {std::tuple(132 * 128 * 4, 64, 256, 128, 256, 64),
                                                                 {132 * 128 * 4, 96, 192, 128, 192, 32},
                                                                 {132 * 128 * 4, 128, 64, 128, 64, 64},
                                                                 {132 * 64, 80, 64, 64, 64, 16},
                                                                 {132 * 64, 20, 64, 64, 64, 64},
                                                                 // Short iterations are no reason to share K.
                                                                 {64, 240, 4096, 64, 64, 16}}) {
    CompileOptions said{.target = "sm_90a", .subs = {{M, L}, {K, 3 * C}, {L, length}, {C, channels}, {F, filters}}};
    CompileOptions best = chooseAutomatically(windows(), said).front().options;
    EXPECT_EQ(boundTo(best, "BM"), rows) << channels;
    EXPECT_EQ(boundTo(best, "BF"), columns) << channels;
    EXPECT_EQ(boundTo(best, "BK"), depth) << channels;
    EXPECT_EQ(best.cluster, 1) << channels;
  }
}

/// Few rows: the columns lie on the instruction's 64 rows, and the ring takes all that the compute unit has.
TEST(Auto, FewRows) {
  for (auto [m, tile] : {std::pair(1, 16), {16, 16}, {17, 32}, {32, 32}, {33, 64}}) {
    CompileOptions best = chooseAutomatically(product(), options(m, 8192, 8192)).front().options;
    EXPECT_EQ(boundTo(best, "BM"), tile);
    EXPECT_EQ(boundTo(best, "BN"), 64);
    EXPECT_EQ(boundTo(best, "WN"), tile < 64 ? 4 : 1);
    EXPECT_EQ(best.mma, "F32_64x" + std::to_string(tile) + "x16_F16");
  }
  // Straight ones need no waves along the columns.
  auto [M, N, K, BM, BN, BK] = symbols<"M N K BM BN BK">();
  Kernel rows{"rows",
              {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
               WaveConstraint(M, 16), HardwareConstraint{}}};
  auto a = rows.memory("a", {M, K}, shared, f16), b = rows.memory("b", {N, K}, shared, f16);
  write(rows.iterate(K, rows.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); }),
        rows.memory("c", {M, N}, global, f32));
  EXPECT_EQ(boundTo(chooseAutomatically(rows, options(16, 8192, 8192)).front().options, "BM"), 64);
  expectRight(options(16, 200, 1040), 16, 200, 1040);
  expectRight(options(29, 72, 136), 29, 72, 136);
}

TEST(Auto, ARingAloneTakesWhatTheComputeUnitHas) {
  auto buffers = [](int64_t columns) {
    CompileAttempt attempt = compileImage(product(), options(16, columns, 4096), rt::ImageKind::ptx);
    EXPECT_TRUE(attempt) << format(attempt.diagnostics);
    return attempt ? std::ranges::max(attempt.result->loops.front().schedule.buffers) : 0;
  };
  // Tiles of 16 and 64 rows of 256 bytes: 200 KB of them, or 100 where a compute unit has several workgroups.
  EXPECT_EQ(buffers(64 * 132), 10);
  EXPECT_EQ(buffers(64 * 133), 5);
}

TEST(Auto, SaysWhatItTook) {
  CompileAttempt attempt = compileImage(product(), options(512, 512, 512), rt::ImageKind::ptx);
  ASSERT_TRUE(attempt) << format(attempt.diagnostics);
  ASSERT_FALSE(attempt.result->warnings.empty());
  EXPECT_EQ(attempt.result->warnings.front().id, DiagId::AutoChoice);
  EXPECT_NE(attempt.result->warnings.front().message.find("`auto` took tiles of"), std::string::npos);
  // Nothing that could be compiled: the symbols have no values. That is no matter of choices.
  CompileAttempt open = compileImage(product(), options(512, 512, 512, "gfx942"), rt::ImageKind::hsaco);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.diagnostics.front().id, DiagId::SymbolUnbound);
  EXPECT_TRUE(
      std::ranges::none_of(open.diagnostics, [](const Diagnostic &said) { return said.id == DiagId::AutoChoice; }));
}

/// A loop with a conditional in it cannot be scheduled: the order of the program remains.
TEST(Auto, PassesOverWhatCannotBeCompiled) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"gated",
                {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 32),
                 WaveConstraint(M, 32), WaveConstraint(N, 32), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto c = kernel.memory("c", {M, N}, global, f32);
  Value sum = kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), [&](Value acc) {
    Value next = mma(read(a), read(b), acc);
    return kernel.conditional(sym::eq(iteration(K), 0), [&] { return next + 1.0f; }, [&] { return next; });
  });
  write(sum, c);
  CompileAttempt attempt = compileImage(kernel, options(128, 128, 128, "gfx942"), rt::ImageKind::hsaco);
  ASSERT_TRUE(attempt) << format(attempt.diagnostics);
  std::string said = format(attempt.result->warnings);
  EXPECT_NE(said.find("`auto` passed over the algorithm that the model finds fastest: "), std::string::npos) << said;
  EXPECT_NE(said.find("`auto` took the order of the program"), std::string::npos) << said;
}

TEST(Auto, IsTheDefault) {
  EXPECT_TRUE(isAuto(CompileOptions{}));
}

/// The schedule that the model finds fastest takes no more modelled cycles than any algorithm's.
TEST(Auto, FastestIsNoSlowerThanAnyOther) {
  auto cycles = [&](const std::string &schedule) -> double {
    CompileOptions asked = withTiles(options(4096, 4096, 4096, "gfx942"));
    asked.schedule.name = schedule;
    CompileAttempt attempt = compileImage(product(), asked, rt::ImageKind::hsaco);
    if (!attempt || attempt.result->loops.empty())
      return std::numeric_limits<double>::infinity();
    const sched::LoopReport &loop = attempt.result->loops.front();
    sched::LoopCost cost(loop.problem, *findTarget("gfx942"), {.workgroups = 64 * 64, .waves = 4, .iterations = 128});
    return cost.of(loop.schedule, loop.program).score();
  };
  double fastest = cycles("fastest");
  for (const char *other : {"prefetch", "four_stage", "modulo"})
    EXPECT_LE(fastest, cycles(other)) << other;
  EXPECT_LT(fastest, cycles("four_stage"));
}

} // namespace
} // namespace soliton
