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
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

#include "soliton/support/Float.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace soliton;
using namespace soliton::kernels;

namespace {

/// What a kernel of the family does beyond softmax(scale · q · kᵀ) · v.
struct AttentionOptions {
  /// A query sees no later key.
  bool causal = false;
  /// Only the last WINDOW keys up to the query's own place.
  bool window = false;
  /// Scores are cap · tanh(score / cap).
  bool softCap = false;
  /// A tensor is added to the scores.
  bool bias = false;
  /// slope · |query - key| is subtracted, with a slope for each head.
  bool alibi = false;
  /// H / H_KV query heads share a head of keys and values.
  bool grouped = false;
  /// Tensors are [B, S, H, D] instead of [B, H, S, D].
  bool sequenceFirst = false;
  /// lengths[B] says how many keys there are.
  bool lengths = false;
  /// Keys and values lie in pages [PAGES, H, PAGE, D]; table[B, …] says which ones are a sequence's, in order.
  bool paged = false;

  bool masks() const { return causal || window; }
  /// A query may see no key at all.
  bool maySeeNone() const { return window || lengths; }
  /// Scores are more than scaled products.
  bool changesScores() const { return softCap || bias || alibi; }
};

/// A score below all real ones, from which differences are still numbers.
constexpr double kLowest = -1e30;
/// The most that a matrix instruction contracts at once.
constexpr int64_t kDepthStep = 32;

//===- The kernel -----------------------------------------------------------------------===//

/// BLOCK_Q queries of one head a workgroup, shared by WAVES waves; a loop walks the keys that any of them sees.
std::vector<Constraint> constraintsOf(const AttentionOptions &options) {
  auto [B, H, Q, KV, D, BQ, BKV, waves, W] = symbols<"B H Q KV D BLOCK_Q BLOCK_KV WAVES WINDOW">();
  TilingOptions tiles;
  Expr first = workgroup_id(0) * BQ;
  if (options.masks()) {
    Expr start = options.window ? sym::floordiv(sym::max(first - W + 1, 0), BKV) : Expr(0);
    tiles.iters = sym::max(sym::min(sym::ceildiv(KV, BKV), sym::ceildiv(first + BQ, BKV)) - start, 0);
    if (options.window)
      tiles.start = start * BKV;
  }
  // All of D in one tile, padded to what every matrix instruction takes.
  Expr depth = kDepthStep * sym::ceildiv(D, kDepthStep);
  std::vector<Constraint> list{WorkgroupConstraint(Q, BQ, 0),
                               WorkgroupConstraint(H, 1, 1),
                               WorkgroupConstraint(B, 1, 2),
                               WorkgroupConstraint(D, depth, 3, {.iters = 1}),
                               TilingConstraint(KV, BKV, tiles),
                               WaveConstraint(Q, BQ / waves),
                               HardwareConstraint{}};
  if (options.grouped)
    list.push_back(Assumption(sym::eq(sym::mod(H, symbol("H_KV")), 0)));
  return list;
}

/// The dimensions of keys or values in memory.
std::vector<Expr> keyShapeOf(const AttentionOptions &options);

/// The dimensions of a tensor in memory: `sequence` is Q or KV.
std::vector<Expr> shapeOf(const AttentionOptions &options, Expr head, Expr sequence) {
  auto [B, D] = symbols<"B D">();
  return options.sequenceFirst ? std::vector<Expr>{B, sequence, head, D} : std::vector<Expr>{B, head, sequence, D};
}

/// Where a tile lies in keys or values: by name, and a head that queries share by its number.
///
/// A tile along KV is one page, whose number is `page`.
IndexMapping mappingToKeys(const std::vector<Expr> &tile, const std::vector<Expr> &memory, Expr page) {
  auto [H, shared, KV, PAGES, PAGE] = symbols<"H H_KV KV PAGES PAGE">();
  DimMap places;
  for (Expr dim : memory)
    places.emplace_back(dim, dim == shared  ? sym::floordiv(placeIn(tile, H) * shared, H)
                             : dim == PAGES ? page
                             : dim == PAGE  ? placeIn(tile, KV) - PAGE * iteration(KV)
                                            : placeIn(tile, dim));
  return mappingOf(tile, places);
}

std::vector<Expr> keyShapeOf(const AttentionOptions &options) {
  auto [H, shared, KV, D, PAGES, PAGE] = symbols<"H H_KV KV D PAGES PAGE">();
  Expr head = options.grouped ? shared : H;
  return options.paged ? std::vector<Expr>{PAGES, head, PAGE, D} : shapeOf(options, head, KV);
}

/// What the options add to the parameters.
struct Extras {
  Value scale, cap;
  MemoryRef bias, slopes;
  /// How many keys the sequence has, as a tile without dimensions.
  Value length;
};

/// key - query for each pair.
Value distances(Kernel &kernel) {
  auto [Q, KV] = symbols<"Q KV">();
  return broadcast(kernel.self_index(KV), {Q, KV}) - broadcast(kernel.self_index(Q), {Q, KV});
}

/// The scores of which the softmax is taken, up to the factor that `scoreFactor` gives.
Value scoresOf(Kernel &kernel, const AttentionOptions &options, const Extras &extras, Value products) {
  auto [H, Q, KV] = symbols<"H Q KV">();
  Value scores = products;
  if (options.changesScores())
    scores = scores * extras.scale;
  if (options.softCap)
    scores = tanh_approx(scores / extras.cap) * extras.cap;
  if (options.bias)
    scores = scores + cast(read(extras.bias, {.tag = "read_bias"}), f32);
  if (options.alibi)
    scores =
        scores - broadcast(read(extras.slopes, {.tag = "read_slopes"}), {H, Q, KV}) * cast(abs(distances(kernel)), f32);
  if (options.lengths)
    scores = select(kernel.self_index(KV) < extras.length, scores, -std::numeric_limits<double>::infinity());
  if (!options.masks())
    return scores;
  Value seen = distances(kernel) <= 0;
  if (options.window)
    seen = seen & (apply_expr(distances(kernel), [](Expr key) { return key + symbol("WINDOW"); }) > 0);
  return select(seen, scores, -std::numeric_limits<double>::infinity());
}

Kernel buildAttention(const std::string &name, const AttentionOptions &options, const Variant &variant) {
  auto [B, H, Q, KV, D, BKV, PAGE] = symbols<"B H Q KV D BLOCK_KV PAGE">();
  Kernel kernel{name, constraintsOf(options)};
  auto q = kernel.memory("q", shapeOf(options, H, Q), global, variant.input);
  auto k = kernel.memory("k", keyShapeOf(options), lang::shared, variant.input);
  auto v = kernel.memory("v", keyShapeOf(options), lang::shared, variant.input);
  Extras extras;
  MemoryRef lengths = options.lengths ? kernel.memory("lengths", {B}, global, i32) : MemoryRef();
  MemoryRef table = options.paged ? kernel.memory("table", {B, sym::ceildiv(KV, PAGE)}, global, i32) : MemoryRef();
  if (options.bias)
    extras.bias = kernel.memory("bias", {B, H, Q, KV}, global, variant.input);
  if (options.alibi)
    extras.slopes = kernel.memory("slopes", {H}, global, f32);
  extras.scale = kernel.scalar("scale", f32);
  if (options.softCap)
    extras.cap = kernel.scalar("cap", f32);
  auto o = kernel.memory("o", shapeOf(options, H, Q), global, variant.output);

  // Exponentials are powers of 2. Where scores are products, their scale is part of the exponent's one multiplication.
  constexpr double log2e = std::numbers::log2e;
  Value query = readAs(q, {B, H, Q, D}, "read_q");
  Value lowest = kernel.fill({B, H, Q}, f32, kLowest), none = kernel.fill({B, H, Q}, f32, 0.0);
  Value factor = options.changesScores() ? kernel.fill({B, H, Q}, f32, log2e) : extras.scale * log2e;
  LoopOptions loop{.tag = "kv_loop"};
  if (options.lengths) {
    extras.length = read_at(lengths, {workgroup_id(2)}, {.tag = "read_length"});
    loop.count = sym::min(sym::ceildiv(index_of(extras.length), BKV), sym::ceildiv(KV, BKV));
  }
  auto body = [&](Value before, Value weightBefore, Value sumBefore) {
    Expr page = options.paged ? index_of(read_at(table, {workgroup_id(2), iteration(KV)}, {.tag = "read_page"})) : 0;
    Value key = read(k, {.mapping = mappingToKeys({B, H, KV, D}, k.shape(), page), .tag = "read_k"});
    Value products = mma(query, key, kernel.fill({B, H, Q, KV}, f32, 0.0), {.tag = "mma_qk"});
    Value scores = scoresOf(kernel, options, extras, products);
    Value largest = max(scores, before, KV);
    Value shrink = exp2((before - largest) * factor);
    Value weights = exp2(scores * factor - largest * factor);
    Value total = sum(weights, weightBefore * shrink, KV);
    Value value = read(v, {.mapping = mappingToKeys({B, H, D, KV}, v.shape(), page), .tag = "read_v"});
    return std::tuple{largest, total, mma(cast(weights, variant.input), value, sumBefore * shrink, {.tag = "mma_pv"})};
  };
  auto [largest, total, weighted] = kernel.iterate(KV, {lowest, none, kernel.fill({B, H, Q, D}, f32, 0.0)}, body, loop);
  // A query that sees no key has no weights to divide by: its result is 0.
  Value inverse = options.maySeeNone() ? select(total > 0.0, reciprocal(total), 0.0) : reciprocal(total);
  write(weighted * inverse, o, {.mapping = mappingByName({B, H, Q, D}, o.shape(), /*isWrite=*/true), .tag = "write_o"});
  return kernel;
}

//===- Reference ------------------------------------------------------------------------===//

/// Where the rows of a problem's tensors lie.
class Rows {
public:
  Rows(const Problem &problem, const AttentionOptions &options) : problem(problem), options(options) {}

  int64_t heads(bool ofKeys) const { return problem.size(ofKeys && options.grouped ? "H_KV" : "H"); }
  /// The head of keys that a query head uses.
  int64_t keyHead(int64_t head) const { return head / (heads(false) / heads(true)); }
  size_t offset(int64_t batch, int64_t head, int64_t place, bool ofKeys) const {
    int64_t all = heads(ofKeys), length = problem.size(ofKeys ? "KV" : "Q");
    if (ofKeys && options.paged) {
      int64_t size = problem.size("PAGE"), pages = (length + size - 1) / size;
      auto page = static_cast<int64_t>(problem["table"].values[static_cast<size_t>(batch * pages + place / size)]);
      return static_cast<size_t>(((page * all + head) * size + place % size) * problem.size("D"));
    }
    int64_t row = options.sequenceFirst ? (batch * length + place) * all + head : (batch * all + head) * length + place;
    return static_cast<size_t>(row * problem.size("D"));
  }

private:
  const Problem &problem;
  const AttentionOptions &options;
};

/// One query's scores and how far off each may be; keys that it does not see are left out.
struct Scores {
  /// Where the rows of the keys, and of their values, begin.
  std::vector<size_t> rows;
  std::vector<double> values, errors;
  double largest = -std::numeric_limits<double>::infinity(), magnitude = 0;
};

Scores scoresOf(const Problem &problem, const AttentionOptions &options, int64_t b, int64_t h, int64_t i) {
  Rows rows(problem, options);
  int64_t depth = problem.size("D"), keys = problem.size("KV"), queries = problem.size("Q");
  const double *query = &problem["q"].values[rows.offset(b, h, i, false)];
  double scale = problem["scale"].values[0];
  constexpr double u = kF32Roundoff;
  Scores scores;
  if (options.lengths)
    keys = std::min(keys, static_cast<int64_t>(problem["lengths"].values[static_cast<size_t>(b)]));
  for (int64_t j = 0; j < keys; ++j) {
    if ((options.masks() && j > i) || (options.window && j <= i - problem.size("WINDOW")))
      continue;
    size_t row = rows.offset(b, rows.keyHead(h), j, true);
    const double *key = &problem["k"].values[row];
    double score = 0, magnitude = 0;
    for (int64_t d = 0; d != depth; ++d) {
      score += query[d] * key[d];
      magnitude += std::abs(query[d] * key[d]);
    }
    score *= scale;
    double error = scale * 2 * static_cast<double>(depth) * u * magnitude + 2 * u * std::abs(score);
    if (options.softCap) {
      // The slope of tanh is at most 1; the formula of `tanh_approx` is off by less than 16 roundoffs of 1.
      double cap = problem["cap"].values[0];
      score = cap * std::tanh(score / cap);
      error += 2 * u * std::abs(score) + 16 * u * cap;
    }
    if (options.bias)
      score += problem["bias"].values[static_cast<size_t>(((b * problem.size("H") + h) * queries + i) * keys + j)];
    if (options.alibi)
      score -= problem["slopes"].values[static_cast<size_t>(h)] * static_cast<double>(std::abs(i - j));
    error += 4 * u * std::abs(score);
    scores.rows.push_back(row);
    scores.values.push_back(score);
    scores.errors.push_back(error);
    scores.largest = std::max(scores.largest, score);
    scores.magnitude = std::max(scores.magnitude, std::abs(score));
  }
  return scores;
}

/// The row of the result for one query, and how far off an implementation may be.
///
/// A weight's relative error is its score's absolute one, some roundoffs of the exponent's terms, and those of a
/// rescaling for each tile, of which there are at most as many as keys. Before the second product a weight is rounded
/// to the type of the inputs, where it may also underflow. Sums are off by the usual bound.
void weightedRow(const Problem &problem, const Scores &scores, double *row, double *errors) {
  size_t depth = static_cast<size_t>(problem.size("D"));
  DType type = problem["v"].type;
  double count = static_cast<double>(problem.size("KV")), rounding = epsilon(type) / 2, tiny = decode(type, 1);
  double common = kF32Roundoff * (8 * scores.magnitude + 4 * count + 16), total = 0, totalError = 0;
  std::vector<double> weights;
  for (size_t n = 0; n != scores.rows.size(); ++n) {
    weights.push_back(std::exp(scores.values[n] - scores.largest));
    total += weights.back();
    totalError += weights.back() * (scores.errors[n] + common);
  }
  if (scores.rows.empty())
    return;
  double inverseError = totalError / total + (2 * count + 4) * kF32Roundoff;
  for (size_t d = 0; d != depth; ++d) {
    double sum = 0, error = 0;
    for (size_t n = 0; n != scores.rows.size(); ++n) {
      double value = problem["v"].values[scores.rows[n] + d];
      sum += weights[n] * value;
      double relative = scores.errors[n] + common + rounding + 2 * count * kF32Roundoff;
      error += std::abs(value) * (weights[n] * relative + tiny);
    }
    row[d] = sum / total;
    // Products of errors are below a tenth of their sum.
    errors[d] = 1.1 * (error / total + std::abs(row[d]) * inverseError) + 0x1p-126;
  }
}

Expected attentionReference(const AttentionOptions &options, const Problem &problem) {
  Rows rows(problem, options);
  size_t elements = static_cast<size_t>(problem.size("B") * problem.size("H") * problem.size("Q") * problem.size("D"));
  std::vector<double> values(elements), errors(elements);
  for (int64_t b = 0; b != problem.size("B"); ++b)
    for (int64_t h = 0; h != problem.size("H"); ++h)
      for (int64_t i = 0; i != problem.size("Q"); ++i) {
        size_t row = rows.offset(b, h, i, false);
        weightedRow(problem, scoresOf(problem, options, b, h, i), &values[row], &errors[row]);
      }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/false);
}

//===- Entries --------------------------------------------------------------------------===//

std::vector<ArgumentInfo> argumentsOf(const AttentionOptions &options, const Variant &variant) {
  auto shape = [&](const char *head, const char *sequence) {
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
  if (options.paged)
    list.push_back({.name = "table", .dims = {"B", "ceildiv(KV, PAGE)"}, .type = i32, .upTo = "PAGES - 1"});
  if (options.bias)
    list.push_back({"bias", {"B", "H", "Q", "KV"}, variant.input});
  if (options.alibi)
    list.push_back({"slopes", {"H"}, f32, false, Range{0.01, 0.5}});
  list.push_back({"scale", {}, f32, false, Range{0.0625, 0.25}});
  if (options.softCap)
    list.push_back({"cap", {}, f32, false, Range{2, 20}});
  list.push_back({"o", shape("H", "Q"), variant.output, true});
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
    entry.variants.push_back({"f16-f32", f16, f32});
  if (options.grouped)
    entry.sizes.insert(entry.sizes.begin() + 2, {"H_KV", 2});
  if (options.paged) { // a page is what an iteration takes; no tensor has KV, the most keys of a sequence, as an extent
    entry.sizes.insert(entry.sizes.end(), {{"PAGES", 16}, {"PAGE", 32}});
    entry.fixedSizes.insert(entry.fixedSizes.end(), {"KV", "PAGE"});
    entry.derivedSizes = {{"BLOCK_KV", "PAGE"}};
    std::erase_if(entry.tiles, [](const DefaultSize &tile) { return tile.name == "BLOCK_KV"; });
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
      entryOf("attention_gqa", "H / H_KV query heads share a head of k and v", {.grouped = true}),
      entryOf("attention_bshd", "tensors [B, S, H, D]", {.sequenceFirst = true}),
      entryOf("attention_lengths", "a sequence has lengths[B] keys", {.lengths = true}),
      entryOf("attention_paged",
              "keys and values in pages [PAGES, H_KV, PAGE, D] that table[B, …] lists, lengths[B] of them",
              {.grouped = true, .lengths = true, .paged = true}),
      entryOf("attention_gqa_causal_bshd", "all three at once",
              {.causal = true, .grouped = true, .sequenceFirst = true})};
  return entries;
}
