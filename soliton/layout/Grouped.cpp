#include "soliton/layout/Grouped.h"

#include <algorithm>
#include <cassert>

namespace soliton {
namespace {

/// The dimension of places inside a group: only these files make it, and no tile has it.
Dim insideOf(const ScaledDim &group) {
  return Dim(group.base.name() + "$in" + std::to_string(group.divisor));
}

/// The dimension of groups.
Dim outsideOf(const ScaledDim &group) {
  return ScaledDim{group.base, group.divisor}.dim();
}

/// The digit in both dimensions, low part first.
bool splitDigit(const Digit &digit, const ScaledDim &group, Digits &into) {
  Dim inside = insideOf(group), outside = outsideOf(group);
  if (digit.stride % group.divisor == 0) {
    into.push_back(Digit(digit.extent, outside, digit.stride / group.divisor));
    return true;
  }
  if (digit.stride * digit.extent <= group.divisor) {
    into.push_back(Digit(digit.extent, inside, digit.stride));
    return true;
  }
  if (group.divisor % digit.stride != 0 || digit.extent % (group.divisor / digit.stride) != 0)
    return false;
  int64_t low = group.divisor / digit.stride;
  into.push_back(Digit(low, inside, digit.stride));
  into.push_back(Digit(digit.extent / low, outside, 1));
  return true;
}

/// The digit of groups that `elements` are made of: those among `dims` whose base the layout moves along.
std::vector<ScaledDim> groupsIn(const Layout &elements, std::span<const Dim> dims) {
  std::vector<ScaledDim> found;
  for (Dim dim : dims)
    if (ScaledDim group = scaledDim(dim); group.isScaled() && group.isWhole() && elements.hasDim(group.base))
      found.push_back(group);
  return found;
}

} // namespace

std::optional<Layout> splitGroups(const Layout &elements, const ScaledDim &group) {
  Layout result;
  for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
    for (const Digit &digit : elements.digits(axis)) {
      if (digit.dim != group.base || digit.stride == 0)
        result.digits(axis).push_back(digit);
      else if (!splitDigit(digit, group, result.digits(axis)))
        return std::nullopt;
    }
  for (auto [dim, value] : elements.offset) {
    if (dim != group.base) {
      result.offset[dim] = value;
      continue;
    }
    result.offset[outsideOf(group)] = value / group.divisor;
    result.offset[insideOf(group)] = value % group.divisor;
  }
  return result;
}

Layout inDimsOf(const Layout &wide, std::span<const Dim> narrow) {
  Layout result = wide;
  for (const ScaledDim &group : groupsIn(wide, narrow)) {
    std::optional<Layout> split = splitGroups(result, group);
    // Instructions contract powers of two, and a tile that has groups is a whole number of them.
    assert(split && "digits end where groups end");
    result = *split;
  }
  return result;
}

Layout restrictedTo(Layout wide, std::span<const Dim> narrow) {
  wide = inDimsOf(wide, narrow);
  for (Dim dim : wide.dims())
    if (std::ranges::find(narrow, dim) == narrow.end())
      wide = wide.withoutDim(dim);
  return wide;
}

/// One place of `group.dim()` as all its elements.
static Layout spread(const Layout &groups, const ScaledDim &group) {
  Layout result = groups.renamed({{group.dim(), group.base}});
  for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
    for (Digit &digit : result.digits(axis))
      if (digit.dim == group.base)
        digit.stride *= group.divisor;
  if (auto offset = result.offset.find(group.base); offset != result.offset.end())
    offset->second *= group.divisor;
  result.reg.insert(result.reg.begin(), Digit(group.divisor, group.base, 1));
  return result;
}

/// The groups that lanes have all the elements of.
static std::optional<Layout> gathered(const Layout &elements, const ScaledDim &group) {
  std::optional<Layout> split = splitGroups(elements, group);
  if (!split)
    return std::nullopt;
  Dim inside = insideOf(group);
  auto isInside = [&](const Digit &digit) { return digit.dim == inside; };
  if (std::ranges::any_of(split->lane, isInside) || std::ranges::any_of(split->wave, isInside) ||
      split->extent(inside) != group.divisor || split->offset[inside] != 0)
    return std::nullopt;
  Layout result = split->withoutDim(inside);
  result.offset.erase(inside);
  return result;
}

/// Groups of `group.divisor` elements and those of `group.places` places of them are the same: `K/4`, of four `K` and
/// of three `3*(K/4)`.
static ScaledDim placesOf(const ScaledDim &group) {
  return {group.dim(), group.places};
}

std::optional<Layout> ungrouped(const Layout &groups, const ScaledDim &group) {
  if (group.isWhole())
    return spread(groups, group);
  std::optional<Layout> whole = gathered(groups, placesOf(group));
  return whole ? std::optional(spread(*whole, {group.base, group.divisor})) : std::nullopt;
}

std::optional<Layout> grouped(const Layout &elements, const ScaledDim &group) {
  std::optional<Layout> whole = gathered(elements, {group.base, group.divisor});
  return whole && !group.isWhole() ? std::optional(spread(*whole, placesOf(group))) : whole;
}

Layout groupedByForce(const Layout &elements, const ScaledDim &group) {
  int64_t extent = elements.extent(group.base);
  std::optional<Layout> split = splitGroups(elements, group);
  Layout all = split ? split->withoutDim(insideOf(group)) : elements.withoutDim(group.base);
  all.offset.erase(insideOf(group));
  all.offset.erase(group.base);
  if (!split)
    all.reg.insert(all.reg.begin(), Digit(extent / group.divisor, outsideOf(group), 1));
  return group.isWhole() ? all : spread(all, placesOf(group));
}

} // namespace soliton
