#include "soliton/layout/Reduce.h"

namespace soliton {
namespace {
bool isPowerOfTwo(int64_t number) {
  return (number & (number - 1)) == 0;
}

/// Groups registers by what they hold besides `dim`; copies of a replicated register are groups of their own.
std::vector<std::vector<int64_t>> groupRegisters(const Digits &reg, Dim dim) {
  int64_t groups = 1;
  for (const Digit &digit : reg)
    groups *= digit.dim == dim ? 1 : digit.extent;
  std::vector<std::vector<int64_t>> result(static_cast<size_t>(groups));
  for (int64_t index = 0; index < countOf(reg); ++index) {
    int64_t position = index, group = 0, weight = 1;
    for (const Digit &digit : reg) {
      if (digit.dim != dim) {
        group += position % digit.extent * weight;
        weight *= digit.extent;
      }
      position /= digit.extent;
    }
    result[static_cast<size_t>(group)].push_back(index);
  }
  return result;
}

/// Any extent: x covers `covered` lanes of the ring after each step; bits of the extent from the top.
void addRing(int64_t divisor, int64_t extent, std::vector<LaneStep> &steps) {
  int64_t top = 1;
  while (top * 2 <= extent)
    top *= 2;
  int64_t covered = 1;
  bool first = true;
  auto add = [&](LaneStep::Kind kind, int64_t shift) {
    steps.push_back({kind, 0, divisor, extent, shift, first});
    first = false;
  };
  for (int64_t bit = top / 2; bit > 0; bit /= 2) {
    add(LaneStep::Kind::join, covered);
    covered *= 2;
    if (extent & bit) {
      add(LaneStep::Kind::joinFirst, covered);
      covered += 1;
    }
  }
  // Each lane has summed in another order: one of them speaks for all.
  add(LaneStep::Kind::broadcast, 0);
}

void addLaneDigit(int64_t divisor, int64_t extent, std::vector<LaneStep> &steps) {
  int64_t power = 1;
  if (isPowerOfTwo(divisor))
    while (extent % (2 * power) == 0)
      power *= 2;
  for (int64_t bit = 1; bit < power; bit *= 2)
    steps.push_back({LaneStep::Kind::butterfly, divisor * bit, divisor * bit, 2, 1, bit == 1});
  if (power < extent)
    addRing(divisor * power, extent / power, steps);
}
} // namespace

int64_t LaneStep::sourceLane(int64_t lane) const {
  if (kind == Kind::butterfly)
    return lane ^ mask;
  int64_t digit = lane / divisor % extent;
  int64_t wanted = kind == Kind::broadcast ? 0 : (digit + shift) % extent;
  return lane + (wanted - digit) * divisor;
}

int64_t ReducePlan::wavePartials() const {
  int64_t count = 1;
  for (const WaveDigit &digit : waves)
    count *= digit.extent;
  return count;
}

int64_t ReducePlan::wavePartial(int64_t wave) const {
  int64_t result = 0, weight = 1;
  for (const WaveDigit &digit : waves) {
    result += wave / digit.divisor % digit.extent * weight;
    weight *= digit.extent;
  }
  return result;
}

ReducePlan planReduce(const Layout &source, Dim dim) {
  Layout from = source.canonical();
  ReducePlan plan;
  plan.registers = groupRegisters(from.reg, dim);
  int64_t divisor = 1;
  for (const Digit &digit : from.lane) {
    if (digit.dim == dim)
      addLaneDigit(divisor, digit.extent, plan.lanes);
    divisor *= digit.extent;
  }
  divisor = 1;
  for (const Digit &digit : from.wave) {
    if (digit.dim == dim)
      plan.waves.push_back({divisor, digit.extent});
    divisor *= digit.extent;
  }
  plan.result = from.withoutDim(dim);
  return plan;
}

} // namespace soliton
