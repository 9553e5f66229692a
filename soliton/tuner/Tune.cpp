#include "soliton/tuner/Tune.h"

#include <unordered_map>
#include <unordered_set>

namespace soliton::tune {
namespace {

/// Generations that bring nothing new before a space counts as tried out.
constexpr int kStale = 200;

class Tuner {
public:
  Tuner(const TuneOptions &options, const TuneContext &context) : options(options), context(context) {}

  /// The costs of some candidates, all of them in `tuned` afterwards; of fewer where the budget ends among them.
  std::vector<double> learn(std::vector<Candidate> candidates) {
    std::vector<std::string> hashes;
    std::unordered_set<std::string> fresh;
    for (const Candidate &candidate : candidates) {
      hashes.push_back(candidate.hash());
      if (!numberOf.contains(hashes.back()))
        fresh.insert(hashes.back());
      if (static_cast<int64_t>(tuned.trials.size() + fresh.size()) > options.search.budget) {
        hashes.pop_back();
        break;
      }
    }
    candidates.resize(hashes.size());
    judgeUnknown(candidates, hashes);
    std::vector<double> costs;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!numberOf.contains(hashes[i]))
        decide(candidates[i], hashes[i]);
      costs.push_back(tuned.trials[numberOf.at(hashes[i])].cost);
    }
    return costs;
  }

  bool isOver() {
    int64_t tried = static_cast<int64_t>(tuned.trials.size());
    const Trial *best = tuned.best ? &tuned.trials[*tuned.best] : nullptr;
    bool isAtBound = best && best->result.measuredMicroseconds == 0 && best->result.bound > 0 &&
                     best->result.cycles <= best->result.bound && options.search.generation > 0 && endsAtBound;
    bool isPatient = options.patience == 0 || tried - lastBest < options.patience;
    tuned.ended = isAtBound                        ? "bound"
                  : tried >= options.search.budget ? "budget"
                  : !isPatient                     ? "patience"
                  : stale >= kStale                ? "exhausted"
                                                   : "";
    return !tuned.ended.empty();
  }

  Tuned tuned;
  /// Only where all candidates are schedules of the same loops does the bound of one hold for all.
  bool endsAtBound = false;
  int stale = 0;

private:
  void judgeUnknown(const std::vector<Candidate> &candidates, const std::vector<std::string> &hashes) {
    std::vector<Candidate> unknown;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (known.contains(hashes[i]))
        continue;
      std::optional<Result> found =
          context.database ? context.database->find(context.subject, hashes[i], Stage::Model) : std::nullopt;
      known[hashes[i]] = {found.value_or(Result()), found.has_value()};
      if (!found)
        unknown.push_back(candidates[i]);
    }
    if (unknown.empty())
      return;
    std::vector<Result> results = context.judge(unknown, Stage::Model);
    for (size_t i = 0; i < unknown.size(); ++i) {
      keep(unknown[i], Stage::Model, results[i]);
      known[unknown[i].hash()].first = results[i];
    }
  }

  void keep(const Candidate &candidate, Stage stage, const Result &result) {
    if (context.database)
      context.database->store(context.subject, candidate, stage, result);
  }

  /// A winner must be right; a loser may be anything.
  void checkAnswer(Trial &trial) {
    std::optional<Result> answer =
        context.database ? context.database->find(context.subject, trial.hash, Stage::Answer) : std::nullopt;
    if (!answer) {
      answer = context.judge({trial.candidate}, Stage::Answer).front();
      keep(trial.candidate, Stage::Answer, *answer);
    }
    if (!answer->isRefused()) {
      trial.result.why = answer->why;
      return;
    }
    trial.result.refusedBy = answer->refusedBy;
    trial.result.why = answer->why;
    trial.cost = kRefused;
  }

  void decide(const Candidate &candidate, const std::string &hash) {
    Trial trial{candidate, hash, known.at(hash).first, kRefused, false, known.at(hash).second};
    trial.cost = trial.result.cost();
    double least = tuned.best ? tuned.trials[*tuned.best].cost : kRefused;
    if (trial.cost < least)
      checkAnswer(trial);
    trial.isBest = trial.cost < least;
    int64_t number = static_cast<int64_t>(tuned.trials.size());
    if (context.database)
      context.database->decide(context.run, options.firstDecision + number, hash, trial.cost);
    if (trial.isBest) {
      tuned.best = tuned.trials.size();
      lastBest = number;
    }
    numberOf[hash] = tuned.trials.size();
    stale = 0;
    tuned.trials.push_back(std::move(trial));
    if (context.progress)
      context.progress(tuned.trials.back());
  }

  const TuneOptions &options;
  const TuneContext &context;
  /// By hash: what the filters said, and whether that was known before.
  std::unordered_map<std::string, std::pair<Result, bool>> known;
  std::unordered_map<std::string, size_t> numberOf;
  int64_t lastBest = 0;
};

} // namespace

Tuned tune(const Domain &domain, const std::function<Candidate(const Point &)> &candidateOf, const TuneOptions &options,
           const TuneContext &context) {
  Tuner tuner(options, context);
  std::unique_ptr<Search> search = makeSearch(options.strategy, domain, options.search);
  while (!tuner.isOver()) {
    std::vector<Candidate> candidates;
    for (const Point &point : search->propose())
      candidates.push_back(candidateOf(point));
    ++tuner.stale;
    size_t proposed = candidates.size();
    std::vector<double> costs = tuner.learn(std::move(candidates));
    if (costs.size() == proposed)
      search->learn(costs);
  }
  return std::move(tuner.tuned);
}

Tuned tuneAll(const std::vector<Candidate> &candidates, const TuneOptions &options, const TuneContext &context) {
  Tuner tuner(options, context);
  tuner.endsAtBound = true;
  size_t step = static_cast<size_t>(std::max(options.search.generation, 1));
  for (size_t i = 0; i < candidates.size() && !tuner.isOver(); i += step)
    tuner.learn({candidates.begin() + static_cast<ptrdiff_t>(i),
                 candidates.begin() + static_cast<ptrdiff_t>(std::min(i + step, candidates.size()))});
  if (!tuner.isOver())
    tuner.tuned.ended = "exhausted";
  return std::move(tuner.tuned);
}

} // namespace soliton::tune
