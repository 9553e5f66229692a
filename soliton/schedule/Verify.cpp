#include "soliton/schedule/Verify.h"

#include "soliton/schedule/Causes.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/ResourceTable.h"

#include <algorithm>

namespace soliton::sched {
namespace {
class ScheduleVerifier {
public:
  ScheduleVerifier(const Problem &problem, const Schedule &schedule, const StorageTable &storage,
                   const VerifyOptions &options, Report &report)
      : problem(problem), schedule(schedule), storage(storage), options(options), report(report), causes(problem) {}

  void run() {
    check();
    for (Diagnostic &diagnostic : causes.take())
      report.diagnostics.push_back(std::move(diagnostic));
  }

private:
  void check() {
    if (!checkShape() || !checkCompleteness())
      return;
    order = emissionOrder(schedule);
    position = positionsOf(order, problem.numOps());
    for (const Dependence &dep : deriveDependences(problem, schedule.buffers))
      if (schedule.slots[dep.from].scheduled() && schedule.slots[dep.to].scheduled())
        checkDependence(dep);
    if (schedule.timing == Timing::Cycles)
      checkResources();
    checkClusters();
    checkBudgets();
  }

  /// About no op in particular.
  void error(DiagId id, Place place, std::string message, std::string hint) {
    causes.add({id, -1, -1, -1, 0}, -1,
               {Severity::error, id, std::move(place), std::move(message), std::move(hint), {}});
  }
  void error(const Cause &cause, int index, std::string message, std::string hint, std::vector<Note> notes = {}) {
    causes.add(cause, index,
               {Severity::error, std::get<DiagId>(cause), op(index).place, std::move(message), std::move(hint),
                std::move(notes)});
  }

  const Operation &op(int index) const { return problem.operations[index]; }

  bool checkShape() {
    if (schedule.interval < 1 || schedule.interval > kLargestInterval) {
      error(DiagId::ScheduleMalformed, {}, "the initiation interval is " + std::to_string(schedule.interval),
            "give an interval of at least 1");
      return false;
    }
    if (schedule.slots.size() != problem.operations.size()) {
      error(DiagId::ScheduleMissingOp, {},
            "the schedule has " + std::to_string(schedule.slots.size()) + " ops, the loop `" + problem.loop + "` has " +
                std::to_string(problem.numOps()),
            "schedule the loop again");
      return false;
    }
    return true;
  }

  bool checkCompleteness() {
    bool complete = true;
    for (int i = 0; i < problem.numOps(); ++i) {
      const Slot &slot = schedule.slots[i];
      if (!slot.scheduled() && !(options.freeOpsMayFloat && op(i).kind == OpKind::Free)) {
        complete = false;
        error(causes.of(DiagId::ScheduleMissingOp, i), i,
              "`" + op(i).key + "` is in the loop `" + problem.loop + "` but not in the schedule",
              "mention it in a stage; nothing is left out silently");
      }
      if (slot.scheduled() && (slot.cycle < 0 || slot.cycle >= schedule.interval || slot.stage > kMostStages)) {
        complete = false;
        error(causes.of(DiagId::ScheduleMalformed, i), i,
              "`" + op(i).key + "` is in stage " + std::to_string(slot.stage) + ", cycle " +
                  std::to_string(slot.cycle) + ", the interval is " + std::to_string(schedule.interval),
              "cycles count from 0 to the interval - 1");
      }
    }
    return complete;
  }

  void checkDependence(const Dependence &dep) {
    int trips = tripDistance(schedule, dep);
    bool ordered = trips > 0 || (trips == 0 && position[dep.to] > position[dep.from]) ||
                   (dep.from == dep.to && trips >= 0 && dep.distance > 0);
    int64_t apart = schedule.time(dep.to) + int64_t{dep.distance} * schedule.interval - schedule.time(dep.from);
    bool late = schedule.timing == Timing::Cycles && apart < dep.latency;
    if (ordered && !late)
      return;
    if (!report.violated)
      report.violated = dep;
    if (dep.reuse)
      return reportReuse(dep);
    std::string found = "`" + op(dep.to).key + "` " + relation(dep, ordered, apart);
    error(causes.of(DiagId::ScheduleDependence, dep.to, dep.from, -1, static_cast<int>(dep.kind)), dep.to, found,
          fixFor(dep, ordered, apart), {{op(dep.from).place, "`" + op(dep.from).key + "` " + role(dep)}});
  }

  std::string relation(const Dependence &dep, bool ordered, int64_t apart) const {
    std::string what = dep.region >= 0
                           ? " (" + std::string(nameOf(dep.kind)) + " on " + std::string(nameOf(dep.space)) + " `" +
                                 problem.regions[dep.region].name + "`" + distanceText(dep) + ")"
                           : " (said order" + distanceText(dep) + ")";
    if (!ordered)
      return "runs before `" + op(dep.from).key + "`, which it depends on" + what;
    return "starts " + std::to_string(apart) + " cycles after `" + op(dep.from).key + "`, expected at least " +
           std::to_string(dep.latency) + what;
  }

  static std::string distanceText(const Dependence &dep) {
    return dep.distance == 0 ? "" : ", " + std::to_string(dep.distance) + " iterations apart";
  }

  static std::string role(const Dependence &dep) {
    switch (dep.kind) {
    case DepKind::Raw:
      return "produces the value here";
    case DepKind::War:
      return "reads the old value here";
    case DepKind::Waw:
      return "writes first here";
    case DepKind::Order:
      break;
    }
    return "comes first";
  }

  /// The nearest legal place of the later op, everything else staying.
  std::string fixFor(const Dependence &dep, bool ordered, int64_t apart) const {
    int64_t need = schedule.timing == Timing::Cycles ? dep.latency - apart : -apart;
    if (!ordered && need <= 0)
      return "move `" + op(dep.to).key + "` behind `" + op(dep.from).key + "` in cycle " +
             std::to_string(schedule.slots[dep.to].cycle);
    int64_t time = schedule.time(dep.to) + std::max<int64_t>(need, 0);
    std::string text = "move `" + op(dep.to).key + "` to stage " + std::to_string(time / schedule.interval) +
                       ", cycle " + std::to_string(time % schedule.interval) + " or later";
    if (ordered && dep.distance > 0 && schedule.timing == Timing::Cycles)
      text += ", or raise the interval by " + std::to_string((need + dep.distance - 1) / dep.distance);
    return text;
  }

  void reportReuse(const Dependence &dep) {
    const Region &region = problem.regions[dep.region];
    int has = effectiveBuffers(problem, schedule.buffers, dep.region);
    int need = storage.requiredBuffers(schedule, position, dep.region);
    error(causes.of(DiagId::ScheduleBuffers, dep.to, dep.from, dep.region), dep.to,
          "`" + op(dep.to).key + "` overwrites " + std::string(nameOf(region.space)) + " `" + region.name +
              "` before `" + op(dep.from).key + "` is done with it: " + std::to_string(has) + " buffer" +
              (has == 1 ? "" : "s") + ", expected at least " + std::to_string(need),
          "give `" + region.name + "` " + std::to_string(need) + " buffers",
          {{op(dep.from).place,
            "`" + op(dep.from).key + "` still " + (dep.kind == DepKind::War ? "reads" : "writes") + " it here"}});
  }

  void checkResources() {
    ResourceTable table(problem, schedule.interval);
    for (int i : order) {
      if (!table.possible(i)) {
        error(causes.of(DiagId::ScheduleResource, i), i,
              "`" + op(i).key + "` occupies its units longer than the interval of " +
                  std::to_string(schedule.interval) + " cycles allows",
              "raise the interval");
        continue;
      }
      if (std::optional<std::pair<int, int>> conflict = table.conflict(i, schedule.time(i)))
        reportConflict(table, i, *conflict);
      table.place(i, schedule.time(i));
    }
  }

  void reportConflict(const ResourceTable &table, int late, std::pair<int, int> where) {
    const Resource &resource = problem.resources[where.first];
    std::optional<int64_t> next = table.firstFit(late, schedule.time(late));
    std::vector<Note> notes;
    for (int other : order) {
      if (other == late)
        break;
      if (table.possible(other) && table.collide(late, schedule.time(late), other, schedule.time(other))) {
        notes.push_back({op(other).place, "`" + op(other).key + "` occupies it there"});
        break;
      }
    }
    error(causes.of(DiagId::ScheduleResource, late, -1, where.first), late,
          "`" + op(late).key + "` needs `" + resource.name + "` in cycle " + std::to_string(where.second) +
              " of the interval, where all " + std::to_string(resource.units) + " units are taken",
          next ? "move it " + std::to_string(*next - schedule.time(late)) + " cycles later" : "raise the interval",
          std::move(notes));
  }

  void checkClusters() {
    for (size_t i = 1; i < order.size(); ++i) {
      const Slot &before = schedule.slots[order[i - 1]], &slot = schedule.slots[order[i]];
      if (slot.cluster >= before.cluster)
        continue;
      error(causes.of(DiagId::ScheduleMalformed, order[i]), order[i],
            "`" + op(order[i]).key + "` of cluster " + std::to_string(slot.cluster) + " comes after `" +
                op(order[i - 1]).key + "` of cluster " + std::to_string(before.cluster),
            "clusters are contiguous and in order: raise the cycle of the later cluster",
            {{op(order[i - 1]).place, "cluster " + std::to_string(before.cluster) + " is still open here"}});
      return;
    }
  }

  void checkBudgets() {
    report.registers = storage.registerPressure(schedule, position, static_cast<int>(order.size()));
    report.sharedBytes = sharedBytes(problem, schedule);
    if (problem.limits.registers > 0 && report.registers > problem.limits.registers)
      error(DiagId::ScheduleRegisters, heaviest(),
            "the schedule keeps " + std::to_string(report.registers) + " registers live, there are " +
                std::to_string(problem.limits.registers),
            "move loads closer to their uses, use fewer stages or raise the interval");
    if (problem.limits.sharedBytes > 0 && report.sharedBytes > problem.limits.sharedBytes)
      error(DiagId::ScheduleSharedBytes, {},
            "the buffers take " + std::to_string(report.sharedBytes) + " bytes of shared memory, there are " +
                std::to_string(problem.limits.sharedBytes),
            "use fewer stages or smaller tiles: " + bufferList());
  }

  /// Where the pressure is highest.
  Place heaviest() const {
    for (int group = 0; group < problem.groups; ++group) {
      std::vector<int64_t> profile = pressureProfile(problem, schedule, group);
      for (size_t i = 0; i < profile.size(); ++i)
        if (profile[i] == report.registers)
          return op(order[i]).place;
    }
    return {};
  }

  std::string bufferList() const {
    std::string text;
    for (size_t region = 0; region < problem.regions.size(); ++region)
      if (problem.regions[region].space == Space::Shared)
        text += (text.empty() ? "" : ", ") + problem.regions[region].name + " x " +
                std::to_string(std::max(1, effectiveBuffers(problem, schedule.buffers, static_cast<int>(region))));
    return text;
  }

  static constexpr int kLargestInterval = 1 << 24;
  static constexpr int kMostStages = 1 << 16;

  const Problem &problem;
  const Schedule &schedule;
  const StorageTable &storage;
  const VerifyOptions &options;
  Report &report;
  Causes causes;
  std::vector<int> order, position;
};
} // namespace

std::string_view nameOf(HazardClass value) {
  return value == HazardClass::Proven ? "proven" : value == HazardClass::LatencyOnly ? "latency only" : "violated";
}

bool Report::ok() const {
  return std::none_of(diagnostics.begin(), diagnostics.end(),
                      [](const Diagnostic &diag) { return diag.severity == Severity::error; });
}

Report verify(const Problem &problem, const Schedule &schedule, const VerifyOptions &options) {
  Report report;
  report.diagnostics = validate(problem);
  if (!report.ok())
    return report;
  StorageTable storage(problem);
  // Buffers that nobody decided are as many as are needed.
  Schedule decided = schedule;
  if (schedule.slots.size() == problem.operations.size() && schedule.interval > 0)
    storage.assignBuffers(decided, positionsOf(emissionOrder(decided), problem.numOps()));
  ScheduleVerifier(problem, decided, storage, options, report).run();
  return report;
}

Report verify(const Problem &problem, const Schedule &schedule, const Program &program, const VerifyOptions &options) {
  Report report = verify(problem, schedule, options);
  // Too much storage says nothing about order; whoever takes that for a warning still wants the proof.
  bool ordered = std::none_of(report.diagnostics.begin(), report.diagnostics.end(), [](const Diagnostic &diag) {
    bool budget = diag.id == DiagId::ScheduleRegisters || diag.id == DiagId::ScheduleSharedBytes;
    return diag.severity == Severity::error && !budget;
  });
  if (ordered)
    verifyProgram(problem, schedule, program, options, report);
  return report;
}

} // namespace soliton::sched
