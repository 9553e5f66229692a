// soliton tune, from words to a winner; in this process (`--workers 0`): scripts/attack_tuner.py has the others.
#include "soliton/driver/Auto.h"
#include "tools/soliton/TestCli.h"
#include "tools/soliton/Tune.h"

#include <cstdlib>
#include <set>

namespace soliton::cli {
namespace {

class TuneCli : public Cli {
protected:
  // What runs leave for `auto` is for these tests alone.
  TuneCli() { setenv("SOLITON_CACHE_DIR", path("cache").c_str(), 1); }
  ~TuneCli() override { unsetenv("SOLITON_CACHE_DIR"); }

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
  // Two tiles in shared memory, one and two buffers more for each of six orders at most.
  int64_t buffersTried = report.at("moves").at("buffers_tried").get<int64_t>();
  EXPECT_GE(buffersTried, 4);
  EXPECT_LE(buffersTried, 24);
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

/// A schedule is for the winner's tiles: with the words that stand beside it, it runs.
TEST_F(TuneCli, AScheduleIsWrittenWithWhatItIsFor) {
  Said said = soliton(words({"--space", "BLOCK_M=32,128", "--space", "direct_copies=off,on", "--space", "raster=0,4",
                             "--space", "mma=default,F32_32x32x8_F16", "--space", "schedule=none,modulo", "--moves",
                             "100", "--budget", "12", "-o", path("best.schedule")}));
  ASSERT_EQ(said.code, 0) << said.err;
  size_t at = said.out.find("wrote " + path("best.schedule") + ", for `--set BLOCK_M=");
  ASSERT_NE(at, std::string::npos) << said.out;
  at = said.out.find('`', at) + 1;
  std::vector<std::string> run = {"run", "gemm", "--target", "gfx942", "--size", "M=256,N=256,K=256"};
  std::istringstream line(said.out.substr(at, said.out.find('`', at) - at));
  for (std::string word; line >> word;)
    run.push_back(word);
  EXPECT_EQ(run.back(), path("best.schedule"));
  Said ran = soliton(run);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(wordsOf({{{"BLOCK_M", "64"}, {"schedule", "none"}, {"cluster", "1"}, {"persistent", "0"}}, ""}),
            "--set BLOCK_M=64");
  EXPECT_EQ(wordsOf({{{"service_waves", "0"}, {"raster", "4"}}, ""}), "--raster 4 --service-waves 0");
  EXPECT_EQ(wordsOf({}), "");
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

/// Whether caches were warm or cold is said with every figure, and tells results apart.
TEST_F(TuneCli, CachesAreWarmOrColdAndTheResultsSaySo) {
  auto tuned = [&](const std::string &cache) {
    Said said = soliton({"tune",       "gemm",
                         "--target",   "gfx942",
                         "--size",     "M=64,N=64,K=64",
                         "--workers",  "0",
                         "--database", path("measured.db"),
                         "--device",   "emulator",
                         "--space",    "none",
                         "--budget",   "1",
                         "--moves",    "0",
                         "--cache",    cache,
                         "--json"});
    EXPECT_EQ(said.code, 0) << said.out << said.err;
    nlohmann::json report = said.parsed();
    EXPECT_EQ(report.at("known"), 0);
    EXPECT_EQ(report.at("cache"), cache);
    EXPECT_EQ(report.at("best").at("cache"), cache);
    EXPECT_NE(said.err.find(cache == "cold" ? "us measured with cold caches" : "us measured with warm caches"),
              std::string::npos)
        << said.err;
    return report.at("best");
  };
  nlohmann::json warm = tuned("warm"), cold = tuned("cold"), both = tuned("both");
  EXPECT_EQ(warm.at("cold_us"), 0);
  EXPECT_EQ(cold.at("cold_us"), cold.at("measured_us"));
  EXPECT_GT(both.at("cold_us").get<double>(), 0);
  EXPECT_NE(both.at("cold_us"), both.at("measured_us"));
  EXPECT_EQ(soliton({"tune", "gemm", "--cache", "lukewarm"}).code, 2);
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

/// What `auto` takes for a large product on sm_90a is a candidate of the space that follows from kernel and target:
/// with workgroups that walk, and for sums of bytes with waves that copy.
void expectChoiceOfAuto(const std::string &dtype, const std::string &serviceWaves) {
  TuneCommand command;
  command.choice.kernel = "gemm";
  command.choice.dtype = dtype;
  command.choice.target = "sm_90a";
  command.choice.sizes = {"M=4096", "N=4096", "K=4096"};
  std::ostringstream unheard;
  Resolved resolved = resolve(command.choice, unheard);
  resolved.options.tuned = TunedUse::off;
  Kernel kernel = resolved.entry->build(*resolved.variant);
  CompileOptions taken = chooseAutomatically(kernel, resolved.options).front().options;
  tune::Assignment wanted = {{"schedule", taken.schedule.name},
                             {"direct_copies", taken.directCopies ? "on" : "off"},
                             {"staged_writes", taken.stagedWrites ? "on" : "off"},
                             {"swizzle", taken.schedule.placement.swizzle ? "on" : "off"},
                             {"raster", std::to_string(taken.raster)},
                             {"cluster", std::to_string(taken.cluster)},
                             {"persistent", std::to_string(taken.persistent)},
                             {"service_waves", std::to_string(taken.serviceWaves.value_or(0))},
                             {"overlap_tiles", taken.overlapTiles.value_or(false) ? "on" : "off"},
                             {"workgroups_per_cluster", "1"},
                             {"mma", taken.mma}};
  EXPECT_TRUE(taken.workgroupsPerCluster.empty());
  for (const auto &[symbol, value] : taken.subs)
    if (!resolved.sizes.contains(std::string(symbol.symbolName())) && value.constantValue())
      wanted[std::string(symbol.symbolName())] = std::to_string(*value.constantValue());
  EXPECT_EQ(wanted.at("schedule"), "ring");
  EXPECT_EQ(wanted.at("persistent"), "132");
  EXPECT_EQ(wanted.at("service_waves"), serviceWaves);
  // Of each choice its value; waves and columns follow from the instruction, so that any will do.
  tune::Space space = makeSpace(command, resolved);
  tune::Assignment point;
  for (const tune::Choice &choice : space.choices()) {
    bool isHere =
        wanted.contains(choice.name) && std::ranges::find(choice.values, wanted.at(choice.name)) != choice.values.end();
    bool isFree = choice.name.starts_with("WAVES_") || (choice.name == "BLOCK_N" && !isHere);
    point[choice.name] = isFree ? choice.values.front() : wanted.at(choice.name);
    EXPECT_NE(std::ranges::find(choice.values, point[choice.name]), choice.values.end())
        << choice.name << " = " << point[choice.name];
  }
  EXPECT_EQ(settled(point, resolved), wanted);
}

TEST_F(TuneCli, TheSpaceHoldsWhatAutoTakes) {
  expectChoiceOfAuto("f16", "0");
  expectChoiceOfAuto("f8", "4");
}

/// Which names the space that follows from kernel and target has, and which values.
std::map<std::string, std::vector<std::string>> derivedSpace(const std::string &kernel, const std::string &target,
                                                             std::vector<std::string> sizes) {
  TuneCommand command;
  command.choice.kernel = kernel;
  command.choice.target = target;
  command.choice.sizes = std::move(sizes);
  std::ostringstream unheard;
  std::map<std::string, std::vector<std::string>> found;
  tune::Space space = makeSpace(command, resolve(command.choice, unheard));
  for (const tune::Choice &choice : space.choices())
    found[choice.name] = choice.values;
  return found;
}

TEST_F(TuneCli, RolesAndWalksAreChoicesWhereTheyChangeSomething) {
  const std::vector<std::string> large = {"M=4096", "N=4096", "K=4096"}, small = {"M=256", "N=256", "K=256"};
  auto space = derivedSpace("gemm", "sm_90a", large);
  EXPECT_EQ(space.at("service_waves"), (std::vector<std::string>{"0", "4"}));
  EXPECT_EQ(space.at("persistent"), (std::vector<std::string>{"0", "132"}));
  EXPECT_EQ(space.at("workgroups_per_cluster"), (std::vector<std::string>{"1", "2", "1x2"}));
  EXPECT_EQ(space.at("overlap_tiles"), (std::vector<std::string>{"off", "on"}));
  EXPECT_EQ(space.at("raster"), (std::vector<std::string>{"0", "4", "8", "16"}));
  // No more tiles than compute units: nobody walks. No boxes: nobody serves.
  for (const char *name : {"persistent", "overlap_tiles"})
    EXPECT_FALSE(derivedSpace("gemm", "sm_90a", small).contains(name)) << name;
  for (const char *name : {"service_waves", "persistent", "overlap_tiles", "workgroups_per_cluster"})
    EXPECT_FALSE(derivedSpace("gemm", "gfx942", large).contains(name)) << name;
  // Rows of different length: bands along the heads.
  const std::vector<std::string> bands = {"-8", "-4", "-2", "0", "4", "8", "16"};
  EXPECT_EQ(derivedSpace("attention_causal", "sm_90a", {}).at("raster"), bands);
  EXPECT_EQ(derivedSpace("attention_causal", "gfx942", {}).at("raster"), space.at("raster"));
  // Teams take turns where there is something to do between two products.
  EXPECT_EQ(derivedSpace("attention_causal", "sm_90a", {}).at("turns"), (std::vector<std::string>{"off", "on"}));
  EXPECT_FALSE(space.contains("turns"));
  EXPECT_FALSE(derivedSpace("attention_causal", "gfx942", {}).contains("turns"));
}

TEST_F(TuneCli, OneTeamTakesNoTurns) {
  TuneCommand command;
  command.choice.kernel = "attention";
  command.choice.target = "sm_90a";
  std::ostringstream unheard;
  Resolved resolved = resolve(command.choice, unheard);
  auto turnsOf = [&](const std::string &waves, const std::string &product) {
    return settled({{"WAVES", waves}, {"mma", product}, {"turns", "on"}}, resolved).at("turns");
  };
  EXPECT_EQ(turnsOf("8", "F32_64xNx16_F16"), "on");
  EXPECT_EQ(turnsOf("4", "F32_64xNx16_F16"), "off");
  EXPECT_EQ(turnsOf("8", "default"), "off");
}

TEST_F(TuneCli, RolesAndWalksThatChangeNothingAreNotTriedTwice) {
  TuneCommand command;
  command.choice.kernel = "gemm";
  command.choice.target = "sm_90a";
  command.choice.sizes = {"M=1024", "N=2048", "K=4096"};
  std::ostringstream unheard;
  Resolved resolved = resolve(command.choice, unheard);
  tune::Assignment point = {
      {"BLOCK_M", "128"},     {"BLOCK_N", "128"},           {"WAVES_M", "1"},       {"WAVES_N", "1"},
      {"schedule", "ring"},   {"direct_copies", "off"},     {"cluster", "1"},       {"persistent", "100"},
      {"service_waves", "4"}, {"mma", "F32_64x128x16_F16"}, {"overlap_tiles", "on"}};
  auto with = [&](const std::string &name, const std::string &value) {
    tune::Assignment other = point;
    other[name] = value;
    tune::Assignment made = settled(other, resolved);
    return made["service_waves"] + " " + made["persistent"] + " " + made["overlap_tiles"];
  };
  EXPECT_EQ(with("cluster", "1"), "4 100 on"); // 128 tiles
  EXPECT_EQ(with("persistent", "132"), "4 0 off");
  EXPECT_EQ(with("BLOCK_N", "256"), "4 0 off");
  EXPECT_EQ(with("cluster", "2"), "0 0 off");
  EXPECT_EQ(with("mma", "default"), "0 100 off");
  EXPECT_EQ(with("schedule", "prefetch"), "0 100 off"); // without direct copies
  EXPECT_EQ(with("workgroups_per_cluster", "2"), "4 100 off");
  point["workgroups_per_cluster"] = "1x2";
  EXPECT_EQ(settled(point, resolved).at("workgroups_per_cluster"), "1x2");
  point["cluster"] = "2";
  EXPECT_EQ(settled(point, resolved).at("workgroups_per_cluster"), "1");
}

/// What the space has is what the compiler is asked for.
TEST_F(TuneCli, ClustersAreChoices) {
  KernelChoice choice;
  choice.kernel = "gemm";
  choice.target = "sm_90a";
  choice.sizes = {"M=256", "N=256", "K=512"};
  TuneJudge judge(choice);
  tune::Candidate candidate;
  candidate.choices = {{"workgroups_per_cluster", "1x2"}};
  EXPECT_EQ(judge.resolvedFor(candidate).options.workgroupsPerCluster, (std::vector<int64_t>{1, 2}));
}

/// Said as a space, judged, published, taken by `auto`.
TEST_F(TuneCli, RolesAndWalksAreTunedAndTakenByAuto) {
  unsetenv("SOLITON_TUNED");
  const std::vector<std::string> kernel = {"gemm", "--target", "sm_90a", "--size", "M=512,N=256,K=256"};
  std::vector<std::string> tuning = {"tune"};
  tuning.insert(tuning.end(), kernel.begin(), kernel.end());
  tuning.insert(tuning.end(), {"--workers",       "0",
                               "--database",      path("roles.db"),
                               "--space",         "persistent=2",
                               "--space",         "service_waves=4",
                               "--space",         "raster=-2",
                               "--set",           "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=8,WAVES_N=1",
                               "--mma",           "F32_64x128x16_F16",
                               "--direct-copies", "on",
                               "--staged-writes", "on",
                               "--schedule",      "ring",
                               "--budget",        "1",
                               "--moves",         "0",
                               "--json"});
  Said said = soliton(tuning);
  ASSERT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(said.parsed().at("best").at("choices").at("service_waves"), "4");
  EXPECT_EQ(said.parsed().at("best").at("choices").at("persistent"), "2");
  auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"compile"};
    words.insert(words.end(), kernel.begin(), kernel.end());
    words.insert(words.end(), {"--tuned", "modelled", "--explain", "auto"});
    words.insert(words.end(), more.begin(), more.end());
    return soliton(words).err;
  };
  EXPECT_NE(run({}).find("`auto` took a tuned result: run 1 of "), std::string::npos) << run({});
  EXPECT_NE(run({"--service-waves", "1"}).find("`service_waves = 1` was said, and it has `4`"), std::string::npos);
  EXPECT_NE(run({"--persistent", "3"}).find("`persistent = 3` was said, and it has `2`"), std::string::npos);
}

/// A workgroup that walks sixteen tiles takes sixteen times as long as one that has one.
TEST_F(TuneCli, TheModelCountsTilesThatAreWalked) {
  auto cycles = [&](std::vector<std::string> more) {
    std::vector<std::string> list = {"--space", "none",       "--budget", "1",     "--moves",
                                     "0",       "--schedule", "none",     "--json"};
    list.insert(list.end(), more.begin(), more.end());
    Said said = soliton(words(list));
    EXPECT_EQ(said.code, 0) << said.err;
    return said.parsed().at("best").at("cycles").get<int64_t>();
  };
  EXPECT_EQ(cycles({"--persistent", "1", "--set", "BLOCK_M=64,BLOCK_N=64"}),
            16 * cycles({"--set", "BLOCK_M=64,BLOCK_N=64"}));
}

/// Few tiles and a long loop: two workgroups that sum a tile together take about half as long.
TEST_F(TuneCli, TheModelCountsTheSharesOfAClusterThatSums) {
  auto cycles = [&](const std::string &cluster) {
    Said said = soliton({"tune",
                         "gemm",
                         "--target",
                         "sm_90a",
                         "--size",
                         "M=128,N=128,K=2048",
                         "--set",
                         "BLOCK_M=64,BLOCK_N=128,BLOCK_K=64,WAVES_M=4,WAVES_N=1",
                         "--mma",
                         "F32_64x128x16_F16",
                         "--direct-copies",
                         "on",
                         "--staged-writes",
                         "on",
                         "--schedule",
                         "ring",
                         "--space",
                         "cluster=" + cluster,
                         "--moves",
                         "0",
                         "--workers",
                         "0",
                         "--database",
                         path("cluster.db"),
                         "--json"});
    EXPECT_EQ(said.code, 0) << said.err;
    return said.parsed().at("best").at("cycles").get<double>();
  };
  double alone = cycles("1");
  EXPECT_NEAR(cycles("2"), alone / 2, alone / 8);
}

/// Sizes that the compiler does not know are those of the launch to the model, as `--size` says them; or one iteration
/// would be compared with one of another length.
TEST_F(TuneCli, SizesOfTheLaunchAreTuned) {
  auto best = [&](std::vector<std::string> more) {
    std::vector<std::string> list = with({"--moves", "0", "--json"});
    list.insert(list.end(), more.begin(), more.end());
    Said said = soliton(words(list));
    EXPECT_EQ(said.code, 0) << said.err;
    return said.parsed().at("best");
  };
  nlohmann::json fixed = best({}), dynamic = best({"--dynamic", "M,N,K"});
  EXPECT_EQ(dynamic.at("choices"), fixed.at("choices"));
  EXPECT_NEAR(dynamic.at("modelled_us").get<double>(), fixed.at("modelled_us").get<double>(),
              fixed.at("modelled_us").get<double>() / 2);
}

/// `auto` takes a result for all sizes of a launch, and says at which it was found; at others times are others.
TEST_F(TuneCli, AResultForSizesOfTheLaunchSaysWhichItWasFoundAt) {
  unsetenv("SOLITON_TUNED");
  auto tuned = [&](const std::string &sizes) {
    Said said = soliton({"tune", "gemm", "--target", "gfx942", "--size", sizes, "--dynamic", "M,N,K", "--workers", "0",
                         "--database", path("dynamic.db"), "--space", "schedule=modulo", "--moves", "0", "--json"});
    EXPECT_EQ(said.code, 0) << said.err;
    return said.parsed().at("auto").get<std::string>();
  };
  auto taken = [&] {
    return soliton({"compile", "gemm", "--target", "gfx942", "--dynamic", "M,N,K", "--tuned", "modelled", "--explain",
                    "auto", "--emit", "wave", "-o", path("gemm.mlir")})
        .err;
  };
  tuned("M=128,N=128,K=128");
  EXPECT_NE(taken().find(" us modelled at M=128,N=128,K=128, "), std::string::npos) << taken();
  EXPECT_EQ(tuned("M=1024,N=1024,K=1024").find("keeps"), std::string::npos);
  EXPECT_NE(taken().find(" us modelled at M=1024,N=1024,K=1024, "), std::string::npos) << taken();
}

/// A small launch of a candidate for a whole chip has one workgroup that walks, or nobody would have seen one walk.
TEST_F(TuneCli, AnswersAreThoseOfWorkgroupsThatWalk) {
  KernelChoice choice;
  choice.kernel = "gemm";
  choice.target = "sm_90a";
  choice.schedule = "none";
  TuneJudge judge(choice);
  const tune::Candidate candidate{{{"persistent", "132"}}, ""};
  const kernels::Sizes small = {{"M", 128}, {"N", 64}, {"K", 64}};
  EXPECT_EQ(judge.resolvedFor(candidate).options.persistent, 132);
  EXPECT_EQ(judge.resolvedFor(candidate, &small).options.persistent, 1);
  EXPECT_FALSE(judge.judge(candidate, {tune::Stage::Answer, nullptr, {}}).isRefused());
}

/// What is no choice of the space decides as much: results with other tiles are results of others.
TEST_F(TuneCli, WhatWasSaidBesideTheSpaceTellsResultsApart) {
  auto known = [&](const std::string &tile) {
    Said said =
        soliton(words({"--space", "schedule=none,prefetch", "--budget", "2", "--moves", "0", "--json", "--set", tile}));
    EXPECT_EQ(said.code, 0) << said.err;
    return said.parsed().at("known").get<int64_t>();
  };
  EXPECT_EQ(known("BLOCK_M=32"), 0);
  EXPECT_EQ(known("BLOCK_M=64"), 0);
  EXPECT_EQ(known("BLOCK_M=32"), 2);
}

TEST_F(TuneCli, ConditionsHold) {
  Said said = soliton(words({"--space", "BLOCK_M=32,64,128", "--space", "BLOCK_N=32,64,128", "--where",
                             "BLOCK_M*BLOCK_N - 4096 == 0", "--moves", "0", "--budget", "9", "--json"}));
  ASSERT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(said.parsed().at("tried"), 3);
}

TEST_F(TuneCli, MistakesAreSaid) {
  auto expect = [&](const std::vector<std::string> &arguments, const std::string &id,
                    const std::vector<std::string> &more) {
    Said said = soliton(arguments);
    EXPECT_EQ(said.code, 2) << said.out;
    EXPECT_NE(said.err.find("[" + id + "]"), std::string::npos) << id << " in\n" << said.err;
    EXPECT_NE(said.err.find("\n  hint: "), std::string::npos) << said.err;
    for (const std::string &word : more)
      EXPECT_NE(said.err.find(word), std::string::npos) << word << " in\n" << said.err;
    std::vector<std::string> asked = arguments;
    asked.push_back("--json");
    nlohmann::json machine = soliton(asked).parsed();
    EXPECT_EQ(machine.at("ok"), false);
    EXPECT_EQ(machine.at("diagnostics")[0].at("id"), id);
  };
  expect(words({"--strategy", "hillclimbing"}), "tune-strategy", {"unknown strategy", "did you mean `hill_climbing`"});
  expect(words({"--space", "BLOCK_M"}), "tune-space", {"--space BLOCK_M", "NAME=VALUE"});
  expect(words({"--space", "BLOCK_M="}), "tune-space", {"has no values"});
  expect(words({"--space", "BLOCK_M=32", "--space", "BLOCK_M=64"}), "tune-space", {"`BLOCK_M` twice"});
  expect(words(with({"--where", "BLOCK_M > 64"})), "tune-space", {"meets its conditions", "4 combinations"});
  expect(words(with({"--where", "BLOCK_M <"})), "tune-where", {"--where", "formula"});
  expect(words(with({"--where", "NOTHING > 2"})), "tune-where", {"--where", "NOTHING"});
  expect(words(with({"--resume"})), "tune-resume", {"--resume", "expected a run of these settings"});
  auto workers = [&](const std::string &said) {
    return std::vector<std::string>{"tune", "gemm", "--workers", said, "--database", path("tuning.db")};
  };
  expect(workers("many"), "tune-workers", {"`--workers many`", "`local:N`"});
  expect(workers("local:300"), "tune-workers", {"up to 256"});
  expect({"tune", "best", "nobody", "--database", path("tuning.db")}, "tune-run", {"no run `nobody`"});
  expect({"tune", "import", "--database", path("tuning.db")}, "tune-import", {"without a file"});
  expect({"tune", "import", path("nothing"), "--database", path("tuning.db")}, "tune-import",
         {path("nothing") + ":1:1"});
  expect({"tune", "import", ::testing::TempDir(), "--database", path("tuning.db")}, "tune-import", {"can't be read"});
  for (const char *action : {"list", "show", "best", "export", "verify"})
    expect({"tune", action, "--database", path("mispelled.db")}, "tune-database", {"there is no such file"});
  EXPECT_FALSE(std::filesystem::exists(path("mispelled.db")));
  write("lines", "{}\n");
  expect({"tune", "import", path("lines"), "--database", path("tuning.db")}, "tune-import", {path("lines") + ":1:1: "});
  write("text.db", std::string(200, 'x'));
  expect({"tune", "list", "--database", path("text.db")}, "tune-database",
         {path("text.db") + ":1:1: ", "expected a file that `soliton tune` wrote"});
}

/// What no candidate could have, or what would pass for another, is said before anything is tried.
TEST_F(TuneCli, ASpaceHasOnlyWhatTheKernelTakes) {
  auto expect = [&](std::vector<std::string> more, const std::string &id, const std::vector<std::string> &parts) {
    more.insert(more.end(), {"--moves", "0", "--budget", "2"});
    Said said = soliton(words(more));
    EXPECT_EQ(said.code, 2) << said.out;
    EXPECT_NE(said.err.find("[" + id + "]\n  hint: "), std::string::npos) << said.err;
    for (const std::string &part : parts)
      EXPECT_NE(said.err.find(part), std::string::npos) << part << " in\n" << said.err;
  };
  expect({"--space", "BLOK_M=32,64"}, "tune-space", {"`BLOK_M` as a choice of `gemm`", "did you mean `BLOCK_M`"});
  expect({"--space", "M=64,128"}, "tune-space", {"it is a size of `gemm`"});
  for (const std::string said :
       {"BLOCK_M=abc", "BLOCK_M=0,32", "raster=abc", "raster=70000", "cluster=2x", "cluster=0", "persistent=many",
        "service_waves=9", "direct_copies=maybe", "swizzle=perhaps", "padded_rows=x", "mma=F32_16x16x16",
        "workgroups_per_cluster=two", "workgroups_per_cluster=1x99", "schedule=modul"})
    expect({"--space", said}, "tune-space", {"as a value of `" + said.substr(0, said.find('=')) + "`"});
  expect({"--space", "schedule=modul"}, "tune-space", {"did you mean `modulo`"});
  // Both cannot hold.
  expect({"--space", "BLOCK_M=64,128", "--set", "BLOCK_M=32"}, "tune-space", {"`BLOCK_M = 32` was said beside"});
  expect({"--space", "schedule=none,modulo", "--schedule", "prefetch"}, "tune-space", {"`schedule = prefetch`"});
  expect({"--space", "direct_copies=off", "--direct-copies", "on"}, "tune-space", {"`direct_copies = on`"});
  EXPECT_FALSE(std::filesystem::exists(path("tuning.db")));
  // A formula that has no value for one of the combinations only.
  expect({"--space", "BLOCK_M=32,64", "--where", "64 / (BLOCK_M - 64) < 0"}, "tune-where", {"divides by 0"});
}

/// The text of a module has no symbols to choose, and says its target itself; options of the compiler are choices.
TEST_F(TuneCli, AModuleIsTunedByOptions) {
  const std::string module = write("gemm.mlir", R"mlir(wave.kernel @gemm attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"32">, workgroupDim = 0>,
                   #wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 1>, #wave.tiling<dim = "K", tile = <"32">>,
                   #wave.wave<dim = "M", tile = <"16">>, #wave.hardware<>],
    subs = {M = 64 : i64, N = 64 : i64, K = 128 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["N", "K"], f16, shared>,
     %c: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %1 = wave.iterate "K" (%0) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb0(%acc: !wave.tile<[M, N], f32>):
    %2 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %3 = wave.read %b : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    %4 = wave.mma %2, %3, %acc : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %4 : !wave.tile<[M, N], f32>
  }
  wave.write %1, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
)mlir");
  auto tuned = [&](const std::string &space) {
    return soliton({"tune", module, "--workers", "0", "--database", path("module.db"), "--moves", "0", "--space", space,
                    "--json"});
  };
  Said said = tuned("schedule=none,modulo");
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.parsed().at("tried"), 2);
  EXPECT_TRUE(said.parsed().at("rejected").empty()) << said.out;
  EXPECT_EQ(tuned("mma=default,F32_32x32x8_F16").code, 0);
  for (const char *space : {"BLOCK_M=32,64", "raster=abc", "mma=nonsense"})
    EXPECT_NE(tuned(space).err.find("[tune-space]"), std::string::npos) << space;
}

/// A search begins with what was said, also where the space is derived.
TEST_F(TuneCli, ASearchStartsFromWhatWasSaid) {
  KernelChoice choice;
  choice.kernel = "gemm";
  choice.target = "sm_90a";
  choice.sizes = {"M=4096", "N=4096", "K=4096"};
  choice.schedule = "four_stage";
  choice.settings = {"BLOCK_K=96"};
  choice.mma = "F32_64x24x16_F16"; // too narrow to be derived
  choice.directCopies = "on";
  choice.stagedWrites = "on";
  choice.persistent = 66;
  std::ostringstream unheard;
  Resolved resolved = resolve(choice, unheard);
  TuneCommand command;
  command.choice = choice;
  tune::Assignment start = startOf(makeSpace(command, resolved), choice, resolved);
  const tune::Assignment wanted = {{"BLOCK_K", "96"},       {"schedule", "four_stage"}, {"mma", "F32_64x24x16_F16"},
                                   {"direct_copies", "on"}, {"staged_writes", "on"},    {"persistent", "66"}};
  for (const auto &[name, value] : wanted)
    EXPECT_EQ(start[name], value) << name;
}

/// Who judges in another process is told all that decides what a candidate is.
TEST_F(TuneCli, WorkersCompileWhatTheCommandSays) {
  TuneCommand command;
  KernelChoice &choice = command.choice;
  choice.kernel = "gemm";
  choice.dtype = "f16";
  choice.sizes = {"M=256"};
  choice.settings = {"BLOCK_M=64"};
  choice.dynamic = {"N"};
  choice.directCopies = choice.stagedWrites = choice.boxedWrites = choice.shortSums = choice.dependentLaunch =
      choice.overlapTiles = choice.turns = choice.swizzle = choice.paddedRows = "off";
  choice.raster = choice.cluster = choice.persistent = choice.workgroupsPerUnit = 2;
  choice.serviceWaves = 0;
  choice.workgroupsPerCluster = {1, 2};
  choice.stable = {"b"};
  choice.mma = "F32_64x128x16_F16";
  choice.faithful = choice.wideOffsets = true;
  choice.waive = "a reason";
  std::vector<std::string> told = workerCommand(command);
  // Every option that says how a kernel is compiled, but for what is about output, and about `auto`.
  const std::set<std::string> beside = {"--json", "--tuned", "--emit", "--aot", "--print-after", "--explain", "--time"};
  std::istringstream help(soliton({"compile", "--help"}).out);
  size_t asked = 0;
  for (std::string row; std::getline(help, row);) {
    std::string option = row.starts_with("  --") ? row.substr(2, row.find(' ', 2) - 2) : "";
    if (option.empty() || beside.contains(option))
      continue;
    ++asked;
    EXPECT_NE(std::ranges::find(told, option), told.end()) << option;
  }
  EXPECT_GT(asked, 20U);
}

/// A folder that is not there is said before the search, not behind it.
TEST_F(TuneCli, WhereNothingCanBeWrittenNothingIsTried) {
  for (const char *option : {"-o", "--html"}) {
    Said said = soliton(words(with({option, path("missing/file")})));
    EXPECT_EQ(said.code, 2);
    EXPECT_NE(said.err.find("cannot write `" + path("missing/file") + "`"), std::string::npos) << said.err;
    EXPECT_EQ(said.err.find("candidates"), std::string::npos) << said.err;
  }
}

/// What a worker writes may be anything.
TEST_F(TuneCli, AnAnswerIsNoneUnlessItIsOne) {
  const std::string right = R"({"hash":"3f","result":)" + toJson(tune::Result::refused("model", "no loop")) + "}";
  EXPECT_TRUE(resultIn(right, "3f"));
  EXPECT_FALSE(resultIn(right, "4f"));
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string &text : {deep, R"({"hash":"3f","result":)" + deep + "}", std::string(R"({"hash":["3f"]})"),
                                  std::string(R"({"hash":"3f"})"), std::string("\xff")})
    EXPECT_FALSE(resultIn(text, "3f")) << text.substr(0, 40);
}

/// A Python without Ray, and something that is no Python.
TEST_F(TuneCli, WithoutRayThatIsSaid) {
  std::vector<std::string> asked = {"tune", "gemm", "--workers", "ray://auto", "--database", path("tuning.db")};
  auto expect = [&](const std::string &python, const std::string &message) {
    setenv("SOLITON_PYTHON", python.c_str(), 1);
    Said said = soliton(asked);
    unsetenv("SOLITON_PYTHON");
    EXPECT_EQ(said.code, 2);
    EXPECT_NE(said.err.find("[tune-ray]"), std::string::npos) << said.err;
    EXPECT_NE(said.err.find(message), std::string::npos) << said.err;
    EXPECT_NE(said.err.find("hint: `python3 -m pip install ray`"), std::string::npos) << said.err;
  };
  expect("/no/such/python", "exit code 127");
  // An isolated Python has nothing that somebody installed for this one.
  std::string isolated = write("python", "#!/bin/sh\nshift\nexec /usr/bin/env python3 -I -S -c \"$@\"\n");
  std::filesystem::permissions(isolated, std::filesystem::perms::owner_all);
  expect(isolated, "Ray is not installed");
  expect(write("no-python", "text"), "exit code 127");
}

/// Cluster devices are others than this machine's, so nobody knows their chip here.
TEST_F(TuneCli, DevicesOfAClusterNeedATarget) {
  Said said = soliton({"tune", "gemm", "--workers", "ray://auto", "--device", "cuda", "--database", path("tuning.db")});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("without `--target`"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("[tune-ray]"), std::string::npos) << said.err;
}

/// What a run leaves for `auto`: taken on the device that measured it, unless that is forbidden.
TEST_F(TuneCli, AutoTakesWhatWasMeasured) {
  unsetenv("SOLITON_TUNED");
  const std::vector<std::string> kernel = {"gemm", "--target", "gfx942", "--size", "M=64,N=128,K=128"};
  auto run = [&](const std::string &command, std::vector<std::string> more) {
    more.insert(more.begin(), kernel.begin(), kernel.end());
    more.insert(more.begin(), command);
    more.push_back("--json");
    return soliton(more);
  };
  std::vector<std::string> tune = {"--workers", "0",        "--database", path("auto.db"), "--moves",
                                   "0",         "--budget", "2",          "--space",       "schedule=prefetch,modulo"};
  std::vector<std::string> measured = tune;
  measured.insert(measured.end(), {"--device", "emulator"});
  Said said = run("tune", tune);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.parsed().at("auto").get<std::string>().find("takes it where `--tuned modelled`"), std::string::npos);
  auto remarks = [&](const std::vector<std::string> &more) { return run("run", more).out; };
  EXPECT_EQ(remarks({}).find("a tuned result"), std::string::npos);
  EXPECT_NE(remarks({"--tuned", "modelled"}).find("took a tuned result: run 1 of "), std::string::npos);
  said = run("tune", measured);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.parsed().at("auto").get<std::string>().find("takes it from now on"), std::string::npos) << said.out;
  EXPECT_NE(remarks({}).find("us measured with warm caches on "), std::string::npos) << remarks({});
  EXPECT_EQ(remarks({"--tuned", "off"}).find("a tuned result"), std::string::npos);
  EXPECT_EQ(remarks({"--schedule", "modulo"}).find("a tuned result"), std::string::npos);
}

/// Where a table chooses tiles, a winner has to beat that choice before `auto` takes it; elsewhere there is nothing to
/// beat.
TEST_F(TuneCli, WhatAutoWouldTakeIsACandidate) {
  KernelChoice choice;
  choice.kernel = "gemm";
  choice.target = "sm_90a";
  choice.sizes = {"M=4096", "N=4096", "K=4096"};
  choice.settings = {"BLOCK_M=64"}; // of a poor start: not what `auto` is asked with
  choice.schedule = "none";
  std::optional<tune::Candidate> own = choiceOfAuto(choice);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->choices.at("schedule"), "ring");
  EXPECT_EQ(own->choices.at("BLOCK_M"), "128");
  KernelChoice resolvedAs = chosen(choice, *own);
  std::ostringstream unheard;
  EXPECT_EQ(resolve(resolvedAs, unheard).options.mma, own->choices.at("mma"));
  choice.target = "gfx942";
  EXPECT_FALSE(choiceOfAuto(choice));
}

} // namespace
} // namespace soliton::cli
