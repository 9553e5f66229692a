//===- Pipelines.h - The road a kernel takes ----------------------------------------===//
#pragma once

#include "soliton/authoring/Request.h"

#include "mlir/Pass/PassManager.h"

namespace soliton {

/// From `Traced` to `Indexed`: who computes what.
void buildIndexedPipeline(mlir::OpPassManager &pm);
/// From `Traced` to `Scheduled`: all but the barriers and waits that the whole kernel still lacks.
void buildOrderedPipeline(mlir::OpPassManager &pm, const sched::ScheduleRequest &schedule, bool explainLayouts = false);
/// From `Traced` to `Synchronized`: everything that is decided on tiles and instructions.
/// `explainLayouts`: remarks say what was chosen.
void buildScheduledPipeline(mlir::OpPassManager &pm, const sched::ScheduleRequest &schedule,
                            bool explainLayouts = false);
/// The same, loops as they were written.
void buildWavePipeline(mlir::OpPassManager &pm);
/// From `Synchronized` to the machine form. `wideOffsets`: for launches of any size.
void buildMachinePipeline(mlir::OpPassManager &pm, bool wideOffsets = false);
/// All passes of these pipelines by name, each once, in the order in which they run.
std::vector<std::string> passNames();
/// Makes the passes and both pipelines known to the command line of `soliton-opt`.
void registerPipelines();

} // namespace soliton
