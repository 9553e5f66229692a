//===- Weights.cpp - Matrix products of layers: gated, and with quantised weights ---------===//
//
// gemm_gated: the left operand is read once for two products, of which one is the other's gate.
// gemm_w8, gemm_w4: the right operand is small integers with a scale for GROUP of them along K. They stay small in
// memory and are multiplied by their scales in registers, so that the product is one of floats. Integers of 4 bits lie
// two a byte, the even one low.
// gemm_preshuffled: the right operand lies in memory as lanes take it, 16 bytes each, a block one behind the other.
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

#include "soliton/support/Float.h"

#include <cmath>

using namespace soliton;
using namespace soliton::kernels;

namespace {

std::vector<Constraint> tiles() {
  auto [M, N, K, BM, BN, BK, WM, WN] = symbols<"M N K BLOCK_M BLOCK_N BLOCK_K WAVES_M WAVES_N">();
  return {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
          WaveConstraint(M, BM / WM),    WaveConstraint(N, BN / WN),    HardwareConstraint{}};
}

/// Sums of the rows of `a` with those of `b`, row-major, and of their magnitudes.
struct Sums {
  std::vector<double> values, magnitudes;
};
Sums sumsOf(const Problem &problem, const std::vector<double> &a, const std::vector<double> &b) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  size_t depth = static_cast<size_t>(problem.size("K"));
  Sums sums{std::vector<double>(rows * columns), std::vector<double>(rows * columns)};
  for (size_t m = 0; m != rows; ++m)
    for (size_t n = 0; n != columns; ++n)
      for (size_t k = 0; k != depth; ++k) {
        double product = a[m * depth + k] * b[n * depth + k];
        sums.values[m * columns + n] += product;
        sums.magnitudes[m * columns + n] += std::abs(product);
      }
  return sums;
}

//===- gemm_gated -------------------------------------------------------------------===//

Kernel buildGated(const Variant &variant) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"gemm_gated", tiles()};
  auto a = kernel.memory("a", {M, K}, shared, variant.input);
  auto gate = kernel.memory("gate", {N, K}, shared, variant.input);
  auto up = kernel.memory("up", {N, K}, shared, variant.input);
  auto c = kernel.memory("c", {M, N}, global, variant.output);
  Value zero = kernel.fill({M, N}, f32, 0.0);
  auto body = [&](Value x, Value y) {
    Value left = read(a, {.tag = "read_a"});
    return std::tuple{mma(left, read(gate, {.tag = "read_gate"}), x, {.tag = "mma_gate"}),
                      mma(left, read(up, {.tag = "read_up"}), y, {.tag = "mma_up"})};
  };
  auto [x, y] = kernel.iterate(K, {zero, zero}, body, {.tag = "k_loop"});
  write(x / (1.0 + exp(-x)) * y, c, {.tag = "write_c"});
  return kernel;
}

Expected gatedReference(const Problem &problem) {
  const std::vector<double> &a = problem["a"].values;
  Sums x = sumsOf(problem, a, problem["gate"].values), y = sumsOf(problem, a, problem["up"].values);
  double roundoffs = 2 * static_cast<double>(problem.size("K")) * kF32Roundoff;
  std::vector<double> values(x.values.size()), errors(values.size());
  for (size_t i = 0; i != values.size(); ++i) {
    double gate = x.values[i] / (1 + std::exp(-x.values[i]));
    // The slope of silu is at most 1.1; it is off by a few roundoffs of its argument.
    double gateError = 1.1 * roundoffs * x.magnitudes[i] + 16 * kF32Roundoff * std::abs(x.values[i]);
    double otherError = roundoffs * y.magnitudes[i];
    values[i] = gate * y.values[i];
    errors[i] = gateError * (std::abs(y.values[i]) + otherError) + std::abs(gate) * otherError +
                2 * kF32Roundoff * std::abs(values[i]) + 0x1p-126;
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/false);
}

KernelEntry gatedEntry() {
  return {.name = "gemm_gated",
          .family = "gemm",
          .description = "c[M, N] = silu(a[M, K] · gate[N, K]ᵀ) * (a[M, K] · up[N, K]ᵀ)",
          .sizes = {{"M", 256}, {"N", 256}, {"K", 256}},
          .tiles = {{"BLOCK_M", 128}, {"BLOCK_N", 64}, {"BLOCK_K", 32}, {"WAVES_M", 2}, {"WAVES_N", 2}},
          .narrowTiles = {{"WAVES_N", 4}},
          .variants = {{"f16", f16, f16}, {"bf16", bf16, bf16}},
          .arguments = [](const Variant &variant) -> std::vector<ArgumentInfo> {
            return {{"a", {"M", "K"}, variant.input},
                    {"gate", {"N", "K"}, variant.input},
                    {"up", {"N", "K"}, variant.input},
                    {"c", {"M", "N"}, variant.output, true}};
          },
          .build = buildGated,
          .reference = gatedReference};
}

//===- gemm_w8, gemm_w4 -------------------------------------------------------------===//

/// The integers of a tile [N, K], as i32.
Value weightsOf(Kernel &kernel, const MemoryRef &b, bool packed) {
  auto [N, K] = symbols<"N K">();
  if (!packed)
    return cast(read(b, {.tag = "read_b"}), i32);
  std::vector<Expr> tile{N, K};
  IndexMapping ofPair = mappingOf(tile, {{N, placeIn(tile, N)}, {b.shape()[1], sym::floordiv(placeIn(tile, K), 2)}});
  Value both = cast(read(b, {.mapping = ofPair, .tag = "read_b"}), i32);
  return select(kernel.self_index(K) % 2 > 0, floordiv(both, 16), (both + 8) % 16 - 8);
}

Kernel buildQuantised(const std::string &name, bool packed, const Variant &variant) {
  auto [M, N, K, group] = symbols<"M N K GROUP">();
  Expr groups = sym::ceildiv(K, group), bytes = packed ? sym::ceildiv(K, 2) : K;
  Kernel kernel{name, tiles()};
  auto a = kernel.memory("a", {M, K}, shared, variant.input), b = kernel.memory("b", {N, bytes}, shared, i8);
  auto scales = kernel.memory("scales", {N, groups}, global, variant.input);
  auto c = kernel.memory("c", {M, N}, global, variant.output);
  std::vector<Expr> tile{N, K};
  IndexMapping ofGroup = mappingOf(tile, {{N, placeIn(tile, N)}, {groups, sym::floordiv(placeIn(tile, K), group)}});
  auto body = [&](Value acc) {
    Value scale = read(scales, {.mapping = ofGroup, .tag = "read_scales"});
    Value right = cast(weightsOf(kernel, b, packed), variant.input) * scale;
    return mma(read(a, {.tag = "read_a"}), right, acc, {.tag = "mma"});
  };
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), body, {.tag = "k_loop"}), c, {.tag = "write_c"});
  return kernel;
}

/// A weight times its scale is rounded once to the type of the product's operands, exactly as here.
Expected quantisedReference(bool packed, const Problem &problem) {
  size_t depth = static_cast<size_t>(problem.size("K")), group = static_cast<size_t>(problem.size("GROUP"));
  size_t groups = (depth + group - 1) / group, bytes = packed ? (depth + 1) / 2 : depth;
  std::vector<double> b(static_cast<size_t>(problem.size("N")) * depth);
  for (size_t i = 0; i != b.size(); ++i) {
    size_t row = i / depth, k = i % depth;
    auto weight = static_cast<int8_t>(problem["b"].values[row * bytes + (packed ? k / 2 : k)]);
    if (packed) // the sign of a nibble is its highest bit
      weight = static_cast<int8_t>(static_cast<int8_t>(k % 2 ? weight : weight << 4) >> 4);
    b[i] = roundTo(problem["a"].type, weight * problem["scales"].values[row * groups + k / group]);
  }
  Sums sums = sumsOf(problem, problem["a"].values, b);
  for (double &magnitude : sums.magnitudes)
    magnitude *= 2 * static_cast<double>(depth) * kF32Roundoff;
  return roundedOutput(problem, std::move(sums.values), std::move(sums.magnitudes), /*exact=*/true);
}

KernelEntry quantisedEntry(std::string name, bool packed, std::string description) {
  return {.name = name,
          .family = "gemm",
          .description = std::move(description),
          .sizes = {{"M", 256}, {"N", 256}, {"K", 256}, {"GROUP", 32}},
          .fixedSizes = {"GROUP"},
          .tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}, {"BLOCK_K", 32}, {"WAVES_M", 2}, {"WAVES_N", 2}},
          .variants = {{"f16", f16, f16}, {"bf16", bf16, bf16}},
          .arguments = [packed](const Variant &variant) -> std::vector<ArgumentInfo> {
            return {{"a", {"M", "K"}, variant.input},
                    {"b", {"N", packed ? "ceildiv(K, 2)" : "K"}, i8, false, Range{-128, 127}},
                    {"scales", {"N", "ceildiv(K, GROUP)"}, variant.input},
                    {"c", {"M", "N"}, variant.output, true}};
          },
          .build = [name, packed](const Variant &variant) { return buildQuantised(name, packed, variant); },
          .reference = [packed](const Problem &problem) { return quantisedReference(packed, problem); }};
}

//===- gemm_preshuffled -------------------------------------------------------------===//

/// Blocks of 16 rows by 32 weights: first the 8 of each row that come first along K, row by row, then the next 8.
constexpr int64_t kBlockRows = 16, kBlockDepth = 32, kRun = 8, kBlock = kBlockRows * kBlockDepth;

Kernel buildPreshuffled(const Variant &variant) {
  auto [M, N, K] = symbols<"M N K">();
  Expr rows = sym::ceildiv(N, kBlockRows), blocks = sym::ceildiv(K, kBlockDepth);
  Kernel kernel{"gemm_preshuffled", tiles()};
  auto a = kernel.memory("a", {M, K}, shared, variant.input);
  auto b = kernel.memory("b", {rows, blocks, kBlock}, global, variant.input);
  auto c = kernel.memory("c", {M, N}, global, variant.output);
  std::vector<Expr> tile{N, K};
  Expr n = placeIn(tile, N), k = placeIn(tile, K);
  Expr run = sym::floordiv(sym::mod(k, kBlockDepth), kRun) * kBlockRows + sym::mod(n, kBlockRows);
  IndexMapping shuffled = mappingOf(tile, {{rows, sym::floordiv(n, kBlockRows)},
                                           {blocks, sym::floordiv(k, kBlockDepth)},
                                           {kBlock, run * kRun + sym::mod(k, kRun)}});
  auto body = [&](Value acc) {
    return mma(read(a, {.tag = "read_a"}), read(b, {.mapping = shuffled, .tag = "read_b"}), acc, {.tag = "mma"});
  };
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), body, {.tag = "k_loop"}), c, {.tag = "write_c"});
  return kernel;
}

Expected preshuffledReference(const Problem &problem) {
  size_t rows = static_cast<size_t>(problem.size("N")), depth = static_cast<size_t>(problem.size("K"));
  std::vector<double> b(rows * depth);
  size_t at = 0; // blocks in the order of memory
  for (size_t row = 0; row < rows; row += kBlockRows)
    for (size_t first = 0; first < depth; first += kBlockDepth)
      for (size_t run = first; run != first + kBlockDepth; run += kRun)
        for (size_t n = row; n != row + kBlockRows; ++n)
          for (size_t k = run; k != run + kRun; ++k, ++at)
            if (n < rows && k < depth)
              b[n * depth + k] = problem["b"].values[at];
  Sums sums = sumsOf(problem, problem["a"].values, b);
  for (double &magnitude : sums.magnitudes)
    magnitude *= 2 * static_cast<double>(depth) * kF32Roundoff;
  return roundedOutput(problem, std::move(sums.values), std::move(sums.magnitudes), /*exact=*/true);
}

KernelEntry preshuffledEntry() {
  return {.name = "gemm_preshuffled",
          .family = "gemm",
          .description = "c[M, N] = a[M, K] · bᵀ, b[N/16, K/32, 512] in blocks of 16 by 32, runs of 8 along K",
          .sizes = {{"M", 256}, {"N", 256}, {"K", 256}},
          .tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}, {"BLOCK_K", 32}, {"WAVES_M", 2}, {"WAVES_N", 2}},
          .variants = {{"f16", f16, f16}, {"bf16", bf16, bf16}},
          .arguments = [](const Variant &variant) -> std::vector<ArgumentInfo> {
            return {{"a", {"M", "K"}, variant.input},
                    {"b", {"ceildiv(N, 16)", "ceildiv(K, 32)", "512"}, variant.input},
                    {"c", {"M", "N"}, variant.output, true}};
          },
          .build = buildPreshuffled,
          .reference = preshuffledReference};
}

} // namespace

const std::vector<KernelEntry> &kernels::weightEntries() {
  static const std::vector<KernelEntry> entries{
      gatedEntry(),
      quantisedEntry("gemm_w8", false, "c[M, N] = a[M, K] · (b[N, K] * scales[N, K/GROUP])ᵀ, b of 8-bit integers"),
      quantisedEntry("gemm_w4", true, "c[M, N] = a[M, K] · (b[N, K] * scales[N, K/GROUP])ᵀ, b of 4-bit integers"),
      preshuffledEntry()};
  return entries;
}
