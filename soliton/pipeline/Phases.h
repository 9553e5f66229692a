//===- Phases.h - What comes before and behind the kernel --------------------------===//
//
// The framework's own prologues and epilogues. A double-buffer pipeline gets them from its blocks: all prefetching
// loads once; all blocks again without them. A single-buffer pipeline gets them from recipes:
//
//   prologue   load, store, barrier, load, loop-carried fragment, fence
//   epilogue   fence, other fragments, barrier, store, computes, fence, barrier, fragments, computes, fence
//
// The exact mode uses none of this: it peels the schedule (Compile.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Blocks.h"

namespace soliton::pipe {

/// The prefetching loads of all blocks, stage by stage, with waits for all of them; or, where `partialPrologueDrain`
/// asks for it, with one wait, barrier and fragment for each of `bootstrap`.
std::vector<ScheduleEntry> derivePrologue(const PipelineProgram &program, const PipelineConfig &pipeline,
                                          const ScheduleConfig &config, std::span<const OpDesc> bootstrap);

/// The blocks without prefetching loads; a block that has only its compute op left joins the one before.
std::vector<ScheduleEntry> deriveEpilogue(const PipelineProgram &program, const PipelineConfig &pipeline);

/// One step of a recipe: emit ops of a role from the body, in its order, or a barrier, or a fence.
enum class PhaseAction : uint8_t { Emit = 0, Barrier = 1, Fence = 2 };
struct PhaseStep {
  PhaseAction action = PhaseAction::Emit;
  OpRole role = OpRole::None;
  Carried carried = Carried::Any;
  /// All that match; otherwise the first.
  bool all = false;
};

std::vector<PhaseStep> singleBufferPrologueRecipe();
std::vector<PhaseStep> singleBufferEpilogueRecipe();
std::vector<ScheduleEntry> applyRecipe(std::span<const PhaseStep> recipe, std::span<const OpDesc> body,
                                       const PipelineConfig &config, Phase phase);

/// What the hints of a single-buffer kernel are counted from: its matrix instructions and loads per thread.
struct HintShape {
  int m = 1, n = 1, k = 1;
  int mmaM = 16, mmaN = 16;
  int aLoads = 1, bLoads = 1;
};
/// The same, counted: shared reads of one fragment op, matrix instructions and stores of a tile.
struct HintCounts {
  int readsPerFragment = 1;
  int mmas = 1;
  int stores = 1;
  /// Matrix instructions of 32x32: one covers a shared read, of smaller ones two.
  bool large = false;
};
std::vector<OpDesc> groupHints(std::span<const OpDesc> body, const PipelineConfig &config, const HintCounts &counts);
/// Puts behind `entries` the group hints that spread shared reads, writes and global reads among matrix instructions.
void appendGroupHints(std::vector<ScheduleEntry> &entries, std::span<const OpDesc> body, const PipelineConfig &config,
                      const HintShape &shape);

/// Pairs of kernel entries for reports: in each half the first sync and the first lgkm wait to the first compute op,
/// and each of the first three compute ops to the next.
struct EntryDep {
  int from = 0;
  int to = 0;
  bool operator==(const EntryDep &) const = default;
};
std::vector<EntryDep> deriveKernelDeps(std::span<const ScheduleEntry> kernel, const PipelineConfig &config);

/// How many entries of the prologue run before the second group of waves falls behind.
int staggerIndex(std::span<const OpDesc> body, size_t prologueSize, const PipelineConfig &config);

} // namespace soliton::pipe
