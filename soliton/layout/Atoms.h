//===- Atoms.h - The common refinement of two layouts (private to this folder) ----===//
//
// Cuts the digits of two layouts of one tile into digits of prime extent that both have, with the place of each in
// both. From `reg = (4 M 1)` to `reg = (2 M 1), lane = (2 M 2)`: atom 2 (register weight 1 in both) and atom 2
// (register weight 2, then lane weight 1).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"

namespace soliton::detail {

/// A place on an axis; one step of the digit moves `weight` along it. No axis: the layout does not have the atom.
struct Spot {
  std::optional<Axis> axis;
  int64_t weight = 0;
  bool on(Axis which) const { return axis == which; }
};

/// A digit of prime extent. Without `to.axis` it is replication of the source, without `from.axis` of the destination.
struct Atom {
  int64_t extent = 1;
  Spot from, to;
};

/// Nothing where the digits of a dim have boundaries that do not nest (6*4 against 4*6).
std::optional<std::vector<Atom>> refine(const Layout &from, const Layout &to);

} // namespace soliton::detail
