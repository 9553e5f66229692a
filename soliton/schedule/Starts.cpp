#include "soliton/schedule/Starts.h"

#include "soliton/schedule/Algorithms.h"

#include <algorithm>

namespace soliton::sched {

std::vector<Start> findStarts(const Problem &problem, LoopCost &cost) {
  std::vector<Start> starts;
  auto consider = [&](std::string name, Scheduled found) {
    if (!found.schedule)
      return;
    found.schedule->buffers.clear();
    Modelled modelled = cost.of(*found.schedule);
    if (modelled.accepted)
      starts.push_back({std::move(name), std::move(*found.schedule), modelled});
  };
  for (Algorithm algorithm : {Algorithm::None, Algorithm::Prefetch, Algorithm::PrefetchAttention, Algorithm::FourStage,
                              Algorithm::List, Algorithm::Modulo})
    consider(std::string(nameOf(algorithm)), scheduleWith(algorithm, problem));
  // What leaves registers to other waves, or has shorter lifetimes, is another schedule.
  constexpr int64_t kStep = 32, kLeast = 96;
  int64_t most = problem.limits.registers > 0 ? problem.limits.registers : 512;
  for (int64_t registers = most - kStep; registers >= kLeast; registers = registers * 7 / 8 / 8 * 8) {
    Problem limited = problem;
    limited.limits.registers = registers;
    consider("modulo, " + std::to_string(registers) + " registers", scheduleModulo(limited));
  }
  std::vector<size_t> order(starts.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(starts[a].modelled.score(), a) < std::pair(starts[b].modelled.score(), b);
  });
  std::vector<Start> sorted;
  for (size_t i : order)
    sorted.push_back(std::move(starts[i]));
  return sorted;
}

} // namespace soliton::sched
