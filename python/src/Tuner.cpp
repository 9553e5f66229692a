//===- Tuner.cpp - The tuner in Python --------------------------------------------------------===//
//
//   loop = tuned_loop(kernel, options, place, [(M, Expr)])     the longest loop, its ops, edges and units
//   Validator(loop.problem, loop.interval, loop.times).attempt_move(3, 40)
//   tune(space, start, {"strategy": "evolution", …}, judge, "tuning.db", …)
//
// A schedule is a list of cycles, one for each op, -1 for those that have none. Verifier, model, search and database
// are those of soliton/tuner; what is of Python is called back: to compile a candidate, to measure, to be told.
//
//===----------------------------------------------------------------------===//
#include "Tuner.h"

#include <nanobind/stl/map.h>

#include <soliton/authoring/ScheduleFile.h>
#include <soliton/driver/LoopLaunch.h>
#include <soliton/tuner/KernelJudge.h>
#include <soliton/tuner/MoveSearch.h>
#include <soliton/tuner/ScheduleOptimizer.h>

namespace soliton::python {

namespace {

using Times = std::vector<int64_t>;
using Table = std::vector<std::vector<int>>;

/// What is wrong with what Python handed over, at its author's line.
[[noreturn]] void refuse(DiagId id, std::string message) {
  throw CompileError({{Severity::error, id, Place("", 0, 0), std::move(message), {}, {}}});
}

//===- Loops -----------------------------------------------------------------------------------===//

/// A loop that a schedule is for; shared by all that speak of it.
struct LoopProblem {
  std::shared_ptr<const sched::Problem> problem;

  sched::Schedule scheduleOf(int interval, const Times &times) const;
  Times timesOf(const sched::Schedule &schedule) const;
};

sched::Schedule LoopProblem::scheduleOf(int interval, const Times &times) const {
  if (interval < 1 || times.size() != problem->operations.size())
    refuse(DiagId::ScheduleArgument, "a schedule of " + std::to_string(times.size()) + " cycles at the interval " +
                                         std::to_string(interval) + ", expected one for each of " +
                                         std::to_string(problem->numOps()) + " ops and an interval of 1 at least");
  sched::Schedule schedule = sched::emptySchedule(*problem, "tuned", interval, sched::Timing::Cycles);
  for (size_t op = 0; op < times.size(); ++op)
    if (times[op] >= 0)
      schedule.slots[op] = {static_cast<int>(times[op] / interval), static_cast<int>(times[op] % interval), 0, 0};
  return schedule;
}

Times LoopProblem::timesOf(const sched::Schedule &schedule) const {
  Times times;
  for (int op = 0; op < problem->numOps(); ++op)
    times.push_back(schedule.slots[op].scheduled() ? schedule.time(op) : -1);
  return times;
}

/// (from, to, iterations between them, cycles).
using EdgeTuple = std::tuple<int, int, int, int>;

std::vector<EdgeTuple> edgesOf(const LoopProblem &self) {
  std::vector<EdgeTuple> edges;
  for (const sched::Dependence &each : sched::deriveDependences(*self.problem))
    edges.emplace_back(each.from, each.to, each.distance, each.latency);
  return edges;
}

/// Units of each resource in the cycles from an op's issue on.
Table tableOfOp(const LoopProblem &self, int op) {
  const sched::Operation &operation = self.problem->operations.at(op);
  size_t cycles = 1;
  for (const sched::Reservation &use : operation.reservations)
    cycles = std::max<size_t>(cycles, use.start + self.problem->busyCycles(operation, use));
  Table table(cycles, std::vector<int>(self.problem->resources.size(), 0));
  for (const sched::Reservation &use : operation.reservations)
    for (int i = 0; i < self.problem->busyCycles(operation, use); ++i)
      table[use.start + i][use.resource] += use.units;
  return table;
}

/// One reservation for each run of equal numbers in a column.
std::vector<sched::Reservation> reservationsOf(const Table &table, int resources) {
  std::vector<sched::Reservation> list;
  for (int resource = 0; resource < resources; ++resource)
    for (int begin = 0, end = 0, cycles = static_cast<int>(table.size()); begin < cycles; begin = end) {
      int units = table[begin].at(resource);
      while (end < cycles && table[end].at(resource) == units)
        ++end;
      if (units > 0)
        list.push_back({resource, begin, end - begin, units});
    }
  return list;
}

void checkProblem(const sched::Problem &problem) {
  if (std::vector<Diagnostic> wrong = sched::validate(problem); !wrong.empty())
    throw CompileError(wrong);
}

void addEdges(sched::Problem &problem, const std::vector<EdgeTuple> &edges) {
  for (const auto &[from, to, distance, latency] : edges) {
    sched::Dependence edge;
    edge.from = from;
    edge.to = to;
    edge.distance = distance;
    edge.latency = latency;
    problem.extra.push_back(edge);
  }
}

/// A loop that somebody describes: names of ops, what each occupies, what depends on what, units of each resource.
LoopProblem describedLoop(const std::vector<std::string> &names, const std::vector<Table> &tables,
                          const std::vector<EdgeTuple> &edges,
                          const std::vector<std::pair<std::string, int>> &resources) {
  auto problem = std::make_shared<sched::Problem>();
  for (const auto &[name, units] : resources)
    problem->addResource(name, units);
  for (size_t i = 0; i < names.size(); ++i) {
    sched::Operation op;
    op.key = names[i];
    op.reservations = reservationsOf(tables.at(i), static_cast<int>(resources.size()));
    problem->addOperation(std::move(op));
  }
  addEdges(*problem, edges);
  checkProblem(*problem);
  return {problem};
}

/// The same loop with other units, and with edges that it does not know of itself.
LoopProblem changedLoop(const LoopProblem &self, const std::vector<int> &units, const std::vector<EdgeTuple> &more) {
  auto problem = std::make_shared<sched::Problem>(*self.problem);
  if (units.size() != problem->resources.size())
    refuse(DiagId::ScheduleArgument, "limits of " + std::to_string(units.size()) + " resources, expected " +
                                         std::to_string(problem->resources.size()));
  for (size_t i = 0; i < units.size(); ++i)
    problem->resources[i].units = units[i];
  addEdges(*problem, more);
  checkProblem(*problem);
  return {problem};
}

nb::list opsOf(const LoopProblem &self) {
  nb::list list;
  for (const sched::Operation &op : self.problem->operations)
    list.append(nb::make_tuple(op.key, std::string(nameOf(op.kind)), op.latency));
  return list;
}

void bindProblems(nb::module_ &module) {
  nb::class_<LoopProblem>(module, "LoopProblem")
      .def_static("described", describedLoop, nb::arg("names"), nb::arg("tables"), nb::arg("edges"),
                  nb::arg("resources"))
      .def("changed", changedLoop, nb::arg("units"), nb::arg("more"))
      .def_prop_ro("name", [](const LoopProblem &self) { return self.problem->loop; })
      .def_prop_ro("ops", opsOf)
      .def_prop_ro("edges", edgesOf)
      .def_prop_ro("resources",
                   [](const LoopProblem &self) {
                     std::vector<std::pair<std::string, int>> list;
                     for (const sched::Resource &each : self.problem->resources)
                       list.emplace_back(each.name, each.units);
                     return list;
                   })
      .def("table_of_op", tableOfOp, nb::arg("op"))
      .def(
          "table",
          [](const LoopProblem &self, int interval, const Times &times) {
            sched::Schedule schedule = self.scheduleOf(interval, times);
            return tune::ScheduleValidator(*self.problem, schedule).tableOf(schedule);
          },
          nb::arg("interval"), nb::arg("times"))
      .def(
          "wave_text",
          [](const LoopProblem &self, int interval, const Times &times) {
            return sched::printWave(*self.problem, self.scheduleOf(interval, times));
          },
          nb::arg("interval"), nb::arg("times"))
      .def(
          "json",
          [](const LoopProblem &self, int interval, const Times &times) {
            return sched::printJson(sched::toFile(*self.problem, self.scheduleOf(interval, times)));
          },
          nb::arg("interval"), nb::arg("times"));
}

//===- The longest loop of a kernel ----------------------------------------------------------------===//

struct KernelLoop {
  std::shared_ptr<tune::TunedLoop> loop;
  LoopProblem problem;
  /// In cycles; with a sentence where there is none.
  std::optional<sched::Schedule> start;
  std::string whyNot;
};

Substitutions boundBy(const CompileOptions &options, const Substitutions &sizes) {
  Substitutions bound = options.subs;
  bound.insert(bound.end(), sizes.begin(), sizes.end());
  return bound;
}

KernelLoop tunedLoop(const Kernel &kernel, const nb::dict &given, Place place, const Substitutions &sizes) {
  auto pending = std::make_shared<PendingError>();
  CompileOptions options = optionsOf(given, place, pending);
  options.schedule.reportsNone = true;
  options.cache = false;
  KernelLoop made;
  {
    nb::gil_scoped_release others;
    CompileAttempt attempt = compileImage(kernel, options, rt::ImageKind::emulator, place);
    if (!attempt && !pending->error)
      throw CompileError(attempt.diagnostics);
    if (attempt && !attempt.result->loops.empty()) {
      std::vector<sched::Launch> launches;
      for (const sched::LoopReport &loop : attempt.result->loops)
        launches.push_back(launchOf(&kernel, *attempt.result, loop, boundBy(options, sizes)));
      const Target &target = *findTarget(attempt.result->image.target);
      made.loop = std::make_shared<tune::TunedLoop>(std::move(attempt.result->loops), target, launches);
    }
  }
  if (pending->error)
    throw std::move(*pending->error);
  if (!made.loop)
    throw CompileError({{Severity::error,
                         DiagId::ScheduleUnsuitable,
                         place,
                         "`" + kernel.name() + "` has no loop whose schedule could be searched, expected one",
                         "tune its tiles: `soliton.tuner.tune(kernel, Space()…)`",
                         {}}});
  made.problem.problem = {made.loop, &made.loop->problem()};
  made.start = made.loop->inCycles(made.whyNot);
  return made;
}

nb::dict modelledOf(KernelLoop &self, int interval, const Times &times) {
  sched::Modelled modelled = self.loop->cost().of(self.problem.scheduleOf(interval, times));
  nb::dict dict;
  dict["accepted"] = modelled.accepted;
  dict["why"] = modelled.reason ? std::string(idText(*modelled.reason)) : "";
  dict["cycles"] = modelled.cycles;
  dict["seconds"] = self.loop->cost().microseconds(modelled.cycles) * 1e-6;
  dict["registers"] = modelled.registers;
  dict["stages"] = modelled.stages;
  return dict;
}

tune::MoveOptions moveOptionsOf(const std::string &strategy, uint64_t seed, int64_t moves, int generation) {
  std::optional<tune::Strategy> found = tune::parseStrategy(strategy);
  if (!found)
    refuse(DiagId::ScheduleArgument, "found `" + strategy + "`, expected a strategy: " + listOf(tune::strategyNames()));
  return {*found, seed, moves, generation};
}

nb::dict movesOf(KernelLoop &self, const std::string &strategy, uint64_t seed, int64_t moves, int generation) {
  tune::MoveOptions options = moveOptionsOf(strategy, seed, moves, generation);
  tune::Moves found;
  {
    nb::gil_scoped_release others;
    found = tune::searchMoves(*self.loop, options);
  }
  nb::dict dict;
  dict["files"] = found.files;
  dict["loop"] = found.loop;
  dict["start"] = found.start;
  dict["tried"] = found.tried;
  dict["refused"] = found.refused;
  dict["seconds"] = found.seconds;
  dict["cycles_before"] = found.before;
  dict["cycles_at_start"] = found.began;
  dict["cycles_best"] = found.best;
  dict["cycles_bound"] = found.bound;
  dict["why_not"] = found.whyNot;
  return dict;
}

void bindLoops(nb::module_ &module) {
  nb::class_<KernelLoop>(module, "KernelLoop")
      .def_ro("problem", &KernelLoop::problem)
      .def_ro("why_not", &KernelLoop::whyNot)
      .def_prop_ro("algorithm", [](const KernelLoop &self) { return self.loop->loop().schedule.algorithm; })
      .def_prop_ro("interval", [](const KernelLoop &self) { return self.start ? self.start->interval : 0; })
      .def_prop_ro("times",
                   [](const KernelLoop &self) { return self.start ? self.problem.timesOf(*self.start) : Times(); })
      .def_prop_ro("bound_seconds",
                   [](KernelLoop &self) { return self.loop->cost().microseconds(self.loop->cost().bound()) * 1e-6; })
      .def("modelled", modelledOf, nb::arg("interval"), nb::arg("times"))
      .def("moves", movesOf, nb::arg("strategy"), nb::arg("seed"), nb::arg("moves"), nb::arg("generation"))
      .def(
          "file",
          [](const KernelLoop &self, int interval, const Times &times) {
            return self.loop->fileOf(self.problem.scheduleOf(interval, times));
          },
          nb::arg("interval"), nb::arg("times"));
  module.def("tuned_loop", tunedLoop, nb::arg("kernel"), nb::arg("options"), nb::arg("place").none(), nb::arg("sizes"));
}

//===- The seed's validator and hill climbing -------------------------------------------------------===//

struct Validator {
  LoopProblem loop;
  tune::ScheduleValidator validator;

  Validator(LoopProblem given, int interval, const Times &times)
      : loop(std::move(given)), validator(*loop.problem, loop.scheduleOf(interval, times)) {}
  int interval() const { return validator.schedule().interval; }
};

/// Told of one iteration: {"iteration": 3, "op": 7, "cycle": 40, "latency": …, "is_improvement": …, "why": …}, and its
/// schedule.
nb::dict dictOf(const tune::OptimizationStep &step) {
  nb::dict dict;
  dict["iteration"] = step.iteration;
  dict["op"] = step.op;
  dict["cycle"] = step.cycle;
  dict["latency"] = step.latency;
  dict["is_improvement"] = step.isImprovement;
  dict["why"] = step.why;
  return dict;
}

nb::dict optimize(Validator &self, nb::callable measure, nb::callable report, uint64_t seed, double bound,
                  std::pair<int, int> limits) {
  tune::ScheduleOptimizer::Options options;
  options.measure = [&](const sched::Schedule &schedule) {
    return nb::cast<double>(measure(self.loop.timesOf(schedule)));
  };
  options.report = [&](const tune::OptimizationStep &step, const sched::Schedule &schedule) {
    report(dictOf(step), self.loop.timesOf(schedule));
  };
  options.seed = seed;
  options.bound = bound;
  tune::OptimizationResult result =
      tune::ScheduleOptimizer(self.validator, options).optimize({limits.first, limits.second});
  nb::dict dict;
  dict["times"] = self.loop.timesOf(result.schedule);
  dict["latency"] = result.latency;
  dict["iterations"] = result.iterations;
  dict["algorithm"] = result.algorithm;
  dict["improvement_history"] = result.improvementHistory;
  dict["ended"] = result.ended;
  return dict;
}

void bindValidator(nb::module_ &module) {
  nb::class_<Validator>(module, "Validator")
      .def(nb::init<LoopProblem, int, const Times &>(), nb::arg("loop"), nb::arg("interval"), nb::arg("times"))
      .def(
          "attempt_move",
          [](const Validator &self, int op, int64_t cycle) {
            tune::ScheduleValidator::Attempt attempt = self.validator.attemptMove(op, cycle);
            return nb::make_tuple(self.loop.timesOf(attempt.schedule), attempt.error);
          },
          nb::arg("op"), nb::arg("cycle"))
      .def(
          "commit_move",
          [](Validator &self, const Times &times) {
            self.validator.commitMove(self.loop.scheduleOf(self.interval(), times));
          },
          nb::arg("times"))
      .def(
          "verify",
          [](const Validator &self, const Times &times) {
            sched::Report report = sched::verify(*self.loop.problem, self.loop.scheduleOf(self.interval(), times));
            return listOfDiagnostics(report.diagnostics);
          },
          nb::arg("times"))
      .def("optimize", optimize, nb::arg("measure"), nb::arg("report"), nb::arg("seed"), nb::arg("bound"),
           nb::arg("limits"))
      .def_prop_ro("times", [](const Validator &self) { return self.loop.timesOf(self.validator.schedule()); })
      .def_prop_ro("table", [](const Validator &self) { return self.validator.table(); });
}

/// What compiling a kernel comes to, as one line of JSON (soliton/tuner/Result.h).
std::string judgeKernel(const Kernel &kernel, const nb::dict &given, Place place, const Substitutions &sizes) {
  auto pending = std::make_shared<PendingError>();
  CompileOptions options = optionsOf(given, place, pending);
  options.schedule.reportsNone = true;
  options.cache = false;
  Substitutions bound = boundBy(options, sizes);
  tune::Result result;
  {
    nb::gil_scoped_release others;
    result = tune::judgeByModel({[&](rt::ImageKind kind) { return compileImage(kernel, options, kind, place); },
                                 [&](const CompileResult &made, const sched::LoopReport &loop) {
                                   return launchOf(&kernel, made, loop, bound);
                                 }});
  }
  if (pending->error)
    throw std::move(*pending->error);
  return tune::toJson(result);
}

std::map<std::string, int64_t> smallSizesOf(const Kernel &kernel, const Substitutions &bound, int64_t more) {
  return smallSizes(kernel, bound, more);
}

} // namespace

void bindTuner(nb::module_ &module) {
  bindProblems(module);
  bindLoops(module);
  bindValidator(module);
  bindTuning(module);
  module.def("judge_kernel", judgeKernel, nb::arg("kernel"), nb::arg("options"), nb::arg("place").none(),
             nb::arg("sizes"));
  module.def("small_sizes", smallSizesOf, nb::arg("kernel"), nb::arg("bound"), nb::arg("more"));
}

} // namespace soliton::python
