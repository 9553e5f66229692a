//===- SearchHillClimbing.cpp - Always upwards -----------------------------===//
//
// Neighbours of where it stands; the best of them, if it is better, is where it stands next. After some generations
// without a better one it goes on from the best that it has seen, a few steps aside (iterated local search).
//
//===----------------------------------------------------------------------===//
#include "soliton/tuner/Search.h"

#include <algorithm>

namespace soliton::tune {
namespace {

class HillClimbing final : public Search {
public:
  HillClimbing(const Domain &domain, const SearchOptions &options)
      : domain(domain), options(options), random(options.seed), best(domain.start()), here(best) {}

  std::vector<Point> propose() override {
    points.clear();
    // The place itself where its cost is not known yet.
    if (hereCost == kUnknown)
      points.push_back(here);
    while (static_cast<int>(points.size()) < options.generation)
      points.push_back(domain.neighbour(here, random));
    return points;
  }

  void learn(const std::vector<double> &costs) override {
    size_t least = static_cast<size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
    if (hereCost == kUnknown)
      hereCost = costs.front();
    bool isBetter = costs[least] < hereCost;
    stuck = isBetter ? 0 : stuck + 1;
    if (isBetter) {
      here = points[least];
      hereCost = costs[least];
    }
    if (hereCost < bestCost) {
      best = here;
      bestCost = hereCost;
    }
    if (stuck >= kPatience)
      stepAside();
  }

private:
  static constexpr double kUnknown = -1;
  /// Generations without a better one before it goes elsewhere, and how far.
  static constexpr int kPatience = 40, kStepsAside = 4;

  void stepAside() {
    here = disturbed(domain, best, static_cast<int>(random.between(1, kStepsAside)), random);
    hereCost = kUnknown;
    stuck = 0;
  }

  const Domain &domain;
  SearchOptions options;
  Random random;
  Point best, here;
  double bestCost = kRefused, hereCost = kUnknown;
  int stuck = 0;
  std::vector<Point> points;
};

} // namespace

std::unique_ptr<Search> makeHillClimbing(const Domain &domain, const SearchOptions &options) {
  return std::make_unique<HillClimbing>(domain, options);
}

} // namespace soliton::tune
