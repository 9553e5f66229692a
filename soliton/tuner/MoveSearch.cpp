#include "soliton/tuner/MoveSearch.h"

#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Starts.h"
#include "soliton/tuner/ScheduleDomain.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>

namespace soliton::tune {

namespace {

/// Schedules that are compiled and checked in the end: the model's best may not be the code's.
constexpr size_t kFinalists = 6;

class MoveSearch {
public:
  MoveSearch(TunedLoop &loop, const MoveOptions &options)
      : loop(loop), options(options), problem(loop.problem()), cost(loop.cost()) {
    moves.loop = problem.loop;
    moves.before = cost.of(loop.loop().schedule, loop.loop().program).cycles;
    moves.bound = cost.bound();
  }

  void run() {
    std::vector<sched::Start> starts = sched::findStarts(problem, cost);
    addOwn(starts);
    std::erase_if(
        starts, [&](const sched::Start &start) { return ScheduleDomain::whyNot(problem, start.schedule).has_value(); });
    if (starts.empty()) {
      moves.whyNot = "no algorithm finds a schedule to start from";
      return;
    }
    // Algorithms take what they take; what is counted are candidates.
    auto began = std::chrono::steady_clock::now();
    std::clock_t processor = std::clock();
    moves.start = starts.front().name;
    moves.began = moves.best = starts.front().modelled.cycles;
    domain.emplace(problem, starts.front().schedule);
    // A point of its own for each schedule that an algorithm found, so that they can win too.
    for (const sched::Start &start : starts)
      consider(domain->pointOf(start.schedule));
    SearchOptions each{options.seed, options.moves, options.generation};
    std::unique_ptr<Search> search = makeSearch(options.strategy, *domain, each);
    while (moves.tried < options.moves && moves.best > moves.bound) {
      std::vector<double> costs;
      for (const Point &point : search->propose())
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
  /// What the kernel was compiled with is where the search begins if no algorithm finds anything better.
  void addOwn(std::vector<sched::Start> &starts) {
    sched::Start own{loop.loop().schedule.algorithm, loop.loop().schedule, {}};
    own.schedule.buffers.clear();
    own.modelled = cost.of(own.schedule);
    if (!own.modelled.accepted)
      return;
    auto place = std::ranges::find_if(
        starts, [&](const sched::Start &start) { return own.modelled.score() < start.modelled.score(); });
    starts.insert(place, std::move(own));
  }

  double consider(const Point &point) {
    sched::Modelled modelled = cost.of(domain->scheduleOf(point), domain->moreOf(point));
    ++moves.tried;
    moves.refused += !modelled.accepted;
    if (!modelled.accepted)
      return kRefused;
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
  void widen(const Point &point, double score) {
    constexpr int kMost = 2;
    sched::Schedule least = domain->scheduleOf(point);
    sched::assignBuffers(problem, least);
    for (size_t region = 0; region < problem.regions.size(); ++region) {
      const sched::Region &tile = problem.regions[region];
      bool isOpen = tile.rotating && tile.space == sched::Space::Shared && tile.buffers == 0;
      for (int more = 1; isOpen && more <= kMost; ++more) {
        sched::Schedule schedule = domain->presentable(point);
        schedule.buffers.resize(problem.regions.size(), 0);
        if (schedule.buffers[region] > 0)
          continue; // the search has given it more
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

  TunedLoop &loop;
  const MoveOptions &options;
  const sched::Problem &problem;
  sched::LoopCost &cost;
  std::optional<ScheduleDomain> domain;
  /// By score and number.
  std::map<std::pair<double, int64_t>, Point> best;
  /// Of those with more buffers that are better for it.
  std::map<std::pair<double, int64_t>, sched::Schedule> wider;
};

} // namespace

Moves searchMoves(TunedLoop &loop, const MoveOptions &options) {
  if (std::optional<std::string> why = ScheduleDomain::whyNot(loop.problem(), loop.loop().schedule)) {
    Moves none;
    none.loop = loop.problem().loop;
    none.whyNot = "schedule `" + loop.loop().schedule.algorithm + "` is not moved: " + *why;
    return none;
  }
  MoveSearch search(loop, options);
  search.run();
  for (const sched::Schedule &schedule : search.finalists()) {
    search.moves.files.push_back(loop.fileOf(schedule));
    if (std::optional<std::string> hinted = options.triesPriorities ? loop.fileWithPriorities(schedule) : std::nullopt)
      search.moves.files.push_back(*hinted);
  }
  return std::move(search.moves);
}

} // namespace soliton::tune
