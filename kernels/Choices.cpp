//===- Choices.cpp - row_topk, row_sort, histogram -------------------------------------------===//
//
// Which elements, and how many of each: an extreme after the other of a row, and counters that elements meet at.
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace soliton;
using namespace soliton::kernels;

//===- row_topk ---------------------------------------------------------------------------===//

/// The largest element that is left leaves the row, TOPK times.
static Kernel buildTopk(const Variant &variant) {
  auto [M, N, TOPK, PLACE, BM] = symbols<"M N TOPK PLACE BLOCK_M">();
  Kernel rows{"row_topk", {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  auto a = rows.memory("a", {M, N}, global, variant.input);
  auto b = rows.memory("b", {M, TOPK}, global, i32);
  auto i = IndexMapping::iterator(0);
  auto body = [&](Value left) {
    auto [value, index] = argmax(left, N);
    write(index, b,
          {.mapping =
               IndexMapping{.num_iterators = 1, .inputs = {{M, i}}, .outputs = {{M, i}, {TOPK, iteration(PLACE)}}}});
    return select(rows.self_index(N) == broadcast(index, {M, N}), -std::numeric_limits<double>::infinity(), left);
  };
  rows.iterate(PLACE, cast(read(a), f32), body, {.count = TOPK});
  return rows;
}

static Expected topkReference(const Problem &problem) {
  auto rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  auto count = static_cast<size_t>(problem.size("TOPK"));
  std::vector<double> values;
  for (size_t m = 0; m != rows; ++m) {
    const double *row = &problem["a"].values[m * columns];
    std::vector<size_t> order(columns);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, [&](size_t x, size_t y) { return row[x] != row[y] ? row[x] > row[y] : x < y; });
    for (size_t k = 0; k != count; ++k) // of a row that has nothing left, the first
      values.push_back(k < columns ? static_cast<double>(order[k]) : 0);
  }
  std::vector<double> bounds(values.size(), 0);
  return {std::move(values), std::move(bounds)};
}

//===- row_sort ---------------------------------------------------------------------------===//

static Kernel buildSort(const Variant &variant) {
  auto [M, N, BM] = symbols<"M N BLOCK_M">();
  Kernel rows{"row_sort", {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  auto a = rows.memory("a", {M, N}, global, variant.input), b = rows.memory("b", {M, N}, global, variant.output);
  write(sort(read(a), N).value, b);
  return rows;
}

static Expected sortReference(const Problem &problem) {
  auto columns = static_cast<ptrdiff_t>(problem.size("N"));
  std::vector<double> values = problem["a"].values;
  for (auto row = values.begin(); row != values.end(); row += columns)
    std::sort(row, row + columns);
  std::vector<double> bounds(values.size(), 0);
  return {std::move(values), std::move(bounds)};
}

//===- histogram --------------------------------------------------------------------------===//

static Kernel buildHistogram(const Variant &) {
  auto [M, BINS, BM] = symbols<"M BINS BLOCK_M">();
  Kernel count{"histogram", {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  auto x = count.memory("x", {M}, global, i32), bins = count.memory("bins", {BINS}, global, i32);
  // What a workgroup counts goes to its own tile first, so that few meet in the tensor.
  auto part = count.allocate("part", {BINS}, i32);
  write(count.fill({BINS}, i32, 0), part);
  IndexMapping byValue{.num_iterators = 1,
                       .inputs = {{BINS, IndexMapping::dynamic_val(0)}},
                       .outputs = {{M, IndexMapping::iterator(0)}}};
  atomic_add(count.fill({M}, i32, 1), part, {.mapping = byValue, .mapping_dynamic_vals = {read(x)}});
  atomic_add(read(part), bins);
  return count;
}

static Expected histogramReference(const Problem &problem) {
  std::vector<double> counts(static_cast<size_t>(problem.size("BINS")));
  for (double value : problem["x"].values)
    if (value < static_cast<double>(counts.size()))
      ++counts[static_cast<size_t>(value)];
  std::vector<double> bounds(counts.size(), 0);
  return {std::move(counts), std::move(bounds)};
}

//===- Entries ----------------------------------------------------------------------------===//

const std::vector<KernelEntry> &kernels::choiceEntries() {
  static const std::vector<KernelEntry> entries{
      {.name = "row_topk",
       .family = "rows",
       .description = "b[M, TOPK] = where the largest, second largest, … of a[M, N] are",
       .sizes = {{"M", 256}, {"N", 128}, {"TOPK", 4}},
       .fixedSizes = {"N"},
       .tiles = {{"BLOCK_M", 16}},
       .variants = {{"f32", f32, i32}, {"f16", f16, i32}},
       .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
         return {{"a", {"M", "N"}, v.input, false}, {"b", {"M", "TOPK"}, v.output, true}};
       },
       .build = buildTopk,
       .reference = topkReference},
      {.name = "row_sort",
       .family = "rows",
       .description = "b[M, N] = the rows of a[M, N] in ascending order",
       .sizes = {{"M", 256}, {"N", 128}},
       .fixedSizes = {"N"},
       .tiles = {{"BLOCK_M", 4}},
       .variants = {{"f32", f32, f32}, {"f16", f16, f16}, {"i32", i32, i32}},
       .arguments = [](const Variant &v) -> std::vector<ArgumentInfo> {
         return {{"a", {"M", "N"}, v.input, false}, {"b", {"M", "N"}, v.output, true}};
       },
       .build = buildSort,
       .reference = sortReference},
      {.name = "histogram",
       .family = "rows",
       .description = "bins[BINS] += how often each number is in x[M]",
       .sizes = {{"M", 65536}, {"BINS", 64}},
       .fixedSizes = {"BINS"},
       .tiles = {{"BLOCK_M", 1024}},
       .variants = {{"i32", i32, i32}},
       .arguments = [](const Variant &) -> std::vector<ArgumentInfo> {
         return {{.name = "x", .dims = {"M"}, .type = i32, .upTo = "BINS"},
                 {.name = "bins", .dims = {"BINS"}, .type = i32, .isOutput = true, .startsAtZero = true}};
       },
       .build = buildHistogram,
       .reference = histogramReference}};
  return entries;
}
