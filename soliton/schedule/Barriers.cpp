#include "soliton/schedule/Barriers.h"

#include "soliton/schedule/Paths.h"
#include "soliton/schedule/Stabbing.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace soliton::sched {
namespace {
class BarrierDerivation {
public:
  BarrierDerivation(const PathContext &context, Program &program, const BarrierOptions &options)
      : context(context), problem(context.problem), schedule(context.schedule), program(program), options(options) {
    result.hazards = static_cast<int>(std::count_if(context.hazards.begin(), context.hazards.end(),
                                                    [&](const Dependence &dep) { return needsBarrier(dep); }));
  }

  BarrierResult run() {
    std::vector<int> slots = program.kernel.empty() ? std::vector<int>{} : kernelSlots();
    std::vector<int> positions;
    for (int slot : slots)
      positions.push_back(program.kernel[slot].position);
    insertAll(program.kernel, slots);
    insertAll(program.prologue, prologueSlots());
    insertAll(program.epilogue, epilogueSlots(positions));
    auto paths = [&] { return pathsToCheck(context, program, options.tripCount, Detail::Barriers); };
    std::vector<Path> all = paths();
    if (complete(all))
      all = paths();
    if (prune(all))
      complete(paths());
    result.kernelSlots = std::move(slots);
    remark();
    return std::move(result);
  }

private:
  /// Phases need no workgroup barriers; what stays inside a wave needs waits only.
  bool needsBarrier(const Dependence &dep) const { return dep.crossWave && !protectedByPhase(problem, dep); }

  template <typename Visit>
  void forEachNeed(const Path &path, Visit visit) const {
    forEachHazard(context, path, [&](const HazardInstance &at) {
      if (needsBarrier(*at.hazard))
        visit(at);
    });
  }

  static Entry barrier(int position, int cluster) {
    Entry entry;
    entry.kind = EntryKind::Barrier;
    entry.position = position;
    entry.cluster = cluster;
    return entry;
  }

  bool isFullBarrier(const Entry &entry) const {
    return entry.kind == EntryKind::Barrier && (entry.groups & problem.allGroups()) == problem.allGroups();
  }

  /// Barriers in front of the entries with these (ascending, maybe repeated) indices.
  void insertAll(std::vector<Entry> &entries, std::vector<int> indices) {
    if (indices.empty())
      return;
    std::sort(indices.begin(), indices.end());
    std::vector<Entry> output;
    output.reserve(entries.size() + indices.size());
    size_t next = 0;
    for (int i = 0; i <= static_cast<int>(entries.size()); ++i) {
      bool inside = i < static_cast<int>(entries.size());
      const Entry *beside = inside ? &entries[i] : entries.empty() ? nullptr : &entries.back();
      for (; next < indices.size() && indices[next] == i; ++next)
        output.push_back(barrier(beside ? beside->position : 0, beside ? beside->cluster : 0));
      if (inside)
        output.push_back(entries[i]);
    }
    entries = std::move(output);
  }

  /// The smallest set of slots of the kernel, without those that the author fixed.
  std::vector<int> kernelSlots() {
    StabbingProblem stabbing = stabbingProblem();
    std::optional<std::vector<int>> points = stabIntervals(stabbing);
    std::vector<int> slots;
    for (int i = 0; points && i < stabbing.slots; ++i)
      for (int k = stabbing.fixed[i]; k < (*points)[i]; ++k)
        slots.push_back(i);
    return slots;
  }

  StabbingProblem stabbingProblem() {
    StabbingProblem stabbing;
    int size = stabbing.slots = static_cast<int>(program.kernel.size());
    std::vector<int> indexOf(problem.operations.size(), -1);
    for (int i = 0; i < size; ++i) {
      const Entry &entry = program.kernel[i];
      if (entry.kind == EntryKind::Op)
        indexOf[entry.op] = i;
      bool open = !options.clusterEntriesOnly || i == 0 || program.kernel[i - 1].cluster != entry.cluster;
      stabbing.fixed.push_back(isFullBarrier(entry));
      stabbing.capacity.push_back(open || isFullBarrier(entry));
      result.fixed += isFullBarrier(entry);
    }
    stabbing.cost = options.slotCost;
    stabbing.cost.resize(options.slotCost.empty() ? 0 : size, 0);
    for (const Dependence &dep : context.hazards) {
      if (!needsBarrier(dep))
        continue;
      int x = indexOf[dep.from], y = indexOf[dep.to], trips = tripDistance(schedule, dep);
      // Against the order of the schedule: the verifier reports that, no barrier helps.
      if (x >= 0 && y >= 0 && y + trips * size > x)
        addInterval(stabbing, {x + 1, y + trips * size, barrierDemand(problem, dep),
                               std::max(1, problem.operations[dep.from].latency)});
    }
    return stabbing;
  }

  static void addInterval(StabbingProblem &stabbing, Interval interval) {
    int size = stabbing.slots;
    if (interval.begin >= size) {
      interval.begin -= size;
      interval.end -= size;
    }
    // A lap holds everything that fits; more can only come from one slot twice.
    int room = 0;
    for (int i = interval.begin; i <= interval.end && room < interval.demand; ++i)
      room += stabbing.capacity[i % size];
    stabbing.capacity[interval.end % size] += std::max(0, interval.demand - room);
    stabbing.intervals.push_back(interval);
  }

  /// A barrier that stands or will stand in the prologue, and the newest issue that it makes known.
  struct Covered {
    int at = 0;
    int count = 1;
    bool anything = false;
    std::map<std::pair<int, int>, int64_t> known; // by (group, counter)
  };
  struct Need {
    int from = 0;
    int group = 0;
    int counter = -1;
    int64_t index = 0;
    int demand = 1;
  };

  /// Just in time: in front of each entry that needs what no earlier barrier of the prologue makes known.
  std::vector<int> prologueSlots() {
    Path path(context, program, 0);
    std::map<int, std::vector<Need>> needs;
    forEachNeed(path, [&](const HazardInstance &at) {
      const Location &x = at.from->at(at.fromPosition).where, &y = at.to->at(at.toPosition).where;
      if (x.phase != Phase::Prologue || y.phase != Phase::Prologue || y.index <= x.index)
        return;
      int counter = at.hazard->counter;
      int64_t index = counter < 0 ? 0 : -at.from->issuedSince(at.fromPosition, 0, counter);
      needs[y.index].push_back({x.index, at.fromGroup, counter, index, barrierDemand(problem, *at.hazard)});
    });
    std::vector<Covered> barriers;
    for (size_t i = 0; i < program.prologue.size(); ++i)
      if (isFullBarrier(program.prologue[i]))
        barriers.push_back({static_cast<int>(i), 1, true, {}});
    std::vector<int> slots;
    for (const auto &[at, list] : needs)
      if (std::any_of(list.begin(), list.end(), [&](const Need &need) { return !isCovered(need, at, barriers); })) {
        barriers.push_back(coverAll(at, list));
        slots.insert(slots.end(), barriers.back().count, at);
      }
    return slots;
  }

  static bool isCovered(const Need &need, int at, const std::vector<Covered> &barriers) {
    int count = 0;
    bool known = need.counter < 0;
    for (const Covered &barrier : barriers) {
      if (barrier.at <= need.from || barrier.at > at)
        continue;
      count += barrier.count;
      auto it = barrier.known.find({need.group, need.counter});
      known |= barrier.anything || (it != barrier.known.end() && it->second >= need.index);
    }
    return known && count >= need.demand;
  }

  static Covered coverAll(int at, const std::vector<Need> &needs) {
    Covered barrier{at, 1, false, {}};
    for (const Need &need : needs) {
      barrier.count = std::max(barrier.count, need.demand);
      int64_t &known = barrier.known[{need.group, need.counter}];
      known = std::max(known, need.index);
    }
    return barrier;
  }

  /// The kernel's slots in each step of the epilogue.
  std::vector<int> epilogueSlots(const std::vector<int> &positions) const {
    std::vector<int> slots;
    const std::vector<Entry> &entries = program.epilogue;
    size_t begin = 0;
    while (begin < entries.size() && !entries[begin].stagger) {
      size_t end = begin + 1;
      while (end < entries.size() && !entries[end].stagger && entries[end].position > entries[end - 1].position)
        ++end;
      for (int position : positions) {
        size_t at = begin;
        while (at < end && entries[at].position < position)
          ++at;
        slots.push_back(static_cast<int>(at));
      }
      begin = end;
    }
    return slots;
  }

  /// A need that the barriers which stand do not meet: `missing` more in front of `before` and behind `after`.
  struct Lack {
    Location after;
    Location before;
    int missing = 1;
  };

  /// Adds what the seams between the phases still lack, the earliest first. True if anything was added.
  bool complete(const std::vector<Path> &paths) {
    std::vector<Lack> lacks;
    for (const Path &path : paths)
      forEachNeed(path, [&](const HazardInstance &at) { addLack(at, lacks); });
    std::sort(lacks.begin(), lacks.end(), [](const Lack &a, const Lack &b) {
      return std::tie(a.before, a.after, a.missing) < std::tie(b.before, b.after, b.missing);
    });
    // Ascending, once for each barrier.
    std::vector<Location> added;
    for (const Lack &lack : lacks) {
      auto first = std::upper_bound(added.begin(), added.end(), lack.after);
      for (auto there = added.end() - first; there < lack.missing; ++there)
        added.push_back(lack.before);
    }
    std::vector<int> inPrologue, inEpilogue;
    for (const Location &where : added)
      (where.phase == Phase::Prologue ? inPrologue : inEpilogue).push_back(where.index);
    insertAll(program.prologue, inPrologue);
    insertAll(program.epilogue, inEpilogue);
    return !added.empty();
  }

  void addLack(const HazardInstance &at, std::vector<Lack> &lacks) const {
    int missing = at.from->barriersBefore(at.fromPosition) + 1 - at.to->barriersBefore(at.toPosition);
    if (missing <= 0)
      return;
    Location x = at.from->at(at.fromPosition).where, y = at.to->at(at.toPosition).where;
    // What runs against its order is no matter of barriers; the verifier reports it.
    bool backwards = &at.to->at(at.toPosition) <= &at.from->at(at.fromPosition);
    if (backwards || (y.phase == Phase::Kernel && x.phase == Phase::Kernel))
      return;
    if (y.phase == Phase::Kernel)
      y = {Phase::Prologue, static_cast<int>(program.prologue.size())};
    lacks.push_back({x, y, missing});
  }

  /// Drops barriers of the epilogue that are the last in front of no access. True if there were any.
  bool prune(const std::vector<Path> &paths) {
    std::vector<char> used(program.epilogue.size(), 0);
    for (const Path &path : paths)
      forEachNeed(path, [&](const HazardInstance &at) {
        int last = at.from->barrierPosition(at.to->barriersBefore(at.toPosition));
        if (last != kNever && last > at.fromPosition && at.from->at(last).where.phase == Phase::Epilogue)
          used[at.from->at(last).where.index] = 1;
      });
    size_t before = program.epilogue.size();
    std::vector<Entry> kept;
    for (size_t i = 0; i < before; ++i) {
      const Entry &entry = program.epilogue[i];
      if (used[i] || entry.kind != EntryKind::Barrier || entry.op >= 0 || entry.stagger || entry.said)
        kept.push_back(entry);
    }
    program.epilogue = std::move(kept);
    return program.epilogue.size() != before;
  }

  void remark() {
    if (!options.remarks)
      return;
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue}) {
      const std::vector<Entry> &entries = program.list(phase);
      for (size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].kind != EntryKind::Barrier || entries[i].op >= 0 || entries[i].stagger || entries[i].said)
          continue;
        size_t next = i;
        while (next < entries.size() && entries[next].kind != EntryKind::Op)
          ++next;
        bool known = next < entries.size();
        result.remarks.push_back(
            {Severity::remark,
             DiagId::ScheduleRemark,
             known ? problem.operations[entries[next].op].place : Place{},
             "a barrier was added to the " + std::string(nameOf(phase)) +
                 (known ? " in front of `" + problem.operations[entries[next].op].key + "`" : " at its end"),
             {},
             {}});
      }
    }
  }

  const PathContext &context;
  const Problem &problem;
  const Schedule &schedule;
  Program &program;
  const BarrierOptions &options;
  BarrierResult result;
};
} // namespace

BarrierResult deriveBarriers(const PathContext &context, Program &program, const BarrierOptions &options) {
  return BarrierDerivation(context, program, options).run();
}

BarrierResult deriveBarriers(const Problem &problem, const Schedule &schedule, Program &program,
                             const BarrierOptions &options) {
  return deriveBarriers(PathContext(problem, schedule), program, options);
}

} // namespace soliton::sched
