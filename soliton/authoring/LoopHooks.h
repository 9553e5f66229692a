//===- LoopHooks.h - Where an instrument may reach into the scheduling of a loop ----===//
//
// The one extension point of `wave-schedule-loops` that is not for users: it is not installed, and a request of a user
// has none. Instruments of this repository (test/attack) look at what was found, or damage it on purpose, at the
// moments below, and may have it built without its proof, so that the emulator can say what the proof was worth.
//
//   auto hooks = std::make_shared<LoopHooks>();
//   hooks->afterSynchronize = [](const Problem &, const Schedule &, Program &program) { program.kernel.pop_back(); };
//   hooks->skipProof = true;
//   options.schedule.hooks = hooks;
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

#include <functional>

namespace soliton::sched {

struct LoopHooks {
  /// The loop is copied into a problem; everything that follows, the proof too, believes what is left here.
  std::function<void(Problem &)> afterProblem = {};
  /// The schedule is found and its buffers are decided; barriers and waits will be derived from what is left here.
  std::function<void(const Problem &, Schedule &)> afterSchedule = {};
  /// Barriers and waits are derived; this is what is verified and built.
  std::function<void(const Problem &, const Schedule &, Program &)> afterSynchronize = {};
  /// Build it whatever the verifier would say.
  bool skipProof = false;
};

} // namespace soliton::sched
