//===- Multicast.h - Tiles that the workgroups of a cluster have in common ------------===//
//
// Neighbours along a dimension of the grid may form a cluster: they are resident together, and a box that one of them
// has copied may go to all of them. A tile of B is the same for two workgroups that are neighbours along M. Each has
// half of its rows copied, to both:
//
//   workgroups_per_cluster = [2]       B[64*k .. +64, 256*$WG1 .. +256]: no $WG0 in it, so it is in common
//
//   workgroup 0   rows   0 .. 127 of the tile to both      workgroup 1   rows 128 .. 255 to both
//
// A's tile lies where $WG0 says: each workgroup has its own copied, for itself. The rows of a share begin where the
// exchange of chunks begins anew, so that a share lies as it would in the whole tile.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Boxes.h"
#include "soliton/analysis/TileCluster.h"

namespace soliton {

/// What stands for a workgroup's number in its cluster.
sym::Expr rankSymbol();

/// What keeps most tiles from being shared, and is nobody's mistake.
inline constexpr llvm::StringLiteral kEachItsOwn = "each of them has another one";

/// Why the workgroups of the cluster cannot share this copy of a box; empty if they can.
std::string reasonAgainstSharing(wave::CopyOp copy, const TileCluster &cluster, const Geometry &geometry);

/// What the workgroup of that rank has copied of a box that all of them get.
Box shareOf(Box box, const TileCluster &cluster);

/// Whether one of them may be another number in another workgroup of the cluster: by its place, or by data.
bool mayDiffer(ArrayRef<sym::Expr> exprs, const TileCluster &cluster);

/// Whether the program, as it comes to this loop or branch, may go on otherwise in another workgroup of the cluster.
bool partsCluster(Operation *around, const TileCluster &cluster, const Geometry &geometry);

} // namespace soliton
