#include "soliton/layout/Blocked.h"

#include <algorithm>
#include <numeric>

namespace soliton {
namespace {
/// Hands out a tile's elements, fastest dim first.
class Dealer {
public:
  explicit Dealer(std::span<const DimExtent> tile) {
    for (size_t i = tile.size(); i-- > 0;)
      if (tile[i].extent > 1)
        left.push_back({tile[i].dim, tile[i].extent, 1});
  }

  /// Digits for `count` positions; whatever finds no elements replicates.
  Digits deal(int64_t count) {
    Digits digits;
    for (Share &share : left) {
      int64_t taken = std::gcd(count, share.extent);
      if (taken == 1)
        continue;
      digits.push_back(take(share, taken));
      count /= taken;
    }
    if (count > 1)
      digits.push_back(Digit(count));
    return digits;
  }

  Digits dealFastest(int64_t count) { return count == 1 ? Digits{} : Digits{take(left.front(), count)}; }

  Digit dealFrom(Dim dim, int64_t count) { return take(*std::ranges::find(left, dim, &Share::dim), count); }

  Digits dealRest() {
    Digits digits;
    for (Share &share : left)
      if (share.extent > 1)
        digits.push_back(take(share, share.extent));
    return digits;
  }

private:
  struct Share {
    Dim dim;
    int64_t extent, stride;
  };

  static Digit take(Share &share, int64_t count) {
    Digit digit(count, share.dim, share.stride);
    share.stride *= count;
    share.extent /= count;
    return digit;
  }

  std::vector<Share> left;
};
} // namespace

BlockedResult coalesced(std::span<const DimExtent> tile, int64_t lanes, int64_t waves, int64_t elementsPerLane) {
  if (lanes < 1 || waves < 1 || elementsPerLane < 1)
    return {std::nullopt, "lanes, waves and elements per lane must be at least 1"};
  for (const DimExtent &entry : tile)
    if (entry.extent < 1)
      return {std::nullopt,
              "the extent of `" + entry.dim.name() + "` is " + std::to_string(entry.extent) + ", expected at least 1"};
  int64_t fastest = tile.empty() ? 1 : tile.back().extent;
  if (fastest % elementsPerLane != 0)
    return {std::nullopt, std::to_string(elementsPerLane) + " elements per lane do not divide the " +
                              std::to_string(fastest) + " elements of the fastest dimension"};
  Dealer dealer(tile);
  Layout layout;
  layout.reg = dealer.dealFastest(elementsPerLane);
  layout.lane = dealer.deal(lanes);
  layout.wave = dealer.deal(waves);
  for (Digit &digit : dealer.dealRest())
    layout.reg.push_back(digit);
  return {layout.canonical(), ""};
}

BlockedResult transposing(std::span<const DimExtent> tile, Dim across, int64_t lanes, int64_t waves, int64_t perLane) {
  constexpr int64_t kSquare = 4;
  auto other = std::ranges::find(tile, across, &DimExtent::dim);
  if (other == tile.end() || other + 1 == tile.end())
    return {std::nullopt, "`" + across.name() + "` is no other dimension of the tile than the fastest"};
  int64_t block = perLane * kSquare, elements = 1;
  for (const DimExtent &dim : tile)
    elements *= dim.extent;
  if (perLane < 1 || lanes % (kSquare * kSquare) != 0 || tile.back().extent % block != 0 ||
      other->extent % block != 0 || elements % (perLane * perLane * lanes * waves) != 0)
    return {std::nullopt, "the tile has too few blocks of " + std::to_string(perLane) + " by " +
                              std::to_string(perLane) + " elements"};
  Dealer dealer(tile);
  Layout layout;
  auto deal = [&](Digits &axis, Dim dim, int64_t count) {
    if (count > 1)
      axis.push_back(dealer.dealFrom(dim, count));
  };
  deal(layout.reg, tile.back().dim, perLane);
  deal(layout.reg, across, perLane);
  deal(layout.lane, tile.back().dim, kSquare);
  deal(layout.lane, across, kSquare);
  for (const Digit &digit : dealer.deal(lanes / (kSquare * kSquare)))
    layout.lane.push_back(digit);
  layout.wave = dealer.deal(waves);
  if (layout.replication() > 1)
    return {std::nullopt, "lanes would be left without work"};
  for (const Digit &digit : dealer.dealRest())
    layout.reg.push_back(digit);
  return {layout, ""};
}

int64_t wholeTile(int64_t size) {
  return size <= 8 || size % 4 == 0 ? size : (size + 7) / 8 * 8;
}

/// How many of the threads get elements of their own.
static int64_t employed(std::span<const DimExtent> tile, int64_t threads, int64_t perLane) {
  int64_t left = threads;
  for (const DimExtent &dim : tile)
    left /= std::gcd(left, &dim == &tile.back() ? dim.extent / perLane : dim.extent);
  return threads / left;
}

int64_t bestElementsPerLane(std::span<const DimExtent> tile, int64_t lanes, int64_t waves, int64_t limit) {
  int64_t fastest = tile.empty() ? 1 : tile.back().extent;
  int64_t best = 1;
  // A lane without work costs more than a narrower access.
  for (int64_t count = 2; count <= std::min(limit, fastest) && fastest % count == 0; count *= 2)
    if (employed(tile, lanes * waves, count) == employed(tile, lanes * waves, 1))
      best = count;
  return best;
}

} // namespace soliton
