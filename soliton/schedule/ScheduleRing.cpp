//===- ScheduleRing.cpp - Copies as far ahead as shared memory allows -------===//
//
// Tiles that are copied past the registers lie in a ring of buffers: all but one of them are on their way, or wait for
// their turn, while that one is used. What uses a tile comes before the next copies of the trip, which take the place
// of the tile of the iteration before; matrix instructions that run by themselves are still under way then.
//
//   kernel, four buffers:   mma n, barrier (nobody reads n-1), copy n+3
//
// What has to wait for their sums comes behind the copies: then waves whose products are done compute while those of
// others run, and none waits at the barrier for products of its own.
//
// Where a product waits for arithmetic on the sum of another one, as the second of attention waits for weights, it
// comes a trip later, behind the first one of the next iteration: both are under way while lanes compute, and while one
// of them has the next tiles copied.
//
//   kernel:   mma_qk n+1, mma_pv n, copy v n+B-1, copy k n+B, maxima n+1, rescale n+1, exponentials n+1
//
// What is added to what the later product left comes as soon as its own operands are there, so that an assembler finds
// multiplications to put between the exponentials: on one unit alone either would take as long again.
//
// Barriers are split where that is enough (Releases.h), so that waves of one group compute while products of another
// run.
//
// Where sums begin anew with every tile and a tile's product comes in several pieces, the pieces take turns: what takes
// the sum of one does so while products of another are under way, of the last one a trip later.
//
//   kernel, two pieces:   mma0 n, add1 n-1, mma1 n, barrier, copy n+3, add0 n
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

/// Tiles of a loop whose copies come one by one are groups of their own, and what is under way can be waited for once
/// more before anybody hears of it: of 32 barriers in memory (transforms/CopyRing.h) half.
constexpr int kMostGroups = 16;

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

/// A product that runs by itself and is waited for.
bool isAsyncProduct(const Operation &op) {
  return op.kind == OpKind::Mma && !op.ticks.empty();
}

/// Spreads `marks` along dependences of values to whoever comes behind: in the same iteration, or in later ones too.
void spread(std::vector<bool> &marks, std::span<const Dependence> dependences, bool overIterations) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Dependence &dep : dependences)
      if (dep.kind == DepKind::Raw && marks[dep.from] && !marks[dep.to] && (overIterations || dep.distance == 0))
        changed = marks[dep.to] = true;
  }
}

/// Products that take what was computed from the sum of another product of their iteration, and all that comes behind
/// them; empty where there is none, or where the next iteration's first product needs them.
std::vector<bool> comesLater(const Problem &problem, std::span<const Dependence> dependences) {
  size_t count = problem.operations.size();
  std::vector<bool> computed(count, false), later(count, false);
  for (const Dependence &dep : dependences)
    if (dep.kind == DepKind::Raw && dep.distance == 0 && isAsyncProduct(problem.operations[dep.from]) &&
        !isAsyncProduct(problem.operations[dep.to]))
      computed[dep.to] = true;
  spread(computed, dependences, /*overIterations=*/false);
  for (size_t op = 0; op < count; ++op)
    later[op] = computed[op] && isAsyncProduct(problem.operations[op]);
  spread(later, dependences, /*overIterations=*/true);
  for (size_t op = 0; op < count; ++op)
    if (isAsyncProduct(problem.operations[op]) && later[op] != computed[op])
      return std::vector<bool>(count, false);
  return later;
}

/// Registers that the op reads, or writes.
int64_t registersOf(const Problem &problem, int op, bool write) {
  int64_t count = 0;
  for (const Access &access : problem.operations[op].accesses)
    if (const Region &region = problem.regions[access.region]; access.write == write && region.space == Space::Register)
      count += std::min(access.end, region.size) - std::min(access.begin, region.size);
  return count;
}

/// What only ops use that come later, and what takes fewer registers before it is computed, comes later too: a loop
/// carries it from trip to trip.
void carryLittle(const Problem &problem, const Graph &graph, std::vector<bool> &later) {
  for (int op = problem.numOps() - 1; op >= 0; --op) {
    auto users = graph.from(op);
    bool used = std::ranges::any_of(users, [](const Edge &edge) { return edge.distance == 0; });
    bool onlyLater = std::ranges::all_of(users, [&](const Edge &edge) { return edge.distance == 0 && later[edge.to]; });
    bool isPlain = problem.operations[op].kind == OpKind::Valu || problem.operations[op].kind == OpKind::Free;
    if (used && onlyLater && isPlain && registersOf(problem, op, true) > registersOf(problem, op, false))
      later[op] = true;
  }
}

/// The marked ones, and what they need of their own iteration.
std::vector<bool> withNeeds(std::vector<bool> leads, std::span<const Dependence> dependences) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Dependence &dep : dependences)
      if (dep.distance == 0 && leads[dep.to] && !leads[dep.from] && !dep.reuse)
        changed = leads[dep.from] = true;
  }
  return leads;
}

/// Products that come later, or those that do not, and what they need of their own iteration.
std::vector<bool> leadsToProducts(const Problem &problem, std::span<const Dependence> dependences,
                                  const std::vector<bool> &later, bool ofLater) {
  std::vector<bool> products(problem.operations.size(), false);
  for (size_t op = 0; op < products.size(); ++op)
    products[op] = isAsyncProduct(problem.operations[op]) && later[op] == ofLater;
  return withNeeds(std::move(products), dependences);
}

/// Whether nobody but products takes it, in the same iteration: its registers are theirs until they are complete.
bool isOnlyFactor(const Problem &problem, const Graph &graph, int op) {
  auto users = graph.from(op);
  return !users.empty() && std::ranges::all_of(users, [&](const Edge &edge) {
    return isAsyncProduct(problem.operations[edge.to]) || edge.to == op;
  });
}

/// Whether the copy fills a tile that products read which come later.
bool isForLater(const Problem &problem, int copy, const std::vector<bool> &later) {
  for (const Access &written : problem.operations[copy].accesses)
    for (int op = 0; written.write && op < problem.numOps(); ++op)
      if (later[op] && std::ranges::any_of(problem.operations[op].accesses, [&](const Access &read) {
            return !read.write && read.region == written.region;
          }))
        return true;
  return false;
}

/// Ranks by which every op comes right before the first that needs it, so that values live briefly: of sixteen pieces
/// the first goes all the way before the second begins.
class ShortLives {
public:
  ShortLives(const Graph &graph) : graph(graph), ranks(graph.numOps(), kUnseen) {
    for (int op = 0; op < graph.numOps(); ++op)
      if (std::ranges::none_of(graph.from(op), [](const Edge &edge) { return edge.distance == 0; }))
        visit(op);
  }
  int operator[](int op) const { return ranks[op]; }

private:
  static constexpr int kUnseen = -1;

  void visit(int op) {
    if (ranks[op] != kUnseen)
      return;
    ranks[op] = 0;
    for (const Edge &edge : graph.to(op))
      if (edge.distance == 0)
        visit(edge.from);
    ranks[op] = next++;
  }

  const Graph &graph;
  std::vector<int> ranks;
  int next = 0;
};

/// Of what later products need, that which takes no sum of their own iteration's: it can be had a trip before them.
std::vector<bool> comesBeforeLater(const Problem &problem, std::span<const Dependence> dependences,
                                   const std::vector<bool> &later, const std::vector<bool> &leadsLater) {
  size_t count = problem.operations.size();
  std::vector<bool> behind(count, false), before(count, false);
  for (size_t op = 0; op < count; ++op)
    behind[op] = later[op] && isAsyncProduct(problem.operations[op]);
  spread(behind, dependences, /*overIterations=*/false);
  for (size_t op = 0; op < count; ++op)
    before[op] = later[op] && leadsLater[op] && !behind[op];
  return before;
}

/// One trip: products of the next iteration, those of this one that had to wait, copies while both are under way,
/// arithmetic, and what needs all of them complete: who takes their sums, or writes the registers of their factors
/// anew. Sums are taken, and made ready for the next products, as soon as the arithmetic that this needs is done.
/// Then the next trip's products can be issued one behind the other. Copies take the place of tiles whose products the
/// trip before has completed.
void placeOverlapped(const Problem &problem, std::span<const Dependence> dependences, const std::vector<bool> &first,
                     std::vector<bool> later, int tiles, Schedule &schedule) {
  schedule.copiesRunOn = true;
  // Groups that only multiply are best in step: the one that has tiles copied would wait in the middle of its products.
  schedule.releases = true;
  Graph graph(problem.numOps(), dependences);
  carryLittle(problem, graph, later);
  ShortLives ranks(graph);
  std::vector<bool> leads = leadsToProducts(problem, dependences, later, /*ofLater=*/false),
                    leadsLater = leadsToProducts(problem, dependences, later, /*ofLater=*/true),
                    before = comesBeforeLater(problem, dependences, later, leadsLater),
                    neededBefore = withNeeds(before, dependences);

  for (int op = 0; op < problem.numOps(); ++op) {
    enum Part { Products, Later, Copies, NeededBefore, Sums, BeforeLater, Arithmetic, Factors };
    Part part = neededBefore[op] ? NeededBefore : Arithmetic;
    if (first[op])
      part = Copies;
    else if (later[op])
      part = before[op] ? BeforeLater : leadsLater[op] ? Later : Sums;
    else if (leads[op])
      part = Products;
    else if (isOnlyFactor(problem, graph, op))
      part = Factors;
    int stage =
        part == Copies ? (isForLater(problem, op, later) ? 2 : 1) : (later[op] && !before[op] ? tiles + 1 : tiles);

    // What is needed sooner is copied first, so that a wait for it leaves the rest on its way.
    bool isUrgent = part == Copies && stage > 1;
    schedule.slots[op] = {stage, 0, 0, part * problem.numOps() + (isUrgent ? 0 : ranks[op])};
  }
}

/// What takes sums of products that run by themselves, in their own iteration.
std::vector<bool> comesLast(const Problem &problem, std::span<const Dependence> dependences) {
  auto runsByItself = [&](int op) { return isAsyncProduct(problem.operations[op]); };
  std::vector<bool> last(problem.operations.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Dependence &dep : dependences)
      if (dep.distance <= 0 && !dep.reuse && !last[dep.to] && !runsByItself(dep.to) &&
          (last[dep.from] || runsByItself(dep.from))) {
        last[dep.to] = true;
        changed = true;
      }
  }
  return last;
}

/// What uses tiles, then the copies that take the place of those before, then what takes sums.
void placePlainly(const Problem &problem, std::span<const Dependence> dependences, const std::vector<bool> &first,
                  const std::vector<bool> &last, int tiles, Schedule &schedule) {
  std::vector<int> ranks = topologicalRanks(Graph(problem.numOps(), dependences));
  for (int op = 0; op < problem.numOps(); ++op) {
    int part = first[op] ? 1 : last[op] ? 2 : 0;
    schedule.slots[op] = {first[op] ? 0 : tiles - 1, 0, 0, part * problem.numOps() + ranks[op]};
  }
}

/// Which piece of a product each op belongs to: products that go on with each other's sums are one, and so is what
/// takes their last sum.
struct Pieces {
  static constexpr int kNone = -1, kSeveral = -2;
  std::vector<int> of;
  int count = 0;
};

/// The pieces of products that begin anew in each iteration; none where something takes sums of several, or where a
/// product goes on with what the iteration before left.
Pieces piecesOf(const Problem &problem, std::span<const Dependence> dependences, const std::vector<bool> &last) {
  Pieces pieces{std::vector<int>(problem.operations.size(), Pieces::kNone)};
  auto join = [&](int from, int to) {
    int &piece = pieces.of[to], joined = pieces.of[from];
    bool isNew = joined != Pieces::kNone && piece != joined && piece != Pieces::kSeveral;
    if (isNew)
      piece = piece == Pieces::kNone ? joined : Pieces::kSeveral;
    return isNew;
  };
  // Sources come first in the order of the program.
  Graph graph(problem.numOps(), dependences);
  for (int op = 0; op < problem.numOps(); ++op) {
    if (!isAsyncProduct(problem.operations[op]))
      continue;
    for (const Edge &edge : graph.to(op))
      if (dependences[edge.dependence].kind == DepKind::Raw && isAsyncProduct(problem.operations[edge.from])) {
        if (edge.distance > 0)
          return {};
        join(edge.from, op);
      }
    if (pieces.of[op] == Pieces::kNone)
      pieces.of[op] = pieces.count++;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Dependence &dep : dependences)
      if (last[dep.to] && dep.distance <= 0 && !dep.reuse)
        changed |= join(dep.from, dep.to);
  }
  bool areApart = std::ranges::find(pieces.of, int{Pieces::kSeveral}) == pieces.of.end();
  return areApart && std::ranges::find(last, true) != last.end() ? pieces : Pieces{};
}

/// Each piece's products, and behind them what takes the sum of the piece before: there are products under way all the
/// time. Nothing reads the tile before when the copies come, since the last piece's sum of it has been taken by then.
void placeInTurn(const Problem &problem, std::span<const Dependence> dependences, const std::vector<bool> &first,
                 const std::vector<bool> &last, const Pieces &pieces, int tiles, Schedule &schedule) {
  std::vector<int> ranks = topologicalRanks(Graph(problem.numOps(), dependences));
  for (int op = 0; op < problem.numOps(); ++op) {
    int piece = pieces.of[op], part = std::max(0, 2 * piece), stage = tiles - 1;
    if (first[op]) {
      part = 2 * pieces.count;
      stage = 0;
    } else if (last[op]) {
      bool isOfLast = piece == pieces.count - 1, isOfOneBefore = piece == pieces.count - 2;
      part = isOfLast ? 1 : isOfOneBefore ? 2 * pieces.count + 1 : 2 * piece + 3;
      stage += isOfLast ? 1 : 0;
    }
    schedule.slots[op] = {stage, 0, 0, part * problem.numOps() + ranks[op]};
  }
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
  std::vector<bool> later = comesLater(problem, dependences), last = comesLast(problem, dependences);
  bool isOverlapped = std::ranges::find(later, true) != later.end();
  if (isOverlapped && !rings.empty())
    tiles = std::min(tiles, kMostGroups / static_cast<int>(rings.size()));
  if (rings.empty() || tiles < 2 || std::find(first.begin(), first.end(), false) == first.end())
    return schedulePrefetch(problem);
  Pieces pieces = piecesOf(problem, dependences, last);
  Schedule schedule = emptySchedule(problem, "ring", 1, Timing::Order);
  schedule.buffers.assign(problem.regions.size(), 0);
  for (int region : rings)
    schedule.buffers[region] = tiles;
  if (isOverlapped)
    placeOverlapped(problem, dependences, first, later, tiles, schedule);
  else if (pieces.count > 1)
    placeInTurn(problem, dependences, first, last, pieces, tiles, schedule);
  else
    placePlainly(problem, dependences, first, last, tiles, schedule);
  schedule.releases |= problem.limits.inCluster || problem.limits.overlapsTiles;
  accept(problem, std::move(schedule), result);
  return result.schedule ? std::move(result) : schedulePrefetch(problem);
}

} // namespace soliton::sched
