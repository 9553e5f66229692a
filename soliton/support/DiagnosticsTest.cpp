#include "soliton/support/Diagnostics.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace soliton;

static Diagnostic saying(std::string message, Severity severity = Severity::error) {
  return {severity, DiagId::NotSupportedHere, Place(), std::move(message), "", {}};
}

TEST(Diagnostics, IdsAreSortedUniqueAndParseBack) {
  std::set<std::string_view> seen;
  std::vector<std::string_view> texts;
  for (DiagId id : allDiagIds()) {
    EXPECT_TRUE(seen.insert(idText(id)).second) << idText(id);
    EXPECT_EQ(parseDiagId(idText(id)), id);
    EXPECT_FALSE(explanation(id).empty()) << idText(id);
    texts.push_back(idText(id));
  }
  EXPECT_TRUE(std::is_sorted(texts.begin(), texts.end()));
  EXPECT_EQ(parseDiagId("no-such-id"), std::nullopt);
}

TEST(Diagnostics, IdsAreKebabCaseAndSentencesHaveNoPeriod) {
  for (DiagId id : allDiagIds()) {
    for (char c : idText(id))
      EXPECT_TRUE((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-') << idText(id);
    EXPECT_NE(explanation(id).back(), '.') << idText(id);
  }
}

TEST(Diagnostics, FormatShowsPlaceIdNotesAndHint) {
  Diagnostic diagnostic{.id = DiagId::NotSupportedHere,
                        .place = Place("gemm.cpp", 31, 11),
                        .message = "found `x`, expected `y`",
                        .hint = "write `y`",
                        .notes = {{Place("gemm.cpp", 28, 9), "`x` is read here"}, {Place(), "without a place"}}};
  EXPECT_EQ(format(diagnostic), "gemm.cpp:31:11: error: found `x`, expected `y` [not-supported-here]\n"
                                "gemm.cpp:28:9: note: `x` is read here\n"
                                "soliton: note: without a place\n"
                                "  hint: write `y`");
}

TEST(Diagnostics, FormatWithoutPlaceOrHint) {
  Diagnostic diagnostic = saying("m", Severity::warning);
  EXPECT_EQ(format(diagnostic), "soliton: warning: m [not-supported-here]");
  diagnostic.severity = Severity::remark;
  EXPECT_EQ(format(diagnostic), "soliton: remark: m [not-supported-here]");
}

TEST(Diagnostics, CompileErrorHoldsEverythingThatWasFound) {
  CompileError error({saying("one"), saying("two")});
  EXPECT_EQ(error.diagnostics().size(), 2u);
  EXPECT_STREQ(error.what(), "soliton: error: one [not-supported-here]\nsoliton: error: two [not-supported-here]\n");
}

TEST(Diagnostics, PlaceOfASourceLocation) {
  Place here = std::source_location::current();
  EXPECT_TRUE(here.known());
  EXPECT_NE(here.file.find("DiagnosticsTest.cpp"), std::string::npos);
  EXPECT_FALSE(Place().known());
}

TEST(Diagnostics, NearestProposesOnlyWhatIsClose) {
  std::vector<std::string> choices = {"threads", "grid", "waves"};
  EXPECT_EQ(nearest("thraeds", choices), "threads");
  EXPECT_EQ(nearest("wave", choices), "waves");
  EXPECT_EQ(nearest("grid", choices), "grid");
  EXPECT_EQ(nearest("completely", choices), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
  EXPECT_EQ(nearest("expand-tile", {"wave-expand-tiles", "wave-place-shared"}), "wave-expand-tiles");
  EXPECT_EQ(nearest("shared", {"wave-promote-to-shared", "wave-place-shared"}), std::nullopt);
}

TEST(Diagnostics, ListOf) {
  EXPECT_EQ(listOf({}), "");
  EXPECT_EQ(listOf({"a"}), "`a`");
  EXPECT_EQ(listOf({"a", "b"}), "`a` or `b`");
  EXPECT_EQ(listOf({"a", "b", "c"}), "`a`, `b` or `c`");
}
