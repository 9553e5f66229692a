//===- Scaled.cpp - Matrix products of small floats with scales ---------------------------===//
//
// The OCP microscaling formats: elements of 4 or 8 bits, of which 32 neighbours along K share a power of two.
//
//   c[M, N] = (a[M, K] * 2^(a_scale[M, K/32] - 127)) · (b[N, K] * 2^(b_scale[N, K/32] - 127))ᵀ
//
// Elements of 4 bits are bytes in memory, two in each, the even one low; scales are bytes of any kernel's.
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"

#include <cmath>
#include <optional>

using namespace soliton;
using namespace soliton::kernels;

namespace {

/// Elements that share a scale.
constexpr size_t kBlock = 32;

std::vector<Constraint> tiles() {
  auto [M, N, K, BM, BN, BK, WM, WN] = symbols<"M N K BLOCK_M BLOCK_N BLOCK_K WAVES_M WAVES_N">();
  return {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
          WaveConstraint(M, BM / WM),    WaveConstraint(N, BN / WN),    HardwareConstraint{}};
}

/// The elements of `a`, and of `b` where that has others.
struct Elements {
  ElementType a, b;
};

bool isPacked(ElementType type) {
  return type == f4e2m1fn;
}

/// A factor's memory: of its elements, or of bytes of two.
MemoryRef factor(Kernel &kernel, const char *name, Expr row, ElementType type) {
  auto [K] = symbols<"K">();
  return kernel.memory(name, {row, isPacked(type) ? K / 2 : K}, shared, isPacked(type) ? i8 : type);
}

Value elementsOf(const MemoryRef &memory, ElementType type, const char *tag) {
  Value tile = read(memory, {.tag = tag});
  return isPacked(type) ? bitcast(tile, type) : tile;
}

Kernel buildScaled(const std::string &name, const Variant &variant, const Elements &types) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{name, tiles()};
  auto a = factor(kernel, "a", M, types.a), b = factor(kernel, "b", N, types.b);
  auto aScale = kernel.memory("a_scale", {M, K / 32}, shared, i8),
       bScale = kernel.memory("b_scale", {N, K / 32}, shared, i8);
  auto c = kernel.memory("c", {M, N}, global, variant.output);
  auto body = [&](Value acc) {
    Value left = elementsOf(a, types.a, "read_a"), right = elementsOf(b, types.b, "read_b");
    Value leftScale = bitcast(read(aScale, {.tag = "read_a_scale"}), f8e8m0fnu);
    Value rightScale = bitcast(read(bScale, {.tag = "read_b_scale"}), f8e8m0fnu);
    return scaled_mma(left, leftScale, right, rightScale, acc, {.tag = "mma"});
  };
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), body, {.tag = "k_loop"}), c, {.tag = "write_c"});
  return kernel;
}

//===- Reference --------------------------------------------------------------------===//

/// The number of a sign, two exponent bits and one of the fraction.
double fromNibble(unsigned nibble) {
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (nibble & 8 ? -1 : 1) * kMagnitudes[nibble & 7];
}

/// The elements of an operand times their scales, row by row.
std::vector<double> scaledOperand(const Problem &problem, const std::string &name) {
  const std::vector<double> &stored = problem[name].values, &scales = problem[name + "_scale"].values;
  size_t depth = static_cast<size_t>(problem.size("K"));
  bool packed = problem[name].type == DType::i8;
  std::vector<double> values(packed ? 2 * stored.size() : stored.size());
  for (size_t i = 0; i != values.size(); ++i) {
    auto byte = static_cast<uint8_t>(static_cast<int8_t>(stored[packed ? i / 2 : i]));
    double element = packed ? fromNibble(i % 2 ? byte >> 4 : byte & 15) : stored[i];
    auto scale = static_cast<uint8_t>(static_cast<int8_t>(scales[i / depth * (depth / kBlock) + i % depth / kBlock]));
    values[i] = std::ldexp(element, scale - 127);
  }
  return values;
}

Expected scaledReference(const Problem &problem) {
  std::vector<double> a = scaledOperand(problem, "a"), b = scaledOperand(problem, "b");
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  size_t depth = static_cast<size_t>(problem.size("K"));
  std::vector<double> values(rows * columns), errors(rows * columns);
  for (size_t i = 0; i != values.size(); ++i) {
    for (size_t k = 0; k != depth; ++k) {
      double product = a[i / columns * depth + k] * b[i % columns * depth + k];
      values[i] += product;
      errors[i] += std::abs(product);
    }
    errors[i] *= 2 * static_cast<double>(depth) * kF32Roundoff;
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/true);
}

//===- Entries ----------------------------------------------------------------------===//

std::vector<ArgumentInfo> argumentsOf(const Variant &variant, const Elements &types) {
  std::vector<ArgumentInfo> list;
  for (const char *row : {"M", "N"}) {
    std::string name = *row == 'M' ? "a" : "b";
    ElementType type = *row == 'M' ? types.a : types.b;
    if (isPacked(type))
      list.push_back({name, {row, "K/2"}, i8, false, Range{-128, 127}});
    else
      list.push_back({name, {row, "K"}, type});
  }
  // Between an eighth and 1: sums of whole numbers stay exact.
  for (const char *row : {"M", "N"})
    list.push_back({*row == 'M' ? "a_scale" : "b_scale", {row, "K/32"}, i8, false, Range{124, 127}});
  list.push_back({"c", {"M", "N"}, variant.output, true});
  return list;
}

/// `b` has the elements of `a`, or others for every variant.
KernelEntry entryOf(std::string name, const std::string &elements, std::vector<Variant> variants,
                    std::optional<ElementType> right = std::nullopt) {
  auto types = [right](const Variant &variant) { return Elements{variant.input, right.value_or(variant.input)}; };
  return {.name = name,
          .family = "gemm",
          .description = "c[M, N] = (a[M, K] * a_scale[M, K/32]) · (b[N, K] * b_scale[N, K/32])ᵀ, " + elements,
          .sizes = {{"M", 256}, {"N", 256}, {"K", 256, kBlock}},
          .tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}, {"BLOCK_K", 128}, {"WAVES_M", 2}, {"WAVES_N", 2}},
          .variants = std::move(variants),
          .arguments = [types](const Variant &variant) { return argumentsOf(variant, types(variant)); },
          .build = [name, types](const Variant &variant) { return buildScaled(name, variant, types(variant)); },
          .reference = scaledReference};
}

} // namespace

const std::vector<KernelEntry> &kernels::scaledEntries() {
  static const std::vector<KernelEntry> entries{
      entryOf("gemm_mxfp4", "elements of 4 bits", {{"f4", f4e2m1fn, f32}, {"f4-bf16", f4e2m1fn, bf16}}),
      entryOf("gemm_mxfp8", "elements of 8 bits", {{"f8e4m3fn", f8e4m3fn, f32}, {"f8e5m2", f8e5m2, f32}}),
      entryOf("gemm_mxfp8_mxfp4", "a of 8 bits, b of 4", {{"f8e4m3fn", f8e4m3fn, f32}, {"f8e5m2", f8e5m2, f32}},
              f4e2m1fn)};
  return entries;
}
