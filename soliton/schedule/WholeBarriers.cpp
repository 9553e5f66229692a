#include "soliton/schedule/WholeSync.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace soliton::sched::whole {
namespace {
constexpr int kComplete = std::numeric_limits<int>::max();
/// A group that no commit has closed yet.
constexpr int kOpen = -1;

/// Whose barriers are derived: those of all waves first, which teams have too, then those that one team alone needs.
enum class Scope { All, Teams };

/// An access that no barrier separates from where one looks, and its phase relative to the clock there.
struct Exposed {
  const Access *access = nullptr;
  std::optional<int> phase;
  /// An await stands between the beginning of the node and the access, which is behind whatever was followed by so many
  /// releases in front of the node.
  std::optional<int> awaited = {};
  /// Ticks of its counter since, the fewest that the waits which are there tell of. What is complete a release covers.
  int younger = 0;
  /// Releases between its completion and the end of the node, and whether the first wave has heard of one of them.
  int releases = 0;
  bool isHeard = false;

  /// What is known of either.
  void join(const Exposed &other) {
    younger = std::min(younger, other.younger);
    releases = std::min(releases, other.releases);
    isHeard &= other.isHeard;
  }
};

/// A node, or a sequence, as seen from outside.
struct Flow {
  /// Accesses that can be reached from its beginning, and that reach its end, without a barrier.
  std::vector<Exposed> entries, exits;
  /// Some way through it passes no barrier.
  bool open = true;
};

/// What was accessed since the last barrier, by region, and where.
class Pending {
public:
  Pending(const Kernel &kernel, Scope scope, const std::vector<std::vector<int>> &sharing)
      : kernel(kernel), scope(scope), sharing(sharing), byRegion(kernel.regions.size()) {}

  void clear() {
    for (auto &list : byRegion)
      list.clear();
  }
  /// Of equal accesses the last place is kept: what is behind it is behind all of them. On some ways the last one is
  /// another, of which less is known.
  void add(Exposed exposed, int at) {
    std::vector<Entry> &list = byRegion[exposed.access->region];
    auto equal = std::find_if(list.begin(), list.end(), [&](const Entry &entry) {
      return entry.exposed.phase == exposed.phase && *entry.exposed.access == *exposed.access;
    });
    if (equal != list.end()) {
      exposed.join(equal->exposed);
      list.erase(equal);
    }
    list.push_back({exposed, at});
  }

  void tick(int counter, int amount) {
    for (auto &list : byRegion)
      for (Entry &entry : list)
        if (int &younger = entry.exposed.younger; entry.exposed.access->counter == counter && younger != kComplete)
          younger += amount;
  }
  void wait(int counter, int value) {
    if (kernel.counters[counter].kind == Retirement::OutOfOrder && value != 0)
      return;
    for (auto &list : byRegion)
      for (Entry &entry : list)
        if (entry.exposed.access->counter == counter && entry.exposed.younger >= value)
          entry.exposed.younger = kComplete;
  }

  /// Of what was complete before it the first wave hears once it awaits it.
  void release() {
    for (auto &list : byRegion)
      for (Entry &entry : list)
        entry.exposed.releases += entry.exposed.younger == kComplete ? 1 : 0;
  }
  void await(int value) {
    for (auto &list : byRegion)
      for (Entry &entry : list)
        entry.exposed.isHeard |= entry.exposed.releases > value;
  }

  /// The last place below `below` of an access of which `y`, in another iteration of `loop` if that is given, needs a
  /// barrier; -1 if there is none.
  int lastConflict(const Exposed &y, int below, int loop) const {
    int last = -1;
    if (y.access->ordered)
      return last;
    for (int region : sharing[y.access->region])
      for (auto it = byRegion[region].rbegin(); it != byRegion[region].rend() && it->at > last; ++it)
        if (it->at < below && !isHeard(it->exposed, y) && needsBarrier(it->exposed, y, loop))
          last = it->at;
    return last;
  }

  /// The clock's value is not what it was: all phases relative to it change by `by`, or are lost.
  void shift(int clock, std::optional<int> by) {
    for (auto &list : byRegion)
      for (Entry &entry : list)
        shiftPhase(kernel, entry.exposed, clock, by);
  }

  /// Everything, in the order of its places.
  std::vector<Exposed> all() const {
    std::vector<Exposed> result;
    for (const auto &list : byRegion)
      for (const Entry &entry : list)
        result.push_back(entry.exposed);
    return result;
  }

  static void shiftPhase(const Kernel &kernel, Exposed &exposed, int clock, std::optional<int> by) {
    if (clock < 0 || exposed.access->clock != clock || !exposed.phase)
      return;
    int buffers = std::max(1, kernel.regions[exposed.access->region].buffers);
    exposed.phase = by ? std::optional(((*exposed.phase + *by) % buffers + buffers) % buffers) : std::nullopt;
  }

private:
  struct Entry {
    Exposed exposed;
    int at = 0;
  };

  /// Whether the first wave, which alone executes `y`, knows by then that all waves are done with what was accessed.
  bool isHeard(const Exposed &x, const Exposed &y) const {
    bool isCovered = y.awaited && x.younger == kComplete && x.releases >= *y.awaited;
    return isByOneLane(kernel, *y.access) && (x.isHeard || isCovered);
  }

  /// Barriers of clusters come with what needs them; none is derived.
  bool needsBarrier(const Exposed &x, const Exposed &y, int loop) const {
    if (x.access->remote || y.access->remote || isOneTeam(*x.access, *y.access) != (scope == Scope::Teams))
      return false;
    return mayConflict(kernel, *x.access, *y.access) && !isOneWave(kernel, *x.access, *y.access) &&
           !isSeenByWait(kernel, *x.access) && meet(x, y) && !(loop >= 0 && isApartIn(*x.access, *y.access, loop));
  }
  /// Both phases are relative to the same value of the clock.
  bool meet(const Exposed &x, const Exposed &y) const {
    if (!y.phase)
      return true;
    Access moved;
    moved.region = y.access->region;
    moved.clock = y.access->clock;
    moved.phase = *y.phase;
    return mayMeet(kernel, *x.access, x.phase, moved);
  }

  const Kernel &kernel;
  Scope scope;
  const std::vector<std::vector<int>> &sharing;
  std::vector<std::vector<Entry>> byRegion;
};

/// Slots [begin, end] of the unrolled axis of a loop's body, one of which needs a barrier.
struct Span {
  int begin = 0;
  int end = 0;
};

/// How long after their first access spans are hit at last, all together: what is under way has that time to finish.
int64_t slackOf(const std::vector<Span> &spans, const std::vector<int> &points, int size) {
  // By slot: the nearest point at or before it, on an axis that begins one lap earlier.
  std::vector<int> before(2 * static_cast<size_t>(size), -1);
  for (int point : points)
    before[point % size] = before[point % size + size] = 0;
  int last = -size;
  for (int i = 0; i < 2 * size; ++i) {
    last = before[i] == 0 ? i : last;
    before[i] = last;
  }
  int64_t slack = 0;
  for (const Span &span : spans) {
    int begin = span.begin % size, end = begin + (span.end - span.begin);
    slack += before[end] - begin;
  }
  return slack;
}

/// The fewest slots of a cycle of `size` that hit every span; among those the ones with the most slack, then the first.
std::vector<int> stabCycle(std::vector<Span> spans, int size) {
  bool anywhere = false;
  int latest = 0;
  // A span of a whole lap is hit by whatever there is.
  std::erase_if(spans, [&](const Span &span) {
    bool whole = span.end - span.begin + 1 >= size;
    if (whole) {
      anywhere = true;
      latest = span.end % size;
    }
    return whole;
  });
  if (spans.empty())
    return anywhere ? std::vector<int>{latest} : std::vector<int>{};
  // By place of the first slot: the nearest end of a span that begins there or later, three laps long.
  constexpr int kFar = std::numeric_limits<int>::max();
  std::vector<int> nearest(3 * static_cast<size_t>(size) + 1, kFar);
  for (const Span &span : spans)
    for (int begin = span.begin % size, end = span.end - (span.begin - begin); begin < 3 * size;
         begin += size, end += size)
      nearest[begin] = std::min(nearest[begin], end);
  for (int i = 3 * size - 1; i >= 0; --i)
    nearest[i] = std::min(nearest[i], nearest[i + 1]);
  // Who contains another span says nothing.
  std::vector<Span> minimal;
  for (int begin = 0; begin < size; ++begin)
    if (nearest[begin] < nearest[begin + 1])
      minimal.push_back({begin, nearest[begin]});
  auto shortest = std::min_element(minimal.begin(), minimal.end(),
                                   [](const Span &a, const Span &b) { return a.end - a.begin < b.end - b.begin; });
  std::vector<int> best;
  int64_t bestSlack = 0;
  for (int at = shortest->begin; at <= shortest->end; ++at) {
    std::vector<int> points = {at};
    // Spans that begin behind the last point and end before the first one comes round again.
    while (nearest[points.back() + 1] < at + size)
      points.push_back(nearest[points.back() + 1]);
    for (int &point : points)
      point %= size;
    std::sort(points.begin(), points.end());
    int64_t slack = slackOf(minimal, points, size);
    if (best.empty() || std::tuple(points.size(), -slack, points) < std::tuple(best.size(), -bestSlack, best)) {
      best = points;
      bestSlack = slack;
    }
  }
  return best;
}

class BarrierDerivation {
public:
  BarrierDerivation(Kernel &kernel, Scope scope) : kernel(kernel), scope(scope), sharing(kernel.regions.size()) {
    Access x, y;
    x.write = true;
    for (x.region = 0; x.region < static_cast<int>(sharing.size()); ++x.region)
      for (y.region = 0; y.region < static_cast<int>(sharing.size()); ++y.region)
        if (mayConflict(kernel, x, y))
          sharing[x.region].push_back(y.region);
  }

  void run() { solve(kernel.body, nullptr); }

private:
  /// Adds what `sequence` lacks and says how it looks from outside. `loop`: it is the body of that one.
  Flow solve(Sequence &sequence, const Node *loop) {
    std::vector<Flow> flows;
    for (Node &node : sequence)
      flows.push_back(flowOf(node));
    bool repeats = loop && (!loop->most || *loop->most > 1);
    std::vector<int> slots = repeats ? cycleSlots(sequence, flows, *loop) : straightSlots(sequence, flows);
    for (auto it = slots.rbegin(); it != slots.rend(); ++it) {
      Node node = scope == Scope::All ? barrier() : barrierOfTeams();
      node.source = Source::Derived;
      Flow closed;
      closed.open = false;
      sequence.insert(sequence.begin() + *it, node);
      flows.insert(flows.begin() + *it, closed);
    }
    return seenFromOutside(sequence, flows);
  }

  Flow flowOf(Node &node) {
    Flow flow;
    switch (node.kind) {
    case NodeKind::Instruction:
      for (const Access &access : node.accesses)
        flow.entries.push_back({.access = &access, .phase = startPhase(access), .younger = youngerAtIssue(access)});
      flow.exits = flow.entries;
      return flow;
    case NodeKind::Barrier:
      flow.open = scope == Scope::All ? !kernel.meetsAll(node) : !kernel.isForAll(node);
      return flow;
    case NodeKind::Loop:
      return flowOfLoop(node);
    case NodeKind::Branch: {
      flow = solve(node.bodies[0], nullptr);
      Flow other = solve(node.bodies[1], nullptr);
      flow.entries.insert(flow.entries.end(), other.entries.begin(), other.entries.end());
      flow.exits.insert(flow.exits.end(), other.exits.begin(), other.exits.end());
      flow.open |= other.open;
      return flow;
    }
    default:
      return flow;
    }
  }

  int youngerAtIssue(const Access &access) const {
    if (access.counter < 0)
      return kComplete;
    return kernel.counters[access.counter].kind == Retirement::Group ? kOpen : 0;
  }

  std::optional<int> startPhase(const Access &access) const {
    if (access.clock < 0)
      return std::nullopt;
    return access.phase;
  }

  Flow flowOfLoop(Node &node) {
    if (node.most && *node.most == 0)
      return {};
    Flow flow = solve(node.bodies[0], &node);
    bool repeats = !node.most || *node.most > 1;
    for (Exposed &exposed : flow.exits)
      Pending::shiftPhase(kernel, exposed, node.clock, flow.open && repeats ? std::nullopt : std::optional(-node.step));
    for (Exposed &exposed : flow.entries)
      if (flow.open && repeats)
        Pending::shiftPhase(kernel, exposed, node.clock, std::nullopt);
    open[node.id] = flow.open;
    flow.open |= node.least == 0;
    return flow;
  }

  /// What is complete, and what the first wave knows of that, behind it. What is inside of a loop or branch, and may
  /// not happen, says nothing here.
  void hear(const Node &node, Pending &pending) const {
    switch (node.kind) {
    case NodeKind::Instruction:
      for (const Tick &each : node.ticks)
        if (kernel.counters[each.counter].kind != Retirement::Group)
          pending.tick(each.counter, each.amount);
      return;
    case NodeKind::Commit:
      return pending.tick(node.counter, 1);
    case NodeKind::Wait:
      return pending.wait(node.counter, node.value);
    case NodeKind::Release:
      return pending.release();
    case NodeKind::Await:
      return pending.await(node.value);
    default:
      return;
    }
  }

  /// What passing `node` does to phases that are relative to the clock before it.
  void passClock(const Node &node, Pending &pending) const {
    if (node.kind == NodeKind::Restart)
      pending.shift(node.clock, std::nullopt);
    // Through a body with a barrier nothing passes: what is still pending has skipped the loop.
    if (node.kind == NodeKind::Loop && node.clock >= 0)
      if (auto found = open.find(node.id); found != open.end() && found->second)
        pending.shift(node.clock, std::nullopt);
    for (const Sequence &body : node.bodies)
      for (const Node &inner : body)
        passClock(inner, pending);
  }

  /// From left to right, in front of the first node that needs one: no placement has fewer.
  std::vector<int> straightSlots(const Sequence &sequence, const std::vector<Flow> &flows) {
    std::vector<int> slots;
    Pending pending(kernel, scope, sharing);
    for (int j = 0; j < static_cast<int>(sequence.size()); ++j) {
      for (const Exposed &y : flows[j].entries)
        if (pending.lastConflict(y, j, -1) >= 0) {
          slots.push_back(j);
          pending.clear();
          break;
        }
      pass(sequence[j], flows[j], j, pending);
    }
    return slots;
  }

  void pass(const Node &node, const Flow &flow, int at, Pending &pending) {
    if (!flow.open)
      pending.clear();
    passClock(node, pending);
    hear(node, pending);
    for (const Exposed &x : flow.exits)
      pending.add(x, at);
  }

  std::vector<int> cycleSlots(const Sequence &sequence, const std::vector<Flow> &flows, const Node &loop) {
    int size = static_cast<int>(sequence.size());
    std::vector<Span> spans;
    Pending pending(kernel, scope, sharing);
    for (int lap = 0; lap <= lapsOf(flows); ++lap) {
      for (int i = 0; i < size; ++i) {
        int j = lap * size + i;
        for (const Exposed &y : flows[i].entries) {
          // Inside the first lap all hazards of one iteration, then those from the first lap to this one.
          int last = pending.lastConflict(y, lap == 0 ? j : size, lap == 0 ? -1 : loop.id);
          if (last >= 0)
            spans.push_back({last + 1, j});
        }
        if (lap > 0)
          hear(sequence[i], pending);
        if (lap == 0)
          pass(sequence[i], flows[i], j, pending);
        else if (!flows[i].open)
          pending.clear();
        else
          passClock(sequence[i], pending);
      }
      pending.shift(loop.clock, -loop.step);
    }
    return stabCycle(std::move(spans), size);
  }

  /// Laps until every buffer has come round.
  int lapsOf(const std::vector<Flow> &flows) const {
    int laps = 1;
    for (const Flow &flow : flows)
      for (const Exposed &exposed : flow.entries)
        if (exposed.phase)
          laps = std::max(laps, kernel.regions[exposed.access->region].buffers);
    return laps;
  }

  Flow seenFromOutside(const Sequence &sequence, const std::vector<Flow> &flows) {
    Flow result;
    Pending pending(kernel, scope, sharing);
    bool shifted = false;
    int releases = 0;
    std::optional<int> awaited;
    auto fewer = [](std::optional<int> a, std::optional<int> b) { return a && b ? std::min(*a, *b) : a ? a : b; };
    for (size_t i = 0; i < sequence.size(); ++i) {
      if (sequence[i].kind == NodeKind::Await)
        awaited = fewer(awaited, std::max(0, sequence[i].value + 1 - releases));
      releases += sequence[i].kind == NodeKind::Release ? 1 : 0;
      if (result.open)
        for (Exposed y : flows[i].entries) {
          if (shifted)
            y.phase = std::nullopt;
          if (y.awaited)
            y.awaited = std::max(0, *y.awaited - releases);
          y.awaited = fewer(y.awaited, awaited);
          result.entries.push_back(y);
        }
      pass(sequence[i], flows[i], static_cast<int>(i), pending);
      result.open &= flows[i].open;
      // Behind something that changes a clock, phases are not relative to the clock at the beginning.
      shifted |= changesClock(sequence[i]);
    }
    result.exits = pending.all();
    return result;
  }

  static bool changesClock(const Node &node) {
    bool changes = (node.kind == NodeKind::Restart || node.kind == NodeKind::Loop) && node.clock >= 0;
    for (const Sequence &body : node.bodies)
      for (const Node &inner : body)
        changes |= changesClock(inner);
    return changes;
  }

  Kernel &kernel;
  Scope scope;
  /// By region: those whose places overlap, itself included.
  std::vector<std::vector<int>> sharing;
  /// By loop: its body has a way without a barrier, so that accesses pass trips.
  std::map<int, bool> open;
};
} // namespace

static bool knowsTeams(const Kernel &kernel) {
  bool knows = false;
  forEachNode(kernel.body, [&](const Node &node) {
    knows |= std::any_of(node.accesses.begin(), node.accesses.end(), [](const Access &each) { return each.team >= 0; });
  });
  return knows && kernel.groups == 1;
}

void deriveBarriers(Kernel &kernel) {
  if (kernel.waves == 1)
    return;
  BarrierDerivation(kernel, Scope::All).run();
  if (knowsTeams(kernel))
    BarrierDerivation(kernel, Scope::Teams).run();
}

} // namespace soliton::sched::whole
