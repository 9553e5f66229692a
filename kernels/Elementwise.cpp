//===- Elementwise.cpp - copy, transpose, axpy, gelu ---------------------------===//
#include "kernels/Entries.h"

#include <cmath>

using namespace soliton;
using namespace soliton::kernels;

/// Tiles of BLOCK_M × BLOCK_N, four waves one above the other.
static std::vector<Constraint> rowsAndColumns() {
  auto [M, N, BM, BN] = symbols<"M N BLOCK_M BLOCK_N">();
  return {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), WaveConstraint(M, BM / 4),
          HardwareConstraint{}};
}

/// The value as f32, in which float kernels compute.
static Value widened(Value value) {
  return cast(value, f32);
}

//===- copy -------------------------------------------------------------------------===//

static Kernel buildCopy(const Variant &variant) {
  auto [M, N] = symbols<"M N">();
  Kernel copy{"copy", rowsAndColumns()};
  auto a = copy.memory("a", {M, N}, global, variant.input);
  auto b = copy.memory("b", {M, N}, global, variant.output);
  write(read(a, {.tag = "load"}), b, {.tag = "store"});
  return copy;
}

static Expected copyReference(const Problem &problem) {
  const std::vector<double> &a = problem["a"].values;
  return {a, std::vector<double>(a.size(), 0.0)};
}

const KernelEntry &kernels::copyEntry() {
  static const KernelEntry entry{.name = "copy",
                                 .family = "elementwise",
                                 .description = "b[M, N] = a[M, N]",
                                 .sizes = {{"M", 256}, {"N", 256}},
                                 .tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}},
                                 .variants = {{"f32", f32, f32},
                                              {"f16", f16, f16},
                                              {"bf16", bf16, bf16},
                                              {"f64", f64, f64},
                                              {"i8", i8, i8},
                                              {"i32", i32, i32}},
                                 .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
                                   return {{"a", {"M", "N"}, v.input, false}, {"b", {"M", "N"}, v.output, true}};
                                 },
                                 .build = buildCopy,
                                 .reference = copyReference};
  return entry;
}

//===- transpose --------------------------------------------------------------------===//

static Kernel buildTranspose(const Variant &variant) {
  auto [M, N] = symbols<"M N">();
  Kernel transpose{"transpose", rowsAndColumns()};
  auto a = transpose.memory("a", {M, N}, global, variant.input);
  auto b = transpose.memory("b", {N, M}, global, variant.output);
  write(permute(read(a, {.tag = "load"}), {N, M}), b, {.tag = "store"});
  return transpose;
}

static Expected transposeReference(const Problem &problem) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  const std::vector<double> &a = problem["a"].values;
  std::vector<double> b(a.size());
  for (size_t m = 0; m != rows; ++m)
    for (size_t n = 0; n != columns; ++n)
      b[n * rows + m] = a[m * columns + n];
  return {std::move(b), std::vector<double>(a.size(), 0.0)};
}

const KernelEntry &kernels::transposeEntry() {
  static const KernelEntry entry{
      .name = "transpose",
      .family = "elementwise",
      .description = "b[N, M] = a[M, N]",
      .sizes = {{"M", 256}, {"N", 256}},
      .tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}},
      .variants = {{"f32", f32, f32}, {"f16", f16, f16}, {"bf16", bf16, bf16}, {"i8", i8, i8}, {"i32", i32, i32}},
      .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
        return {{"a", {"M", "N"}, v.input, false}, {"b", {"N", "M"}, v.output, true}};
      },
      .build = buildTranspose,
      .reference = transposeReference};
  return entry;
}

//===- axpy -------------------------------------------------------------------------===//

static Kernel buildAxpy(const Variant &variant) {
  auto [M, BM] = symbols<"M BLOCK_M">();
  Kernel axpy{"axpy", {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  Value alpha = axpy.scalar("alpha", f32);
  auto x = axpy.memory("x", {M}, global, variant.input), y = axpy.memory("y", {M}, global, variant.input);
  auto z = axpy.memory("z", {M}, global, variant.output);
  write(alpha * widened(read(x)) + widened(read(y)), z);
  return axpy;
}

static Expected axpyReference(const Problem &problem) {
  double alpha = problem["alpha"].values[0];
  const std::vector<double> &x = problem["x"].values, &y = problem["y"].values;
  std::vector<double> values(x.size()), errors(x.size());
  for (size_t i = 0; i != x.size(); ++i) {
    values[i] = alpha * x[i] + y[i];
    // Two roundings, or one where the multiplication is fused with the addition.
    errors[i] = kF32Roundoff * (std::abs(alpha * x[i]) + std::abs(values[i])) * (1 + kF32Roundoff);
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/true);
}

const KernelEntry &kernels::axpyEntry() {
  static const KernelEntry entry{.name = "axpy",
                                 .family = "elementwise",
                                 .description = "z[M] = alpha * x[M] + y[M]",
                                 .sizes = {{"M", 65536}},
                                 .tiles = {{"BLOCK_M", 1024}},
                                 .variants = {{"f32", f32, f32}, {"f16", f16, f16}, {"bf16", bf16, bf16}},
                                 .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
                                   return {{"alpha", {}, f32, false},
                                           {"x", {"M"}, v.input, false},
                                           {"y", {"M"}, v.input, false},
                                           {"z", {"M"}, v.output, true}};
                                 },
                                 .build = buildAxpy,
                                 .reference = axpyReference};
  return entry;
}

//===- gelu -------------------------------------------------------------------------===//

static Kernel buildGelu(const Variant &variant) {
  auto [M, N] = symbols<"M N">();
  Kernel gelu{"gelu", rowsAndColumns()};
  auto a = gelu.memory("a", {M, N}, global, variant.input), b = gelu.memory("b", {M, N}, global, variant.output);
  Value x = widened(read(a));
  write(0.5 * x * (1.0 + erf(x * std::sqrt(0.5))), b);
  return gelu;
}

static Expected geluReference(const Problem &problem) {
  const std::vector<double> &a = problem["a"].values;
  std::vector<double> values(a.size()), errors(a.size());
  for (size_t i = 0; i != a.size(); ++i) {
    values[i] = 0.5 * a[i] * std::erfc(-a[i] * std::sqrt(0.5));
    // An erf within 4 ulp of numbers up to 1, one more rounding of its argument, of the sum and of each product: the
    // sum is off by at most 8 roundoffs whatever cancels, and x/2 scales that.
    errors[i] = 8 * kF32Roundoff * std::abs(a[i]) + 0x1p-126;
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/false);
}

const KernelEntry &kernels::geluEntry() {
  static const KernelEntry entry{.name = "gelu",
                                 .family = "elementwise",
                                 .description = "b[M, N] = a * (1 + erf(a / sqrt(2))) / 2",
                                 .sizes = {{"M", 256}, {"N", 256}},
                                 .tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}},
                                 .variants = {{"f32", f32, f32}, {"f16", f16, f16}, {"bf16", bf16, bf16}},
                                 .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
                                   return {{"a", {"M", "N"}, v.input, false}, {"b", {"M", "N"}, v.output, true}};
                                 },
                                 .build = buildGelu,
                                 .reference = geluReference};
  return entry;
}
