//===- TuneMoves.cpp - Schedules of a kernel's longest loop, by moves -------------------------------===//

#include "soliton/target/Priority.h"
#include "tools/soliton/Tune.h"

namespace soliton::cli {

Moves searchMoves(const TuneCommand &command, const TuneJudge &judge, const tune::Candidate &base) {
  Moves moves;
  CompileAttempt attempt = judge.compileLoops(base);
  if (!attempt || attempt.result->loops.empty()) {
    moves.whyNot = "the kernel has no loop that is scheduled";
    return moves;
  }
  std::vector<sched::Launch> launches;
  for (const sched::LoopReport &loop : attempt.result->loops)
    launches.push_back(judge.launchOf(base, *attempt.result, loop));
  tune::TunedLoop loop(attempt.result->loops, *findTarget(attempt.result->image.target), launches);
  tune::MoveOptions options{*tune::parseStrategy(command.strategy), command.seed, command.moves, command.generation};
  options.triesPriorities = !command.device.empty() && hasWavePriority(*findTarget(attempt.result->image.target));
  static_cast<tune::Moves &>(moves) = tune::searchMoves(loop, options);
  for (const std::string &file : moves.files) {
    moves.candidates.push_back(base);
    moves.candidates.back().schedule = file;
  }
  return moves;
}

} // namespace soliton::cli
