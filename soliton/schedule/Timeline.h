//===- Timeline.h - When everything would happen, by the model -------------===//
//
// Runs a program for a few trips and gives every entry a time, so that it can be drawn. Each wave group issues its
// entries in order:
//
//   an op        waits for the registers it reads, and for its units
//   a wait       waits until no more than `value` ticks of its counter are outstanding
//   a barrier    waits for all groups, the k-th of one meeting the k-th of the others (so a stagger shows)
//
// Where the schedule's cycles are machine cycles an op also waits for its own cycle, and what arrives late shifts the
// rest; where they are only an order, one op is issued a cycle. All of it is modelled, nothing is measured, and whoever
// prints a time must say so.
//
//   load a      start 0    done 500                     vm 1 in flight until 500
//   wait vm 0   start 500  (500 cycles after `ready`)   blames load a
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Picture.h"

namespace soliton::sched {

/// What kept an entry from being issued at once.
enum class Stall : uint8_t { None, Register, Unit, Counter, Barrier, Phase, Plan };
/// For people: "a register that is not there yet".
std::string_view nameOf(Stall stall);

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
  /// Which of the resource's units; beyond their number where reservations overlap.
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

/// Cycles per trip of the kernel once the prologue is no longer felt, of the slowest group; 0 without a kernel.
double steadyInterval(const Problem &problem, const Schedule &schedule, const Program &program);

} // namespace soliton::sched
