//===- ScheduleRing.cpp - Copies as far ahead as shared memory allows -------===//
//
// Tiles that are copied past the registers lie in a ring of buffers: all but one of them are on their way, or wait for
// their turn, while that one is used. What uses a tile comes before the next copies of the trip, which take the place
// of the tile of the iteration before; matrix instructions that run by themselves are still under way then.
//
//   kernel, four buffers:   mma n, barrier (nobody reads n-1), copy n+3
//
// A loop without such copies gets its memory one iteration ahead (SchedulePrefetch.cpp).
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Algorithms.h"

#include <algorithm>

namespace soliton::sched {
namespace {
/// Four tiles: one that is used, one that products of the iteration before may still read, two on their way. More of
/// them where they are small, so that enough bytes are on their way; beyond that they hide no more latency while other
/// workgroups of the compute unit have copies under way too. One that is alone has to keep the memory busy by itself:
/// hand-written kernels needed about 200 KB for that on an H200 (docs/decisions/0040-few-rows.md).
constexpr int kTiles = 4, kMostTiles = 8, kMostTilesAlone = 12;
constexpr int64_t kBytes = 96 * 1024, kBytesAlone = 192 * 1024;

bool isWrittenByCopy(const Problem &problem, int region) {
  return std::any_of(problem.operations.begin(), problem.operations.end(), [&](const Operation &op) {
    return op.kind == OpKind::CopyAsync && std::any_of(op.accesses.begin(), op.accesses.end(), [&](const Access &each) {
             return each.write && each.region == region;
           });
  });
}

/// Regions that copies fill anew in each iteration.
std::vector<int> ringsOf(const Problem &problem) {
  std::vector<int> rings;
  for (int region = 0; region < static_cast<int>(problem.regions.size()); ++region)
    if (problem.regions[region].rotating && problem.regions[region].buffers == 0 &&
        problem.regions[region].space == Space::Shared && isWrittenByCopy(problem, region))
      rings.push_back(region);
  return rings;
}

/// Buffers of each ring that fit beside what the loop has otherwise.
int tilesThatFit(const Problem &problem, const std::vector<int> &rings) {
  int64_t each = 0, others = 0;
  for (int region = 0; region < static_cast<int>(problem.regions.size()); ++region)
    if (problem.regions[region].space == Space::Shared)
      (std::find(rings.begin(), rings.end(), region) != rings.end() ? each : others) += problem.regions[region].size;
  if (each == 0)
    return 1;
  bool alone = problem.limits.alone;
  int64_t bytes = alone ? kBytesAlone : kBytes, most = alone ? kMostTilesAlone : kMostTiles;
  int64_t wanted = std::clamp<int64_t>((bytes + each - 1) / each, kTiles, most);
  int64_t room = problem.limits.sharedBytes == 0 ? wanted : (problem.limits.sharedBytes - others) / each;
  return static_cast<int>(std::clamp<int64_t>(room, 1, wanted));
}

/// Copies, and what they need of their own iteration.
std::vector<bool> comesFirst(const Problem &problem, std::span<const Dependence> dependences) {
  std::vector<bool> first(problem.operations.size(), false);
  for (size_t op = 0; op < first.size(); ++op)
    first[op] = problem.operations[op].kind == OpKind::CopyAsync;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Dependence &dep : dependences)
      if (dep.distance <= 0 && first[dep.to] && !first[dep.from] && !dep.reuse) {
        first[dep.from] = true;
        changed = true;
      }
  }
  return first;
}
} // namespace

Scheduled scheduleRing(const Problem &problem) {
  Scheduled result;
  std::vector<Dependence> dependences;
  if (!prepare(problem, dependences, result))
    return result;
  std::vector<int> rings = ringsOf(problem);
  std::vector<bool> first = comesFirst(problem, dependences);
  int tiles = tilesThatFit(problem, rings);
  if (rings.empty() || tiles < 2 || std::find(first.begin(), first.end(), false) == first.end())
    return schedulePrefetch(problem);
  std::vector<int> ranks = topologicalRanks(Graph(problem.numOps(), dependences));
  Schedule schedule = emptySchedule(problem, "ring", 1, Timing::Order);
  for (int op = 0; op < problem.numOps(); ++op)
    schedule.slots[op] = {first[op] ? 0 : tiles - 1, 0, 0, (first[op] ? problem.numOps() : 0) + ranks[op]};
  schedule.buffers.assign(problem.regions.size(), 0);
  for (int region : rings)
    schedule.buffers[region] = tiles;
  if (!accept(problem, std::move(schedule), result))
    return schedulePrefetch(problem);
  return result;
}

} // namespace soliton::sched
