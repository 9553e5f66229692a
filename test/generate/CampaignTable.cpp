//===- CampaignTable.cpp - What a campaign met, and what it lacks --------------------------------===//
#include "test/generate/Campaign.h"
#include "test/generate/Coverage.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace soliton::generate {

size_t Campaign::count(Outcome outcome) const {
  return static_cast<size_t>(
      std::ranges::count_if(results, [&](const SeedResult &each) { return each.verdict.outcome == outcome; }));
}

std::vector<PairCount> Campaign::pairs() const {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const SeedResult &result : results) {
    if (result.verdict.outcome != Outcome::accepted)
      continue;
    std::set<std::string> features = coveredBy(result.features);
    for (const std::string &a : features)
      for (const std::string &b : features)
        ++counts[{a, b}];
  }
  std::vector<PairCount> pairs;
  uint64_t last = 0;
  for (const SeedResult &each : results)
    last = std::max(last, each.seed);
  const std::vector<std::string> &all = coveredFeatures(last);
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i + 1; j < all.size(); ++j)
      pairs.push_back({all[i], all[j], counts[{all[i], all[j]}], whyNever(all[i], all[j]).value_or("")});
  return pairs;
}

std::vector<std::string> shortcomings(const Campaign &campaign, const Measures &measures) {
  std::vector<std::string> found;
  size_t total = campaign.results.size(), refused = campaign.count(Outcome::refused);
  if (100.0 * static_cast<double>(refused) > measures.refusedPercent * static_cast<double>(total))
    found.push_back(std::to_string(refused) + " of " + std::to_string(total) + " were refused, expected at most " +
                    std::to_string(measures.refusedPercent) + " %");
  for (const PairCount &pair : campaign.pairs())
    if (pair.never.empty() && pair.accepted < measures.kernelsPerPair)
      found.push_back("`" + pair.a + "` and `" + pair.b + "` meet in " + std::to_string(pair.accepted) +
                      " accepted kernels, expected " + std::to_string(measures.kernelsPerPair));
  return found;
}

std::string signatureOf(const Verdict &verdict) {
  // Of a wrong result the place says nothing.
  std::string text = verdict.kind + " " + verdict.target;
  if (verdict.kind == "wrong-result" || verdict.kind == "hang")
    return text;
  size_t error = verdict.message.find("error: ");
  std::string line = verdict.message.substr(error == std::string::npos ? 0 : error + 7);
  if (verdict.kind != "crash")
    line = line.substr(0, line.find('\n'));
  text += verdict.message.starts_with("code object") ? " code object: " : ": ";
  for (char c : line.substr(0, 300))
    if (!(c >= '0' && c <= '9') && c != '-')
      text += c == '\n' ? ' ' : c;
  return text.substr(0, 160);
}

namespace {
std::map<std::string, int> tally(const Campaign &campaign, Outcome outcome) {
  std::map<std::string, int> counts;
  for (const SeedResult &each : campaign.results)
    if (each.verdict.outcome == outcome)
      ++counts[each.verdict.kind + (each.verdict.target.empty() ? "" : " (" + each.verdict.target + ")")];
  return counts;
}

/// How often each feature is in a kernel that was generated, and in one that was accepted.
std::map<std::string, std::pair<int, int>> featureCounts(const Campaign &campaign) {
  std::map<std::string, std::pair<int, int>> counts;
  for (const SeedResult &each : campaign.results)
    for (const std::string &feature : each.features) {
      ++counts[feature].first;
      counts[feature].second += each.verdict.outcome == Outcome::accepted;
    }
  return counts;
}

/// How many pairs meet often enough, which can't, and why.
std::string pairTable(const Campaign &campaign) {
  constexpr int kEnough = 20;
  size_t met = 0, often = 0, possible = 0;
  std::map<std::string, int> reasons;
  for (const PairCount &pair : campaign.pairs()) {
    if (!pair.never.empty()) {
      ++reasons[pair.never];
      continue;
    }
    ++possible;
    met += pair.accepted > 0;
    often += pair.accepted >= kEnough;
  }
  std::ostringstream out;
  out << "pairs of features: " << met << " of " << possible << " meet, " << often << " of them in at least " << kEnough
      << " accepted kernels; pairs that never do:\n";
  for (const auto &[reason, count] : reasons)
    out << "  " << count << "  " << reason << "\n";
  return out.str();
}
} // namespace

std::string table(const Campaign &campaign) {
  std::ostringstream out;
  size_t total = campaign.results.size();
  out << "generated " << total << ", accepted " << campaign.count(Outcome::accepted) << ", refused "
      << campaign.count(Outcome::refused) << ", failed " << campaign.count(Outcome::failed) << "\n";
  for (const auto &[kind, count] : tally(campaign, Outcome::refused))
    out << "  refused " << count << "  " << kind << "\n";
  for (const auto &[kind, count] : tally(campaign, Outcome::failed))
    out << "  failed  " << count << "  " << kind << "\n";
  out << "features (generated, accepted):\n";
  auto features = featureCounts(campaign);
  for (const auto &[feature, counts] : features)
    out << "  " << feature << " " << counts.first << " " << counts.second << "\n";
  out << "seconds a kernel, of one processor:\n";
  double all = 0;
  std::map<std::string, double> seconds;
  for (const SeedResult &each : campaign.results)
    for (const auto &[stage, spent] : each.verdict.seconds)
      seconds[stage] += spent, all += spent;
  char number[32];
  auto perKernel = [&](double spent) {
    std::snprintf(number, sizeof number, "%.3f", spent / static_cast<double>(std::max<size_t>(total, 1)));
    return number;
  };
  for (const auto &[stage, spent] : seconds)
    out << "  " << stage << " " << perKernel(spent) << "\n";
  out << "  in all " << perKernel(all) << "\n" << pairTable(campaign);
  return out.str();
}

std::string json(const Campaign &campaign) {
  std::ostringstream out;
  out << "{\"generated\": " << campaign.results.size() << ", \"accepted\": " << campaign.count(Outcome::accepted)
      << ", \"refused\": " << campaign.count(Outcome::refused) << ", \"failed\": " << campaign.count(Outcome::failed);
  auto list = [&](const char *name, const std::map<std::string, int> &counts) {
    out << ", \"" << name << "\": {";
    bool first = true;
    for (const auto &[kind, count] : counts) {
      out << (first ? "" : ", ") << "\"" << kind << "\": " << count;
      first = false;
    }
    out << "}";
  };
  list("refusals", tally(campaign, Outcome::refused));
  list("failures", tally(campaign, Outcome::failed));
  std::map<std::string, int> accepted;
  for (const auto &[feature, counts] : featureCounts(campaign))
    accepted[feature] = counts.second;
  list("features", accepted);
  out << "}\n";
  return out.str();
}

} // namespace soliton::generate
