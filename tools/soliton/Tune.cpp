//===- Tune.cpp - soliton tune ------------------------------------------------------------------------===//
//
// First the space (tiles, instructions, schedules by name), then, from the best of it, the schedule of its longest loop
// by moves; the best of those are compiled and checked like any candidate. Without `--device` nothing is measured:
// times are those of the model, and every line says so.
//
//===----------------------------------------------------------------------===//

#include "tools/soliton/Tune.h"

#include "soliton/authoring/ScheduleFile.h"
#include "soliton/display/Page.h"
#include "soliton/driver/CompileCache.h"
#include "soliton/driver/Tuned.h"
#include "soliton/runtime/Cache.h"
#include "soliton/tuner/KernelJudge.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <unistd.h>

namespace soliton::cli {

namespace {

/// `181.20 us measured with warm caches`; `how` is empty where it is modelled.
std::string shown(double microseconds, const std::string &how) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << microseconds << " us " << (how.empty() ? "modelled" : how);
  return text.str();
}

/// How a command's times are measured; of both figures the warm one decides.
std::string howMeasured(const TuneCommand &command) {
  return command.device.empty()    ? ""
         : command.cache == "cold" ? "measured with cold caches"
                                   : "measured with warm caches";
}

/// One line that is written over and over, for who looks at it; improvements for who reads it later.
class Progress {
public:
  Progress(std::ostream &err, int64_t budget, std::string how)
      : err(err), budget(budget), how(std::move(how)), isLive(isatty(STDERR_FILENO) != 0) {}

  void see(const tune::Trial &trial) {
    ++tried;
    known += trial.wasKnown;
    if (trial.isBest) {
      best = trial.cost;
      const tune::Result &result = trial.result;
      double part = static_cast<double>(result.bound) / static_cast<double>(std::max<int64_t>(result.cycles, 1));
      bound = result.modelledMicroseconds * part;
    }
    if (isLive)
      err << "\r\x1b[K" << text() << std::flush;
    else if (trial.isBest)
      err << text() << "\n";
  }
  ~Progress() {
    if (isLive && tried > 0)
      err << "\n";
  }

private:
  std::string text() const {
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    double rate = seconds > 0 ? static_cast<double>(tried) / seconds : 0;
    std::ostringstream line;
    line << tried << " of " << budget << " candidates, " << std::fixed << std::setprecision(1) << rate << " a second, ";
    if (known > 0)
      line << known << " known before, ";
    line << "best " << (best > 0 ? shown(best, how) : "none yet");
    if (bound > 0)
      line << ", bound " << shown(bound, /*how=*/"");
    if (rate > 0 && budget > tried)
      line << ", " << std::setprecision(0) << static_cast<double>(budget - tried) / rate << " s left";
    return line.str();
  }

  std::ostream &err;
  int64_t budget, tried = 0, known = 0;
  /// Of the best: its cost, and what no schedule of its loops gets below by the model.
  double best = 0, bound = 0;
  std::string how;
  bool isLive;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

/// What was said and is no choice of the space: candidates do not have it in their words, and are others by it.
Json saidBeside(const KernelChoice &choice, const tune::Space &space) {
  const KernelChoice plain;
  Json said = Json::object();
  auto add = [&](const std::string &name, const auto &value, const auto &usual) {
    if (!space.find(name) && value != usual)
      said[name] = value;
  };
  for (const std::string &setting : choice.settings) {
    auto [name, value] = assignment(setting);
    add(name, std::to_string(value), std::string());
  }
  add("schedule", choice.schedule, plain.schedule);
  add("direct_copies", choice.directCopies, plain.directCopies);
  add("staged_writes", choice.stagedWrites, plain.stagedWrites);
  add("boxed_writes", choice.boxedWrites, plain.boxedWrites);
  add("short_sums", choice.shortSums, plain.shortSums);
  add("raster", choice.raster, plain.raster);
  add("cluster", choice.cluster, plain.cluster);
  add("persistent", choice.persistent, plain.persistent);
  add("service_waves", choice.serviceWaves.value_or(-1), int64_t{-1});
  add("workgroups_per_cluster", textOfPerCluster(choice.workgroupsPerCluster), std::string());
  add("overlap_tiles", choice.overlapTiles, plain.overlapTiles);
  add("turns", choice.turns, plain.turns);
  add("dependent_launch", choice.dependentLaunch, plain.dependentLaunch);
  add("stable", listOf(choice.stable), listOf(plain.stable));
  add("workgroups_per_unit", choice.workgroupsPerUnit, plain.workgroupsPerUnit);
  add("mma", choice.mma, plain.mma);
  add("padded_rows", choice.paddedRows, plain.paddedRows);
  add("faithful", choice.faithful, plain.faithful);
  add("waive", choice.waive, plain.waive);
  add("swizzle", choice.swizzle, plain.swizzle);
  add("wide_offsets", choice.wideOffsets, plain.wideOffsets);
  return said;
}

/// What the results are true of.
tune::Subject subjectOf(const TuneCommand &command, const Resolved &resolved, const tune::Space &space,
                        const DeviceIdentity &device) {
  const KernelChoice &choice = command.choice;
  Json kernel = {{"kernel", choice.kernel}, {"dtype", resolved.variant ? resolved.variant->name : ""}};
  kernel["sizes"] = Json(resolved.sizes);
  kernel["dynamic"] = choice.dynamic;
  Json said = saidBeside(choice, space);
  // A file is what it holds, not what it is called.
  if (said.contains("schedule") && !resolved.options.schedule.file.empty())
    said["schedule"] = tune::hashOf(resolved.options.schedule.file);
  if (!said.empty())
    kernel["said"] = std::move(said);
  if (!resolved.text.empty())
    kernel["text"] = tune::hashOf(resolved.text);
  // A kernel of a user's file is what its text says now.
  if (resolved.own)
    kernel["text"] = tune::hashOf(readFile(choice.kernel.substr(0, choice.kernel.find(".cpp") + 4)));
  // Other caches, other times.
  if (!command.device.empty() && command.cache != "warm")
    kernel["cache"] = command.cache;
  if (command.device.empty())
    return {kernel.dump(), modelledOn(choice.target), "", tune::compilerBuild()};
  return {kernel.dump(), device.name + " " + choice.target, device.driver, tune::compilerBuild()};
}

/// ` at M=1024,N=1024` where only the launch knows sizes: `auto` takes the result for all of them.
std::string sizesOf(const Resolved &resolved) {
  std::string text;
  for (const sym::Expr &size : resolved.options.dynamic) {
    std::string name(size.symbolName());
    text += (text.empty() ? " at " : ",") + name + "=" + std::to_string(resolved.sizes.at(name));
  }
  return text;
}

/// What decides the run, in one line; who judges it does not.
std::string settingsOf(const TuneCommand &command, const tune::Space &space, const Resolved &resolved) {
  return Json{{"space", space.text()},
              {"strategy", command.strategy},
              {"budget", command.budget},
              {"moves", command.moves},
              {"patience", command.patience},
              {"seed", command.seed},
              {"generation", command.generation},
              {"set", command.choice.settings},
              {"schedule", command.choice.schedule},
              {"start", Json(startOf(space, command.choice, resolved))}}
      .dump();
}

Json resultJson(const tune::Trial &trial) {
  Json json = Json::parse(toJson(trial.result));
  json.erase("soliton_result");
  Json entry = {{"hash", trial.hash}, {"choices", Json(trial.candidate.choices)}};
  entry["has_schedule"] = !trial.candidate.schedule.empty();
  entry.update(json);
  return entry;
}

Json rejections(const std::vector<tune::Trial> &trials) {
  std::map<std::string, int64_t> counts;
  for (const tune::Trial &trial : trials)
    if (trial.result.isRefused())
      ++counts[trial.result.refusedBy];
  return Json(counts);
}

Json movesJson(const Moves &moves) {
  if (!moves.whyNot.empty())
    return {{"why_not", moves.whyNot}};
  return {{"loop", moves.loop},
          {"start", moves.start},
          {"tried", moves.tried},
          {"refused", moves.refused},
          {"buffers_tried", moves.buffersTried},
          {"seconds", moves.seconds},
          {"per_second", moves.seconds > 0 ? static_cast<double>(moves.tried) / moves.seconds : 0},
          {"per_processor_second",
           moves.processorSeconds > 0 ? static_cast<double>(moves.tried) / moves.processorSeconds : 0},
          {"cycles_before", moves.before},
          {"cycles_at_start", moves.began},
          {"cycles_best", moves.best},
          {"cycles_bound", moves.bound}};
}

/// One run of the command.
class Tuning {
public:
  Tuning(const TuneCommand &command, std::ostream &out, std::ostream &err)
      : command(command), out(out), err(err), judge(command.choice, command.device, command.cache),
        resolved(resolve(command.choice, err)), space(makeSpace(command, resolved)),
        judging(makeJudges(command, judge)), subject(subjectOf(command, resolved, space, judging.device)),
        database(databasePath(command)) {
    if (resolved.options.dynamic.size() > 0 && !resolved.entry)
      throw tune::TuneError(DiagId::NotSupportedHere, "a module whose sizes are known only at launch is not tuned yet",
                            "bind them", {command.choice.kernel, 1, 1});
    // Not behind hours of measuring.
    for (const std::string &path : {command.output, command.html})
      if (!path.empty() && !std::ofstream(path, std::ios::app))
        throw UsageError("cannot write `" + path + "`");
  }

  int run() {
    std::string settings = settingsOf(command, space, resolved);
    if (command.resume && !isBegun(settings))
      throw tune::TuneError(DiagId::TuneResume,
                            "found `--resume`, expected a run of these settings in `" + databasePath(command) + "`",
                            "leave `--resume` out to begin one");
    id = database.begin(subject, settings);
    searchSpace();
    if (best && command.moves > 0)
      searchSchedules();
    database.end(id, ended);
    if (size_t lost = database.unkept())
      err << "soliton: warning: " << lost << " results and decisions could not be kept in `" << databasePath(command)
          << "`: its disk is full, or another program holds it [tune-database]\n";
    if (best && resolved.entry)
      published = whyNotPublished();
    if (best && resolved.entry && published.empty())
      published = publish({command, judge, trials[*best], deviceOfResults(), origin(), sizesOf(resolved)});
    writeFiles();
    return report();
  }

private:
  bool isBegun(const std::string &settings) {
    for (const tune::Run &run : database.runs())
      if (run.subject == subject && run.settings == settings)
        return true;
    return false;
  }

  tune::TuneContext contextFor(Progress &progress) {
    return {judging.judges, &database, subject, id, [&progress](const tune::Trial &trial) { progress.see(trial); }};
  }

  void take(tune::Tuned tuned) {
    for (size_t i = 0; i < tuned.trials.size(); ++i) {
      bool isBest = tuned.best == i && (!best || tuned.trials[i].cost < trials[*best].cost);
      if (isBest)
        best = trials.size();
      trials.push_back(std::move(tuned.trials[i]));
    }
    ended = tuned.ended;
  }

  bool isMeasured() const { return !command.device.empty(); }

  void searchSpace() {
    Progress progress(err, std::min(command.budget, space.size()), howMeasured(command));
    tune::SpaceDomain domain(space, startOf(space, command.choice, resolved));
    tune::TuneOptions options;
    options.strategy = *tune::parseStrategy(command.strategy);
    options.search = {command.seed, std::min(command.budget, space.size()), command.generation};
    options.patience = command.patience;
    options.measures = isMeasured();
    take(tune::tune(
        domain,
        [&](const tune::Point &point) { return tune::Candidate{settled(domain.assignmentOf(point), resolved), ""}; },
        options, contextFor(progress)));
  }

  void searchSchedules() {
    moves = searchMoves(command, judge, trials[*best].candidate);
    if (!moves.whyNot.empty())
      return;
    Progress progress(err, static_cast<int64_t>(moves.candidates.size()), howMeasured(command));
    tune::TuneOptions options;
    options.search = {command.seed, static_cast<int64_t>(moves.candidates.size()), command.generation};
    options.firstDecision = static_cast<int64_t>(trials.size());
    options.measures = isMeasured();
    tune::Trial champion = trials[*best];
    options.champion = &champion;
    std::string before = ended;
    take(tune::tuneAll(moves.candidates, options, contextFor(progress)));
    ended = ended == "bound" || moves.best <= moves.bound ? "bound" : before;
  }

  /// `auto` is not to get slower: where its own choice beats the winner, side by side on the device, it stays. A
  /// sentence that says so, or nothing.
  std::string whyNotPublished() {
    std::optional<tune::Candidate> own = isMeasured() ? choiceOfAuto(command.choice) : std::nullopt;
    const tune::Trial &winner = trials[*best];
    if (!own || own->hash() == winner.hash)
      return {};
    std::optional<tune::Result> duel = database.find(subject, winner.hash, tune::Stage::Duel, own->hash());
    if (!duel) {
      duel = judging.judges({winner.candidate}, {tune::Stage::Duel, &*own, {}}).front();
      database.store(subject, winner.candidate, tune::Stage::Duel, *duel, own->hash());
    }
    if (duel->isRefused() || duel->measuredMicroseconds <= duel->otherMicroseconds)
      return {};
    return "keeps its own choice: " + shown(duel->otherMicroseconds, howMeasured(command)) + " beside the winner's " +
           shown(duel->measuredMicroseconds, howMeasured(command));
  }

  std::string deviceOfResults() const {
    return isMeasured() ? judging.device.text() : modelledOn(command.choice.target);
  }

  /// `run 3 of 2026-11-18 08:30:00, 181.20 us measured with warm caches on NVIDIA H200, 1.34 times as fast as its
  /// start`
  std::string origin() {
    std::ostringstream text;
    for (const tune::Run &run : database.runs())
      if (run.id == id)
        text << "run " << id << " of " << run.begun << ", ";
    text << shown(trials[*best].cost, howMeasured(command)) << sizesOf(resolved)
         << (isMeasured() ? " on " + deviceOfResults() : "");
    if (!trials.front().result.isRefused() && trials[*best].cost > 0)
      text << ", " << std::fixed << std::setprecision(2) << trials.front().cost / trials[*best].cost
           << " times as fast as its start";
    return text.str();
  }

  void writeFiles() {
    std::string page;
    if (best && (!command.html.empty() || !command.output.empty())) {
      CompileAttempt attempt = judge.compileLoops(trials[*best].candidate);
      if (attempt && !attempt.result->loops.empty()) {
        std::vector<sched::ScheduleFile> files;
        for (const sched::LoopReport &loop : attempt.result->loops)
          files.push_back(sched::toFile(loop));
        if (!command.output.empty())
          writeFile(command.output, sched::printText(files));
        const sched::LoopReport &loop = attempt.result->loops.front();
        page = sched::printPage({loop.problem, loop.schedule, loop.program, loop.verified, command.choice.kernel,
                                 command.choice.target, ""});
      }
    }
    if (!command.html.empty())
      writeFile(command.html,
                printTunePage({command, space, command.choice.target, trials, best, ended, moves, std::move(page)}));
  }

  int report() {
    if (command.choice.json) {
      Json json = {{"ok", best.has_value()},
                   {"kernel", command.choice.kernel},
                   {"target", command.choice.target},
                   {"times", isMeasured() ? "measured" : "modelled"},
                   {"cache", isMeasured() ? command.cache : ""},
                   {"strategy", command.strategy},
                   {"seed", command.seed},
                   {"space", space.size()},
                   {"tried", trials.size()},
                   {"known", std::ranges::count_if(trials, &tune::Trial::wasKnown)},
                   {"ended", ended},
                   {"rejected", rejections(trials)},
                   {"run", id},
                   {"database", databasePath(command)}};
      if (!trials.empty())
        json["start"] = resultJson(trials.front());
      if (best)
        json["best"] = resultJson(trials[*best]);
      json["moves"] = movesJson(moves);
      json["auto"] = published;
      out << line(json);
      return best ? 0 : 1;
    }
    printText();
    return best ? 0 : 1;
  }

  void printText() {
    out << command.choice.kernel << " on " << command.choice.target << ": " << trials.size() << " candidates, ended by "
        << ended << "\n";
    Json refused = rejections(trials);
    for (const auto &[filter, count] : refused.items())
      out << "  refused by " << filter << ": " << count << "\n";
    if (!best) {
      out << "  none was accepted; `soliton tune show " << id << "` says why\n";
      return;
    }
    const tune::Trial &winner = trials[*best];
    out << "  start  "
        << (trials.front().result.isRefused() ? "refused" : shown(trials.front().cost, howMeasured(command))) << "\n";
    out << "  best   " << shown(winner.cost, howMeasured(command)) << ", " << winner.result.cycles
        << " cycles, no schedule of these loops below " << winner.result.bound << ", " << winner.result.registers
        << " registers\n";
    if (winner.result.cache == "both")
      out << "  cold   " << shown(winner.result.coldMicroseconds, "measured with cold caches") << "\n";
    for (const auto &[name, value] : winner.candidate.choices)
      out << "    " << name << " = " << value << "\n";
    if (!moves.whyNot.empty())
      out << "  moves  none: " << moves.whyNot << "\n";
    else if (moves.tried > 0)
      out << "  moves  " << moves.tried << " schedules of loop `" << moves.loop << "`, from `" << moves.start
          << "`: " << moves.before << " cycles modelled before, " << moves.best << " after, bound " << moves.bound
          << "\n";
    if (!published.empty() && isMeasured())
      out << "  auto   " << published << "\n";
    if (!command.output.empty())
      out << "wrote " << command.output << forWhat(winner.candidate) << "\n";
    if (!command.html.empty())
      out << "wrote " << command.html << "\n";
  }

  /// A schedule has no tiles: what is to be said beside it. Nothing where nothing was chosen.
  std::string forWhat(const tune::Candidate &winner) const {
    std::string words = wordsOf(winner);
    return words.empty() ? "" : ", for `" + words + " --schedule " + command.output + "`";
  }

  const TuneCommand &command;
  std::ostream &out, &err;
  TuneJudge judge;
  Resolved resolved;
  tune::Space space;
  Judging judging;
  tune::Subject subject;
  tune::Database database;
  int64_t id = 0;
  std::vector<tune::Trial> trials;
  std::optional<size_t> best;
  std::string ended, published;
  Moves moves;
};

} // namespace

std::string databasePath(const TuneCommand &command) {
  if (!command.database.empty())
    return command.database;
  if (const char *said = std::getenv("SOLITON_TUNE_DB"); said && *said)
    return said;
  std::optional<std::filesystem::path> folder = rt::ImageCache::defaultFolder();
  if (!folder)
    throw tune::TuneError(DiagId::TuneDatabase, "there is no folder for the database, expected one for the cache",
                          "say `--database FILE`, or set SOLITON_TUNE_DB");
  std::filesystem::create_directories(*folder);
  return (*folder / "tuning.db").string();
}

static tune::TuneError unknownStrategy(const std::string &said) {
  std::optional<std::string> guess = nearest(said, tune::strategyNames());
  return {DiagId::TuneStrategy, "unknown strategy `" + said + "`, expected " + listOf(tune::strategyNames()),
          guess ? "did you mean `" + *guess + "`?" : "`evolution` is the default"};
}

int tuneKernel(const TuneCommand &command, std::ostream &out, std::ostream &err) {
  if (std::ranges::find(tuneActions(), command.choice.kernel) != tuneActions().end())
    return manageTuning(command, out);
  if (!tune::parseStrategy(command.strategy))
    throw unknownStrategy(command.strategy);
  TuneCommand placed = command;
  if (!command.device.empty() && !command.choice.targetGiven && workersOf(command.workers).ray.empty())
    placed.choice = choiceFor(command.choice, rt::device(command.device));
  if (command.isWorker)
    return serveTuning(placed);
  return Tuning(placed, out, err).run();
}

} // namespace soliton::cli
