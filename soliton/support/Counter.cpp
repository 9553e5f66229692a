#include "soliton/support/Counter.h"

#include <algorithm>
#include <array>

namespace soliton {

static constexpr std::array<std::string_view, 6> kNames = {"vm", "shared", "cp_async", "bulk", "mma", "boxes"};

std::string_view name(CounterKind kind) {
  return kNames[static_cast<size_t>(kind)];
}

std::optional<CounterKind> parseCounterKind(std::string_view text) {
  auto found = std::ranges::find(kNames, text);
  if (found == kNames.end())
    return std::nullopt;
  return static_cast<CounterKind>(found - kNames.begin());
}

} // namespace soliton
