//===- LayoutPicture.h - Who holds which element, to look at -------------------------===//
//
// A layout (layout/Layout.h) as a table, as data and as a picture: for each element of a tile the lane, the register
// and the wave that hold it.
//
//   LayoutPicture picture = pictureOf(*mma, "gfx942");
//   std::ofstream("mma.svg") << printLayoutSvg(picture);
//
// The picture of a matrix instruction has its operands where a product on paper has them: lhs to the left of the
// result, rhs above it. Nothing comes from outside of the file, and it suits light and dark backgrounds.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/target/Mma.h"

namespace soliton {

/// One tile.
struct LayoutView {
  std::string name;
  std::string type;
  Layout layout;
  /// What goes down and what goes to the right; no row dimension: one row. Others are shown at 0.
  std::optional<Dim> rows;
  Dim columns;
};

struct LayoutPicture {
  std::string title, subtitle;
  std::vector<LayoutView> views;
  /// The views are lhs, rhs and the result of a product.
  bool isProduct = false;
};

/// The operands of a matrix instruction that lie in registers.
LayoutPicture pictureOf(const MmaKind &kind, const std::string &target);

/// At most this many rows and columns are drawn; data always have all of them.
inline constexpr int64_t kMostDrawn = 128;

/// Who holds each element of a view, row by row.
struct HolderTable {
  int64_t rows = 1, columns = 1;
  /// How many places hold each element; the table has the first of them.
  int64_t copies = 1;
  /// Nothing where no place holds the element.
  std::vector<std::optional<Holder>> cells;

  const std::optional<Holder> &at(int64_t row, int64_t column) const {
    return cells[static_cast<size_t>(row * columns + column)];
  }
};
HolderTable holdersOf(const LayoutView &view);

/// A table per view: `lane.register`, with `wave:` before it where there are several.
std::string printLayoutText(const LayoutPicture &picture);
/// Layouts as text, and for each element its `[wave, lane, register]`, or null.
std::string printLayoutJson(const LayoutPicture &picture);
std::string printLayoutSvg(const LayoutPicture &picture);

} // namespace soliton
