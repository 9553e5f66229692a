//===- Drive.h - A declared pipeline on the loop of a kernel -----------------------===//
//
// The declaration says what one trip does; a kernel of the language says it in instructions. Driving puts the second in
// the order of the first:
//
//   options.schedule = pipe::pipeline(pipe::Pipeline4Wave(geometry));
//   compile(gemm, options);
//
// One K tile of the declaration is one iteration of the kernel's loop: of a body with two halves, which are equal, the
// first one is taken, and the loop is unrolled by as many stages as there are, so that each copy knows its buffers. The
// instructions of an op are those that PipelineSchedule::selects names; the stage of each follows from how many K tiles
// ahead the op works. Barriers, waits, prologue and epilogue are not taken over from the program of the declaration:
// the core derives them again, from what the instructions really touch, and proves them.
//
// Where a kernel brings its tiles through registers, a load that the declaration means for shared memory is the store,
// and the load of the tile behind it stands right after.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/Request.h"
#include "soliton/authoring/WaveSchedule.h"
#include "soliton/pipeline/PipelineSchedule.h"

#include <concepts>
#include <memory>

namespace soliton::pipe {

/// Says the pipeline to the loop that is being scheduled. What is wrong is reported there, at the line of the op.
void drive(const PipelineSchedule &pipeline, ScheduleContext &context);

/// The pipeline as a schedule among others.
WaveSchedule toSchedule(std::shared_ptr<const PipelineSchedule> pipeline);

/// For `CompileOptions::schedule`.
sched::ScheduleRequest pipeline(std::shared_ptr<const PipelineSchedule> declared);
template <std::derived_from<PipelineSchedule> Declared>
sched::ScheduleRequest pipeline(Declared declared) {
  return pipeline(std::make_shared<const Declared>(std::move(declared)));
}

} // namespace soliton::pipe
