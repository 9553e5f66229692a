//===- Dim.h - The name of a dimension, as a handle --------------------------===//
//
// A dimension of a tile is known by its name alone: `Dim("M") == Dim("M")`. Names are interned for the life of the
// process, so a `Dim` is one pointer, compares in one instruction and orders by name (printing is deterministic).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace soliton {

class Dim {
public:
  /// The dimension of that name; thread-safe.
  explicit Dim(std::string_view name);

  const std::string &name() const { return *text; }

  bool operator==(const Dim &) const = default;
  /// By name.
  std::strong_ordering operator<=>(const Dim &other) const {
    return text == other.text ? std::strong_ordering::equal : text->compare(*other.text) <=> 0;
  }
  size_t hash() const { return std::hash<const std::string *>()(text); }

private:
  const std::string *text;
};

/// What a *scaled* dimension counts: `K/32` has one place for 32 neighbouring elements of `K`, from a multiple of 32
/// on; `3*(K/4)` has three places for four. Every other dimension counts its own elements.
struct ScaledDim {
  Dim base;
  int64_t divisor = 1;
  /// Of each group of `divisor` elements; no divisor of that.
  int64_t places = 1;

  bool isScaled() const { return divisor > 1; }
  /// A place has whole elements.
  bool isWhole() const { return places == 1; }
  /// `K/32`, or `K` where the divisor is 1. Twos of `K/2` are `K/4`.
  Dim dim() const;
};
/// `K/32` is {K, 32}; `3*(K/4)` is {K, 4, 3}; `K` is {K, 1}.
ScaledDim scaledDim(Dim dim);

/// True for a name that the text form of layouts can hold: a letter, `_` or `$`, then letters, digits, `_`, `$`; not
/// `_` alone, which says replication. A scaled one goes on with `/` and a number, or is `3*(` such a one `)`.
bool isDimName(std::string_view name);
/// The letters of a name, dimension or other word, at the start of a text.
std::string_view dimWord(std::string_view text);

} // namespace soliton

template <>
struct std::hash<soliton::Dim> {
  size_t operator()(const soliton::Dim &dim) const { return dim.hash(); }
};
