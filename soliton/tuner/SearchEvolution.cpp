//===- SearchEvolution.cpp - Children of good ones -------------------------===//
//
// A population of points that live on while they are among the best. A child has something of two parents, or all of
// one, and some steps of its own; parents are the better of two drawn at random.
//
//===----------------------------------------------------------------------===//
#include "soliton/tuner/Search.h"

#include <algorithm>
#include <utility>

namespace soliton::tune {
namespace {

class Evolution final : public Search {
public:
  Evolution(const Domain &domain, const SearchOptions &options)
      : domain(domain), options(options), random(options.seed) {}

  std::vector<Point> propose() override {
    points.clear();
    if (population.empty())
      points.push_back(domain.start());
    while (static_cast<int>(points.size()) < options.generation)
      points.push_back(population.empty() ? founder() : child());
    return points;
  }

  void learn(const std::vector<double> &costs) override {
    for (size_t i = 0; i < points.size(); ++i)
      if (costs[i] != kRefused && !isKnown(points[i]))
        population.push_back({points[i], costs[i], born++});
    std::sort(population.begin(), population.end(),
              [](const Member &a, const Member &b) { return std::pair(a.cost, a.born) < std::pair(b.cost, b.born); });
    if (population.size() > kMembers)
      population.resize(kMembers);
  }

private:
  static constexpr size_t kMembers = 24;
  static constexpr double kTwoParents = 0.25;
  static constexpr int kMostSteps = 3;

  struct Member {
    Point point;
    double cost = kRefused;
    /// Of equal ones those stay that were there first.
    int64_t born = 0;
  };

  bool isKnown(const Point &point) const {
    return std::any_of(population.begin(), population.end(), [&](const Member &m) { return m.point == point; });
  }

  Point founder() { return disturbed(domain, domain.start(), static_cast<int>(random.between(1, 8)), random); }

  const Member &parent() {
    int64_t count = static_cast<int64_t>(population.size());
    // Members are in the order of their costs.
    return population[static_cast<size_t>(std::min(random.below(count), random.below(count)))];
  }

  Point child() {
    const Member &first = parent(), &second = parent();
    bool isOfTwo = random.chance(kTwoParents) && first.point != second.point;
    Point point = isOfTwo ? domain.between(first.point, second.point, random) : first.point;
    return disturbed(domain, std::move(point), static_cast<int>(random.between(isOfTwo ? 0 : 1, kMostSteps)), random);
  }

  const Domain &domain;
  SearchOptions options;
  Random random;
  std::vector<Member> population;
  int64_t born = 0;
  std::vector<Point> points;
};

} // namespace

std::unique_ptr<Search> makeEvolution(const Domain &domain, const SearchOptions &options) {
  return std::make_unique<Evolution>(domain, options);
}

} // namespace soliton::tune
