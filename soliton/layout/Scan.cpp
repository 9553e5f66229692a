#include "soliton/layout/Scan.h"

#include <algorithm>

namespace soliton {
namespace {
/// A digit of the dimension and where it stands.
struct Placed {
  Axis axis;
  size_t number;
  int64_t extent, stride;
};

/// The digits of `dim`, least significant first.
std::vector<Placed> digitsOf(const Layout &layout, Dim dim) {
  std::vector<Placed> digits;
  for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
    for (size_t i = 0; i < layout.digits(axis).size(); ++i)
      if (const Digit &digit = layout.digits(axis)[i]; digit.dim == dim && digit.extent > 1)
        digits.push_back({axis, i, digit.extent, digit.stride});
  std::ranges::stable_sort(digits, {}, &Placed::stride);
  return digits;
}

/// The product of what comes before digit `number`; of registers only those of `dim` count.
int64_t divisorOf(const Digits &digits, size_t number, std::optional<Dim> dim) {
  int64_t divisor = 1;
  for (size_t i = 0; i < number; ++i)
    divisor *= !dim || digits[i].dim == dim ? digits[i].extent : 1;
  return divisor;
}

int64_t stepsOf(int64_t extent) {
  int64_t steps = 0;
  for (int64_t covered = 1; covered < extent; covered *= 2)
    ++steps;
  return steps;
}
} // namespace

bool isOrderedAlong(const Layout &layout, Dim dim) {
  std::vector<Placed> digits = digitsOf(layout.canonical(), dim);
  for (size_t i = 0; i + 1 < digits.size(); ++i) {
    bool overlaps = digits[i + 1].stride < digits[i].stride * digits[i].extent;
    bool waveBelow = digits[i].axis == Axis::wave && digits[i + 1].axis != Axis::wave;
    if (overlaps || waveBelow)
      return false;
  }
  return true;
}

Layout orderedAlong(const Layout &layout, Dim dim) {
  Layout ordered = layout.canonical();
  std::vector<Placed> digits = digitsOf(ordered, dim);
  std::ranges::stable_partition(digits, [](const Placed &digit) { return digit.axis != Axis::wave; });
  int64_t stride = 1;
  for (const Placed &digit : digits) {
    ordered.digits(digit.axis)[digit.number].stride = stride;
    stride *= digit.extent;
  }
  return ordered;
}

Layout oneElementPerLane(const Layout &layout, Dim dim) {
  int64_t lanes = layout.lanes();
  if (canonical(layout.lane) == Digits{Digit(lanes, dim, 1)} && !layout.offset.contains(dim))
    return layout;
  Layout own({}, {Digit(lanes, dim, 1)}, {}, layout.offset);
  for (const Digits *digits : {&layout.reg, &layout.lane})
    for (const Digit &digit : *digits)
      if (digit.dim && digit.dim != dim)
        own.reg.push_back(digit);
  for (const Digit &digit : layout.wave)
    own.wave.push_back(digit.dim == dim ? Digit(digit.extent) : digit);
  return own;
}

ScanPlan planScan(const Layout &layout, Dim dim) {
  Layout from = layout.canonical();
  ScanPlan plan;
  plan.groups = planReduce(from, dim).registers;
  for (const Placed &digit : digitsOf(from, dim)) {
    const Digits &axis = from.digits(digit.axis);
    bool isReg = digit.axis == Axis::reg;
    int64_t divisor = divisorOf(axis, digit.number, isReg ? std::optional(dim) : std::nullopt);
    if (digit.axis == Axis::wave)
      plan.waves.push_back({divisor, digit.extent});
    else
      plan.digits.push_back({digit.axis, divisor, digit.extent});
  }
  return plan;
}

bool ScanPlan::crossesLanes() const {
  return std::ranges::any_of(digits, [](const ScanDigit &digit) { return digit.axis == Axis::lane; });
}

int64_t ScanPlan::exchanges() const {
  int64_t count = 0, runs = groups.empty() ? 0 : static_cast<int64_t>(groups.front().size());
  for (const ScanDigit &digit : digits) {
    if (digit.axis == Axis::reg)
      runs /= digit.extent;
    else // the totals, those of the lanes before, and the whole where something follows
      count += runs * (stepsOf(digit.extent) + (&digit == &digits.back() ? 1 : 2));
  }
  return count;
}

int64_t ScanPlan::combinations() const {
  int64_t registers = groups.empty() ? 0 : static_cast<int64_t>(groups.front().size());
  int64_t count = 0, runs = registers;
  for (const ScanDigit &digit : digits) {
    if (digit.axis == Axis::reg) {
      runs /= digit.extent;
      count += runs * (digit.extent - 1) + registers - registers / digit.extent;
    } else { // a choice with each combination
      count += runs * (2 * stepsOf(digit.extent) + 1) + registers;
    }
  }
  return count;
}

} // namespace soliton
