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
// In faithful mode nothing is derived: the kernel runs in the framework's own program, with its waits, its barriers,
// its prologue and epilogue. The verifier judges it on the instructions, and what only latency protects there has to be
// waived:
//
//   options.schedule = pipe::pipeline(pipe::Pipeline4Wave(geometry), pipe::faithful("as shipped"));
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/Request.h"
#include "soliton/authoring/WaveSchedule.h"
#include "soliton/pipeline/Compile.h"

#include <concepts>
#include <memory>

namespace soliton::pipe {

/// Says the pipeline to the loop that is being scheduled. What is wrong is reported there, at the line of the op.
void drive(const PipelineSchedule &pipeline, ScheduleContext &context, const PipelineOptions &options = {});

/// The pipeline as a schedule among others.
WaveSchedule toSchedule(std::shared_ptr<const PipelineSchedule> pipeline, const PipelineOptions &options = {});

/// For `CompileOptions::schedule`.
sched::ScheduleRequest pipeline(std::shared_ptr<const PipelineSchedule> declared, const PipelineOptions &options = {});
template <std::derived_from<PipelineSchedule> Declared>
sched::ScheduleRequest pipeline(Declared declared, const PipelineOptions &options = {}) {
  return pipeline(std::make_shared<const Declared>(std::move(declared)), options);
}

} // namespace soliton::pipe
