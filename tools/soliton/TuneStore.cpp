//===- TuneStore.cpp - What the database of the tuner holds -----------------------------------------===//

#include "soliton/tuner/Lines.h"
#include "tools/soliton/Tune.h"

#include <cmath>
#include <filesystem>
#include <fstream>

namespace soliton::cli {

const std::vector<std::string> &tuneActions() {
  static const std::vector<std::string> actions = {"list", "show", "best", "export", "import", "verify"};
  return actions;
}

namespace {

Json costJson(double cost) {
  return std::isfinite(cost) ? Json(cost) : Json();
}

/// What a text says, or the text where it was damaged.
Json objectOr(const std::string &text) {
  Json json = tune::parseLine(text);
  return json.is_discarded() ? Json(text) : json;
}

Json runJson(const tune::Run &run) {
  return {{"run", run.id},
          {"kernel", objectOr(run.subject.kernel)},
          {"device", run.subject.device},
          {"driver", run.subject.driver},
          {"build", run.subject.build},
          {"settings", objectOr(run.settings)},
          {"begun", run.begun},
          {"ended", run.ended},
          {"decisions", run.decisions},
          {"best_us", costJson(run.best)},
          {"best", run.bestHash}};
}

std::string nameOf(const tune::Run &run) {
  Json kernel = tune::parseLine(run.subject.kernel);
  bool hasName = kernel.is_object() && kernel.contains("kernel") && kernel["kernel"].is_string();
  return (hasName ? kernel["kernel"].get<std::string>() : "?") + " on " + run.subject.device;
}

/// The run that `about` names: its number, a kernel's name, or none for the newest.
tune::Run findRun(tune::Database &database, const std::string &about) {
  for (const tune::Run &run : database.runs())
    if (about.empty() || std::to_string(run.id) == about || nameOf(run).starts_with(about + " on "))
      return run;
  throw tune::TuneError(DiagId::TuneRun,
                        about.empty() ? "there is no run yet, expected one at least"
                                      : "there is no run `" + about + "`, expected a number or a kernel's name",
                        "`soliton tune list` lists those there are");
}

int list(tune::Database &database, bool json, std::ostream &out) {
  Json runs = Json::array();
  for (const tune::Run &run : database.runs()) {
    runs.push_back(runJson(run));
    if (!json)
      out << run.id << "  " << nameOf(run) << ", " << run.decisions << " candidates, "
          << (std::isfinite(run.best) ? std::to_string(run.best) + " us" : "none accepted") << ", "
          << (run.ended.empty() ? "not ended" : "ended by " + run.ended) << ", begun " << run.begun << "\n";
  }
  if (json)
    out << line({{"ok", true}, {"runs", std::move(runs)}});
  return 0;
}

int show(tune::Database &database, const tune::Run &run, bool json, std::ostream &out) {
  Json report = runJson(run), decisions = Json::array();
  if (!json)
    out << "run " << run.id << ": " << nameOf(run) << "\n" << run.settings << "\n";
  for (const tune::Decision &decision : database.decisions(run.id)) {
    std::optional<tune::Result> result = database.find(run.subject, decision.hash, tune::Stage::Model);
    std::optional<tune::Result> answer = database.find(run.subject, decision.hash, tune::Stage::Answer);
    tune::Result said = answer && answer->isRefused() ? *answer : result.value_or(tune::Result());
    if (std::optional<tune::Result> measured = database.find(run.subject, decision.hash, tune::Stage::Device);
        measured && measured->isRefused())
      said = *measured;
    if (!said.isRefused() && !std::isfinite(decision.cost))
      said = tune::Result::refused("model", "too slow by the model to be measured, or it lost its duel to a fault");
    decisions.push_back({{"number", decision.number},
                         {"hash", decision.hash},
                         {"cost_us", costJson(decision.cost)},
                         {"refused_by", said.refusedBy},
                         {"why", said.why}});
    if (!json)
      out << "  " << decision.number << "  " << decision.hash.substr(0, 12) << "  "
          << (said.isRefused() ? "refused by " + said.refusedBy + ": " + said.why
                               : std::to_string(decision.cost) + " us")
          << "\n";
  }
  report["trials"] = std::move(decisions);
  if (json)
    out << line(report);
  return 0;
}

int best(tune::Database &database, const tune::Run &run, bool json, std::ostream &out) {
  std::optional<tune::Candidate> candidate = database.candidate(run.bestHash);
  if (!candidate)
    throw tune::TuneError(DiagId::TuneRun,
                          "run " + std::to_string(run.id) + " accepted nothing, expected one candidate at least",
                          "`soliton tune show " + std::to_string(run.id) + "` says why");
  if (json)
    out << line({{"ok", true},
                 {"run", run.id},
                 {"hash", run.bestHash},
                 {"device", run.subject.device},
                 {"cost_us", run.best},
                 {"choices", Json(candidate->choices)},
                 {"schedule", candidate->schedule}});
  else
    out << candidate->text();
  return 0;
}

int verify(tune::Database &database, bool json, std::ostream &out) {
  std::vector<std::string> flaws = database.flaws();
  if (json)
    out << line({{"ok", flaws.empty()}, {"flaws", flaws}});
  for (const std::string &flaw : flaws)
    if (!json)
      out << flaw << "\n";
  if (!json && flaws.empty())
    out << "whole\n";
  return flaws.empty() ? 0 : 1;
}

} // namespace

int manageTuning(const TuneCommand &command, std::ostream &out) {
  const std::string &action = command.choice.kernel, &about = command.about;
  bool json = command.choice.json;
  const std::string path = databasePath(command);
  // What is named and not there was misspelled; what nobody has named is there as soon as something was tuned.
  bool isNamed = !command.database.empty() || std::getenv("SOLITON_TUNE_DB");
  if (isNamed && action != "import" && !std::filesystem::exists(path))
    throw tune::TuneError(DiagId::TuneDatabase, "there is no such file, expected one that `soliton tune` wrote",
                          "`--database` names it, else SOLITON_TUNE_DB; else it is in the cache's folder",
                          {path, 1, 1});
  tune::Database database(path);
  if (action == "list")
    return list(database, json, out);
  if (action == "verify")
    return verify(database, json, out);
  if (action == "show")
    return show(database, findRun(database, about), json, out);
  if (action == "best")
    return best(database, findRun(database, about), json, out);
  if (action == "export") {
    if (about.empty())
      out << database.exported();
    else
      writeFile(about, database.exported());
    return 0;
  }
  if (about.empty())
    throw tune::TuneError(DiagId::TuneImport, "found `soliton tune import` without a file, expected the name of one",
                          "`soliton tune export FILE` writes one");
  std::ifstream file(about, std::ios::binary);
  if (!file)
    throw tune::TuneError(DiagId::TuneImport, "the file can't be read, expected what `soliton tune export` prints",
                          "name a file that `soliton tune export FILE` wrote", {about, 1, 1});
  int64_t taken = database.import(file, about);
  if (json)
    out << line({{"ok", true}, {"imported", taken}});
  else
    out << taken << " results that were not there\n";
  return 0;
}

} // namespace soliton::cli
