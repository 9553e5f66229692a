//===- Tune.h - soliton tune: what it takes, and its parts ------------------------------------------===//
//
//   TuneJudge.cpp      what a candidate of a kernel comes to: compiled, modelled, run on the emulator
//   TuneDevice.cpp     how long it takes on a device
//   TuneWorkers.cpp    the same in processes of their own
//   TuneRecorded.cpp   or from a recording
//   TuneRay.cpp        and on other machines
//   TuneSpace.cpp      which choices a kernel has
//   TuneChoices.cpp    and what somebody may say of them
//   TuneMoves.cpp      schedules of its longest loop, by moves
//   TunePublish.cpp    what `auto` takes of it
//   TuneReport.cpp     the page
//   TuneStore.cpp      list, show, best, export, import, verify
//   Tune.cpp           the command
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/tuner/MoveSearch.h"
#include "soliton/tuner/Space.h"
#include "soliton/tuner/Tune.h"
#include "tools/soliton/Commands.h"

namespace soliton::cli {

struct TuneCommand {
  /// A kernel, or one of `tuneActions`.
  KernelChoice choice;
  /// What an action is about: a run, a hash, a file.
  std::string about;
  /// `auto`, `none`, or `NAME=VALUE,VALUE`.
  std::vector<std::string> space;
  /// Formulas that must not be 0.
  std::vector<std::string> where;
  std::string strategy = "evolution";
  int64_t budget = 60, moves = 4000, patience = 0;
  uint64_t seed = 1;
  int generation = 8;
  /// `4` or `local:4` processes, 0 of them: in this one; `ray://auto`, `ray://local`, `ray://HOST:PORT`: a cluster's.
  std::string workers = "2";
  double timeout = 60;
  std::string database;
  bool resume = false;
  std::string html, output;
  /// This process is a worker.
  bool isWorker = false;
  std::string device;
  /// warm, cold or both: whether what is timed finds its arguments in caches.
  std::string cache = "warm";
};

/// Who judges: processes of this machine, or those of a cluster.
struct WorkerChoice {
  int count = 0;
  /// What follows `ray://`; empty: this machine.
  std::string ray;
};
/// What `--workers` says. Throws TuneError.
WorkerChoice workersOf(const std::string &said);

/// What measures: results are of it alone.
struct DeviceIdentity {
  std::string name, driver;

  /// As `tunedDevice` says it.
  std::string text() const { return name + (driver.empty() ? "" : ", driver " + driver); }
};

/// list, show, best, export, import, verify.
const std::vector<std::string> &tuneActions();
int tuneKernel(const TuneCommand &command, std::ostream &out, std::ostream &err);
int manageTuning(const TuneCommand &command, std::ostream &out);
/// `--database`, else `SOLITON_TUNE_DB`, else `tuning.db` beside the cache's kernels.
std::string databasePath(const TuneCommand &command);

//===- A kernel's candidates ----------------------------------------------------------------------===//

/// The choice with what a candidate says in its place.
KernelChoice chosen(const KernelChoice &choice, const tune::Candidate &candidate);

/// What is bound when it is launched: also the sizes that the compiler does not know, as the command says them.
lang::Substitutions withSizes(const Resolved &resolved);

class TuneBench;

/// What a device of that name loads.
rt::ImageKind imageForName(const std::string &device);

/// Judges candidates of one kernel in this process.
class TuneJudge {
public:
  /// `device` measures, with such caches; empty: nothing does.
  explicit TuneJudge(KernelChoice choice, std::string device = {}, std::string cache = "warm");
  ~TuneJudge();

  /// Never throws: what cannot be judged is refused, and says why.
  tune::Result judge(const tune::Candidate &candidate, const tune::Question &question) const;
  /// Compiled for the emulator, with the reports of its loops. Throws UsageError.
  CompileAttempt compileLoops(const tune::Candidate &candidate) const;
  /// How a loop of it would be launched.
  sched::Launch launchOf(const tune::Candidate &candidate, const CompileResult &compiled,
                         const sched::LoopReport &loop) const;
  /// With other sizes, if they are given.
  Resolved resolvedFor(const tune::Candidate &candidate, const kernels::Sizes *sizes = nullptr) const;
  /// For a device, as it was compiled before or is now; with other sizes, if they are given. Where SOLITON_TUNE_SHARED
  /// is set, by way of the cache: then another worker may have compiled it.
  const CompileAttempt &compiled(const tune::Candidate &candidate, const kernels::Sizes *sizes,
                                 rt::ImageKind kind) const;
  /// Compiles what `measure` on that kind of device will load, into the cache; nothing runs.
  void build(const tune::Candidate &candidate) const;
  /// Whether it computes what it must on a device, at a small size, or at three of them. Throws CompileError where the
  /// device says so.
  tune::Result answerOn(rt::Device &device, const tune::Candidate &candidate, bool isThorough) const;

private:
  tune::Result model(const tune::Candidate &candidate) const;
  tune::Result answerOnEmulator(const tune::Candidate &candidate) const;
  tune::Result answer(const tune::Candidate &candidate, rt::Device &device, std::span<const int64_t> larger) const;
  kernels::Sizes smallSizes(const Resolved &resolved, int64_t more) const;

  KernelChoice choice;
  std::string device, cache;
  mutable std::map<std::string, CompileAttempt> made;
  /// Made when the first candidate is measured.
  mutable std::unique_ptr<TuneBench> bench;
};

/// Measures candidates on a device: arguments are placed once, kernels one after the other.
class TuneBench {
public:
  TuneBench(const TuneJudge &judge, const std::string &device, std::string cache);
  ~TuneBench();

  /// Right before and after it is timed; in turn with `other`, if there is one.
  tune::Result measure(const tune::Candidate &candidate, const tune::Candidate *other);

private:
  struct Loaded;
  std::unique_ptr<Loaded> load(const tune::Candidate &candidate);
  void sample(Loaded &kernel, std::vector<double> &microseconds, bool isFirst, bool isCold);

  const TuneJudge &judge;
  rt::Device &device;
  std::string cache;
  struct Arguments;
  std::unique_ptr<Arguments> arguments;
};

/// What was found out before, for workers that answer with it.
class Recording {
public:
  /// A file that `soliton tune export` wrote. Throws UsageError where it can't be read.
  explicit Recording(const std::string &path);

  /// After a moment that is never the same. `other` is the hash of whom a duel is with.
  tune::Result answer(const std::string &hash, tune::Stage stage, const std::string &other) const;

private:
  const tune::Result *find(const std::string &hash, const std::string &stage) const;
  /// Alone on the device; nothing where not even the model has judged it.
  std::optional<tune::Result> onDevice(const std::string &hash) const;

  /// Measured times over modelled ones.
  double slowness = 1;
  /// By hash and the row's name.
  std::map<std::pair<std::string, std::string>, tune::Result> rows;
};

/// Answers requests on standard input until it ends; returns the exit code.
int serveTuning(const TuneCommand &command);

/// Who judges, and on what.
struct Judging {
  tune::Judges judges;
  /// Of the device, where there is one.
  DeviceIdentity device;
};
/// By workers, or here where there are to be none. Throws TuneError.
Judging makeJudges(const TuneCommand &command, const TuneJudge &here);
/// The words by which a process becomes a worker for this command.
std::vector<std::string> workerCommand(const TuneCommand &command);
/// A request as a line, and the result in an answer to one about `hash`.
std::string requestOf(const tune::Candidate &candidate, const tune::Question &question);
std::optional<tune::Result> resultIn(const std::string &line, const std::string &hash);
/// On a cluster of Ray.
Judging makeRayJudges(const TuneCommand &command, const std::string &address);

/// The space that the command says, or that follows from kernel and target. Throws UsageError.
tune::Space makeSpace(const TuneCommand &command, const Resolved &resolved);
/// What the command says of choices: tiles and options that are not as usual.
tune::Assignment saidOf(const KernelChoice &choice);
/// How a command says what a candidate chooses, but for its schedule: `--set BLOCK_M=64 --direct-copies on`.
std::string wordsOf(const tune::Candidate &candidate);
/// Throws TuneError for a choice that the kernel does not have, a value that it does not take, and a list without what
/// the command says beside it.
void checkChoice(const tune::Choice &made, const KernelChoice &choice, const Resolved &resolved);
/// A candidate's choices with those that follow from others: equal ones become one candidate.
tune::Assignment settled(tune::Assignment said, const Resolved &resolved);
/// Where a search of it starts: the kernel's own tiles, and what was said.
tune::Assignment startOf(const tune::Space &space, const KernelChoice &choice, const Resolved &resolved);

//===- Schedules ----------------------------------------------------------------------------------===//

/// What a search by moves found for the longest loop.
struct Moves : tune::Moves {
  /// The best schedules, as candidates; the best first.
  std::vector<tune::Candidate> candidates;
};
Moves searchMoves(const TuneCommand &command, const TuneJudge &judge, const tune::Candidate &base);

//===- For auto -----------------------------------------------------------------------------------===//

/// A winner, and where `auto` may take it.
struct Publication {
  const TuneCommand &command;
  const TuneJudge &judge;
  const tune::Trial &winner;
  /// `tunedDevice` or `modelledOn`.
  std::string device;
  /// Run, date, time, by how much it is faster.
  std::string origin;
  /// As `origin` has them, where only the launch knows sizes: times at others say nothing of these.
  std::string sizes = {};
};
/// Leaves it for `auto` (driver/Tuned.h); says what became of that in one sentence.
std::string publish(const Publication &publication);
/// What `auto` takes of the kernel without tuned results, as a candidate; nothing where it takes no tiles, or is no
/// matter of choices.
std::optional<tune::Candidate> choiceOfAuto(const KernelChoice &choice);

//===- The page -----------------------------------------------------------------------------------===//

struct TuneStory {
  const TuneCommand &command;
  const tune::Space &space;
  std::string target;
  std::vector<tune::Trial> trials;
  std::optional<size_t> best;
  std::string ended;
  Moves moves;
  /// The page of the winner's longest loop.
  std::string schedulePage;
};
std::string printTunePage(const TuneStory &story);

} // namespace soliton::cli
