//===- DType.h - Element types, and nothing else about them ---------------===//
//
// The element types of tiles and memories. Names are those of the Wave language; the properties of each stand in
// one table (DType.cpp). How values are encoded is Float.h's business.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace soliton {

enum class DType : uint8_t {
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

/// Every element type, in the order of the enumeration.
const std::vector<DType> &allDTypes();

/// The name under which the language knows it: `f16`, `f8e4m3fnuz`, `i32`.
std::string_view name(DType type);

/// The type of that name, or nothing.
std::optional<DType> parseDType(std::string_view text);

/// Width in memory; `i1` takes 1 and `index` 64.
int bits(DType type);

bool isFloat(DType type);
inline bool isInteger(DType type) {
  return !isFloat(type);
}

} // namespace soliton
