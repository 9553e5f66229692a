//===- Tuning.cpp - Spaces and the search of them, in Python ------------------------------------===//
//
//   space = Space().choice("BLOCK_M", ["64", "128"]).where("BLOCK_M <= 64", function)
//   tune(space, {"BLOCK_M": "64"}, {"strategy": "evolution", "budget": 20, …}, judge, progress)
//
// `judge(candidates, stage, other, found)` tells `found(number, line)` of a line of JSON for each candidate
// (soliton/tuner/Result.h); a candidate is its text (soliton/tuner/Candidate.h). What is asked, in which order, and
// what is known already is C++'s matter.
//
//===----------------------------------------------------------------------===//
#include "Tuner.h"

#include <nanobind/stl/map.h>

#include <soliton/tuner/KernelJudge.h>
#include <soliton/tuner/Space.h>
#include <soliton/tuner/Tune.h>

namespace soliton::python {

namespace {

void bindSpace(nb::module_ &module) {
  nb::class_<tune::Space>(module, "Space")
      .def(nb::init<>())
      .def(
          "choice",
          [](tune::Space &self, const std::string &name, const std::vector<std::string> &values) {
            self.choice(name, values);
          },
          nb::arg("name"), nb::arg("values"))
      .def(
          "where",
          [](tune::Space &self, const std::string &text, std::function<bool(const tune::Assignment &)> condition) {
            self.where(text, std::move(condition));
          },
          nb::arg("text"), nb::arg("condition"))
      .def_prop_ro("choices",
                   [](const tune::Space &self) {
                     std::vector<std::pair<std::string, std::vector<std::string>>> list;
                     for (const tune::Choice &each : self.choices())
                       list.emplace_back(each.name, each.values);
                     return list;
                   })
      .def_prop_ro("size", &tune::Space::size)
      .def("allows", &tune::Space::allows, nb::arg("assignment"))
      .def_prop_ro("text", &tune::Space::text);
}

nb::dict dictOf(const tune::Trial &trial) {
  nb::dict dict;
  dict["candidate"] = trial.candidate.text();
  dict["choices"] = trial.candidate.choices;
  dict["schedule"] = trial.candidate.schedule;
  dict["hash"] = trial.hash;
  dict["result"] = tune::toJson(trial.result);
  dict["cost"] = trial.cost;
  dict["is_best"] = trial.isBest;
  dict["was_known"] = trial.wasKnown;
  return dict;
}

/// Python tells of each answer as it comes, so that it is kept whatever happens next.
tune::Judges judgesOf(nb::callable judge) {
  return [judge](const std::vector<tune::Candidate> &candidates, const tune::Question &question) {
    std::vector<std::string> texts;
    for (const tune::Candidate &candidate : candidates)
      texts.push_back(candidate.text());
    std::vector<tune::Result> results(candidates.size(),
                                      tune::Result::refused("worker", "it was answered by no result"));
    nb::object found = nb::cpp_function([&](size_t i, const std::string &line) {
      if (std::optional<tune::Result> result = tune::resultFromJson(line))
        results.at(i) = *result;
      if (question.found)
        question.found(i, results.at(i));
    });
    nb::object other = question.other ? nb::cast(question.other->text()) : nb::none();
    judge(texts, std::string(nameOf(question.stage)), other, found);
    return results;
  };
}

/// How it is to be searched, from Python's dictionary.
tune::TuneOptions optionsOf(const nb::dict &given) {
  tune::TuneOptions options;
  options.strategy = *tune::parseStrategy(nb::cast<std::string>(given["strategy"]));
  options.search = {nb::cast<uint64_t>(given["seed"]), nb::cast<int64_t>(given["budget"]),
                    nb::cast<int>(given["generation"])};
  options.patience = nb::cast<int64_t>(given["patience"]);
  options.measures = nb::cast<bool>(given["measures"]);
  return options;
}

nb::dict dictOf(const tune::Tuned &tuned) {
  nb::list trials;
  for (const tune::Trial &trial : tuned.trials)
    trials.append(dictOf(trial));
  nb::dict dict;
  dict["trials"] = trials;
  dict["best"] = tuned.best;
  dict["ended"] = tuned.ended;
  return dict;
}

/// One run, whose results and decisions a database keeps.
class Tuning {
public:
  Tuning(const std::string &path, const std::tuple<std::string, std::string, std::string> &about,
         const std::string &settings)
      : subject{std::get<0>(about), std::get<1>(about), std::get<2>(about), tune::compilerBuild()} {
    if (path.empty())
      return;
    database = std::make_unique<tune::Database>(path);
    run = database->begin(subject, settings);
  }

  nb::dict search(const tune::Space &space, const tune::Assignment &start, const nb::dict &given, nb::callable judge,
                  nb::callable progress) {
    tune::TuneOptions options = optionsOf(given);
    tune::SpaceDomain domain(space, start);
    auto candidateOf = [&](const tune::Point &point) { return tune::Candidate{domain.assignmentOf(point), ""}; };
    return take(tune::tune(domain, candidateOf, options, contextOf(judge, progress)));
  }

  /// Candidates that somebody lists, against the best so far.
  nb::dict searchAll(const std::vector<std::string> &texts, const nb::dict &given, nb::callable judge,
                     nb::callable progress) {
    tune::TuneOptions options = optionsOf(given);
    options.firstDecision = decisions;
    options.champion = champion ? &*champion : nullptr;
    std::vector<tune::Candidate> candidates;
    for (const std::string &text : texts)
      candidates.push_back(tune::parseCandidate(text));
    options.search.budget = static_cast<int64_t>(candidates.size());
    return take(tune::tuneAll(candidates, options, contextOf(judge, progress)));
  }

  void end(const std::string &how) {
    if (database)
      database->end(run, how);
  }
  int64_t id() const { return run; }
  /// Results and decisions that the database has not taken.
  size_t unkept() const { return database ? database->unkept() : 0; }

private:
  tune::TuneContext contextOf(nb::callable judge, nb::callable progress) {
    return {judgesOf(judge), database.get(), subject, run,
            [progress](const tune::Trial &trial) { progress(dictOf(trial)); }};
  }
  nb::dict take(const tune::Tuned &tuned) {
    decisions += static_cast<int64_t>(tuned.trials.size());
    if (tuned.best)
      champion = tuned.trials[*tuned.best];
    return dictOf(tuned);
  }

  tune::Subject subject;
  std::unique_ptr<tune::Database> database;
  int64_t run = 0, decisions = 0;
  std::optional<tune::Trial> champion;
};

} // namespace

void bindTuning(nb::module_ &module) {
  bindSpace(module);
  nb::class_<Tuning>(module, "Tuning")
      .def(nb::init<const std::string &, const std::tuple<std::string, std::string, std::string> &,
                    const std::string &>(),
           nb::arg("database"), nb::arg("about"), nb::arg("settings"))
      .def("search", &Tuning::search, nb::arg("space"), nb::arg("start"), nb::arg("options"), nb::arg("judge"),
           nb::arg("progress"))
      .def("search_all", &Tuning::searchAll, nb::arg("candidates"), nb::arg("options"), nb::arg("judge"),
           nb::arg("progress"))
      .def("end", &Tuning::end, nb::arg("how"))
      .def_prop_ro("unkept", &Tuning::unkept)
      .def_prop_ro("run", &Tuning::id);
  module.def("strategies", [] { return tune::strategyNames(); });
  module.def("candidate_text", [](const tune::Assignment &choices, const std::string &schedule) {
    return tune::Candidate{choices, schedule}.text();
  });
  module.def("parse_candidate", [](const std::string &text) {
    tune::Candidate candidate = tune::parseCandidate(text);
    return std::pair(candidate.choices, candidate.schedule);
  });
  module.def(
      "result_json",
      [](const std::string &by, const std::string &why, double measured, double spread, double other,
         const std::string &cache) {
        tune::Result result = by.empty() ? tune::Result() : tune::Result::refused(by, why);
        result.why = why;
        result.measuredMicroseconds = measured;
        result.spread = spread;
        result.otherMicroseconds = other;
        result.cache = cache;
        result.coldMicroseconds = cache == "cold" ? measured : 0;
        return tune::toJson(result);
      },
      nb::arg("refused_by"), nb::arg("why"), nb::arg("measured"), nb::arg("spread"), nb::arg("other"),
      nb::arg("cache") = "");
}

} // namespace soliton::python
