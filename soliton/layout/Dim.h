//===- Dim.h - The name of a dimension, as a handle --------------------------===//
//
// A dimension of a tile is known by its name alone: `Dim("M") == Dim("M")`. Names are interned for the life of the
// process, so a `Dim` is one pointer, compares in one instruction and orders by name (printing is deterministic).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <compare>
#include <cstddef>
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

/// True for a name that the text form of layouts can hold: a letter, `_` or `$`, then letters, digits, `_`, `$`; not
/// `_` alone, which says replication.
bool isDimName(std::string_view name);

} // namespace soliton

template <>
struct std::hash<soliton::Dim> {
  size_t operator()(const soliton::Dim &dim) const { return dim.hash(); }
};
