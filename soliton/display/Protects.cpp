#include "soliton/display/Protects.h"

#include "soliton/schedule/Paths.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace soliton::sched {
namespace {
/// Beyond so many barriers between two ops it says nothing to name them all.
constexpr int kMostBarriers = 4;

class Attribution {
public:
  explicit Attribution(const Picture &picture)
      : picture(picture), problem(picture.problem), schedule(withBuffers(problem, picture.schedule)),
        context(problem, schedule) {
    for (const Operation &op : problem.operations)
      labels.push_back(labelOf(op));
  }

  std::vector<SyncPoint> run() {
    int trips = picture.program.exactTrips || picture.program.kernel.empty() ? 0 : context.settledTrips;
    Path path(context, picture.program, trips);
    forEachHazard(context, path, [&](const HazardInstance &at) { attribute(at); });
    for (const Trace &trace : path.traces)
      attributeRegisters(trace);
    std::vector<SyncPoint> points;
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
      collect(phase, points);
    return points;
  }

private:
  struct PairKey {
    DepKind kind;
    std::string from, to, region;
    bool inRegisters;
    auto operator<=>(const PairKey &) const = default;
  };
  struct Found {
    std::set<std::pair<int, int>> ops;
    bool sole = false;
  };

  void note(const Location &where, const Dependence &dep, bool sole) {
    bool inRegisters = dep.space == Space::Register;
    std::string region = dep.region >= 0 ? problem.regions[dep.region].name : "";
    Found &entry = found[where][{dep.kind, labels[dep.from], labels[dep.to], inRegisters ? foldedName(region) : region,
                                 inRegisters}];
    entry.ops.emplace(dep.from, dep.to);
    entry.sole |= sole;
  }

  /// The wait where `from` is known to be complete, and the barriers between there and `to`.
  void attribute(const HazardInstance &at) {
    if (protectedByPhase(problem, *at.hazard) || !isProven(context, at))
      return;
    int complete = at.from->completion(at.fromPosition, at.hazard->counter);
    if (at.from->at(complete).entry->kind == EntryKind::Wait)
      note(at.from->at(complete).where, *at.hazard, true);
    if (!at.hazard->crossWave)
      return;
    int first = at.from->barriersBefore(complete) + 1, last = at.to->barriersBefore(at.toPosition);
    if (last - first >= kMostBarriers)
      return;
    for (int k = first; k <= last; ++k)
      if (int position = at.from->barrierPosition(k); position != kNever)
        note(at.from->at(position).where, *at.hazard, first == last);
  }

  /// Waits for values that loads bring to registers. The access need not name the counter: the op ticks it.
  void attributeRegisters(const Trace &trace) {
    for (const Dependence &dep : context.dependences) {
      const std::vector<Tick> &ticks = problem.operations[dep.from].ticks;
      int counter = dep.counter >= 0 ? dep.counter : ticks.empty() ? -1 : ticks.front().counter;
      if (dep.kind != DepKind::Raw || dep.space != Space::Register || counter < 0)
        continue;
      for (int n = 0; n < trace.iterations(dep.from); ++n) {
        int from = trace.position(dep.from, n), to = trace.position(dep.to, n + dep.distance);
        int complete = from < 0 || to < 0 ? kNever : trace.completion(from, counter);
        if (complete < to && trace.at(complete).entry->kind == EntryKind::Wait)
          note(trace.at(complete).where, dep, true);
      }
    }
  }

  void collect(Phase phase, std::vector<SyncPoint> &points) const {
    const std::vector<Entry> &entries = picture.program.list(phase);
    std::string before;
    std::vector<SyncPoint> reversed;
    for (int i = static_cast<int>(entries.size()) - 1; i >= 0; --i) {
      if (entries[i].kind == EntryKind::Op) {
        before = labels[entries[i].op];
        continue;
      }
      SyncPoint point{{phase, i}, entries[i], before, {}};
      if (auto it = found.find(point.where); it != found.end())
        for (const auto &[key, pair] : it->second)
          point.pairs.push_back(
              {key.kind, key.from, key.to, key.region, key.inRegisters, static_cast<int>(pair.ops.size()), pair.sole});
      std::sort(point.pairs.begin(), point.pairs.end(), [](const ProtectedPair &a, const ProtectedPair &b) {
        return std::tie(b.sole, a.kind, a.from, a.to, a.region) < std::tie(a.sole, b.kind, b.from, b.to, b.region);
      });
      reversed.push_back(std::move(point));
    }
    points.insert(points.end(), reversed.rbegin(), reversed.rend());
  }

  const Picture &picture;
  const Problem &problem;
  Schedule schedule;
  PathContext context;
  std::vector<std::string> labels;
  std::map<Location, std::map<PairKey, Found>> found;
};
} // namespace

std::string describe(const ProtectedPair &pair) {
  std::string pieces = pair.count > 1 ? " (" + std::to_string(pair.count) + " pairs)" : "";
  return std::string(nameOf(pair.kind)) + (pair.region.empty() ? "" : " " + pair.region) + ": " + pair.from + " -> " +
         pair.to + pieces;
}

std::string explain(const ProtectedPair &pair) {
  std::string where = pair.region.empty() ? "" : " " + pair.region;
  if (pair.inRegisters && pair.kind == DepKind::Raw)
    return pair.to + " uses what " + pair.from + " brings to registers";
  switch (pair.kind) {
  case DepKind::Raw:
    return pair.to + " reads" + where + " after " + pair.from + " has written it";
  case DepKind::War:
    return pair.to + " overwrites" + where + " after " + pair.from + " has read it";
  case DepKind::Waw:
    return pair.to + " overwrites" + where + " after " + pair.from + " has written it";
  case DepKind::Order:
    break;
  }
  return pair.to + " comes after " + pair.from;
}

std::string explainPhase(const Problem &problem, const Entry &entry) {
  const Region &region = problem.regions[entry.region];
  if (entry.kind == EntryKind::Arrive)
    return "says that the buffer of " + region.name + " may be filled again";
  return entry.counter == region.release ? "waits until the buffer of " + region.name + " may be filled again"
                                         : "waits until " + region.name + " is filled";
}

std::vector<SyncPoint> findSyncPoints(const Picture &picture) {
  return Attribution(picture).run();
}

} // namespace soliton::sched
