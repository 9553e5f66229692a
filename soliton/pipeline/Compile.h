//===- Compile.h - From a declared pipeline to a program ---------------------------===//
//
// Two modes over one declaration.
//
//   exact     (default) the core derives hazards from storage, the fewest barriers, waits by counting, prologue and
//             epilogue by peeling, and proves the result
//   faithful  the framework's own programs, entry by entry: its templates, its one pair of waits, its recipes. The same
//             verifier judges them; what only latency protects is an error that names it, unless it is waived
//
//   CompiledPipeline made = compilePipeline(Pipeline4Wave(geometry));
//   made.ok();                   // every hazard proven
//   toText(made);                // Report.h
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Phases.h"
#include "soliton/pipeline/PipelineSchedule.h"
#include "soliton/schedule/Verify.h"

namespace soliton::pipe {

enum class Mode : uint8_t { Exact, Faithful };
std::string_view nameOf(Mode mode);

struct PipelineOptions {
  Mode mode = Mode::Exact;
  /// Hazards that only latency protects and that are accepted nevertheless.
  std::vector<sched::Waiver> waivers;
};

/// The framework's own program; hazards that only latency protects are accepted for this reason, or, without one, not.
PipelineOptions faithful(std::string waiver = {});

/// What the core made of the pipeline, or found about it.
struct Proof {
  sched::Problem problem;
  sched::Schedule schedule;
  sched::Program program;
  sched::Report report;
  /// Exact: the op of the body that each operation of `problem` is; -1: a barrier or hint that was put in.
  std::vector<int> bodyIndices;
  /// Faithful epilogues: reads of tiles that nobody loads any more, by text.
  std::vector<std::string> deadReads;
  /// Exact: cross-wave hazards of one trip, and the barriers of the kernel.
  int hazards = 0;
  int kernelBarriers = 0;
};

struct CompiledPipeline {
  std::string name;
  Mode mode = Mode::Exact;
  PipelineConfig config;
  ScheduleConfig knobs;
  std::vector<OpDesc> body;
  std::vector<DepEdge> edges;
  OrderResult order;
  /// Faithful, double buffer.
  PipelineProgram blocks;
  std::vector<ScheduleEntry> prologue, kernel, epilogue;
  /// Index in `kernel` at which each block begins.
  std::vector<int> blockStarts;
  std::vector<EntryDep> kernelDeps;
  /// Entries of the prologue before the group behind passes its extra barrier; the others pass theirs at the end.
  int staggerIndex = 0;
  Proof proof;
  std::vector<Diagnostic> diagnostics;
  /// Text of each kernel tag.
  std::map<int, std::string> tagNames;

  /// No errors: well declared, and every hazard proven or waived.
  bool ok() const;
  std::string text(const OpDesc &op) const;
};

CompiledPipeline compilePipeline(const PipelineSchedule &pipeline, const PipelineOptions &options = {});

/// The parts of it, one for each mode (Exact.cpp, Faithful.cpp, Audit.cpp).
void compileExact(const PipelineSchedule &pipeline, const PipelineOptions &options, CompiledPipeline &result);
void compileFaithful(const PipelineSchedule &pipeline, const PipelineOptions &options, CompiledPipeline &result);
/// Judges the lists of a faithful program.
void auditProgram(const PipelineSchedule &pipeline, const PipelineOptions &options, CompiledPipeline &result);

} // namespace soliton::pipe
