#include "soliton/layout/Grouped.h"

#include <algorithm>
#include <cassert>

namespace soliton {
namespace {

/// The dimension of places inside a group: only these files make it, and no tile has it.
Dim insideOf(const ScaledDim &group) {
  return Dim(group.base.name() + "$in" + std::to_string(group.divisor));
}

/// The digit in both dimensions, low part first.
bool splitDigit(const Digit &digit, const ScaledDim &group, Digits &into) {
  Dim inside = insideOf(group), outside = group.dim();
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
    if (ScaledDim group = scaledDim(dim); group.isScaled() && elements.hasDim(group.base))
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
    result.offset[group.dim()] = value / group.divisor;
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

Layout ungrouped(const Layout &groups, const ScaledDim &group) {
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

std::optional<Layout> grouped(const Layout &elements, const ScaledDim &group) {
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

} // namespace soliton
