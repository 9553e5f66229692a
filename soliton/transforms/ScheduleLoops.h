//===- ScheduleLoops.h - The pass that schedules loops -----------------------------===//
#pragma once

#include "soliton/authoring/Request.h"

#include "mlir/Pass/Pass.h"

namespace soliton {

/// Schedules every innermost loop as the request says.
std::unique_ptr<mlir::Pass> createScheduleLoopsPass(sched::ScheduleRequest request);

} // namespace soliton
