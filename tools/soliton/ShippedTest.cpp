// `--faithful`, `--waive` and `--swizzle` on the command line.
#include "tools/soliton/TestCli.h"

namespace soliton::cli {
namespace {
const std::vector<std::string> kProduct = {
    "gemm",   "--target", "gfx950", "--dtype",    "bf16",      "--set", "BLOCK_M=64,BLOCK_N=64,BLOCK_K=64",
    "--size", "M=64",     "--size", "N=64,K=512", "--schedule"};

Said said(const char *command, std::vector<std::string> more) {
  std::vector<std::string> all = {command};
  all.insert(all.end(), kProduct.begin(), kProduct.end());
  all.insert(all.end(), more.begin(), more.end());
  return soliton(all);
}

TEST_F(Cli, ShippedProgramsNeedAWaiver) {
  Said refused = said("run", {"pipeline4wave", "--faithful"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("[schedule-latency-only]"), std::string::npos) << refused.err;
  EXPECT_EQ(said("compile", {"pipeline4wave", "--faithful", "--waive", "as shipped"}).code, 0);
  // What derives its waits is proven and clean.
  EXPECT_EQ(said("run", {"pipeline4wave"}).code, 0);
}

TEST_F(Cli, TheEmulatorReportsTheRacesOfAShippedProgram) {
  Said races = said("run", {"pipeline4wave", "--faithful", "--waive", "as shipped"});
  EXPECT_EQ(races.code, 2);
  EXPECT_NE(races.err.find("not ordered after the read by `load`"), std::string::npos) << races.err;
  EXPECT_NE(races.err.find("Gemm.cpp:"), std::string::npos) << races.err;
}

TEST_F(Cli, SwizzleOnAndOff) {
  Said off = said("compile", {"modulo", "--swizzle", "off", "--emit", "wave"});
  EXPECT_EQ(off.code, 0) << off.err;
  EXPECT_EQ(off.out.find("swizzle("), std::string::npos);
  EXPECT_NE(said("compile", {"modulo", "--emit", "wave"}).out.find("swizzle("), std::string::npos);
  EXPECT_EQ(said("run", {"modulo", "--swizzle", "off"}).code, 0);
}

TEST_F(Cli, ShippedMistakes) {
  auto wrong = [](std::vector<std::string> more, const std::vector<std::string> &words) {
    more.insert(more.begin(), kProduct.begin(), kProduct.end());
    more.insert(more.begin(), "compile");
    expectUsage(more, words);
  };
  wrong({"modulo", "--faithful"}, {"`--faithful --schedule modulo`", "`pipeline4wave`"});
  wrong({"pipeline4wave", "--waive", "why not"}, {"`--waive` without `--faithful`"});
  wrong({"pipeline4wave", "--faithful", "--set", "BLOCK_M=48"}, {"divide"});
  wrong({"pipeline4wave", "--swizzle", "maybe"}, {"`--swizzle maybe`", "`on` or `off`"});
  std::vector<std::string> asFile = {"schedule"};
  asFile.insert(asFile.end(), kProduct.begin(), kProduct.end());
  for (const char *more : {"pipeline4wave", "--faithful", "--waive", "as shipped", "-o"})
    asFile.emplace_back(more);
  asFile.push_back(path("shipped.schedule"));
  expectUsage(asFile, {"prologue and epilogue of its own"});
  expectUsage({"compile", "row_sum", "--schedule", "pipeline4wave", "--faithful"}, {"BLOCK_"});
  expectUsage({"compile", write("k.mlir", "module {}"), "--faithful"}, {"text of a module"});
}

} // namespace
} // namespace soliton::cli
