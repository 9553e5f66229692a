//===- PlaceDigits.h - Indices of a memory as digits of places -----------------------===//
//
// Mappings take the places of a tile apart: its rows are pixels of images, its columns channels of places of a filter.
// An index of the memory is then a sum of digits of places. For row 28·p + q, of which each step is two pixels wide:
//
//   2*mod(floordiv($index0, 28), 28) + floordiv($index1, 1536) - 1        2 × {$index0, 28, 28} + {$index1, 1536} - 1
//
// Dimensions whose indices are the digits of one place, which lie in memory as they follow each other, are one:
// [F, R, S, C] read at [f, k div SC, k div C mod S, k mod C] is [F, RSC] at [f, k].
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"

namespace soliton {

/// mod(floordiv(place, divisor), extent), of the place along the tile's k-th dimension; the last digit has no extent.
struct PlaceDigit {
  size_t k = 0;
  int64_t divisor = 1;
  std::optional<int64_t> extent;

  sym::Expr of(sym::Expr place) const;
};

/// base + the sum of coefficient × digit.
struct MemoryIndex {
  struct Term {
    int64_t coefficient = 1;
    PlaceDigit digit;
  };
  sym::Expr base;
  SmallVector<Term, 2> terms;

  /// The one digit that it is, with nothing added but `base`.
  const PlaceDigit *single() const;
  /// A place, or none, and what the whole tile shares.
  bool isPlain() const;
};

/// One dimension of a memory, or several that are one.
struct MemoryDim {
  sym::Expr extent;
  /// In elements.
  sym::Expr stride;
  MemoryIndex index;
};

/// Of each dimension of the access' tile, whether the tile has a single place along it. Where that is in the memory its
/// start says, whatever a mapping makes of it.
SmallVector<bool> singlePlacesOf(wave::AccessOpInterface access, const Geometry &geometry);

/// The dimensions of the memory of an access in their order, those that are one joined; nothing where an index is no
/// sum of digits. Single places are part of what the whole tile shares. `knowing` is what may be taken for granted of
/// places.
std::optional<SmallVector<MemoryDim>> memoryDimsOf(wave::AccessOpInterface access, const Geometry &geometry,
                                                   const sym::Facts &knowing);

/// The indices of an access, in places.
SmallVector<sym::Expr> indicesOf(wave::AccessOpInterface access, const Geometry &geometry);

/// Places of the access' tile, as far as sizes are known: from 0 to the end of the last tile along each dimension. They
/// are those of every copy of that tile, also of one that a schedule has moved out of its loop.
SmallVector<sym::Range> rangesOfPlaces(wave::AccessOpInterface access, const Geometry &geometry);
/// Whether they hold here.
bool areInRange(wave::AccessOpInterface access, ArrayRef<sym::Range> ranges, const Geometry &geometry);

} // namespace soliton
