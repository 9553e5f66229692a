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
    if (options.measures)
      measureAhead(candidates, hashes);
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
    const Trial *least = tuned.best ? &tuned.trials[*tuned.best] : nullptr;
    bool isAtBound = endsAtBound && least && !options.measures && least->result.bound > 0 &&
                     least->result.cycles <= least->result.bound;
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
    std::vector<Result> results = judgeAll(unknown, Stage::Model);
    for (size_t i = 0; i < unknown.size(); ++i)
      known[unknown[i].hash()].first = results[i];
  }

  /// All at once; each result is kept as it comes.
  std::vector<Result> judgeAll(const std::vector<Candidate> &candidates, Stage stage) {
    if (candidates.empty())
      return {};
    std::vector<std::optional<Result>> kept(candidates.size());
    auto found = [&](size_t i, const Result &result) {
      if (!kept[i])
        kept[i] = keep(candidates[i], stage, result);
    };
    std::vector<Result> results = context.judge(candidates, {stage, nullptr, found});
    for (size_t i = 0; i < candidates.size(); ++i) {
      found(i, results[i]);
      results[i] = *kept[i];
    }
    return results;
  }

  /// Not where the model is sure enough: a measurement takes longer than all that came before it.
  static bool isHopeless(double modelled, double least) {
    constexpr double kHopeless = 1.6;
    return least > 0 && modelled > kHopeless * least;
  }

  /// Who of a generation is measured follows from the model alone, so all of them are asked for at once: several
  /// devices take one each, and what comes next is compiled meanwhile.
  void measureAhead(const std::vector<Candidate> &candidates, const std::vector<std::string> &hashes) {
    double least = leastModelled;
    std::vector<Candidate> unknown;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Result &model = known.at(hashes[i]).first;
      if (numberOf.contains(hashes[i]) || timed.contains(hashes[i]) || model.isRefused() ||
          isHopeless(model.modelledMicroseconds, least))
        continue;
      least = least > 0 ? std::min(least, model.modelledMicroseconds) : model.modelledMicroseconds;
      std::optional<Result> found =
          context.database ? context.database->find(context.subject, hashes[i], Stage::Device) : std::nullopt;
      timed[hashes[i]] = found.value_or(Result());
      if (!found)
        unknown.push_back(candidates[i]);
    }
    std::vector<Result> results = judgeAll(unknown, Stage::Device);
    for (size_t i = 0; i < unknown.size(); ++i)
      timed[unknown[i].hash()] = results[i];
  }

  /// The result that is true from now on: where another process was first, its own, or the two would decide
  /// differently by the same database.
  Result keep(const Candidate &candidate, Stage stage, Result result, const std::string &other = {}) {
    if (!result.answers(stage))
      result = Result::refused("worker", "it was answered by no time");
    if (!context.database || context.database->store(context.subject, candidate, stage, result, other))
      return result;
    return context.database->find(context.subject, candidate.hash(), stage, other).value_or(result);
  }

  /// What was found out before, or is now.
  Result ask(const Trial &trial, Stage stage, const Trial *other = nullptr) {
    std::string otherHash = other ? other->hash : "";
    std::optional<Result> found =
        context.database ? context.database->find(context.subject, trial.hash, stage, otherHash) : std::nullopt;
    if (!found) {
      found = context.judge({trial.candidate}, {stage, other ? &other->candidate : nullptr, {}}).front();
      found = keep(trial.candidate, stage, *found, otherHash);
    }
    return *found;
  }

  static void refuse(Trial &trial, const Result &by) {
    trial.result.refusedBy = by.refusedBy;
    trial.result.why = by.why;
    trial.cost = kRefused;
  }

  /// By what `measureAhead` has brought.
  void measure(Trial &trial) {
    double modelled = trial.result.modelledMicroseconds;
    if (isHopeless(modelled, leastModelled)) {
      refuse(trial, Result::refused("model", std::to_string(modelled) + " us modelled, the least are " +
                                                 std::to_string(leastModelled)));
      return;
    }
    leastModelled = leastModelled > 0 ? std::min(leastModelled, modelled) : modelled;
    const Result &measured = timed.at(trial.hash);
    if (measured.isRefused())
      return refuse(trial, measured);
    trial.result.measuredMicroseconds = measured.measuredMicroseconds;
    trial.result.spread = measured.spread;
    trial.result.cache = measured.cache;
    trial.result.coldMicroseconds = measured.coldMicroseconds;
    trial.result.outliers = measured.outliers;
    trial.result.isReplayed = measured.isReplayed;
    trial.result.clockMHz = measured.clockMHz;
    trial.result.celsius = measured.celsius;
    trial.cost = measured.measuredMicroseconds;
  }

  /// A winner must be right, and where times were measured win again; a loser may be anything.
  void checkWinner(Trial &trial) {
    Result answer = ask(trial, Stage::Answer);
    if (answer.isRefused())
      return refuse(trial, answer);
    trial.result.why = answer.why;
    const Trial *champion = best();
    if (!options.measures || !champion)
      return;
    Result duel = ask(trial, Stage::Duel, champion);
    if (duel.isRefused())
      return refuse(trial, duel);
    // Side by side: what one of them got from a cooler chip before does not count.
    trial.cost = champion->cost * duel.measuredMicroseconds / duel.otherMicroseconds;
  }

  const Trial *best() const { return tuned.best ? &tuned.trials[*tuned.best] : options.champion; }

  void decide(const Candidate &candidate, const std::string &hash) {
    Trial trial{candidate, hash, known.at(hash).first, kRefused, false, known.at(hash).second};
    trial.cost = trial.result.cost();
    if (options.measures && !trial.result.isRefused())
      measure(trial);
    double least = best() ? best()->cost : kRefused;
    if (trial.cost < least)
      checkWinner(trial);
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
  /// By hash: what a device said.
  std::unordered_map<std::string, Result> timed;
  int64_t lastBest = 0;
  double leastModelled = 0;
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
