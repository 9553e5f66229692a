#include "soliton/layout/Dim.h"

#include <algorithm>
#include <mutex>
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

/// The number after `/`: no zero in front, nine digits at most, above 1; nothing for anything else.
static std::optional<int64_t> divisorOf(std::string_view text) {
  constexpr size_t kMostDigits = 9;
  if (text.empty() || text.size() > kMostDigits || text.front() == '0' || !std::ranges::all_of(text, isDigit))
    return std::nullopt;
  int64_t value = 0;
  for (char c : text)
    value = value * 10 + (c - '0');
  return value > 1 ? std::optional(value) : std::nullopt;
}

Dim ScaledDim::dim() const {
  if (!isScaled())
    return base;
  // Groups of groups are groups.
  ScaledDim inner = scaledDim(base);
  return Dim(inner.base.name() + "/" + std::to_string(inner.divisor * divisor));
}

ScaledDim scaledDim(Dim dim) {
  std::string_view name = dim.name();
  size_t slash = name.find('/');
  if (slash == std::string_view::npos)
    return {dim};
  std::optional<int64_t> divisor = divisorOf(name.substr(slash + 1));
  return divisor ? ScaledDim{Dim(name.substr(0, slash)), *divisor} : ScaledDim{dim};
}

bool isDimName(std::string_view name) {
  if (size_t slash = name.find('/'); slash != std::string_view::npos)
    return divisorOf(name.substr(slash + 1)) && isDimName(name.substr(0, slash));
  if (name.empty() || name == "_" || !isNameStart(name.front()))
    return false;
  for (char c : name)
    if (!isNameStart(c) && !isDigit(c))
      return false;
  return true;
}

} // namespace soliton
