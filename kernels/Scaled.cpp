//===- Scaled.cpp - Matrix products of small floats with scales ---------------------------===//
//
// The OCP microscaling formats: elements of 4, 6 or 8 bits, of which 32 neighbours along K share a power of two.
//
//   c[M, N] = (a[M, K] * 2^(a_scale[M, K/32] - 127)) · (b[N, K] * 2^(b_scale[N, K/32] - 127))ᵀ
//
// Elements of 4 and 6 bits are bytes in memory, two in each or four in three, the first one lowest; scales are bytes of
// any kernel's.
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
  return type == f4e2m1fn || type == f6e2m3fn || type == f6e3m2fn;
}

/// The bytes of a row of packed elements.
Expr bytesOf(ElementType type) {
  auto [K] = symbols<"K">();
  return type == f4e2m1fn ? K / 2 : 3 * K / 4;
}

/// A factor's memory: of its elements, or of the bytes that they lie in.
MemoryRef factor(Kernel &kernel, const char *name, Expr row, ElementType type) {
  auto [K] = symbols<"K">();
  return kernel.memory(name, {row, isPacked(type) ? bytesOf(type) : K}, shared, isPacked(type) ? i8 : type);
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

/// Numbers of a sign, an exponent and a fraction, without infinities.
struct Format {
  unsigned exponent, fraction;
  unsigned bits() const { return 1 + exponent + fraction; }
};

Format formatOf(ElementType type) {
  return type == f4e2m1fn ? Format{2, 1} : type == f6e2m3fn ? Format{2, 3} : Format{3, 2};
}

double numberOf(Format format, unsigned code) {
  int bias = (1 << (format.exponent - 1)) - 1,
      field = static_cast<int>(code >> format.fraction) & ((1 << format.exponent) - 1);
  double fraction = std::ldexp(code & ((1u << format.fraction) - 1), -static_cast<int>(format.fraction));
  double magnitude = field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias);
  return code >> (format.exponent + format.fraction) & 1 ? -magnitude : magnitude;
}

/// The element at a place of a row of bytes, bit by bit.
double packedElement(const std::vector<double> &bytes, size_t firstByte, Format format, size_t place) {
  unsigned code = 0;
  for (unsigned bit = 0; bit != format.bits(); ++bit) {
    size_t at = place * format.bits() + bit;
    auto byte = static_cast<uint8_t>(static_cast<int8_t>(bytes[firstByte + at / 8]));
    code |= (byte >> at % 8 & 1u) << bit;
  }
  return numberOf(format, code);
}

/// The elements of an operand times their scales, row by row.
std::vector<double> scaledOperand(const Problem &problem, const std::string &name, ElementType type) {
  const std::vector<double> &stored = problem[name].values, &scales = problem[name + "_scale"].values;
  size_t depth = static_cast<size_t>(problem.size("K")), rows = scales.size() / (depth / kBlock);
  std::vector<double> values(rows * depth);
  for (size_t i = 0; i != values.size(); ++i) {
    size_t row = i / depth, k = i % depth;
    double element =
        isPacked(type) ? packedElement(stored, row * (stored.size() / rows), formatOf(type), k) : stored[i];
    auto scale = static_cast<uint8_t>(static_cast<int8_t>(scales[row * (depth / kBlock) + k / kBlock]));
    values[i] = std::ldexp(element, scale - 127);
  }
  return values;
}

/// Sums of 6-bit numbers and small integers may need more than the 24 bits of f32.
bool isExact(const Elements &types) {
  auto isSix = [](ElementType type) { return type == f6e2m3fn || type == f6e3m2fn; };
  return !isSix(types.a) && !isSix(types.b);
}

Expected scaledReference(const Problem &problem, const Elements &types) {
  std::vector<double> a = scaledOperand(problem, "a", types.a), b = scaledOperand(problem, "b", types.b);
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
  return roundedOutput(problem, std::move(values), std::move(errors), isExact(types));
}

//===- Entries ----------------------------------------------------------------------===//

std::vector<ArgumentInfo> argumentsOf(const Variant &variant, const Elements &types) {
  std::vector<ArgumentInfo> list;
  for (const char *row : {"M", "N"}) {
    std::string name = *row == 'M' ? "a" : "b";
    ElementType type = *row == 'M' ? types.a : types.b;
    if (isPacked(type))
      list.push_back({name, {row, type == f4e2m1fn ? "K/2" : "3*K/4"}, i8, false, Range{-128, 127}});
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
                    std::optional<ElementType> right = std::nullopt, int64_t columns = 64) {
  auto types = [right](const Variant &variant) { return Elements{variant.input, right.value_or(variant.input)}; };
  return {.name = name,
          .family = "gemm",
          .description = "c[M, N] = (a[M, K] * a_scale[M, K/32]) · (b[N, K] * b_scale[N, K/32])ᵀ, " + elements,
          .sizes = {{"M", 256}, {"N", 256}, {"K", 256, kBlock}},
          .tiles = {{"BLOCK_M", 64}, {"BLOCK_N", columns}, {"BLOCK_K", 128}, {"WAVES_M", 2}, {"WAVES_N", 2}},
          .variants = std::move(variants),
          .arguments = [types](const Variant &variant) { return argumentsOf(variant, types(variant)); },
          .build = [name, types](const Variant &variant) { return buildScaled(name, variant, types(variant)); },
          .reference = [types](const Problem &problem) { return scaledReference(problem, types(problem.variant)); }};
}

} // namespace

const std::vector<KernelEntry> &kernels::scaledEntries() {
  static const std::vector<KernelEntry> entries{
      entryOf("gemm_mxfp4", "elements of 4 bits", {{"f4", f4e2m1fn, f32}, {"f4-bf16", f4e2m1fn, bf16}}),
      entryOf("gemm_mxfp8", "elements of 8 bits", {{"f8e4m3fn", f8e4m3fn, f32}, {"f8e5m2", f8e5m2, f32}}),
      entryOf("gemm_mxfp8_mxfp4", "a of 8 bits, b of 4", {{"f8e4m3fn", f8e4m3fn, f32}, {"f8e5m2", f8e5m2, f32}},
              f4e2m1fn),
      // Where the chip does not convert six bits itself, they take registers.
      entryOf("gemm_mxfp6", "elements of 6 bits", {{"f6e2m3", f6e2m3fn, f32}, {"f6e3m2", f6e3m2fn, f32}}, std::nullopt,
              32),
      entryOf("gemm_mxfp6_mxfp4", "a of 6 bits, b of 4", {{"f6e2m3", f6e2m3fn, f32}, {"f6e3m2", f6e3m2fn, f32}},
              f4e2m1fn, 32),
      entryOf("gemm_mxfp8_mxfp6", "a of 8 bits, b of 6", {{"f8e4m3fn", f8e4m3fn, f32}, {"f8e5m2", f8e5m2, f32}},
              f6e2m3fn, 32)};
  return entries;
}
