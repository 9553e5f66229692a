//===- BindScheduleFile.cpp - A schedule file meets its loop ---------------===//
//
// Every line of the file finds its op by key, what the schedule put in becomes operations again, and what does not fit
// is reported with the line:
//
//   op "mma/0.O" …        the loop `K` has no op `mma/0.O`; did you mean `mma/0.0`?
//
//===----------------------------------------------------------------------===//
#include "soliton/authoring/ScheduleFileParts.h"

#include <algorithm>
#include <unordered_map>

namespace soliton::sched {
using namespace files;

namespace {
class Binder {
public:
  Binder(const Problem &problem, const ScheduleFile &file, int waves) : file(file), waves(waves) {
    plan.problem = problem;
    plan.scheduled = true;
    plan.unrollFirst = file.unrolled;
  }

  LoopPlan run(int unrolled) {
    checkNumbers(file, plan.diagnostics); // the file may not come from the reader
    if (!plan.ok() || file.unrolled != unrolled) {
      plan.schedule = emptySchedule(plan.problem, file.algorithm, 1, Timing::Order);
      return std::move(plan);
    }
    plan.unrollKernel = file.kernelCopies;
    plan.eliminateEpilogue = file.eliminateEpilogue;
    plan.strict = file.strict;
    plan.waivers = file.waivers;
    bindGroups();
    addOps();
    bindRoles();
    plan.schedule = emptySchedule(plan.problem, file.algorithm, file.interval, file.timing);
    plan.schedule.copiesRunOn = file.copiesRunOn;
    plan.schedule.releases = file.releases;
    bindLines();
    bindBuffers();
    bindOrders();
    for (const ScheduleFile::Outside &insertion : file.insertions)
      bindInsertion(insertion);
    bindWaivers();
    checkComplete();
    return std::move(plan);
  }

private:
  void report(DiagId id, const Place &place, std::string message, std::string hint) {
    plan.diagnostics.push_back({Severity::error, id, place, std::move(message), std::move(hint), {}});
  }
  Place at(int line) const { return {file.name, std::max(line, 1), 1}; }

  /// The op of that key, or -1 and a report.
  int find(const std::string &key, int line) {
    auto it = byKey.find(key);
    if (it != byKey.end())
      return it->second;
    std::vector<std::string> keys;
    for (const Operation &op : plan.problem.operations)
      keys.push_back(op.key);
    std::optional<std::string> meant = nearest(key, keys);
    report(DiagId::ScheduleUnknownOp, at(line), "the loop `" + plan.problem.loop + "` has no op `" + key + "`",
           meant ? "did you mean `" + *meant + "`?" : "");
    return -1;
  }

  void bindGroups() {
    plan.groupStart = file.groupStart;
    if (file.groupStart.size() < 2)
      return;
    if (file.groupStart.back() >= waves)
      report(DiagId::ScheduleStagger, at(1),
             "a group begins at wave " + std::to_string(file.groupStart.back()) + " of " + std::to_string(waves),
             "give the workgroup more waves, or split them elsewhere");
    plan.problem.groups = static_cast<int>(file.groupStart.size());
    plan.problem.stagger = file.stagger;
  }

  /// The counter that `added` names: -1 for what needs none; nothing, and a report, if the target has none.
  std::optional<int> counterOf(const ScheduleFile::Added &added, int line) {
    if (!hasCounter(added))
      return -1;
    std::vector<std::string> names;
    for (size_t i = 0; i < plan.problem.counters.size(); ++i) {
      const Counter &counter = plan.problem.counters[i];
      bool fits = added.kind == OpKind::Commit ? counter.kind == Retirement::Group : counter.kind != Retirement::Phase;
      if (fits && counter.name == added.counter)
        return static_cast<int>(i);
      if (fits)
        names.push_back(counter.name);
    }
    report(DiagId::ScheduleArgument, at(line),
           "there is no counter `" + added.counter + "` to " + std::string(wordOf(added)) +
               (added.kind == OpKind::Wait ? " for" : "") + " on this target",
           names.empty() ? "leave the line out" : "there is " + listOf(names));
    return std::nullopt;
  }

  void addOps() {
    for (int op = 0; op < plan.problem.numOps(); ++op)
      byKey.emplace(plan.problem.operations[op].key, op);
    for (const ScheduleFile::Line &line : file.lines) {
      if (!line.added)
        continue;
      std::optional<int> counter = counterOf(*line.added, line.line);
      if (!counter)
        continue;
      const ScheduleFile::Added &added = *line.added;
      Operation op = makeAdded(added.kind, added.hint, added.arguments, *counter, added.value, added.groups);
      op.key = line.key;
      op.place = at(line.line);
      if (byKey.emplace(line.key, plan.problem.numOps()).second)
        plan.problem.addOperation(std::move(op));
      else
        repeated(line);
    }
  }

  void bindRoles() {
    if (file.specialized) {
      const ScheduleFile::Specialized &role = *file.specialized;
      std::vector<int> ops;
      for (const std::string &key : role.keys)
        if (int op = find(key, role.line); op >= 0)
          ops.push_back(op);
      if (!plan.ok())
        return;
      plan.roles.copyingWaves = role.waves;
      plan.roles.copyingRegisters = role.registers;
      plan.roles.copyingPlace = at(role.line);
      std::vector<Diagnostic> wrong = checkRole(plan.problem, ops, role.waves, role.registers, at(role.line));
      plan.diagnostics.insert(plan.diagnostics.end(), wrong.begin(), wrong.end());
      if (ops.empty())
        report(DiagId::ScheduleRoles, at(role.line), "a role that issues nothing",
               "name the ops: specialize waves 4 registers 0 \"read_a/copy\"");
    }
    plan.roles.workgroups = file.persistent;
    plan.roles.workgroupsPlace = at(file.persistentLine);
    plan.roles.overlapTiles = file.overlapTiles;
  }

  void repeated(const ScheduleFile::Line &line) {
    report(DiagId::ScheduleUnknownOp, at(line.line), "`" + line.key + "` is scheduled twice", "keep one of the lines");
  }

  void bindLines() {
    for (const ScheduleFile::Line &line : file.lines) {
      int op = line.added && !byKey.contains(line.key) ? -1 : find(line.key, line.line);
      if (op < 0)
        continue;
      if (isAdded(plan.problem.operations[op]) && !line.added)
        repeated(line);
      else if (!plan.schedule.slots[op].scheduled())
        plan.schedule.slots[op] = line.slot;
      else if (!line.added)
        repeated(line);
    }
  }

  void bindBuffers() {
    std::vector<std::string> regions = regionKeys(plan.problem);
    plan.schedule.buffers.assign(file.buffers.empty() ? 0 : regions.size(), 0);
    for (const auto &[name, count] : file.buffers) {
      auto region = std::find(regions.begin(), regions.end(), name);
      if (region != regions.end()) {
        plan.schedule.buffers[region - regions.begin()] = count;
        continue;
      }
      std::optional<std::string> meant = nearest(name, regions);
      report(DiagId::ScheduleUnknownOp, at(1), "the loop `" + plan.problem.loop + "` has no region `" + name + "`",
             meant ? "did you mean `" + *meant + "`?" : "");
    }
  }

  void bindOrders() {
    for (const ScheduleFile::Ordered &order : file.orders) {
      std::vector<int> &ranks = order.phase == Phase::Prologue ? plan.prologueRank : plan.epilogueRank;
      ranks.resize(plan.problem.operations.size(), 0);
      if (int op = find(order.key, order.line); op >= 0)
        ranks[op] = order.rank;
    }
  }

  void bindInsertion(const ScheduleFile::Outside &insertion) {
    std::optional<int> counter = counterOf(insertion.added, insertion.line);
    if (!counter)
      return;
    EntryKind kind = insertion.added.kind == OpKind::Wait ? EntryKind::Wait : EntryKind::Barrier;
    plan.insertions.push_back({insertion.phase, insertion.atStart, kind, *counter, insertion.added.value,
                               insertion.added.groups, at(insertion.line), insertion.rank});
  }

  void bindWaivers() {
    std::vector<std::string> regions = regionKeys(plan.problem);
    for (const Waiver &waiver : file.waivers) {
      for (const std::string &key : {waiver.from, waiver.to})
        if (!key.empty())
          find(key, 1);
      if (!waiver.region.empty() && std::find(regions.begin(), regions.end(), waiver.region) == regions.end())
        report(DiagId::ScheduleUnknownOp, at(1),
               "the loop `" + plan.problem.loop + "` has no region `" + waiver.region + "`", "");
    }
  }

  void checkComplete() {
    for (int op = 0; op < plan.problem.numOps(); ++op) {
      const Operation &missing = plan.problem.operations[op];
      if (!plan.schedule.slots[op].scheduled() && missing.kind != OpKind::Free)
        report(DiagId::ScheduleMissingOp, missing.place,
               "`" + missing.key + "` is in the loop `" + plan.problem.loop + "` but not in `" + file.name + "`",
               "add a line for it; nothing is left out silently");
    }
  }

  const ScheduleFile &file;
  int waves;
  LoopPlan plan;
  std::unordered_map<std::string, int> byKey;
};
} // namespace

LoopPlan planFromFile(const Problem &problem, const ScheduleFile &file, int unrolled, int waves) {
  return Binder(problem, file, waves).run(unrolled);
}

} // namespace soliton::sched
