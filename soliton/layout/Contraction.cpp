#include "soliton/layout/Contraction.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace soliton {
namespace {
int64_t extentAlong(const Digits &digits, Dim k) {
  int64_t extent = 1;
  for (const Digit &digit : digits)
    extent *= digit.dim == k ? digit.extent : 1;
  return extent;
}

void sortPlaces(ContractionOrder &order) {
  std::ranges::sort(order.places, {}, &ContractionOrder::Place::native);
}

/// `count` low values of the digit and what is left above them.
std::pair<Digit, Digit> cut(const Digit &digit, int64_t count) {
  Digit low = digit, high = digit;
  low.extent = count;
  high.extent = digit.extent / count;
  high.stride = digit.stride * count;
  return {low, high};
}

/// Both lists cut into digits of the same extents, one after the other; nothing where they do not divide.
std::optional<std::vector<std::pair<Digit, Digit>>> aligned(Digits a, Digits b) {
  std::vector<std::pair<Digit, Digit>> result;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    int64_t common = std::min(a[i].extent, b[j].extent);
    if (a[i].extent % common != 0 || b[j].extent % common != 0)
      return std::nullopt;
    auto [lowA, highA] = cut(a[i], common);
    auto [lowB, highB] = cut(b[j], common);
    result.emplace_back(lowA, lowB);
    a[i] = highA;
    b[j] = highB;
    i += a[i].extent == 1;
    j += b[j].extent == 1;
  }
  return result;
}

/// Takes `count` elements of K from `from`, smallest strides first, for a fragment's digit that starts at `native`.
bool take(std::vector<ContractionOrder::Step> &from, int64_t count, int64_t native, ContractionOrder &order) {
  while (count > 1) {
    if (from.empty())
      return false;
    ContractionOrder::Step &next = from.front();
    int64_t part = std::gcd(next.extent, count);
    if (part != std::min(next.extent, count))
      return false;
    order.places.push_back({part, native, next.stride});
    native *= part;
    count /= part;
    next = {next.extent / part, next.stride * part};
    if (next.extent == 1)
      from.erase(from.begin());
  }
  return true;
}
} // namespace

std::string ContractionOrder::str() const {
  std::string text = "places";
  for (const Place &place : places)
    text += " " + std::to_string(place.extent) + "@" + std::to_string(place.stride);
  if (!steps.empty())
    text += ", steps";
  for (const Step &step : steps)
    text += " " + std::to_string(step.extent) + "@" + std::to_string(step.stride);
  return text;
}

ContractionOrder nativeOrder(const Layout &fragment, Dim k, int64_t tile) {
  ContractionOrder order;
  int64_t extent = 1;
  for (Axis axis : {Axis::reg, Axis::lane})
    for (const Digit &digit : fragment.digits(axis))
      if (digit.dim == k && digit.extent > 1) {
        order.places.push_back({digit.extent, digit.stride, digit.stride});
        extent *= digit.extent;
      }
  sortPlaces(order);
  if (tile > extent)
    order.steps.push_back({tile / extent, extent});
  return order;
}

ContractionOrder packedOrder(const Layout &fragment, Dim k, int64_t tile, int64_t together) {
  ContractionOrder order;
  int64_t stride = 1;
  auto place = [&](const Digits &digits) {
    for (const Digit &digit : digits)
      if (digit.dim == k && digit.extent > 1)
        order.places.push_back({digit.extent, digit.stride, std::exchange(stride, stride * digit.extent)});
  };
  place(fragment.reg);
  if (together > 1)
    order.steps.push_back({together, std::exchange(stride, stride * together)});
  place(fragment.lane);
  sortPlaces(order);
  if (tile > stride)
    order.steps.push_back({tile / stride, stride});
  return order;
}

ContractionOrder blockOrder(int64_t native, int64_t block, int64_t tile, int64_t together) {
  ContractionOrder order;
  // By twos, so that each digit of a fragment is a number of them.
  for (int64_t place = 1; place < native; place *= 2)
    order.places.push_back({2, place, place < block ? place : place * together});
  if (together > 1)
    order.steps.push_back({together, block});
  if (tile > native * together)
    order.steps.push_back({tile / (native * together), native * together});
  return order;
}

ContractionOrder orderOfBlocks(const ContractionOrder &order, int64_t block) {
  ContractionOrder blocks;
  for (const ContractionOrder::Place &place : order.places)
    if (place.native >= block)
      blocks.places.push_back({place.extent, place.native / block, place.stride / block});
  for (const ContractionOrder::Step &step : order.steps)
    blocks.steps.push_back({step.extent, step.stride / block});
  return blocks;
}

std::optional<ContractionOrder> orderAsHeld(const Layout &fragment, Dim k, const Layout &held) {
  if (fragment.lanes() != held.lanes() || extentAlong(held.wave, k) > 1)
    return std::nullopt;
  auto lanes = aligned(canonical(fragment.lane), canonical(held.lane));
  if (!lanes)
    return std::nullopt;
  ContractionOrder order;
  for (const auto &[wanted, has] : *lanes) {
    if (wanted.dim != has.dim)
      return std::nullopt;
    if (wanted.dim == k)
      order.places.push_back({wanted.extent, wanted.stride, has.stride});
    else if (wanted.stride != has.stride)
      return std::nullopt;
  }
  std::vector<ContractionOrder::Step> registers;
  for (const Digit &digit : held.reg)
    if (digit.dim == k && digit.extent > 1)
      registers.push_back({digit.extent, digit.stride});
  std::ranges::sort(registers, {}, &ContractionOrder::Step::stride);
  for (const Digit &digit : fragment.reg)
    if (digit.dim == k && !take(registers, digit.extent, digit.stride, order))
      return std::nullopt;
  sortPlaces(order);
  order.steps = registers;
  return order;
}

Layout inOrder(const Layout &fragment, Dim k, const ContractionOrder &order) {
  Layout result = fragment;
  for (Axis axis : {Axis::reg, Axis::lane}) {
    Digits digits;
    for (const Digit &digit : fragment.digits(axis)) {
      if (digit.dim != k || digit.extent == 1) {
        digits.push_back(digit);
        continue;
      }
      for (const ContractionOrder::Place &place : order.places)
        if (place.native >= digit.stride && place.native < digit.stride * digit.extent)
          digits.push_back(Digit(place.extent, k, place.stride));
    }
    result.digits(axis) = digits;
  }
  for (const ContractionOrder::Step &step : order.steps)
    result.reg.push_back(Digit(step.extent, k, step.stride));
  return result;
}

} // namespace soliton
