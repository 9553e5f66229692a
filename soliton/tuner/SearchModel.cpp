//===- SearchModel.cpp - Neighbours that look promising --------------------===//
//
// A regression over the domain's features learns from every cost. Of many neighbours of the best points those are
// proposed that it finds cheapest, and some at random, from which it learns where it is wrong. Until it has seen enough
// all of them are drawn at random.
//
//===----------------------------------------------------------------------===//
#include "soliton/tuner/Regression.h"
#include "soliton/tuner/Search.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace soliton::tune {
namespace {

class ModelSearch final : public Search {
public:
  ModelSearch(const Domain &domain, const SearchOptions &options)
      : domain(domain), options(options), random(options.seed), model(domain.features(domain.start()).size()) {}

  std::vector<Point> propose() override {
    points.clear();
    if (seen.empty())
      points.push_back(domain.start());
    std::vector<Scored> pool = drawPool();
    bool knows = model.observations() >= kEnough;
    if (knows) {
      model.fit();
      for (Scored &each : pool)
        each.cost = model.predict(domain.features(each.point));
      std::sort(pool.begin(), pool.end(), cheaper);
    }
    size_t room = static_cast<size_t>(options.generation);
    size_t trusted = knows ? room - room / kDoubtedPart : room;
    for (size_t i = 0; i < pool.size() && points.size() < trusted; ++i)
      points.push_back(pool[i].point);
    while (points.size() < room)
      points.push_back(random.pick(pool).point);
    return points;
  }

  void learn(const std::vector<double> &costs) override {
    for (size_t i = 0; i < points.size(); ++i) {
      bool isNew = seen.insert(points[i]).second;
      if (!isNew || costs[i] == kRefused)
        continue;
      model.add(domain.features(points[i]), costs[i]);
      elite.push_back({points[i], costs[i], born++});
    }
    std::sort(elite.begin(), elite.end(), cheaper);
    if (elite.size() > kElite)
      elite.resize(kElite);
  }

private:
  struct Scored {
    Point point;
    double cost = 0;
    /// Of equal ones the first.
    int64_t born = 0;
  };
  static bool cheaper(const Scored &a, const Scored &b) {
    return std::pair(a.cost, a.born) < std::pair(b.cost, b.born);
  }

  /// FNV-1a, by whole numbers: equal for equal points, and that is all that is asked of it.
  struct HashOfPoint {
    size_t operator()(const Point &point) const {
      uint64_t hash = 0xcbf29ce484222325U;
      for (int32_t each : point)
        hash = (hash ^ static_cast<uint32_t>(each)) * 0x100000001b3U;
      return hash;
    }
  };

  static constexpr size_t kElite = 8, kEnough = 32, kDoubtedPart = 4;
  /// Neighbours that are looked at for each that is proposed, and how often a new one is looked for.
  static constexpr int kPool = 5, kAttempts = 3;

  /// Neighbours of the best; the better one is, the more of its neighbours.
  std::vector<Scored> drawPool() {
    std::vector<Scored> pool;
    std::unordered_set<Point, HashOfPoint> drawn;
    for (int i = 0; i < kPool * options.generation; ++i) {
      Point point;
      for (int attempt = 0; attempt < kAttempts; ++attempt) {
        point = drawOne();
        if (!seen.contains(point) && drawn.insert(point).second)
          break;
      }
      pool.push_back({std::move(point), 0, i});
    }
    return pool;
  }

  Point drawOne() {
    int steps = random.chance(0.75) ? 1 : 2;
    if (elite.empty())
      return disturbed(domain, domain.start(), steps, random);
    int64_t count = static_cast<int64_t>(elite.size());
    const Scored &from = elite[static_cast<size_t>(std::min(random.below(count), random.below(count)))];
    return disturbed(domain, from.point, steps, random);
  }

  const Domain &domain;
  SearchOptions options;
  Random random;
  Regression model;
  std::vector<Scored> elite;
  std::unordered_set<Point, HashOfPoint> seen;
  std::vector<Point> points;
  int64_t born = 0;
};

} // namespace

std::unique_ptr<Search> makeModelSearch(const Domain &domain, const SearchOptions &options) {
  return std::make_unique<ModelSearch>(domain, options);
}

} // namespace soliton::tune
