//===- SolitonGenerate.cpp - Random kernels judge the compiler, from the command line -----------===//
//
//   SolitonGenerate --seeds 0..20000 --jobs 2 --resume soak.txt      a campaign that can be stopped and goes on
//   SolitonGenerate --seeds 0..200 --only loop,type.f16 --keep DIR   some features; failures are shrunk into DIR
//   SolitonGenerate --print 17 --target gfx942                       the kernel of a seed
//
//   SolitonGenerate --seeds 0..2000 --gpu cuda                       code for sm_90a runs on the GPU too
//   SolitonGenerate --seeds 0..20000 --refused-percent 3 --kernels-per-pair 20      what `make soak` asks for
//   SolitonGenerate --seeds 800000..802000 --parse-only              what occurs in them, compiling nothing
//
// Exits 1 if a kernel failed, or the campaign does not meet what is asked for.
//
//===----------------------------------------------------------------------===//
#include "test/generate/Campaign.h"
#include "test/generate/Shrink.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

using namespace soliton::generate;

namespace {
constexpr const char *kUsage =
    "usage: SolitonGenerate [--seeds A..B] [--seeds-file FILE]... [--jobs N] [--limit SECONDS] [--json] [--resume "
    "FILE]\n"
    "                       [--keep DIR] [--without FEATURE,...] [--only FEATURE,...] [--target NAME] [--no-binaries]\n"
    "                       [--library-every N] [--passes-every N] [--quiet] [--list] [--print SEED] [--judge SEED]\n"
    "                       [--refused-percent P] [--kernels-per-pair N] [--gpu DEVICE] [--parse-only]\n";

struct Arguments {
  CampaignOptions options;
  Measures measures;
  bool json = false, quiet = false, list = false;
  std::string keep;
  std::optional<uint64_t> print, judge;
};

std::vector<std::string> listOf(const std::string &text) {
  std::vector<std::string> list;
  std::istringstream stream(text);
  for (std::string each; std::getline(stream, each, ',');)
    list.push_back(each);
  return list;
}

/// Seeds that found something, one a line: `17  what it found`.
std::vector<uint64_t> seedsIn(const std::string &name) {
  std::ifstream file(name);
  if (!file)
    throw std::invalid_argument(name);
  std::vector<uint64_t> seeds;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      seeds.push_back(std::stoull(line));
  return seeds;
}

/// `0..200,50000..50060`
bool parseRanges(const std::string &text, CampaignOptions &options) {
  options.seeds.clear();
  for (const std::string &range : listOf(text)) {
    size_t dots = range.find("..");
    if (dots == std::string::npos)
      return false;
    options.seeds.push_back({std::stoull(range.substr(0, dots)), std::stoull(range.substr(dots + 2))});
    if (options.seeds.back().begin > options.seeds.back().end)
      return false;
  }
  return true;
}

bool parseFlag(const std::string &name, Arguments &arguments) {
  if (name == "--json")
    return arguments.json = true;
  if (name == "--quiet")
    return arguments.quiet = true;
  if (name == "--list")
    return arguments.list = true;
  if (name == "--no-binaries")
    return !(arguments.options.judge.binaries = false);
  if (name == "--parse-only")
    return arguments.options.judge.parseOnly = true;
  return false;
}

bool parseOption(const std::string &name, const std::string &value, Arguments &arguments) {
  CampaignOptions &options = arguments.options;
  if (name == "--seeds")
    return parseRanges(value, options);
  if (name == "--seeds-file")
    std::ranges::copy(seedsIn(value), std::back_inserter(options.seedsFirst));
  else if (name == "--jobs")
    options.jobs = std::stoi(value);
  else if (name == "--limit")
    options.limit = std::stoi(value);
  else if (name == "--resume")
    options.resume = value;
  else if (name == "--keep")
    arguments.keep = value;
  else if (name == "--without")
    options.random.without = listOf(value);
  else if (name == "--only")
    options.random.only = listOf(value);
  else if (name == "--target")
    options.judge.targets = listOf(value);
  else if (name == "--gpu")
    options.judge.gpu = value;
  else if (name == "--library-every")
    options.libraryEvery = std::stoull(value);
  else if (name == "--passes-every")
    options.passesEvery = std::stoull(value);
  else if (name == "--refused-percent")
    arguments.measures.refusedPercent = std::stod(value);
  else if (name == "--kernels-per-pair")
    arguments.measures.kernelsPerPair = std::stoi(value);
  else if (name == "--print")
    arguments.print = std::stoull(value);
  else if (name == "--judge")
    arguments.judge = std::stoull(value);
  else
    return false;
  return true;
}

bool parse(int argc, char **argv, Arguments &arguments) {
  try {
    for (int i = 1; i < argc; ++i) {
      if (parseFlag(argv[i], arguments))
        continue;
      if (i + 1 == argc || !parseOption(argv[i], argv[i + 1], arguments))
        return false;
      ++i;
    }
  } catch (const std::exception &) {
    return false;
  }
  return true;
}

/// What the text of a kernel does not say.
std::string howCompiled(const Program &program) {
  std::string said = "// schedule " + program.schedule + (program.directCopies ? ", direct copies" : "") + "; sizes";
  for (const Dim &dim : program.dims)
    said += " " + dim.name + " = " + std::to_string(dim.size) + (dim.dynamic ? " (dynamic)" : "");
  return said + "\n";
}

/// The smallest kernel that fails in the same way, as a file that says how.
void keep(const SeedResult &failure, const Arguments &arguments) {
  const CampaignOptions &options = arguments.options;
  JudgeOptions judging = options.judge;
  const Verdict &found = failure.verdict;
  if (!found.target.empty())
    judging.targets = {found.target};
  judging.everyPass = found.kind == "pass-changed-meaning";
  Program program = randomProgram(failure.seed, options.random);
  if (found.kind == "crash" || found.kind == "hang")
    for (const std::string &target : program.targets) { // which one was it?
      JudgeOptions one = judging;
      one.targets = {target};
      if (judgeApart(program, one, options.limit).kind == found.kind) {
        judging.targets = {target};
        break;
      }
    }
  Verdict last = judgeApart(program, judging, options.limit);
  std::string signature = signatureOf(last);
  int limit = found.kind == "hang" ? options.limit : 20;
  Program small = shrink(program, [&](const Program &candidate) {
    Verdict verdict = judgeApart(candidate, judging, limit);
    if (verdict.outcome != found.outcome || signatureOf(verdict) != signature)
      return false;
    last = verdict;
    return true;
  });
  std::string target = judging.targets.empty() ? small.targets.front() : judging.targets.front();
  std::string kind = found.kind;
  std::ranges::replace(kind, ':', '-');
  std::string name = arguments.keep + "/gen-" + kind + "-" + std::to_string(failure.seed) + ".mlir";
  std::ofstream file(name);
  file << "// seed " << failure.seed << ", " << target << ": " << found.kind << "\n";
  std::istringstream lines(last.message);
  for (std::string line; std::getline(lines, line);)
    file << "//   " << line << "\n";
  file << howCompiled(small) << print(small, target);
  std::cerr << "kept " << name << "\n";
}

int judgeOne(const Arguments &arguments) {
  reportCrashes();
  JudgeOptions judging = arguments.options.judge;
  judging.everyPass = true;
  Verdict verdict = judge(randomProgram(*arguments.judge, arguments.options.random), judging);
  std::cout << (verdict.outcome == Outcome::accepted ? "accepted"
                                                     : verdict.kind + " " + verdict.target + "\n" + verdict.message)
            << "\n";
  return verdict.outcome == Outcome::failed;
}
} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::cerr << kUsage;
    return 2;
  }
  if (arguments.print) {
    Program program = randomProgram(*arguments.print, arguments.options.random);
    const std::vector<std::string> &targets = arguments.options.judge.targets;
    std::cout << howCompiled(program) << print(program, targets.empty() ? program.targets.front() : targets.front());
    return 0;
  }
  if (arguments.judge)
    return judgeOne(arguments);
  if (!arguments.quiet)
    arguments.options.progress = [](const std::string &line) { std::cerr << line << "\n"; };
  Campaign campaign = run(arguments.options);
  std::set<std::string> kept;
  for (const SeedResult &each : campaign.results)
    if (each.verdict.outcome != Outcome::accepted && !arguments.keep.empty() && !each.features.contains("library") &&
        kept.insert(signatureOf(each.verdict)).second)
      keep(each, arguments);
  if (arguments.list)
    for (const SeedResult &each : campaign.results)
      if (each.verdict.outcome != Outcome::accepted)
        std::cout << (each.verdict.outcome == Outcome::failed ? "failed: " : "refused: ") << "seed " << each.seed
                  << ": " << signatureOf(each.verdict) << "\n";
  std::cout << (arguments.json ? json(campaign) : table(campaign));
  std::cout << campaign.count(Outcome::accepted) << " passed, " << campaign.count(Outcome::failed) << " failed, "
            << campaign.count(Outcome::refused) << " skipped\n";
  std::vector<std::string> lacking = shortcomings(campaign, arguments.measures);
  for (const std::string &each : lacking)
    std::cout << "short: " << each << "\n";
  return campaign.count(Outcome::failed) != 0 || !lacking.empty();
}
