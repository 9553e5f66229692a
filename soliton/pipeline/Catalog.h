//===- Catalog.h - The pipelines that ship, by name --------------------------------===//
//
//   MadePipeline made = makePipeline({.name = "ping_pong", .shape = {.bm = 256, .bn = 256, .bk = 64}});
//   compilePipeline(*made.pipeline);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Geometry.h"
#include "soliton/pipeline/PipelineSchedule.h"

#include <memory>

namespace soliton::pipe {

/// `pipeline4wave`, `ping_pong`, `single_buffer`.
const std::vector<std::string> &pipelineNames();

struct PipelineChoice {
  std::string name;
  /// Of the double-buffer pipelines; left out: 128x128x64 for four waves, 256x256x64 for ping-pong.
  TileShape shape;
  /// Steps along K of the single-buffer pipeline.
  int steps = 2;
  /// Whose counters, widths and latencies the program is in; empty: gfx950's.
  std::string target = {};
};

struct MadePipeline {
  std::unique_ptr<PipelineSchedule> pipeline;
  KernelGeometry geometry;
  /// `schedule-unknown`, `pipeline-geometry`, `unknown-target`, `not-supported-here`.
  std::vector<Diagnostic> errors;
};

MadePipeline makePipeline(const PipelineChoice &choice, Where where = std::source_location::current());

} // namespace soliton::pipe
