//===- LayoutTest.cpp - soliton layout, and messages that help -----------------------------------------===//
#include "tools/soliton/TestCli.h"

namespace soliton::cli {
namespace {

using LayoutCommandLine = Cli;

TEST_F(LayoutCommandLine, MatrixInstructionSaysWhoHoldsWhat) {
  Said said = soliton({"layout", "mma", "F32_16x16x16_F16", "--target", "gfx942", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  nlohmann::json views = said.parsed().at("views");
  ASSERT_EQ(views.size(), 3u);
  EXPECT_EQ(views[0].at("name"), "lhs");
  // The accumulator: register r of lane l holds row 4 * (l / 16) + r, column l % 16.
  const nlohmann::json &acc = views[2].at("elements");
  ASSERT_EQ(acc.size(), 16u);
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n)
      EXPECT_EQ(acc[m][n], (std::vector<int>{0, m / 4 * 16 + n, m % 4}));
  said = soliton({"layout", "mma", "F32_16x16x16_F16", "--target", "gfx942"});
  EXPECT_NE(said.out.find("acc[M 16, N 16] f32: reg = (4 M 1), lane = (16 N 1)(4 M 4)"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("  0.0"), std::string::npos) << said.out;
  said = soliton({"layout", "mma", "F32_16x16x16_F16", "--svg"});
  EXPECT_TRUE(said.out.starts_with("<svg") && said.out.ends_with("</svg>\n")) << "without a file, to standard output";
}

TEST_F(LayoutCommandLine, EveryInstructionOfEveryTargetHasItsPicture) {
  nlohmann::json targets = soliton({"targets", "--json"}).parsed().at("targets");
  int pictures = 0;
  for (const nlohmann::json &target : targets)
    for (const nlohmann::json &mma : target.at("mmas")) {
      Said said = soliton({"layout", "mma", mma.at("name"), "--target", target.at("name"), "--dtype", mma.at("lhs"),
                           "--svg", path("mma.svg")});
      ASSERT_EQ(said.code, 0) << said.err;
      std::string svg = read("mma.svg");
      EXPECT_TRUE(svg.starts_with("<svg")) << mma;
      EXPECT_TRUE(svg.ends_with("</svg>\n"));
      EXPECT_EQ(svg.find("http", svg.find("2000/svg")), std::string::npos) << "nothing from outside";
      ++pictures;
    }
  EXPECT_GT(pictures, 20);
}

TEST_F(LayoutCommandLine, TaggedValuesOfKernelsAreShown) {
  for (const char *target : {"gfx942", "sm_90a"}) {
    Said said = soliton({"layout", "gemm", "--value", "mma", "--target", target, "--json"});
    ASSERT_EQ(said.code, 0) << said.err;
    nlohmann::json views = said.parsed().at("views");
    ASSERT_EQ(views.size(), 3u);
    EXPECT_EQ(views[2].at("name"), "mma acc");
    EXPECT_GT(views[2].at("waves"), 1);
    // Everything is held by somebody.
    for (const nlohmann::json &row : views[2].at("elements"))
      for (const nlohmann::json &element : row)
        EXPECT_TRUE(element.is_array());
  }
  Said said = soliton({"layout", "copy", "--value", "load", "--svg", path("load.svg")});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(read("load.svg").find("load of copy on gfx942"), std::string::npos);
  EXPECT_EQ(soliton({"layout", "copy", "--value", "store"}).code, 0);
}

TEST_F(LayoutCommandLine, WrongNamesGetTheChoices) {
  expectUsage({"layout", "mma", "F32_16x16x16_F17"}, {"unknown matrix instruction", "did you mean `F32_16x16x16_F16`"});
  expectUsage({"layout", "mma"}, {"say which matrix instruction"});
  expectUsage({"layout", "mma", "F32_16x16x16_F16", "--dtype", "f64"}, {"unknown dtype `f64`", "`f16`"});
  expectUsage({"layout", "mma", "F32_16x16x16_F16", "--target", "gfx9"}, {"unknown target `gfx9`", "`gfx942`"});
  expectUsage({"layout", "copy", "--value", "lood"}, {"unknown tag `lood`", "did you mean `load`"});
  expectUsage({"layout", "copy"}, {"say which value", "`load`"});
  expectUsage({"layout", "copy", "F32_16x16x16_F16"}, {"expected `--value TAG`"});
}

//===-- Messages ----------------------------------------------------------------------------------------===//

using Messages = Cli;

TEST_F(Messages, UnknownPassGetsTheNearestAndTheList) {
  Said said = soliton({"compile", "copy", "--print-after=wave-asign-layouts"});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("[pass-unknown]"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("did you mean `wave-assign-layouts`"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("`cse`"), std::string::npos) << said.err;
  EXPECT_EQ(said.err.find("builtin.module"), std::string::npos) << said.err;
}

TEST_F(Messages, SizesThatAreNegativeOrUnknownAreNamed) {
  expectUsage({"run", "gemm", "--size", "M=-3"}, {"found `M=-3`", "at least 1"});
  expectUsage({"run", "gemm", "--size", "M="}, {"found `M=`", "`NAME=NUMBER`"});
  expectUsage({"run", "gemm", "--size", "Q=3"}, {"unknown size `Q`", "`M`"});
  expectUsage({"run", "gemm", "--target", ""}, {"unknown target", "`gfx942`", "`sm_90a`"});
}

} // namespace
} // namespace soliton::cli
