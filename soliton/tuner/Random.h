//===- Random.h - Numbers that are the same everywhere ---------------------===//
//
// What a search draws follows from its seed alone, on every machine and with every standard library.
//
//   Random random(7);
//   random.below(10);            // 0 to 9
//   random.unit() < 0.3;
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace soliton::tune {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t value = state += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
  }
  /// 0 to `count` - 1; `count` is at least 1.
  int64_t below(int64_t count) { return static_cast<int64_t>(next() % static_cast<uint64_t>(count)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  /// At least 0, below 1.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  template <typename T>
  const T &pick(const std::vector<T> &list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

private:
  uint64_t state;
};

} // namespace soliton::tune
