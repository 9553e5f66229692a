//===- Report.h - Pipelines as text and JSON ---------------------------------------===//
//
//   pipeline4wave, exact: 24 ops, 8 blocks, 16 hazards, 4 barriers a trip
//   kernel
//     b0   VM(4) LGKM(0) BARRIER  LOAD_A[s0,0]@K0 MMA_LOAD_B[s0,1] MMA[0,0]
//   in flight
//     b0   wait 4 leaves A10 B10 B11 A11
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Compile.h"

namespace soliton::pipe {

/// What one wait for loads, or for products that are under way, completes and leaves in the steady state, oldest first:
/// loads as the storage that they fill, products by name.
struct FlightRow {
  int block = 0;
  /// Index in the kernel, and what it waits for.
  int entry = 0;
  int value = 0;
  std::vector<std::string> completed, left;
  /// `vm`; `boxes` and `mma`, whose values are groups.
  std::string counter = "vm";
};
std::vector<FlightRow> traceFlight(const CompiledPipeline &pipeline);

/// Waits, barriers and fences of a list.
struct WaitCounts {
  int vm = 0, lgkm = 0;
  /// A vm wait directly in front of an lgkm wait: one instruction.
  int combined = 0;
  int barriers = 0;
  int schedBarriers = 0;

  bool operator==(const WaitCounts &) const = default;
};
WaitCounts countWaits(std::span<const ScheduleEntry> entries);

/// The block that entry `index` of the kernel belongs to.
int blockOfEntry(const CompiledPipeline &pipeline, int index);

/// `PROLOGUE [8] VM s=0 sub=0 k=- wait=7 pf=0`, for comparing with other implementations.
std::string entryText(const CompiledPipeline &pipeline, const ScheduleEntry &entry);

/// Blocks of a faithful program: fragments, loads (for a later trip or completing a stage), compute op, drain.
std::string blocksText(const CompiledPipeline &pipeline);

struct ReportOptions {
  bool edges = false;
  bool costs = false;
};
/// The program for people: phases by blocks, what is in flight, hazards that are not proven.
std::string toText(const CompiledPipeline &pipeline, const ReportOptions &options = {});

} // namespace soliton::pipe
