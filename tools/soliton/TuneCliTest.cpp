// soliton tune, from words to a winner; in this process (`--workers 0`): scripts/attack_tuner.py has the others.
#include "tools/soliton/TestCli.h"

namespace soliton::cli {
namespace {

class TuneCli : public Cli {
protected:
  std::vector<std::string> words(std::vector<std::string> more, const std::string &database = "tuning.db") const {
    std::vector<std::string> list = {"tune",      "gemm", "--target",   "gfx942",      "--size", "M=256,N=256,K=256",
                                     "--workers", "0",    "--database", path(database)};
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }
  Said manage(std::vector<std::string> more) const {
    more.insert(more.begin(), "tune");
    more.insert(more.end(), {"--database", path("tuning.db")});
    return soliton(more);
  }
  const std::vector<std::string> small = {"--space", "BLOCK_M=32,64", "--space", "schedule=none,modulo", "--budget",
                                          "4"};
  std::vector<std::string> with(std::vector<std::string> more) const {
    more.insert(more.begin(), small.begin(), small.end());
    return more;
  }
};

TEST_F(TuneCli, FindsSomethingBetterAndSaysThatItIsModelled) {
  Said said = soliton(words(with({"--moves", "200", "--strategy", "hill_climbing", "--html", path("page.html"), "-o",
                                  path("best.schedule"), "--set", "BLOCK_M=32", "--schedule", "none", "--json"})));
  ASSERT_EQ(said.code, 0) << said.err;
  nlohmann::json report = said.parsed();
  EXPECT_EQ(report.at("times"), "modelled");
  // Who reads it later sees each improvement, and how far it could still go.
  EXPECT_NE(said.err.find(" us modelled, bound "), std::string::npos) << said.err;
  EXPECT_LT(report.at("best").at("modelled_us").get<double>(), report.at("start").at("modelled_us").get<double>());
  EXPECT_GE(report.at("best").at("cycles").get<int64_t>(), report.at("best").at("bound").get<int64_t>());
  EXPECT_LE(report.at("moves").at("cycles_best").get<int64_t>(), report.at("moves").at("cycles_before").get<int64_t>());
  EXPECT_GT(report.at("best").at("registers").get<int64_t>(), 0);
  // The page needs nothing from outside, and has every part.
  std::string page = read("page.html");
  for (const char *part : {"Best so far", "Choices", "Refused", "The best", "Moves", "srcdoc=", "modelled"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("http"), std::string::npos);
  // What was written is a schedule that a kernel with the winner's tiles takes, and runs right with.
  std::string tile = "BLOCK_M=" + report.at("best").at("choices").at("BLOCK_M").get<std::string>();
  Said run = soliton({"run", "gemm", "--target", "gfx942", "--size", "M=256,N=256,K=256", "--set", tile, "--schedule",
                      path("best.schedule")});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
}

TEST_F(TuneCli, ASecondRunKnowsEverythingAndDecidesTheSame) {
  ASSERT_EQ(soliton(words(with({"--moves", "0"}))).code, 0);
  nlohmann::json first = manage({"show", "--json"}).parsed();
  Said again = soliton(words(with({"--moves", "0", "--resume", "--json"})));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.parsed().at("known"), 4);
  EXPECT_EQ(manage({"show", "--json"}).parsed(), first);
  EXPECT_EQ(first.at("trials").size(), 4u);
}

TEST_F(TuneCli, TheDatabaseIsListedShownExportedAndVerified) {
  ASSERT_EQ(soliton(words(with({"--moves", "0"}))).code, 0);
  nlohmann::json runs = manage({"list", "--json"}).parsed().at("runs");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].at("kernel").at("kernel"), "gemm");
  EXPECT_EQ(runs[0].at("device"), "modelled gfx942");
  EXPECT_EQ(runs[0].at("build").get<std::string>().size(), 64u);
  nlohmann::json best = manage({"best", "gemm", "--json"}).parsed();
  EXPECT_EQ(best.at("choices").at("schedule"), "modulo");
  EXPECT_EQ(manage({"verify"}).out, "whole\n");
  EXPECT_EQ(manage({"export", path("lines")}).code, 0);
  Said imported = soliton({"tune", "import", path("lines"), "--database", path("other.db"), "--json"});
  EXPECT_GE(imported.parsed().at("imported").get<int64_t>(), 5);
}

TEST_F(TuneCli, ADeviceMeasuresAndTheTextsSaySo) {
  Said said = soliton({"tune", "gemm", "--target", "gfx942", "--size", "M=64,N=128,K=128", "--workers", "0",
                       "--database", path("measured.db"), "--device", "emulator", "--space", "schedule=none,prefetch",
                       "--budget", "2", "--moves", "0", "--json"});
  ASSERT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(said.parsed().at("times"), "measured");
  EXPECT_GT(said.parsed().at("best").at("measured_us").get<double>(), 0);
  EXPECT_NE(said.err.find("us measured"), std::string::npos) << said.err;
  Said runs = soliton({"tune", "list", "--database", path("measured.db"), "--json"});
  EXPECT_NE(runs.parsed().at("runs")[0].at("device"), "modelled gfx942");
}

TEST_F(TuneCli, WhatIsRefusedSaysByWhichFilter) {
  Said said = soliton(
      words({"--space", "BLOCK_M=64,4096", "--space", "BLOCK_K=32,2048", "--moves", "0", "--budget", "4", "--json"}));
  ASSERT_EQ(said.code, 0) << said.err;
  nlohmann::json rejected = said.parsed().at("rejected");
  EXPECT_FALSE(rejected.empty());
  for (const auto &[filter, count] : rejected.items())
    EXPECT_TRUE(filter == "resources" || filter == "verifier" || filter == "compiled") << filter;
}

TEST_F(TuneCli, ConditionsHold) {
  Said said = soliton(words({"--space", "BLOCK_M=32,64,128", "--space", "BLOCK_N=32,64,128", "--where",
                             "BLOCK_M*BLOCK_N - 4096 == 0", "--moves", "0", "--budget", "9", "--json"}));
  ASSERT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(said.parsed().at("tried"), 3);
}

TEST_F(TuneCli, MistakesAreSaid) {
  expectUsage(words({"--strategy", "hillclimbing"}), {"unknown strategy", "did you mean `hill_climbing`"});
  expectUsage(words({"--space", "BLOCK_M"}), {"--space BLOCK_M", "NAME=VALUE"});
  expectUsage(words({"--space", "BLOCK_M="}), {"has no values"});
  expectUsage(words(with({"--where", "BLOCK_M <"})), {"--where", "formula"});
  expectUsage(words(with({"--where", "NOTHING > 2"})), {"--where", "NOTHING"});
  expectUsage(words(with({"--resume"})), {"--resume", "expected a run of these settings"});
  expectUsage({"tune", "best", "nobody", "--database", path("tuning.db")}, {"no run `nobody`"});
  expectUsage({"tune", "import", "--database", path("tuning.db")}, {"without a file"});
  write("text.db", std::string(200, 'x'));
  expectUsage({"tune", "list", "--database", path("text.db")},
              {"text.db", "expected a file that `soliton tune` wrote"});
}

} // namespace
} // namespace soliton::cli
