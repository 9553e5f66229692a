//===- Campaign.h - Many attempts, counted -----------------------------------------===//
//
//   Campaign campaign = run({.mutants = 400, .goods = 400, .seed = 1});
//   std::cout << table(campaign);
//
//   kind          mutants  unbuildable  harmful  verifier  emulator  complete  missed
//   drop-barrier      200            0      113       113       113       113       0
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/attack/Attack.h"

#include <functional>
#include <map>

namespace soliton::attack {

struct CampaignOptions {
  /// Mutants of each kind that are built.
  int mutants = 400;
  /// Stop a kind where this many harmful ones were found; 0: never.
  int harmful = 0;
  int goods = 400;
  uint32_t seed = 1;
  /// Only these kinds; empty: all.
  std::vector<sched::Mutation> kinds = {};
  /// Host threads.
  int threads = 2;
  /// Called after each kind and at the end, with something to print.
  std::function<void(const std::string &)> progress = {};
};

struct Tally {
  int mutants = 0, unbuildable = 0, harmful = 0, verifier = 0, emulator = 0, complete = 0, missed = 0;
  /// Bases that were broken.
  int bases = 0;
  Tally &operator+=(const Tally &other);
};

struct Campaign {
  std::map<sched::Mutation, Tally> tallies;
  /// What nobody noticed, what was noticed without both ops, both lines and a fix, and what only the emulator saw.
  std::vector<Attempt> missed, incomplete, unproven;
  /// The first harmful one of each kind.
  std::map<sched::Mutation, Attempt> examples;
  int goods = 0, notApplicable = 0;
  std::map<Origin, int> origins;
  std::map<std::string, int> reasons;
  std::vector<Good> falseAlarms;

  Tally total() const;
};

Campaign run(const CampaignOptions &options);

/// For people, and as one JSON object.
std::string table(const Campaign &campaign);
std::string json(const Campaign &campaign);

} // namespace soliton::attack
