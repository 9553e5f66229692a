//===- SolitonAttack.cpp - Proof by attack, from the command line ------------------===//
//
//   SolitonAttack                         the whole campaign (bench/results/attack.md)
//   SolitonAttack --mutants 20 --json     a short one, for machines
//   SolitonAttack --kind drop-wait -v     one kind, with what is incomplete
//   SolitonAttack --whole 40              the synchronisation of whole kernels, 40 generated ones among them
//
// Exits 1 if a harmful mutant is missed more often than the bar allows, or a good schedule raises an alarm.
//
//===----------------------------------------------------------------------===//
#include "test/attack/Campaign.h"
#include "test/attack/WholeAttack.h"

#include <charconv>
#include <cstring>
#include <iostream>

using namespace soliton;
using namespace soliton::attack;

namespace {
constexpr const char *kUsage = "usage: SolitonAttack [--mutants N] [--harmful N] [--good N] [--seed N] [--threads N] "
                               "[--kind NAME] [--whole SEEDS] [--json] [--examples] [-v]\n";

/// Of harmful mutants, those that may be missed: one in a hundred.
constexpr int kMissedOneIn = 100;

struct Arguments {
  CampaignOptions options;
  bool json = false, verbose = false, examples = false;
  /// Generated kernels among the whole ones; below 0: loops under schedules instead.
  int whole = -1;
};

bool parseNumber(const char *text, int &to) {
  const char *end = text + std::strlen(text);
  auto [at, error] = std::from_chars(text, end, to);
  return error == std::errc() && at == end && to >= 0;
}

bool parseKind(std::string_view text, CampaignOptions &options) {
  for (sched::Mutation kind : sched::allMutations())
    if (nameOf(kind) == text)
      return options.kinds.push_back(kind), true;
  return false;
}

bool parse(int argc, char **argv, Arguments &arguments) {
  int seed = static_cast<int>(arguments.options.seed);
  const std::map<std::string_view, int *> numbers = {{"--mutants", &arguments.options.mutants},
                                                     {"--harmful", &arguments.options.harmful},
                                                     {"--good", &arguments.options.goods},
                                                     {"--threads", &arguments.options.threads},
                                                     {"--whole", &arguments.whole},
                                                     {"--seed", &seed}};
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    if (name == "--json")
      arguments.json = true;
    else if (name == "-v")
      arguments.verbose = true;
    else if (name == "--examples")
      arguments.examples = true;
    else if (i + 1 == argc)
      return false;
    else if (name == "--kind" ? !parseKind(argv[++i], arguments.options)
                              : !numbers.contains(name) || !parseNumber(argv[++i], *numbers.at(name)))
      return false;
  }
  arguments.options.seed = static_cast<uint32_t>(seed);
  return true;
}

void print(const char *title, const std::vector<Attempt> &list) {
  for (const Attempt &attempt : list)
    std::cerr << title << " " << nameOf(attempt.kind) << ": " << attempt.base << ": " << attempt.what << " (seed "
              << attempt.seed << ": " << attempt.harm << ")\n"
              << attempt.report;
}
} // namespace

/// Breaks every whole kernel in every way; counts by kind, and prints what was missed.
int attackAll(const Arguments &arguments) {
  std::map<Harm, WholeTally> tallies;
  int victims = 0, refused = 0;
  for (const WholeSetting &setting : wholeSettings(arguments.whole)) {
    std::string why;
    std::unique_ptr<Victim> victim = makeVictim(setting, why);
    ++(victim ? victims : refused);
    if (!victim && arguments.verbose)
      std::cerr << "not compiled: " << setting.text() << ": " << why << "\n";
    for (Harm harm : victim ? allHarms() : std::vector<Harm>())
      tallies[harm] += attackWhole(*victim, harm, {arguments.options.seed, arguments.options.mutants});
    if (victim && arguments.verbose)
      std::cerr << setting.text() << "\n";
  }
  bool missed = false;
  std::cout
      << victims << " kernels, " << refused << " more did not compile\n\n"
      << "| harm | mutants | refused by the verifier | of those, objected to by the emulator | accepted | accepted and "
         "wrong |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const auto &[harm, tally] : tallies) {
    std::cout << "| " << nameOf(harm) << " | " << tally.mutants << " | " << tally.refused << " | " << tally.confirmed
              << " | " << tally.accepted << " | " << tally.missed.size() << " |\n";
    for (const std::string &text : tally.missed)
      std::cerr << "missed " << text << "\n";
    missed |= !tally.missed.empty();
  }
  return missed;
}

int main(int argc, char **argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::cerr << kUsage;
    return 2;
  }
  if (arguments.whole >= 0)
    return attackAll(arguments);
  if (arguments.verbose)
    arguments.options.progress = [](const std::string &line) { std::cerr << line << std::flush; };
  Campaign campaign = run(arguments.options);
  print("missed", campaign.missed);
  if (arguments.verbose) {
    print("incomplete", campaign.incomplete);
    print("only the emulator reports", campaign.unproven);
    for (const auto &[reason, count] : campaign.reasons)
      std::cerr << "not applicable, " << count << " times: " << reason << "\n";
  }
  for (const Good &good : campaign.falseAlarms)
    std::cerr << "false alarm: " << good.name << "\n" << good.alarm << "\n";
  std::cout << (arguments.json ? json(campaign) : table(campaign));
  for (const auto &[kind, attempt] : campaign.examples)
    if (arguments.examples)
      std::cout << "\n"
                << nameOf(kind) << ": " << attempt.base << "\n  " << attempt.what << "; seed " << attempt.seed << ": "
                << attempt.harm << "\n"
                << attempt.report;
  Tally sum = campaign.total();
  return sum.missed * kMissedOneIn > sum.harmful || !campaign.falseAlarms.empty();
}
