//===- Campaign.h - Many seeds, and what became of them ----------------------------------------===//
//
// Seeds are judged in batches by child processes, so that a crash or a hang of the compiler is a verdict about one seed
// and not the end. What was judged is appended to a file, from which a campaign goes on where it stopped.
//
//   Campaign campaign = run({.first = 0, .last = 20000, .jobs = 2, .resume = "soak.txt"});
//   std::cout << table(campaign);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Judge.h"
#include "test/generate/Random.h"

#include <map>

namespace soliton::generate {

/// Seeds from `begin` on, without `end`.
struct SeedRange {
  uint64_t begin = 0, end = 0;
};

struct CampaignOptions {
  std::vector<SeedRange> seeds = {{0, 100}};
  /// Judged before those.
  std::vector<uint64_t> seedsFirst = {};
  int jobs = 1;
  /// Seconds of a processor that one seed may take.
  int limit = 60;
  RandomOptions random = {};
  JudgeOptions judge = {};
  /// One seed in so many is a kernel of the library; 0: none.
  uint64_t libraryEvery = 25;
  /// One in so many is judged after every pass.
  uint64_t passesEvery = 10;
  std::string resume = {};
  std::function<void(const std::string &)> progress = {};
};

struct SeedResult {
  uint64_t seed = 0;
  Verdict verdict;
  std::set<std::string> features;
};

/// Two features, and how many accepted kernels have both.
struct PairCount {
  std::string a, b;
  int accepted = 0;
  /// Why none can, if so.
  std::string never;
};

struct Campaign {
  std::vector<SeedResult> results;

  size_t count(Outcome outcome) const;
  /// All pairs of features (Coverage.h).
  std::vector<PairCount> pairs() const;
};

/// What a campaign has to meet.
struct Measures {
  double refusedPercent = 100;
  int kernelsPerPair = 0;
};
/// In what it does not; empty where it meets all.
std::vector<std::string> shortcomings(const Campaign &campaign, const Measures &measures);

Campaign run(const CampaignOptions &options);

/// What was generated, accepted, refused by id, failed by kind; pairs of features that are rare.
std::string table(const Campaign &campaign);
std::string json(const Campaign &campaign);

/// The verdict about a program from a process of its own.
Verdict judgeApart(const Program &program, const JudgeOptions &options, int limitSeconds);

/// What failures have in common: kind, target and message without numbers.
std::string signatureOf(const Verdict &verdict);

} // namespace soliton::generate
