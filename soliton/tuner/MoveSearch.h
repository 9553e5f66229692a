//===- MoveSearch.h - Schedules of a loop, by the model alone --------------===//
//
// Thousands of schedules of one loop, each judged by the one verifier and timed by the one model, from the best that an
// algorithm finds; a few of the best are left, to be compiled and checked like any candidate. Buffers are part of the
// search, and at its end the best are given one or two more, shared tile by shared tile: that costs memory and may save
// a barrier. What the model does not know is left to a device: of the best there are then also those whose waves have
// priority while they issue matrix instructions.
//
//   Moves moves = searchMoves(loop, {.strategy = Strategy::Evolution, .seed = 1, .moves = 4000});
//   moves.files.front()                    // the best, as a schedule file of the whole kernel
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/tuner/Search.h"
#include "soliton/tuner/TunedLoop.h"

namespace soliton::tune {

struct MoveOptions {
  Strategy strategy = Strategy::Evolution;
  uint64_t seed = 1;
  /// Schedules that are tried.
  int64_t moves = 4000;
  int generation = 8;
  /// There is a device that can tell whether priorities help.
  bool triesPriorities = false;
};

/// What a search by moves found for one loop.
struct Moves {
  /// Schedule files of the best ones; the best first.
  std::vector<std::string> files;
  std::string loop, start;
  int64_t tried = 0, refused = 0, buffersTried = 0;
  /// What all of them took behind the algorithms, by the clock, and of a processor, which others may use too.
  double seconds = 0, processorSeconds = 0;
  /// Modelled cycles of the launch's share of this loop: before, where the search began, at its end; and the bound.
  int64_t before = 0, began = 0, best = 0, bound = 0;
  /// (candidates tried, least cycles then).
  std::vector<std::pair<int64_t, int64_t>> curve;
  /// Why there is none; empty otherwise.
  std::string whyNot;
};

Moves searchMoves(TunedLoop &loop, const MoveOptions &options);

} // namespace soliton::tune
