// What a user writes, whole: the matrix product, compiled for a chip and called. scripts/check_headers.sh compiles this
// file with both compilers and measures how long it takes.
#include <soliton/soliton.h>

using namespace soliton;

void multiply(const rt::Tensor &A, const rt::Tensor &B, const rt::Tensor &C) {
  auto [M, N, K] = symbols<"M N K">();
  auto [BM, BN, BK] = symbols<"BLOCK_M BLOCK_N BLOCK_K">();

  Kernel gemm{"gemm",
              {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
               WaveConstraint(M, BM / 2), WaveConstraint(N, BN / 2), HardwareConstraint{.mma = F32_16x16x16_F16}}};
  auto a = gemm.memory("a", {M, K}, shared, f16), b = gemm.memory("b", {N, K}, shared, f16);
  auto c = gemm.memory("c", {M, N}, global, f32);
  auto sum = gemm.iterate(K, gemm.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); });
  write(sum, c);

  auto run =
      compile(gemm, {.target = "gfx942", .subs = {{M, 1024}, {N, 1024}, {K, 1024}, {BM, 128}, {BN, 128}, {BK, 32}}});
  run(A, B, C);
}
