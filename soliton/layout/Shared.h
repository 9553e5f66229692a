//===- Shared.h - Where a tile's elements lie in shared memory ------------------===//
//
// A tile in shared memory has an address map, never a register layout: order of dims (fastest last), padding of the
// rows, an xor swizzle, panels. Bank conflicts are counted by a model whose phases are the target's tables. A 128x32
// tile of f16 whose rows are 4 elements longer than their data:
//
//   SharedMap map{{{Dim("M"), 128}, {Dim("K"), 32}}, /*padding=*/4};
//   map.offset({{Dim("M"), 2}, {Dim("K"), 5}}) == 2 * 36 + 5
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"

#include <span>

namespace soliton {

struct DimExtent {
  Dim dim;
  int64_t extent = 1;
  bool operator==(const DimExtent &) const = default;
};

/// Chunks of a row change places by row: chunk `c` of row `r` is stored at chunk `c ^ phaseOf(r)`. Rows are counted by
/// one stride or, where lanes walk them by two, by both:
///
///   phaseOf(r) == (r / rowsPerPhase) % phases + phases * ((r / farRowsPerPhase) % farPhases)
///
/// There are a power of two of phases in all, which divides the row's number of chunks. Where it is a multiple of that
/// number, chunks are counted through a line of several rows and change places in all of it; rows of one line have one
/// phase. 1 means no swizzle.
struct Swizzle {
  int64_t chunk = 1; // elements
  int64_t rowsPerPhase = 1;
  int64_t phases = 1;
  int64_t farRowsPerPhase = 1;
  int64_t farPhases = 1;
  bool operator==(const Swizzle &) const = default;

  int64_t allPhases() const { return phases * farPhases; }
  int64_t phaseOf(int64_t row) const {
    return row / rowsPerPhase % phases + phases * (row / farRowsPerPhase % farPhases);
  }
};

struct SharedMap {
  /// Fastest last.
  std::vector<DimExtent> dims;
  /// Elements added to each row (the fastest dim).
  int64_t padding = 0;
  Swizzle swizzle = {};
  /// The fastest dim is cut into panels of this many elements, stored one after the other; 0 means one panel.
  int64_t panel = 0;

  bool operator==(const SharedMap &) const = default;

  /// Why the map is no map (extents, panel or swizzle that do not divide), or nothing.
  std::optional<std::string> verify() const;
  bool isSwizzled() const { return swizzle.allPhases() > 1; }
  /// Chunks of a row, of a panel of it where there are panels.
  int64_t chunksPerRow() const;
  /// Rows whose chunks change places together; 1 where each row keeps its own.
  int64_t rowsPerLine() const;
  /// Elements from one row to the next.
  int64_t pitch() const;
  /// Product of all extents but the fastest.
  int64_t rows() const;
  /// Elements the map occupies, padding included.
  int64_t elements() const;
  /// The same in bytes for an element of that many bits, rounded up.
  int64_t bytes(int elementBits) const;
  /// Where an element lies, in elements. Coordinates that are absent are 0. LayoutExpr.h has the symbolic form.
  int64_t offset(const Coordinates &coordinate) const;
  /// `[M 128, K 32] pad 4`, `[M 64, K 64] swizzle(8, 1, 8) panel 64` and, with rows counted by 1 and by 8,
  /// `[M 64, K 64] swizzle(8, 1, 2, 8, 4)`.
  std::string str() const;
};

/// Reads what SharedMap::str prints; on failure returns nothing and says why in `error`. Never asserts, whatever the
/// text.
std::optional<SharedMap> parseSharedMap(std::string_view text, std::string *error = nullptr);

/// How a memory serves one access width: lanes that are served together, and the number of 4-byte banks.
struct BankModel {
  int64_t banks = 32;
  std::vector<std::vector<int>> phases;
};

/// Clocks that the access occupies the memory: sum over phases of the largest number of distinct 4-byte words in one
/// bank. One byte address per lane, -1 for a lane that does not take part.
int64_t serviceClocks(const BankModel &model, std::span<const int64_t> addresses, int64_t widthBytes);
/// Clocks beyond those of a conflict-free access.
int64_t countConflicts(const BankModel &model, std::span<const int64_t> addresses, int64_t widthBytes);

/// How a layout's registers are loaded from or stored to a map.
struct SharedAccessPattern {
  Layout layout;
  /// Consecutive registers that one access moves; they must walk the map's fastest dim.
  int64_t elementsPerAccess = 1;
  BankModel model;
};

/// Conflicts of all accesses of the pattern, over all register groups and waves.
int64_t countConflicts(const SharedMap &map, int elementBits, const SharedAccessPattern &pattern);

struct SharedChoice {
  SharedMap map;
  /// What remains; 0 where the choice is conflict-free.
  int64_t conflicts = 0;
};

/// The smallest padding that frees all patterns of conflicts (the least conflicts where none does). It is a multiple of
/// the widest access, so that alignment is kept.
SharedChoice choosePadding(SharedMap map, int elementBits, const std::vector<SharedAccessPattern> &patterns);
/// The same by an xor swizzle in chunks of the widest access; costs no memory. Of those that do the simplest: rows
/// counted by one stride, by two, lines of several rows.
SharedChoice chooseSwizzle(SharedMap map, int elementBits, const std::vector<SharedAccessPattern> &patterns);

} // namespace soliton
