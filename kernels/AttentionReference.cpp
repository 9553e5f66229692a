//===- AttentionReference.cpp - Attention one query after the other ---------------------------===//
//
// In double precision, from the definition: all scores of a query, their largest, the weights, the weighted rows.
// Beside each element stands how far off an implementation in f32 with rounded weights may be.
//
//===----------------------------------------------------------------------===//
#include "kernels/Attention.h"

#include "soliton/support/Float.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace soliton;
using namespace soliton::kernels;

namespace {

/// Where the rows of a problem's tensors lie.
class Rows {
public:
  Rows(const Problem &problem, const AttentionOptions &options) : problem(problem), options(options) {}

  int64_t heads(bool ofKeys) const { return problem.size(ofKeys && options.grouped ? "H_KV" : "H"); }
  /// The head of keys that a query head uses.
  int64_t keyHead(int64_t head) const { return head / (heads(false) / heads(true)); }
  /// Queries, or keys, of a sequence.
  int64_t count(int64_t batch, bool ofKeys) const {
    int64_t all = problem.size(ofKeys ? "KV" : "Q");
    if (options.packed)
      return start(batch + 1, ofKeys) - start(batch, ofKeys);
    return ofKeys && options.lengths
               ? std::min(all, static_cast<int64_t>(problem["lengths"].values[static_cast<size_t>(batch)]))
               : all;
  }
  size_t offset(int64_t batch, int64_t head, int64_t place, bool ofKeys) const {
    int64_t all = heads(ofKeys), length = problem.size(ofKeys ? "KV" : "Q");
    if (ofKeys && options.paged) {
      int64_t size = problem.size("PAGE"), pages = (length + size - 1) / size;
      auto page = static_cast<int64_t>(problem["table"].values[static_cast<size_t>(batch * pages + place / size)]);
      return static_cast<size_t>(((page * all + head) * size + place % size) * problem.size("D"));
    }
    if (options.packed)
      return static_cast<size_t>(((start(batch, ofKeys) + place) * all + head) * problem.size("D"));
    int64_t row = options.sequenceFirst || options.stacked ? (batch * length + place) * all + head
                                                           : (batch * all + head) * length + place;
    return static_cast<size_t>(row * problem.size("D"));
  }

private:
  int64_t start(int64_t batch, bool ofKeys) const {
    return static_cast<int64_t>(problem[ofKeys ? "k_starts" : "q_starts"].values[static_cast<size_t>(batch)]);
  }

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
  int64_t depth = problem.size("D"), keys = rows.count(b, true), queries = rows.count(b, false);
  // The last query of a packed sequence sees its last key.
  int64_t last = options.packed ? i + keys - queries : i;
  const double *query = &problem["q"].values[rows.offset(b, h, i, false)];
  double scale = problem["scale"].values[0];
  constexpr double u = kF32Roundoff;
  Scores scores;
  for (int64_t j = 0; j < keys; ++j) {
    if ((options.masks() && j > last) || (options.window && j <= i - problem.size("WINDOW")))
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
    if (options.bias) {
      int64_t outer = options.stacked ? b / problem.size("N") : b;
      score += problem["bias"].values[static_cast<size_t>(((outer * problem.size("H") + h) * queries + i) * keys + j)];
    }
    if (options.stacked)
      score += problem["mask"].values[static_cast<size_t>(b * keys + j)];
    if (options.buckets) {
      int64_t most = problem.size("MAX_DISTANCE"), distance = std::clamp(j - i, -most, most);
      auto bucket = static_cast<int64_t>(problem["buckets"].values[static_cast<size_t>(distance + most)]);
      score += problem["bias"].values[static_cast<size_t>(bucket * problem.size("H") + h)];
    }
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

/// The logarithm of the sum of a query's weights, before the largest score is taken off.
struct LogSumExp {
  double value = 0, error = 0;
};

/// The row of the result for one query, and how far off an implementation may be.
///
/// A weight's relative error is its score's absolute one, some roundoffs of the exponent's terms, and those of a
/// rescaling for each tile, of which there are at most as many as keys. Before the second product a weight is rounded
/// to the type of the inputs, where it may also underflow. Sums are off by the usual bound.
LogSumExp weightedRow(const Problem &problem, const Scores &scores, double *row, double *errors) {
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
    return {};
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
  double lse = scores.largest + std::log(total);
  return {lse, inverseError + 8 * kF32Roundoff * (std::abs(scores.largest) + std::abs(lse) + 1)};
}
} // namespace

Expected kernels::attentionReference(const AttentionOptions &options, const Problem &problem) {
  Rows rows(problem, options);
  // A stack is as many sequences.
  int64_t sequences = problem.size("B") * (options.stacked ? problem.size("N") : 1);
  size_t elements = static_cast<size_t>(problem.size("H") * problem.size("Q") * problem.size("D"));
  elements *= options.packed ? 1 : static_cast<size_t>(sequences);
  std::vector<double> values(elements), errors(elements), lse, lseErrors;
  for (int64_t b = 0; b != sequences; ++b)
    for (int64_t h = 0; h != problem.size("H"); ++h)
      for (int64_t i = 0; i != rows.count(b, false); ++i) {
        size_t row = rows.offset(b, h, i, false);
        LogSumExp sum = weightedRow(problem, scoresOf(problem, options, b, h, i), &values[row], &errors[row]);
        lse.push_back(sum.value);
        lseErrors.push_back(sum.error);
      }
  Expected expected = roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/false);
  if (options.logSumExp)
    expected.more = {roundedOutput(problem, "lse", std::move(lse), std::move(lseErrors), /*exact=*/false)};
  return expected;
}
