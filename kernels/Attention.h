//===- Attention.h - What the kernels of the attention family differ in --------------------===//
#pragma once

#include "kernels/Kernels.h"

namespace soliton::kernels {

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
  /// A bias for the bucket that the distance of key and query is in, and the head; distances beyond MAX_DISTANCE are
  /// in the last ones.
  bool buckets = false;
  /// Stacks of N sequences, tensors [B, N, S, H, D]: mask[B, N, KV] is added to the scores too.
  bool stacked = false;
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
  /// Sequences lie one behind the other, tensors are [S, H, D]; q_starts[B + 1] and k_starts[B + 1] say where.
  bool packed = false;
  /// lse[B, H, Q], the logarithm of the sum of the exponentials of each query's scores, is written too.
  bool logSumExp = false;

  /// Data say how many keys there are.
  bool hasLength() const { return lengths || packed; }
  bool masks() const { return causal || window; }
  /// A query may see no key at all.
  bool maySeeNone() const { return window || hasLength(); }
  /// Scores are more than scaled products.
  bool changesScores() const { return softCap || bias || alibi || buckets || stacked; }
};

/// The result in double precision, and how far off an implementation may be.
Expected attentionReference(const AttentionOptions &options, const Problem &problem);

} // namespace soliton::kernels
