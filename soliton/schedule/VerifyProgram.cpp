//===- VerifyProgram.cpp - Barriers, waits and hazards of a program --------===//
#include "soliton/schedule/Causes.h"
#include "soliton/schedule/Issue.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Paths.h"
#include "soliton/schedule/Verify.h"
#include "soliton/schedule/VerifyPeeling.h"

#include <algorithm>
#include <map>
#include <set>

namespace soliton::sched {
namespace {
class ProgramVerifier {
public:
  ProgramVerifier(const Problem &problem, const Schedule &schedule, const Program &program,
                  const VerifyOptions &options, Report &report)
      : context(problem, schedule), problem(problem), program(program), options(options), report(report),
        causes(problem), rules(problem, context.dependences) {}

  void run() {
    check();
    for (Diagnostic &diagnostic : causes.take())
      report.diagnostics.push_back(std::move(diagnostic));
  }

private:
  void check() {
    checkWaits();
    for (const Dependence &hazard : context.hazards)
      worst.push_back({hazard, HazardClass::Proven, 0, 0, 0, false, {}});
    std::vector<int> counts = tripsToCheck(context, program, options.tripCount);
    for (int trips : counts) {
      Path path(context, program, trips, trips != counts.back());
      if (!say(findLostInstance(context, program, path)) || !say(findDivergence(context, program, path)))
        return;
      checkOrder(path);
      checkPhases(path);
      times.reset();
      currentTrips = trips;
      forEachHazard(context, path, [&](const HazardInstance &at) { classify(at); });
    }
    sayWaits();
    for (Hazard &hazard : worst)
      reportHazard(hazard);
    report.hazards = std::move(worst);
  }

  const Operation &op(int index) const { return problem.operations[index]; }
  void error(DiagId id, Place place, std::string message, std::string hint, std::vector<Note> notes = {}) {
    report.diagnostics.push_back(
        {Severity::error, id, std::move(place), std::move(message), std::move(hint), std::move(notes)});
  }
  /// False if there was something to say.
  bool say(std::optional<Diagnostic> found) {
    if (found)
      report.diagnostics.push_back(std::move(*found));
    return !found;
  }
  Place placeOf(const Entry &entry) const { return entry.op >= 0 ? op(entry.op).place : Place{}; }

  void checkWaits() {
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
      for (const Entry &entry : program.list(phase)) {
        if (entry.kind != EntryKind::Wait)
          continue;
        const Counter &counter = problem.counters[entry.counter];
        bool tooLarge = counter.limit > 0 && entry.value > counter.limit;
        if (tooLarge || entry.value < 0)
          error(DiagId::ScheduleWaitValue, placeOf(entry),
                "a wait in the " + std::string(nameOf(phase)) + " leaves " + std::to_string(entry.value) +
                    " outstanding on `" + counter.name + "`, which counts to " + std::to_string(counter.limit),
                "wait for " + std::to_string(tooLarge ? counter.limit : 0) + " or fewer");
      }
  }

  /// Inside one wave, instructions stand in the order of their dependences.
  void checkOrder(const Path &path) {
    for (const Dependence &dep : context.dependences)
      for (const Trace &trace : path.traces)
        for (int n = 0; n < trace.iterations(dep.from); ++n) {
          int x = trace.position(dep.from, n), y = trace.position(dep.to, n + dep.distance);
          if (x < 0 || y < 0 || x < y || (dep.from == dep.to && x == y))
            continue;
          if (disordered.insert({dep.from, dep.to}).second)
            reportOrder(dep, trace.at(y).where.phase);
          break;
        }
  }

  void reportOrder(const Dependence &dep, Phase phase) {
    DiagId id = DiagId::ScheduleDependence;
    causes.add(causes.of(id, dep.to, dep.from, -1, static_cast<int>(dep.kind)), dep.to,
               {Severity::error,
                id,
                op(dep.to).place,
                "`" + op(dep.to).key + "` stands in the " + std::string(nameOf(phase)) + " before `" +
                    op(dep.from).key + "`, which it depends on (" + describe(problem, dep) + ")",
                "move it behind `" + op(dep.from).key + "`",
                {{op(dep.from).place, "`" + op(dep.from).key + "` comes first"}}});
  }

  /// A wave that waits for its own later arrival waits for ever.
  void checkPhases(const Path &path) {
    for (const Trace &trace : path.traces)
      for (int p = 0; p < trace.size(); ++p) {
        const Instance &instance = trace.at(p);
        const Entry &entry = *instance.entry;
        if (entry.kind != EntryKind::PhaseWait || instance.iteration < 0)
          continue;
        int own = trace.phaseEntry(EntryKind::Arrive, entry.counter, entry.region, instance.iteration);
        if (own == kNever || own < p || deadlocked)
          continue;
        deadlocked = true;
        error(DiagId::ScheduleBarriers, {},
              "a wave waits for the phase of `" + problem.regions[entry.region].name + "`, instance " +
                  std::to_string(instance.iteration) + ", before it arrives there itself",
              "give `" + problem.regions[entry.region].name + "` another buffer");
      }
  }

  void classify(const HazardInstance &at) {
    Hazard &hazard = worst[at.hazard - context.hazards.data()];
    if (hazard.value == HazardClass::Violated || isProven(context, at))
      return;
    HazardClass value = latencyProtects(at) ? HazardClass::LatencyOnly : HazardClass::Violated;
    if (value == HazardClass::LatencyOnly && hazard.value == HazardClass::LatencyOnly)
      return;
    hazard.value = value;
    hazard.fromGroup = at.fromGroup;
    hazard.toGroup = at.toGroup;
    hazard.iteration = at.iteration;
    size_t index = at.hazard - context.hazards.data();
    waits.erase(index);
    hazard.fix = fixFor(at, index);
  }

  /// With both waves in step since the last barrier they share, the model has X done before Y takes effect.
  bool latencyProtects(const HazardInstance &at) {
    if (!at.hazard->crossWave && at.fromPosition > at.toPosition)
      return false;
    if (!times) {
      times.emplace(rules, program, currentTrips);
      times->finish();
    }
    int shared = std::min(at.from->barriersBefore(at.fromPosition), at.to->barriersBefore(at.toPosition));
    auto since = [&](const Trace &trace, int group, int position) {
      int64_t start = shared > 0 ? times->of(group)[trace.barrierPosition(shared)].start : 0;
      return times->of(group)[position].start - start;
    };
    int64_t done = since(*at.from, at.fromGroup, at.fromPosition) + op(at.hazard->from).latency;
    return done <= since(*at.to, at.toGroup, at.toPosition) + op(at.hazard->to).firstEffect;
  }

  /// What is missing: the phase, the wait, or the barrier.
  std::string fixFor(const HazardInstance &at, size_t index) {
    const Dependence &hazard = *at.hazard;
    if (protectedByPhase(problem, hazard))
      return "wait for the phase of `" + problem.regions[hazard.region].name + "` in front of `" + op(hazard.to).key +
             "`, or give it another buffer";
    int last = at.hazard->crossWave ? at.from->barrierPosition(at.to->barriersBefore(at.toPosition)) : at.toPosition;
    bool between = last != kNever && last > at.fromPosition;
    if (!between)
      return "put a barrier between `" + op(hazard.from).key + "` and `" + op(hazard.to).key + "`" +
             (hazard.counter >= 0 ? ", with `wait " + problem.counters[hazard.counter].name + " 0` in front of it"
                                  : "") +
             (hazard.reuse ? ", or give `" + problem.regions[hazard.region].name + "` another buffer" : "");
    const Counter &counter = problem.counters[hazard.counter];
    if (counter.kind == Retirement::Group && !at.from->committed(at.fromPosition, last, hazard.counter))
      return "commit `" + counter.name + "` behind `" + op(hazard.from).key + "`";
    int64_t value = counter.kind == Retirement::OutOfOrder
                        ? 0
                        : std::max<int64_t>(0, at.from->issuedSince(at.fromPosition, last, hazard.counter));
    Location where = at.from->at(last).where;
    waits[index] = {hazard.counter, where, value};
    return {};
  }

  /// A wait that is missing, for one hazard.
  struct MissingWait {
    int counter = 0;
    /// The barrier, or the second op, in front of which it is missing.
    Location where;
    int64_t value = 0;
  };

  /// One wait in front of one barrier serves all hazards that lack one there: the strictest.
  void sayWaits() {
    std::map<std::pair<int, Location>, int64_t> strictest;
    for (const auto &[index, wait] : waits) {
      int64_t &value = strictest.try_emplace({wait.counter, wait.where}, wait.value).first->second;
      value = std::min(value, wait.value);
    }
    for (const auto &[index, wait] : waits) {
      int64_t value = strictest.at({wait.counter, wait.where});
      const Dependence &hazard = worst[index].dependence;
      worst[index].fix = "`wait " + problem.counters[wait.counter].name + " " + std::to_string(value) +
                         "` in front of " + (hazard.crossWave ? "the barrier" : "`" + op(hazard.to).key + "`") +
                         " in the " + std::string(nameOf(wait.where.phase));
    }
  }

  bool isWaived(const Dependence &hazard) const {
    return std::any_of(options.waivers.begin(), options.waivers.end(), [&](const Waiver &waiver) {
      return (waiver.from.empty() || waiver.from == op(hazard.from).key) &&
             (waiver.to.empty() || waiver.to == op(hazard.to).key) &&
             (waiver.region.empty() || waiver.region == problem.regions[hazard.region].name);
    });
  }

  void reportHazard(Hazard &hazard) {
    if (hazard.value == HazardClass::Proven)
      return;
    const Dependence &dep = hazard.dependence;
    hazard.waived = hazard.value == HazardClass::LatencyOnly && isWaived(dep);
    bool latency = hazard.value == HazardClass::LatencyOnly;
    if (!report.violated && !hazard.waived)
      report.violated = dep;
    std::string groups = problem.groups > 1
                             ? " of wave group " + std::to_string(hazard.toGroup) + " and `" + op(dep.from).key +
                                   "` of wave group " + std::to_string(hazard.fromGroup)
                             : " and `" + op(dep.from).key + "`";
    std::string message = "`" + op(dep.to).key + "`" + groups + " touch " + std::string(nameOf(dep.space)) + " `" +
                          problem.regions[dep.region].name + "` (" + std::string(nameOf(dep.kind)) + ") and " +
                          (latency ? "only latency keeps them apart" : "nothing keeps them apart");
    DiagId id = latency ? DiagId::ScheduleLatencyOnly : DiagId::ScheduleHazard;
    Severity severity = hazard.waived ? Severity::warning : Severity::error;
    int kind = static_cast<int>(dep.kind) * 2 + hazard.waived;
    causes.add(causes.of(id, dep.to, dep.from, dep.region, kind), dep.to,
               {severity,
                id,
                op(dep.to).place,
                message,
                hazard.fix,
                {{op(dep.from).place, "`" + op(dep.from).key + "` must be complete in every wave first"}}});
  }

  PathContext context;
  const Problem &problem;
  const Program &program;
  const VerifyOptions &options;
  Report &report;
  Causes causes;
  IssueRules rules;
  /// Of the path that is looked at; made where a hazard is not proven.
  std::optional<IssueModel> times;
  int currentTrips = 0;
  std::vector<Hazard> worst;
  /// By hazard.
  std::map<size_t, MissingWait> waits;
  bool deadlocked = false;
  std::set<std::pair<int, int>> disordered;
};
} // namespace

void verifyProgram(const Problem &problem, const Schedule &schedule, const Program &program,
                   const VerifyOptions &options, Report &report) {
  Schedule decided = schedule;
  assignBuffers(problem, decided);
  ProgramVerifier(problem, decided, program, options, report).run();
}

} // namespace soliton::sched
