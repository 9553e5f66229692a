#include "soliton/layout/RandomLayouts.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::test;

namespace {
const Dim M("M"), N("N"), K("K");

Layout parsed(std::string_view text) {
  std::string error;
  std::optional<Layout> layout = Layout::parse(text, &error);
  EXPECT_TRUE(layout) << text << ": " << error;
  return layout.value_or(Layout());
}

/// Every element of the box with the number of its holders, by brute force.
std::map<Coordinates, int64_t> census(const Layout &layout) {
  std::map<Coordinates, int64_t> counts;
  for (int64_t wave = 0; wave < layout.waves(); ++wave)
    for (int64_t lane = 0; lane < layout.lanes(); ++lane)
      for (int64_t reg = 0; reg < layout.regs(); ++reg)
        ++counts[layout.coordinates(reg, lane, wave)];
  return counts;
}
} // namespace

TEST(Dim, InternsAndOrdersByName) {
  EXPECT_EQ(Dim("M"), M);
  EXPECT_NE(M, N);
  EXPECT_LT(Dim("B"), Dim("M"));
  EXPECT_EQ(Dim("BLOCK_K").name(), "BLOCK_K");
  EXPECT_TRUE(isDimName("$x1"));
  for (const char *bad : {"", "_", "1a", "a b", "a-b"})
    EXPECT_FALSE(isDimName(bad)) << bad;
}

TEST(Layout, Accumulator32x32) {
  Layout layout = parsed("reg = (4 M 1)(4 M 8), lane = (32 N 1)(2 M 4)");
  EXPECT_EQ(layout.regs(), 16);
  EXPECT_EQ(layout.lanes(), 64);
  EXPECT_EQ(layout.waves(), 1);
  EXPECT_EQ(layout.coordinates(5, 33, 0), (Coordinates{{M, 13}, {N, 1}}));
  EXPECT_EQ(layout.coordinate(M, 5, 33, 0), 13);
  EXPECT_EQ(layout.holders({{M, 13}, {N, 1}}), (std::vector<Holder>{{5, 33, 0}}));
  EXPECT_EQ(layout.extents(), (std::map<Dim, int64_t>{{M, 32}, {N, 32}}));
  EXPECT_TRUE(layout.isBijectiveUpToReplication());
  EXPECT_EQ(layout.replication(), 1);
}

TEST(Layout, CanonicalFormMergesAndDrops) {
  EXPECT_EQ(parsed("reg = (2 M 1)(1 N 7)(2 M 2)").str(), "reg = (4 M 1)");
  EXPECT_EQ(parsed("lane = (4 _ 0)(16 M 0)").str(), "lane = (64 _ 0)");
  EXPECT_EQ(parsed("reg = (2 M 1)(2 M 4)").str(), "reg = (2 M 1)(2 M 4)");
  EXPECT_EQ(parsed("reg = (2 M 1), offset = (M 0)(N 8)").str(), "reg = (2 M 1), offset = (N 8)");
  EXPECT_EQ(Layout().str(), "reg = (1 _ 0)");
  EXPECT_EQ(parsed("reg = (2 M 1)(2 M 2)"), parsed("reg = (4 M 1)"));
  EXPECT_EQ(parsed("reg = (2 M 1)(2 M 2)").hash(), parsed("reg = (4 M 1)").hash());
  EXPECT_NE(parsed("reg = (4 M 1)"), parsed("lane = (4 M 1)"));
  EXPECT_NE(parsed("reg = (4 M 1)"), parsed("reg = (4 M 1), offset = (M 4)"));
}

TEST(Layout, EqualExactlyWhenTheSameFunction) {
  Random random(7);
  int equal = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Shape shape{{{M, 8}}, 4, 1};
    Layout a = randomLayout(random, shape), b = randomLayout(random, shape);
    bool same = a.regs() == b.regs();
    for (int64_t lane = 0; lane < 4 && same; ++lane)
      for (int64_t reg = 0; reg < a.regs() && same; ++reg)
        same = a.coordinate(M, reg, lane, 0) == b.coordinate(M, reg, lane, 0);
    EXPECT_EQ(a == b, same) << a.str() << " and " << b.str();
    equal += same;
  }
  EXPECT_GT(equal, 10);
}

TEST(Layout, RandomLayoutsHoldWhatTheySay) {
  Random random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    Layout layout = randomLayout(random, randomShape(random), trial % 2);
    ASSERT_TRUE(layout.isBijectiveUpToReplication()) << layout.str();
    ASSERT_TRUE(layout.isInjectiveUpToReplication()) << layout.str();
    int64_t elements = 1;
    for (auto [dim, extent] : layout.extents())
      elements *= extent;
    std::map<Coordinates, int64_t> counts = census(layout);
    ASSERT_EQ(static_cast<int64_t>(counts.size()), elements) << layout.str();
    for (auto &[at, count] : counts)
      ASSERT_EQ(count, layout.replication()) << layout.str();
    ASSERT_EQ(parsed(layout.str()), layout);
    ASSERT_EQ(layout.canonical().str(), layout.str());
    if (trial % 20 == 0)
      for (auto &[at, count] : counts) {
        std::vector<Holder> holders = layout.holders(at);
        ASSERT_EQ(static_cast<int64_t>(holders.size()), count);
        for (Holder holder : holders)
          ASSERT_EQ(layout.coordinates(holder.reg, holder.lane, holder.wave), at);
      }
  }
}

TEST(Layout, BijectivityAgreesWithCountingForArbitraryDigits) {
  Random random(2);
  int bijective = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Layout layout;
    for (Digits *axis : {&layout.reg, &layout.lane, &layout.wave})
      for (int64_t i = pick(random, 0, 2); i > 0; --i)
        axis->push_back(Digit(pick(random, 1, 3), pick(random, 0, 1) ? M : N, int64_t(1) << pick(random, 0, 3)));
    std::map<Coordinates, int64_t> counts = census(layout);
    int64_t elements = 1;
    for (auto [dim, extent] : layout.extents())
      elements *= extent;
    bool injective = std::ranges::all_of(counts, [&](auto &entry) { return entry.second == layout.replication(); });
    ASSERT_EQ(layout.isInjectiveUpToReplication(), injective) << layout.str();
    bool all = injective && static_cast<int64_t>(counts.size()) == elements;
    ASSERT_EQ(layout.isBijectiveUpToReplication(), all) << layout.str();
    bijective += all;
  }
  EXPECT_GT(bijective, 100);
}

TEST(Layout, HoldersOfOverlappingDigitsAreAllFound) {
  Layout layout = parsed("reg = (3 M 1), lane = (3 M 1), offset = (M 10)");
  EXPECT_EQ(layout.holders({{M, 12}}), (std::vector<Holder>{{2, 0, 0}, {1, 1, 0}, {0, 2, 0}}));
  EXPECT_TRUE(layout.holders({{M, 9}}).empty());
  EXPECT_TRUE(layout.holders({{M, 15}}).empty());
}

TEST(Layout, ReductionResultReplicatesLanesAndDropsRegisters) {
  Layout layout = parsed("reg = (4 M 1)(4 M 8), lane = (32 N 1)(2 M 4), wave = (2 M 32)(2 N 32), offset = (M 64)");
  EXPECT_EQ(layout.withoutDim(M).str(), "lane = (32 N 1)(2 _ 0), wave = (2 _ 0)(2 N 32)");
  EXPECT_EQ(layout.withoutDim(K), layout);
}

TEST(Layout, StretchingAndTiling) {
  Layout layout = parsed("reg = (4 M 1), lane = (16 N 1)(4 M 4)");
  EXPECT_EQ(layout.tiled(Axis::reg, N, 2, 16).tiled(Axis::wave, M, 4, 16).str(),
            "reg = (4 M 1)(2 N 16), lane = (16 N 1)(4 M 4), wave = (4 M 16)");
  EXPECT_EQ(layout.tiled(Axis::wave, M, 1, 16), layout);
  EXPECT_EQ(layout.broadcastInto(K, 3).str(), "reg = (4 M 1)(3 K 1), lane = (16 N 1)(4 M 4)");
  EXPECT_EQ(layout.replicated(Axis::wave, 2).str(), "reg = (4 M 1), lane = (16 N 1)(4 M 4), wave = (2 _ 0)");
  EXPECT_EQ(layout.renamed({{M, N}, {N, M}}).str(), "reg = (4 N 1), lane = (16 M 1)(4 N 4)");
  EXPECT_EQ(layout.permuted(), layout);
}

TEST(Layout, Pieces) {
  Layout layout = parsed("reg = (4 M 1)(4 M 8)(2 N 32), lane = (32 N 1)(2 M 4)");
  std::optional<std::vector<Layout>> pieces = layout.pieces(4);
  ASSERT_TRUE(pieces);
  ASSERT_EQ(pieces->size(), 8u);
  EXPECT_EQ((*pieces)[5].str(), "reg = (4 M 1), lane = (32 N 1)(2 M 4), offset = (M 8)(N 32)");
  for (size_t piece = 0; piece < 8; ++piece)
    for (int64_t reg = 0; reg < 4; ++reg)
      for (int64_t lane = 0; lane < 64; ++lane)
        for (Dim dim : {M, N})
          ASSERT_EQ((*pieces)[piece].coordinate(dim, reg, lane, 0),
                    layout.coordinate(dim, static_cast<int64_t>(piece) * 4 + reg, lane, 0));
  EXPECT_FALSE(layout.pieces(3));
  EXPECT_FALSE(layout.pieces(0));
  EXPECT_FALSE(parsed("reg = (6 M 1)(2 N 1)").pieces(4));
  EXPECT_EQ(layout.subLayout(1, 2)->str(), "reg = (2 M 1), lane = (32 N 1)(2 M 4), offset = (M 1)");
  EXPECT_FALSE(layout.subLayout(3, 2)) << "crosses from row 3 to row 8";
  EXPECT_FALSE(layout.subLayout(30, 4));
}

TEST(Layout, ContiguousRun) {
  EXPECT_EQ(parsed("reg = (4 M 1)(2 M 4)").contiguousRun(M), 8);
  EXPECT_EQ(parsed("reg = (4 M 1)(2 M 8)").contiguousRun(M), 4);
  EXPECT_EQ(parsed("reg = (4 M 1)(2 M 8)").contiguousRun(N), 1);
  EXPECT_EQ(parsed("reg = (4 M 2)").contiguousRun(M), 1);
  EXPECT_EQ(Layout().contiguousRun(M), 1);
}

TEST(LayoutText, SaysWhatIsWrong) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "expected `reg`, `lane`, `wave` or `offset`"},
      {"lane", "expected `=`"},
      {"reg = ", "expected `(`"},
      {"reg = (4 M)", "expected a number"},
      {"reg = (4 1 M)", "expected a dimension or `_`"},
      {"reg = (4 M 1", "expected `)`"},
      {"reg = (4 M 1) lane", "expected `,` or the end"},
      {"reg = (4 M 1), reg = (4 M 1)", "`reg` appears twice"},
      {"reg = (0 M 1)", "extent of a `reg` digit is 0"},
      {"reg = (4 _ 1)", "replicating digit has stride 1"},
      {"reg = (-4 M 1)", "expected a number"},
      {"reg = (99999999999999999999 M 1)", "expected a number"},
      {"reg = (1099511627776 M 1)(2 N 1)", "more than 2^40 positions"},
      {"offset = (_ 1)", "an offset needs a dimension"},
      {"offset = (M 1)(M 2)", "`M` has two offsets"},
  };
  for (auto [text, expected] : cases) {
    std::string error;
    EXPECT_FALSE(Layout::parse(text, &error)) << text;
    EXPECT_NE(error.find(expected), std::string::npos) << text << ": " << error;
  }
}

TEST(LayoutText, SurvivesAnyText) {
  Random random(3);
  const std::string alphabet = "reglanwvofst=(),_ 0123456789MNK$-\n\t\xff";
  const std::string good = "reg = (4 M 1)(4 M 8), lane = (32 N 1)(2 M 4), wave = (2 _ 0), offset = (M 16)";
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = trial % 2 ? good : "";
    for (int64_t edits = pick(random, 1, 6); edits > 0; --edits) {
      size_t at = static_cast<size_t>(pick(random, 0, static_cast<int64_t>(text.size())));
      char c = alphabet[static_cast<size_t>(pick(random, 0, static_cast<int64_t>(alphabet.size()) - 1))];
      if (at < text.size() && pick(random, 0, 1))
        text[at] = c;
      else
        text.insert(at, 1, c);
    }
    std::optional<Layout> layout = Layout::parse(text);
    if (!layout)
      continue;
    ++accepted;
    EXPECT_EQ(Layout::parse(layout->str()), layout) << text;
  }
  EXPECT_GT(accepted, 100);
}
