//===- Sync.cpp - Barriers, waits and hints that an author writes -------------------------===//
//
// All of them are for readers and for timing: what memory needs is derived (DESIGN: barriers and waits last). A barrier
// in two parts is one where it is waited for, since no target here has both parts for a whole workgroup:
//
//   k.shared_memory_barrier_signal(1); …; k.shared_memory_barrier_wait(1);        …; wave.barrier
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/SimtTracing.h"

using namespace soliton;
using namespace soliton::frontend;

/// False, with a report, inside `when`, where not all lanes of a wave come.
static bool allLanesCome(const std::shared_ptr<Program> &program, const char *what, const Place &place) {
  if (program->lanes.empty() || !program->lanes.back().mask.program())
    return true;
  report(*program, DiagId::SimtLane, place, quoted(what) + " inside `when`, where not all lanes come",
         "put it between two `when`");
  return false;
}

static void recordBarrier(const std::shared_ptr<Program> &program, const char *what, Place place) {
  if (allLanesCome(program, what, place))
    Tracer(what, std::move(place), {}, program).recordEffect({.kind = OpKind::barrier});
}

void Kernel::barrier(Place place) {
  recordBarrier(owner, "barrier", std::move(place));
}

void Kernel::workgroup_barrier(Place place) {
  recordBarrier(owner, "workgroup_barrier", std::move(place));
}

void Kernel::shared_memory_barrier(SharedBarrierOptions, Place place) {
  recordBarrier(owner, "shared_memory_barrier", std::move(place));
}

//===- Split barriers -----------------------------------------------------------------===//

static constexpr int kNone = 0, kWorkgroup = -1, kMostNamed = 16;

/// False, with a report, for a number that is no barrier of a workgroup.
static bool isNamed(Program &program, const char *what, int id, const Place &place) {
  if (id >= kWorkgroup && id <= kMostNamed)
    return true;
  report(program, DiagId::BarrierPairing, place,
         quoted(what) + " of the barrier " + std::to_string(id) + ", expected 1 to 16, or -1 for the workgroup's own",
         id == -2 || id == -3 ? "traps and clusters have no barriers here" : "");
  return false;
}

void Kernel::shared_memory_barrier_signal(int id, Place place) {
  const char *what = "shared_memory_barrier_signal";
  if (!isNamed(*owner, what, id, place) || id == kNone || !allLanesCome(owner, what, place))
    return;
  auto [earlier, isNew] = owner->regions[owner->current].signalled.try_emplace(id, place);
  if (!isNew)
    report(*owner, DiagId::BarrierPairing, place,
           "the barrier " + std::to_string(id) + " is signalled twice with no wait between",
           "put `shared_memory_barrier_wait` between them", {{earlier->second, "the first signal"}});
}

void Kernel::shared_memory_barrier_wait(int id, Place place) {
  const char *what = "shared_memory_barrier_wait";
  if (!isNamed(*owner, what, id, place) || id == kNone)
    return;
  if (owner->regions[owner->current].signalled.erase(id) == 0) {
    report(*owner, DiagId::BarrierPairing, place,
           "a wait for the barrier " + std::to_string(id) + ", which nothing before it in this block has signalled",
           "signal it before, in the same loop or branch");
    return;
  }
  recordBarrier(owner, what, std::move(place));
}

void frontend::checkSplitBarriers(const Program &program, std::vector<Diagnostic> &diagnostics) {
  for (const Region &region : program.regions)
    for (const auto &[id, place] : region.signalled)
      diagnostics.push_back({Severity::error,
                             DiagId::BarrierPairing,
                             place,
                             "the barrier " + std::to_string(id) + " is signalled and never waited for in this block",
                             "put `shared_memory_barrier_wait` behind it, in the same loop or branch",
                             {}});
}

//===- Waits and hints ----------------------------------------------------------------===//

namespace {
struct Range {
  int64_t least, most;
};
} // namespace

/// False, with a report, for a number outside `least` … `most`.
static bool isWithin(Program &program, const std::string &what, int64_t number, Range range, const Place &place) {
  if (number >= range.least && number <= range.most)
    return true;
  report(program, DiagId::HintValue, place,
         what + " is " + std::to_string(number) + ", expected " + std::to_string(range.least) + " to " +
             std::to_string(range.most));
  return false;
}

/// What fits the fields of the dialect's ops.
static constexpr Range kNumbers{0, INT32_MAX};

void Kernel::memory_counter_wait(const CounterLimits &limits, Place place) {
  const std::pair<const char *, std::optional<int>> counters[] = {
      {"vm", limits.load}, {"shared", limits.ds}, {"cp_async", limits.cp_async}};
  for (auto [counter, limit] : counters)
    if (limit && isWithin(*owner, "what `memory_counter_wait` leaves outstanding", *limit, kNumbers, place))
      Tracer("memory_counter_wait", place, {}, owner)
          .recordEffect({.kind = OpKind::wait, .function = counter, .numbers = {*limit}});
}

void Kernel::memory_counter_wait_barrier(const CounterLimits &limits, Place place) {
  memory_counter_wait(limits, place);
  recordBarrier(owner, "memory_counter_wait_barrier", std::move(place));
}

static void recordHint(const std::shared_ptr<Program> &program, const char *what, std::string_view function,
                       std::vector<int64_t> numbers, const Place &place) {
  Tracer(what, place, {}, program)
      .recordEffect({.kind = OpKind::hint, .function = function, .numbers = std::move(numbers)});
}

void Kernel::set_wave_prio(int level, Place place) {
  if (isWithin(*owner, "the priority of `set_wave_prio`", level, {0, 3}, place))
    recordHint(owner, "set_wave_prio", "priority", {level}, place);
}

void Kernel::scheduling_barrier(const std::vector<InstructionClass> &mayCross, Place place) {
  int64_t mask = 0;
  for (InstructionClass each : mayCross)
    mask |= static_cast<int64_t>(each);
  recordHint(owner, "scheduling_barrier", "sched_barrier", {mask}, place);
}

void Kernel::scheduling_group_barrier(const std::vector<std::pair<InstructionClass, int>> &groups, int sync,
                                      Place place) {
  if (!isWithin(*owner, "the group of `scheduling_group_barrier`", sync, kNumbers, place))
    return;
  for (auto [kind, count] : groups)
    if (isWithin(*owner, "a count of `scheduling_group_barrier`", count, kNumbers, place))
      recordHint(owner, "scheduling_group_barrier", "sched_group", {static_cast<int64_t>(kind), count, sync}, place);
}
