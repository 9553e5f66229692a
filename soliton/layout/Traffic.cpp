#include "soliton/layout/Traffic.h"

#include <algorithm>

namespace soliton {
namespace {
/// Bytes from the start of the tile that positions of an axis add, one per position.
std::vector<int64_t> offsetsOf(const Digits &digits, const MemoryRows &memory) {
  std::vector<int64_t> offsets{0};
  for (const Digit &digit : digits) {
    auto found = digit.dim ? memory.strides.find(*digit.dim) : memory.strides.end();
    int64_t stride = found == memory.strides.end() ? 0 : found->second * digit.stride;
    size_t before = offsets.size();
    for (int64_t value = 1; value < digit.extent; ++value)
      for (size_t i = 0; i < before; ++i)
        offsets.push_back(offsets[i] + value * stride);
  }
  return offsets;
}

/// Blocks of `size` bytes that lanes at these sorted offsets touch, all of them shifted by `shift`.
int64_t blocksTouched(const std::vector<int64_t> &lanes, int64_t shift, int64_t bytes, int64_t size) {
  int64_t count = 0, next = 0;
  for (int64_t lane : lanes) {
    int64_t first = std::max(next, (lane + shift) / size), last = (lane + shift + bytes - 1) / size;
    count += std::max<int64_t>(0, last - first + 1);
    next = std::max(next, last + 1);
  }
  return count;
}
} // namespace

Traffic trafficOf(const Layout &layout, int64_t width, const MemoryRows &memory, const TrafficUnits &units) {
  std::vector<int64_t> lanes = offsetsOf(layout.lane, memory), waves = offsetsOf(layout.wave, memory),
                       registers = offsetsOf(layout.reg, memory);
  std::ranges::sort(lanes);
  // Instructions differ by a shift, and what they touch by where in a line the shift ends: few cases, each looked at
  // once.
  std::map<int64_t, int64_t> shifts;
  for (int64_t wave : waves)
    for (size_t i = 0; i < registers.size(); i += static_cast<size_t>(width))
      ++shifts[(wave + registers[i]) % units.lineBytes];
  Traffic all;
  for (auto [shift, times] : shifts) {
    all.instructions += times;
    all.sectors += times * blocksTouched(lanes, shift, width * memory.elementBytes, units.sectorBytes);
    all.lines += times * blocksTouched(lanes, shift, width * memory.elementBytes, units.lineBytes);
  }
  int64_t count = static_cast<int64_t>(waves.size());
  auto mean = [&](int64_t sum) { return (sum + count - 1) / count; };
  return {mean(all.instructions), mean(all.sectors), mean(all.lines)};
}

} // namespace soliton
