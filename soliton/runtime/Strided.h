//===- Strided.h - Elements between a dense array and the places of a view ------------===//
//
// Tools and references think of an array as rows without gaps; a kernel may take one whose elements lie apart. What is
// between them belongs to somebody else and must stay as it is.
//
//   view = f16[2, 3] with strides [4, 1]     spread(view, a b c d e f)  ==  a b c · d e f
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/Tensor.h"

#include <vector>

namespace soliton::rt {

/// The bytes of the view's memory with these elements, in row-major order, at its places and `gap` elsewhere. Of
/// elements that share a place the last one stays. The view's elements have whole bytes, and its size has a meaning.
std::vector<std::byte> spread(const Tensor &view, std::span<const std::byte> dense, std::byte gap);

/// The elements at the places of the view, in row-major order.
std::vector<std::byte> gather(const Tensor &view, std::span<const std::byte> placed);

/// Whether all that lies between the elements is still `gap`.
bool isGapIntact(const Tensor &view, std::span<const std::byte> placed, std::byte gap);

} // namespace soliton::rt
