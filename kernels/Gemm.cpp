//===- Gemm.cpp - gemm, gemm_nn ---------------------------------------------------===//
#include "kernels/Entries.h"

#include <cmath>

using namespace soliton;
using namespace soliton::kernels;

/// Tiles of BLOCK_M × BLOCK_N, WAVES_M by WAVES_N waves; a loop walks K. The matrix instruction is the target's.
static std::vector<Constraint> tiles() {
  auto [M, N, K, BM, BN, BK, WM, WN] = symbols<"M N K BLOCK_M BLOCK_N BLOCK_K WAVES_M WAVES_N">();
  return {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
          WaveConstraint(M, BM / WM),    WaveConstraint(N, BN / WN),    HardwareConstraint{}};
}

static ElementType accumulatorOf(const Variant &variant) {
  return isFloat(variant.input) ? f32 : i32;
}

/// Rows of a tile have 64 bytes in shared memory whatever the element type; some 8-bit instructions contract 64 at
/// once. Eight waves share the work on bytes: Hopper's `mma.sync` widens 8-bit floats in registers of its own, and rows
/// that are not aligned come byte by byte, so that with 64 × 64 accumulators a wave ptxas spills.
static const std::vector<Variant> &matrixVariants() {
  static const std::vector<DefaultSize> bytes{{"BLOCK_K", 64}, {"WAVES_N", 4}};
  static const std::vector<Variant> variants{
      {"f16", f16, f32},     {"bf16", bf16, f32},       {"f8", f8, f32, bytes},     {"i8", i8, i32, bytes},
      {"f16-f16", f16, f16}, {"bf16-bf16", bf16, bf16}, {"f8-f16", f8, f16, bytes}, {"f8-bf16", f8, bf16, bytes}};
  return variants;
}

//===- gemm -------------------------------------------------------------------------===//

static Kernel buildGemm(const Variant &variant) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel gemm{"gemm", tiles()};
  auto a = gemm.memory("a", {M, K}, shared, variant.input), b = gemm.memory("b", {N, K}, shared, variant.input);
  auto c = gemm.memory("c", {M, N}, global, variant.output);
  auto body = [&](Value acc) {
    return mma(read(a, {.tag = "read_a"}), read(b, {.tag = "read_b"}), acc, {.tag = "mma"});
  };
  Value sum = gemm.iterate(K, gemm.fill({M, N}, accumulatorOf(variant), 0), body, {.tag = "k_loop"});
  write(sum, c, {.tag = "write_c"});
  return gemm;
}

//===- gemm_nn ----------------------------------------------------------------------===//

static Kernel buildGemmNn(const Variant &variant) {
  auto [M, N, K] = symbols<"M N K">();
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  IndexMapping transposed{.num_iterators = 2, .inputs = {{K, j}, {N, i}}, .outputs = {{N, i}, {K, j}}};

  Kernel gemm{"gemm_nn", tiles()};
  auto a = gemm.memory("a", {M, K}, shared, variant.input), b = gemm.memory("b", {K, N}, shared, variant.input);
  auto c = gemm.memory("c", {M, N}, global, variant.output);
  auto body = [&](Value acc) {
    return mma(read(a, {.tag = "read_a"}), read(b, {.mapping = transposed, .tag = "read_b"}), acc, {.tag = "mma"});
  };
  Value sum = gemm.iterate(K, gemm.fill({M, N}, accumulatorOf(variant), 0), body, {.tag = "k_loop"});
  write(sum, c, {.tag = "write_c"});
  return gemm;
}

//===- Reference --------------------------------------------------------------------===//

/// The product of a[M, K] and b[K, N] (row-major both), with 2·K·u·Σ|a||b| for its error.
static Expected productReference(const Problem &problem, const std::vector<double> &a, const std::vector<double> &b) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  size_t depth = static_cast<size_t>(problem.size("K"));
  std::vector<double> values(rows * columns), errors(rows * columns);
  for (size_t m = 0; m != rows; ++m) {
    double *sums = &values[m * columns], *magnitudes = &errors[m * columns];
    for (size_t k = 0; k != depth; ++k) {
      double left = a[m * depth + k], size = std::abs(left);
      const double *right = &b[k * columns];
      for (size_t n = 0; n != columns; ++n) {
        sums[n] += left * right[n];
        magnitudes[n] += size * std::abs(right[n]);
      }
    }
  }
  for (double &error : errors)
    error *= 2 * static_cast<double>(depth) * kF32Roundoff;
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/true);
}

static Expected gemmReference(const Problem &problem) {
  size_t columns = static_cast<size_t>(problem.size("N")), depth = static_cast<size_t>(problem.size("K"));
  const std::vector<double> &given = problem["b"].values;
  std::vector<double> b(given.size());
  for (size_t n = 0; n != columns; ++n)
    for (size_t k = 0; k != depth; ++k)
      b[k * columns + n] = given[n * depth + k];
  return productReference(problem, problem["a"].values, b);
}

static Expected gemmNnReference(const Problem &problem) {
  return productReference(problem, problem["a"].values, problem["b"].values);
}

//===- Entries ----------------------------------------------------------------------===//

const KernelEntry &kernels::gemmEntry() {
  static const KernelEntry entry{
      .name = "gemm",
      .description = "c[M, N] = a[M, K] · b[N, K]ᵀ",
      .sizes = {{"M", 256}, {"N", 256}, {"K", 256}},
      .tiles = {{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 32}, {"WAVES_M", 2}, {"WAVES_N", 2}},
      .variants = matrixVariants(),
      .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
        return {
            {"a", {"M", "K"}, v.input, false}, {"b", {"N", "K"}, v.input, false}, {"c", {"M", "N"}, v.output, true}};
      },
      .build = buildGemm,
      .reference = gemmReference};
  return entry;
}

const KernelEntry &kernels::gemmNnEntry() {
  static const KernelEntry entry{
      .name = "gemm_nn",
      .description = "c[M, N] = a[M, K] · b[K, N]",
      .sizes = {{"M", 256}, {"N", 256}, {"K", 256}},
      .tiles = {{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 32}, {"WAVES_M", 2}, {"WAVES_N", 2}},
      .variants = matrixVariants(),
      .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
        return {
            {"a", {"M", "K"}, v.input, false}, {"b", {"K", "N"}, v.input, false}, {"c", {"M", "N"}, v.output, true}};
      },
      .build = buildGemmNn,
      .reference = gemmNnReference};
  return entry;
}
