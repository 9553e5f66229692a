//===- Trace.h - A schedule as a trace for Perfetto ------------------------===//
//
// The modelled run (Timeline.h) in the Chrome trace event format, which ui.perfetto.dev and chrome://tracing open: a
// process per wave group, a track per unit, waiting and barriers, arrows along dependences, and counters of what is in
// flight and of live registers. One cycle is one microsecond of the trace.
//
//   {"name": "mma/0.0.1", "ph": "X", "ts": 16, "dur": 16, "pid": 1, "tid": 3, "args": {"iteration": 0, …}}
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/display/Picture.h"

namespace soliton::sched {

/// At most so many arrows leave an event, so that the file grows with the number of events.
inline constexpr int kMostFlows = 8;

/// One JSON object; ends in a newline.
std::string printTrace(const Picture &picture);

} // namespace soliton::sched
