//===- Overlap.h - Arrays that share memory ----------------------------------===//
//
// Whether two views share bytes, and whether they are the very same array.
//
//   findOverlap(x[0:32], x[8:40])   ->  [0, 8192) and [2048, 10240), not exact
//   findOverlap(x[:, :32], x[:, 32:])  ->  nothing: rows between rows
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/Tensor.h"

namespace soliton::rt {

/// A dimension along which neighbours lie closer than what the dimensions of smaller strides span, so that elements may
/// share memory; nothing where every element has a place of its own.
std::optional<int> dimThatOverlaps(const Tensor &tensor);

struct Overlap {
  /// Same elements at the same places.
  bool exact = false;
  /// Bytes of each, counted from where the lower one starts.
  std::array<uint64_t, 2> first{}, second{};
};

/// Nothing where they share no byte. Arrays with gaps in other patterns than those above count as if they had none.
std::optional<Overlap> findOverlap(const Tensor &a, const Tensor &b);

} // namespace soliton::rt
