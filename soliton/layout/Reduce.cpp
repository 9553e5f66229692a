#include "soliton/layout/Reduce.h"

#include "soliton/layout/PrimeDigits.h"

#include <algorithm>

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

namespace {
/// The digit of `dim` that covers the lanes from `divisor` on becomes replication there.
Digits withoutPart(const Digits &digits, int64_t divisor, int64_t extent, Dim dim) {
  Digits result;
  int64_t weight = 1;
  for (const Digit &digit : primeDigits(digits)) {
    bool removed = digit.dim == dim && weight >= divisor && weight < divisor * extent;
    result.push_back(removed ? Digit(digit.extent) : digit);
    weight *= digit.extent;
  }
  return canonical(result);
}

/// `digits` without what `kept` has of `dim` at the same place; both have the same count.
Digits onlyReduced(const Digits &digits, const Digits &kept, Dim dim) {
  Digits result = primeDigits(digits);
  int64_t weight = 1;
  for (Digit &digit : result) {
    int64_t place = 1;
    for (const Digit &other : primeDigits(kept)) {
      if (place == weight && other.dim == dim && digit.dim == dim)
        digit = Digit(digit.extent);
      place *= other.extent;
    }
    weight *= digit.extent;
  }
  return canonical(result);
}
} // namespace

ReducePlan planReduce(const Layout &source, Dim dim, const Layout &result) {
  Layout reduced = source;
  reduced.lane = onlyReduced(source.lane, result.lane, dim);
  reduced.wave = onlyReduced(source.wave, result.wave, dim);
  ReducePlan plan = planReduce(reduced, dim);
  plan.result = result;
  return plan;
}

std::vector<Layout> reduceStages(const Layout &source, Dim dim) {
  std::vector<Layout> stages;
  Layout stage = source.canonical();
  size_t before = stage.reg.size();
  std::erase_if(stage.reg, [&](const Digit &digit) { return digit.dim == dim; });
  if (stage.reg.size() != before)
    stages.push_back(stage);
  for (const LaneStep &step : planReduce(source, dim).lanes) {
    // The steps of a ring leave its lanes with different sums until the last.
    bool ends = step.kind == LaneStep::Kind::butterfly || step.kind == LaneStep::Kind::broadcast;
    if (!ends)
      continue;
    stage.lane = withoutPart(stage.lane, step.divisor, step.extent, dim);
    stages.push_back(stage);
  }
  return stages;
}

int64_t keptCoordinate(const Layout &source, const Layout &result, Dim dim, int64_t coordinate) {
  auto digitsOf = [&](const Layout &layout) {
    Digits digits;
    for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
      for (const Digit &digit : primeDigits(layout.digits(axis)))
        if (digit.dim == dim)
          digits.push_back(digit);
    return digits;
  };
  Digits digits = digitsOf(source), kept = digitsOf(result);
  std::ranges::sort(digits, {}, [](const Digit &digit) { return -digit.stride; });
  auto start = source.offset.find(dim);
  int64_t place = start == source.offset.end() ? 0 : start->second, rest = coordinate - place;
  for (const Digit &digit : digits) {
    int64_t value = std::min(rest / digit.stride, digit.extent - 1);
    rest -= value * digit.stride;
    if (std::ranges::find(kept, digit) != kept.end())
      place += value * digit.stride;
  }
  return place;
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
