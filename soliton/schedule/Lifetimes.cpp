#include "soliton/schedule/Lifetimes.h"

#include <algorithm>

namespace soliton::sched {
namespace {
int64_t ceilDiv(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -((-a) / b);
}

bool overlap(const Access &a, const Access &b) {
  return a.begin < b.end && b.begin < a.end;
}

/// The accesses of one region by where they begin: of thousands of pieces those that overlap one are found among its
/// neighbours.
class AccessesByPlace {
public:
  struct Entry {
    int op = 0;
    const Access *access = nullptr;
  };

  void add(int op, const Access &access) { (access.end == kWholeEnd ? open : pieces).push_back({op, &access}); }
  void sort() {
    std::ranges::sort(pieces, {}, beginOf);
    for (const Entry &piece : pieces)
      longest = std::max(longest, piece.access->end - piece.access->begin);
  }

  template <typename Visit>
  void forEach(Visit visit) const {
    std::ranges::for_each(pieces, visit);
    std::ranges::for_each(open, visit);
  }
  /// The same for those that overlap the access.
  template <typename Visit>
  void forEachOverlapping(const Access &access, Visit visit) const {
    auto consider = [&](const Entry &entry) {
      if (overlap(access, *entry.access))
        visit(entry);
    };
    auto piece = std::ranges::upper_bound(pieces, access.begin - longest, {}, beginOf);
    for (; piece != pieces.end() && piece->access->begin < access.end; ++piece)
      consider(*piece);
    std::ranges::for_each(open, consider);
  }

private:
  static int64_t beginOf(const Entry &entry) { return entry.access->begin; }

  /// Those with an end, and those that reach to the region's.
  std::vector<Entry> pieces, open;
  int64_t longest = 0;
};

/// A profile over a cycle, as changes: spans are added in constant time and summed up at the end.
class CyclicProfile {
public:
  explicit CyclicProfile(int64_t length) : change(length + 1, 0) {}

  /// Adds `size` over the half-open span [begin, end) folded onto the cycle.
  void add(int64_t begin, int64_t end, int64_t size) {
    int64_t length = static_cast<int64_t>(change.size()) - 1, laps = (end - begin) / length;
    everywhere += laps * size;
    int64_t first = ((begin % length) + length) % length, last = first + (end - begin) - laps * length;
    change[first] += size;
    change[std::min(last, length)] -= size;
    if (last > length) {
      change[0] += size;
      change[last - length] -= size;
    }
  }

  std::vector<int64_t> sum() const {
    std::vector<int64_t> profile(change.size() - 1);
    int64_t value = everywhere;
    for (size_t i = 0; i < profile.size(); ++i)
      profile[i] = value += change[i];
    return profile;
  }

private:
  std::vector<int64_t> change;
  int64_t everywhere = 0;
};

std::vector<int> positions(const Problem &problem, const Schedule &schedule) {
  return positionsOf(emissionOrder(schedule), problem.numOps());
}
} // namespace

/// Where parts of a region begin that are touched differently, and its end.
std::vector<int64_t> StorageTable::cutsOf(const std::vector<Touch> &touches) {
  std::vector<int64_t> cuts;
  for (const Touch &touch : touches) {
    cuts.push_back(touch.begin);
    cuts.push_back(touch.end);
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

StorageTable::StorageTable(const Problem &problem)
    : problem(problem), touches(problem.regions.size()), pairs(problem.regions.size()) {
  std::vector<AccessesByPlace> all(problem.regions.size());
  for (int op = 0; op < problem.numOps(); ++op)
    for (const Access &access : problem.operations[op].accesses) {
      all[access.region].add(op, access);
      if (problem.regions[access.region].space == Space::Register)
        touches[access.region].push_back({op, access.offset, access.write, problem.operations[op].groups,
                                          std::min(access.begin, problem.regions[access.region].size),
                                          std::min(access.end, problem.regions[access.region].size)});
    }
  for (size_t region = 0; region < all.size(); ++region) {
    bool registers = problem.regions[region].space == Space::Register;
    all[region].sort();
    all[region].forEach([&](const AccessesByPlace::Entry &write) {
      if (!write.access->write)
        return;
      all[region].forEachOverlapping(*write.access, [&](const AccessesByPlace::Entry &other) {
        int latency = registers && !other.access->write ? 0 : 1;
        pairs[region].push_back({other.op, write.op, write.access->offset - other.access->offset, latency});
      });
    });
  }
}

/// Buffers so that the write comes after the other touched the instance it replaces.
int64_t StorageTable::buffersOf(const Schedule &schedule, std::span<const int> position, const Pair &pair) const {
  if (pair.other == pair.write)
    return pair.offsets;
  const Slot &x = schedule.slots[pair.other], &y = schedule.slots[pair.write];
  int64_t trips = position[pair.write] > position[pair.other] ? 0 : 1;
  if (schedule.timing == Timing::Cycles)
    trips = std::max(trips, ceilDiv(int64_t{pair.latency} + x.cycle - y.cycle, schedule.interval));
  return trips + pair.offsets + x.stage - y.stage;
}

int StorageTable::requiredBuffers(const Schedule &schedule, std::span<const int> position, int region) const {
  int64_t count = 1;
  for (const Pair &pair : pairs[region])
    if (schedule.slots[pair.other].scheduled() && schedule.slots[pair.write].scheduled())
      count = std::max(count, buffersOf(schedule, position, pair));
  return static_cast<int>(count);
}

void StorageTable::assignBuffers(Schedule &schedule, std::span<const int> position) const {
  schedule.buffers.resize(problem.regions.size(), 0);
  for (size_t region = 0; region < problem.regions.size(); ++region) {
    if (!problem.regions[region].rotating)
      schedule.buffers[region] = 1;
    if (schedule.buffers[region] > 0)
      continue;
    int fixed = problem.regions[region].buffers;
    schedule.buffers[region] = fixed > 0 ? fixed : requiredBuffers(schedule, position, static_cast<int>(region));
  }
}

std::vector<int64_t> StorageTable::pressureProfile(const Schedule &schedule, std::span<const int> position, int length,
                                                   int group) const {
  if (length == 0)
    return {};
  CyclicProfile profile(length);
  for (size_t region = 0; region < touches.size(); ++region) {
    // What is read by parts is free again by parts.
    std::vector<int64_t> cuts = cutsOf(touches[region]);
    for (size_t part = 0; part + 1 < cuts.size(); ++part) {
      // Writes and last reads of instance 0, in positions of an endless emission order.
      std::optional<int64_t> written, lastRead;
      bool touched = false;
      for (const Touch &touch : touches[region]) {
        if (touch.begin > cuts[part] || touch.end <= cuts[part] || !(touch.groups >> group & 1) ||
            !schedule.slots[touch.op].scheduled())
          continue;
        touched = true;
        int64_t at = int64_t{schedule.slots[touch.op].stage - touch.offset} * length + position[touch.op];
        if (touch.write)
          written = std::min(written.value_or(at), at);
        else
          lastRead = std::max(lastRead.value_or(at), at);
      }
      int64_t size = cuts[part + 1] - cuts[part];
      if (touched && (!problem.regions[region].rotating || !written))
        profile.add(0, length, size);
      else if (touched)
        profile.add(*written, std::max(lastRead.value_or(0), *written + 1), size);
    }
  }
  return profile.sum();
}

int64_t StorageTable::registerPressure(const Schedule &schedule, std::span<const int> position, int length) const {
  int64_t highest = 0;
  for (int group = 0; group < problem.groups; ++group)
    for (int64_t value : pressureProfile(schedule, position, length, group))
      highest = std::max(highest, value);
  return highest;
}

int requiredBuffers(const Problem &problem, const Schedule &schedule, int region) {
  return StorageTable(problem).requiredBuffers(schedule, positions(problem, schedule), region);
}

void assignBuffers(const Problem &problem, Schedule &schedule) {
  StorageTable(problem).assignBuffers(schedule, positions(problem, schedule));
}

std::vector<int64_t> pressureProfile(const Problem &problem, const Schedule &schedule, int group) {
  std::vector<int> order = emissionOrder(schedule);
  return StorageTable(problem).pressureProfile(schedule, positionsOf(order, problem.numOps()),
                                               static_cast<int>(order.size()), group);
}

int64_t registerPressure(const Problem &problem, const Schedule &schedule) {
  std::vector<int> order = emissionOrder(schedule);
  return StorageTable(problem).registerPressure(schedule, positionsOf(order, problem.numOps()),
                                                static_cast<int>(order.size()));
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
