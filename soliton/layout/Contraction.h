//===- Contraction.h - In which order a matrix multiplication walks K ----------------===//
//
// A sum does not care which k is which, as long as both operands agree. An *order* says which k of the tile stands at
// each place of the instruction's own K, and in which strides further instructions follow. Eight f16 of a 16x16x32
// instruction, `reg = (8 K 1), lane = (16 M 1)(4 K 8)`, for a tile of 64:
//
//   native                              reg = (8 K 1)(2 K 32),        lane = (16 M 1)(4 K 8)
//   packed, two steps side by side      reg = (16 K 1),               lane = (16 M 1)(4 K 16)
//   as an accumulator lies              reg = (4 K 1)(4 K 16),        lane = (16 M 1)(4 K 4)
//
// The last makes an accumulator of one multiplication an operand of the next without moving anything.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"

namespace soliton {

struct ContractionOrder {
  /// Digits of the instruction's own K, least first: where each stands there, and its stride in the tile.
  struct Place {
    int64_t extent = 1, native = 1, stride = 1;
    bool operator==(const Place &) const = default;
  };
  /// Instructions that follow each other, innermost first.
  struct Step {
    int64_t extent = 1, stride = 1;
    bool operator==(const Step &) const = default;
  };
  std::vector<Place> places;
  std::vector<Step> steps;
  bool operator==(const ContractionOrder &) const = default;

  /// `native 8@1 4@8, steps 2@32`.
  std::string str() const;
};

/// K as the instruction counts it; `tile` is a multiple of the fragment's extent along `k`.
ContractionOrder nativeOrder(const Layout &fragment, Dim k, int64_t tile);

/// A lane has the elements of `together` instructions side by side: registers first, then those instructions, then
/// lanes.
ContractionOrder packedOrder(const Layout &fragment, Dim k, int64_t tile, int64_t together);

/// Blocks of `block` neighbouring elements stay together and in their order inside; of `together` instructions, each of
/// `native` elements, a lane's blocks lie side by side. For 16x16x128 with blocks of 32 and two instructions together
/// the first has blocks 0, 2, 4, 6 and the second 1, 3, 5, 7.
ContractionOrder blockOrder(int64_t native, int64_t block, int64_t tile, int64_t together);
/// An order of whole blocks as an order of what there is one of for each: their scales.
ContractionOrder orderOfBlocks(const ContractionOrder &order, int64_t block);

/// The order in which a value that is `held` so is an operand as it stands; nothing where its lanes hold other things
/// than the fragment's. The dims of both are named alike.
std::optional<ContractionOrder> orderAsHeld(const Layout &fragment, Dim k, const Layout &held);

/// The fragment with its K in that order and one register digit per step. Works for both operands of an instruction,
/// whose K places are the same.
Layout inOrder(const Layout &fragment, Dim k, const ContractionOrder &order);

} // namespace soliton
