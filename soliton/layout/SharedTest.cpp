#include "soliton/layout/Shared.h"

#include "soliton/layout/RandomLayouts.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

using namespace soliton;

namespace {
const Dim B("B"), M("M"), K("K");

/// Every element has its own place below elements().
void expectInjective(const SharedMap &map) {
  ASSERT_FALSE(map.verify()) << map.str() << ": " << *map.verify();
  std::set<int64_t> seen;
  Coordinates at;
  auto visit = [&](auto &&self, size_t dim) -> void {
    if (dim == map.dims.size()) {
      int64_t offset = map.offset(at);
      EXPECT_TRUE(offset >= 0 && offset < map.elements()) << map.str();
      EXPECT_TRUE(seen.insert(offset).second) << map.str();
      return;
    }
    for (int64_t value = 0; value < map.dims[dim].extent; ++value) {
      at[map.dims[dim].dim] = value;
      self(self, dim + 1);
    }
  };
  visit(visit, 0);
}

std::vector<std::vector<int>> phases(int lanes, int count) {
  std::vector<std::vector<int>> result;
  for (int first = 0; first < lanes; first += count) {
    result.emplace_back(static_cast<size_t>(count));
    std::iota(result.back().begin(), result.back().end(), first);
  }
  return result;
}
} // namespace

TEST(SharedMap, RowMajorWithPadding) {
  SharedMap map{{{M, 128}, {K, 32}}, 4};
  EXPECT_EQ(map.offset({{M, 2}, {K, 5}}), 2 * 36 + 5);
  EXPECT_EQ(map.offset({}), 0);
  EXPECT_EQ(map.pitch(), 36);
  EXPECT_EQ(map.bytes(16), 128 * 36 * 2);
  EXPECT_EQ(map.bytes(4), 128 * 36 / 2);
  EXPECT_EQ(map.str(), "[M 128, K 32] pad 4");
  expectInjective(map);
  expectInjective(SharedMap{{{B, 3}, {M, 5}, {K, 7}}, 1});
  EXPECT_EQ((SharedMap{{{B, 3}, {M, 5}, {K, 7}}}).offset({{B, 1}, {M, 2}, {K, 3}}), (1 * 5 + 2) * 7 + 3);
}

TEST(SharedMap, SwizzleIsAPermutationOfEachRow) {
  for (Swizzle swizzle : {Swizzle{8, 1, 8}, Swizzle{8, 2, 4}, Swizzle{4, 4, 2}, Swizzle{4, 1, 16}})
    expectInjective(SharedMap{{{M, 32}, {K, 64}}, 0, swizzle});
  expectInjective(SharedMap{{{M, 16}, {K, 128}}, 0, {8, 1, 8}, 64});
  expectInjective(SharedMap{{{M, 16}, {K, 128}}, 8, {8, 1, 8}, 64});
}

TEST(SharedMap, SwizzlesThatCountRowsByTwoStrides) {
  // Row 9 = 8 + 1: one step by the near stride, one by the far one, which counts in twos.
  SharedMap map{{{M, 32}, {K, 64}}, 0, {8, 1, 2, 8, 4}};
  EXPECT_EQ(map.offset({{M, 9}, {K, 0}}), 9 * 64 + 8 * (1 ^ 2));
  EXPECT_EQ(map.offset({{M, 9}, {K, 21}}), 9 * 64 + 8 * (2 ^ 1 ^ 2) + 5);
  EXPECT_EQ(map.rowsPerLine(), 1);
  for (Swizzle swizzle : {Swizzle{8, 1, 2, 8, 4}, Swizzle{16, 1, 2, 4, 2}, Swizzle{4, 2, 4, 16, 4}})
    expectInjective(SharedMap{{{M, 32}, {K, 64}}, 0, swizzle});
  expectInjective(SharedMap{{{M, 32}, {K, 64}}, 8, {8, 1, 2, 8, 4}});
}

TEST(SharedMap, SwizzlesOfLinesOfSeveralRows) {
  // Rows 2 and 3 are a line of 8 chunks in phase 1; rows 10 and 11 one in phase 5, in which rows change places.
  SharedMap map{{{M, 32}, {K, 32}}, 0, {8, 2, 8}};
  EXPECT_EQ(map.rowsPerLine(), 2);
  EXPECT_EQ(map.offset({{M, 2}, {K, 3}}), 2 * 32 + 8 * 1 + 3);
  EXPECT_EQ(map.offset({{M, 10}, {K, 3}}), 10 * 32 + 8 * 5 + 3);
  EXPECT_EQ(map.offset({{M, 11}, {K, 3}}), 10 * 32 + 8 * (4 ^ 5) + 3);
  expectInjective(map);
  expectInjective(SharedMap{{{B, 3}, {M, 8}, {K, 16}}, 0, {8, 4, 8}});
  expectInjective(SharedMap{{{M, 32}, {K, 8}}, 0, {8, 4, 2, 16, 2}});
}

TEST(SharedMap, EverySwizzleThatVerifiesIsAPermutation) {
  test::Random random(11);
  auto power = [&](int64_t most) { return int64_t(1) << test::pick(random, 0, most); };
  int lines = 0, rows = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    SharedMap map{{{M, 4 * test::pick(random, 1, 4)}, {K, test::pick(random, 1, 3) * power(4)}}};
    map.padding = test::pick(random, 0, 1);
    map.swizzle = {power(3), power(3), power(3), power(4), power(2)};
    if (map.verify() || !map.isSwizzled())
      continue;
    ++(map.rowsPerLine() > 1 ? lines : rows);
    expectInjective(map);
    std::optional<SharedMap> read = parseSharedMap(map.str());
    ASSERT_TRUE(read) << map.str();
    for (int64_t row = 0; row < map.dims[0].extent; ++row)
      EXPECT_EQ(read->offset({{M, row}, {K, 0}}), map.offset({{M, row}, {K, 0}})) << map.str();
    EXPECT_EQ(parseSharedMap(read->str()), read);
  }
  EXPECT_GT(lines, 50);
  EXPECT_GT(rows, 200);
}

TEST(SharedMap, HardwareSwizzles) {
  // Byte a is stored at a ^ ((a >> 3) & mask): rows of 128, 64, 32 bytes.
  struct Case {
    int64_t columns, mask;
    Swizzle swizzle;
  } cases[] = {{64, 0x70, {8, 1, 8}}, {32, 0x30, {8, 2, 4}}, {16, 0x10, {8, 4, 2}}};
  for (const Case &c : cases) {
    SharedMap map{{{M, 64}, {K, c.columns}}, 0, c.swizzle};
    for (int64_t row = 0; row < 64; ++row)
      for (int64_t column = 0; column < c.columns; ++column) {
        int64_t plain = (row * c.columns + column) * 2;
        ASSERT_EQ(map.offset({{M, row}, {K, column}}) * 2, plain ^ ((plain >> 3) & c.mask));
      }
  }
}

TEST(SharedMap, PanelsFollowEachOther) {
  SharedMap map{{{M, 64}, {K, 128}}, 0, {}, 64};
  EXPECT_EQ(map.offset({{M, 3}, {K, 70}}), 64 * 64 + 3 * 64 + 6);
  EXPECT_EQ(map.str(), "[M 64, K 128] panel 64");
}

TEST(SharedMap, SaysWhyNot) {
  EXPECT_TRUE((SharedMap{{{M, 0}}}).verify());
  EXPECT_TRUE((SharedMap{{{M, 4}}, -1}).verify());
  EXPECT_TRUE((SharedMap{{{M, 4}, {K, 48}}, 0, {}, 32}).verify());
  EXPECT_TRUE((SharedMap{{{M, 4}, {K, 48}}, 0, {8, 1, 4}}).verify()) << "48 is no multiple of 4 chunks of 8";
  EXPECT_TRUE((SharedMap{{{M, 4}, {K, 64}}, 0, {8, 1, 3}}).verify()) << "three phases";
  EXPECT_FALSE((SharedMap{{{M, 4}, {K, 64}}, 0, {8, 1, 8}}).verify());
  EXPECT_TRUE((SharedMap{{{M, 4}, {K, 64}}, 0, {8, 1, 2, 2, 3}}).verify()) << "three far phases";
  EXPECT_TRUE((SharedMap{{{M, 4}, {K, 64}}, 0, {8, 1, 4, 2, 4}}).verify()) << "a row has 8 chunks, not 16";
  EXPECT_FALSE((SharedMap{{{M, 4}, {K, 32}}, 0, {8, 2, 8}}).verify()) << "lines of two rows";
  EXPECT_TRUE((SharedMap{{{M, 4}, {K, 32}}, 0, {8, 1, 8}}).verify()) << "rows of a line have two phases";
  EXPECT_TRUE((SharedMap{{{M, 4}, {K, 32}}, 0, {8, 2, 2, 1, 4}}).verify()) << "the same of the far stride";
  EXPECT_TRUE((SharedMap{{{M, 3}, {K, 32}}, 0, {8, 2, 8}}).verify()) << "half a line";
  EXPECT_TRUE((SharedMap{{{M, 4}, {K, 32}}, 8, {8, 2, 8}}).verify()) << "padding in a line";
  EXPECT_TRUE((SharedMap{{{M, 4}, {K, 64}}, 0, {8, 2, 8}, 32}).verify()) << "a line of panels";
  EXPECT_TRUE((SharedMap{{{M, 4}, {K, 24}}, 0, {8, 4, 4}}).verify()) << "rows of three chunks";
}

TEST(SharedText, RoundTrip) {
  const SharedMap maps[] = {{{{M, 128}, {K, 32}}, 4},
                            {{{M, 64}, {K, 128}}, 8, {8, 1, 8}, 64},
                            {{{M, 64}, {K, 64}}, 0, {8, 1, 2, 8, 4}},
                            {{{M, 8}, {K, 32}}, 0, {8, 2, 8}},
                            {{{B, 3}}},
                            {}};
  for (const SharedMap &map : maps) {
    std::string error;
    EXPECT_EQ(parseSharedMap(map.str(), &error), map) << map.str() << ": " << error;
  }
}

TEST(SharedText, EqualSwizzlesCompareEqual) {
  EXPECT_EQ(parseSharedMap("[M 64, K 64] swizzle(8, 3, 1, 2, 4)"), parseSharedMap("[M 64, K 64] swizzle(8, 2, 4)"));
  EXPECT_EQ(parseSharedMap("[M 64, K 64] swizzle(8, 2, 4, 7, 1)"), parseSharedMap("[M 64, K 64] swizzle(8, 2, 4)"));
  EXPECT_EQ(parseSharedMap("[M 64, K 64] swizzle(8, 2, 1, 7, 1)"), parseSharedMap("[M 64, K 64]"));
}

TEST(SharedText, SaysWhatIsWrong) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "expected `[`"},
      {"[M]", "expected a number"},
      {"[M 4", "expected `]`"},
      {"[4 M]", "expected a dimension"},
      {"[M 4] pad", "expected a number"},
      {"[M 4] pad 1 pad 1", "`pad` appears twice"},
      {"[M 4] swizzle(1, 1)", "expected `,`"},
      {"[M 4, K 8] swizzle(1, 1, 2, 2)", "expected `,`"},
      {"[M 4] turn 3", "expected `pad`, `swizzle` or `panel`"},
      {"[M 4, M 4]", "`M` appears twice"},
      {"[M 0]", "extent of `M` is 0"},
      {"[A 1048576, B 1048576, C 2]", "more than 2^40 elements"},
      {"[M 4, K 48] panel 32", "do not divide the row"},
  };
  for (auto [text, expected] : cases) {
    std::string error;
    EXPECT_FALSE(parseSharedMap(text, &error)) << text;
    EXPECT_NE(error.find(expected), std::string::npos) << text << ": " << error;
  }
}

TEST(SharedText, SurvivesAnyText) {
  test::Random random(5);
  const std::string alphabet = "[]()MKB, padswizlen0123456789-\n\xff",
                    good = "[M 64, K 64] pad 8 swizzle(8, 1, 8) panel 64";
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = good;
    for (int64_t edits = test::pick(random, 1, 4); edits > 0; --edits)
      text[static_cast<size_t>(test::pick(random, 0, static_cast<int64_t>(text.size()) - 1))] =
          alphabet[static_cast<size_t>(test::pick(random, 0, static_cast<int64_t>(alphabet.size()) - 1))];
    if (std::optional<SharedMap> map = parseSharedMap(text)) {
      ++accepted;
      EXPECT_EQ(parseSharedMap(map->str()), map) << text;
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(Banks, CountsWordsOfTheFullestBank) {
  BankModel model{32, phases(32, 32)};
  std::vector<int64_t> addresses(32);
  for (int64_t stride : {4, 8, 16, 64, 128}) {
    for (int64_t lane = 0; lane < 32; ++lane)
      addresses[static_cast<size_t>(lane)] = lane * stride;
    EXPECT_EQ(serviceClocks(model, addresses, 4), stride / 4);
    EXPECT_EQ(countConflicts(model, addresses, 4), stride / 4 - 1);
  }
  std::ranges::fill(addresses, 128);
  EXPECT_EQ(countConflicts(model, addresses, 4), 0) << "one word is broadcast";
  std::ranges::fill(addresses, -1);
  EXPECT_EQ(serviceClocks(model, addresses, 4), 0) << "nobody takes part";
}

TEST(Banks, WideAccessesAreServedInPhases) {
  BankModel model{32, phases(32, 8)};
  std::vector<int64_t> addresses(32);
  for (int64_t lane = 0; lane < 32; ++lane)
    addresses[static_cast<size_t>(lane)] = lane * 16;
  EXPECT_EQ(serviceClocks(model, addresses, 16), 4);
  EXPECT_EQ(countConflicts(model, addresses, 16), 0);
}

TEST(Choose, PaddingForColumnsOfARowMajorTile) {
  // 32 lanes read a column of 32 rows of f32: each needs another bank, one element of padding does it.
  SharedMap map{{{M, 32}, {K, 32}}};
  SharedAccessPattern column{*Layout::parse("lane = (32 M 1)"), 1, {32, phases(32, 32)}};
  EXPECT_EQ(countConflicts(map, 32, column), 31);
  SharedChoice padded = choosePadding(map, 32, {column});
  EXPECT_EQ(padded.map.padding, 1);
  EXPECT_EQ(padded.conflicts, 0);
  SharedChoice swizzled = chooseSwizzle(map, 32, {column});
  EXPECT_EQ(swizzled.conflicts, 0);
  EXPECT_EQ(swizzled.map.swizzle, (Swizzle{1, 1, 32}));
}

TEST(Choose, PaddingKeepsTheWidestAccessAligned) {
  SharedMap map{{{M, 64}, {K, 64}}};
  SharedAccessPattern rows{*Layout::parse("reg = (8 K 1), lane = (16 M 1)(2 K 8)"), 8, {32, phases(32, 8)}};
  SharedChoice choice = choosePadding(map, 16, {rows});
  EXPECT_EQ(choice.map.padding, 8);
  EXPECT_EQ(choice.conflicts, 0);
  EXPECT_EQ(chooseSwizzle(map, 16, {rows}).conflicts, 0);
}

TEST(Choose, SwizzleOfLargerChunksWhereLanesWalkPartsOfRows) {
  // Eight lanes read four chunks of one row and four of the next: both halves of a row change places as wholes.
  Dim M("M"), K("K");
  SharedMap map{{{M, 128}, {K, 64}}};
  BankModel model{32, {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}};
  Layout layout({{8, K, 1}, {2, K, 32}}, {{4, K, 8}, {4, M, 1}});
  SharedChoice choice = chooseSwizzle(map, 16, {{layout, 8, model}});
  EXPECT_EQ(choice.conflicts, 0);
  EXPECT_EQ(choice.map.swizzle, (Swizzle{32, 1, 2}));
  EXPECT_EQ(choice.map.padding, 0);
}

TEST(Choose, RowsAreCountedAsLanesWalkThem) {
  // Eight lanes read rows 0, 1, 8, 9, 16, 17, 24 and 25; others store whole rows.
  SharedMap map{{{M, 32}, {K, 128}}};
  SharedAccessPattern rows{*Layout::parse("reg = (8 K 1), lane = (2 M 1)(4 M 8)(4 M 2)"), 8, {32, phases(32, 8)}};
  SharedAccessPattern whole{*Layout::parse("reg = (8 K 1), lane = (16 K 8)(2 M 1)"), 8, {32, phases(32, 8)}};
  SharedChoice choice = chooseSwizzle(map, 16, {rows, whole});
  EXPECT_EQ(choice.conflicts, 0);
  EXPECT_EQ(choice.map.swizzle, (Swizzle{8, 1, 2, 8, 4}));
}

TEST(Choose, LinesOfRowsWhereARowHasFewerBanksThanAPhase) {
  // Rows of 64 bytes: every fourth is stored 32 bytes wide, eight in a row are loaded 16 bytes wide.
  SharedMap map{{{M, 64}, {K, 32}}};
  SharedAccessPattern stores{*Layout::parse("reg = (4 K 1), lane = (4 M 4)(4 K 4)"), 4, {32, phases(16, 16)}};
  SharedAccessPattern loads{*Layout::parse("reg = (8 K 1), lane = (16 M 1)"), 8, {32, phases(16, 8)}};
  SharedChoice choice = chooseSwizzle(map, 16, {stores, loads});
  EXPECT_EQ(choice.conflicts, 0);
  EXPECT_EQ(choice.map.rowsPerLine(), 2);
}

TEST(Choose, NoPaddingWhereNoneIsNeeded) {
  SharedMap map{{{M, 32}, {K, 32}}};
  SharedAccessPattern row{*Layout::parse("lane = (32 K 1)"), 1, {32, phases(32, 32)}};
  EXPECT_EQ(choosePadding(map, 32, {row}).map, map);
  EXPECT_EQ(chooseSwizzle(map, 32, {row}).map, map);
}
