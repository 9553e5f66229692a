//===- Counter.h - What asynchronous work is counted on ---------------------===//
//
// The one notion of a counter: targets say which of them they have, the dialects' enumerations are the same list
// (soliton/ir/Counters.h checks that), schedules know them by name.
//
//   name(CounterKind::cpAsync)      "cp_async"
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace soliton {

/// The abstract counters that asynchronous operations tick and `wait` waits for.
enum class CounterKind : uint8_t { vm, shared, cpAsync, bulk, mma, boxes };
/// `vm`, `shared`, `cp_async`, `bulk`, `mma`, `boxes`.
std::string_view name(CounterKind kind);
std::optional<CounterKind> parseCounterKind(std::string_view text);

} // namespace soliton
