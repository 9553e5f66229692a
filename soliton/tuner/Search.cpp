#include "soliton/tuner/Search.h"

#include <algorithm>
#include <array>

namespace soliton::tune {

static constexpr std::array<std::string_view, 5> kNames = {"random", "hill_climbing", "annealing", "evolution",
                                                           "model"};

std::string_view nameOf(Strategy strategy) {
  return kNames[static_cast<size_t>(strategy)];
}

std::optional<Strategy> parseStrategy(std::string_view text) {
  auto name = std::find(kNames.begin(), kNames.end(), text);
  if (name == kNames.end())
    return std::nullopt;
  return static_cast<Strategy>(name - kNames.begin());
}

const std::vector<std::string> &strategyNames() {
  static const std::vector<std::string> names(kNames.begin(), kNames.end());
  return names;
}

Point disturbed(const Domain &domain, Point point, int steps, Random &random) {
  for (int i = 0; i < steps; ++i)
    point = domain.neighbour(point, random);
  return point;
}

std::unique_ptr<Search> makeSearch(Strategy strategy, const Domain &domain, const SearchOptions &options) {
  switch (strategy) {
  case Strategy::Random:
    return makeRandomSearch(domain, options);
  case Strategy::HillClimbing:
    return makeHillClimbing(domain, options);
  case Strategy::Annealing:
    return makeAnnealing(domain, options);
  case Strategy::Evolution:
    return makeEvolution(domain, options);
  case Strategy::Model:
    break;
  }
  return makeModelSearch(domain, options);
}

} // namespace soliton::tune
