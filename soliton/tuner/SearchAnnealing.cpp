//===- SearchAnnealing.cpp - Downhill too, the less the later --------------===//
//
// Neighbours of where it stands, one after the other: a better one is the next place, a worse one with probability
// exp(-difference / temperature). The temperature falls from some percent of the first cost by the same factor each
// time, so that the budget ends where only better ones are taken. Where costs stay refused it goes back to the best.
//
//===----------------------------------------------------------------------===//
#include "soliton/tuner/Search.h"

#include <algorithm>
#include <cmath>

namespace soliton::tune {
namespace {

class Annealing final : public Search {
public:
  Annealing(const Domain &domain, const SearchOptions &options)
      : domain(domain), options(options), random(options.seed), best(domain.start()), here(best) {}

  std::vector<Point> propose() override {
    points.clear();
    if (tried == 0)
      points.push_back(here);
    while (static_cast<int>(points.size()) < options.generation)
      points.push_back(domain.neighbour(here, random));
    return points;
  }

  void learn(const std::vector<double> &costs) override {
    for (size_t i = 0; i < points.size(); ++i)
      consider(points[i], costs[i]);
    if (sinceBest > kPatience * options.generation)
      goBack();
  }

private:
  /// Temperatures as parts of the first cost.
  static constexpr double kHot = 0.03, kCold = 0.0002;
  /// Generations without a better one before it returns to the best.
  static constexpr int kPatience = 60;

  void consider(const Point &point, double cost) {
    if (tried++ == 0)
      first = hereCost = std::isfinite(cost) ? cost : kRefused;
    ++sinceBest;
    if (cost < bestCost) {
      best = point;
      bestCost = cost;
      sinceBest = 0;
    }
    // Drawn for each, so that what follows does not hang on how costs compare.
    double chance = random.unit();
    if (cost < hereCost || (std::isfinite(cost) && chance < std::exp((hereCost - cost) / temperature()))) {
      here = point;
      hereCost = cost;
    }
  }

  double temperature() const {
    double spent =
        std::min(1.0, static_cast<double>(tried) / static_cast<double>(std::max<int64_t>(options.budget, 1)));
    double scale = std::isfinite(first) ? first : bestCost;
    return std::isfinite(scale) ? scale * kHot * std::pow(kCold / kHot, spent) : 1.0;
  }

  void goBack() {
    here = best;
    hereCost = bestCost;
    sinceBest = 0;
  }

  const Domain &domain;
  SearchOptions options;
  Random random;
  Point best, here;
  double first = kRefused, bestCost = kRefused, hereCost = kRefused;
  int64_t tried = 0, sinceBest = 0;
  std::vector<Point> points;
};

} // namespace

std::unique_ptr<Search> makeAnnealing(const Domain &domain, const SearchOptions &options) {
  return std::make_unique<Annealing>(domain, options);
}

} // namespace soliton::tune
