#include "soliton/layout/Contraction.h"

#include "soliton/layout/Convert.h"

#include <gtest/gtest.h>

using namespace soliton;

namespace {
const Dim K("K"), M("M"), N("N");

Layout parsed(std::string_view text) {
  return Layout::parse(text).value();
}

const char *kWide = "reg = (8 K 1), lane = (16 M 1)(4 K 8)";

TEST(Contraction, NativeOrderIsTheFragmentRepeated) {
  EXPECT_EQ(inOrder(parsed(kWide), K, nativeOrder(parsed(kWide), K, 64)).str(),
            "reg = (8 K 1)(2 K 32), lane = (16 M 1)(4 K 8)");
}

TEST(Contraction, PackedOrderPutsStepsSideBySide) {
  EXPECT_EQ(inOrder(parsed(kWide), K, packedOrder(parsed(kWide), K, 64, 2)).str(),
            "reg = (16 K 1), lane = (16 M 1)(4 K 16)");
  // Pairs of an instruction whose registers interleave rows.
  Layout pairs = parsed("reg = (2 K 1)(2 M 8)(2 K 8), lane = (4 K 2)(8 M 1)");
  EXPECT_EQ(inOrder(pairs, K, packedOrder(pairs, K, 32, 2)).str(),
            "reg = (2 K 1)(2 M 8)(4 K 2), lane = (4 K 8)(8 M 1)");
}

TEST(Contraction, AnAccumulatorIsAnOperandInTheOrderInWhichItLies) {
  // The transposed accumulator of 16x16, four of them along K.
  Layout held = parsed("reg = (4 K 1)(4 K 16), lane = (16 M 1)(4 K 4)");
  std::optional<ContractionOrder> order = orderAsHeld(parsed(kWide), K, held);
  ASSERT_TRUE(order);
  Layout operand = inOrder(parsed(kWide), K, *order);
  EXPECT_EQ(operand, held);
  // The other operand follows, so that both meet at the same k.
  EXPECT_EQ(inOrder(parsed("reg = (8 K 1), lane = (16 N 1)(4 K 8)"), K, *order).str(),
            "reg = (4 K 1)(4 K 16), lane = (16 N 1)(4 K 4)");
}

TEST(Contraction, OrderAsHeldNeedsTheFragmentsRows) {
  EXPECT_FALSE(orderAsHeld(parsed(kWide), K, parsed("reg = (4 M 1)(4 K 16), lane = (16 K 1)(4 M 4)")));
  EXPECT_FALSE(orderAsHeld(parsed(kWide), K, parsed("reg = (16 K 4), lane = (16 M 4)(4 K 1)")));
  // A lane holds too few.
  EXPECT_FALSE(orderAsHeld(parsed(kWide), K, parsed("reg = (4 K 1), lane = (16 M 1)(4 K 4)")));
  // Waves share K: no instruction sums across them.
  EXPECT_FALSE(orderAsHeld(parsed(kWide), K, parsed("reg = (8 K 1), lane = (16 M 1)(4 K 8), wave = (2 K 32)")));
}

/// Which k stands at each place of each instruction: lane 0 .. of one row, native registers, steps.
std::vector<int64_t> walk(const Layout &operand, int64_t nativeRegs) {
  std::vector<int64_t> ks;
  for (int64_t reg = 0; reg < operand.regs(); ++reg)
    for (int64_t lane = 0; lane < operand.lanes(); ++lane)
      ks.push_back(operand.coordinate(K, reg, lane, 0));
  EXPECT_EQ(operand.regs() % nativeRegs, 0);
  return ks;
}

TEST(Contraction, EveryOrderGivesBothOperandsTheSameKAtEachPlace) {
  Layout lhs = parsed(kWide), rhs = parsed("reg = (8 K 1), lane = (16 N 1)(4 K 8)");
  std::vector<ContractionOrder> orders = {
      nativeOrder(lhs, K, 128), packedOrder(lhs, K, 128, 2),
      *orderAsHeld(lhs, K, parsed("reg = (4 K 1)(8 K 16), lane = (16 M 1)(4 K 4)")),
      *orderAsHeld(lhs, K, parsed("reg = (2 K 64)(4 K 1)(4 K 16), lane = (16 M 1)(4 K 4)"))};
  for (const ContractionOrder &order : orders) {
    Layout a = inOrder(lhs, K, order), b = inOrder(rhs, K, order);
    EXPECT_EQ(walk(a, 8), walk(b, 8)) << order.str();
    EXPECT_TRUE(a.isBijectiveUpToReplication()) << order.str();
    EXPECT_EQ(a.extent(K), 128) << order.str();
  }
}
TEST(Contraction, BlocksStayTogetherWhoeverHoldsTheirElements) {
  // 16x16x128 with scales for 32: lanes have whole blocks of 4-bit elements, halves of those of bytes.
  Layout f4({{32, Dim("K"), 1}}, {{16, Dim("M"), 1}, {4, Dim("K"), 32}});
  Layout f8({{16, Dim("K"), 1}, {2, Dim("K"), 64}}, {{16, Dim("M"), 1}, {4, Dim("K"), 16}});
  Layout scale({}, {{16, Dim("M"), 1}, {4, Dim("K/32"), 1}});
  ContractionOrder order = blockOrder(128, 32, 256, 2), blocks = orderOfBlocks(order, 32);
  Layout held = inOrder(f4, Dim("K"), order), bytes = inOrder(f8, Dim("K"), order);
  Layout scales = inOrder(scale, Dim("K/32"), blocks);
  EXPECT_EQ(held.str(), "reg = (64 K 1), lane = (16 M 1)(4 K 64)");
  EXPECT_EQ(scales.str(), "reg = (2 K/32 1), lane = (16 M 1)(4 K/32 2)");
  // Instruction i takes block b of its own K from the same place of the tile in both, and that block's scale.
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t k = 0; k < 128; ++k) {
      int64_t fromF4 = held.coordinate(Dim("K"), 32 * i + k % 32, 16 * (k / 32), 0);
      int64_t fromF8 = bytes.coordinate(Dim("K"), 32 * i + 16 * (k / 64) + k % 16, 16 * (k % 64 / 16), 0);
      EXPECT_EQ(fromF4, fromF8) << i << " " << k;
      EXPECT_EQ(fromF4 / 32, scales.coordinate(Dim("K/32"), i, 16 * (k / 32), 0)) << i << " " << k;
    }
}

} // namespace
