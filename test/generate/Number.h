//===- Number.h - Element types and their numbers, from their definitions -----------------===//
//
// The generator's own reading of every number format, so that a mistake in the compiler's is noticed:
//
//   decode(Element::f8e4m3fn, 0x7e) == 448        roundTo(Element::f16, 2049) == 2048      (ties to even)
//   wrapTo(Element::i8, 200) == -56               Storage({3, 5}, Element::i4).bytes() == 9   (rows start on bytes)
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace soliton::generate {

enum class Element : uint8_t {
  i1,
  i4,
  i8,
  i16,
  i32,
  i64,
  index,
  f4e2m1fn,
  f6e2m3fn,
  f6e3m2fn,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0fnu,
  f16,
  bf16,
  f32,
  f64,
};
inline constexpr int kElements = 19;

/// What a format does beyond its numbers.
enum class Specials : uint8_t {
  integer,
  ieee,    ///< the highest exponent is infinity and NaN
  onlyNaN, ///< all ones is NaN, no infinity
  negativeZeroIsNaN,
  none,     ///< neither: what is too large becomes the largest
  exponent, ///< e8m0: powers of two, all ones is NaN
};

struct Format {
  /// As the language's text spells it.
  std::string_view name;
  int bits;
  Specials specials;
  /// Of floats: bits of the exponent and the fraction, and the exponent's bias.
  int exponentBits = 0, fractionBits = 0, bias = 0;
};

const Format &formatOf(Element type);
inline bool isFloat(Element type) {
  return formatOf(type).specials != Specials::integer;
}
inline int bitsOf(Element type) {
  return formatOf(type).bits;
}

/// The number that the bits stand for.
double decode(Element type, uint64_t bits);
/// The bits of the nearest number, ties to even.
uint64_t encode(Element type, double value);
double roundTo(Element type, double value);
/// Modulo 2^bits; `i1` is 0 or 1, all others are signed.
int64_t wrapTo(Element type, int64_t value);

/// The largest n such that all integers of magnitude up to n are numbers of the type.
double exactLimit(Element type);
/// The largest finite number of a float type.
double largest(Element type);

/// Where the elements of a tensor lie: row-major, `i1` in a byte of its own, narrower types packed from the lowest bit,
/// each row from a byte on.
class Storage {
public:
  Storage(std::vector<int64_t> extents, Element type);

  size_t bytes() const { return rows * rowBytes; }
  int64_t elements() const;
  const std::vector<int64_t> &extents() const { return sizes; }
  Element type() const { return element; }
  /// Place of an element: row-major number of its row, and its number in it.
  uint64_t load(const std::vector<uint8_t> &from, const std::vector<int64_t> &at) const;
  void store(std::vector<uint8_t> &to, const std::vector<int64_t> &at, uint64_t bits) const;
  bool contains(const std::vector<int64_t> &at) const;
  /// Coordinates of the element of that row-major number.
  std::vector<int64_t> coordinates(int64_t number) const;

private:
  size_t firstBit(const std::vector<int64_t> &at) const;

  std::vector<int64_t> sizes;
  Element element;
  size_t rows = 1, rowBytes = 0;
};

} // namespace soliton::generate
