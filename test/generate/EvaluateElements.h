//===- EvaluateElements.h - Tiles of the plain-loop evaluator, and functions of their elements --===//
//
//   Tile{{"M"}, {2}, Element::f32, {{1.5}, {2.5}}};   realCombination("mod", -1, 3) == 2
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Number.h"

#include <algorithm>
#include <string>
#include <vector>

namespace soliton::generate {

/// A number of either sort; the element type says which one counts.
struct Number {
  double real = 0;
  int64_t whole = 0;
};

/// A tile without holders: extents and elements, row-major.
struct Tile {
  std::vector<std::string> dims;
  std::vector<int64_t> extents;
  Element type = Element::f32;
  std::vector<Number> elements;
};

using Place = std::vector<int64_t>;

template <typename Visit>
void forEachPlace(const std::vector<int64_t> &extents, Visit visit) {
  Place at(extents.size(), 0);
  if (std::ranges::count(extents, 0))
    return;
  for (size_t number = 0;; ++number) {
    visit(number, at);
    size_t d = extents.size();
    while (d > 0 && ++at[d - 1] == extents[d - 1])
      at[--d] = 0;
    if (d == 0)
      return;
  }
}

/// Finds the elements of a tile from coordinates along other dimensions, in their order; along those that the tile
/// lacks it is constant.
class Finder {
public:
  Finder(const Tile &tile, const std::vector<std::string> &dims) : tile(tile), steps(dims.size(), 0) {
    size_t step = 1;
    for (size_t d = tile.dims.size(); d-- > 0; step *= static_cast<size_t>(tile.extents[d]))
      if (auto found = std::ranges::find(dims, tile.dims[d]); found != dims.end())
        steps[static_cast<size_t>(found - dims.begin())] = step;
  }
  Number operator()(const Place &at) const {
    size_t number = 0;
    for (size_t d = 0; d < steps.size(); ++d)
      number += static_cast<size_t>(at[d]) * steps[d];
    return tile.elements[number];
  }

private:
  const Tile &tile;
  std::vector<size_t> steps;
};

//===-- Functions of elements -----------------------------------------------------------------===//

Number rounded(Element type, Number value);
/// A function of one number, or of two, by its name in the dialect. Throws std::runtime_error for one that there is
/// not.
double realFunction(const std::string &name, double x);
int64_t wholeFunction(const std::string &name, int64_t x);
double realCombination(const std::string &name, double a, double b);
int64_t wholeCombination(const std::string &name, int64_t a, int64_t b);
Number converted(Element from, Element to, Number value);
/// What a reduction of nothing gives.
Number identityOf(const std::string &kind, Element type);

template <typename T>
bool holds(const std::string &predicate, T a, T b) {
  if (predicate == "eq")
    return a == b;
  if (predicate == "ne")
    return a != b;
  if (predicate == "lt")
    return a < b;
  if (predicate == "le")
    return a <= b;
  return predicate == "gt" ? a > b : a >= b;
}

} // namespace soliton::generate
