//===- AttentionDecode.cpp - attention_decode_split, attention_decode_combine --------------------===//
//
// Attention of one query a head, in two phases. A single query leaves most of a chip idle, so that SPLITS workgroups
// share its keys: each writes the weighted mean of its values and the log-sum-exp of its scores. The second kernel
// weights the means by the exponentials of those.
//
//   part[b, s, h] = softmax(scale · q·k[s]ᵀ) · v[s],   lse[b, s, h] = log(sum(exp(scale · q·k[s]ᵀ)))
//   o[b, h] = sum(part · exp(lse)) / sum(exp(lse)),   along the splits
//
// The H / H_KV query heads that share a head of keys are the rows of one product.
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

#include "soliton/support/Float.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

using namespace soliton;
using namespace soliton::kernels;

namespace {

/// The log-sum-exp of no keys, from which differences are still numbers.
constexpr double kLowest = -1e30;
constexpr double kLog2e = std::numbers::log2e;

//===- The kernels ----------------------------------------------------------------------===//

Kernel buildSplit(const Variant &variant) {
  auto [B, S, HKV, G, KV, D, BKV] = symbols<"B SPLITS H_KV GROUP KV D BLOCK_KV">();
  Expr share = sym::ceildiv(KV, S), first = share * workgroup_id(0);
  Kernel kernel{"attention_decode_split",
                {WorkgroupConstraint(S, 1, 0), WorkgroupConstraint(HKV, 1, 1), WorkgroupConstraint(B, 1, 2),
                 WorkgroupConstraint(G, 16 * sym::ceildiv(G, 16), 3, {.iters = 1}),
                 WorkgroupConstraint(D, 32 * sym::ceildiv(D, 32), 4, {.iters = 1}),
                 TilingConstraint(KV, BKV, {.start = first}), HardwareConstraint{}}};
  auto q = kernel.memory("q", {B, HKV, G, D}, global, variant.input);
  auto k = kernel.memory("k", {B, HKV, KV, D}, shared, variant.input);
  auto v = kernel.memory("v", {B, HKV, KV, D}, shared, variant.input);
  auto lengths = kernel.memory("lengths", {B}, global, i32);
  Value scale = kernel.scalar("scale", f32);
  auto part = kernel.memory("part", {B, S, HKV, G, D}, global, f32);
  auto lse = kernel.memory("lse", {B, S, HKV, G}, global, f32);

  Value length = read_at(lengths, {workgroup_id(2)}, {.tag = "read_length"});
  Value last = apply_expr(length, [&](Expr keys) { return sym::min(sym::min(keys, KV), first + share); });
  Value query = read(q, {.tag = "read_q"}), factor = scale * kLog2e;
  std::vector<Expr> row{B, HKV, G}, pairs{B, HKV, G, KV}, sums{B, HKV, G, D};
  auto body = [&](Value before, Value weightBefore, Value sumBefore) {
    Value key = readAs(k, {B, HKV, KV, D}, "read_k");
    Value products = mma(query, key, kernel.fill(pairs, f32, 0.0), {.tag = "mma_qk"});
    Value scores = select(kernel.self_index(KV) < last, products * factor, -std::numeric_limits<double>::infinity());
    Value largest = max(scores, before, KV);
    Value shrink = exp2(before - largest), weights = exp2(scores - largest);
    Value value = readAs(v, {B, HKV, D, KV}, "read_v");
    return std::tuple{largest, sum(weights, weightBefore * shrink, KV),
                      mma(cast(weights, variant.input), value, sumBefore * shrink, {.tag = "mma_pv"})};
  };
  // No more than a share has, whatever a length says: so tiles that divide it need no bounds.
  Expr iterations = sym::ceildiv(index_of(last) - first, BKV), whole = sym::ceildiv(share, BKV);
  auto [largest, total, weighted] =
      kernel.iterate(KV, {kernel.fill(row, f32, kLowest), kernel.fill(row, f32, 0.0), kernel.fill(sums, f32, 0.0)},
                     body, {.tag = "kv_loop", .count = sym::max(sym::min(iterations, whole), 0)});
  Value hasKeys = total > 0.0;
  Value mean = weighted * select(hasKeys, reciprocal(total), 0.0);
  Value logarithm = select(hasKeys, (largest + log2(total)) * std::numbers::ln2, kLowest);
  write(broadcast(mean, part.shape()), part, {.tag = "write_part"});
  write(broadcast(logarithm, lse.shape()), lse, {.tag = "write_lse"});
  return kernel;
}

Kernel buildCombine(const Variant &variant) {
  auto [B, S, H, D, BH, BS] = symbols<"B SPLITS H D BLOCK_H BLOCK_S">();
  Kernel kernel{"attention_decode_combine",
                {WorkgroupConstraint(H, BH, 0), WorkgroupConstraint(B, 1, 1), TilingConstraint(S, BS),
                 WaveConstraint(H, BH / 4), HardwareConstraint{}}};
  auto part = kernel.memory("part", {B, S, H, D}, global, f32), lse = kernel.memory("lse", {B, S, H}, global, f32);
  auto o = kernel.memory("o", {B, H, D}, global, variant.output);
  auto body = [&](Value before, Value weightBefore, Value sumBefore) {
    Value exponents = readAs(lse, {B, H, S}, "read_lse") * kLog2e;
    Value largest = max(exponents, before, S);
    Value shrink = exp2(before - largest), weights = exp2(exponents - largest);
    Value means = readAs(part, {B, H, D, S}, "read_part");
    return std::tuple{largest, sum(weights, weightBefore * shrink, S),
                      sum(means * broadcast(weights, {B, H, D, S}), sumBefore * shrink, S)};
  };
  auto [largest, total, weighted] = kernel.iterate(
      S, {kernel.fill({B, H}, f32, kLowest * kLog2e), kernel.fill({B, H}, f32, 0.0), kernel.fill({B, H, D}, f32, 0.0)},
      body, {.tag = "split_loop"});
  write(weighted / total, o, {.tag = "write_o"});
  return kernel;
}

//===- References -----------------------------------------------------------------------===//

/// Weights e^(score - largest) of some rows, of which a mean is taken.
struct Weighted {
  std::vector<size_t> rows;
  std::vector<double> scores, errors;
};

/// The mean of rows by their weights, the log-sum-exp, and how far off an implementation may be: a weight's relative
/// error is its score's absolute one, some roundoffs of the exponent's terms, and those of a rescaling for each tile.
/// `rounding` is that of the weights before they are multiplied.
struct Mean {
  Mean(const Weighted &weighted, const std::vector<double> &values, size_t depth, DType rounding) {
    mean.resize(depth);
    meanErrors.resize(depth);
    double largest = *std::ranges::max_element(weighted.scores), magnitude = 0, total = 0, totalError = 0;
    for (double score : weighted.scores)
      magnitude = std::max(magnitude, score > kLowest / 2 ? std::abs(score) : 0);
    double count = static_cast<double>(weighted.rows.size()), u = kF32Roundoff;
    double common = u * (8 * magnitude + 4 * count + 16), roundoff = epsilon(rounding) / 2, tiny = decode(rounding, 1);
    for (size_t n = 0; n != weighted.rows.size(); ++n) {
      double weight = std::exp(weighted.scores[n] - largest), error = weight * (weighted.errors[n] + common);
      total += weight;
      totalError += error;
      for (size_t d = 0; d != depth; ++d) {
        double value = values[weighted.rows[n] + d];
        mean[d] += weight * value;
        meanErrors[d] += std::abs(value) * (error + weight * (roundoff + 2 * count * u) + tiny);
      }
    }
    double inverseError = totalError / total + (2 * count + 4) * u;
    for (size_t d = 0; d != depth; ++d) {
      mean[d] /= total;
      meanErrors[d] = 1.1 * (meanErrors[d] / total + std::abs(mean[d]) * inverseError) + 0x1p-126;
    }
    lse = largest + std::log(total);
    lseError = inverseError + 8 * u * (std::abs(largest) + std::abs(lse) + 1);
  }
  std::vector<double> mean, meanErrors;
  double lse, lseError;
};

/// The scores of a query with the keys from `first` to `last`.
Weighted scoresOf(const Problem &problem, size_t query, size_t head, size_t first, size_t last) {
  size_t depth = static_cast<size_t>(problem.size("D")), keys = static_cast<size_t>(problem.size("KV"));
  double scale = problem["scale"].values[0];
  Weighted weighted;
  for (size_t j = first; j < last; ++j) {
    size_t row = (head * keys + j) * depth;
    double score = 0, magnitude = 0;
    for (size_t d = 0; d != depth; ++d) {
      double product = scale * problem["q"].values[query * depth + d] * problem["k"].values[row + d];
      score += product;
      magnitude += std::abs(product);
    }
    weighted.rows.push_back(row);
    weighted.scores.push_back(score);
    weighted.errors.push_back(kF32Roundoff * (2 * static_cast<double>(depth) * magnitude + 4 * std::abs(score)));
  }
  return weighted;
}

Expected splitReference(const Problem &problem) {
  size_t splits = static_cast<size_t>(problem.size("SPLITS")), heads = static_cast<size_t>(problem.size("H_KV"));
  size_t group = static_cast<size_t>(problem.size("GROUP")), depth = static_cast<size_t>(problem.size("D"));
  size_t keys = static_cast<size_t>(problem.size("KV")), share = (keys + splits - 1) / splits;
  std::vector<double> values, errors, lse, lseErrors;
  for (size_t b = 0; b != static_cast<size_t>(problem.size("B")); ++b)
    for (size_t s = 0; s != splits; ++s)
      for (size_t h = 0; h != heads * group; ++h) {
        size_t last = std::min({(s + 1) * share, keys, static_cast<size_t>(problem["lengths"].values[b])});
        size_t query = b * heads * group + h;
        Weighted weighted = scoresOf(problem, query, query / group, s * share, last);
        if (weighted.rows.empty()) {
          values.resize(values.size() + depth);
          errors.resize(errors.size() + depth);
          lse.push_back(roundTo(DType::f32, kLowest));
          lseErrors.push_back(0);
          continue;
        }
        Mean mean(weighted, problem["v"].values, depth, problem["v"].type);
        values.insert(values.end(), mean.mean.begin(), mean.mean.end());
        errors.insert(errors.end(), mean.meanErrors.begin(), mean.meanErrors.end());
        lse.push_back(mean.lse);
        lseErrors.push_back(mean.lseError);
      }
  Expected expected = roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/false);
  expected.more = {roundedOutput(problem, "lse", std::move(lse), std::move(lseErrors), /*exact=*/false)};
  return expected;
}

Expected combineReference(const Problem &problem) {
  size_t splits = static_cast<size_t>(problem.size("SPLITS")), heads = static_cast<size_t>(problem.size("H"));
  size_t depth = static_cast<size_t>(problem.size("D"));
  std::vector<double> values, errors;
  for (size_t row = 0; row != static_cast<size_t>(problem.size("B")) * heads; ++row) {
    Weighted weighted;
    for (size_t s = 0; s != splits; ++s) {
      size_t at = (row / heads * splits + s) * heads + row % heads;
      weighted.rows.push_back(at * depth);
      weighted.scores.push_back(problem["lse"].values[at]);
      weighted.errors.push_back(0);
    }
    Mean mean(weighted, problem["part"].values, depth, DType::f32);
    values.insert(values.end(), mean.mean.begin(), mean.mean.end());
    errors.insert(errors.end(), mean.meanErrors.begin(), mean.meanErrors.end());
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/false);
}

//===- Entries --------------------------------------------------------------------------===//

KernelEntry splitEntry() {
  return {.name = "attention_decode_split",
          .family = "attention",
          .description = "one query a head, GROUP heads share one of k and v, lengths[B] keys in SPLITS parts: of each "
                         "part the result and lse",
          .sizes = {{"B", 2}, {"H_KV", 2}, {"GROUP", 4}, {"SPLITS", 4}, {"KV", 512}, {"D", 64}},
          .fixedSizes = {"GROUP", "D"},
          .tiles = {{"BLOCK_KV", 64}},
          .narrowTiles = {{"BLOCK_KV", 32}},
          .variants = {{"f16", f16, f32}, {"bf16", bf16, f32}},
          .arguments = [](const Variant &variant) -> std::vector<ArgumentInfo> {
            return {{"q", {"B", "H_KV", "GROUP", "D"}, variant.input},
                    {"k", {"B", "H_KV", "KV", "D"}, variant.input},
                    {"v", {"B", "H_KV", "KV", "D"}, variant.input},
                    {.name = "lengths", .dims = {"B"}, .type = i32, .upTo = "KV"},
                    {"scale", {}, f32, false, Range{0.0625, 0.25}},
                    {"part", {"B", "SPLITS", "H_KV", "GROUP", "D"}, f32, true},
                    {"lse", {"B", "SPLITS", "H_KV", "GROUP"}, f32, true}};
          },
          .build = buildSplit,
          .reference = splitReference};
}

KernelEntry combineEntry() {
  return {.name = "attention_decode_combine",
          .family = "attention",
          .description = "o[B, H, D] from the parts that `attention_decode_split` writes",
          .sizes = {{"B", 2}, {"H", 8}, {"SPLITS", 4}, {"D", 64}},
          .fixedSizes = {"D"},
          .tiles = {{"BLOCK_H", 4}, {"BLOCK_S", 8}},
          .variants = {{"f16", f16, f16}, {"bf16", bf16, bf16}, {"f32", f32, f32}},
          .arguments = [](const Variant &variant) -> std::vector<ArgumentInfo> {
            return {{"part", {"B", "SPLITS", "H", "D"}, f32},
                    {"lse", {"B", "SPLITS", "H"}, f32, false, Range{-4, 4}},
                    {"o", {"B", "H", "D"}, variant.output, true}};
          },
          .build = buildCombine,
          .reference = combineReference};
}

} // namespace

const std::vector<KernelEntry> &kernels::attentionDecodeEntries() {
  static const std::vector<KernelEntry> entries{splitEntry(), combineEntry()};
  return entries;
}
