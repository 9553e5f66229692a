//===- TuneMoves.cpp - Schedules of a kernel's longest loop, by moves -------------------------------===//
//
// Orders are searched by moves (tuner/ScheduleDomain.h), each with the least buffers that it needs. Then the best of
// them are given one or two buffers more, shared tile by shared tile: that costs memory and may save a barrier.
//
//===----------------------------------------------------------------------===//

#include "soliton/authoring/ScheduleFile.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Starts.h"
#include "soliton/tuner/ScheduleDomain.h"
#include "tools/soliton/Tune.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>

namespace soliton::cli {

namespace {

/// Schedules that are compiled and checked in the end: the model's best may not be the code's.
constexpr size_t kFinalists = 6;

/// As the automatic schedules do: with as many copies of the kernel as loaded values live at once, nothing moves.
int copiesForLoads(const sched::Problem &problem, const sched::Schedule &schedule) {
  constexpr int kMostCopies = 4;
  int copies = 1;
  for (const sched::Operation &op : problem.operations)
    if (op.kind == sched::OpKind::GlobalLoad || op.kind == sched::OpKind::SharedLoad)
      for (const sched::Access &access : op.accesses)
        if (access.write && problem.regions[access.region].space == sched::Space::Register)
          copies = std::max(copies, schedule.buffers[access.region]);
  return std::min(copies, kMostCopies);
}

/// The file of all loops, one of them with another schedule.
std::string fileWith(const std::vector<sched::LoopReport> &loops, size_t which, const sched::Schedule &schedule) {
  std::vector<sched::ScheduleFile> files;
  for (size_t i = 0; i < loops.size(); ++i) {
    sched::LoopPlan plan = loops[i];
    if (i == which) {
      // Most buffers follow from the slots, and said they would be demands; only those that were asked for are.
      plan.schedule = schedule;
      sched::assignBuffers(plan.problem, plan.schedule);
      plan.unrollKernel = copiesForLoads(plan.problem, plan.schedule);
      plan.schedule.buffers = schedule.buffers;
    }
    files.push_back(sched::toFile(plan));
  }
  return sched::printText(files);
}

class MoveSearch {
public:
  MoveSearch(const TuneCommand &command, const sched::LoopReport &loop, const Target &target,
             const sched::Launch &launch)
      : command(command), problem(loop.problem), cost(problem, target, launch) {
    moves.loop = problem.loop;
    moves.before = cost.of(loop.schedule, loop.program).cycles;
    moves.bound = cost.bound();
  }

  void run() {
    auto began = std::chrono::steady_clock::now();
    std::clock_t processor = std::clock();
    std::vector<sched::Start> starts = sched::findStarts(problem, cost);
    std::erase_if(starts, [&](const sched::Start &start) {
      return tune::ScheduleDomain::whyNot(problem, start.schedule).has_value();
    });
    if (starts.empty()) {
      moves.whyNot = "no algorithm finds a schedule to start from";
      return;
    }
    moves.start = starts.front().name;
    moves.began = moves.best = starts.front().modelled.cycles;
    domain.emplace(problem, starts.front().schedule);
    // A point of its own for each schedule that an algorithm found, so that they can win too.
    for (const sched::Start &start : starts)
      consider(domain->pointOf(start.schedule));
    tune::SearchOptions options{command.seed, command.moves, command.generation};
    std::unique_ptr<tune::Search> search = makeSearch(*tune::parseStrategy(command.strategy), *domain, options);
    while (moves.tried < command.moves && moves.best > moves.bound) {
      std::vector<double> costs;
      for (const tune::Point &point : search->propose())
        costs.push_back(consider(point));
      search->learn(costs);
    }
    for (const auto &[score, point] : std::map(best))
      widen(point, score.first);
    moves.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    moves.processorSeconds = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
  }

  std::vector<sched::Schedule> finalists() const {
    std::vector<sched::Schedule> list;
    for (const auto &[score, schedule] : wider)
      list.push_back(schedule);
    for (const auto &[score, point] : best)
      list.push_back(domain->presentable(point));
    list.resize(std::min(list.size(), kFinalists));
    return list;
  }

  Moves moves;

private:
  double consider(const tune::Point &point) {
    sched::Modelled modelled = cost.of(domain->scheduleOf(point));
    ++moves.tried;
    moves.refused += !modelled.accepted;
    if (!modelled.accepted)
      return tune::kRefused;
    if (moves.curve.empty() || modelled.cycles < moves.best)
      moves.curve.emplace_back(moves.tried, std::min(modelled.cycles, moves.best));
    moves.best = std::min(moves.best, modelled.cycles);
    best.emplace(std::pair(modelled.score(), moves.tried), point);
    // One of each score: points that differ in nothing that counts are many.
    auto place = best.find({modelled.score(), moves.tried});
    if (place != best.begin() && std::prev(place)->first.first == modelled.score())
      best.erase(place);
    while (best.size() > kFinalists)
      best.erase(std::prev(best.end()));
    return modelled.score();
  }

  /// The same order with more buffers than it needs, for one shared tile at a time.
  void widen(const tune::Point &point, double score) {
    constexpr int kMost = 2;
    sched::Schedule least = domain->scheduleOf(point);
    sched::assignBuffers(problem, least);
    for (size_t region = 0; region < problem.regions.size(); ++region) {
      const sched::Region &tile = problem.regions[region];
      bool isOpen = tile.rotating && tile.space == sched::Space::Shared && tile.buffers == 0;
      for (int more = 1; isOpen && more <= kMost; ++more) {
        sched::Schedule schedule = domain->presentable(point);
        schedule.buffers.assign(problem.regions.size(), 0);
        schedule.buffers[region] = least.buffers[region] + more;
        sched::Modelled modelled = cost.of(schedule);
        ++moves.buffersTried;
        if (!modelled.accepted || modelled.score() >= score)
          continue;
        moves.best = std::min(moves.best, modelled.cycles);
        wider.emplace(std::pair(modelled.score(), moves.buffersTried), std::move(schedule));
      }
    }
  }

  const TuneCommand &command;
  const sched::Problem &problem;
  sched::LoopCost cost;
  std::optional<tune::ScheduleDomain> domain;
  /// By score and number.
  std::map<std::pair<double, int64_t>, tune::Point> best;
  /// Of those with more buffers that are better for it.
  std::map<std::pair<double, int64_t>, sched::Schedule> wider;
};

} // namespace

Moves searchMoves(const TuneCommand &command, const TuneJudge &judge, const tune::Candidate &base) {
  Moves none;
  CompileAttempt attempt = judge.compileLoops(base);
  if (!attempt || attempt.result->loops.empty()) {
    none.whyNot = "the kernel has no loop that is scheduled";
    return none;
  }
  const std::vector<sched::LoopReport> &loops = attempt.result->loops;
  const Target &target = *findTarget(attempt.result->image.target);
  size_t longest = 0;
  int64_t most = -1;
  for (size_t i = 0; i < loops.size(); ++i) {
    sched::Launch launch = judge.launchOf(base, *attempt.result, loops[i]);
    int64_t cycles = sched::LoopCost(loops[i].problem, target, launch).of(loops[i].schedule, loops[i].program).cycles;
    if (cycles > most) {
      most = cycles;
      longest = i;
    }
  }
  if (std::optional<std::string> why = tune::ScheduleDomain::whyNot(loops[longest].problem, loops[longest].schedule)) {
    none.loop = loops[longest].problem.loop;
    none.whyNot = "schedule `" + loops[longest].schedule.algorithm + "` is not moved: " + *why;
    return none;
  }
  MoveSearch search(command, loops[longest], target, judge.launchOf(base, *attempt.result, loops[longest]));
  search.run();
  for (const sched::Schedule &schedule : search.finalists()) {
    tune::Candidate candidate = base;
    candidate.schedule = fileWith(loops, longest, schedule);
    search.moves.candidates.push_back(std::move(candidate));
  }
  return std::move(search.moves);
}

} // namespace soliton::cli
