//===- Domain.h - What a search knows of what it searches ------------------===//
//
// A strategy sees points, which only their domain understands, and what they cost. Tiles and instructions (Space.h)
// and the times of a loop's operations (ScheduleDomain.h) are both domains, so that every strategy searches both.
//
//   Point next = domain.neighbour(best, random);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/tuner/Random.h"

#include <optional>

namespace soliton::tune {

/// Equal points are the same candidate.
using Point = std::vector<int32_t>;

class Domain {
public:
  virtual ~Domain() = default;

  /// Where a search begins.
  virtual Point start() const = 0;
  /// Any point, as far from the start as points are.
  virtual Point anywhere(Random &random) const = 0;
  /// A point near this one; the same where nothing near it was found.
  virtual Point neighbour(const Point &point, Random &random) const = 0;
  /// A point with something of both.
  virtual Point between(const Point &first, const Point &second, Random &random) const = 0;
  /// Numbers that could explain a cost, equally many for each point.
  virtual std::vector<double> features(const Point &point) const = 0;
};

} // namespace soliton::tune
