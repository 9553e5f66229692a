//===- NormsBackward.cpp - layer_norm_backward, rms_norm_backward, …_weights ---------------------===//
//
// The slopes of norms. With db the slope of b, x = (a - mean) · factor a row's normal form and g = db · weight:
//
//   da = (g - mean(g) - x · mean(g · x)) · factor                along N, without mean(g) for `rms_norm`
//   dweight = sum(db · x),   dshift = sum(db)                    along M
//
// The first kernel also writes the mean and the factor of each row, which the second reads.
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"
#include "kernels/Norms.h"

#include <cmath>

using namespace soliton;
using namespace soliton::kernels;

namespace {

//===- The kernels ----------------------------------------------------------------------===//

Kernel buildRows(const std::string &name, bool centred, const Variant &variant) {
  auto [M, N] = symbols<"M N">();
  Kernel rows{name, rowsInLoops()};
  auto a = rows.memory("a", {M, N}, global, variant.input), weight = rows.memory("weight", {N}, global, variant.input);
  auto db = rows.memory("db", {M, N}, global, variant.input);
  Value epsilon = rows.scalar("epsilon", f32);
  auto da = rows.memory("da", {M, N}, global, variant.output);
  MemoryRef means = centred ? rows.memory("mean", {M}, global, f32) : MemoryRef();
  auto factors = rows.memory("factor", {M}, global, f32);

  Value none = rows.fill({M}, f32, 0.0), share = oneOverColumns(rows), mean = none;
  if (centred)
    mean = rows.iterate(N, none, [&](Value acc) { return sum(cast(read(a), f32), acc, N); }) * share;
  auto distance = [&] { return centred ? cast(read(a), f32) - mean : cast(read(a), f32); };
  auto square = [&](Value acc) {
    Value x = distance();
    return sum(x * x, acc, N);
  };
  Value factor = rsqrt(rows.iterate(N, none, square) * share + epsilon);
  auto slope = [&] { return cast(read(db), f32) * cast(read(weight), f32); };
  auto [total, along] = rows.iterate(N, {none, none}, [&](Value slopes, Value products) {
    Value g = slope();
    return std::tuple{sum(g, slopes, N), sum(g * (distance() * factor), products, N)};
  });
  rows.iterate(N, [&] {
    Value rest = slope() - distance() * factor * (along * share);
    write((centred ? rest - total * share : rest) * factor, da);
  });
  if (centred)
    write(mean, means);
  write(factor, factors);
  return rows;
}

Kernel buildColumns(const std::string &name, bool centred, const Variant &variant) {
  auto [M, N, BM, BN, WM, WN] = symbols<"M N BLOCK_M BLOCK_N WAVES_M WAVES_N">();
  Kernel columns{name,
                 {WorkgroupConstraint(N, BN, 0), TilingConstraint(M, BM), WaveConstraint(N, BN / WN),
                  WaveConstraint(M, BM / WM), HardwareConstraint{}}};
  auto a = columns.memory("a", {M, N}, global, variant.input), db = columns.memory("db", {M, N}, global, variant.input);
  MemoryRef means = centred ? columns.memory("mean", {M}, global, f32) : MemoryRef();
  auto factors = columns.memory("factor", {M}, global, f32);
  auto dweight = columns.memory("dweight", {N}, global, variant.output);
  MemoryRef dshift = centred ? columns.memory("dshift", {N}, global, variant.output) : MemoryRef();

  Value none = columns.fill({N}, f32, 0.0);
  auto [ofWeight, ofShift] = columns.iterate(M, {none, none}, [&](Value products, Value slopes) {
    Value x = cast(read(a), f32), slope = cast(read(db), f32);
    Value normal = (centred ? x - read(means) : x) * read(factors);
    return std::tuple{sum(slope * normal, products, M), sum(slope, slopes, M)};
  });
  write(ofWeight, dweight);
  if (centred)
    write(ofShift, dshift);
  return columns;
}

//===- References -----------------------------------------------------------------------===//

/// Values and how far off an implementation may be.
struct Bounded {
  explicit Bounded(size_t count) : values(count), errors(count) {}
  Expected rounded(const Problem &problem, const char *name, bool exact = false) {
    return roundedOutput(problem, name, std::move(values), std::move(errors), exact);
  }
  std::vector<double> values, errors;
};

/// A row of da, given its statistics.
void slopesOfRow(const Problem &problem, size_t m, const RowStatistics &row, Bounded &slopes) {
  size_t columns = static_cast<size_t>(problem.size("N"));
  const double *a = &problem["a"].values[m * columns], *db = &problem["db"].values[m * columns];
  constexpr double u = kF32Roundoff;
  double count = static_cast<double>(columns), sums = (2 * count + 8) * u;
  double total = 0, totalError = 0, along = 0, alongError = 0;
  for (size_t n = 0; n != columns; ++n) {
    double g = db[n] * problem["weight"].values[n] / count, x = (a[n] - row.mean) * row.factor;
    double error = row.normalError(a[n] - row.mean);
    total += g;
    totalError += sums * std::abs(g);
    along += g * x;
    alongError += std::abs(g) * (error + sums * (std::abs(x) + error));
  }
  for (size_t n = 0; n != columns; ++n) {
    double g = db[n] * problem["weight"].values[n], x = (a[n] - row.mean) * row.factor;
    double error = row.normalError(a[n] - row.mean), mean = row.centred ? total : 0;
    double rest = g - mean - x * along, terms = std::abs(g) + std::abs(mean) + std::abs(x * along);
    double restError = error * (std::abs(along) + alongError) + std::abs(x) * alongError +
                       (row.centred ? totalError : 0) + 8 * u * terms;
    slopes.values[m * columns + n] = rest * row.factor;
    slopes.errors[m * columns + n] =
        restError * (row.factor + row.factorError) + std::abs(rest) * (row.factorError + 2 * u * row.factor) + 0x1p-126;
  }
}

Expected rowsReference(bool centred, const Problem &problem) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  Bounded slopes(rows * columns), means(rows), factors(rows);
  for (size_t m = 0; m != rows; ++m) {
    RowStatistics row(&problem["a"].values[m * columns], columns, problem["epsilon"].values[0], centred);
    slopesOfRow(problem, m, row, slopes);
    means.values[m] = row.mean;
    means.errors[m] = row.meanError;
    factors.values[m] = row.factor;
    factors.errors[m] = row.factorError;
  }
  Expected expected = slopes.rounded(problem, "da");
  if (centred)
    expected.more.push_back(means.rounded(problem, "mean"));
  expected.more.push_back(factors.rounded(problem, "factor"));
  return expected;
}

Expected columnsReference(bool centred, const Problem &problem) {
  size_t rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  Bounded weights(columns), shifts(columns);
  double sums = (2 * static_cast<double>(rows) + 8) * kF32Roundoff;
  for (size_t m = 0; m != rows; ++m)
    for (size_t n = 0; n != columns; ++n) {
      double mean = centred ? problem["mean"].values[m] : 0, slope = problem["db"].values[m * columns + n];
      double product = slope * (problem["a"].values[m * columns + n] - mean) * problem["factor"].values[m];
      weights.values[n] += product;
      weights.errors[n] += sums * std::abs(product);
      shifts.values[n] += slope;
      shifts.errors[n] += sums * std::abs(slope);
    }
  Expected expected = weights.rounded(problem, "dweight");
  if (centred)
    expected.more = {shifts.rounded(problem, "dshift", /*exact=*/true)};
  return expected;
}

//===- Entries --------------------------------------------------------------------------===//

std::vector<ArgumentInfo> rowArguments(bool centred, const Variant &variant) {
  std::vector<ArgumentInfo> list{{"a", {"M", "N"}, variant.input},
                                 {"weight", {"N"}, variant.input},
                                 {"db", {"M", "N"}, variant.input},
                                 {"epsilon", {}, f32, false, Range{1e-4, 1e-2}},
                                 {"da", {"M", "N"}, variant.output, true}};
  if (centred)
    list.push_back({"mean", {"M"}, f32, true});
  list.push_back({"factor", {"M"}, f32, true});
  return list;
}

std::vector<ArgumentInfo> columnArguments(bool centred, const Variant &variant) {
  std::vector<ArgumentInfo> list{{"a", {"M", "N"}, variant.input}, {"db", {"M", "N"}, variant.input}};
  if (centred)
    list.push_back({"mean", {"M"}, f32});
  list.push_back({"factor", {"M"}, f32, false, Range{0.5, 2}});
  list.push_back({"dweight", {"N"}, variant.output, true});
  if (centred)
    list.push_back({"dshift", {"N"}, variant.output, true});
  return list;
}

/// Of weights four waves share the columns.
std::vector<DefaultSize> tilesOf(bool ofWeights) {
  std::vector<DefaultSize> tiles = rowTiles();
  if (ofWeights)
    std::swap(tiles[2].value, tiles[3].value);
  return tiles;
}

KernelEntry entryOf(std::string name, std::string description, bool centred, bool ofWeights) {
  return {.name = name,
          .family = "rows",
          .description = std::move(description),
          .sizes = {{"M", 256}, {"N", 1024}},
          .tiles = tilesOf(ofWeights),
          .variants = {{"f32", f32, f32}, {"f16", f16, f16}, {"bf16", bf16, bf16}},
          .arguments =
              [=](const Variant &variant) {
                return ofWeights ? columnArguments(centred, variant) : rowArguments(centred, variant);
              },
          .build =
              [=](const Variant &variant) {
                return ofWeights ? buildColumns(name, centred, variant) : buildRows(name, centred, variant);
              },
          .reference =
              [=](const Problem &problem) {
                return ofWeights ? columnsReference(centred, problem) : rowsReference(centred, problem);
              }};
}

} // namespace

const std::vector<KernelEntry> &kernels::normBackwardEntries() {
  static const std::vector<KernelEntry> entries{
      entryOf("layer_norm_backward", "da from db, the slope of b; mean[M] and factor[M] = 1 / sqrt(variance + epsilon)",
              true, false),
      entryOf("layer_norm_backward_weights", "dweight[N] and dshift[N] from db, mean and factor", true, true),
      entryOf("rms_norm_backward", "da from db, the slope of b; factor[M] = 1 / sqrt(mean(a²) + epsilon)", false,
              false),
      entryOf("rms_norm_backward_weights", "dweight[N] from db and factor", false, true)};
  return entries;
}
