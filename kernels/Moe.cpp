//===- Moe.cpp - A layer of a mixture of experts ----------------------------------------------===//
//
// Every token goes to TOPK of E experts, each of which is a matrix. A *slot* is a token's place at one of its experts:
// slot m is of token m / TOPK.
//
//   moe_route         which experts a token goes to, and how much each counts
//   moe_sort          slots in the order of their experts, and where each expert's begin
//   moe_gemm_gather   rows of tokens, taken in that order, times the matrices of their experts
//   moe_gemm_scatter  rows in that order times matrices, added to their tokens' rows by how much they count
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace soliton;
using namespace soliton::kernels;

namespace {

//===- moe_route --------------------------------------------------------------------------===//

/// The most likely expert that is left leaves the row, TOPK times.
Kernel buildRoute(const Variant &variant) {
  auto [T, E, TOPK, PLACE, BT] = symbols<"T E TOPK PLACE BLOCK_T">();
  Kernel route{"moe_route", {WorkgroupConstraint(T, BT, 0), WaveConstraint(T, BT / 4), HardwareConstraint{}}};
  auto logits = route.memory("logits", {T, E}, global, variant.input);
  auto experts = route.memory("experts", {T, TOPK}, global, i32);
  auto weights = route.memory("weights", {T, TOPK}, global, f32);
  Value scores = cast(read(logits), f32), largest = max(scores, E), total = sum(exp(scores - largest), E);
  std::vector<Expr> tile{T};
  IndexMapping next = mappingOf(tile, {{T, placeIn(tile, T)}, {TOPK, iteration(PLACE)}}, /*isWrite=*/true);
  auto body = [&](Value left) {
    auto [score, expert] = argmax(left, E);
    write(expert, experts, {.mapping = next, .tag = "write_expert"});
    write(exp(score - largest) / total, weights, {.mapping = next, .tag = "write_weight"});
    return select(route.self_index(E) == broadcast(expert, {T, E}), -std::numeric_limits<double>::infinity(), left);
  };
  route.iterate(PLACE, scores, body, {.tag = "place_loop", .count = TOPK});
  return route;
}

Expected routeReference(const Problem &problem) {
  auto count = static_cast<size_t>(problem.size("E")), places = static_cast<size_t>(problem.size("TOPK"));
  std::vector<double> experts, weights, errors;
  for (size_t t = 0; t != static_cast<size_t>(problem.size("T")); ++t) {
    const double *row = &problem["logits"].values[t * count];
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, [&](size_t x, size_t y) { return row[x] != row[y] ? row[x] > row[y] : x < y; });
    double total = 0;
    for (size_t e = 0; e != count; ++e)
      total += std::exp(row[e] - row[order[0]]);
    for (size_t k = 0; k != places; ++k) { // of a row that has nothing left, the first, which counts nothing
      double weight = k < count ? std::exp(row[order[k]] - row[order[0]]) / total : 0;
      experts.push_back(k < count ? static_cast<double>(order[k]) : 0);
      weights.push_back(weight);
      // Exponentials of differences that are off by half a unit, and a sum of them.
      double spread = std::abs(row[order[0]]) + std::abs(row[order[count - 1]]);
      errors.push_back(weight * kF32Roundoff * (4 * spread + 2 * static_cast<double>(count) + 16) + 0x1p-126);
    }
  }
  Expected expected{std::move(experts), std::vector<double>(weights.size())};
  expected.more = {roundedOutput(problem, "weights", std::move(weights), std::move(errors), /*exact=*/false)};
  return expected;
}

//===- moe_sort ---------------------------------------------------------------------------===//

/// One workgroup counts the slots of each expert, and then gives each slot the next place of its expert.
Kernel buildSort(const Variant &) {
  auto [M, E, BM] = symbols<"M E BLOCK_M">();
  Expr share = sym::ceildiv(E, 4);
  Kernel sort{"moe_sort",
              {WorkgroupConstraint(E, 4 * share, 0, {.iters = 1}), WaveConstraint(E, share), TilingConstraint(M, BM),
               HardwareConstraint{}}};
  auto experts = sort.memory("experts", {M}, global, i32);
  auto starts = sort.memory("starts", {E + 1}, global, i32), order = sort.memory("order", {M}, global, i32);
  // 1 where a slot is of an expert.
  auto members = [&] {
    Value isMember = broadcast(read(experts), {E, M}) == broadcast(sort.self_index(E), {E, M});
    return select(isMember, sort.fill({E, M}, i32, 1), 0);
  };
  Value none = sort.fill({E}, i32, 0);
  Value counts = sort.iterate(M, none, [&](Value acc) { return sum(members(), acc, M); }, {.tag = "count_loop"});
  Value ends = cumsum(counts, E), begins = ends - counts;
  std::vector<Expr> byExpert{E}, bySlot{M};
  auto at = [&](Expr more) { return mappingOf(byExpert, {{E + 1, placeIn(byExpert, E) + more}}, /*isWrite=*/true); };
  write(none, starts, {.mapping = at(0), .bounds = {{{E, 1}}}, .tag = "write_first"});
  write(ends, starts, {.mapping = at(1), .tag = "write_ends"});
  IndexMapping toPlace = mappingOf(bySlot, {{M, IndexMapping::dynamic_val(0)}}, /*isWrite=*/true);
  auto body = [&](Value before) {
    Value own = members();
    Value place = sum((cumsum(own, before, M) - 1) * own, E);
    write(sort.self_index(M), order, {.mapping = toPlace, .mapping_dynamic_vals = {place}, .tag = "write_order"});
    return sum(own, before, M);
  };
  sort.iterate(M, begins, body, {.tag = "place_loop"});
  return sort;
}

Expected sortReference(const Problem &problem) {
  auto count = static_cast<size_t>(problem.size("E")), slots = static_cast<size_t>(problem.size("M"));
  const std::vector<double> &experts = problem["experts"].values;
  std::vector<double> starts(count + 1), order;
  for (size_t e = 0; e != count; ++e) {
    for (size_t m = 0; m != slots; ++m)
      if (experts[m] == static_cast<double>(e))
        order.push_back(static_cast<double>(m));
    starts[e + 1] = static_cast<double>(order.size());
  }
  return {std::move(starts), std::vector<double>(count + 1), {{std::move(order), std::vector<double>(slots)}}};
}

//===- moe_gemm_gather, moe_gemm_scatter -----------------------------------------------------===//

/// The rows of one expert, BLOCK_M of them a workgroup, times its matrix. Either the rows are gathered from tokens, or
/// the results are scattered to them.
Kernel buildProduct(const std::string &name, bool scatters, const Variant &variant) {
  auto [E, M, N, K, TOPK, BM] = symbols<"E M N K TOPK BLOCK_M">();
  Expr tokens = sym::ceildiv(M, TOPK), expert = workgroup_id(2);
  std::vector<Constraint> constraints = productTiles(/*batched=*/false);
  constraints.push_back(WorkgroupConstraint(E, 1, 2));
  Kernel kernel{name, constraints};
  auto x = kernel.memory("x", {scatters ? M : tokens, K}, shared, variant.input);
  auto w = kernel.memory("w", {E, N, K}, shared, variant.input);
  auto starts = kernel.memory("starts", {E + 1}, global, i32), order = kernel.memory("order", {M}, global, i32);
  MemoryRef weights = scatters ? kernel.memory("weights", {M}, global, f32) : MemoryRef();
  auto y = kernel.memory("y", {scatters ? tokens : M, N}, global, variant.output);

  Expr first = index_of(read_at(starts, {expert}, {.tag = "read_start"}));
  Expr rows = index_of(read_at(starts, {expert + 1}, {.tag = "read_end"})) - first;
  auto compute = [&] {
    std::vector<Expr> row{M}, left{M, K}, right{N, K}, result{M, N};
    Expr token = sym::floordiv(IndexMapping::dynamic_val(0), TOPK);
    IndexMapping sorted = mappingOf(row, {{M, placeIn(row, M) + first}});
    Value slot = read(order, {.mapping = sorted, .bounds = {{{M, rows}}}, .tag = "read_order"});
    AccessOptions ofLeft{.mapping = mappingOf(left, {{M, placeIn(left, M) + first}, {K, placeIn(left, K)}}),
                         .tag = "read_x"};
    if (!scatters) {
      ofLeft.mapping = mappingOf(left, {{tokens, token}, {K, placeIn(left, K)}});
      ofLeft.mapping_dynamic_vals = {slot};
    }
    IndexMapping ofRight = mappingOf(right, {{E, expert}, {N, placeIn(right, N)}, {K, placeIn(right, K)}});
    auto body = [&](Value acc) {
      return mma(read(x, ofLeft), read(w, {.mapping = ofRight, .tag = "read_w"}), acc, {.tag = "mma"});
    };
    Value sum = kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), body, {.tag = "k_loop"});
    AccessOptions there{.bounds = {{{M, rows}, {N, N}}}, .tag = "write_y"};
    if (!scatters) {
      there.mapping = mappingOf(result, {{M, placeIn(result, M) + first}, {N, placeIn(result, N)}}, /*isWrite=*/true);
      return write(sum, y, there);
    }
    IndexMapping ofSlot = mappingOf(row, {{M, IndexMapping::dynamic_val(0)}});
    Value weight = read(weights, {.mapping = ofSlot, .mapping_dynamic_vals = {slot}, .tag = "read_weight"});
    there.mapping = mappingOf(result, {{tokens, token}, {N, placeIn(result, N)}});
    there.mapping_dynamic_vals = {slot};
    atomic_add(sum * broadcast(weight, {M, N}), y, there);
  };
  // An expert has as many workgroups as all of the slots would need; most of them have nothing to do.
  kernel.conditional(sym::lt(BM * workgroup_id(0), rows), compute);
  return kernel;
}

Expected productReference(bool scatters, const Problem &problem) {
  auto slots = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  auto depth = static_cast<size_t>(problem.size("K")), topk = static_cast<size_t>(problem.size("TOPK"));
  size_t rows = scatters ? (slots + topk - 1) / topk : slots;
  const std::vector<double> &starts = problem["starts"].values;
  std::vector<double> values(rows * columns), errors(values.size());
  for (size_t e = 0; e + 1 < starts.size(); ++e)
    for (auto m = static_cast<size_t>(starts[e]); m != static_cast<size_t>(starts[e + 1]); ++m) {
      auto slot = static_cast<size_t>(problem["order"].values[m]);
      std::vector<double> row(columns), rowErrors(columns);
      addProduct({&problem["x"].values[(scatters ? m : slot / topk) * depth], depth, 1},
                 {&problem["w"].values[e * columns * depth], depth, 1}, 1, columns, depth, row.data(),
                 rowErrors.data());
      double weight = scatters ? problem["weights"].values[slot] : 1;
      for (size_t n = 0; n != columns; ++n) {
        size_t at = (scatters ? slot / topk : m) * columns + n;
        values[at] += weight * row[n];
        // A product with the weight, and a sum of at most all slots.
        errors[at] += std::abs(weight) * rowErrors[n];
        errors[at] += scatters ? 2 * static_cast<double>(slots) * kF32Roundoff * std::abs(weight * row[n]) : 0;
      }
    }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/true);
}

//===- Entries ----------------------------------------------------------------------------===//

KernelEntry routeEntry() {
  return {.name = "moe_route",
          .family = "moe",
          .description = "experts[T, TOPK] = where the largest of softmax(logits[T, E]) are, weights[T, TOPK] = those",
          .sizes = {{"T", 256}, {"E", 64}, {"TOPK", 4}},
          .fixedSizes = {"E"},
          .tiles = {{"BLOCK_T", 16}},
          .variants = {{"f32", f32, i32}, {"f16", f16, i32}, {"bf16", bf16, i32}},
          .arguments = [](const Variant &variant) -> std::vector<ArgumentInfo> {
            return {{"logits", {"T", "E"}, variant.input},
                    {"experts", {"T", "TOPK"}, i32, true},
                    {"weights", {"T", "TOPK"}, f32, true}};
          },
          .build = buildRoute,
          .reference = routeReference};
}

KernelEntry sortEntry() {
  return {.name = "moe_sort",
          .family = "moe",
          .description = "order[M] = the slots by experts[M], those of expert e from starts[e] on",
          .sizes = {{"M", 1024}, {"E", 64}},
          .fixedSizes = {"E"},
          .tiles = {{"BLOCK_M", 64}},
          .variants = {{"i32", i32, i32}},
          .arguments = [](const Variant &) -> std::vector<ArgumentInfo> {
            return {{.name = "experts", .dims = {"M"}, .type = i32, .upTo = "E - 1"},
                    {"starts", {"E + 1"}, i32, true},
                    {"order", {"M"}, i32, true}};
          },
          .build = buildSort,
          .reference = sortReference};
}

KernelEntry productEntry(std::string name, std::string description, bool scatters) {
  return {.name = name,
          .family = "moe",
          .description = std::move(description),
          .sizes = {{"E", 4}, {"M", 256}, {"N", 256}, {"K", 256}, {"TOPK", 2}},
          .fixedSizes = {"TOPK"},
          .tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 128}, {"BLOCK_K", 32}, {"WAVES_M", 2}, {"WAVES_N", 2}},
          .narrowTiles = {{"WAVES_N", 4}},
          .variants = {{"f16", f16, scatters ? f32 : f16}, {"bf16", bf16, scatters ? f32 : bf16}},
          .arguments =
              [scatters](const Variant &variant) {
                const char *tokens = "ceildiv(M, TOPK)";
                std::vector<ArgumentInfo> list{
                    {"x", {scatters ? "M" : tokens, "K"}, variant.input},
                    {"w", {"E", "N", "K"}, variant.input},
                    {.name = "starts", .dims = {"E + 1"}, .type = i32, .upTo = "M", .isPartition = true},
                    {.name = "order", .dims = {"M"}, .type = i32, .upTo = "M - 1"}};
                if (scatters)
                  list.push_back({"weights", {"M"}, f32});
                list.push_back({"y", {scatters ? tokens : "M", "N"}, variant.output, true});
                list.back().startsAtZero = scatters;
                return list;
              },
          .build = [name, scatters](const Variant &variant) { return buildProduct(name, scatters, variant); },
          .reference = [scatters](const Problem &problem) { return productReference(scatters, problem); }};
}

} // namespace

const std::vector<KernelEntry> &kernels::moeEntries() {
  static const std::vector<KernelEntry> entries{
      routeEntry(), sortEntry(),
      productEntry("moe_gemm_gather", "y[m] = x[order[m] / TOPK] · w[e]ᵀ, for m from starts[e] on", false),
      productEntry("moe_gemm_scatter",
                   "y[order[m] / TOPK] += weights[order[m]] · x[m] · w[e]ᵀ, for m from starts[e] on", true)};
  return entries;
}
