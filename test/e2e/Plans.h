//===- Plans.h - The sizes at which kernels of the library are tried -----------------===//
//
// One plan a family, with the sizes of all of its kernels; each kernel takes those that it has:
//
//   Plan plan = planFor(*findKernel("attention_window"));
//   plan.odd;                                          // {B: 1, H: 2, Q: 77, KV: 131, D: 40, WINDOW: 20}
//
//===----------------------------------------------------------------------===//
#pragma once

#include "kernels/Kernels.h"

namespace soliton::test {

struct Plan {
  /// Whole tiles, more than one of them along some dimension.
  kernels::Sizes aligned;
  kernels::Sizes odd;
  /// Beyond one tile in every direction; with `tiles` in place of the defaults.
  kernels::Sizes larger, tiles;
  /// Five sizes for one compilation.
  std::vector<kernels::Sizes> dynamic;
  /// What keeps the interpreter quick: tiles, whole ones and an odd size.
  kernels::Sizes smallTiles, smallWhole, smallOdd;
  /// The smallest that there is.
  kernels::Sizes one = {};
  /// Many whole tiles, so that loops are loops.
  kernels::Sizes many;
};

/// The plan of the kernel's family, less what the kernel has no size for.
Plan planFor(const kernels::KernelEntry &entry);

} // namespace soliton::test
