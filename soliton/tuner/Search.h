//===- Search.h - Which candidates are tried next --------------------------===//
//
// A strategy proposes points and learns what they cost, generation by generation:
//
//   std::unique_ptr<Search> search = makeSearch(Strategy::Annealing, domain, {.seed = 1, .budget = 2000});
//   std::vector<Point> points = search->propose();
//   search->learn(costs);                           // one for each, in that order
//
// What it proposes is a function of its seed and of the costs that it learned, in the order of its proposals. How many
// workers found them, and which of them was first, changes nothing.
//
//   random              the start, disturbed by more or fewer moves; what the others must beat
//   hill_climbing       the best of some neighbours, if it is better; from a disturbed best where nothing is
//   annealing           worse neighbours too, the less the later (Kirkpatrick, Gelatt, Vecchi 1983)
//   evolution           children of good ones, of which the best live on
//   model               a regression learns from all costs which neighbours are worth trying
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/tuner/Domain.h"

#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace soliton::tune {

enum class Strategy : uint8_t { Random, HillClimbing, Annealing, Evolution, Model };

std::string_view nameOf(Strategy strategy);
std::optional<Strategy> parseStrategy(std::string_view text);
const std::vector<std::string> &strategyNames();

/// The cost of what no filter let through.
inline constexpr double kRefused = std::numeric_limits<double>::infinity();

struct SearchOptions {
  uint64_t seed = 0;
  /// How many points there will be in all: annealing cools by it.
  int64_t budget = 1000;
  /// Points of a generation. Part of what decides the outcome, unlike the number of workers.
  int generation = 8;
};

class Search {
public:
  virtual ~Search() = default;

  /// The next generation; some of it may have been proposed before.
  virtual std::vector<Point> propose() = 0;
  /// What the points of the last generation cost, in their order; kRefused for those that were refused.
  virtual void learn(const std::vector<double> &costs) = 0;
};

/// The domain must outlive the search.
std::unique_ptr<Search> makeSearch(Strategy strategy, const Domain &domain, const SearchOptions &options);

/// For makeSearch: one a file.
std::unique_ptr<Search> makeRandomSearch(const Domain &domain, const SearchOptions &options);
std::unique_ptr<Search> makeHillClimbing(const Domain &domain, const SearchOptions &options);
std::unique_ptr<Search> makeAnnealing(const Domain &domain, const SearchOptions &options);
std::unique_ptr<Search> makeEvolution(const Domain &domain, const SearchOptions &options);
std::unique_ptr<Search> makeModelSearch(const Domain &domain, const SearchOptions &options);

/// A point after some random steps.
Point disturbed(const Domain &domain, Point point, int steps, Random &random);

} // namespace soliton::tune
