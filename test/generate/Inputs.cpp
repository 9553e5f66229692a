#include "test/generate/Inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace soliton::generate {

/// A small generator of its own: the same numbers everywhere.
static uint64_t scrambled(uint64_t &state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static uint64_t encodeWhole(Element type, int64_t value) {
  return isFloat(type) ? encode(type, static_cast<double>(value)) : static_cast<uint64_t>(value);
}

/// Any number from -1 to 1 that the type has.
static double realOf(Element type, uint64_t bits) {
  return roundTo(type, std::ldexp(static_cast<double>(bits >> 11), -52) - 1);
}

/// Elements that share a place are one.
static void repeat(Bytes &elements, const std::vector<int64_t> &places) {
  if (places.empty())
    return;
  size_t width = elements.size() / places.size();
  std::map<int64_t, size_t> first;
  for (size_t i = 0; i < places.size(); ++i) {
    auto [found, isNew] = first.try_emplace(places[i], i);
    if (!isNew)
      std::copy_n(elements.begin() + static_cast<ptrdiff_t>(found->second * width), width,
                  elements.begin() + static_cast<ptrdiff_t>(i * width));
  }
}

static Bytes contentsOf(const Program &program, const Memory &memory, uint64_t state) {
  Storage storage(extentsOf(program, memory), memory.type);
  Bytes bytes(storage.bytes(), memory.data == Data::output ? 0xff : 0);
  if (memory.data == Data::output)
    return bytes;
  std::vector<int64_t> order;
  for (int64_t number = 0; number < storage.elements(); ++number) {
    std::vector<int64_t> at = storage.coordinates(number);
    int64_t value =
        memory.low + static_cast<int64_t>(scrambled(state) % static_cast<uint64_t>(memory.high - memory.low + 1));
    if (memory.data == Data::permutation) {
      if (at.back() == 0) {
        order.resize(static_cast<size_t>(storage.extents().back()));
        for (size_t i = 0; i < order.size(); ++i)
          order[i] = static_cast<int64_t>(i);
        for (size_t i = order.size(); i > 1; --i)
          std::swap(order[i - 1], order[scrambled(state) % i]);
      }
      value = order[static_cast<size_t>(at.back())];
    }
    if (memory.data == Data::reals) {
      storage.store(bytes, at, encode(memory.type, realOf(memory.type, scrambled(state))));
      continue;
    }
    // e8m0 has neither zero nor sign.
    if (memory.type == Element::f8e8m0fnu)
      value = 1 + (value & 1);
    storage.store(bytes, at, encodeWhole(memory.type, value));
  }
  if (!memory.strides.empty())
    repeat(bytes, placesOf(program, memory));
  return bytes;
}

std::vector<Bytes> inputsOf(const Program &program) {
  std::vector<Bytes> inputs;
  uint64_t state = program.seed * 77 + 5;
  for (const Memory &memory : program.memories)
    if (memory.isParameter)
      inputs.push_back(contentsOf(program, memory, scrambled(state)));
  for (const Scalar &scalar : program.scalars) {
    Storage storage({1}, scalar.type);
    Bytes bytes(storage.bytes());
    storage.store(bytes, {0}, encodeWhole(scalar.type, scalar.value));
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

/// The distance from a number to the next of its type.
static double unitAt(Element type, double number) {
  return std::ldexp(1.0, std::ilogb(std::max(std::fabs(number), 1e-300)) - formatOf(type).fractionBits);
}

static bool agree(const Memory &memory, uint64_t found, uint64_t expected, double fused) {
  if (!isFloat(memory.type))
    return wrapTo(memory.type, static_cast<int64_t>(found)) == wrapTo(memory.type, static_cast<int64_t>(expected));
  double is = decode(memory.type, found), should = decode(memory.type, expected);
  if (is == should || (std::isnan(is) && std::isnan(should)))
    return true;
  double unit = unitAt(memory.type, should);
  // Half a unit: the last rounding may fall to the other side.
  double allowed = fused + (memory.slack > 0 ? memory.slack + 0.5 * unit : memory.ulps * unit);
  return allowed > 0 && std::fabs(is - should) <= allowed;
}

/// How far results may be from those of separate roundings where a product is fused with a sum: two units of the
/// largest number. Whole numbers are exact either way.
static double fusedSlack(const Program &program, const Memory &memory, const Storage &storage, const Bytes &expected) {
  if (!isFloat(memory.type) ||
      std::ranges::none_of(program.memories, [](const Memory &each) { return each.data == Data::reals; }))
    return 0;
  double largest = 0;
  for (int64_t number = 0; number < storage.elements(); ++number)
    if (double value = std::fabs(decode(memory.type, storage.load(expected, storage.coordinates(number))));
        std::isfinite(value))
      largest = std::max(largest, value);
  return 2 * unitAt(memory.type, largest);
}

/// With all its digits: a difference may be in the last one.
static std::string inFull(double number) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  text << number;
  return text.str();
}

std::map<std::string, int64_t> dynamicSizes(const Program &program) {
  std::map<std::string, int64_t> sizes;
  for (const Dim &dim : program.dims)
    if (dim.dynamic)
      sizes[dim.name] = dim.size;
  return sizes;
}

bool mayDiffer(const Program &program) {
  return std::ranges::any_of(program.memories, [](const Memory &each) { return each.slack > 0 || each.ulps > 0; });
}

std::optional<std::string> difference(const Program &program, const std::vector<Bytes> &found,
                                      const std::vector<Bytes> &expected, bool mayFuse) {
  size_t argument = 0;
  for (const Memory &memory : program.memories) {
    if (!memory.isParameter)
      continue;
    Storage storage(extentsOf(program, memory), memory.type);
    const Bytes &is = found[argument], &should = expected[argument];
    ++argument;
    double fused = mayFuse && is != should ? fusedSlack(program, memory, storage, should) : 0;
    for (int64_t number = 0; number < storage.elements() && is != should; ++number) {
      std::vector<int64_t> at = storage.coordinates(number);
      uint64_t a = storage.load(is, at), b = storage.load(should, at);
      if (agree(memory, a, b, fused))
        continue;
      std::string place;
      for (int64_t each : at)
        place += (place.empty() ? "" : ", ") + std::to_string(each);
      return "`" + memory.name + "[" + place + "]` is " + inFull(decode(memory.type, a)) + ", expected " +
             inFull(decode(memory.type, b));
    }
  }
  return std::nullopt;
}

} // namespace soliton::generate
