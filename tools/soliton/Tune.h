//===- Tune.h - soliton tune: what it takes, and its parts ------------------------------------------===//
//
//   TuneJudge.cpp      what a candidate of a kernel comes to: compiled, modelled, run on the emulator
//   TuneDevice.cpp     how long it takes on a device
//   TuneWorkers.cpp    the same in processes of their own
//   TuneSpace.cpp      which choices a kernel has
//   TuneMoves.cpp      schedules of its longest loop, by moves
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
  /// 0: in this process.
  int workers = 2;
  double timeout = 60;
  std::string database;
  bool resume = false;
  std::string html, output;
  /// This process is a worker.
  bool isWorker = false;
  std::string device;
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

class TuneBench;

/// Judges candidates of one kernel in this process.
class TuneJudge {
public:
  /// `device` measures; empty: nothing does.
  explicit TuneJudge(KernelChoice choice, std::string device = {});
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
  /// Whether it computes what it must on a device, at small sizes. Throws CompileError where the device says so.
  tune::Result answer(const tune::Candidate &candidate, rt::Device &device) const;

private:
  tune::Result model(const tune::Candidate &candidate) const;
  tune::Result answerOnEmulator(const tune::Candidate &candidate) const;
  kernels::Sizes smallSizes(const Resolved &resolved, int64_t more) const;

  KernelChoice choice;
  std::string device;
  /// Made when the first candidate is measured.
  mutable std::unique_ptr<TuneBench> bench;
};

/// Measures candidates on a device: arguments are placed once, kernels one after the other.
class TuneBench {
public:
  TuneBench(const TuneJudge &judge, const std::string &device);
  ~TuneBench();

  /// Right before and after it is timed; in turn with `other`, if there is one.
  tune::Result measure(const tune::Candidate &candidate, const tune::Candidate *other);

private:
  struct Loaded;
  std::unique_ptr<Loaded> load(const tune::Candidate &candidate);
  void sample(Loaded &kernel, std::vector<double> &microseconds, bool isFirst);

  const TuneJudge &judge;
  rt::Device &device;
  struct Arguments;
  std::unique_ptr<Arguments> arguments;
};

/// What results of a device are true of: its driver, as far as the system tells.
std::string driverOf(const rt::Device &device);

/// Answers requests on standard input until it ends; returns the exit code.
int serveTuning(const TuneCommand &command);
/// Judges by workers, or here where there are to be none.
tune::Judges makeJudges(const TuneCommand &command, const std::vector<std::string> &arguments, const TuneJudge &here);

/// The space that the command says, or that follows from kernel and target. Throws UsageError.
tune::Space makeSpace(const TuneCommand &command, const Resolved &resolved);
/// Where a search of it starts: the kernel's own tiles, and what was said.
tune::Assignment startOf(const tune::Space &space, const KernelChoice &choice, const Resolved &resolved);

//===- Schedules ----------------------------------------------------------------------------------===//

/// What a search by moves found for the longest loop.
struct Moves : tune::Moves {
  /// The best schedules, as candidates; the best first.
  std::vector<tune::Candidate> candidates;
};
Moves searchMoves(const TuneCommand &command, const TuneJudge &judge, const tune::Candidate &base);

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
