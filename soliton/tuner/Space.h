//===- Space.h - What may be chosen ----------------------------------------===//
//
// Names with finite lists of values, and conditions on them:
//
//   Space space = Space{}.choice(BM, {64, 128, 256}).choice("schedule", {"prefetch", "modulo"})
//                        .where("BLOCK_M <= 4 * BLOCK_N", [](const Assignment &a) { … });
//
// As a domain (SpaceDomain) a point is the place of each value in its list: a neighbour has one value next to its own,
// or another one where values have no order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/tuner/Candidate.h"
#include "soliton/tuner/Domain.h"

#include <concepts>
#include <functional>
#include <initializer_list>

namespace soliton::tune {

/// A symbol of the kernel language.
template <typename S>
concept NamedSymbol = requires(const S &s) {
  { s.symbolName() } -> std::convertible_to<std::string_view>;
};

struct Choice {
  std::string name;
  /// Without repetition, in the order in which they were said.
  std::vector<std::string> values;
  /// All are numbers.
  bool isOrdered = false;
};

class Space {
public:
  using Condition = std::function<bool(const Assignment &)>;

  /// Throw TuneError for a name that is there already or not to be written in a line, and for a list of nothing.
  Space &choice(std::string name, const std::vector<std::string> &values);
  Space &choice(std::string name, const std::vector<int64_t> &values);
  Space &choice(std::string name, std::initializer_list<int64_t> values) {
    return choice(std::move(name), std::vector<int64_t>(values));
  }
  Space &choice(std::string name, std::initializer_list<const char *> values) {
    return choice(std::move(name), std::vector<std::string>(values.begin(), values.end()));
  }
  template <NamedSymbol S>
  Space &choice(const S &symbol, std::initializer_list<int64_t> values) {
    return choice(std::string(symbol.symbolName()), values);
  }
  /// `text` is for people.
  Space &where(std::string text, Condition condition);

  const std::vector<Choice> &choices() const { return list; }
  const Choice *find(std::string_view name) const;
  /// Combinations, those included that conditions forbid; at most INT64_MAX.
  int64_t size() const;
  bool allows(const Assignment &assignment) const;
  /// All of it, one line each: equal texts, equal spaces (as far as conditions say what they are).
  std::string text() const;

private:
  std::vector<Choice> list;
  std::vector<std::pair<std::string, Condition>> conditions;
};

class SpaceDomain final : public Domain {
public:
  /// The space must outlive the domain. Throws TuneError if `start` is none of it, or nothing is allowed.
  SpaceDomain(const Space &space, const Assignment &start);

  Point start() const override { return first; }
  Point anywhere(Random &random) const override;
  Point neighbour(const Point &point, Random &random) const override;
  Point between(const Point &one, const Point &other, Random &random) const override;
  std::vector<double> features(const Point &point) const override;

  Assignment assignmentOf(const Point &point) const;

private:
  bool allows(const Point &point) const { return space.allows(assignmentOf(point)); }

  const Space &space;
  Point first;
};

} // namespace soliton::tune
