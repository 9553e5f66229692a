//===- TileCluster.h - Which workgroups of a grid form a cluster -----------------------===//
//
//   wave.kernel @gemm attributes {workgroups_per_cluster = array<i64: 1, 2>, …}    neighbours along $WG1
//
// No result depends on it: the `wave` dialect has the program of one workgroup. The grid has whole clusters, so that
// some workgroups may lie beyond the tensors, where nothing is read or written.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Wave.h"

#include <algorithm>

namespace soliton {

struct TileCluster {
  /// The dimension of the grid along which they are neighbours, and how many they are.
  int64_t dim = 0, size = 1;
};

/// Nothing where workgroups share no tiles.
inline std::optional<TileCluster> tileClusterOf(wave::KernelOp kernel) {
  auto along = kernel.getWorkgroupsPerCluster();
  if (!along)
    return std::nullopt;
  const auto *largest = std::ranges::max_element(*along);
  return TileCluster{largest - along->begin(), *largest};
}

} // namespace soliton
