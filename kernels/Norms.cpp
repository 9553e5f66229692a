//===- Norms.cpp - layer_norm, rms_norm ----------------------------------------------------===//
//
// BLOCK_M rows a workgroup; loops walk their columns, once for each statistic and once to write. Columns beyond the
// last one are skipped by the sums, whatever the formula makes of them.
//
//===----------------------------------------------------------------------===//
#include "kernels/Norms.h"
#include "kernels/Entries.h"

#include <cmath>

using namespace soliton;
using namespace soliton::kernels;

namespace {

//===- layer_norm, rms_norm -----------------------------------------------------------===//

Kernel buildNorm(const std::string &name, bool centred, const Variant &variant) {
  auto [M, N] = symbols<"M N">();
  Kernel rows{name, rowsInLoops()};
  auto a = rows.memory("a", {M, N}, global, variant.input), weight = rows.memory("weight", {N}, global, variant.input);
  MemoryRef shift = centred ? rows.memory("shift", {N}, global, variant.input) : MemoryRef();
  Value epsilon = rows.scalar("epsilon", f32);
  auto b = rows.memory("b", {M, N}, global, variant.output);
  Value none = rows.fill({M}, f32, 0.0), share = oneOverColumns(rows);
  Value mean = none;
  if (centred)
    mean = rows.iterate(N, none, [&](Value acc) { return sum(cast(read(a), f32), acc, N); }) * share;
  auto distance = [&] { return centred ? cast(read(a), f32) - mean : cast(read(a), f32); };
  auto square = [&](Value acc) {
    Value x = distance();
    return sum(x * x, acc, N);
  };
  Value factor = rsqrt(rows.iterate(N, none, square) * share + epsilon);
  rows.iterate(N, [&] {
    Value x = distance() * factor * cast(read(weight), f32);
    write(centred ? x + cast(read(shift), f32) : x, b);
  });
  return rows;
}

Expected normReference(bool centred, const Problem &problem) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  const std::vector<double> &a = problem["a"].values;
  std::vector<double> values(a.size()), errors(a.size());
  for (size_t m = 0; m != rows; ++m) {
    RowStatistics row(&a[m * columns], columns, problem["epsilon"].values[0], centred);
    for (size_t n = 0; n != columns; ++n) {
      double x = a[m * columns + n] - row.mean, weight = problem["weight"].values[n];
      double scaled = x * row.factor * weight, shift = centred ? problem["shift"].values[n] : 0;
      values[m * columns + n] = scaled + shift;
      errors[m * columns + n] =
          std::abs(weight) * row.normalError(x) + 4 * kF32Roundoff * (std::abs(scaled) + std::abs(shift)) + 0x1p-126;
    }
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/false);
}

KernelEntry normEntry(std::string name, std::string description, bool centred) {
  return {.name = name,
          .family = "rows",
          .description = std::move(description),
          .sizes = {{"M", 256}, {"N", 1024}},
          .tiles = rowTiles(),
          .variants = {{"f32", f32, f32}, {"f16", f16, f16}, {"bf16", bf16, bf16}},
          .arguments = [centred](const Variant &variant) -> std::vector<ArgumentInfo> {
            std::vector<ArgumentInfo> list{{"a", {"M", "N"}, variant.input}, {"weight", {"N"}, variant.input}};
            if (centred)
              list.push_back({"shift", {"N"}, variant.input});
            list.push_back({"epsilon", {}, f32, false, Range{1e-4, 1e-2}});
            list.push_back({"b", {"M", "N"}, variant.output, true});
            return list;
          },
          .build = [name, centred](const Variant &variant) { return buildNorm(name, centred, variant); },
          .reference = [centred](const Problem &problem) { return normReference(centred, problem); }};
}

} // namespace

const std::vector<KernelEntry> &kernels::normEntries() {
  static const std::vector<KernelEntry> entries{
      normEntry("layer_norm", "b[M, N] = (a - mean) / sqrt(variance + epsilon) * weight[N] + shift[N], along N", true),
      normEntry("rms_norm", "b[M, N] = a / sqrt(mean(a²) + epsilon) * weight[N], along N", false)};
  return entries;
}

//===- For both directions --------------------------------------------------------------===//

Value kernels::oneOverColumns(Kernel &kernel) {
  auto [M, N] = symbols<"M N">();
  Value columns = apply_expr(kernel.fill({M}, i32, 0), [N](Expr) { return N; });
  return reciprocal(cast(columns, f32));
}

RowStatistics::RowStatistics(const double *row, size_t columns, double epsilon, bool centred) : centred(centred) {
  constexpr double u = kF32Roundoff;
  double count = static_cast<double>(columns), magnitude = 0, variance = 0, varianceError = 0;
  for (size_t n = 0; n != columns && centred; ++n) {
    mean += row[n] / count;
    magnitude += std::abs(row[n]) / count;
  }
  // The sum is off by the usual bound, its product with 1 / N by three more roundoffs.
  meanError = (2 * count + 4) * u * magnitude;
  for (size_t n = 0; n != columns; ++n) {
    double x = row[n] - mean, error = distanceError(x);
    variance += x * x / count;
    varianceError += (2 * std::abs(x) + error) * error / count;
  }
  varianceError += (2 * count + 8) * u * (variance + varianceError);
  factor = 1 / std::sqrt(variance + epsilon);
  factorError = factor * (varianceError / (2 * (variance + epsilon)) + 8 * u);
}

double RowStatistics::distanceError(double distance) const {
  return centred ? meanError + kF32Roundoff * std::abs(distance) : 0;
}

double RowStatistics::normalError(double distance) const {
  return distanceError(distance) * (factor + factorError) + std::abs(distance) * factorError;
}
