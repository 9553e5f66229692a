//===- Rearrange.cpp - What moves the elements of a tile, and what orders them ---------------===//
//
// Every element of the result is looked up in the operand, or is 0. A row is ordered by comparing pairs of an element
// and its place, so that equal elements keep their order.
//
//===----------------------------------------------------------------------===//

#include "soliton/interpreter/Compute.h"
#include "soliton/interpreter/Failure.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace soliton::interp {
using namespace wave;

using Index = std::vector<size_t>;

/// Calls `visit(position, index)` for every place of the domain in its order.
static void forEachIndex(const Domain &domain, llvm::function_ref<void(size_t, const Index &)> visit) {
  Index index(domain.rank(), 0);
  for (size_t position = 0, total = domain.size(); position < total; ++position) {
    visit(position, index);
    for (size_t d = domain.rank(); d-- > 0;) {
      if (++index[d] < domain.places[d].size())
        break;
      index[d] = 0;
    }
  }
}

/// The position of coordinates in a tile; nothing if it does not hold them.
static std::optional<size_t> positionOf(const Domain &domain, const std::vector<int64_t> &coordinates) {
  size_t position = 0;
  for (size_t d = 0; d < domain.rank(); ++d) {
    auto found = std::ranges::lower_bound(domain.places[d], coordinates[d]);
    if (found == domain.places[d].end() || *found != coordinates[d])
      return std::nullopt;
    position = position * domain.places[d].size() + static_cast<size_t>(found - domain.places[d].begin());
  }
  return position;
}

static std::vector<int64_t> coordinatesAt(const Domain &domain, const Index &index) {
  std::vector<int64_t> coordinates;
  for (size_t d = 0; d < index.size(); ++d)
    coordinates.push_back(domain.places[d][index[d]]);
  return coordinates;
}

/// The result's element at `to` is the operand's at `from`.
static void copyElement(const Tile &operand, size_t from, Tile &result, size_t to) {
  std::visit([&](auto &values) { values[to] = std::get<std::decay_t<decltype(values)>>(operand.values)[from]; },
             result.values);
}

static std::vector<int64_t> apart(int64_t linear, const std::vector<int64_t> &extents) {
  std::vector<int64_t> coordinates(extents.size());
  for (size_t d = extents.size(); d-- > 0; linear /= extents[d])
    coordinates[d] = linear % extents[d];
  return coordinates;
}

Tile rearrange(RearrangeOp op, const Tile &operand, const std::vector<sym::Expr> &indices,
               const std::vector<int64_t> &extents, const std::vector<std::function<bool(int64_t)>> &isInside,
               const Domain &result) {
  Tile moved(result, operand.type);
  int64_t elements = std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
  if (!op.getIndices() && static_cast<size_t>(elements) != result.size())
    fail(op.getLoc(), DiagId::ReshapeDims,
         "a tile of " + std::to_string(elements) + " elements becomes one of " + std::to_string(result.size()));
  forEachIndex(result, [&](size_t position, const Index &index) {
    std::vector<int64_t> from;
    if (!op.getIndices()) {
      from = apart(static_cast<int64_t>(position), extents);
    } else {
      sym::Environment environment;
      for (size_t k = 0; k < index.size(); ++k)
        environment.set(placeSymbol(k), result.places[k][index[k]]);
      for (sym::Expr expr : indices)
        from.push_back(sym::evaluate(expr, environment));
    }
    for (size_t d = 0; d < from.size(); ++d)
      if (from[d] < 0 || from[d] >= extents[d] || !isInside[d](from[d]))
        return;
    if (std::optional<size_t> found = positionOf(operand.domain, from))
      copyElement(operand, *found, moved, position);
  });
  return moved;
}

Tile concatenate(const std::vector<const Tile *> &pieces, size_t dim,
                 const std::vector<std::function<bool(int64_t)>> &isInside, const Domain &result) {
  Tile whole(result, pieces[0]->type);
  forEachIndex(result, [&](size_t position, const Index &index) {
    std::vector<int64_t> at = coordinatesAt(result, index);
    for (size_t k = 0; k < pieces.size(); ++k) {
      auto extent = static_cast<int64_t>(pieces[k]->domain.places[dim].size());
      if (at[dim] >= extent) {
        at[dim] -= extent;
        continue;
      }
      if (std::optional<size_t> found = positionOf(pieces[k]->domain, at); found && isInside[k](at[dim]))
        copyElement(*pieces[k], *found, whole, position);
      return;
    }
  });
  return whole;
}

//===-- Order -----------------------------------------------------------------===//

static bool comesBefore(double a, double b) {
  return a < b || (std::isnan(b) && !std::isnan(a));
}
static bool comesBefore(int64_t a, int64_t b) {
  return a < b;
}

/// Positions of the row's elements in their order.
static std::vector<size_t> orderOf(const Tile &keys, std::vector<size_t> row, SortOrder order) {
  std::visit(
      [&](const auto &values) {
        std::ranges::stable_sort(row, [&](size_t a, size_t b) {
          return order == SortOrder::ascending ? comesBefore(values[a], values[b]) : comesBefore(values[b], values[a]);
        });
      },
      keys.values);
  return row;
}

std::vector<Tile> sort(SortOp op, const std::vector<const Tile *> &tiles, const Domain &into,
                       llvm::function_ref<bool(int64_t)> isInside) {
  const Domain &from = tiles[0]->domain;
  size_t dim = *from.find(Dim(op.getDim().str()));
  std::vector<Tile> results;
  for (const Tile *tile : tiles)
    results.emplace_back(into, tile->type);
  Domain rows = from;
  rows.places[dim] = {from.places[dim].front()};
  forEachIndex(rows, [&](size_t, const Index &index) {
    std::vector<int64_t> at = coordinatesAt(rows, index);
    std::vector<size_t> row;
    for (int64_t place : from.places[dim]) {
      at[dim] = place;
      if (isInside(place))
        row.push_back(*positionOf(from, at));
    }
    row = orderOf(*tiles[0], std::move(row), op.getOrder());
    for (size_t rank = 0; rank < row.size(); ++rank) {
      at[dim] = static_cast<int64_t>(rank);
      if (std::optional<size_t> to = positionOf(into, at))
        for (size_t k = 0; k < tiles.size(); ++k)
          copyElement(*tiles[k], row[rank], results[k], *to);
    }
  });
  return results;
}

} // namespace soliton::interp
