#include "soliton/tuner/Space.h"

#include "soliton/support/Diagnostics.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace soliton::tune {

/// Attempts to find a point that the conditions allow before the one at hand is kept.
static constexpr int kAttempts = 64;

static std::optional<int64_t> numberIn(const std::string &text) {
  int64_t value = 0;
  const char *end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, value) != std::from_chars_result{end, std::errc()})
    return std::nullopt;
  return value;
}

Space &Space::choice(std::string name, const std::vector<std::string> &values) {
  auto isPlain = [](const std::string &text) {
    return !text.empty() && text.find_first_of("\n=") == std::string::npos;
  };
  if (!isPlain(name) || name.find(' ') != std::string::npos)
    throw TuneError(DiagId::TuneSpace, "found `" + name + "` as the name of a choice, expected one word without `=`",
                    "say `--space NAME=VALUE,VALUE`");
  if (find(name))
    throw TuneError(DiagId::TuneSpace, "found `" + name + "` twice, expected one list of values for each name",
                    "put all of its values into one list");
  if (values.empty())
    throw TuneError(DiagId::TuneSpace, "`" + name + "` has no values, expected one at least",
                    "say `" + name + "=64,128`, or leave it out");
  Choice made{std::move(name), {}, true};
  for (const std::string &value : values) {
    if (!isPlain(value))
      throw TuneError(DiagId::TuneSpace,
                      "found `" + value + "` as a value of `" + made.name + "`, expected a word or a number",
                      "separate values by single commas");
    if (std::find(made.values.begin(), made.values.end(), value) == made.values.end())
      made.values.push_back(value);
    made.isOrdered &= numberIn(value).has_value();
  }
  if (made.isOrdered)
    std::sort(made.values.begin(), made.values.end(),
              [](const std::string &a, const std::string &b) { return *numberIn(a) < *numberIn(b); });
  list.push_back(std::move(made));
  return *this;
}

Space &Space::choice(std::string name, const std::vector<int64_t> &values) {
  std::vector<std::string> texts;
  for (int64_t value : values)
    texts.push_back(std::to_string(value));
  return choice(std::move(name), texts);
}

Space &Space::where(std::string text, Condition condition) {
  conditions.emplace_back(std::move(text), std::move(condition));
  return *this;
}

const Choice *Space::find(std::string_view name) const {
  auto found = std::find_if(list.begin(), list.end(), [&](const Choice &each) { return each.name == name; });
  return found == list.end() ? nullptr : &*found;
}

int64_t Space::size() const {
  int64_t count = 1;
  for (const Choice &each : list)
    if (__builtin_mul_overflow(count, static_cast<int64_t>(each.values.size()), &count))
      return INT64_MAX;
  return count;
}

bool Space::allows(const Assignment &assignment) const {
  return std::all_of(conditions.begin(), conditions.end(), [&](const auto &each) { return each.second(assignment); });
}

std::string Space::text() const {
  std::string result;
  for (const Choice &each : list) {
    result += each.name + "=";
    for (size_t i = 0; i < each.values.size(); ++i)
      result += (i > 0 ? "," : "") + each.values[i];
    result += "\n";
  }
  for (const auto &[text, condition] : conditions)
    result += "where " + text + "\n";
  return result;
}

//===- As a domain -------------------------------------------------------------------===//

SpaceDomain::SpaceDomain(const Space &space, const Assignment &start) : space(space) {
  for (const Choice &each : space.choices()) {
    auto said = start.find(each.name);
    auto value =
        said == start.end() ? each.values.begin() : std::find(each.values.begin(), each.values.end(), said->second);
    if (value == each.values.end())
      throw TuneError(DiagId::TuneSpace,
                      "found `" + each.name + " = " + said->second + "` where the search starts, expected " +
                          listOf(each.values),
                      "start at a value of the space, or add this one to it");
    first.push_back(static_cast<int32_t>(value - each.values.begin()));
  }
  if (allows(first))
    return;
  // Elsewhere, then: the first that is allowed, looked for in a fixed order.
  Random random(0);
  for (int i = 0; i < kAttempts * kAttempts; ++i)
    if (Point point = anywhere(random); allows(point)) {
      first = point;
      return;
    }
  throw TuneError(DiagId::TuneSpace,
                  "nothing that the space holds meets its conditions, expected some of its " +
                      std::to_string(space.size()) + " combinations to",
                  "leave a condition out, or add values");
}

Assignment SpaceDomain::assignmentOf(const Point &point) const {
  Assignment result;
  for (size_t i = 0; i < point.size(); ++i)
    result[space.choices()[i].name] = space.choices()[i].values[point[i]];
  return result;
}

Point SpaceDomain::anywhere(Random &random) const {
  Point point = first;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    for (size_t i = 0; i < point.size(); ++i)
      point[i] = static_cast<int32_t>(random.below(static_cast<int64_t>(space.choices()[i].values.size())));
    if (allows(point))
      return point;
  }
  return first;
}

Point SpaceDomain::neighbour(const Point &point, Random &random) const {
  for (int attempt = 0; attempt < kAttempts && !point.empty(); ++attempt) {
    Point next = point;
    // Mostly one choice changes; what two together would win is not out of reach.
    for (int64_t changes = random.chance(0.75) ? 1 : 2; changes > 0; --changes) {
      size_t i = static_cast<size_t>(random.below(static_cast<int64_t>(point.size())));
      int64_t count = static_cast<int64_t>(space.choices()[i].values.size());
      bool isStep = space.choices()[i].isOrdered && random.chance(0.75);
      int64_t to = isStep ? next[i] + (random.chance(0.5) ? 1 : -1) : random.below(count);
      next[i] = static_cast<int32_t>(std::clamp<int64_t>(to, 0, count - 1));
    }
    if (next != point && allows(next))
      return next;
  }
  return point;
}

Point SpaceDomain::between(const Point &one, const Point &other, Random &random) const {
  Point point = one;
  for (size_t i = 0; i < point.size(); ++i)
    if (random.chance(0.5))
      point[i] = other[i];
  return allows(point) ? point : one;
}

std::vector<double> SpaceDomain::features(const Point &point) const {
  std::vector<double> logs, result;
  for (size_t i = 0; i < point.size(); ++i) {
    const Choice &choice = space.choices()[i];
    if (choice.isOrdered) {
      logs.push_back(std::log2(1.0 + std::abs(static_cast<double>(*numberIn(choice.values[point[i]])))));
      continue;
    }
    for (size_t value = 0; value < choice.values.size(); ++value)
      result.push_back(static_cast<size_t>(point[i]) == value);
  }
  for (size_t a = 0; a < logs.size(); ++a) {
    result.push_back(logs[a]);
    for (size_t b = 0; b <= a; ++b)
      result.push_back(logs[a] * logs[b]);
  }
  return result;
}

} // namespace soliton::tune
