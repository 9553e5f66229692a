#include "soliton/layout/SharedPlan.h"

#include <algorithm>
#include <numeric>

namespace soliton {

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

namespace {
/// One access of one wave: what the search for a map looks at, since the others are nearly always the same up to a
/// shift.
SharedAccessPattern firstAccess(SharedAccessPattern pattern) {
  pattern.layout.wave.clear();
  if (std::optional<Layout> first = pattern.layout.subLayout(0, pattern.elementsPerAccess))
    pattern.layout = *first;
  return pattern;
}

int64_t conflictsOf(const SharedMap &map, const MapRequest &request) {
  int64_t conflicts = 0;
  for (const SharedAccessPattern &pattern : request.accesses)
    conflicts += countConflicts(map, request.elementBits, pattern);
  return conflicts;
}
} // namespace

bool suitsRuns(const SharedMap &map, const std::vector<int64_t> &runs) {
  return std::ranges::all_of(runs, [&](int64_t run) {
    bool crossesPadding = map.padding > 0 && map.dims.back().extent % run != 0;
    return !crossesPadding && run % (map.swizzle.chunk * map.swizzle.allPhases()) == 0;
  });
}

SharedMap chooseMap(const MapRequest &request) {
  if (!request.mayBeSwizzled) {
    SharedMap padded = choosePadding(request.plain, request.elementBits, request.accesses).map;
    return suitsRuns(padded, request.runs) ? padded : request.plain;
  }
  std::vector<SharedAccessPattern> first;
  for (const SharedAccessPattern &pattern : request.accesses)
    first.push_back(firstAccess(pattern));
  SharedMap quick = chooseSwizzle(request.plain, request.elementBits, first).map;
  if (conflictsOf(quick, request) == 0 && suitsRuns(quick, request.runs))
    return quick;
  SharedChoice swizzled = chooseSwizzle(request.plain, request.elementBits, request.accesses);
  bool canSwizzle = suitsRuns(swizzled.map, request.runs);
  if (canSwizzle && swizzled.conflicts == 0)
    return swizzled.map;
  SharedChoice padded = choosePadding(request.plain, request.elementBits, request.accesses);
  if (suitsRuns(padded.map, request.runs) && (padded.conflicts < swizzled.conflicts || !canSwizzle))
    return padded.map;
  return canSwizzle ? swizzled.map : request.plain;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

bool liveTogether(const SharedTile &a, const SharedTile &b) {
  if (a.live.empty() || b.live.empty())
    return true;
  for (const LiveInterval &first : a.live)
    for (const LiveInterval &second : b.live)
      if (first.begin < second.end && second.begin < first.end)
        return true;
  return false;
}

namespace {
int64_t alignedUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

class Placement {
public:
  explicit Placement(const std::vector<SharedTile> &tiles) : tiles(tiles), together(tiles.size()) {
    for (size_t i = 0; i < tiles.size(); ++i)
      for (size_t j = 0; j < tiles.size(); ++j)
        together[i].push_back(i != j && liveTogether(tiles[i], tiles[j]));
    bySize.resize(tiles.size());
    std::iota(bySize.begin(), bySize.end(), 0);
    std::ranges::sort(bySize, {}, [&](size_t i) { return std::pair(-tiles[i].bytes, i); });
  }

  SharedPlan run(size_t maxExact) {
    offsets.assign(tiles.size(), -1);
    for (size_t tile : bySize)
      place(tile);
    best = {offsets, bytes(), false};
    int64_t atLeast = lowerBound();
    if (best.bytes > atLeast && tiles.size() <= maxExact) {
      offsets.assign(tiles.size(), -1);
      search(0, 0);
      best.exact = true;
    }
    best.exact |= best.bytes == atLeast;
    return best;
  }

private:
  /// The lowest offset at which no tile that lives with it is in the way.
  void place(size_t tile) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t other = 0; other < tiles.size(); ++other)
      if (together[tile][other] && offsets[other] >= 0)
        taken.emplace_back(offsets[other], offsets[other] + tiles[other].bytes);
    std::ranges::sort(taken);
    int64_t at = 0;
    for (auto [begin, end] : taken) {
      if (begin >= at + tiles[tile].bytes)
        break;
      at = std::max(at, alignedUp(end, tiles[tile].alignment));
    }
    offsets[tile] = at;
  }

  int64_t bytes() const {
    int64_t most = 0;
    for (size_t i = 0; i < tiles.size(); ++i)
      most = std::max(most, offsets[i] + tiles[i].bytes);
    return most;
  }

  /// What is live at once. Everything starts somewhere, so only starts need to be looked at.
  int64_t lowerBound() const {
    std::vector<int64_t> times;
    for (const SharedTile &tile : tiles)
      for (const LiveInterval &interval : tile.live)
        times.push_back(interval.begin);
    auto liveAt = [&](int64_t time) {
      int64_t sum = 0;
      for (const SharedTile &tile : tiles) {
        bool live = tile.live.empty() || std::ranges::any_of(tile.live, [&](const LiveInterval &interval) {
                      return interval.begin <= time && time < interval.end;
                    });
        sum += live ? tile.bytes : 0;
      }
      return sum;
    };
    int64_t always = 0, most = 0;
    for (const SharedTile &tile : tiles)
      always += tile.live.empty() ? tile.bytes : 0;
    for (int64_t time : times)
      most = std::max(most, liveAt(time));
    return std::max(always, most);
  }

  /// A best plan, its tiles in the order of their offsets, is found by placing them lowest first in that order.
  void search(size_t count, int64_t used) {
    if (used >= best.bytes)
      return;
    if (count == tiles.size()) {
      best = {offsets, used, true};
      return;
    }
    for (size_t tile : bySize) {
      if (offsets[tile] >= 0)
        continue;
      place(tile);
      search(count + 1, std::max(used, offsets[tile] + tiles[tile].bytes));
      offsets[tile] = -1;
    }
  }

  const std::vector<SharedTile> &tiles;
  std::vector<std::vector<bool>> together;
  std::vector<size_t> bySize;
  std::vector<int64_t> offsets;
  SharedPlan best;
};
} // namespace

SharedPlan planShared(const std::vector<SharedTile> &tiles, size_t maxExact) {
  // Where all tiles live together they follow each other as they come: nothing can be gained, and places are stable.
  bool always = std::ranges::all_of(tiles, [](const SharedTile &tile) { return tile.live.empty(); });
  if (!always)
    return Placement(tiles).run(maxExact);
  SharedPlan plan;
  for (const SharedTile &tile : tiles) {
    plan.offsets.push_back(alignedUp(plan.bytes, tile.alignment));
    plan.bytes = plan.offsets.back() + tile.bytes;
  }
  return plan;
}

} // namespace soliton
