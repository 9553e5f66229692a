//===- Tile.cpp - Coordinates of tiles ---------------------------------------===//

#include "soliton/interpreter/Tile.h"

#include <algorithm>

namespace soliton::interp {

size_t Domain::size() const {
  size_t count = 1;
  for (const Places &each : places)
    count *= each.size();
  return count;
}

std::optional<size_t> Domain::find(Dim dim) const {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == dim)
      return i;
  return std::nullopt;
}

Places imageOf(const Layout &layout, Dim dim) {
  auto offset = layout.offset.find(dim);
  Places places = {offset == layout.offset.end() ? 0 : offset->second};
  for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
    for (const Digit &digit : layout.digits(axis)) {
      if (digit.dim != dim || digit.stride == 0)
        continue;
      Places next;
      for (int64_t value = 0; value < digit.extent; ++value)
        for (int64_t place : places)
          next.push_back(place + value * digit.stride);
      std::ranges::sort(next);
      auto repeated = std::ranges::unique(next);
      next.erase(repeated.begin(), repeated.end());
      places = std::move(next);
    }
  return places;
}

Tile::Tile(Domain domain, DType type) : domain(std::move(domain)), type(type) {
  if (isFloat(type))
    values = std::vector<double>(this->domain.size());
  else
    values = std::vector<int64_t>(this->domain.size());
}

namespace {
/// Where `of` has a dimension: itself, or in groups of so many.
struct Place {
  size_t index;
  int64_t group;
};
std::optional<Place> placeOf(const Domain &of, Dim dim) {
  if (std::optional<size_t> at = of.find(dim))
    return Place{*at, 1};
  for (size_t i = 0; i < of.rank(); ++i)
    if (ScaledDim groups = scaledDim(of.dims[i]); groups.isScaled() && groups.isWhole() && groups.base == dim)
      return Place{i, groups.divisor};
  return std::nullopt;
}
} // namespace

std::optional<Alignment> align(const Domain &of, const Domain &from) {
  Alignment result;
  for (size_t d = 0; d < from.rank(); ++d) {
    std::vector<size_t> steps(from.places[d].size(), 0);
    if (std::optional<Place> at = placeOf(of, from.dims[d])) {
      size_t stride = 1;
      for (size_t later = at->index + 1; later < of.rank(); ++later)
        stride *= of.places[later].size();
      const Places &known = of.places[at->index];
      for (size_t i = 0; i < steps.size(); ++i) {
        int64_t wanted = from.places[d][i] / at->group;
        auto found = std::ranges::lower_bound(known, wanted);
        if (found == known.end() || *found != wanted)
          return std::nullopt;
        steps[i] = static_cast<size_t>(found - known.begin()) * stride;
      }
    }
    result.steps.push_back(std::move(steps));
  }
  return result;
}

} // namespace soliton::interp
