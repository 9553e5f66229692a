//===- Gemm.cpp - Matrix products: operands either way round, batches, epilogues ----------===//
//
// One text, with options for what its kernels differ in:
//
//   buildProduct("gemm_tn", {.leftByK = true, .rightByK = true}, variant)          c[M, N] = a[K, M]ᵀ · b[K, N]
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

#include <cmath>

using namespace soliton;
using namespace soliton::kernels;

namespace {

enum class Activation : uint8_t { none, relu, gelu, silu };

struct GemmOptions {
  /// The left operand is [K, M].
  bool leftByK = false;
  /// The right operand is [K, N].
  bool rightByK = false;
  /// Everything has a leading B.
  bool batched = false;
  /// bias[N] is added, then a function applied.
  bool bias = false;
  /// residual[M, N] is added behind that.
  bool residual = false;
  /// WAVES_K waves share each tile of K.
  bool sharesK = false;
  Activation activation = Activation::none;
};

ElementType accumulatorOf(const Variant &variant) {
  return isFloat(variant.input) ? f32 : i32;
}

/// Rows of a tile have 64 bytes in shared memory whatever the element type; some 8-bit instructions contract 64 at
/// once. Eight waves share the work on bytes: Hopper's `mma.sync` widens 8-bit floats in registers of its own, and rows
/// that are not aligned come byte by byte, so that with 64 × 64 accumulators a wave ptxas spills.
std::vector<DefaultSize> tilesOfBytes() {
  return {{"BLOCK_K", 64}, {"WAVES_N", 4}};
}

const std::vector<Variant> &matrixVariants() {
  static const std::vector<DefaultSize> bytes = tilesOfBytes();
  static const std::vector<Variant> variants{
      {"f16", f16, f32},     {"bf16", bf16, f32},       {"f8", f8, f32, bytes},     {"i8", i8, i32, bytes},
      {"f16-f16", f16, f16}, {"bf16-bf16", bf16, bf16}, {"f8-f16", f8, f16, bytes}, {"f8-bf16", f8, bf16, bytes}};
  return variants;
}

//===- The kernel -------------------------------------------------------------------===//

std::vector<Expr> shapeOf(const GemmOptions &options, Expr row, Expr column) {
  return options.batched ? std::vector<Expr>{symbol("B"), row, column} : std::vector<Expr>{row, column};
}

Value activated(Activation activation, Value x) {
  switch (activation) {
  case Activation::none:
    return x;
  case Activation::relu:
    return maximum(x, 0.0);
  case Activation::gelu:
    return 0.5 * x * (1.0 + erf(x * std::sqrt(0.5)));
  case Activation::silu:
    return x / (1.0 + exp(-x));
  }
  return x;
}

Kernel buildProduct(const std::string &name, const GemmOptions &options, const Variant &variant) {
  auto [M, N, K] = symbols<"M N K">();
  std::vector<Constraint> constraints = productTiles(options.batched);
  if (options.sharesK)
    constraints.push_back(WaveConstraint(K, symbol("BLOCK_K") / symbol("WAVES_K")));
  Kernel gemm{name, constraints};
  auto left = options.leftByK ? shapeOf(options, K, M) : shapeOf(options, M, K);
  auto right = options.rightByK ? shapeOf(options, K, N) : shapeOf(options, N, K);
  auto a = gemm.memory("a", left, shared, variant.input), b = gemm.memory("b", right, shared, variant.input);
  MemoryRef bias = options.bias ? gemm.memory("bias", {N}, global, variant.input) : MemoryRef();
  MemoryRef residual = options.residual ? gemm.memory("residual", {M, N}, global, variant.input) : MemoryRef();
  auto c = gemm.memory("c", shapeOf(options, M, N), global, variant.output);
  auto body = [&](Value acc) {
    return mma(readAs(a, shapeOf(options, M, K), "read_a"), readAs(b, shapeOf(options, N, K), "read_b"), acc,
               {.tag = "mma"});
  };
  Value zero = gemm.fill(shapeOf(options, M, N), accumulatorOf(variant), 0);
  Value sum = gemm.iterate(K, zero, body, {.tag = "k_loop"});
  if (options.bias)
    sum = activated(options.activation, sum + cast(read(bias, {.tag = "read_bias"}), f32));
  if (options.residual)
    sum = sum + cast(read(residual, {.tag = "read_residual"}), f32);
  write(sum, c, {.tag = "write_c"});
  return gemm;
}

//===- Reference --------------------------------------------------------------------===//

double activated(Activation activation, double x) {
  switch (activation) {
  case Activation::none:
    return x;
  case Activation::relu:
    return std::max(x, 0.0);
  case Activation::gelu:
    return 0.5 * x * std::erfc(-x * std::sqrt(0.5));
  case Activation::silu:
    return x / (1 + std::exp(-x));
  }
  return x;
}

Expected productReference(const GemmOptions &options, const Problem &problem) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  size_t depth = static_cast<size_t>(problem.size("K"));
  size_t batches = options.batched ? static_cast<size_t>(problem.size("B")) : 1;
  std::vector<double> values(batches * rows * columns), errors(values.size());
  for (size_t batch = 0; batch != batches; ++batch) {
    Operand2d a{&problem["a"].values[batch * rows * depth], options.leftByK ? 1 : depth, options.leftByK ? rows : 1};
    Operand2d b{&problem["b"].values[batch * columns * depth], options.rightByK ? 1 : depth,
                options.rightByK ? columns : 1};
    addProduct(a, b, rows, columns, depth, &values[batch * rows * columns], &errors[batch * rows * columns],
               problem.shortSums);
  }
  if (options.bias)
    for (size_t i = 0; i != values.size(); ++i) {
      double x = values[i] + problem["bias"].values[i % columns];
      // No slope is above 1.2; the functions are off by a few roundoffs of their argument.
      errors[i] = 1.2 * (errors[i] + 2 * kF32Roundoff * std::abs(x)) + 16 * kF32Roundoff * std::abs(x) + 0x1p-126;
      values[i] = activated(options.activation, x);
    }
  if (options.residual)
    for (size_t i = 0; i != values.size(); ++i) {
      values[i] += problem["residual"].values[i];
      errors[i] += kF32Roundoff * std::abs(values[i]);
    }
  bool exact = options.activation == Activation::none || options.activation == Activation::relu;
  return roundedOutput(problem, std::move(values), std::move(errors), exact);
}

//===- Entries ----------------------------------------------------------------------===//

std::vector<ArgumentInfo> argumentsOf(const GemmOptions &options, const Variant &variant) {
  auto shape = [&](const char *row, const char *column) {
    return options.batched ? std::vector<std::string>{"B", row, column} : std::vector<std::string>{row, column};
  };
  std::vector<ArgumentInfo> list{{"a", options.leftByK ? shape("K", "M") : shape("M", "K"), variant.input},
                                 {"b", options.rightByK ? shape("K", "N") : shape("N", "K"), variant.input}};
  if (options.bias)
    list.push_back({"bias", {"N"}, variant.input});
  if (options.residual)
    list.push_back({"residual", shape("M", "N"), variant.input});
  list.push_back({"c", shape("M", "N"), variant.output, true});
  return list;
}

KernelEntry entryOf(std::string name, std::string description, const GemmOptions &options) {
  KernelEntry entry{.name = name,
                    .family = "gemm",
                    .description = std::move(description),
                    .sizes = {{"M", 256}, {"N", 256}, {"K", 256}},
                    .tiles = {{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 32}, {"WAVES_M", 2}, {"WAVES_N", 2}},
                    .variants = matrixVariants(),
                    .arguments = [options](const Variant &variant) { return argumentsOf(options, variant); },
                    .build = [name, options](const Variant &variant) { return buildProduct(name, options, variant); },
                    .reference = [options](const Problem &problem) { return productReference(options, problem); }};
  if (options.batched)
    entry.sizes.insert(entry.sizes.begin(), {"B", 4});
  if (options.bias) { // functions of floats, which need registers beside 64 × 64 sums a wave
    entry.variants = {{"f16", f16, f16}, {"bf16", bf16, bf16}};
    entry.narrowTiles = {{"WAVES_N", 4}};
    if (options.residual) // which lanes have in registers too
      entry.narrowTiles.push_back({"BLOCK_M", 64});
  }
  if (options.sharesK) { // few rows and columns, a long K
    entry.sizes = {{"M", 32}, {"N", 64}, {"K", 2048}};
    entry.tiles = {{"BLOCK_M", 32}, {"BLOCK_N", 32}, {"BLOCK_K", 128}, {"WAVES_M", 1}, {"WAVES_N", 1}, {"WAVES_K", 4}};
    for (Variant &variant : entry.variants)
      variant.tiles.clear();
    entry.variants.resize(4);
  }
  if (name == "gemm") // for slopes, whose range is wider
    entry.variants.insert(entry.variants.end(),
                          {{"bf8", bf8, f32, tilesOfBytes()}, {"bf8-bf16", bf8, bf16, tilesOfBytes()}});
  if (options.leftByK || options.batched) // results of other types are those of `gemm`
    entry.variants.resize(2);
  return entry;
}

} // namespace

const std::vector<KernelEntry> &kernels::gemmEntries() {
  static const std::vector<KernelEntry> entries{
      entryOf("gemm", "c[M, N] = a[M, K] · b[N, K]ᵀ", {}),
      entryOf("gemm_nn", "c[M, N] = a[M, K] · b[K, N]", {.rightByK = true}),
      entryOf("gemm_tn", "c[M, N] = a[K, M]ᵀ · b[K, N]", {.leftByK = true, .rightByK = true}),
      entryOf("gemm_tt", "c[M, N] = a[K, M]ᵀ · b[N, K]ᵀ", {.leftByK = true}),
      entryOf("gemm_batched", "c[B, M, N] = a[B, M, K] · b[B, N, K]ᵀ", {.batched = true}),
      entryOf("gemm_wave_k", "c[M, N] = a[M, K] · b[N, K]ᵀ, waves share K", {.sharesK = true}),
      entryOf("gemm_bias", "c[M, N] = a[M, K] · b[N, K]ᵀ + bias[N]", {.bias = true}),
      entryOf("gemm_relu", "c[M, N] = relu(a[M, K] · b[N, K]ᵀ + bias[N])",
              {.bias = true, .activation = Activation::relu}),
      entryOf("gemm_gelu", "c[M, N] = gelu(a[M, K] · b[N, K]ᵀ + bias[N])",
              {.bias = true, .activation = Activation::gelu}),
      entryOf("gemm_silu", "c[M, N] = silu(a[M, K] · b[N, K]ᵀ + bias[N])",
              {.bias = true, .activation = Activation::silu}),
      entryOf("gemm_residual", "c[M, N] = a[M, K] · b[N, K]ᵀ + bias[N] + residual[M, N]",
              {.bias = true, .residual = true})};
  return entries;
}

std::vector<Constraint> kernels::productTiles(bool batched, TilingOptions loop) {
  auto [B, M, N, K, BM, BN, BK, WM, WN] = symbols<"B M N K BLOCK_M BLOCK_N BLOCK_K WAVES_M WAVES_N">();
  std::vector<Constraint> list{WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1),
                               TilingConstraint(K, BK, loop), WaveConstraint(M, BM / WM),
                               WaveConstraint(N, BN / WN),    HardwareConstraint{}};
  if (batched)
    list.push_back(WorkgroupConstraint(B, 1, 2));
  return list;
}

void kernels::addProduct(const Operand2d &a, const Operand2d &b, size_t rows, size_t columns, size_t depth,
                         double *values, double *errors, const ShortSums &shortSums) {
  std::vector<double> byK(depth * columns); // neighbours in the innermost loop
  for (size_t n = 0; n != columns; ++n)
    for (size_t k = 0; k != depth; ++k)
      byK[k * columns + n] = b.values[n * b.row + k * b.k];
  for (size_t m = 0; m != rows; ++m)
    for (size_t k = 0; k != depth; ++k) {
      double left = a.values[m * a.row + k * a.k], size = std::abs(left);
      for (size_t n = 0; n != columns; ++n) {
        double right = byK[k * columns + n];
        values[m * columns + n] += left * right;
        errors[m * columns + n] += size * std::abs(right);
      }
    }
  for (size_t i = 0; i != rows * columns; ++i)
    errors[i] *= 2 * static_cast<double>(depth) * kF32Roundoff + shortSums.lost(depth);
}
