#include "soliton/display/Summary.h"

#include "soliton/schedule/Certificate.h"
#include "soliton/schedule/ResourceTable.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace soliton::sched {
namespace {
/// More rows than this are merged, so that the table of a large loop still fits a screen or two.
constexpr size_t kMostRows = 64;
constexpr int kProfileParts = 48;

KernelRow makeRow(const Picture &picture, int index, int stages) {
  const Entry &entry = picture.program.kernel[index];
  KernelRow row;
  row.cluster = entry.cluster;
  row.cells.resize(stages);
  if (entry.kind != EntryKind::Op) {
    row.sync = index;
    row.firstCycle = row.lastCycle = -1;
    return row;
  }
  const Slot &slot = picture.schedule.slots[entry.op];
  row.firstCycle = row.lastCycle = slot.cycle;
  row.cells[std::clamp(slot.stage, 0, stages - 1)].push_back(
      {labelOf(picture.problem.operations[entry.op]), {entry.op}});
  return row;
}

/// Puts runs of one label together where they are repeated.
void mixRuns(std::vector<Run> &runs, bool &mixed) {
  std::vector<Run> merged;
  std::map<std::string, size_t> byLabel;
  for (Run &run : runs) {
    auto [it, added] = byLabel.emplace(run.label, merged.size());
    if (added) {
      merged.push_back(std::move(run));
      continue;
    }
    mixed |= it->second + 1 < merged.size();
    std::vector<int> &ops = merged[it->second].ops;
    ops.insert(ops.end(), run.ops.begin(), run.ops.end());
  }
  runs = std::move(merged);
}

/// Adds the runs of `row` to those of `into`.
void mergeRow(KernelRow &into, const KernelRow &row) {
  into.lastCycle = std::max(into.lastCycle, row.lastCycle);
  into.firstCycle = std::min(into.firstCycle, row.firstCycle);
  into.mixed |= row.mixed;
  for (size_t stage = 0; stage < row.cells.size(); ++stage) {
    std::vector<Run> &cell = into.cells[stage];
    cell.insert(cell.end(), row.cells[stage].begin(), row.cells[stage].end());
    mixRuns(cell, into.mixed);
  }
}

/// Phases: one row per cycle and stage. Positions and machine cycles: one row per run of a label.
bool sameRun(const KernelRow &a, const KernelRow &b, bool positions) {
  if (a.sync >= 0 || b.sync >= 0 || a.cluster != b.cluster || (!positions && a.lastCycle != b.firstCycle))
    return false;
  for (size_t stage = 0; stage < a.cells.size(); ++stage) {
    if (a.cells[stage].empty() != b.cells[stage].empty())
      return false;
    if (positions && !a.cells[stage].empty() && a.cells[stage].front().label != b.cells[stage].front().label)
      return false;
  }
  return true;
}

std::vector<KernelRow> kernelRows(const Picture &picture) {
  std::vector<KernelRow> rows;
  bool positions = picture.schedule.timing == Timing::Cycles ||
                   picture.schedule.interval * 2 >= static_cast<int>(picture.program.kernel.size());
  std::vector<int> firstIndex;
  for (int i = 0; i < static_cast<int>(picture.program.kernel.size()); ++i) {
    KernelRow row = makeRow(picture, i, picture.schedule.stages());
    if (!rows.empty() && sameRun(rows.back(), row, positions)) {
      mergeRow(rows.back(), row);
      continue;
    }
    rows.push_back(std::move(row));
    firstIndex.push_back(i);
  }
  if (rows.size() <= kMostRows)
    return rows;
  std::vector<KernelRow> merged;
  size_t width = (picture.program.kernel.size() + kMostRows / 2 - 1) / (kMostRows / 2), lastBucket = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    size_t bucket = firstIndex[r] / width;
    bool joins = !merged.empty() && rows[r].sync < 0 && merged.back().sync < 0 && bucket == lastBucket &&
                 merged.back().cluster == rows[r].cluster;
    lastBucket = bucket;
    if (joins)
      mergeRow(merged.back(), rows[r]);
    else
      merged.push_back(std::move(rows[r]));
  }
  return merged;
}

/// Spreads [begin, end) over the parts of a window.
void addToProfile(std::vector<double> &profile, double begin, double end, double window, double weight) {
  double part = window / static_cast<double>(profile.size());
  for (size_t i = static_cast<size_t>(std::max(begin / part, 0.0)); i < profile.size() && i * part < end; ++i) {
    double from = std::max(begin, i * part), to = std::min(end, (i + 1) * part);
    if (to > from)
      profile[i] += weight * (to - from) / part;
  }
}

/// What the model shows for the last trip of the kernel (or for all, without a kernel).
std::vector<ResourceUse> resourceUse(const Picture &picture, const Timeline &timeline) {
  std::vector<ResourceUse> uses;
  for (size_t r = 0; r < picture.problem.resources.size(); ++r)
    uses.push_back({static_cast<int>(r), 0, 0, std::vector<double>(kProfileParts, 0)});
  const Span *trip = timeline.kernelTrip(0, timeline.trips - 1);
  int64_t begin = trip ? trip->begin : 0, end = trip ? trip->end : timeline.length;
  if (end <= begin)
    return uses;
  for (const Bar &bar : timeline.bars) {
    int64_t from = std::max(bar.begin, begin), to = std::min(bar.end, end);
    if (bar.resource < 0 || to <= from)
      continue;
    ResourceUse &use = uses[bar.resource];
    use.busy += to - from;
    addToProfile(use.profile, from - begin, to - begin, end - begin,
                 1.0 / picture.problem.resources[bar.resource].units);
  }
  for (ResourceUse &use : uses)
    use.share = static_cast<double>(use.busy) /
                (static_cast<double>(end - begin) * picture.problem.resources[use.resource].units);
  return uses;
}

/// Shared and global regions one by one, registers of all pieces of an op together.
std::vector<RegionUse> regionUse(const Picture &picture) {
  Schedule schedule = withBuffers(picture.problem, picture.schedule);
  std::vector<RegionUse> uses;
  std::map<std::tuple<std::string, int64_t, int>, size_t> folded;
  for (size_t r = 0; r < picture.problem.regions.size(); ++r) {
    const Region &region = picture.problem.regions[r];
    bool isRegister = region.space == Space::Register;
    RegionUse use{isRegister ? foldedName(region.name) : region.name,
                  region.space,
                  region.size,
                  schedule.buffers[r],
                  1,
                  region.rotating};
    auto [it, added] = folded.emplace(std::tuple(use.name, use.size, use.buffers), uses.size());
    if (isRegister && !added && uses[it->second].space == Space::Register)
      ++uses[it->second].count;
    else
      uses.push_back(use);
  }
  std::sort(uses.begin(), uses.end(), [](const RegionUse &a, const RegionUse &b) {
    auto rank = [](Space space) { return space == Space::Shared ? 0 : space == Space::Register ? 1 : 2; };
    return std::tuple(rank(a.space), -a.total(), a.name) < std::tuple(rank(b.space), -b.total(), b.name);
  });
  return uses;
}

std::vector<HazardRow> hazardRows(const Picture &picture) {
  using Key = std::tuple<int, DepKind, std::string, std::string, int, bool, std::string>;
  std::map<Key, HazardRow> rows;
  for (const Hazard &hazard : picture.report.hazards) {
    const Dependence &dep = hazard.dependence;
    std::string from = labelOf(picture.problem.operations[dep.from]);
    std::string to = labelOf(picture.problem.operations[dep.to]);
    // The worst first.
    Key key{-static_cast<int>(hazard.value), dep.kind, from, to, dep.region, hazard.waived, hazard.fix};
    HazardRow &row = rows[key];
    if (row.count++ == 0) {
      std::string region = dep.region >= 0 ? picture.problem.regions[dep.region].name : "";
      row = {dep.kind, from, to, region, hazard.value, hazard.waived, hazard.fix, 1, dep};
    }
  }
  std::vector<HazardRow> list;
  for (auto &[key, row] : rows)
    list.push_back(std::move(row));
  return list;
}
/// Waiting in the last trip of the kernel, or in the whole run without one.
std::vector<WaitCause> waitCauses(const Picture &picture, const Timeline &timeline) {
  std::map<std::pair<Stall, std::string>, int64_t> causes;
  for (const Event &event : timeline.events) {
    if (event.group != 0 || !isWaiting(event) || (timeline.trips > 0 && event.trip != timeline.trips - 1))
      continue;
    const Event *blamed = event.blame >= 0 ? &timeline.events[event.blame] : nullptr;
    bool named = blamed && blamed->entry->kind == EntryKind::Op;
    causes[{event.stall, named ? labelOf(picture.problem, *blamed->entry) : ""}] += event.start - event.ready;
  }
  std::vector<WaitCause> list;
  for (const auto &[key, cycles] : causes)
    list.push_back({key.first, key.second, cycles});
  std::sort(list.begin(), list.end(), [](const WaitCause &a, const WaitCause &b) {
    return std::tie(b.cycles, a.label, a.stall) < std::tie(a.cycles, b.label, b.stall);
  });
  return list;
}
} // namespace

bool isWaiting(const Event &event) {
  return event.start > event.ready && event.stall != Stall::None && event.stall != Stall::Unit;
}

int Summary::hazardCount(HazardClass value) const {
  int count = 0;
  for (const HazardRow &row : hazards)
    count += row.value == value ? row.count : 0;
  return count;
}

int Summary::kernelCount(EntryKind kind) const {
  return static_cast<int>(std::count_if(syncs.begin(), syncs.end(), [&](const SyncPoint &point) {
    return point.where.phase == Phase::Kernel && point.entry.kind == kind;
  }));
}

Summary summarize(const Picture &picture) {
  Summary summary;
  summary.planned = picture.schedule.timing == Timing::Cycles ? picture.schedule.interval : 0;
  Schedule decided = withBuffers(picture.problem, picture.schedule);
  summary.drawn = std::make_shared<const AsDrawn>(picture);
  const Picture &drawn = summary.drawn->picture();
  summary.modelled = steadyInterval(drawn.problem, decided, drawn.program);
  summary.timeline = makeTimeline(drawn.problem, decided, drawn.program, picture.trips);
  summary.dependences = deriveDependences(picture.problem);
  summary.bounds = lowerBounds(picture.problem, summary.dependences);
  std::string error;
  if (!picture.certificate.empty())
    if (std::optional<Certificate> proof = parseCertificate(picture.certificate, error))
      summary.provenBound = proof->bound;
  for (const Slot &slot : picture.schedule.slots)
    summary.clusters = std::max(summary.clusters, slot.cluster + 1);
  summary.kernel = kernelRows(picture);
  summary.resources = resourceUse(picture, summary.timeline);
  summary.regions = regionUse(picture);
  summary.syncs = findSyncPoints(picture);
  summary.hazards = hazardRows(picture);
  summary.waiting = waitCauses(picture, summary.timeline);
  for (int op = 0; op < picture.problem.numOps(); ++op)
    if (!picture.schedule.slots[op].scheduled())
      summary.unscheduled.push_back(op);
  return summary;
}

std::vector<Stretch> foldEntries(const Problem &problem, const std::vector<Entry> &entries) {
  std::vector<Stretch> stretches;
  for (const Entry &entry : entries) {
    bool isOp = entry.kind == EntryKind::Op;
    const Stretch *last = stretches.empty() ? nullptr : &stretches.back();
    bool joins = isOp && last && last->entry->kind == EntryKind::Op && last->entry->iteration == entry.iteration &&
                 last->entry->groups == entry.groups;
    if (!joins)
      stretches.push_back({&entry, {}, false});
    std::vector<Run> &runs = stretches.back().runs;
    std::string label = labelOf(problem, entry);
    if (runs.empty() || runs.back().label != label)
      runs.push_back({label, {}});
    if (isOp)
      runs.back().ops.push_back(entry.op);
  }
  for (Stretch &stretch : stretches)
    mixRuns(stretch.runs, stretch.mixed);
  return stretches;
}

std::string describeResourceBound(const Picture &picture, const Bounds &bounds) {
  if (bounds.resourceIndex < 0)
    return "no unit is the limit";
  const Resource &resource = picture.problem.resources[bounds.resourceIndex];
  return "`" + resource.name + "` is busy for " + counted(bounds.resource, "cycle") +
         (resource.units > 1 ? " on each of its " + std::to_string(resource.units) + " units" : "");
}

std::string describeRecurrence(const Picture &picture, const Summary &summary) {
  const std::vector<int> &cycle = summary.bounds.cycle;
  if (cycle.empty())
    return "no value runs from one iteration into the next";
  constexpr size_t kMostHops = 6;
  std::string path = labelOf(picture.problem.operations[summary.dependences[cycle.front()].from]);
  if (cycle.size() <= kMostHops)
    for (int index : cycle)
      path += " -> " + labelOf(picture.problem.operations[summary.dependences[index].to]);
  else
    path += " through " + std::to_string(cycle.size()) + " ops and back";
  CycleSum sum = sumCycle(summary.dependences, cycle);
  return path + " takes " + counted(sum.latency, "cycle") + " in " + counted(sum.distance, "iteration");
}

} // namespace soliton::sched
