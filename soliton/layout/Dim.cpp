#include "soliton/layout/Dim.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>

namespace soliton {

static const std::string *intern(std::string_view name) {
  // Never destroyed: handles may outlive static destruction.
  static std::mutex &lock = *new std::mutex;
  static auto &names = *new std::set<std::string, std::less<>>;
  std::lock_guard guard(lock);
  auto found = names.find(name);
  if (found == names.end())
    found = names.emplace(name).first;
  return &*found;
}

Dim::Dim(std::string_view name) : text(intern(name)) {}

static bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// The number: no zero in front, nine digits at most, above 1; nothing for anything else.
static std::optional<int64_t> factorOf(std::string_view text) {
  constexpr size_t kMostDigits = 9;
  if (text.empty() || text.size() > kMostDigits || text.front() == '0' || !std::ranges::all_of(text, isDigit))
    return std::nullopt;
  int64_t value = 0;
  for (char c : text)
    value = value * 10 + (c - '0');
  return value > 1 ? std::optional(value) : std::nullopt;
}

/// `K/32`.
static std::optional<ScaledDim> quotientOf(std::string_view name) {
  size_t slash = name.find('/');
  if (slash == std::string_view::npos)
    return std::nullopt;
  std::optional<int64_t> divisor = factorOf(name.substr(slash + 1));
  return divisor ? std::optional(ScaledDim{Dim(name.substr(0, slash)), *divisor}) : std::nullopt;
}

/// `3*(K/4)`, in lowest terms.
static std::optional<ScaledDim> multipleOf(std::string_view name) {
  size_t open = name.find("*(");
  if (open == std::string_view::npos || name.back() != ')')
    return std::nullopt;
  std::optional<int64_t> places = factorOf(name.substr(0, open));
  std::optional<ScaledDim> inner = quotientOf(name.substr(open + 2, name.size() - open - 3));
  if (!places || !inner || std::gcd(*places, inner->divisor) != 1)
    return std::nullopt;
  inner->places = *places;
  return inner;
}

static std::optional<ScaledDim> parsed(std::string_view name) {
  return name.find('*') == std::string_view::npos ? quotientOf(name) : multipleOf(name);
}

Dim ScaledDim::dim() const {
  // Groups of groups are groups.
  ScaledDim inner = scaledDim(base);
  int64_t count = inner.places * places, of = inner.divisor * divisor, common = std::gcd(count, of);
  if (of == common)
    return inner.base;
  std::string name = inner.base.name() + "/" + std::to_string(of / common);
  return Dim(count == common ? name : std::to_string(count / common) + "*(" + name + ")");
}

ScaledDim scaledDim(Dim dim) {
  return parsed(dim.name()).value_or(ScaledDim{dim});
}

bool isDimName(std::string_view name) {
  if (name.find_first_of("/*()") != std::string_view::npos) {
    std::optional<ScaledDim> scaled = parsed(name);
    return scaled && isDimName(scaled->base.name());
  }
  if (name.empty() || name == "_" || !isNameStart(name.front()))
    return false;
  return std::ranges::all_of(name, [](char c) { return isNameStart(c) || isDigit(c); });
}

std::string_view dimWord(std::string_view text) {
  auto isLetter = [](char c) { return isNameStart(c) || isDigit(c) || c == '/'; };
  auto after = [&](size_t at) {
    return static_cast<size_t>(std::find_if_not(text.begin() + static_cast<ptrdiff_t>(at), text.end(), isLetter) -
                               text.begin());
  };
  size_t end = after(0);
  if (text.substr(end, 2) == "*(")
    end = after(end + 2);
  bool closes = end < text.size() && text[end] == ')' && text.substr(0, end).find('(') != std::string_view::npos;
  return text.substr(0, closes ? end + 1 : end);
}

} // namespace soliton
