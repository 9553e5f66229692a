//===- Grids.cpp - Products whose workgroups choose their tiles -----------------------------===//
//
// `gemm` with another answer to who computes which tile of the result:
//
//   gemm_persistent   GRID workgroups take tile after tile
//   gemm_grouped      rows in groups, of which each has a matrix of its own; a tensor says where they begin
//   gemm_split_k      several workgroups sum parts of one tile, and add them to what is there
//   gemm_stream_k     GRID workgroups share all steps along K of all tiles evenly
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

using namespace soliton;
using namespace soliton::kernels;

namespace {

/// A part of a sum along K: where it begins, and how many steps it has.
struct Steps {
  Expr first = 0;
  std::optional<Expr> count = {};
};

/// The sum along K of the tile of `a` from a row on and the one of `b` that a mapping says.
Value product(Kernel &kernel, const MemoryRef &a, Expr row, const MemoryRef &b, const IndexMapping &right,
              const Steps &steps = {}) {
  auto [M, N, K, BK] = symbols<"M N K BLOCK_K">();
  std::vector<Expr> tile{M, K};
  IndexMapping left = mappingOf(tile, {{M, placeIn(tile, M) + row}, {K, placeIn(tile, K) + BK * steps.first}});
  auto body = [&](Value acc) {
    return mma(read(a, {.mapping = left, .tag = "read_a"}), read(b, {.mapping = right, .tag = "read_b"}), acc,
               {.tag = "mma"});
  };
  return kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), body, {.tag = "k_loop", .count = steps.count});
}

//===- Persistent -------------------------------------------------------------------------===//

Kernel buildPersistent(const Variant &variant) {
  auto [M, N, K, BM, BN, GRID, TILE] = symbols<"M N K BLOCK_M BLOCK_N GRID TILE">();
  std::vector<Constraint> constraints = productTiles(/*batched=*/false);
  constraints.push_back(GridConstraint(GRID));
  Kernel kernel{"gemm_persistent", constraints};
  auto a = kernel.memory("a", {M, K}, shared, variant.input), b = kernel.memory("b", {N, K}, shared, variant.input);
  auto c = kernel.memory("c", {M, N}, global, variant.output);
  Expr columns = sym::ceildiv(N, BN), tiles = sym::ceildiv(M, BM) * columns;
  auto compute = [&] {
    Expr tile = workgroup_id(0) + GRID * iteration(TILE);
    Expr row = BM * sym::floordiv(tile, columns), column = BN * sym::mod(tile, columns);
    std::vector<Expr> right{N, K}, result{M, N};
    Value sum = product(kernel, a, row, b, mappingOf(right, {{N, placeIn(right, N) + column}, {K, placeIn(right, K)}}));
    DimMap there{{M, placeIn(result, M) + row}, {N, placeIn(result, N) + column}};
    write(sum, c, {.mapping = mappingOf(result, there, /*isWrite=*/true), .tag = "write_c"});
  };
  kernel.iterate(TILE, compute, {.tag = "tile_loop", .count = sym::ceildiv(tiles - workgroup_id(0), GRID)});
  return kernel;
}

Expected plainReference(const Problem &problem) {
  auto rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  auto depth = static_cast<size_t>(problem.size("K"));
  std::vector<double> values(rows * columns), errors(values.size());
  addProduct({problem["a"].values.data(), depth, 1}, {problem["b"].values.data(), depth, 1}, rows, columns, depth,
             values.data(), errors.data());
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/true);
}

//===- Groups -----------------------------------------------------------------------------===//

Kernel buildGrouped(const Variant &variant) {
  auto [E, M, N, K, BM] = symbols<"E M N K BLOCK_M">();
  std::vector<Constraint> constraints = productTiles(/*batched=*/false);
  constraints.push_back(WorkgroupConstraint(E, 1, 2));
  Kernel kernel{"gemm_grouped", constraints};
  auto a = kernel.memory("a", {M, K}, shared, variant.input), b = kernel.memory("b", {E, N, K}, shared, variant.input);
  auto starts = kernel.memory("starts", {E + 1}, global, i32);
  auto c = kernel.memory("c", {M, N}, global, variant.output);
  Expr group = workgroup_id(2);
  Expr from = index_of(read_at(starts, {group}, {.tag = "read_start"}));
  Expr rows = index_of(read_at(starts, {group + 1}, {.tag = "read_end"})) - from;
  // A group has as many workgroups as all of the rows would need; most of them have nothing to do.
  kernel.conditional(sym::lt(BM * workgroup_id(0), rows), [&] {
    std::vector<Expr> right{N, K}, result{M, N};
    Value sum =
        product(kernel, a, from, b, mappingOf(right, {{E, group}, {N, placeIn(right, N)}, {K, placeIn(right, K)}}));
    IndexMapping there = mappingOf(result, {{M, placeIn(result, M) + from}, {N, placeIn(result, N)}}, /*isWrite=*/true);
    write(sum, c, {.mapping = there, .bounds = {{{M, rows}, {N, N}}}, .tag = "write_c"});
  });
  return kernel;
}

Expected groupedReference(const Problem &problem) {
  auto rows = static_cast<size_t>(problem.size("M")), columns = static_cast<size_t>(problem.size("N"));
  auto depth = static_cast<size_t>(problem.size("K"));
  std::vector<double> values(rows * columns), errors(values.size());
  const std::vector<double> &starts = problem["starts"].values;
  for (size_t group = 0; group + 1 < starts.size(); ++group) {
    auto first = static_cast<size_t>(starts[group]), last = static_cast<size_t>(starts[group + 1]);
    addProduct({problem["a"].values.data() + first * depth, depth, 1},
               {problem["b"].values.data() + group * columns * depth, depth, 1}, last - first, columns, depth,
               values.data() + first * columns, errors.data() + first * columns);
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/true);
}

//===- Split along K ----------------------------------------------------------------------===//

Kernel buildSplitK(const Variant &variant) {
  auto [M, N, K, BK, TILES] = symbols<"M N K BLOCK_K SPLIT_TILES">();
  Expr part = BK * TILES, own = sym::min(part, K - part * workgroup_id(2)); // whole tiles: parts do not overlap
  std::vector<Constraint> constraints = productTiles(/*batched=*/false, {.iters = sym::ceildiv(own, BK)});
  constraints.push_back(WorkgroupConstraint(K, part, 2));
  Kernel kernel{"gemm_split_k", constraints};
  auto a = kernel.memory("a", {M, K}, shared, variant.input), b = kernel.memory("b", {N, K}, shared, variant.input);
  auto c = kernel.memory("c", {M, N}, global, variant.output);
  auto body = [&](Value acc) {
    return mma(read(a, {.tag = "read_a"}), read(b, {.tag = "read_b"}), acc, {.tag = "mma"});
  };
  atomic_add(kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), body, {.tag = "k_loop"}), c, {.tag = "add_c"});
  return kernel;
}

//===- Stream along K -----------------------------------------------------------------------===//

/// All steps of all tiles in a row, of which each workgroup takes as many: the last of one tile, all of some, the first
/// of another (Osama et al. 2023). What several have of one tile meets in memory.
Kernel buildStreamK(const Variant &variant) {
  auto [M, N, K, BM, BN, BK, GRID, TILE] = symbols<"M N K BLOCK_M BLOCK_N BLOCK_K GRID TILE">();
  std::vector<Constraint> constraints = productTiles(/*batched=*/false);
  constraints.push_back(GridConstraint(GRID));
  Kernel kernel{"gemm_stream_k", constraints};
  auto a = kernel.memory("a", {M, K}, shared, variant.input), b = kernel.memory("b", {N, K}, shared, variant.input);
  auto c = kernel.memory("c", {M, N}, global, variant.output);
  Expr columns = sym::ceildiv(N, BN), depth = sym::ceildiv(K, BK), all = sym::ceildiv(M, BM) * columns * depth;
  Expr share = sym::ceildiv(all, GRID), first = sym::min(share * workgroup_id(0), all);
  Expr last = sym::min(first + share, all), firstTile = sym::floordiv(first, depth);
  auto compute = [&] {
    Expr tile = firstTile + iteration(TILE);
    Expr row = BM * sym::floordiv(tile, columns), column = BN * sym::mod(tile, columns);
    Expr from = sym::max(first - tile * depth, 0), to = sym::min(last - tile * depth, depth);
    std::vector<Expr> right{N, K}, result{M, N};
    IndexMapping ofRight = mappingOf(right, {{N, placeIn(right, N) + column}, {K, placeIn(right, K) + BK * from}});
    Value sum = product(kernel, a, row, b, ofRight, {.first = from, .count = to - from});
    DimMap there{{M, placeIn(result, M) + row}, {N, placeIn(result, N) + column}};
    atomic_add(sum, c, {.mapping = mappingOf(result, there), .tag = "add_c"});
  };
  kernel.iterate(TILE, compute, {.tag = "tile_loop", .count = sym::ceildiv(last, depth) - firstTile});
  return kernel;
}

//===- Entries ----------------------------------------------------------------------------===//

KernelEntry entryOf(const char *name, const char *description) {
  KernelEntry entry;
  entry.name = name;
  entry.family = "gemm";
  entry.description = description;
  entry.sizes = {{"M", 256}, {"N", 256}, {"K", 256}};
  entry.tiles = {{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 32}, {"WAVES_M", 2}, {"WAVES_N", 2}};
  entry.narrowTiles = {{"WAVES_N", 4}}; // places of tiles take registers beside 64 × 64 sums a wave
  entry.variants = {{"f16", f16, f32}, {"bf16", bf16, f32}, {"f16-f16", f16, f16}};
  return entry;
}

} // namespace

const std::vector<KernelEntry> &kernels::gridEntries() {
  static const std::vector<KernelEntry> entries = [] {
    KernelEntry persistent = entryOf("gemm_persistent", "`gemm` by GRID workgroups, which take tile after tile");
    persistent.tiles.push_back({"GRID", 132});
    persistent.arguments = [](const Variant &variant) {
      return std::vector<ArgumentInfo>{
          {"a", {"M", "K"}, variant.input}, {"b", {"N", "K"}, variant.input}, {"c", {"M", "N"}, variant.output, true}};
    };
    persistent.build = buildPersistent;
    persistent.reference = plainReference;

    KernelEntry grouped =
        entryOf("gemm_grouped", "c[M, N] = a[M, K] · b[E, N, K]ᵀ, for the rows of group e from starts[e] on by b[e]");
    grouped.sizes.insert(grouped.sizes.begin(), {"E", 4});
    grouped.arguments = [](const Variant &variant) {
      return std::vector<ArgumentInfo>{
          {"a", {"M", "K"}, variant.input},
          {"b", {"E", "N", "K"}, variant.input},
          {.name = "starts", .dims = {"E + 1"}, .type = i32, .upTo = "M", .isPartition = true},
          {"c", {"M", "N"}, variant.output, true}};
    };
    grouped.build = buildGrouped;
    grouped.reference = groupedReference;

    KernelEntry split = entryOf("gemm_split_k", "c[M, N] += a[M, K] · b[N, K]ᵀ, K in parts of SPLIT_TILES tiles");
    split.tiles.push_back({"SPLIT_TILES", 4});
    split.variants.resize(2); // sums of f32 meet in memory
    split.arguments = [](const Variant &variant) {
      std::vector<ArgumentInfo> list{
          {"a", {"M", "K"}, variant.input}, {"b", {"N", "K"}, variant.input}, {"c", {"M", "N"}, variant.output, true}};
      list.back().startsAtZero = true;
      return list;
    };
    split.build = buildSplitK;
    split.reference = plainReference;

    KernelEntry stream = entryOf("gemm_stream_k", "`gemm_split_k` by GRID workgroups, which share all steps evenly");
    stream.tiles.push_back({"GRID", 132});
    stream.variants = split.variants;
    stream.arguments = split.arguments;
    stream.build = buildStreamK;
    stream.reference = plainReference;
    return std::vector<KernelEntry>{persistent, grouped, split, stream};
  }();
  return entries;
}
