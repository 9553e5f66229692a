//===- Boxes.h - Tiles that the machine copies as boxes of a tensor ------------------===//
//
// Some targets have an engine that copies a box of a tensor from global to shared memory, or back: one lane asks for
// it, a map that the launch makes says where the tensor lies. A tile is copied so if its memory is strided by multiples
// of 16 bytes, the tile begins on one, and nothing but the tensor's own end keeps elements out. For a 128 × 64 tile of
// a row-major f16 tensor [M, K] that lies in shared memory in rows of 128 bytes:
//
//   sizes = [K, M]   strides = [2 K]   box = [64, 128]   coordinates = [64*$ARG_K, 128*$WG0]        innermost first
//
// Dimensions that a mapping has taken apart for nothing are joined first (PlaceDigits.h). What is still no place along
// one dimension may be pixels of images (PixelWalk.h), which the engine knows too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"

namespace soliton {

/// How a tile is copied in boxes, or why it is not.
struct BoxPlan {
  std::optional<Layout> layout;
  /// Of one box.
  int64_t elements = 0;
  std::string reason;
};

/// Boxes for the tile that `access` moves from or to global memory and that lies in shared memory in rows of `span`
/// bytes, longer rows in panels. Along the dimension of `piece` a box has no more than that; an extent of 0: all of it.
BoxPlan planBoxes(wave::AccessOpInterface access, int64_t span, const DimExtent &piece, const Geometry &geometry);

/// What one placed copy of a box says to the machine; innermost dimension first.
struct Box {
  SmallVector<sym::Expr> sizes;
  /// In bytes, of all dimensions but the innermost.
  SmallVector<sym::Expr> strides;
  SmallVector<int64_t> extents;
  SmallVector<sym::Expr> coordinates;
  /// Of images: the corners between which their pixels lie, and how far from a pixel lies what is copied. The extents
  /// are then those of channels and pixels.
  SmallVector<int64_t> lower, upper, steps;
  SmallVector<sym::Expr> offsets;
};

/// On a `wave.copy` that is boxed: an expression that is not 0 where somebody uses what it brings.
inline constexpr llvm::StringLiteral kUsed = "used";

/// Of a `wave.copy` that is boxed, or a `wave.copy_out`.
Box boxOf(wave::AccessOpInterface copy, const Geometry &geometry);

/// Whether the kernel copies boxes anywhere.
bool copiesBoxes(wave::KernelOp kernel);

} // namespace soliton
