#include "soliton/layout/MatrixRows.h"

#include <gtest/gtest.h>

using namespace soliton;

namespace {
const Dim N("N"), K("K");

Layout parsed(std::string_view text) {
  return Layout::parse(text).value();
}

const MatrixTable kTransposing{parsed("reg = (2 S 1)(4 S 8), lane = (4 S 2)(8 C 1)"), 8};
const MatrixTable kGroupsOf16{parsed("reg = (4 S 4), lane = (4 C 1)(4 S 1)(4 S 16)"), 4};

/// What every lane receives if lanes point as `rows` says must be what `wanted` holds.
void expectReceives(const MatrixTable &table, const Layout &wanted, const Layout &rows) {
  for (int64_t first = 0; first < wanted.regs(); first += table.result.regs())
    for (int64_t reg = 0; reg < table.result.regs(); ++reg)
      for (int64_t lane = 0; lane < wanted.lanes(); ++lane) {
        Coordinates source = table.result.coordinates(reg, lane, 0);
        int64_t load = first / table.result.regs() * table.contiguous;
        Coordinates received = rows.coordinates(load + source[Dim("C")], source[Dim("S")], 0);
        Coordinates held = wanted.coordinates(first + reg, lane, 0);
        EXPECT_EQ(received[N], held[N]) << wanted.str() << " register " << first + reg << " lane " << lane;
        EXPECT_EQ(received[K], held[K]) << wanted.str() << " register " << first + reg << " lane " << lane;
      }
}
} // namespace

TEST(MatrixRows, LanesPointWhereTheirElementsLie) {
  for (const char *text : {"reg = (8 K 1)(8 N 8), lane = (4 K 8)(8 N 1)",                // packed contraction
                           "reg = (2 K 1)(2 K 8)(2 K 16)(4 N 8), lane = (4 K 2)(8 N 1)", // as the instruction counts
                           "reg = (2 K 1)(2 N 8)(2 K 8), lane = (4 K 2)(8 N 1)"}) {
    std::optional<Layout> rows = matrixRows(kTransposing, parsed(text), N);
    ASSERT_TRUE(rows) << text;
    expectReceives(kTransposing, parsed(text), *rows);
  }
  EXPECT_EQ(*matrixRows(kTransposing, parsed("reg = (8 K 1), lane = (4 K 8)(8 N 1)"), N),
            parsed("reg = (8 N 1), lane = (2 K 1)(4 K 8)(4 K 2)"));
}

TEST(MatrixRows, GroupsOfLanesShareTheirRows) {
  for (const char *text :
       {"reg = (4 K 1)(4 N 16), lane = (16 N 1)(4 K 4)", "reg = (8 K 1)(2 N 16), lane = (16 N 1)(4 K 8)"}) {
    std::optional<Layout> rows = matrixRows(kGroupsOf16, parsed(text), N);
    ASSERT_TRUE(rows) << text;
    expectReceives(kGroupsOf16, parsed(text), *rows);
  }
}

TEST(MatrixRows, OtherLayoutsAreRefused) {
  // Lanes walk the rows' dimension last, registers hold parts of rows, or there are too few registers.
  EXPECT_FALSE(matrixRows(kTransposing, parsed("reg = (8 K 1), lane = (8 N 1)(4 K 8)"), N));
  EXPECT_FALSE(matrixRows(kTransposing, parsed("reg = (8 N 1), lane = (4 K 8)(8 K 1)"), N));
  EXPECT_FALSE(matrixRows(kTransposing, parsed("reg = (4 K 1), lane = (4 K 4)(8 N 1)"), N));
  EXPECT_FALSE(matrixRows(kGroupsOf16, parsed("reg = (8 K 1), lane = (4 K 8)(8 N 1)"), N));
}
