//===- SearchRandom.cpp - The baseline -------------------------------------===//
//
// The start first; then, in turn, the start after some random steps, and points from anywhere. It learns nothing.
//
//===----------------------------------------------------------------------===//
#include "soliton/tuner/Search.h"

namespace soliton::tune {
namespace {

class RandomSearch final : public Search {
public:
  RandomSearch(const Domain &domain, const SearchOptions &options)
      : domain(domain), options(options), random(options.seed) {}

  std::vector<Point> propose() override {
    constexpr int kMostSteps = 32;
    std::vector<Point> points;
    if (isFirst)
      points.push_back(domain.start());
    isFirst = false;
    while (static_cast<int>(points.size()) < options.generation) {
      bool near = random.chance(0.5);
      points.push_back(near ? disturbed(domain, domain.start(), static_cast<int>(random.between(1, kMostSteps)), random)
                            : domain.anywhere(random));
    }
    return points;
  }
  void learn(const std::vector<double> &) override {}

private:
  const Domain &domain;
  SearchOptions options;
  Random random;
  bool isFirst = true;
};

} // namespace

std::unique_ptr<Search> makeRandomSearch(const Domain &domain, const SearchOptions &options) {
  return std::make_unique<RandomSearch>(domain, options);
}

} // namespace soliton::tune
