//===- Pipelines.h - The road a kernel takes ----------------------------------------===//
#pragma once

#include "soliton/authoring/Request.h"

#include "mlir/Pass/PassManager.h"

namespace soliton {

/// From `Traced` to `Synchronized`: everything that is decided on tiles and instructions.
/// `explainLayouts`: remarks say what was chosen.
void buildScheduledPipeline(mlir::OpPassManager &pm, const sched::ScheduleRequest &schedule,
                            bool explainLayouts = false);
/// The same, loops as they were written.
void buildWavePipeline(mlir::OpPassManager &pm);
/// From `Synchronized` to the machine form.
void buildMachinePipeline(mlir::OpPassManager &pm);
/// Makes the passes and both pipelines known to the command line of `soliton-opt`.
void registerPipelines();

} // namespace soliton
