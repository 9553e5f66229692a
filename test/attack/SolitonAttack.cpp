//===- SolitonAttack.cpp - Proof by attack, from the command line ------------------===//
//
//   SolitonAttack                         the whole campaign (bench/results/attack.md)
//   SolitonAttack --mutants 20 --json     a short one, for machines
//   SolitonAttack --kind drop-wait -v     one kind, with what is incomplete
//   SolitonAttack --whole 40              the synchronisation of whole kernels, 40 generated ones among them (-v:
//   progress)
//   SolitonAttack --roles 1000            kernels with waves that copy, so many mutants of each kind and kernel at most
//
// Exits 1 if a harmful mutant is missed more often than the bar allows, or a good schedule raises an alarm.
//
//===----------------------------------------------------------------------===//
#include "test/attack/Campaign.h"
#include "test/attack/InOrder.h"
#include "test/attack/RoleAttack.h"
#include "test/attack/WholeAttack.h"

#include <charconv>
#include <cstring>
#include <iostream>

using namespace soliton;
using namespace soliton::attack;

namespace {
constexpr const char *kUsage = "usage: SolitonAttack [--mutants N] [--harmful N] [--good N] [--seed N] [--threads N] "
                               "[--kind NAME] [--whole SEEDS] [--roles N] [--json] [--examples] [-v]\n";

/// Of harmful mutants, those that may be missed: one in a hundred.
constexpr int kMissedOneIn = 100;

/// Of each kind of harm, for each whole kernel, where nothing is said.
constexpr int kMutantsOfWhole = 10;

struct Arguments {
  CampaignOptions options;
  bool json = false, verbose = false, examples = false;
  /// Generated kernels among the whole ones; below 0: loops under schedules instead.
  int whole = -1;
  /// Of each kind of harm, for each kernel with roles; below 0: none of those.
  int roles = -1;
  /// 0: as many as the campaign takes.
  int mutants = 0;
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
  const std::map<std::string_view, int *> numbers = {{"--mutants", &arguments.mutants},
                                                     {"--harmful", &arguments.options.harmful},
                                                     {"--good", &arguments.options.goods},
                                                     {"--threads", &arguments.options.threads},
                                                     {"--whole", &arguments.whole},
                                                     {"--roles", &arguments.roles},
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
/// What became of one kernel: its mutants by kind of harm, or why it is none.
struct Attacked {
  std::string text, refusal;
  std::map<Harm, WholeTally> tallies;
};

Attacked attackOne(const WholeSetting &setting, const WholeOptions &options) {
  Attacked attacked{.text = setting.text()};
  std::unique_ptr<Victim> victim = makeVictim(setting, attacked.refusal);
  for (Harm harm : victim ? allHarms() : std::vector<Harm>())
    attacked.tallies[harm] = attackWhole(*victim, harm, options);
  return attacked;
}

/// Counts by kind; whether none was missed.
bool print(const std::map<Harm, WholeTally> &tallies) {
  bool clean = true;
  std::cout << "| harm | mutants | refused by the verifier | of those, objected to by the emulator | accepted | "
               "accepted and wrong |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const auto &[harm, tally] : tallies) {
    std::cout << "| " << nameOf(harm) << " | " << tally.mutants << " | " << tally.refused << " | " << tally.confirmed
              << " | " << tally.accepted << " | " << tally.missed.size() << " |\n";
    for (const std::string &text : tally.missed)
      std::cerr << "missed " << text << "\n";
    clean &= tally.missed.empty();
  }
  return clean;
}

/// Breaks every whole kernel in every way.
int attackAll(const Arguments &arguments) {
  std::vector<WholeSetting> settings = wholeSettings(arguments.whole);
  WholeOptions options{arguments.options.seed, arguments.mutants ? arguments.mutants : kMutantsOfWhole};
  std::map<Harm, WholeTally> tallies;
  size_t done = 0, refused = 0;
  inOrder(
      arguments.options.threads, static_cast<uint32_t>(settings.size()),
      [&](uint32_t number) { return attackOne(settings[number], options); },
      [&](const Attacked &attacked) {
        ++done;
        refused += attacked.tallies.empty();
        for (const auto &[harm, tally] : attacked.tallies)
          tallies[harm] += tally;
        if (arguments.verbose)
          std::cerr << done << " of " << settings.size() << ": " << attacked.text
                    << (attacked.tallies.empty() ? " is not compiled: " + attacked.refusal : "") << std::endl;
        return true;
      });
  std::cout << done - refused << " kernels, " << refused << " more did not compile\n\n";
  return print(tallies) ? 0 : 1;
}

/// Every kernel with roles, in every way that roles can be broken.
int attackRoles(const Arguments &arguments) {
  std::map<RoleHarm, RoleTally> tallies;
  bool clean = true;
  inOrder(
      arguments.options.threads, static_cast<uint32_t>(roleSettings().size()),
      [&](uint32_t number) {
        std::map<RoleHarm, RoleTally> found;
        std::string why;
        std::unique_ptr<RoleVictim> victim = RoleVictim::make(roleSettings()[number], why);
        for (RoleHarm harm : victim ? allRoleHarms() : std::vector<RoleHarm>())
          found[harm] = victim->attack(harm, arguments.roles);
        return std::tuple(roleSettings()[number].text(), why, found);
      },
      [&](const std::tuple<std::string, std::string, std::map<RoleHarm, RoleTally>> &attacked) {
        const auto &[text, why, found] = attacked;
        if (found.empty())
          std::cerr << text << " is not compiled: " << why << std::endl;
        clean &= !found.empty();
        for (const auto &[harm, tally] : found)
          tallies[harm] += tally;
        if (arguments.verbose)
          std::cerr << text << std::endl;
        return true;
      });
  std::cout << roleSettings().size()
            << " kernels\n\n| harm | mutants | by the verifier | by the emulator, two orders | only in twelve more | "
               "harmless | missed |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const auto &[harm, tally] : tallies) {
    std::cout << "| " << nameOf(harm) << " | " << tally.mutants << " | " << tally.byVerifier << " | "
              << tally.byEmulator << " | " << tally.later << " | " << tally.harmless.size() << " | "
              << tally.missed.size() << " |\n";
    for (const std::string &text : tally.harmless)
      if (arguments.verbose)
        std::cerr << "harmless " << nameOf(harm) << ": " << text << "\n";
    for (const std::string &text : tally.unproven)
      std::cerr << "only the emulator, " << nameOf(harm) << ": " << text << "\n";
    for (const std::string &text : tally.missed)
      std::cerr << "missed " << text << "\n";
    clean &= tally.missed.empty();
  }
  return clean ? 0 : 1;
}
} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::cerr << kUsage;
    return 2;
  }
  if (arguments.roles >= 0)
    return attackRoles(arguments);
  if (arguments.whole >= 0)
    return attackAll(arguments);
  if (arguments.mutants > 0)
    arguments.options.mutants = arguments.mutants;
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
