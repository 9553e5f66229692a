// Pictures of layouts show every element with its holder, stand on their own, and are the same each time.
#include "soliton/display/LayoutPicture.h"

#include <gtest/gtest.h>

using namespace soliton;

namespace {
LayoutPicture pictureOf(const std::string &text) {
  Dim m("M"), n("N");
  return {"title <&>", "subtitle", {{"tile", "f32", *Layout::parse(text), m, n}}, false};
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}
} // namespace

TEST(LayoutPicture, TableHasTheFirstHolderOfEachElement) {
  LayoutPicture picture = pictureOf("reg = (2 N 1), lane = (4 M 1)(2 _ 0), wave = (2 N 2)");
  HolderTable table = holdersOf(picture.views[0]);
  EXPECT_EQ(table.rows, 4);
  EXPECT_EQ(table.columns, 4);
  EXPECT_EQ(table.copies, 2);
  for (int64_t m = 0; m < 4; ++m)
    for (int64_t n = 0; n < 4; ++n)
      EXPECT_EQ(*table.at(m, n), (Holder{n % 2, m, n / 2}));
}

TEST(LayoutPicture, ElementsOutsideOfTheShownDimensionsAreLeftOut) {
  LayoutPicture picture = pictureOf("reg = (2 B 1)(2 N 1), lane = (4 M 1)");
  HolderTable table = holdersOf(picture.views[0]);
  EXPECT_EQ(*table.at(3, 1), (Holder{2, 3, 0}));
}

TEST(LayoutPicture, GapsAreHeldByNobody) {
  LayoutPicture picture = pictureOf("reg = (2 N 2), lane = (2 M 1)");
  EXPECT_FALSE(holdersOf(picture.views[0]).at(0, 1));
  EXPECT_NE(printLayoutJson(picture).find("null"), std::string::npos);
  EXPECT_NE(printLayoutText(picture).find(" -"), std::string::npos);
}

TEST(LayoutPicture, BoxesAreRegistersThatFollowEachOther) {
  // 4 rows of 8 columns, 4 registers of a lane side by side: 8 boxes.
  std::string svg = printLayoutSvg(pictureOf("reg = (4 N 1), lane = (2 N 4)(4 M 1)"));
  EXPECT_EQ(count(svg, "class=\"cell g"), 8u);
  EXPECT_EQ(count(svg, "r0–3"), 2 * 8u); // in the box, and in its title
  // One below the other: as many.
  svg = printLayoutSvg(pictureOf("reg = (4 M 1), lane = (8 N 1)"));
  EXPECT_EQ(count(svg, "class=\"cell g"), 8u);
  EXPECT_NE(svg.find("title &lt;&amp;&gt;"), std::string::npos);
  EXPECT_EQ(svg, printLayoutSvg(pictureOf("reg = (4 M 1), lane = (8 N 1)")));
}

TEST(LayoutPicture, WavesArePartedAndNamed) {
  std::string svg = printLayoutSvg(pictureOf("reg = (4 N 1), lane = (4 M 1), wave = (2 M 4)"));
  EXPECT_EQ(count(svg, ">wave 0<"), 1u);
  EXPECT_EQ(count(svg, ">wave 1<"), 1u);
  EXPECT_EQ(count(svg, "class=\"wave\""), 1u);
}

TEST(LayoutPicture, LargeTilesShowTheirFirstPart) {
  LayoutPicture picture = pictureOf("reg = (64 N 1), lane = (64 M 1), wave = (4 M 64)");
  EXPECT_NE(printLayoutSvg(picture).find("its first 128 × 64"), std::string::npos);
  EXPECT_NE(printLayoutText(picture).find("the first 128 × 64"), std::string::npos);
  EXPECT_EQ(count(printLayoutJson(picture), "]"), 256u * 64 + 256 + 2);
}
