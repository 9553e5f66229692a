//===- AttentionBackward.cpp - attention_backward_dq, attention_backward_dkv ---------------------===//
//
// The slopes of attention (Dao 2023). Neither weights nor scores were kept: a weight is computed once more, from its
// score and the log-sum-exp of its query, and the slope of a score follows from it. With do the slope of o:
//
//   p = exp(scale · q·kᵀ - lse),   delta = sum(o · do),   ds = p · (do·vᵀ - delta)
//   dq = scale · ds·k,   dk = scale · dsᵀ·q,   dv = pᵀ·do
//
// Queries have one kernel, keys and values another, so that each sums in registers what it writes. The first also
// writes delta, which the second reads.
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

#include "soliton/support/Float.h"

#include <cmath>
#include <numbers>

using namespace soliton;
using namespace soliton::kernels;

namespace {

//===- The kernels ----------------------------------------------------------------------===//

/// BLOCK_Q rows of a head a workgroup, shared by WAVES waves, all of D in one tile; a loop walks the other sequence,
/// with `causal` as much of it as one of the rows sees.
std::vector<Constraint> constraintsOf(Expr rows, Expr tile, Expr looped, Expr step, const TilingOptions &loop) {
  auto [B, H, D, waves] = symbols<"B H D WAVES">();
  return {WorkgroupConstraint(rows, tile, 0),
          WorkgroupConstraint(H, 1, 1),
          WorkgroupConstraint(B, 1, 2),
          WorkgroupConstraint(D, 32 * sym::ceildiv(D, 32), 3, {.iters = 1}),
          TilingConstraint(looped, step, loop),
          WaveConstraint(rows, tile / waves),
          HardwareConstraint{}};
}

/// What both kernels are given.
struct Given {
  Given(Kernel &kernel, const Variant &variant, bool ofKeys) {
    auto [B, H, Q, KV, D] = symbols<"B H Q KV D">();
    // What a loop walks goes through shared memory.
    q = kernel.memory("q", {B, H, Q, D}, ofKeys ? shared : global, variant.input);
    k = kernel.memory("k", {B, H, KV, D}, ofKeys ? global : shared, variant.input);
    v = kernel.memory("v", {B, H, KV, D}, ofKeys ? global : shared, variant.input);
    if (!ofKeys)
      o = kernel.memory("o", {B, H, Q, D}, global, variant.input);
    slope = kernel.memory("do", {B, H, Q, D}, ofKeys ? shared : global, variant.input);
    lse = kernel.memory("lse", {B, H, Q}, global, f32);
    if (ofKeys)
      delta = kernel.memory("delta", {B, H, Q}, global, f32);
    scale = kernel.scalar("scale", f32);
  }
  MemoryRef q, k, v, o, slope, lse, delta;
  Value scale;
};

/// The weights of a tile of scores, from products of queries and keys.
Value weightsOf(Kernel &kernel, bool causal, const Given &given, Value products) {
  constexpr double log2e = std::numbers::log2e;
  auto [Q, KV] = symbols<"Q KV">();
  Value weights = exp2(products * (given.scale * log2e) - read(given.lse, {.tag = "read_lse"}) * log2e);
  if (!causal)
    return weights;
  std::vector<Expr> pair{Q, KV};
  return select(broadcast(kernel.self_index(KV), pair) <= broadcast(kernel.self_index(Q), pair), weights, 0.0);
}

Kernel buildQueries(const std::string &name, bool causal, const Variant &variant) {
  auto [B, H, Q, KV, D, BQ, BKV] = symbols<"B H Q KV D BLOCK_Q BLOCK_KV">();
  TilingOptions loop;
  if (causal)
    loop.iters = sym::ceildiv(sym::min(KV, BQ * (workgroup_id(0) + 1)), BKV);
  Kernel kernel{name, constraintsOf(Q, BQ, KV, BKV, loop)};
  Given given(kernel, variant, /*ofKeys=*/false);
  auto dq = kernel.memory("dq", {B, H, Q, D}, global, variant.output);
  auto deltas = kernel.memory("delta", {B, H, Q}, global, f32);

  Value query = read(given.q, {.tag = "read_q"}), slope = read(given.slope, {.tag = "read_do"});
  Value delta = sum(cast(read(given.o, {.tag = "read_o"}), f32) * cast(slope, f32), D);
  Value none = kernel.fill({B, H, Q, KV}, f32, 0.0);
  auto body = [&](Value acc) {
    Value products = mma(query, readAs(given.k, {B, H, KV, D}, "read_k"), none, {.tag = "mma_qk"});
    Value weights = weightsOf(kernel, causal, given, products);
    Value ofWeights = mma(slope, readAs(given.v, {B, H, KV, D}, "read_v"), none, {.tag = "mma_dov"});
    Value ofScores = cast(weights * (ofWeights - delta), variant.input);
    return mma(ofScores, readAs(given.k, {B, H, D, KV}, "read_k_by_d"), acc, {.tag = "mma_dsk"});
  };
  Value sum = kernel.iterate(KV, kernel.fill({B, H, Q, D}, f32, 0.0), body, {.tag = "kv_loop"});
  write(sum * given.scale, dq, {.tag = "write_dq"});
  write(delta, deltas, {.tag = "write_delta"});
  return kernel;
}

Kernel buildKeys(const std::string &name, bool causal, const Variant &variant) {
  auto [B, H, Q, KV, D, BQ, BKV] = symbols<"B H Q KV D BLOCK_Q BLOCK_KV">();
  TilingOptions loop;
  if (causal) { // no earlier query sees one of these keys
    Expr first = sym::floordiv(BKV * workgroup_id(0), BQ);
    loop = {.iters = sym::max(sym::ceildiv(Q, BQ) - first, 0), .start = BQ * first};
  }
  Kernel kernel{name, constraintsOf(KV, BKV, Q, BQ, loop)};
  Given given(kernel, variant, /*ofKeys=*/true);
  auto dk = kernel.memory("dk", {B, H, KV, D}, global, variant.output);
  auto dv = kernel.memory("dv", {B, H, KV, D}, global, variant.output);

  Value key = read(given.k, {.tag = "read_k"}), value = read(given.v, {.tag = "read_v"});
  Value none = kernel.fill({B, H, KV, Q}, f32, 0.0), zero = kernel.fill({B, H, KV, D}, f32, 0.0);
  auto body = [&](Value ofKeys, Value ofValues) {
    Value products = mma(key, readAs(given.q, {B, H, Q, D}, "read_q"), none, {.tag = "mma_kq"});
    Value weights = weightsOf(kernel, causal, given, products);
    Value ofWeights = mma(value, readAs(given.slope, {B, H, Q, D}, "read_do"), none, {.tag = "mma_vdo"});
    Value ofScores = cast(weights * (ofWeights - read(given.delta, {.tag = "read_delta"})), variant.input);
    return std::tuple{mma(ofScores, readAs(given.q, {B, H, D, Q}, "read_q_by_d"), ofKeys, {.tag = "mma_dsq"}),
                      mma(cast(weights, variant.input), readAs(given.slope, {B, H, D, Q}, "read_do_by_d"), ofValues,
                          {.tag = "mma_pdo"})};
  };
  auto [ofKeys, ofValues] = kernel.iterate(Q, {zero, zero}, body, {.tag = "q_loop"});
  write(ofKeys * given.scale, dk, {.tag = "write_dk"});
  write(ofValues, dv, {.tag = "write_dv"});
  return kernel;
}

//===- Reference ------------------------------------------------------------------------===//

/// A number and how far off an implementation may be.
struct Bounded {
  double value = 0, error = 0;
};

/// One head of one sequence, pair by pair.
class Head {
public:
  Head(const Problem &problem, bool causal, size_t head)
      : problem(problem), causal(causal), head(head), depth(static_cast<size_t>(problem.size("D"))),
        queries(static_cast<size_t>(problem.size("Q"))), keys(static_cast<size_t>(problem.size("KV"))) {}

  const double *row(const char *name, size_t place) const {
    size_t rows = name[0] == 'k' || name[0] == 'v' ? keys : queries;
    return &problem[name].values[(head * rows + place) * depth];
  }
  /// Σ x·y of two rows, off by 2·D·u·Σ|x||y|.
  Bounded product(const double *x, const double *y) const {
    Bounded sum;
    for (size_t d = 0; d != depth; ++d) {
      sum.value += x[d] * y[d];
      sum.error += 2 * static_cast<double>(depth) * kF32Roundoff * std::abs(x[d] * y[d]);
    }
    return sum;
  }
  Bounded weight(size_t i, size_t j) const {
    if (causal && j > i)
      return {};
    double scale = problem["scale"].values[0], lse = problem["lse"].values[head * queries + i];
    Bounded score = product(row("q", i), row("k", j));
    double exponent = scale * score.value - lse, weight = std::exp(exponent);
    // Four roundings of each of the exponent's terms, and the exponential's own.
    double terms = std::abs(scale * score.value) + std::abs(lse);
    return {weight, weight * (scale * score.error + kF32Roundoff * (4 * terms + 8)) * 1.1};
  }
  Bounded scoreSlope(size_t i, size_t j, const Bounded &weight, const Bounded &delta) const {
    Bounded ofWeight = product(row("do", i), row("v", j));
    double rest = ofWeight.value - delta.value;
    double error = ofWeight.error + delta.error + 2 * kF32Roundoff * std::abs(rest);
    return {weight.value * rest, weight.error * std::abs(rest) + (weight.value + weight.error) * error};
  }

  const Problem &problem;
  const bool causal;
  const size_t head, depth, queries, keys;
};

/// The sum of a row's products with a factor that is rounded to the type of the inputs first.
void addRow(const Head &head, Bounded factor, const double *row, size_t terms, double *values, double *errors) {
  factor.error += halfUlp(head.problem["q"].type, std::abs(factor.value) + factor.error);
  double sumError = 2 * static_cast<double>(terms) * kF32Roundoff;
  for (size_t d = 0; d != head.depth; ++d) {
    values[d] += factor.value * row[d];
    errors[d] += (factor.error + sumError * (std::abs(factor.value) + factor.error)) * std::abs(row[d]);
  }
}

/// Values that are multiplied by a scale at the end, with two more roundings.
struct Sums {
  explicit Sums(size_t count) : values(count), errors(count) {}
  void scale(double by) {
    for (size_t i = 0; i != values.size(); ++i) {
      values[i] *= by;
      errors[i] = by * errors[i] + 2 * kF32Roundoff * std::abs(values[i]);
    }
  }
  Expected rounded(const Problem &problem, const char *name) {
    return roundedOutput(problem, name, std::move(values), std::move(errors), /*exact=*/false);
  }
  std::vector<double> values, errors;
};

Expected queriesReference(bool causal, const Problem &problem) {
  Sums slopes(problem["q"].values.size()), deltas(problem["lse"].values.size());
  for (size_t h = 0; h != static_cast<size_t>(problem.size("B") * problem.size("H")); ++h) {
    Head head(problem, causal, h);
    for (size_t i = 0; i != head.queries; ++i) {
      size_t at = h * head.queries + i;
      Bounded delta = head.product(head.row("o", i), head.row("do", i));
      deltas.values[at] = delta.value;
      deltas.errors[at] = delta.error;
      for (size_t j = 0; j != head.keys; ++j)
        addRow(head, head.scoreSlope(i, j, head.weight(i, j), delta), head.row("k", j), head.keys,
               &slopes.values[at * head.depth], &slopes.errors[at * head.depth]);
    }
  }
  slopes.scale(problem["scale"].values[0]);
  Expected expected = slopes.rounded(problem, "dq");
  expected.more = {deltas.rounded(problem, "delta")};
  return expected;
}

Expected keysReference(bool causal, const Problem &problem) {
  Sums ofKeys(problem["k"].values.size()), ofValues(problem["k"].values.size());
  for (size_t h = 0; h != static_cast<size_t>(problem.size("B") * problem.size("H")); ++h) {
    Head head(problem, causal, h);
    for (size_t j = 0; j != head.keys; ++j)
      for (size_t i = 0; i != head.queries; ++i) {
        size_t at = (h * head.keys + j) * head.depth;
        Bounded weight = head.weight(i, j), delta{problem["delta"].values[h * head.queries + i]};
        addRow(head, head.scoreSlope(i, j, weight, delta), head.row("q", i), head.queries, &ofKeys.values[at],
               &ofKeys.errors[at]);
        addRow(head, weight, head.row("do", i), head.queries, &ofValues.values[at], &ofValues.errors[at]);
      }
  }
  ofKeys.scale(problem["scale"].values[0]);
  Expected expected = ofKeys.rounded(problem, "dk");
  expected.more = {ofValues.rounded(problem, "dv")};
  return expected;
}

//===- Entries --------------------------------------------------------------------------===//

std::vector<ArgumentInfo> argumentsOf(bool ofKeys, const Variant &variant) {
  std::vector<std::string> query{"B", "H", "Q", "D"}, key{"B", "H", "KV", "D"}, row{"B", "H", "Q"};
  std::vector<ArgumentInfo> list{{"q", query, variant.input}, {"k", key, variant.input}, {"v", key, variant.input}};
  if (!ofKeys)
    list.push_back({"o", query, variant.input});
  list.push_back({"do", query, variant.input});
  // Weights stay numbers of f16 whatever is drawn.
  list.push_back({"lse", row, f32, false, Range{4, 8}});
  if (ofKeys)
    list.push_back({"delta", row, f32});
  list.push_back({"scale", {}, f32, false, Range{0.02, 0.05}});
  if (ofKeys)
    list.insert(list.end(), {{"dk", key, variant.output, true}, {"dv", key, variant.output, true}});
  else
    list.insert(list.end(), {{"dq", query, variant.output, true}, {"delta", row, f32, true}});
  return list;
}

KernelEntry entryOf(std::string name, std::string description, bool ofKeys, bool causal) {
  // Sums of keys and of values take twice the registers of those of queries.
  std::vector<DefaultSize> narrow{{"BLOCK_KV", 32}};
  if (ofKeys)
    narrow = {{"BLOCK_Q", 32}, {"BLOCK_KV", 128}, {"WAVES", 8}};
  return {.name = name,
          .family = "attention",
          .description = std::move(description),
          .sizes = {{"B", 1}, {"H", 4}, {"Q", 128}, {"KV", 256}, {"D", 64}},
          .fixedSizes = {"D"},
          .tiles = {{"BLOCK_Q", 64}, {"BLOCK_KV", 64}, {"WAVES", 4}},
          .narrowTiles = narrow,
          .variants = {{"f16", f16, f16}, {"bf16", bf16, bf16}},
          .arguments = [ofKeys](const Variant &variant) { return argumentsOf(ofKeys, variant); },
          .build =
              [=](const Variant &variant) {
                return ofKeys ? buildKeys(name, causal, variant) : buildQueries(name, causal, variant);
              },
          .reference =
              [=](const Problem &problem) {
                return ofKeys ? keysReference(causal, problem) : queriesReference(causal, problem);
              }};
}

} // namespace

const std::vector<KernelEntry> &kernels::attentionBackwardEntries() {
  static const std::vector<KernelEntry> entries{
      entryOf("attention_backward_dq", "dq from do, the slope of o, and lse; delta[B, H, Q] = sum(o · do) too",
              /*ofKeys=*/false, /*causal=*/false),
      entryOf("attention_backward_dkv", "dk and dv from do, lse and delta", /*ofKeys=*/true, /*causal=*/false),
      entryOf("attention_causal_backward_dq", "`attention_backward_dq` of `attention_causal`", false, true),
      entryOf("attention_causal_backward_dkv", "`attention_backward_dkv` of `attention_causal`", true, true)};
  return entries;
}
