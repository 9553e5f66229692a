//===- TestSupport.h - Checking what an author is told --------------------------===//
#pragma once

#include "soliton/frontend/Ops.h"

#include "gtest/gtest.h"

namespace soliton {

/// A kernel with two distributed dimensions, a looped one, and memories to play with.
class LanguageTest : public testing::Test {
protected:
  static std::vector<Constraint> constraints() {
    auto [M, N, K, BM, BN, BK] = symbols<"M N K BLOCK_M BLOCK_N BLOCK_K">();
    return {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
            WaveConstraint(M, BM / 2), HardwareConstraint{}};
  }

  /// Exactly one mistake was found, at `line` of this test's file, with these words.
  void expectMistake(const std::vector<Diagnostic> &found, DiagId id, const std::string &message,
                     const std::string &hint = {}) {
    ASSERT_EQ(found.size(), 1u) << format(found);
    EXPECT_EQ(idText(found[0].id), idText(id));
    EXPECT_EQ(found[0].message, message);
    EXPECT_EQ(found[0].hint, hint);
    EXPECT_EQ(found[0].place.line, line);
    EXPECT_NE(found[0].place.file.find("Test.cpp"), std::string::npos);
  }
  void expectMistake(DiagId id, const std::string &message, const std::string &hint = {}) {
    expectMistake(k.diagnostics(), id, message, hint);
  }

  Expr M = symbol("M"), N = symbol("N"), K = symbol("K");
  Expr BM = symbol("BLOCK_M"), BN = symbol("BLOCK_N"), BK = symbol("BLOCK_K");
  Kernel k{"k", constraints()};
  MemoryRef a = k.memory("a", {M, N}, global, f32), b = k.memory("b", {M, N}, global, f16);
  MemoryRef v = k.memory("v", {M}, global, f32), w = k.memory("w", {N}, global, f32);
  MemoryRef lhs = k.memory("lhs", {M, K}, shared, f16), rhs = k.memory("rhs", {N, K}, shared, f16);
  MemoryRef ints = k.memory("ints", {M, N}, global, i32);
  int line = 0;
};

} // namespace soliton
