#include "soliton/schedule/Lifetimes.h"

#include <algorithm>
#include <map>

namespace soliton::sched {
namespace {
struct Touch {
  int op;
  const Access *access;
};

std::vector<std::vector<Touch>> touchesByRegion(const Problem &problem, const Schedule &schedule) {
  std::vector<std::vector<Touch>> touches(problem.regions.size());
  for (int op = 0; op < problem.numOps(); ++op)
    if (schedule.slots[op].scheduled())
      for (const Access &access : problem.operations[op].accesses)
        touches[access.region].push_back({op, &access});
  return touches;
}

int64_t ceilDiv(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -((-a) / b);
}

class BufferCount {
public:
  BufferCount(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule), touches(touchesByRegion(problem, schedule)),
        position(positionsOf(emissionOrder(schedule), problem.numOps())) {}

  int required(int region) const {
    int64_t count = 1;
    for (const Touch &write : touches[region]) {
      if (!write.access->write)
        continue;
      for (const Touch &other : touches[region])
        if (other.access->begin < write.access->end && write.access->begin < other.access->end)
          count = std::max(count, pair(other, write));
    }
    return static_cast<int>(count);
  }

private:
  /// Buffers so that `write` comes after `other` touched the instance it replaces.
  int64_t pair(const Touch &other, const Touch &write) const {
    int64_t offsets = write.access->offset - other.access->offset;
    if (other.op == write.op)
      return offsets;
    const Slot &x = schedule.slots[other.op], &y = schedule.slots[write.op];
    int64_t trips = position[write.op] > position[other.op] ? 0 : 1;
    if (schedule.timing == Timing::Cycles) {
      bool registers = problem.regions[write.access->region].space == Space::Register;
      int64_t latency = registers && !other.access->write ? 0 : 1;
      trips = std::max(trips, ceilDiv(latency + x.cycle - y.cycle, schedule.interval));
    }
    return trips + offsets + x.stage - y.stage;
  }

  const Problem &problem;
  const Schedule &schedule;
  std::vector<std::vector<Touch>> touches;
  std::vector<int> position;
};

/// Adds `size` to `profile` over the half-open span [begin, end) folded onto its length.
void addFolded(std::vector<int64_t> &profile, int64_t begin, int64_t end, int64_t size) {
  int64_t length = static_cast<int64_t>(profile.size());
  int64_t laps = (end - begin) / length;
  if (laps > 0)
    for (int64_t &value : profile)
      value += laps * size;
  for (int64_t at = begin + laps * length; at < end; ++at)
    profile[((at % length) + length) % length] += size;
}

struct LiveRange {
  std::optional<int64_t> written;
  std::optional<int64_t> lastRead;
};

/// Writes and last reads of instance 0, in positions of an endless emission order.
LiveRange liveRange(const std::vector<Touch> &touches, const Schedule &schedule, const std::vector<int> &position,
                    int64_t length) {
  LiveRange range;
  for (const Touch &touch : touches) {
    int64_t at = (schedule.slots[touch.op].stage - touch.access->offset) * length + position[touch.op];
    std::optional<int64_t> &field = touch.access->write ? range.written : range.lastRead;
    if (!field)
      field = at;
    field = touch.access->write ? std::min(*field, at) : std::max(*field, at);
  }
  return range;
}
} // namespace

int requiredBuffers(const Problem &problem, const Schedule &schedule, int region) {
  return BufferCount(problem, schedule).required(region);
}

void assignBuffers(const Problem &problem, Schedule &schedule) {
  BufferCount count(problem, schedule);
  schedule.buffers.resize(problem.regions.size(), 0);
  for (size_t region = 0; region < problem.regions.size(); ++region) {
    if (!problem.regions[region].rotating)
      schedule.buffers[region] = 1;
    if (schedule.buffers[region] > 0)
      continue;
    int fixed = problem.regions[region].buffers;
    schedule.buffers[region] = fixed > 0 ? fixed : count.required(static_cast<int>(region));
  }
}

std::vector<int64_t> pressureProfile(const Problem &problem, const Schedule &schedule, int group) {
  std::vector<int> order = emissionOrder(schedule);
  std::vector<int> position = positionsOf(order, problem.numOps());
  std::vector<int64_t> profile(order.size(), 0);
  if (profile.empty())
    return profile;
  auto all = touchesByRegion(problem, schedule);
  int64_t length = static_cast<int64_t>(order.size());
  for (size_t region = 0; region < all.size(); ++region) {
    const Region &storage = problem.regions[region];
    if (storage.space != Space::Register)
      continue;
    std::erase_if(all[region], [&](const Touch &touch) { return !(problem.operations[touch.op].groups >> group & 1); });
    if (all[region].empty())
      continue;
    LiveRange range = liveRange(all[region], schedule, position, length);
    if (!storage.rotating || !range.written)
      addFolded(profile, 0, length, storage.size);
    else
      addFolded(profile, *range.written, std::max(range.lastRead.value_or(0), *range.written + 1), storage.size);
  }
  return profile;
}

int64_t registerPressure(const Problem &problem, const Schedule &schedule) {
  int64_t highest = 0;
  for (int group = 0; group < problem.groups; ++group)
    for (int64_t value : pressureProfile(problem, schedule, group))
      highest = std::max(highest, value);
  return highest;
}

int64_t sharedBytes(const Problem &problem, const Schedule &schedule) {
  int64_t bytes = 0;
  for (size_t region = 0; region < problem.regions.size(); ++region) {
    if (problem.regions[region].space != Space::Shared)
      continue;
    int count = effectiveBuffers(problem, schedule.buffers, static_cast<int>(region));
    bytes += problem.regions[region].size * std::max(count, 1);
  }
  return bytes;
}

} // namespace soliton::sched
