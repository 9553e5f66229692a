//===- Blocks.h - A body cut into matrix blocks ------------------------------------===//
//
// A block is what happens around one compute op: fragments and loads in front of it, waits and barriers, priorities. A
// compute op closes its block. Blocks are expanded to flat entries by one of two templates:
//
//   expandBlock         FB FA LA  LGKM(8) BARRIER LGKM(0)  PRIO(1) MMA PRIO(0)  BARRIER SB
//   expandMinimalBlock  VM(4) LGKM(2) BARRIER  FB SB LA  MMA
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Order.h"

namespace soliton::pipe {

enum class Phase : uint8_t { Prologue = 0, Kernel = 1, Epilogue = 2 };
std::string_view nameOf(Phase phase);

/// One place of a phase's list.
struct ScheduleEntry {
  OpDesc op;
  /// Index in the list.
  int timeSlot = 0;
  Phase phase = Phase::Kernel;
  bool isPrefetch = false;

  bool operator==(const ScheduleEntry &) const = default;
};

/// One block. An op that is not present is absent.
struct MmaBlock {
  OpDesc mma, fusedMma;
  std::vector<OpDesc> frags;
  std::vector<OpDesc> loads;
  OpDesc entryWait, entryWaitLgkm, preSync;
  bool preMmaBarrier = true;
  bool preMmaSetPrio = true;
  bool postMmaBarrier = true;
  bool postMmaSetPrio = true;
  bool postBarrierLgkm = true;
  bool trailingSchedBarrier = false;
  bool drainLgkmBeforeLoads = false;
  bool globalBeforeFrag = false;
  bool barrierBeforePreOps = false;
  bool wrapWaits = false;
};

/// What a block can hold in the framework's own programs.
inline constexpr size_t kMaxFragsPerBlock = 2;
inline constexpr size_t kMaxLoadsPerBlock = 2;

struct PipelineProgram {
  std::vector<MmaBlock> blocks;
  /// One list per block that is taken as it is; empty: the template.
  std::vector<std::vector<OpDesc>> explicitBlocks;

  /// All blocks as entries of `phase`.
  std::vector<ScheduleEntry> expand(Phase phase) const;
  /// Index of the first entry of block `block`, and of its compute op.
  int blockStart(int block) const;
  int mmaEntry(int block) const;
};

/// The template with every decoration.
std::vector<OpDesc> expandBlock(const MmaBlock &block);
/// The template of hand-tuned kernels: entry waits, fragments, loads, waits, compute. A scheduling fence always keeps
/// fragments and loads apart: the back end would move shared reads over copies to shared memory.
std::vector<OpDesc> expandMinimalBlock(const MmaBlock &block, bool wrapWaits, bool globalBeforeFrag = false);

/// Entries of `phase` from ops; loads of a later tile are marked where `markPrefetch`.
std::vector<ScheduleEntry> toEntries(std::span<const OpDesc> ops, Phase phase, bool markPrefetch);

/// Cuts `order` of the body into blocks and puts on each the waits and flags that `config` asks for.
PipelineProgram constructBlocks(const LoopBody &body, std::span<const int> order, const PipelineConfig &pipeline,
                                const ScheduleConfig &config);

/// Moves loads above the cap of a block to the first blocks that have room.
void redistributeLoads(PipelineProgram &program, const PipelineConfig &pipeline, const ScheduleConfig &config);

/// The wait for fragments in first blocks and the wait for loads in last blocks, one pair for the program.
struct BlockWaits {
  int lgkmFirst = 0;
  int vmLast = 0;
  bool operator==(const BlockWaits &) const = default;
};
BlockWaits deriveBlockWaits(const PipelineProgram &program, const PipelineConfig &pipeline,
                            const ScheduleConfig &config);

/// Bit b: block b has fragments and loads of different channels.
uint32_t deriveDrainMask(const PipelineProgram &program);

/// From a body and its edges to dressed blocks, and what is wrong with them.
struct KernelProgram {
  PipelineProgram program;
  OrderResult order;
  std::vector<Diagnostic> diagnostics;
};
KernelProgram buildKernelProgram(const LoopBody &body, const PipelineConfig &pipeline, const ScheduleConfig &config);

/// What must hold of blocks whoever made them: no more loads and fragments than fit, fragments of the half's own stage
/// unless they rotate, a load of a later tile.
std::vector<Diagnostic> verifyBlocks(const PipelineProgram &program, const PipelineConfig &pipeline);

} // namespace soliton::pipe
