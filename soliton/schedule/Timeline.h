//===- Timeline.h - When everything would happen, by the model -------------===//
//
// Runs a program for a few trips through the model of time (Issue.h) and lays out what happens for drawing: events with
// their times, units with who keeps them busy, counters and registers as curves.
//
//   load a      start 0    done 500                     vm 1 in flight until 500
//   wait vm 0   start 500  (500 cycles after `ready`)   blames load a
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Issue.h"

namespace soliton::sched {

/// One executed entry of one group.
struct Event {
  const Entry *entry = nullptr;
  Location where;
  int group = 0;
  /// The iteration of the source loop that it belongs to, and the trip of the kernel (-1 outside of it).
  int iteration = 0;
  int trip = -1;
  /// Everything before it was issued; it is issued; its units are free again; its result is there.
  int64_t ready = 0;
  int64_t start = 0;
  int64_t end = 0;
  int64_t done = 0;
  Stall stall = Stall::None;
  /// The event that it waited for, -1 if none.
  int blame = -1;
};

/// A unit of a resource is busy with an event.
struct Bar {
  int event = 0;
  /// Negative for ops that reserve nothing (laneWithoutUnit).
  int resource = 0;
  /// Which of the resource's units.
  int unit = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Ops that reserve no unit are still drawn, memory operations apart from the rest.
int laneWithoutUnit(OpKind kind);
/// The name of a resource, or of such a lane.
std::string laneName(const Problem &problem, int resource);
inline constexpr int kLanesWithoutUnit = 3;
/// Resources and such lanes from top to bottom.
std::vector<int> laneOrder(const Problem &problem);

/// A number that changes over time: (time, value from then on).
struct Series {
  int group = 0;
  /// The counter; -1: registers.
  int counter = -1;
  std::vector<std::pair<int64_t, int64_t>> steps;

  int64_t highest() const;
};

/// The part of a group's run that one phase, or one trip of the kernel, takes.
struct Span {
  int group = 0;
  Phase phase = Phase::Prologue;
  int trip = -1;
  int64_t begin = 0;
  int64_t end = 0;
};

struct Timeline {
  /// Group after group, each in order of issue.
  std::vector<Event> events;
  std::vector<Bar> bars;
  std::vector<Span> spans;
  /// Outstanding work of each counter that is used, and live registers, by group.
  std::vector<Series> inFlight;
  std::vector<Series> registers;
  /// When the last result is there.
  int64_t length = 0;
  /// Trips of the kernel and iterations of the source loop that ran.
  int trips = 0;
  int iterations = 0;
  /// Set if waves would wait for each other for ever; the run then goes on regardless.
  bool deadlock = false;

  /// The span of that trip of the kernel, or null.
  const Span *kernelTrip(int group, int trip) const;
};

/// The run of `trips` trips of the kernel (none where the program is for one trip count only).
Timeline makeTimeline(const Problem &problem, const Schedule &schedule, const Program &program, int trips);

/// steadyInterval() of Issue.h, from the problem alone.
int64_t steadyInterval(const Problem &problem, const Schedule &schedule, const Program &program);

} // namespace soliton::sched
