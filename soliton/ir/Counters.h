//===- Counters.h - The counters of both dialects are those of CounterKind ----------===//
//
// Tablegen makes an enumeration for each dialect. They are one list, in one order; this is the only place that goes
// from one to another.
//
//   kindOf(wait.getCounter()) == CounterKind::vm           toMachine(kindOf(wait.getCounter()))
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Machine.h"
#include "soliton/ir/Wave.h"
#include "soliton/support/Counter.h"

namespace soliton {

template <typename Other>
constexpr bool isSameCounter(CounterKind kind, Other other) {
  return static_cast<int>(kind) == static_cast<int>(other);
}
static_assert(isSameCounter(CounterKind::vm, wave::Counter::Vm) &&
              isSameCounter(CounterKind::shared, wave::Counter::Shared) &&
              isSameCounter(CounterKind::cpAsync, wave::Counter::CpAsync) &&
              isSameCounter(CounterKind::bulk, wave::Counter::Bulk) &&
              isSameCounter(CounterKind::mma, wave::Counter::Mma) &&
              isSameCounter(CounterKind::boxes, wave::Counter::Boxes));
static_assert(isSameCounter(CounterKind::vm, machine::Counter::vm) &&
              isSameCounter(CounterKind::shared, machine::Counter::shared) &&
              isSameCounter(CounterKind::cpAsync, machine::Counter::cp_async) &&
              isSameCounter(CounterKind::bulk, machine::Counter::bulk) &&
              isSameCounter(CounterKind::mma, machine::Counter::mma));

inline CounterKind kindOf(wave::Counter counter) {
  return static_cast<CounterKind>(counter);
}
inline CounterKind kindOf(machine::Counter counter) {
  return static_cast<CounterKind>(counter);
}
inline wave::Counter toWave(CounterKind kind) {
  return static_cast<wave::Counter>(kind);
}
/// `boxes` are no counter of the machine: barriers in memory say that they are there (CopyRing.h).
inline machine::Counter toMachine(CounterKind kind) {
  return static_cast<machine::Counter>(kind);
}

} // namespace soliton
