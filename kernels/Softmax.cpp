//===- Softmax.cpp - row_softmax, log_softmax -----------------------------------------===//
//
// One pass finds each row's maximum and the sum of the exponentials below it, rescaling the sum whenever the maximum
// grows (Milakov, Gimelshein 2018); a second pass divides by the sum, or subtracts its logarithm:
//
//   row_softmax   exp(a - largest) / total          log_softmax   a - largest - log(total)
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"

#include <cmath>
#include <limits>

using namespace soliton;
using namespace soliton::kernels;

namespace {

Kernel buildSoftmax(const std::string &name, bool isLogarithm, const Variant &variant) {
  auto [M, N] = symbols<"M N">();
  Kernel rows{name, rowsInLoops()};
  auto a = rows.memory("a", {M, N}, global, variant.input);
  auto b = rows.memory("b", {M, N}, global, variant.output);
  Value lowest = rows.fill({M}, f32, -std::numeric_limits<double>::infinity());
  Value none = rows.fill({M}, f32, 0.0);
  auto [largest, total] = rows.iterate(N, {lowest, none}, [&](Value before, Value acc) {
    Value x = cast(read(a), f32);
    Value now = max(x, before, N);
    return std::tuple{now, sum(exp(x - now), acc * exp(before - now), N)};
  });
  // One division a row; a product is a fraction of one for each element.
  Value share = isLogarithm ? log(total) : reciprocal(total);
  rows.iterate(N, [&] {
    Value below = cast(read(a), f32) - largest;
    write(isLogarithm ? below - share : exp(below) * share, b);
  });
  return rows;
}

//===- Reference --------------------------------------------------------------------===//

/// What the second pass needs of a row, and how many roundoffs its sum may be off: the argument of an exponential is
/// off by a roundoff of its size, the exponential by a few more, the sum by one per addition (twice that for the
/// rescaling).
struct RowFacts {
  double largest, total, roundoffs;
};

RowFacts factsOf(const double *row, size_t columns) {
  double largest = row[0], smallest = row[0], total = 0;
  for (size_t n = 0; n != columns; ++n) {
    largest = std::max(largest, row[n]);
    smallest = std::min(smallest, row[n]);
  }
  for (size_t n = 0; n != columns; ++n)
    total += std::exp(row[n] - largest);
  return {largest, total, 2 * (static_cast<double>(columns) + 2 * (largest - smallest) + 16)};
}

Expected softmaxReference(bool isLogarithm, const Problem &problem) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  const std::vector<double> &a = problem["a"].values;
  std::vector<double> values(a.size()), errors(a.size());
  for (size_t m = 0; m != rows; ++m) {
    RowFacts row = factsOf(&a[m * columns], columns);
    double logarithm = std::log(row.total);
    for (size_t i = m * columns; i != (m + 1) * columns; ++i) {
      double below = a[i] - row.largest;
      values[i] = isLogarithm ? below - logarithm : std::exp(below) / row.total;
      // A relative error of the sum is an absolute one of its logarithm; the quotient is off by a few roundoffs more.
      errors[i] = isLogarithm ? kF32Roundoff * (row.roundoffs + 8 * (std::abs(values[i]) + logarithm))
                              : kF32Roundoff * row.roundoffs * values[i] + 0x1p-126;
    }
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/false);
}

KernelEntry softmaxEntry(const std::string &name, const std::string &description, bool isLogarithm) {
  return {.name = name,
          .family = "rows",
          .description = description,
          .sizes = {{"M", 256}, {"N", 1024}},
          .tiles = rowTiles(),
          .variants = {{"f32", f32, f32}, {"f16", f16, f16}, {"bf16", bf16, bf16}},
          .arguments = [](const Variant &variant) -> std::vector<ArgumentInfo> {
            return {{"a", {"M", "N"}, variant.input}, {"b", {"M", "N"}, variant.output, true}};
          },
          .build = [name, isLogarithm](const Variant &variant) { return buildSoftmax(name, isLogarithm, variant); },
          .reference = [isLogarithm](const Problem &problem) { return softmaxReference(isLogarithm, problem); }};
}

} // namespace

const std::vector<KernelEntry> &kernels::softmaxEntries() {
  static const std::vector<KernelEntry> entries{
      softmaxEntry("row_softmax", "b[M, N] = exp(a - max) / sum(exp(a - max)), along N", false),
      softmaxEntry("log_softmax", "b[M, N] = a - max - log(sum(exp(a - max))), along N", true)};
  return entries;
}
