#include "soliton/layout/Layout.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <unordered_set>

namespace soliton {
namespace {
constexpr std::array kAxes = {Axis::reg, Axis::lane, Axis::wave};
constexpr int64_t kLimit = int64_t(1) << 40;

bool moves(const Digit &digit) {
  return digit.dim && digit.stride != 0 && digit.extent > 1;
}

/// The moving digits of `dim` on all axes, by rising stride.
Digits digitsOf(const Layout &layout, Dim dim) {
  Digits result;
  for (Axis axis : kAxes)
    for (const Digit &digit : layout.digits(axis))
      if (moves(digit) && digit.dim == dim)
        result.push_back(digit);
  std::ranges::sort(result, {}, &Digit::stride);
  return result;
}

bool continues(const Digit &low, const Digit &high) {
  return low.dim == high.dim && high.stride == low.stride * low.extent;
}
} // namespace

std::string_view name(Axis axis) {
  constexpr std::array<std::string_view, 3> names = {"reg", "lane", "wave"};
  return names[static_cast<size_t>(axis)];
}

int64_t countOf(const Digits &digits) {
  int64_t count = 1;
  for (const Digit &digit : digits)
    count *= digit.extent;
  return count;
}

std::vector<int64_t> split(const Digits &digits, int64_t position) {
  std::vector<int64_t> values;
  for (const Digit &digit : digits) {
    values.push_back(position % digit.extent);
    position /= digit.extent;
  }
  return values;
}

void addCoordinates(const Digits &digits, int64_t position, Coordinates &into) {
  for (const Digit &digit : digits) {
    if (digit.dim)
      into[*digit.dim] += position % digit.extent * digit.stride;
    position /= digit.extent;
  }
}

Digits canonical(const Digits &digits) {
  Digits result;
  for (Digit digit : digits) {
    if (digit.extent == 1)
      continue;
    if (!moves(digit))
      digit = Digit(digit.extent);
    if (!result.empty() && continues(result.back(), digit))
      result.back().extent *= digit.extent;
    else
      result.push_back(digit);
  }
  return result;
}

Layout Layout::canonical() const {
  Layout result(soliton::canonical(reg), soliton::canonical(lane), soliton::canonical(wave));
  for (auto [dim, value] : offset)
    if (value != 0)
      result.offset[dim] = value;
  return result;
}

bool Layout::operator==(const Layout &other) const {
  Layout a = canonical(), b = other.canonical();
  return a.reg == b.reg && a.lane == b.lane && a.wave == b.wave && a.offset == b.offset;
}

size_t Layout::hash() const {
  size_t seed = 0;
  auto mix = [&](size_t value) { seed ^= value + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2); };
  Layout form = canonical();
  for (Axis axis : kAxes) {
    mix(static_cast<size_t>(axis));
    for (const Digit &digit : form.digits(axis)) {
      mix(static_cast<size_t>(digit.extent));
      mix(static_cast<size_t>(digit.stride));
      mix(digit.dim ? digit.dim->hash() : 0);
    }
  }
  for (auto [dim, value] : form.offset) {
    mix(dim.hash());
    mix(static_cast<size_t>(value));
  }
  return seed;
}

const Digits &Layout::digits(Axis axis) const {
  return axis == Axis::reg ? reg : axis == Axis::lane ? lane : wave;
}

Digits &Layout::digits(Axis axis) {
  return axis == Axis::reg ? reg : axis == Axis::lane ? lane : wave;
}

Coordinates Layout::coordinates(int64_t regIndex, int64_t laneIndex, int64_t waveIndex) const {
  Coordinates result = offset;
  addCoordinates(reg, regIndex, result);
  addCoordinates(lane, laneIndex, result);
  addCoordinates(wave, waveIndex, result);
  return result;
}

int64_t Layout::coordinate(Dim dim, int64_t regIndex, int64_t laneIndex, int64_t waveIndex) const {
  auto found = offset.find(dim);
  int64_t result = found == offset.end() ? 0 : found->second;
  auto add = [&](const Digits &digits, int64_t position) {
    for (const Digit &digit : digits) {
      if (digit.dim == dim)
        result += position % digit.extent * digit.stride;
      position /= digit.extent;
    }
  };
  add(reg, regIndex);
  add(lane, laneIndex);
  add(wave, waveIndex);
  return result;
}

namespace {
/// Finds all digit values whose contributions add up to the wanted coordinates, largest strides first so that most
/// wrong branches are cut at once.
class HolderSearch {
public:
  HolderSearch(const Layout &layout, const Coordinates &wanted) {
    for (Axis axis : kAxes) {
      int64_t weight = 1;
      for (const Digit &digit : layout.digits(axis)) {
        places.push_back({digit, axis, weight});
        weight *= digit.extent;
      }
    }
    std::ranges::sort(places, std::greater<>(), [](const Place &p) { return p.digit.stride; });
    for (const Place &place : places)
      if (place.digit.dim)
        reach[*place.digit.dim] += (place.digit.extent - 1) * place.digit.stride;
    for (Dim dim : layout.dims()) {
      auto at = wanted.find(dim), base = layout.offset.find(dim);
      rest[dim] = (at == wanted.end() ? 0 : at->second) - (base == layout.offset.end() ? 0 : base->second);
    }
  }

  std::vector<Holder> run() {
    for (auto [dim, value] : rest)
      if (value < 0 || value > reach[dim])
        return {};
    visit(0);
    std::ranges::sort(found, {}, [](const Holder &h) { return std::tuple(h.wave, h.lane, h.reg); });
    return std::move(found);
  }

private:
  struct Place {
    Digit digit;
    Axis axis;
    int64_t weight;
  };

  void visit(size_t index) {
    if (index == places.size()) {
      found.push_back(current);
      return;
    }
    const Place &place = places[index];
    int64_t &position = place.axis == Axis::reg ? current.reg : place.axis == Axis::lane ? current.lane : current.wave;
    if (!moves(place.digit)) {
      for (int64_t value = 0; value < place.digit.extent; ++value, position += place.weight)
        visit(index + 1);
      position -= place.digit.extent * place.weight;
      return;
    }
    int64_t stride = place.digit.stride, top = (place.digit.extent - 1) * stride;
    int64_t &left = rest[*place.digit.dim], &beyond = reach[*place.digit.dim];
    beyond -= top;
    int64_t low = std::max<int64_t>(0, (left - beyond + stride - 1) / stride);
    int64_t high = std::min(place.digit.extent - 1, left / stride);
    for (int64_t value = low; value <= high; ++value) {
      left -= value * stride;
      position += value * place.weight;
      visit(index + 1);
      position -= value * place.weight;
      left += value * stride;
    }
    beyond += top;
  }

  std::vector<Place> places;
  Coordinates rest, reach;
  Holder current;
  std::vector<Holder> found;
};
} // namespace

std::vector<Holder> Layout::holders(const Coordinates &coordinate) const {
  return HolderSearch(*this, coordinate).run();
}

std::set<Dim> Layout::dims() const {
  std::set<Dim> result;
  for (Axis axis : kAxes)
    for (const Digit &digit : digits(axis))
      if (moves(digit))
        result.insert(*digit.dim);
  for (auto [dim, value] : offset)
    if (value != 0)
      result.insert(dim);
  return result;
}

bool Layout::hasDim(Dim dim) const {
  return dims().contains(dim);
}

int64_t Layout::extent(Dim dim) const {
  int64_t result = 1;
  for (const Digit &digit : digitsOf(*this, dim))
    result += (digit.extent - 1) * digit.stride;
  return result;
}

std::map<Dim, int64_t> Layout::extents() const {
  std::map<Dim, int64_t> result;
  for (Dim dim : dims())
    result[dim] = extent(dim);
  return result;
}

int64_t Layout::replication() const {
  int64_t count = 1;
  for (Axis axis : kAxes)
    for (const Digit &digit : digits(axis))
      if (!moves(digit))
        count *= digit.extent;
  return count;
}

bool Layout::isBijectiveUpToReplication() const {
  // Sums of digits fill [0, n) exactly once only as a mixed-radix number: the element 1 needs a stride of 1, that digit
  // covers [0, extent), the rest must tile the multiples of its extent, and so on.
  for (Dim dim : dims()) {
    int64_t filled = 1;
    for (const Digit &digit : digitsOf(*this, dim)) {
      if (digit.stride != filled)
        return false;
      filled *= digit.extent;
    }
  }
  return true;
}

static bool sumsAreDistinct(const Digits &digits) {
  int64_t reach = 0;
  bool rising = true;
  for (const Digit &digit : digits) {
    rising &= digit.stride > reach;
    reach += (digit.extent - 1) * digit.stride;
  }
  if (rising)
    return true;
  if (countOf(digits) > reach + 1)
    return false;
  std::unordered_set<int64_t> sums = {0};
  for (const Digit &digit : digits) {
    std::unordered_set<int64_t> next;
    for (int64_t sum : sums)
      for (int64_t value = 0; value < digit.extent; ++value)
        if (!next.insert(sum + value * digit.stride).second)
          return false;
    sums = std::move(next);
  }
  return true;
}

bool Layout::isInjectiveUpToReplication() const {
  return std::ranges::all_of(dims(), [&](Dim dim) { return sumsAreDistinct(digitsOf(*this, dim)); });
}

std::optional<std::string> Layout::verify() const {
  for (Axis axis : kAxes) {
    int64_t count = 1;
    for (const Digit &digit : digits(axis)) {
      if (digit.extent < 1)
        return "the extent of a `" + std::string(name(axis)) + "` digit is " + std::to_string(digit.extent) +
               ", expected at least 1";
      if (digit.stride < 0 || digit.stride > kLimit)
        return "the stride of a `" + std::string(name(axis)) + "` digit is " + std::to_string(digit.stride) +
               ", expected 0 to 2^40";
      if (!digit.dim && digit.stride != 0)
        return "a replicating digit has stride " + std::to_string(digit.stride) + ", expected 0";
      if (digit.extent > kLimit / count || (digit.stride > 0 && digit.extent > kLimit / digit.stride))
        return "the `" + std::string(name(axis)) + "` axis has more than 2^40 positions";
      count *= digit.extent;
    }
  }
  return std::nullopt;
}

Layout Layout::renamed(const std::map<Dim, Dim> &names) const {
  auto rename = [&](Dim dim) {
    auto found = names.find(dim);
    return found == names.end() ? dim : found->second;
  };
  Layout result = *this;
  for (Axis axis : kAxes)
    for (Digit &digit : result.digits(axis))
      if (digit.dim)
        digit.dim = rename(*digit.dim);
  result.offset.clear();
  for (auto [dim, value] : offset)
    result.offset[rename(dim)] += value;
  return result;
}

Layout Layout::withoutDim(Dim dim) const {
  Layout result = *this;
  std::erase_if(result.reg, [&](const Digit &digit) { return digit.dim == dim; });
  for (Axis axis : {Axis::lane, Axis::wave})
    for (Digit &digit : result.digits(axis))
      if (digit.dim == dim)
        digit = Digit(digit.extent);
  result.offset.erase(dim);
  return result.canonical();
}

Layout Layout::broadcastInto(Dim dim, int64_t extent) const {
  return tiled(Axis::reg, dim, extent, 1);
}

Layout Layout::registersAlong(Dim dim) const {
  Layout result = *this;
  Digits others;
  result.reg.clear();
  for (const Digit &digit : reg)
    (digit.dim == dim ? result.reg : others).push_back(digit);
  std::ranges::sort(result.reg, {}, &Digit::stride);
  result.reg.insert(result.reg.end(), others.begin(), others.end());
  return result;
}

Layout Layout::tiled(Axis axis, Dim dim, int64_t count, int64_t stride) const {
  Layout result = *this;
  if (count != 1)
    result.digits(axis).push_back(Digit(count, dim, stride));
  return result;
}

Layout Layout::replicated(Axis axis, int64_t count) const {
  Layout result = *this;
  if (count != 1)
    result.digits(axis).push_back(Digit(count));
  return result;
}

namespace {
/// The lowest digits that make up `count` positions, or nothing where a digit would have to be broken unevenly.
std::optional<Digits> lowest(const Digits &digits, int64_t count) {
  Digits result;
  for (const Digit &digit : digits) {
    if (count == 1)
      break;
    int64_t taken = std::gcd(digit.extent, count);
    if (taken != digit.extent && taken != count)
      return std::nullopt;
    result.push_back(digit);
    result.back().extent = taken;
    count /= taken;
  }
  return count == 1 ? std::optional(result) : std::nullopt;
}

/// True when registers begin..begin+count walk exactly as `digits` do, from wherever `begin` is.
bool walksAs(const Layout &layout, int64_t begin, int64_t count, const Digits &digits) {
  Coordinates start = layout.coordinates(begin, 0, 0);
  for (int64_t index = 0; index < count; ++index) {
    Coordinates expected = start;
    addCoordinates(digits, index, expected);
    if (layout.coordinates(begin + index, 0, 0) != expected)
      return false;
  }
  return true;
}
} // namespace

std::optional<Layout> Layout::subLayout(int64_t begin, int64_t count) const {
  if (begin < 0 || count < 1 || begin + count > regs())
    return std::nullopt;
  std::optional<Digits> digits = lowest(reg, count);
  if (!digits)
    return std::nullopt;
  // A start that is no multiple of the count may cross a digit's boundary.
  if (begin % count != 0 && !walksAs(*this, begin, count, *digits))
    return std::nullopt;
  Layout result(soliton::canonical(*digits), lane, wave, coordinates(begin, 0, 0));
  std::erase_if(result.offset, [](const auto &entry) { return entry.second == 0; });
  return result;
}

bool Layout::splits(int64_t nativeRegs) const {
  return nativeRegs >= 1 && regs() % nativeRegs == 0 && lowest(reg, nativeRegs).has_value();
}

std::optional<std::vector<Layout>> Layout::pieces(int64_t nativeRegs) const {
  if (!splits(nativeRegs))
    return std::nullopt;
  std::vector<Layout> result;
  for (int64_t begin = 0; begin < regs(); begin += nativeRegs) {
    std::optional<Layout> piece = subLayout(begin, nativeRegs);
    if (!piece)
      return std::nullopt;
    result.push_back(std::move(*piece));
  }
  return result;
}

int64_t Layout::contiguousRun(Dim dim) const {
  Digits form = soliton::canonical(reg);
  return !form.empty() && form.front().dim == dim && form.front().stride == 1 ? form.front().extent : 1;
}

} // namespace soliton
