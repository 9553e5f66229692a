//===- SchedulePrefetch.cpp - Memory one iteration ahead -------------------===//
//
// Two stages of two phases (Wave's PREFETCH): the memory of iteration n + 1 beside the arithmetic of iteration n.
//
//              cycle 0             cycle 1
//   stage 0    global load n+1     shared store n+1
//   stage 1    shared load n       compute n
//
// Wave walks ops sorted by weight and refuses any sequence of phases but one; here a phase is a wish that dependences
// may push later, so two memory phases (transposed loads, attention) and loads that depend on arithmetic work:
//
//   index load 0, address 0, gather 0, shared store 1, shared load 1, transpose 1, shared store 1, shared load 2, mma 3
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Algorithms.h"

#include <algorithm>

namespace soliton::sched {

Scheduled schedulePrefetch(const Problem &problem) {
  Scheduled result;
  std::vector<Dependence> dependences;
  if (!prepare(problem, dependences, result))
    return result;
  constexpr int kInterval = 2;
  std::vector<int> phases = phasesOf(problem, dependences, kInterval);
  accept(problem, inPhases(problem, dependences, "prefetch", kInterval, phases), result);
  return result;
}

} // namespace soliton::sched
