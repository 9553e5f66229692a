//===- Rows.cpp - row_sum, row_cumsum, row_argmax -------------------------------===//
#include "kernels/Entries.h"

#include <cmath>
#include <limits>

using namespace soliton;
using namespace soliton::kernels;

std::vector<Constraint> kernels::rowsInLoops() {
  auto [M, N, BM, BN, WM, WN] = symbols<"M N BLOCK_M BLOCK_N WAVES_M WAVES_N">();
  return {WorkgroupConstraint(M, BM, 0), TilingConstraint(N, BN), WaveConstraint(M, BM / WM),
          WaveConstraint(N, BN / WN), HardwareConstraint{}};
}

std::vector<DefaultSize> kernels::rowTiles() {
  return {{"BLOCK_M", 16}, {"BLOCK_N", 256}, {"WAVES_M", 4}, {"WAVES_N", 1}};
}

//===- row_sum ------------------------------------------------------------------------===//

static Kernel buildRowSum(const Variant &variant) {
  auto [M, N] = symbols<"M N">();
  Kernel rows{"row_sum", rowsInLoops()};
  auto a = rows.memory("a", {M, N}, global, variant.input);
  auto b = rows.memory("b", {M}, global, variant.output);
  Value total = rows.iterate(N, rows.fill({M}, variant.output, 0),
                             [&](Value acc) { return sum(cast(read(a), variant.output), acc, N); });
  write(total, b);
  return rows;
}

static Expected rowSumReference(const Problem &problem) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  const std::vector<double> &a = problem["a"].values;
  std::vector<double> values(rows), errors(rows);
  for (size_t m = 0; m != rows; ++m) {
    double magnitude = 0;
    for (size_t n = 0; n != columns; ++n) {
      values[m] += a[m * columns + n];
      magnitude += std::abs(a[m * columns + n]);
    }
    errors[m] = 2 * static_cast<double>(columns) * kF32Roundoff * magnitude;
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/true);
}

const KernelEntry &kernels::rowSumEntry() {
  static const KernelEntry entry{
      .name = "row_sum",
      .family = "rows",
      .description = "b[M] = the sum over N of a[M, N]",
      .sizes = {{"M", 256}, {"N", 1024}},
      .tiles = rowTiles(),
      .variants = {{"f32", f32, f32}, {"f16", f16, f32}, {"bf16", bf16, f32}, {"i32", i32, i32}},
      .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
        return {{"a", {"M", "N"}, v.input, false}, {"b", {"M"}, v.output, true}};
      },
      .build = buildRowSum,
      .reference = rowSumReference};
  return entry;
}

//===- row_cumsum ---------------------------------------------------------------------===//

static Kernel buildRowCumsum(const Variant &variant) {
  auto [M, N] = symbols<"M N">();
  Kernel rows{"row_cumsum", rowsInLoops()};
  auto a = rows.memory("a", {M, N}, global, variant.input);
  auto b = rows.memory("b", {M, N}, global, variant.output);
  rows.iterate(N, rows.fill({M}, variant.output, 0), [&](Value before) {
    Value x = cast(read(a), variant.output);
    write(cumsum(x, before, N), b);
    return sum(x, before, N);
  });
  return rows;
}

static Expected rowCumsumReference(const Problem &problem) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  const std::vector<double> &a = problem["a"].values;
  std::vector<double> values(a.size()), errors(a.size());
  for (size_t m = 0; m != rows; ++m) {
    double total = 0, magnitude = 0;
    for (size_t i = m * columns; i != (m + 1) * columns; ++i) {
      values[i] = total += a[i];
      magnitude += std::abs(a[i]);
      errors[i] = 2 * static_cast<double>(columns) * kF32Roundoff * magnitude;
    }
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/true);
}

const KernelEntry &kernels::rowCumsumEntry() {
  static const KernelEntry entry{
      .name = "row_cumsum",
      .family = "rows",
      .description = "b[M, N] = the sum of a[M, 0] to a[M, N]",
      .sizes = {{"M", 256}, {"N", 1024}},
      .tiles = rowTiles(),
      .variants = {{"f32", f32, f32}, {"f16", f16, f32}, {"bf16", bf16, f32}, {"i32", i32, i32}},
      .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
        return {{"a", {"M", "N"}, v.input, false}, {"b", {"M", "N"}, v.output, true}};
      },
      .build = buildRowCumsum,
      .reference = rowCumsumReference};
  return entry;
}

//===- row_argmax ---------------------------------------------------------------------===//

static Kernel buildRowArgmax(const Variant &variant) {
  auto [M, N] = symbols<"M N">();
  Kernel rows{"row_argmax", rowsInLoops()};
  auto a = rows.memory("a", {M, N}, global, variant.input);
  auto b = rows.memory("b", {M}, global, variant.output);
  Value lowest = rows.fill({M}, f32, -std::numeric_limits<double>::infinity());
  Value nowhere = rows.fill({M}, i32, std::numeric_limits<int32_t>::max());
  auto [value, index] = rows.iterate(N, {lowest, nowhere}, [&](Value largest, Value where) {
    Extreme found = argmax(cast(read(a), f32), {largest, where}, N);
    return std::tuple{found.value, found.index};
  });
  write(index, b);
  return rows;
}

static Expected rowArgmaxReference(const Problem &problem) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  const std::vector<double> &a = problem["a"].values;
  std::vector<double> values(rows);
  for (size_t m = 0; m != rows; ++m)
    for (size_t n = 1; n != columns; ++n)
      if (a[m * columns + n] > a[m * columns + static_cast<size_t>(values[m])])
        values[m] = static_cast<double>(n);
  return {std::move(values), std::vector<double>(rows)};
}

const KernelEntry &kernels::rowArgmaxEntry() {
  static const KernelEntry entry{.name = "row_argmax",
                                 .family = "rows",
                                 .description = "b[M] = where the largest of a[M, N] first is, along N",
                                 .sizes = {{"M", 256}, {"N", 1024}},
                                 .tiles = rowTiles(),
                                 .variants = {{"f32", f32, i32}, {"f16", f16, i32}, {"bf16", bf16, i32}},
                                 .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
                                   return {{"a", {"M", "N"}, v.input, false}, {"b", {"M"}, v.output, true}};
                                 },
                                 .build = buildRowArgmax,
                                 .reference = rowArgmaxReference};
  return entry;
}
