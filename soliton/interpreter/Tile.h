//===- Tile.h - A tile as a function from coordinates to numbers -------------===//
//
// The digits of a layout move one dimension each, so the coordinates that a tile covers are always a product of one
// sorted set per dimension. A 2x4 piece at row 16:
//
//   dims [M, N], places {16, 17} x {0, 1, 2, 3}, eight numbers in row-major order of the places
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"
#include "soliton/support/DType.h"

#include "llvm/ADT/SmallVector.h"

#include <variant>

namespace soliton::interp {

using Places = std::vector<int64_t>;

/// Which coordinates a tile covers.
struct Domain {
  llvm::SmallVector<Dim, 4> dims;
  /// Per dimension, sorted, distinct.
  llvm::SmallVector<Places, 4> places;

  size_t rank() const { return dims.size(); }
  size_t size() const;
  /// Position of a dimension, or nothing.
  std::optional<size_t> find(Dim dim) const;
};

/// The sorted coordinates along `dim` that the layout covers.
Places imageOf(const Layout &layout, Dim dim);

struct Tile {
  Domain domain;
  DType type = DType::f32;
  /// One per place in row-major order; floats as doubles.
  std::variant<std::vector<double>, std::vector<int64_t>> values;

  Tile() = default;
  Tile(Domain domain, DType type);

  template <typename T>
  std::vector<T> &as() {
    return std::get<std::vector<T>>(values);
  }
  template <typename T>
  const std::vector<T> &as() const {
    return std::get<std::vector<T>>(values);
  }
};

/// Where the numbers of one tile lie for the places of another: per dimension of `from`, the offset that each place
/// adds. A dimension that `of` lacks adds nothing; of one that it has in groups, `K/32`, each element is where its
/// group is. Nothing if a place of `from` is not covered.
struct Alignment {
  llvm::SmallVector<std::vector<size_t>, 4> steps;
};
std::optional<Alignment> align(const Domain &of, const Domain &from);

/// Calls `visit(position in the domain's order, offset in each aligned tile…)` for every place.
template <size_t N, typename Visit>
void forEach(const Domain &domain, const std::array<const Alignment *, N> &tiles, Visit visit) {
  size_t rank = domain.rank(), total = domain.size();
  if (total == 0)
    return;
  std::vector<size_t> index(rank, 0);
  size_t inner = rank == 0 ? 1 : domain.places.back().size();
  for (size_t position = 0; position < total;) {
    std::array<size_t, N> base{};
    for (size_t t = 0; t < N; ++t)
      for (size_t d = 0; d + 1 < rank; ++d)
        base[t] += tiles[t]->steps[d][index[d]];
    for (size_t j = 0; j < inner; ++j, ++position) {
      std::array<size_t, N> at = base;
      for (size_t t = 0; t < N; ++t)
        if (rank > 0)
          at[t] += tiles[t]->steps[rank - 1][j];
      visit(position, at);
    }
    for (size_t d = rank < 2 ? 0 : rank - 1; d-- > 0;) {
      if (++index[d] < domain.places[d].size())
        break;
      index[d] = 0;
    }
  }
}

} // namespace soliton::interp
