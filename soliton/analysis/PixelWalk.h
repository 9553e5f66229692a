//===- PixelWalk.h - Tiles whose rows are pixels that follow each other ---------------===//
//
// An engine that copies boxes may know images: it copies some channels of so many pixels, from left to right, from row
// to row, from image to image, at the same place of the window that a filter has there. So the windows of a
// convolution come as rows of a matrix, and nobody computes where they lie. For 3 × 3 filters on images of 28 × 28
// pixels and 512 channels, row m = 784·n + 28·p + q and column k = 1536·r + 512·s + c of the matrix:
//
//   x[n, p - 1 + r, q - 1 + s, c]          lower = [-1, -1]   upper = [-1, -1]   steps = [1, 1]
//                                          pixel = [k mod 512, q - 1, p - 1, n]   offsets = [s, r]     innermost first
//
// Which walk it is, or that it is none, follows from the digits of places (PlaceDigits.h): strides, padding, dilation,
// filters from the right to the left and images of one, two or three dimensions are all the same to it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/PlaceDigits.h"

namespace soliton {

/// All lists innermost first.
struct PixelWalk {
  SmallVector<MemoryDim> dims;
  /// Where the first pixel of a box lies, in places of the tile's first element.
  SmallVector<sym::Expr> pixel;
  /// Of dimensions between channels and images: where pixels begin and, counted from the last place, end, how far they
  /// are apart, and how far from a pixel lies what is copied.
  SmallVector<int64_t> lower, upper, steps;
  SmallVector<sym::Expr> offsets;
};

/// The walk, or why there is none.
struct PixelWalkPlan {
  std::optional<PixelWalk> walk;
  std::string reason;
};

/// The walk of a tile [pixels, channels] of a memory of these dimensions, outermost first, of which a box takes
/// `channels` at a time.
PixelWalkPlan findPixelWalk(ArrayRef<MemoryDim> dims, ArrayRef<sym::Range> places, int64_t channels);

} // namespace soliton
