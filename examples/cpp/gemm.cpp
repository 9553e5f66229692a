// A matrix product in the Wave language, compiled and run on the emulator, or on a device that the command line names:
//
//   gemm                    gemm sm_90a cuda
#include <soliton/soliton.h>
#include <soliton/support/Float.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace soliton;

/// c[M, N] = a[M, K] · b[N, K]ᵀ.
static Kernel buildGemm() {
  auto [M, N, K] = symbols<"M N K">();
  auto [BM, BN, BK] = symbols<"BLOCK_M BLOCK_N BLOCK_K">();
  Kernel gemm{"gemm",
              {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
               WaveConstraint(M, BM / 2), WaveConstraint(N, BN / 2), HardwareConstraint{.mma = F32_16x16x16_F16}}};
  auto a = gemm.memory("a", {M, K}, shared, f16), b = gemm.memory("b", {N, K}, shared, f16);
  auto c = gemm.memory("c", {M, N}, global, f32);
  auto sum = gemm.iterate(K, gemm.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); });
  write(sum, c);
  return gemm;
}

int main(int argc, char **argv) try {
  const int64_t m = 128, n = 192, k = 96;
  CompileOptions options{.target = argc > 1 ? argv[1] : "gfx942"};
  options.device = argc > 2 ? argv[2] : "emulator";
  for (auto [name, value] : {std::pair{"M", m}, {"N", n}, {"K", k}, {"BLOCK_M", 64}, {"BLOCK_N", 64}, {"BLOCK_K", 32}})
    options.subs.emplace_back(symbol(name), value);
  auto run = compile(buildGemm(), options);

  // Small integers: the product is exact, so every element can be compared for equality.
  std::vector<uint16_t> a(m * k), b(n * k);
  std::vector<float> c(m * n, NAN);
  for (int64_t i = 0; i != m * k; ++i)
    a[i] = floatToHalf(static_cast<float>(i % 5 - 2));
  for (int64_t i = 0; i != n * k; ++i)
    b[i] = floatToHalf(static_cast<float>(i % 7 - 3));
  run(rt::Tensor::of(a, {m, k}).as(DType::f16), rt::Tensor::of(b, {n, k}).as(DType::f16), rt::Tensor::of(c, {m, n}));

  int64_t wrong = 0;
  for (int64_t row = 0; row != m; ++row)
    for (int64_t column = 0; column != n; ++column) {
      float expected = 0;
      for (int64_t depth = 0; depth != k; ++depth)
        expected += halfToFloat(a[row * k + depth]) * halfToFloat(b[column * k + depth]);
      wrong += !(c[row * n + column] == expected);
    }
  std::printf("gemm %lld x %lld x %lld for %s on %s: %lld of %lld elements wrong\n", (long long)m, (long long)n,
              (long long)k, options.target.c_str(), run.device().info().name.c_str(), (long long)wrong,
              (long long)(m * n));
  return wrong ? 1 : 0;
} catch (const CompileError &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
