#include "soliton/layout/Grouped.h"
#include "soliton/layout/Convert.h"

#include <gtest/gtest.h>

using namespace soliton;

namespace {

Layout parsed(const char *text) {
  std::string error;
  std::optional<Layout> layout = Layout::parse(text, &error);
  EXPECT_TRUE(layout) << error;
  return layout.value_or(Layout());
}

const ScaledDim kBytes{Dim("K"), 2}, kScales{Dim("K"), 32}, kSixes{Dim("K"), 4, 3};

TEST(ScaledDims, AreKnownByTheirNames) {
  EXPECT_EQ(scaledDim(Dim("K/32")).base, Dim("K"));
  EXPECT_EQ(scaledDim(Dim("K/32")).divisor, 32);
  EXPECT_EQ(kScales.dim(), Dim("K/32"));
  EXPECT_FALSE(scaledDim(Dim("K")).isScaled());
  EXPECT_TRUE(isDimName("K/32"));
  EXPECT_EQ(kSixes.dim(), Dim("3*(K/4)"));
  EXPECT_EQ(scaledDim(Dim("3*(K/4)")).base, Dim("K"));
  EXPECT_EQ(scaledDim(Dim("3*(K/4)")).divisor, 4);
  EXPECT_EQ(scaledDim(Dim("3*(K/4)")).places, 3);
  EXPECT_EQ((ScaledDim{Dim("3*(K/4)"), 3}).dim(), Dim("K/4"));
  EXPECT_EQ((ScaledDim{Dim("3*(K/4)"), 4}).dim(), Dim("3*(K/16)"));
  EXPECT_TRUE(isDimName("3*(K/4)"));
  for (const char *bad : {"K/", "K/1", "K/02", "/2", "K/x", "K/2/2", "K/9999999999", "3*K", "3*(K)", "3*(K/4", "K/4)",
                          "2*(K/4)", "1*(K/4)", "3*(K/4)x", "*(K/4)"})
    EXPECT_FALSE(isDimName(bad)) << bad;
}

TEST(ScaledDims, LayoutsHaveThemInTheirText) {
  const char *text = "reg = (2 K/32 4), lane = (16 M 1)(4 K/32 1)";
  EXPECT_EQ(parsed(text).str(), text);
  const char *sixes = "reg = (24 3*(K/4) 1), lane = (16 M 1)(4 3*(K/4) 24), offset = (3*(K/4) 96)";
  EXPECT_EQ(parsed(sixes).str(), sixes);
}

TEST(Grouped, GroupsAreHeldByThoseWhoHoldAnElement) {
  Dim narrow[] = {Dim("M"), Dim("K/32")};
  Layout f4 = parsed("reg = (32 K 1)(2 K 128), lane = (16 M 1)(4 K 32)");
  EXPECT_EQ(restrictedTo(f4, narrow).str(), "reg = (2 K/32 4), lane = (16 M 1)(4 K/32 1)");
  // Two lanes have the halves of each group of bytes, and each holds the scale.
  Layout f8 = parsed("reg = (16 K 1)(2 K 64), lane = (16 M 1)(4 K 16)");
  EXPECT_EQ(restrictedTo(f8, narrow).str(), "reg = (2 K/32 2), lane = (16 M 1)(2 _ 0)(2 K/32 1)");
  Dim rows[] = {Dim("M")};
  EXPECT_EQ(restrictedTo(f4, rows).str(), "lane = (16 M 1)(4 _ 0)");
}

TEST(Grouped, ADigitIsCutWhereAGroupEnds) {
  std::optional<Layout> split = splitGroups(parsed("reg = (64 K 1), offset = (K 64)"), kScales);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->regs(), 64);
  EXPECT_EQ(split->coordinate(Dim("K/32"), 40, 0, 0), 3);
  EXPECT_FALSE(splitGroups(parsed("reg = (3 K 16)"), kScales)) << "48 elements are no whole groups";
}

TEST(Grouped, ElementsOfAGroupAreNeighbouringRegisters) {
  Layout bytes = parsed("reg = (16 K/2 1), lane = (16 M 1)(4 K/2 16)");
  Layout elements = ungrouped(bytes, kBytes).value();
  EXPECT_EQ(elements.str(), "reg = (32 K 1), lane = (16 M 1)(4 K 32)");
  EXPECT_EQ(grouped(elements, kBytes), bytes);
}

TEST(Grouped, OtherOrdersOfRegistersAreRenamed) {
  Layout elements = parsed("reg = (4 K 8)(8 K 1), lane = (16 M 1)");
  std::optional<Layout> bytes = grouped(elements, kBytes);
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(isRename(ungrouped(*bytes, kBytes).value(), elements));
}

TEST(Grouped, ThreePlacesHaveFourElements) {
  Layout bytes = parsed("reg = (24 3*(K/4) 1), lane = (16 M 1)(4 3*(K/4) 24)");
  Layout elements = parsed("reg = (32 K 1), lane = (16 M 1)(4 K 32)");
  EXPECT_EQ(ungrouped(bytes, kSixes), elements);
  EXPECT_EQ(grouped(elements, kSixes), bytes);
  EXPECT_FALSE(ungrouped(parsed("reg = (8 3*(K/4) 1), lane = (12 3*(K/4) 8)"), kSixes)) << "eight bytes a lane";
  EXPECT_FALSE(grouped(parsed("reg = (2 K 1), lane = (16 K 2)"), kSixes)) << "two elements a lane";
}

TEST(Grouped, LanesThatHaveAPartOfAGroupCanHaveAllOfIt) {
  Layout shared = groupedByForce(parsed("reg = (2 K 1), lane = (2 K 2)(16 K 4)"), kSixes);
  EXPECT_EQ(shared.str(), "reg = (3 3*(K/4) 1), lane = (2 _ 0)(16 3*(K/4) 3)");
  Layout all = groupedByForce(parsed("reg = (3 K 1), lane = (4 K 3)"), kSixes);
  EXPECT_EQ(all.str(), "reg = (9 3*(K/4) 1), lane = (4 _ 0)");
}

TEST(Grouped, NobodyHoldsHalfAByteAlone) {
  EXPECT_FALSE(grouped(parsed("lane = (64 K 1)"), kBytes));
  EXPECT_FALSE(grouped(parsed("reg = (4 K 2)"), kBytes)) << "every other element";
}

} // namespace
