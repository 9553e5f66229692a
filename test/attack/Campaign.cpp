#include "test/attack/Campaign.h"
#include "test/attack/InOrder.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace soliton::attack {
namespace {
/// Bases are made when they are first broken.
class Bases {
public:
  const Base *get(size_t index) {
    std::lock_guard lock(mutex);
    auto [it, isNew] = known.try_emplace(index);
    if (isNew) {
      std::vector<Diagnostic> wrong;
      if (std::optional<Base> base = makeBase(allSettings()[index], wrong))
        it->second = std::make_unique<Base>(std::move(*base));
    }
    return it->second.get();
  }

private:
  std::mutex mutex;
  std::map<size_t, std::unique_ptr<Base>> known;
};

/// One kind of damage to as many bases as it takes.
class Kind {
public:
  Kind(Campaign &campaign, Bases &bases, const CampaignOptions &options, sched::Mutation kind)
      : campaign(campaign), bases(bases), options(options), kind(kind) {}

  void run() {
    inOrder(
        options.threads, kMostAttemptsPerMutant * static_cast<uint32_t>(options.mutants),
        [this](uint32_t number) { return attempt(number); },
        [this](Attempt attempt) { return count(std::move(attempt)); });
    tally.bases = static_cast<int>(broken.size());
    campaign.tallies[kind] = tally;
  }

private:
  /// Attempts that may be in vain: bases without stagger, values used before they are computed.
  static constexpr uint32_t kMostAttemptsPerMutant = 40;

  Attempt attempt(uint32_t number) {
    uint32_t mixed =
        (number + 1) * 0x9e3779b1U ^ options.seed * 0x85ebca6bU ^ static_cast<uint32_t>(kind) * 0xc2b2ae35U;
    mixed ^= mixed >> 15;
    const Base *base = bases.get(mixed % allSettings().size());
    return base ? attack(*base, kind, mixed * 0x2c1b3c6dU + number) : Attempt();
  }

  /// False if there are enough.
  bool count(Attempt attempt) {
    if (attempt.verdict == Verdict::NoPlace || !seen.insert(attempt.base + ": " + attempt.what).second)
      return true;
    if (attempt.verdict == Verdict::Unbuildable)
      return ++tally.unbuildable, true;
    ++tally.mutants;
    broken.insert(attempt.base);
    if (attempt.verdict == Verdict::Harmful)
      countHarmful(std::move(attempt));
    return tally.mutants < options.mutants && (options.harmful == 0 || tally.harmful < options.harmful);
  }

  void countHarmful(Attempt attempt) {
    campaign.examples.try_emplace(kind, attempt);
    ++tally.harmful;
    tally.verifier += attempt.byVerifier;
    tally.emulator += attempt.byEmulator;
    tally.complete += attempt.complete;
    tally.missed += attempt.missed();
    if (attempt.missed())
      campaign.missed.push_back(std::move(attempt));
    else if (!attempt.complete)
      campaign.incomplete.push_back(std::move(attempt));
    else if (!attempt.byVerifier)
      campaign.unproven.push_back(std::move(attempt));
  }

  Campaign &campaign;
  Bases &bases;
  const CampaignOptions &options;
  sched::Mutation kind;
  Tally tally;
  std::set<std::string> seen, broken;
};

void runGoods(Campaign &campaign, const CampaignOptions &options) {
  std::set<std::string> seen;
  auto count = [&](Good good) {
    if (!good.notApplicable.empty()) {
      ++campaign.notApplicable;
      ++campaign.reasons[good.notApplicable];
    } else if (seen.insert(good.name).second) {
      ++campaign.goods;
      ++campaign.origins[good.origin];
      if (!good.alarm.empty())
        campaign.falseAlarms.push_back(std::move(good));
    }
    return campaign.goods < options.goods;
  };
  inOrder(
      options.threads, static_cast<uint32_t>(options.goods) * 8,
      [&](uint32_t number) { return tryGood(number, options.seed); }, count);
}

std::string row(const std::string &name, const Tally &tally) {
  char line[200];
  std::snprintf(line, sizeof line, "%-16s %7d %7d %12d %8d %9d %9d %9d %7d\n", name.c_str(), tally.bases, tally.mutants,
                tally.unbuildable, tally.harmful, tally.verifier, tally.emulator, tally.complete, tally.missed);
  return line;
}
} // namespace

Tally &Tally::operator+=(const Tally &other) {
  mutants += other.mutants;
  unbuildable += other.unbuildable;
  harmful += other.harmful;
  verifier += other.verifier;
  emulator += other.emulator;
  complete += other.complete;
  missed += other.missed;
  bases += other.bases;
  return *this;
}

Tally Campaign::total() const {
  Tally sum;
  for (const auto &[kind, tally] : tallies)
    sum += tally;
  return sum;
}

Campaign run(const CampaignOptions &options) {
  Campaign campaign;
  Bases bases;
  for (sched::Mutation kind : options.kinds.empty() ? sched::allMutations() : options.kinds) {
    Kind(campaign, bases, options, kind).run();
    if (options.progress)
      options.progress(row(std::string(nameOf(kind)), campaign.tallies[kind]));
  }
  runGoods(campaign, options);
  return campaign;
}

std::string table(const Campaign &campaign) {
  std::string text = "kind               bases mutants  unbuildable  harmful  verifier  emulator  complete  missed\n";
  for (const auto &[kind, tally] : campaign.tallies)
    text += row(std::string(nameOf(kind)), tally);
  Tally sum = campaign.total();
  text += row("all", sum);
  auto from = [&](Origin origin) {
    auto found = campaign.origins.find(origin);
    return found == campaign.origins.end() ? 0 : found->second;
  };
  char line[300];
  std::snprintf(line, sizeof line,
                "\nreported: %d of %d harmful (%.2f %%)\n"
                "good schedules: %d (%d as they are, %d modulo with longer intervals, %d edited), false alarms: %zu\n",
                sum.harmful - sum.missed, sum.harmful,
                sum.harmful ? 100.0 * (sum.harmful - sum.missed) / sum.harmful : 100.0, campaign.goods,
                from(Origin::Given), from(Origin::Interval), from(Origin::Edited), campaign.falseAlarms.size());
  return text + line;
}

std::string json(const Campaign &campaign) {
  std::string text = "{\"kinds\": {";
  const char *comma = "";
  auto number = [](const char *name, int value) { return ", \"" + std::string(name) + "\": " + std::to_string(value); };
  for (const auto &[kind, tally] : campaign.tallies) {
    text += comma + ("\"" + std::string(nameOf(kind))) + "\": {\"bases\": " + std::to_string(tally.bases) +
            number("mutants", tally.mutants) + number("unbuildable", tally.unbuildable) +
            number("harmful", tally.harmful) + number("verifier", tally.verifier) + number("emulator", tally.emulator) +
            number("complete", tally.complete) + number("missed", tally.missed) + "}";
    comma = ", ";
  }
  return text + "}, \"good\": " + std::to_string(campaign.goods) +
         number("false_alarms", static_cast<int>(campaign.falseAlarms.size())) + "}\n";
}

} // namespace soliton::attack
