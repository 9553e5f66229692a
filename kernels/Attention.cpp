//===- Attention.cpp - attention and what is asked of it --------------------------------===//
//
// One text: for each query, the softmax of its scores with all keys weights the values. A loop walks the keys with the
// largest score, the sum of the weights and the weighted sum so far, and rescales both sums whenever the largest score
// grows (Milakov, Gimelshein 2018). What the kernels of the family differ in are options:
//
//   buildAttention("attention_causal", {.causal = true}, variant)
//
// Keys beyond the last one need no mask of ours: reductions and products skip coordinates outside of a dimension.
//
//===----------------------------------------------------------------------===//
#include "kernels/Attention.h"
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace soliton;
using namespace soliton::kernels;

namespace {

/// A score below all real ones, from which differences are still numbers.
constexpr double kLowest = -1e30;
/// The most that a matrix instruction contracts at once.
constexpr int64_t kDepthStep = 32;

//===- The kernel -----------------------------------------------------------------------===//

/// Where the queries of a workgroup begin. Below a causal mask the last ones see the most keys, so that the tile which
/// is not whole is the first: of 4,096 queries by 192 that has the first 64, which see one tile of keys, not the
/// last 64. What is in front of the first query are whole boxes of results, which nobody writes.
Expr firstQuery(const AttentionOptions &options, Expr workgroup) {
  constexpr int64_t box = 64;
  auto [Q, BQ] = symbols<"Q BLOCK_Q">();
  if (!options.causal || options.packed)
    return BQ * workgroup;
  Expr step = sym::select(sym::eq(sym::mod(BQ, box), 0), box, BQ);
  return step * sym::ceildiv(Q, step) - BQ * (sym::ceildiv(Q, BQ) - workgroup);
}

/// BLOCK_Q queries of one head a workgroup, shared by WAVES waves; a loop walks the keys that any of them sees.
std::vector<Constraint> constraintsOf(const AttentionOptions &options) {
  auto [B, H, Q, KV, D, BQ, BKV, waves, W] = symbols<"B H Q KV D BLOCK_Q BLOCK_KV WAVES WINDOW">();
  TilingOptions tiles;
  Expr first = firstQuery(options, workgroup_id(0));
  if (options.masks() && !options.packed) {
    Expr start = options.window ? sym::floordiv(sym::max(first - W + 1, 0), BKV) : Expr(0);
    tiles.iters = sym::max(sym::min(sym::ceildiv(KV, BKV), sym::ceildiv(first + BQ, BKV)) - start, 0);
    if (options.window)
      tiles.start = start * BKV;
  }
  // All of D in one tile, padded to what every matrix instruction takes.
  Expr depth = kDepthStep * sym::ceildiv(D, kDepthStep);
  WorkgroupOptions queries{.apply_fn = [options](Expr workgroup) { return firstQuery(options, workgroup); }};
  std::vector<Constraint> list{WorkgroupConstraint(Q, BQ, 0, queries),
                               WorkgroupConstraint(H, 1, 1),
                               WorkgroupConstraint(B, 1, 2),
                               WorkgroupConstraint(D, depth, 3, {.iters = 1}),
                               TilingConstraint(KV, BKV, tiles),
                               WaveConstraint(Q, BQ / waves),
                               HardwareConstraint{}};
  // The last queries see the most keys: who takes longest begins first.
  if (options.causal && !options.packed && !options.hasLength())
    list.push_back(ReorderingConstraint(sym::ceildiv(Q, BQ) - 1 - workgroup_id(0), 0));
  if (options.stacked)
    list.push_back(WorkgroupConstraint(symbol("N"), 1, 4));
  if (options.grouped)
    list.push_back(Assumption(sym::eq(sym::mod(H, symbol("H_KV")), 0)));
  return list;
}

/// Those of a workgroup's one head of one sequence, then others.
std::vector<Expr> tileOf(const AttentionOptions &options, std::vector<Expr> dims) {
  auto [B, N, H] = symbols<"B N H">();
  std::vector<Expr> first = options.stacked ? std::vector<Expr>{B, N, H} : std::vector<Expr>{B, H};
  dims.insert(dims.begin(), first.begin(), first.end());
  return dims;
}

/// The dimensions of a tensor in memory: `sequence` is Q or KV.
std::vector<Expr> shapeOf(const AttentionOptions &options, Expr head, Expr sequence) {
  auto [B, N, D] = symbols<"B N D">();
  if (options.stacked)
    return {B, N, sequence, head, D};
  if (options.packed)
    return {sequence, head, D};
  return options.sequenceFirst ? std::vector<Expr>{B, sequence, head, D} : std::vector<Expr>{B, head, sequence, D};
}

/// What data say about a workgroup's sequence.
struct Sequence {
  /// Where it begins in packed tensors, and how many there are.
  Expr firstQuery = 0, firstKey = 0;
  std::optional<Expr> queries = {}, keys = {};
  /// The same as tiles without dimensions: how many keys, and how many more than queries.
  Value length = {}, more = {};
};

/// Where a tile lies in a tensor: by name, a head that queries share by its number, and the page by its own: a tile
/// along KV is one page.
AccessOptions accessTo(const MemoryRef &memory, const std::vector<Expr> &tile, const Sequence &sequence,
                       const char *tag, Expr page = 0, bool isWrite = false) {
  auto [H, shared, Q, KV, PAGES, PAGE] = symbols<"H H_KV Q KV PAGES PAGE">();
  auto place = [&](Expr dim) {
    if (dim == shared)
      return sym::floordiv(placeIn(tile, H) * shared, H);
    if (dim == PAGES)
      return page;
    if (dim == PAGE)
      return placeIn(tile, KV) - PAGE * iteration(KV);
    return placeIn(tile, dim) + (dim == Q ? sequence.firstQuery : dim == KV ? sequence.firstKey : Expr(0));
  };
  DimMap places, bounds;
  for (Expr dim : memory.shape())
    places.emplace_back(dim, place(dim));
  for (Expr dim : tile)
    bounds.emplace_back(dim, sym::min(dim, dim == Q    ? sequence.queries.value_or(Q)
                                           : dim == KV ? sequence.keys.value_or(KV)
                                                       : dim));
  AccessOptions options{.mapping = mappingOf(tile, places, isWrite), .tag = tag};
  if (sequence.queries || sequence.keys) // what follows a sequence may be anything
    options.bounds = bounds;
  return options;
}

std::vector<Expr> keyShapeOf(const AttentionOptions &options) {
  auto [H, shared, KV, D, PAGES, PAGE] = symbols<"H H_KV KV D PAGES PAGE">();
  Expr head = options.grouped ? shared : H;
  return options.paged ? std::vector<Expr>{PAGES, head, PAGE, D} : shapeOf(options, head, KV);
}

/// What the options add to the parameters.
struct Extras {
  Value scale, cap;
  MemoryRef bias, mask, slopes, buckets;
};

/// key - query for each pair.
Value distances(Kernel &kernel) {
  auto [Q, KV] = symbols<"Q KV">();
  return broadcast(kernel.self_index(KV), {Q, KV}) - broadcast(kernel.self_index(Q), {Q, KV});
}

/// The bias of each pair by the bucket that the distance of its key from its query is in.
Value bucketBias(Kernel &kernel, const Extras &extras) {
  auto [H, Q, KV, BUCKETS, MAX] = symbols<"H Q KV BUCKETS MAX_DISTANCE">();
  Value distance = apply_expr(distances(kernel), [&](Expr key) { return sym::max(sym::min(key, MAX), 0 - MAX) + MAX; });
  std::vector<Expr> pair{Q, KV}, tile{H, Q, KV};
  IndexMapping ofPair = mappingOf(pair, {{extras.buckets.shape()[0], IndexMapping::dynamic_val(0)}});
  Value bucket = read(extras.buckets, {.mapping = ofPair, .mapping_dynamic_vals = {distance}, .tag = "read_buckets"});
  IndexMapping ofBucket = mappingOf(tile, {{BUCKETS, IndexMapping::dynamic_val(0)}, {H, placeIn(tile, H)}});
  return read(extras.bias, {.mapping = ofBucket, .mapping_dynamic_vals = {bucket}, .tag = "read_bias"});
}

/// The scores of which the softmax is taken, up to the factor that `scoreFactor` gives.
Value scoresOf(Kernel &kernel, const AttentionOptions &options, const Extras &extras, const Sequence &sequence,
               Value products) {
  auto [H, Q, KV] = symbols<"H Q KV">();
  Value scores = products;
  if (options.changesScores())
    scores = scores * extras.scale;
  if (options.softCap)
    scores = tanh_approx(scores / extras.cap) * extras.cap;
  if (options.bias)
    scores = scores + cast(read(extras.bias, {.tag = "read_bias"}), f32);
  if (options.stacked)
    scores = scores + cast(read(extras.mask, {.tag = "read_mask"}), f32);
  if (options.buckets)
    scores = scores + bucketBias(kernel, extras);
  if (options.alibi)
    scores =
        scores - broadcast(read(extras.slopes, {.tag = "read_slopes"}), {H, Q, KV}) * cast(abs(distances(kernel)), f32);
  if (options.hasLength())
    scores = select(kernel.self_index(KV) < sequence.length, scores, -std::numeric_limits<double>::infinity());
  if (!options.masks())
    return scores;
  Value seen = options.packed ? distances(kernel) <= sequence.more
                              : broadcast(kernel.self_index(KV), {Q, KV}) <= broadcast(kernel.self_index(Q), {Q, KV});
  if (options.window)
    seen = seen & (apply_expr(distances(kernel), [](Expr key) { return key + symbol("WINDOW"); }) > 0);
  return select(seen, scores, -std::numeric_limits<double>::infinity());
}

/// Reads what data say about the sequence of this workgroup.
Sequence readSequence(Kernel &kernel, const AttentionOptions &options) {
  Expr B = symbol("B"), batch = workgroup_id(2);
  Sequence sequence;
  if (options.lengths)
    sequence.length = read_at(kernel.memory("lengths", {B}, global, i32), {batch}, {.tag = "read_length"});
  if (options.packed) {
    auto queries = kernel.memory("q_starts", {B + 1}, global, i32),
         keys = kernel.memory("k_starts", {B + 1}, global, i32);
    auto first = [&](const MemoryRef &starts) { return read_at(starts, {batch}, {.tag = "read_start"}); };
    auto count = [&](const MemoryRef &starts) {
      return read_at(starts, {batch + 1}, {.tag = "read_end"}) - first(starts);
    };
    sequence.firstQuery = index_of(first(queries));
    sequence.firstKey = index_of(first(keys));
    sequence.queries = index_of(count(queries));
    sequence.length = count(keys);
    sequence.more = sequence.length - count(queries);
  }
  if (options.hasLength())
    sequence.keys = index_of(sequence.length);
  return sequence;
}

/// How many tiles of keys any query of the workgroup sees, where data say it.
std::optional<Expr> tilesSeen(const AttentionOptions &options, const Sequence &sequence) {
  auto [KV, BQ, BKV] = symbols<"KV BLOCK_Q BLOCK_KV">();
  if (!sequence.keys)
    return std::nullopt;
  Expr keys = sym::min(*sequence.keys, KV);
  if (options.causal)
    keys = sym::min(keys, BQ * (workgroup_id(0) + 1) + *sequence.keys - *sequence.queries);
  return sym::max(sym::ceildiv(keys, BKV), 0);
}

/// The parameters of a kernel.
struct Tensors {
  MemoryRef q, k, v, table, o, lse;
};

/// One tile of queries, from its scores to its rows of the result.
void attend(Kernel &kernel, const AttentionOptions &options, const Variant &variant, const Tensors &tensors,
            const Extras &extras, const Sequence &sequence) {
  auto [Q, KV, D] = symbols<"Q KV D">();
  auto tile = [&](std::vector<Expr> dims) { return tileOf(options, std::move(dims)); };
  // Exponentials are powers of 2. Where scores are products, their scale is part of the exponent's one multiplication.
  constexpr double log2e = std::numbers::log2e;
  Value query = read(tensors.q, accessTo(tensors.q, tile({Q, D}), sequence, "read_q"));
  Value lowest = kernel.fill(tile({Q}), f32, kLowest), none = kernel.fill(tile({Q}), f32, 0.0);
  Value factor = options.changesScores() ? kernel.fill(tile({Q}), f32, log2e) : extras.scale * log2e;
  auto body = [&](Value before, Value weightBefore, Value sumBefore) {
    Expr page = 0;
    if (options.paged)
      page = index_of(read_at(tensors.table, {workgroup_id(2), iteration(KV)}, {.tag = "read_page"}));
    Value key = read(tensors.k, accessTo(tensors.k, tile({KV, D}), sequence, "read_k", page));
    Value products = mma(query, key, kernel.fill(tile({Q, KV}), f32, 0.0), {.tag = "mma_qk"});
    Value scores = scoresOf(kernel, options, extras, sequence, products);
    Value largest = max(scores, before, KV);
    Value shrink = exp2((before - largest) * factor);
    Value weights = exp2(scores * factor - largest * factor);
    Value total = sum(weights, weightBefore * shrink, KV);
    Value value = read(tensors.v, accessTo(tensors.v, tile({D, KV}), sequence, "read_v", page));
    return std::tuple{largest, total, mma(cast(weights, variant.input), value, sumBefore * shrink, {.tag = "mma_pv"})};
  };
  auto [largest, total, weighted] = kernel.iterate(KV, {lowest, none, kernel.fill(tile({Q, D}), f32, 0.0)}, body,
                                                   {.tag = "kv_loop", .count = tilesSeen(options, sequence)});
  // A query that sees no key has no weights to divide by: its result is 0.
  Value inverse = options.maySeeNone() ? select(total > 0.0, reciprocal(total), 0.0) : reciprocal(total);
  write(weighted * inverse, tensors.o, accessTo(tensors.o, tile({Q, D}), sequence, "write_o", 0, /*isWrite=*/true));
  if (options.logSumExp)
    write((largest * factor + log2(total)) * std::numbers::ln2, tensors.lse, {.tag = "write_lse"});
}

Kernel buildAttention(const std::string &name, const AttentionOptions &options, const Variant &variant) {
  auto [B, N, H, Q, KV, BQ, PAGE, BUCKETS, MAX] = symbols<"B N H Q KV BLOCK_Q PAGE BUCKETS MAX_DISTANCE">();
  Kernel kernel{name, constraintsOf(options)};
  Tensors tensors;
  tensors.q = kernel.memory("q", shapeOf(options, H, Q), global, variant.input);
  tensors.k = kernel.memory("k", keyShapeOf(options), shared, variant.input);
  tensors.v = kernel.memory("v", keyShapeOf(options), shared, variant.input);
  Sequence sequence = readSequence(kernel, options);
  if (options.paged)
    tensors.table = kernel.memory("table", {B, sym::ceildiv(KV, PAGE)}, global, i32);
  Extras extras;
  if (options.bias)
    extras.bias = kernel.memory("bias", {B, H, Q, KV}, global, variant.input);
  if (options.stacked)
    extras.mask = kernel.memory("mask", {B, N, KV}, global, variant.input);
  if (options.buckets) {
    extras.buckets = kernel.memory("buckets", {2 * MAX + 1}, global, i32);
    extras.bias = kernel.memory("bias", {BUCKETS, H}, global, f32);
  }
  if (options.alibi)
    extras.slopes = kernel.memory("slopes", {H}, global, f32);
  extras.scale = kernel.scalar("scale", f32);
  if (options.softCap)
    extras.cap = kernel.scalar("cap", f32);
  tensors.o = kernel.memory("o", shapeOf(options, H, Q), global, variant.output);
  if (options.logSumExp)
    tensors.lse = kernel.memory("lse", {B, H, Q}, global, f32);

  auto compute = [&] { attend(kernel, options, variant, tensors, extras, sequence); };
  // A packed sequence has as many workgroups as all queries would need; most of them have nothing to do.
  if (options.packed)
    kernel.conditional(sym::lt(BQ * workgroup_id(0), *sequence.queries), compute);
  else
    compute();
  return kernel;
}

//===- Entries --------------------------------------------------------------------------===//

std::vector<ArgumentInfo> argumentsOf(const AttentionOptions &options, const Variant &variant) {
  auto shape = [&](const char *head, const char *sequence) {
    if (options.stacked)
      return std::vector<std::string>{"B", "N", sequence, head, "D"};
    if (options.packed)
      return std::vector<std::string>{sequence, head, "D"};
    return options.sequenceFirst ? std::vector<std::string>{"B", sequence, head, "D"}
                                 : std::vector<std::string>{"B", head, sequence, "D"};
  };
  const char *head = options.grouped ? "H_KV" : "H";
  std::vector<ArgumentInfo> list{{"q", shape("H", "Q"), variant.input},
                                 {"k", shape(head, "KV"), variant.input},
                                 {"v", shape(head, "KV"), variant.input}};
  if (options.paged)
    list[1].dims = list[2].dims = {"PAGES", head, "PAGE", "D"};
  if (options.lengths)
    list.push_back({.name = "lengths", .dims = {"B"}, .type = i32, .upTo = "KV"});
  if (options.packed) {
    list.push_back({.name = "q_starts", .dims = {"B + 1"}, .type = i32, .upTo = "Q", .isPartition = true});
    list.push_back({.name = "k_starts", .dims = {"B + 1"}, .type = i32, .upTo = "KV", .isPartition = true});
  }
  if (options.paged)
    list.push_back({.name = "table", .dims = {"B", "ceildiv(KV, PAGE)"}, .type = i32, .upTo = "PAGES - 1"});
  if (options.bias)
    list.push_back({"bias", {"B", "H", "Q", "KV"}, variant.input});
  if (options.stacked)
    list.push_back({"mask", {"B", "N", "KV"}, variant.input});
  if (options.buckets) {
    list.push_back({.name = "buckets", .dims = {"2*MAX_DISTANCE + 1"}, .type = i32, .upTo = "BUCKETS - 1"});
    list.push_back({"bias", {"BUCKETS", "H"}, f32});
  }
  if (options.alibi)
    list.push_back({"slopes", {"H"}, f32, false, Range{0.01, 0.5}});
  list.push_back({"scale", {}, f32, false, Range{0.0625, 0.25}});
  if (options.softCap)
    list.push_back({"cap", {}, f32, false, Range{2, 20}});
  list.push_back({"o", shape("H", "Q"), variant.output, true});
  if (options.logSumExp)
    list.push_back({"lse", {"B", "H", "Q"}, f32, true});
  return list;
}

KernelEntry entryOf(std::string name, std::string description, const AttentionOptions &options) {
  KernelEntry entry{.name = name,
                    .family = "attention",
                    .description = std::move(description),
                    .sizes = {{"B", 1}, {"H", 4}, {"Q", 128}, {"KV", 256}, {"D", 64}},
                    .fixedSizes = {"D"},
                    .tiles = {{"BLOCK_Q", 128}, {"BLOCK_KV", 64}, {"WAVES", 4}},
                    .narrowTiles = {{"WAVES", 8}},
                    .variants = {{"f16", f16, f16}, {"bf16", bf16, bf16}},
                    .arguments = [options](const Variant &variant) { return argumentsOf(options, variant); },
                    .build = [name, options](const Variant &variant) { return buildAttention(name, options, variant); },
                    .reference = [options](const Problem &problem) { return attentionReference(options, problem); }};
  if (name == "attention")
    entry.variants.insert(entry.variants.end(), {{"f16-f32", f16, f32}, {"f8-f16", f8, f16}});
  if (options.grouped)
    entry.sizes.insert(entry.sizes.begin() + 2, {"H_KV", 2});
  if (options.packed) // places of sequences take registers
    entry.narrowTiles.push_back({"BLOCK_KV", 32});
  if (options.paged) { // a page is what an iteration takes; no tensor has KV, the most keys of a sequence, as an extent
    entry.sizes.insert(entry.sizes.end(), {{"PAGES", 16}, {"PAGE", 32}});
    entry.fixedSizes.insert(entry.fixedSizes.end(), {"KV", "PAGE"});
    entry.derivedSizes = {{"BLOCK_KV", "PAGE"}};
    std::erase_if(entry.tiles, [](const DefaultSize &tile) { return tile.name == "BLOCK_KV"; });
  }
  if (options.stacked)
    entry.sizes.insert(entry.sizes.begin() + 1, {"N", 2});
  if (options.buckets) {
    entry.sizes.insert(entry.sizes.end(), {{"BUCKETS", 32}, {"MAX_DISTANCE", 128}});
    entry.fixedSizes.push_back("MAX_DISTANCE");
  }
  if (options.window) {
    entry.sizes.push_back({"WINDOW", 64});
    entry.fixedSizes.push_back("WINDOW");
  }
  return entry;
}

} // namespace

const std::vector<KernelEntry> &kernels::attentionEntries() {
  static const std::vector<KernelEntry> entries{
      entryOf("attention", "o = softmax(scale · q·kᵀ) · v, tensors [B, H, S, D]", {}),
      entryOf("attention_causal", "a query i sees the keys j <= i", {.causal = true}),
      entryOf("attention_window", "a query i sees the keys i - WINDOW < j <= i", {.window = true}),
      entryOf("attention_softcap", "scores are cap · tanh(scale · q·kᵀ / cap)", {.softCap = true}),
      entryOf("attention_bias", "bias[B, H, Q, KV] is added to the scores", {.bias = true}),
      entryOf("attention_alibi", "slopes[H] · abs(i - j) is subtracted from the scores", {.alibi = true}),
      entryOf("attention_t5",
              "bias[BUCKETS, H] of the bucket that buckets[…] says for the distance j - i, at most MAX_DISTANCE, is "
              "added to the scores",
              {.buckets = true}),
      entryOf("attention_evoformer",
              "stacks of N sequences, tensors [B, N, S, H, D]; mask[B, N, KV] and bias[B, H, Q, KV] are added to the "
              "scores",
              {.bias = true, .stacked = true}),
      entryOf("attention_gqa", "H / H_KV query heads share a head of k and v", {.grouped = true}),
      entryOf("attention_bshd", "tensors [B, S, H, D]", {.sequenceFirst = true}),
      entryOf("attention_lengths", "a sequence has lengths[B] keys", {.lengths = true}),
      entryOf("attention_ragged",
              "sequences one behind the other, tensors [S, H, D], from q_starts[b] and k_starts[b] on; the last query "
              "of one sees its last key, those before fewer",
              {.causal = true, .grouped = true, .packed = true}),
      entryOf("attention_paged",
              "keys and values in pages [PAGES, H_KV, PAGE, D] that table[B, …] lists, lengths[B] of them",
              {.grouped = true, .lengths = true, .paged = true}),
      entryOf("attention_gqa_causal_bshd", "all three at once",
              {.causal = true, .grouped = true, .sequenceFirst = true}),
      entryOf("attention_lse", "lse[B, H, Q] = log(sum(exp(scale · q·kᵀ))) too", {.logSumExp = true}),
      entryOf("attention_causal_lse", "`attention_causal`, and lse[B, H, Q]", {.causal = true, .logSumExp = true})};
  return entries;
}
