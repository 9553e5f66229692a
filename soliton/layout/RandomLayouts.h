//===- RandomLayouts.h - Layouts for property tests (tests only) ---------------------===//
#pragma once

#include "soliton/layout/Layout.h"

#include <algorithm>
#include <random>

namespace soliton::test {

using Random = std::mt19937_64;

inline int64_t pick(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

inline std::vector<int64_t> primesOf(int64_t number) {
  std::vector<int64_t> primes;
  for (int64_t p = 2; number > 1; ++p)
    for (; number % p == 0; number /= p)
      primes.push_back(p);
  return primes;
}

/// How many of each the layouts of a pair have in common.
struct Shape {
  std::map<Dim, int64_t> extents;
  int64_t lanes, waves;
};

inline Shape randomShape(Random &random) {
  const int64_t lanes[] = {1, 2, 4, 8, 16, 32, 64, 3, 6, 12, 24};
  const int64_t waves[] = {1, 2, 4, 3, 6, 8};
  const int64_t extents[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  Shape shape;
  shape.lanes = lanes[pick(random, 0, 10)];
  shape.waves = waves[pick(random, 0, 5)];
  for (const char *name : {"M", "N", "K"})
    if (int64_t extent = extents[pick(random, 0, 9)]; extent > 1 && shape.extents.size() < 2)
      shape.extents.emplace(Dim(name), extent);
  return shape;
}

/// A layout of that shape, bijective up to replication: prime digits of the extents are dealt to lanes and waves at
/// random, what is left goes to registers, unfilled lanes and waves replicate. `keepOrder` draws primes of a dim in
/// rising order, so that the digits of two layouts nest more often.
inline Layout randomLayout(Random &random, const Shape &shape, bool keepOrder = true) {
  std::vector<Digit> digits;
  for (auto [dim, extent] : shape.extents) {
    std::vector<int64_t> primes = primesOf(extent);
    if (!keepOrder)
      std::ranges::shuffle(primes, random);
    int64_t stride = 1;
    for (int64_t prime : primes) {
      digits.push_back(Digit(prime, dim, stride));
      stride *= prime;
    }
  }
  std::ranges::shuffle(digits, random);
  Layout layout;
  auto deal = [&](Digits &axis, int64_t count) {
    for (int64_t prime : primesOf(count)) {
      auto found = std::ranges::find(digits, prime, &Digit::extent);
      if (found == digits.end() || pick(random, 0, 5) == 0) {
        axis.push_back(Digit(prime));
        continue;
      }
      axis.push_back(*found);
      digits.erase(found);
    }
    std::ranges::shuffle(axis, random);
  };
  deal(layout.lane, shape.lanes);
  deal(layout.wave, shape.waves);
  layout.reg = digits;
  if (pick(random, 0, 9) == 0)
    layout.reg.insert(layout.reg.begin() + pick(random, 0, static_cast<int64_t>(layout.reg.size())), Digit(2));
  return layout;
}

} // namespace soliton::test
