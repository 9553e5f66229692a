//===- Sampling.cpp - speculative_sampling ----------------------------------------------------===//
//
// A small model has drafted S tokens; the large one says how likely each was, and decides (Leviathan et al. 2023). A
// token is kept with probability p / q, up to the first one that is not: in its place comes one of those that the large
// model finds more likely than the small one, drawn by the difference. Where all are kept, one more is drawn.
//
//   n = the first i with u[i] · q[i, draft[i]] > p[i, draft[i]], else S
//   tokens[n] = the first v with sum(residual[0 … v]) > r · sum(residual),   residual = max(p[n] - q[n], 0)
//
// One workgroup a sequence. Of q[S], which is outside of the tensor, every element reads 0.
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

#include "soliton/support/Float.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace soliton;
using namespace soliton::kernels;

namespace {

/// What both models say, and the numbers that decide.
struct Parameters {
  explicit Parameters(Kernel &kernel) {
    auto [B, S, V] = symbols<"B S V">();
    draft = kernel.memory("draft", {B, S}, global, i32);
    p = kernel.memory("p", {B, S + 1, V}, global, f32);
    q = kernel.memory("q", {B, S, V}, global, f32);
    u = kernel.memory("u", {B, S}, global, f32);
    r = kernel.memory("r", {B}, global, f32);
    tokens = kernel.memory("tokens", {B, S + 1}, global, i32);
    accepted = kernel.memory("accepted", {B}, global, i32);
  }
  MemoryRef draft, p, q, u, r, tokens, accepted;
};

/// How many tokens are kept.
Value countAccepted(Kernel &kernel, const Parameters &given, Value token) {
  auto [B, S, V] = symbols<"B S V">();
  std::vector<Expr> tile{B, S};
  auto likelihood = [&](const MemoryRef &memory) {
    IndexMapping ofToken = mappingOf(
        tile, {{B, placeIn(tile, B)}, {memory.shape()[1], placeIn(tile, S)}, {V, IndexMapping::dynamic_val(0)}});
    return read(memory, {.mapping = ofToken, .mapping_dynamic_vals = {token}});
  };
  Value isRejected = read(given.u) * likelihood(given.q) > likelihood(given.p);
  Value place = broadcast(kernel.self_index(S), tile), all = apply_expr(place, [S](Expr) { return S; });
  return min(select(isRejected, place, all), S);
}

/// A token by the residual distribution after `kept` tokens.
Value draw(Kernel &kernel, const Parameters &given, Expr kept) {
  auto [B, S, V] = symbols<"B S V">();
  std::vector<Expr> tile{B, V};
  auto residual = [&] {
    auto row = [&](const MemoryRef &memory) {
      DimMap places{{B, placeIn(tile, B)}, {memory.shape()[1], kept}, {V, placeIn(tile, V)}};
      return read(memory, {.mapping = mappingOf(tile, places)});
    };
    return maximum(row(given.p) - row(given.q), 0.0);
  };
  Value zero = kernel.fill({B}, f32, 0.0), first = kernel.fill({B}, i32, 0);
  Value total = kernel.iterate(V, zero, [&](Value acc) { return sum(residual(), acc, V); });
  Value threshold = read(given.r) * total, nowhere = kernel.fill({B}, i32, std::numeric_limits<int32_t>::max());
  auto body = [&](Value before, Value found, Value last) {
    Value weights = residual(), index = broadcast(kernel.self_index(V), tile);
    Value isBeyond = cumsum(weights, before, V) > broadcast(threshold, tile);
    return std::tuple{sum(weights, before, V),
                      min(select(isBeyond, index, std::numeric_limits<int32_t>::max()), found, V),
                      max(select(weights > 0.0, index, 0), last, V)};
  };
  auto [weight, found, last] = kernel.iterate(V, {zero, nowhere, first}, body);
  return minimum(found, last); // roundoff may leave the threshold beyond the last sum
}

Kernel buildSpeculative(const Variant &) {
  auto [B, S, V, BV] = symbols<"B S V BLOCK_V">();
  Kernel kernel{"speculative_sampling", {WorkgroupConstraint(B, 1, 0), TilingConstraint(V, BV), HardwareConstraint{}}};
  Parameters given(kernel);
  Value token = read(given.draft), count = countAccepted(kernel, given, token);
  Expr kept = index_of(min(count, B));
  std::vector<Expr> row{B}, places{B, S};
  auto at = [&](Expr place) { return mappingOf(row, {{B, placeIn(row, B)}, {S + 1, place}}, /*isWrite=*/true); };
  IndexMapping own = mappingOf(places, {{B, placeIn(places, B)}, {S + 1, placeIn(places, S)}}, /*isWrite=*/true);
  Value isKept = broadcast(kernel.self_index(S), places) < broadcast(count, places);
  write(select(isKept, token, -1), given.tokens, {.mapping = own});
  write(kernel.fill({B}, i32, -1), given.tokens, {.mapping = at(S)});
  write(draw(kernel, given, kept), given.tokens, {.mapping = at(kept)});
  write(count, given.accepted);
  return kernel;
}

//===- Reference --------------------------------------------------------------------------===//

/// The first index at which the sums of a row exceed a threshold, else the last that counts.
size_t indexBeyond(const std::vector<double> &weights, double threshold) {
  double total = 0;
  size_t last = 0;
  for (size_t v = 0; v != weights.size(); ++v) {
    total += weights[v];
    if (weights[v] > 0)
      last = v;
    if (total > threshold)
      return v;
  }
  return last;
}

Expected speculativeReference(const Problem &problem) {
  auto drafted = static_cast<size_t>(problem.size("S")), vocabulary = static_cast<size_t>(problem.size("V"));
  std::vector<double> tokens, bounds, accepted;
  for (size_t b = 0; b != static_cast<size_t>(problem.size("B")); ++b) {
    const double *draft = &problem["draft"].values[b * drafted];
    auto row = [&](const char *name, size_t rows, size_t i) {
      return &problem[name].values[(b * rows + i) * vocabulary];
    };
    size_t kept = 0;
    for (; kept != drafted; ++kept) {
      auto token = static_cast<size_t>(draft[kept]);
      // One product, rounded as every chip does.
      double needed = problem["u"].values[b * drafted + kept] * row("q", drafted, kept)[token];
      if (roundTo(DType::f32, needed) > row("p", drafted + 1, kept)[token])
        break;
    }
    std::vector<double> weights(vocabulary);
    double total = 0;
    for (size_t v = 0; v != vocabulary; ++v) {
      double other = kept == drafted ? 0 : row("q", drafted, kept)[v];
      weights[v] = std::max(row("p", drafted + 1, kept)[v] - other, 0.0);
      total += weights[v];
    }
    // Sums are off by the usual bound; a threshold so close to one may take either side.
    double threshold = problem["r"].values[b] * total;
    double error = 4 * (static_cast<double>(vocabulary) + 1) * kF32Roundoff * total;
    double low = static_cast<double>(indexBeyond(weights, threshold - error));
    double high = static_cast<double>(indexBeyond(weights, threshold + error));
    for (size_t i = 0; i <= drafted; ++i) {
      tokens.push_back(i < kept ? draft[i] : i == kept ? (low + high) / 2 : -1);
      bounds.push_back(i == kept ? (high - low) / 2 : 0);
    }
    accepted.push_back(static_cast<double>(kept));
  }
  std::vector<double> exact(accepted.size());
  return {std::move(tokens), std::move(bounds), {{std::move(accepted), std::move(exact)}}};
}

} // namespace

const std::vector<KernelEntry> &kernels::samplingEntries() {
  static const std::vector<KernelEntry> entries{
      {.name = "speculative_sampling",
       .family = "sampling",
       .description = "of draft[B, S] the first accepted[B] by p / q, then one more drawn by max(p - q, 0), then -1",
       .sizes = {{"B", 16}, {"S", 4}, {"V", 4096}},
       .fixedSizes = {"S"},
       .tiles = {{"BLOCK_V", 512}},
       .variants = {{"f32", f32, i32}},
       .arguments = [](const Variant &) -> std::vector<ArgumentInfo> {
         Range unit{0, 1};
         return {{.name = "draft", .dims = {"B", "S"}, .type = i32, .upTo = "V - 1"},
                 {"p", {"B", "S + 1", "V"}, f32, false, unit},
                 {"q", {"B", "S", "V"}, f32, false, unit},
                 {"u", {"B", "S"}, f32, false, unit},
                 {"r", {"B"}, f32, false, unit},
                 {"tokens", {"B", "S + 1"}, i32, true},
                 {"accepted", {"B"}, i32, true}};
       },
       .build = buildSpeculative,
       .reference = speculativeReference}};
  return entries;
}
