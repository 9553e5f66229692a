//===- TileProgram.h - A shipped program, K tile by K tile -------------------------===//
//
// A trip of a faithful program is as many K tiles as it has halves; an iteration of a kernel's loop is one. The halves
// of the kernel are equal but for the stage, so one of them is the loop, and what stands around it is numbered by
// tiles:
//
//   prologue   LOAD_A[s0,0] of tile 0, …, LOAD_A[s1,1] of tile 1, VM(14), BARRIER, MMA_LOAD_A[s0,0] of tile 0
//   kernel     VM(8) LGKM(4) BARRIER, MMA_LOAD_B[s0,1] of this tile, LOAD_A[s0,0] two tiles ahead, MMA[0,0], …
//   epilogue   MMA_LOAD_B[s0,1] of the last tile but one, …
//
// Reads behind the loop of tiles that nobody loads any more are left out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/WaveSchedule.h"
#include "soliton/pipeline/Compile.h"

namespace soliton::pipe {

struct TileEntry {
  /// Index in the body; -1: `mark`.
  int op = -1;
  /// A wait, barrier, priority or fence.
  OpDesc mark;
  /// From the first tile (prologue), from that of the iteration (kernel), or from the end (epilogue: negative).
  int tile = 0;
  /// Of a barrier: the groups of waves that pass it.
  sched::GroupMask groups = sched::kAllGroups;
};

struct TileProgram {
  std::vector<TileEntry> prologue, kernel, epilogue;
};

/// Nothing where the halves of the kernel differ. `made` is faithful and has lists.
std::optional<TileProgram> byTiles(const PipelineSchedule &pipeline, const CompiledPipeline &made);

/// What a schedule puts in for a mark.
AddedOp addedFor(const OpDesc &mark, const Place &place);

} // namespace soliton::pipe
