#include "test/generate/Number.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace soliton::generate {

static constexpr std::array<Format, kElements> kFormats = {{
    {"i1", 1, Specials::integer},
    {"i4", 4, Specials::integer},
    {"i8", 8, Specials::integer},
    {"i16", 16, Specials::integer},
    {"i32", 32, Specials::integer},
    {"i64", 64, Specials::integer},
    {"index", 64, Specials::integer},
    {"f4E2M1FN", 4, Specials::none, 2, 1, 1},
    {"f6E2M3FN", 6, Specials::none, 2, 3, 1},
    {"f6E3M2FN", 6, Specials::none, 3, 2, 3},
    {"f8E4M3FN", 8, Specials::onlyNaN, 4, 3, 7},
    {"f8E4M3FNUZ", 8, Specials::negativeZeroIsNaN, 4, 3, 8},
    {"f8E5M2", 8, Specials::ieee, 5, 2, 15},
    {"f8E5M2FNUZ", 8, Specials::negativeZeroIsNaN, 5, 2, 16},
    {"f8E8M0FNU", 8, Specials::exponent, 8, 0, 127},
    {"f16", 16, Specials::ieee, 5, 10, 15},
    {"bf16", 16, Specials::ieee, 8, 7, 127},
    {"f32", 32, Specials::ieee, 8, 23, 127},
    {"f64", 64, Specials::ieee, 11, 52, 1023},
}};

const Format &formatOf(Element type) {
  return kFormats[static_cast<size_t>(type)];
}

static uint64_t lowBits(int count) {
  return count >= 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
}

//===-- From bits ---------------------------------------------------------------------------===//

static double decodeSigned(const Format &format, uint64_t bits) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  uint64_t magnitude = bits & lowBits(format.bits - 1), fraction = bits & lowBits(format.fractionBits);
  auto exponent = static_cast<int>(magnitude >> format.fractionBits);
  double sign = bits >> (format.bits - 1) & 1 ? -1 : 1;
  if (format.specials == Specials::negativeZeroIsNaN && magnitude == 0 && sign < 0)
    return nan;
  if (format.specials == Specials::onlyNaN && magnitude == lowBits(format.bits - 1))
    return nan;
  if (format.specials == Specials::ieee && exponent == static_cast<int>(lowBits(format.exponentBits)))
    return fraction ? nan : sign * infinity;
  if (exponent == 0)
    return sign * std::ldexp(static_cast<double>(fraction), 1 - format.bias - format.fractionBits);
  uint64_t whole = fraction | uint64_t(1) << format.fractionBits;
  return sign * std::ldexp(static_cast<double>(whole), exponent - format.bias - format.fractionBits);
}

double decode(Element type, uint64_t bits) {
  const Format &format = formatOf(type);
  bits &= lowBits(format.bits);
  if (format.specials == Specials::integer)
    return static_cast<double>(wrapTo(type, static_cast<int64_t>(bits)));
  if (format.specials == Specials::exponent)
    return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
  return decodeSigned(format, bits);
}

//===-- To bits -----------------------------------------------------------------------------===//

/// The bits of the largest finite magnitude.
static uint64_t largestBits(const Format &format) {
  uint64_t all = lowBits(format.bits - 1);
  if (format.specials == Specials::onlyNaN)
    return all - 1;
  if (format.specials == Specials::ieee)
    return (lowBits(format.exponentBits) << format.fractionBits) - 1;
  return all;
}

static uint64_t notANumber(const Format &format) {
  switch (format.specials) {
  case Specials::negativeZeroIsNaN:
    return uint64_t(1) << (format.bits - 1);
  case Specials::ieee: // quiet: the highest bit of the fraction
    return (lowBits(format.exponentBits) << format.fractionBits) | uint64_t(1) << (format.fractionBits - 1);
  case Specials::none:
    return largestBits(format);
  default:
    return lowBits(format.bits - 1);
  }
}

/// What a magnitude beyond the largest number becomes.
static uint64_t tooLarge(const Format &format) {
  if (format.specials == Specials::ieee)
    return lowBits(format.exponentBits) << format.fractionBits;
  return format.specials == Specials::none ? largestBits(format) : notANumber(format);
}

static uint64_t encodeSigned(const Format &format, double value) {
  uint64_t sign = std::signbit(value) ? uint64_t(1) << (format.bits - 1) : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return notANumber(format);
  if (magnitude == 0)
    return format.specials == Specials::negativeZeroIsNaN ? 0 : sign;
  uint64_t bits = 0;
  if (std::isinf(magnitude)) {
    bits = tooLarge(format);
  } else {
    // In units of the last place there: the smallest exponent holds for all below it.
    int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
    auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, format.fractionBits - exponent)));
    // A carry out of the fraction raises the exponent by itself.
    bits = (static_cast<uint64_t>(exponent + format.bias - 1) << format.fractionBits) + units;
    if (bits > largestBits(format))
      bits = tooLarge(format);
  }
  bool isNaN = format.specials == Specials::negativeZeroIsNaN && bits == notANumber(format);
  if (bits == 0 && format.specials == Specials::negativeZeroIsNaN)
    return 0;
  return isNaN ? bits : bits | sign;
}

uint64_t encode(Element type, double value) {
  const Format &format = formatOf(type);
  if (format.specials == Specials::integer)
    return static_cast<uint64_t>(static_cast<int64_t>(value)) & lowBits(format.bits);
  if (type == Element::f64)
    return std::bit_cast<uint64_t>(value);
  if (format.specials == Specials::exponent) {
    if (!(value >= 0) || std::isinf(value))
      return 255;
    if (value == 0)
      return 0;
    double exponent = std::ilogb(value), half = std::ldexp(1.5, static_cast<int>(exponent));
    double nearest = exponent + (value >= half ? 1 : 0) + 127;
    return nearest > 254 ? 255 : nearest < 0 ? 0 : static_cast<uint64_t>(nearest);
  }
  return encodeSigned(format, value);
}

double roundTo(Element type, double value) {
  return decode(type, encode(type, value));
}

int64_t wrapTo(Element type, int64_t value) {
  if (type == Element::i1)
    return value & 1;
  int unused = 64 - bitsOf(type);
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

double largest(Element type) {
  return type == Element::f8e8m0fnu ? 0x1p127 : decode(type, largestBits(formatOf(type)));
}

double exactLimit(Element type) {
  const Format &format = formatOf(type);
  if (type == Element::i1)
    return 1;
  if (format.specials == Specials::integer)
    return std::ldexp(1.0, std::min(format.bits - 1, 52)) - 1;
  if (format.specials == Specials::exponent)
    return 2; // 1 and 2; it has no zero.
  return std::min(std::ldexp(1.0, format.fractionBits + 1), std::floor(largest(type)));
}

//===-- In memory -----------------------------------------------------------------------------===//

static size_t storedBits(Element type) {
  return type == Element::i1 ? 8 : static_cast<size_t>(bitsOf(type));
}

Storage::Storage(std::vector<int64_t> extents, Element type) : sizes(std::move(extents)), element(type) {
  for (size_t d = 0; d + 1 < sizes.size(); ++d)
    rows *= static_cast<size_t>(sizes[d]);
  rowBytes = (static_cast<size_t>(sizes.empty() ? 1 : sizes.back()) * storedBits(type) + 7) / 8;
}

int64_t Storage::elements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

bool Storage::contains(const std::vector<int64_t> &at) const {
  for (size_t d = 0; d < sizes.size(); ++d)
    if (at[d] < 0 || at[d] >= sizes[d])
      return false;
  return true;
}

std::vector<int64_t> Storage::coordinates(int64_t number) const {
  std::vector<int64_t> at(sizes.size(), 0);
  for (size_t d = sizes.size(); d-- > 0; number /= sizes[d])
    at[d] = number % sizes[d];
  return at;
}

size_t Storage::firstBit(const std::vector<int64_t> &at) const {
  size_t row = 0;
  for (size_t d = 0; d + 1 < sizes.size(); ++d)
    row = row * static_cast<size_t>(sizes[d]) + static_cast<size_t>(at[d]);
  size_t column = at.empty() ? 0 : static_cast<size_t>(at.back());
  return row * rowBytes * 8 + column * storedBits(element);
}

uint64_t Storage::load(const std::vector<uint8_t> &from, const std::vector<int64_t> &at) const {
  size_t first = firstBit(at);
  uint64_t bits = 0;
  for (size_t i = 0; i < storedBits(element); ++i)
    bits |= static_cast<uint64_t>(from[(first + i) / 8] >> ((first + i) % 8) & 1) << i;
  return element == Element::i1 ? bits != 0 : bits;
}

void Storage::store(std::vector<uint8_t> &to, const std::vector<int64_t> &at, uint64_t bits) const {
  size_t first = firstBit(at);
  for (size_t i = 0; i < storedBits(element); ++i) {
    auto mask = static_cast<uint8_t>(1u << ((first + i) % 8));
    uint8_t &byte = to[(first + i) / 8];
    byte = static_cast<uint8_t>((byte & ~mask) | (bits >> i & 1 ? mask : 0));
  }
}

} // namespace soliton::generate
