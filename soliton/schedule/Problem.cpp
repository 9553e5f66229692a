#include "soliton/schedule/Problem.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <unordered_set>

namespace soliton::sched {
namespace {
constexpr std::array<std::string_view, 14> kKindNames = {
    "global_load", "global_store", "shared_store", "shared_load", "copy_async", "mma",  "mma_async",
    "valu",        "shuffle",      "barrier",      "wait",        "commit",     "hint", "free"};

constexpr int kMaxLatency = 1 << 24;
constexpr int kMaxReservation = 1 << 20;
constexpr int kMaxOffset = 1 << 16;
constexpr int kMaxWaves = 1024;

bool inRange(int index, size_t size) {
  return index >= 0 && static_cast<size_t>(index) < size;
}

class Validator {
public:
  explicit Validator(const Problem &problem) : problem(problem) {}

  std::vector<Diagnostic> run() {
    checkTables();
    std::unordered_set<std::string_view> keys;
    for (const Operation &op : problem.operations) {
      if (op.key.empty())
        report(op, "an operation has no key");
      else if (!keys.insert(op.key).second)
        report(op, "two operations have the key `" + op.key + "`");
      checkOperation(op);
    }
    for (const Dependence &dep : problem.extra)
      if (!inRange(dep.from, problem.operations.size()) || !inRange(dep.to, problem.operations.size()))
        fail("an extra dependence names an operation that does not exist");
      else if (dep.distance < 0 || dep.distance > kMaxOffset || std::abs(dep.latency) > kMaxLatency)
        report(problem.operations[dep.to], "an extra dependence has distance " + std::to_string(dep.distance) +
                                               " and latency " + std::to_string(dep.latency) +
                                               ", expected 0 or more and a sane number of cycles");
      else if (dep.distance == 0 && dep.from >= dep.to)
        report(problem.operations[dep.to], "an extra dependence inside one iteration goes from `" +
                                               problem.operations[dep.from].key + "` backwards to `" +
                                               problem.operations[dep.to].key + "`");
    return std::move(found);
  }

private:
  void fail(std::string message) {
    found.push_back({Severity::error, DiagId::ScheduleProblemInvalid, {}, std::move(message), {}, {}});
  }
  void report(const Operation &op, std::string message) {
    found.push_back({Severity::error, DiagId::ScheduleProblemInvalid, op.place, std::move(message), {}, {}});
  }

  void checkTables() {
    for (const Resource &resource : problem.resources)
      if (resource.units < 1)
        fail("resource `" + resource.name + "` has " + std::to_string(resource.units) + " units, expected at least 1");
      else if (resource.waves < 1 || resource.waves > kMaxWaves)
        fail("resource `" + resource.name + "` is shared by " + std::to_string(resource.waves) +
             " waves, expected 1 to " + std::to_string(kMaxWaves));
    for (const Region &region : problem.regions) {
      if (region.size < 0 || region.buffers < 0 || region.buffers > kMaxOffset)
        fail("region `" + region.name + "` has a negative size or an impossible number of buffers");
      if (region.release >= 0 && !inRange(region.release, problem.counters.size()))
        fail("region `" + region.name + "` is released on a counter that does not exist");
    }
    if (problem.groups < 1 || problem.groups > kMaxGroups)
      fail("there are " + std::to_string(problem.groups) + " wave groups, expected 1 to " + std::to_string(kMaxGroups));
    for (int amount : problem.stagger)
      if (amount < 0 || amount > 1024)
        fail("a wave group is staggered by " + std::to_string(amount) + " barriers, expected 0 to 1024");
  }

  void checkOperation(const Operation &op) {
    if (op.latency < 0 || op.latency > kMaxLatency || op.firstEffect < 0 || op.firstEffect > kMaxLatency)
      report(op, "`" + op.key + "` has latency " + std::to_string(op.latency) + ", expected 0 or more");
    size_t before = found.size();
    for (const Reservation &use : op.reservations)
      checkReservation(op, use);
    if (found.size() == before)
      checkOverlap(op);
    for (const Tick &tick : op.ticks)
      if (!inRange(tick.counter, problem.counters.size()) || tick.amount < 0)
        report(op, "`" + op.key + "` ticks a counter that does not exist");
    for (const Access &access : op.accesses)
      checkAccess(op, access);
    bool needsCounter = op.kind == OpKind::Wait || op.kind == OpKind::Commit;
    if (needsCounter && !inRange(op.counter, problem.counters.size()))
      report(op, "`" + op.key + "` waits on a counter that does not exist");
  }

  void checkReservation(const Operation &op, const Reservation &use) {
    if (!inRange(use.resource, problem.resources.size()))
      return report(op, "`" + op.key + "` reserves a resource that does not exist");
    if (use.start < 0 || use.length < 1 || use.start > kMaxReservation || use.length > kMaxReservation || use.units < 1)
      return report(op, "`" + op.key + "` has an empty or negative reservation");
    const Resource &resource = problem.resources[use.resource];
    if (use.units > resource.units)
      report(op, "`" + op.key + "` needs " + std::to_string(use.units) + " units of `" + resource.name +
                     "`, there are " + std::to_string(resource.units));
  }

  /// An op that needs more units than there are at one moment of its own can start at no time.
  void checkOverlap(const Operation &op) {
    for (const Reservation &moment : op.reservations) {
      int64_t used = 0;
      for (const Reservation &use : op.reservations)
        if (use.resource == moment.resource && use.start <= moment.start &&
            moment.start < use.start + problem.busyCycles(op, use))
          used += use.units;
      if (used > problem.resources[moment.resource].units)
        return report(op, "`" + op.key + "` needs " + std::to_string(used) + " units of `" +
                              problem.resources[moment.resource].name + "` at one time, there are " +
                              std::to_string(problem.resources[moment.resource].units));
    }
  }

  void checkAccess(const Operation &op, const Access &access) {
    if (!inRange(access.region, problem.regions.size()))
      report(op, "`" + op.key + "` touches a region that does not exist");
    if (std::abs(access.offset) > kMaxOffset)
      report(op, "`" + op.key + "` touches a region " + std::to_string(access.offset) + " iterations away");
    if (access.counter >= 0 && !inRange(access.counter, problem.counters.size()))
      report(op, "`" + op.key + "` completes on a counter that does not exist");
  }

  const Problem &problem;
  std::vector<Diagnostic> found;
};
} // namespace

std::string_view nameOf(OpKind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

std::optional<OpKind> parseOpKind(std::string_view text) {
  for (size_t i = 0; i < kKindNames.size(); ++i)
    if (kKindNames[i] == text)
      return static_cast<OpKind>(i);
  return std::nullopt;
}

std::string_view nameOf(Space space) {
  return space == Space::Register ? "register" : space == Space::Shared ? "shared" : "global";
}

std::string_view nameOf(DepKind kind) {
  constexpr std::string_view names[] = {"RAW", "WAR", "WAW", "order"};
  return names[static_cast<size_t>(kind)];
}

int Problem::addResource(std::string name, int units) {
  resources.push_back({std::move(name), units});
  return static_cast<int>(resources.size()) - 1;
}

int Problem::addCounter(std::string name, Retirement kind, int limit) {
  counters.push_back({std::move(name), kind, limit});
  return static_cast<int>(counters.size()) - 1;
}

int Problem::addRegion(Region region) {
  regions.push_back(std::move(region));
  return static_cast<int>(regions.size()) - 1;
}

int Problem::addOperation(Operation op) {
  operations.push_back(std::move(op));
  return numOps() - 1;
}

int Problem::busyCycles(const Operation &op, const Reservation &use) const {
  int64_t turns = std::max(1, std::popcount(op.groups & allGroups()));
  return static_cast<int>(std::min<int64_t>(use.length * turns * wavesPerGroup(use.resource), kMaxLatency));
}

int Problem::find(std::string_view key) const {
  for (int i = 0; i < numOps(); ++i)
    if (operations[i].key == key)
      return i;
  return -1;
}

Access reads(int region, int counter) {
  Access access;
  access.region = region;
  access.counter = counter;
  return access;
}

Access writes(int region, int counter) {
  Access access = reads(region, counter);
  access.write = true;
  return access;
}

std::vector<Diagnostic> validate(const Problem &problem) {
  return Validator(problem).run();
}

std::string toString(const Problem &problem) {
  std::string text = "loop " + problem.loop + "\n";
  for (const Operation &op : problem.operations) {
    text += "  " + op.key + " " + std::string(nameOf(op.kind)) + " latency " + std::to_string(op.latency);
    for (const Reservation &use : op.reservations)
      text += " " + problem.resources[use.resource].name + "[" + std::to_string(use.start) + "+" +
              std::to_string(use.length) + (use.units > 1 ? "*" + std::to_string(use.units) : "") + "]";
    for (const Access &access : op.accesses) {
      text += access.write ? " writes " : " reads ";
      text += problem.regions[access.region].name;
      if (access.offset != 0)
        text += (access.offset > 0 ? "+" : "") + std::to_string(access.offset);
    }
    text += "\n";
  }
  return text;
}

} // namespace soliton::sched
