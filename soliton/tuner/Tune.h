//===- Tune.h - Search, judge, remember ------------------------------------===//
//
// Where domain, strategy, judges and database meet. Each generation of a search is judged as far as it is not known;
// what would be the best so far must also give the right answer, and win again where it was measured; then the search
// learns the costs in the order in which it proposed them.
//
//   Tuned tuned = tune(domain, candidateOf, {.strategy = Strategy::Evolution, .search = {.seed = 1, .budget = 200}},
//                      {.judge = judge, .database = &database, .subject = subject});
//   tuned.trials[*tuned.best].candidate
//
// Who judges, with how many workers, and what was in the database already changes how long it takes, not what comes
// out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/tuner/Database.h"
#include "soliton/tuner/Search.h"

#include <functional>

namespace soliton::tune {

/// One candidate of a run, in the order in which the search learned of them.
struct Trial {
  Candidate candidate;
  std::string hash;
  Result result;
  /// Infinity where it was refused, by its answer too.
  double cost = kRefused;
  bool isBest = false;
  /// It was known before.
  bool wasKnown = false;
};

/// What candidates are judged by: one result for each, in their order. A duel is with `other`.
struct Question {
  Stage stage = Stage::Model;
  const Candidate *other = nullptr;
  /// To be told of each result as it comes, so that it is kept whatever happens next; may be empty.
  std::function<void(size_t, const Result &)> found = {};
};
using Judges = std::function<std::vector<Result>(const std::vector<Candidate> &, const Question &)>;

struct TuneOptions {
  Strategy strategy = Strategy::Evolution;
  /// `budget` counts candidates that differ.
  SearchOptions search;
  /// Candidates without a better one after which it ends; 0: never.
  int64_t patience = 0;
  /// The first decision of this search has this number in its run.
  int64_t firstDecision = 0;
  /// Candidates are measured, one at a time, unless the model finds them hopeless; who measures best must also win a
  /// duel with the best so far.
  bool measures = false;
  /// Whom the first best must beat: that of an earlier search.
  const Trial *champion = nullptr;
};

struct TuneContext {
  Judges judge;
  /// May be null; then `run` counts for nothing.
  Database *database = nullptr;
  Subject subject;
  int64_t run = 0;
  /// Told of each trial; may be empty.
  std::function<void(const Trial &)> progress = {};
};

struct Tuned {
  std::vector<Trial> trials;
  /// The cheapest whose answer is right; the first of equal ones.
  std::optional<size_t> best;
  /// `budget`, `patience`, `bound` (no schedule of the best one's loops is faster), or `exhausted`.
  std::string ended;
};

Tuned tune(const Domain &domain, const std::function<Candidate(const Point &)> &candidateOf, const TuneOptions &options,
           const TuneContext &context);

/// The same for candidates that somebody lists, best first or not.
Tuned tuneAll(const std::vector<Candidate> &candidates, const TuneOptions &options, const TuneContext &context);

} // namespace soliton::tune
