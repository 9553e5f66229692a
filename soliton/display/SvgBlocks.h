//===- SvgBlocks.h - A timeline as few, large blocks -------------------------===//
//
// What Svg.cpp draws: bars of one lane that do the same for the same iteration and stand close together are one block,
// events in which the wave waits for the same thing are one pause.
//
//   load #1  0..4   load #1  4..8   store #1  200..204     ->     load #1 0..8 (under way until 190), store #1 200..204
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/display/Summary.h"

namespace soliton::sched {

/// Units as someone who wrote only the kernel knows them, in the order in which data passes them.
enum class UnitClass : uint8_t { GlobalMemory, SharedMemory, Memory, Arithmetic, Matrix };

struct SvgLane {
  int group = 0;
  int resource = 0;
  int unit = 0;
  UnitClass kind = UnitClass::Arithmetic;
  std::string name;
};

struct SvgBlock {
  int lane = 0;
  int iteration = 0;
  /// `load read_a, read_b`, and shorter ways to say it.
  std::vector<std::string> labels;
  /// Where the unit is busy, ascending.
  std::vector<std::pair<int64_t, int64_t>> busy;
  /// When the last result is there.
  int64_t done = 0;
  /// For hovering.
  std::string title;

  int64_t begin() const { return busy.front().first; }
  int64_t end() const { return busy.back().second; }
};

/// The waves of a group stand still.
struct SvgPause {
  int group = 0;
  Stall stall = Stall::None;
  std::vector<std::string> labels;
  int64_t begin = 0;
  int64_t end = 0;
};

struct SvgBlocks {
  std::vector<SvgLane> lanes;
  std::vector<SvgBlock> blocks;
  std::vector<SvgPause> pauses;
};

/// Bars less than `gap` cycles apart become one block.
SvgBlocks makeBlocks(const Picture &picture, const Timeline &timeline, int64_t gap);

} // namespace soliton::sched
