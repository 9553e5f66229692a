#include "soliton/schedule/WholeVerify.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace soliton::sched::whole {
namespace {
constexpr int kNone = std::numeric_limits<int>::max();
/// A group that no commit has closed yet.
constexpr int kOpen = -1;

/// What is known of equal accesses as one wave group has executed them; the worst of all paths.
struct Known {
  /// Fewest ticks since its issue on paths where it may be in flight; kNone if there are none.
  int flight = kNone;
  /// The same when it passed the last barrier in flight, for the hint; kNone if it passed none.
  int atBarrier = kNone;
  /// Fewest barriers since its completion on paths where it is complete; kNone if there are none.
  int done = kNone;
  /// The same of the cluster's barriers, of which one is as good as many.
  int clusters = kNone;
  /// The same of barriers of its team, or of all.
  int teams = kNone;
  /// Fewest releases since its completion on paths where it is complete and the first wave may not know it: neither an
  /// await that covers such a release nor a barrier came since. kNone if there are none.
  int unheard = kNone;

  void join(const Known &other) {
    flight = std::min(flight, other.flight);
    atBarrier = std::min(atBarrier, other.atBarrier);
    done = std::min(done, other.done);
    clusters = std::min(clusters, other.clusters);
    teams = std::min(teams, other.teams);
    unheard = std::min(unheard, other.unheard);
  }
  bool operator==(const Known &) const = default;
};

struct Key {
  /// Accesses that are equal have one number.
  int access = 0;
  /// Relative to the clock now; kNone: any buffer.
  int phase = kNone;
  /// Loops, of those that tell its elements apart, whose end it has passed; as ~id those that it has left, which may
  /// have been entered again since.
  std::vector<int> passed;

  auto operator<=>(const Key &) const = default;
};

struct Entry {
  std::vector<Known> known;
  /// The last of the equal accesses, for messages.
  int last = 0;

  void join(const Entry &other) {
    for (size_t g = 0; g < known.size(); ++g)
      known[g].join(other.known[g]);
    last = std::max(last, other.last);
  }
  bool operator==(const Entry &) const = default;
};

/// How far clocks have come since they began.
using Clocks = std::map<int, int64_t>;

struct State {
  std::map<Key, Entry> accesses;
  /// Barriers that each group has passed more than group 0.
  std::vector<int> ahead;
  /// Those that have come equally far on every path to this place.
  Clocks clocks;

  /// What is known of accesses is the same.
  bool isAs(const State &other) const { return accesses == other.accesses && ahead == other.ahead; }
  void keepClocksOf(const State &other) {
    std::erase_if(clocks, [&](const auto &clock) {
      auto at = other.clocks.find(clock.first);
      return at == other.clocks.end() || at->second != clock.second;
    });
  }
};

struct Flat {
  const Node *node = nullptr;
  int index = 0;
  const Access &access() const { return node->accesses[index]; }
};

class Judge {
public:
  explicit Judge(const Kernel &kernel) : kernel(kernel) {}

  Verdict run() {
    verdict.diagnostics = validate(kernel);
    if (!verdict.ok())
      return std::move(verdict);
    prepare();
    State state;
    state.ahead.assign(kernel.groups, 0);
    walk(kernel.body, state);
    judgeEnd(state);
    for (int ahead : state.ahead)
      if (ahead != 0) {
        hang({}, "some waves pass " + std::to_string(std::abs(ahead)) + " more barriers than others");
        break;
      }
    say();
    return std::move(verdict);
  }

private:
  //===-- What matters -----------------------------------------------------------------------------===//

  void prepare() {
    forEachNode(kernel.body, [&](const Node &node) {
      firstOf[&node] = static_cast<int>(flats.size());
      for (size_t i = 0; i < node.accesses.size(); ++i)
        flats.push_back({&node, static_cast<int>(i)});
      if (node.kind == NodeKind::Wait)
        mostWaited = std::max(mostWaited, node.value);
      if (node.kind == NodeKind::Await)
        mostAwaited = std::max(mostAwaited, node.value);
      if (node.kind == NodeKind::Barrier && !kernel.isForAll(node))
        ++enough;
    });
    for (const Flat &flat : flats) {
      hasRemote |= flat.access().remote;
      auto [at, isNew] = numbers.try_emplace(flat.access(), static_cast<int>(accesses.size()));
      if (isNew)
        accesses.push_back(&flat.access());
      numberOf.push_back(at->second);
    }
    findWhatMatters();
  }

  /// An access that needs no order with any other is not looked at.
  void findWhatMatters() {
    std::map<int, std::vector<int>> byRegion;
    for (size_t i = 0; i < accesses.size(); ++i)
      byRegion[accesses[i]->region].push_back(static_cast<int>(i));
    for (const Access *access : accesses)
      matters.push_back(access->remote);
    for (const auto &[region, members] : byRegion)
      for (const auto &[other, theirs] : byRegion)
        for (int x : members)
          for (int y : theirs)
            if (isHazard(*accesses[x], *accesses[y]))
              matters[x] = matters[y] = true;
  }

  /// The order of instructions alone does not order `y` behind `x`.
  bool isHazard(const Access &x, const Access &y) const {
    return mayConflict(kernel, x, y) && !(isOneWave(kernel, x, y) && isInOrder(kernel, x, y));
  }

  /// Nothing but completion, as the wave of `y` knows it, orders `y` behind `x`. What goes to all workgroups of a
  /// cluster may still be on its way to another one, where `y` takes its place: that one has to say that it is not.
  bool needsNoBarrier(const Access &x, const Access &y) const {
    bool isSeen = isSeenByWait(kernel, x) && !(kernel.together && isByOneLane(kernel, y));
    return isOneWave(kernel, x, y) || isSeen;
  }

  bool executes(const Node &node, int group) const { return node.groups >> group & 1; }

  //===-- Paths ------------------------------------------------------------------------------------===//

  void walk(const Sequence &sequence, State &state) {
    for (const Node &node : sequence)
      step(node, state);
  }

  void step(const Node &node, State &state) {
    switch (node.kind) {
    case NodeKind::Instruction:
      return issue(node, state);
    case NodeKind::Barrier:
      return meet(node, state);
    case NodeKind::Wait:
      return retire(node, state);
    case NodeKind::Commit:
      return tick(node, node.counter, 1, state);
    case NodeKind::Release:
      return release(state);
    case NodeKind::Await:
      return await(node, state);
    case NodeKind::Restart:
      return restart(node, state);
    case NodeKind::Loop:
      return iterate(node, state);
    case NodeKind::Branch:
      break;
    }
    State other = state;
    walk(node.bodies[0], state);
    walk(node.bodies[1], other);
    join(state, other, node);
  }

  /// The clock is at 0: what was touched before keeps its buffer if it is known how far the clock had come.
  void restart(const Node &node, State &state) {
    auto now = state.clocks.find(node.clock);
    rekey(state, [&](const Key &key) {
      Key changed = key;
      const Access &access = *accesses[key.access];
      int buffers = kernel.regions[access.region].buffers;
      if (access.clock == node.clock && key.phase != kNone)
        changed.phase =
            now == state.clocks.end() ? kNone : wrap(key.phase + static_cast<int>(now->second % buffers), buffers);
      return changed;
    });
    state.clocks[node.clock] = 0;
  }

  void iterate(const Node &node, State &state) {
    auto began = state.clocks.extract(node.clock);
    walkTrips(node, state);
    bool beginsInside = state.clocks.erase(node.clock) > 0;
    if (began && !beginsInside && node.most == node.least)
      state.clocks[node.clock] = began.mapped() + node.step * node.least;
  }

  void walkTrips(const Node &node, State &state) {
    int64_t trips = 0;
    bool first = true;
    // Trips that happen for sure, one by one, until another one would change nothing.
    auto oneMore = [&](State &at) {
      if (!first)
        passEnd(node, at);
      first = false;
      walk(node.bodies[0], at);
      advance(node, at);
    };
    for (State before; trips < node.least; ++trips) {
      before = state;
      oneMore(state);
      if (trips > 0 && state.isAs(before)) {
        state.keepClocksOf(before);
        break;
      }
    }
    if (trips < node.least || (node.most && *node.most == trips)) {
      leave(node, state);
      return;
    }
    // Then any further number of trips.
    for (int64_t more = trips; !node.most || more < *node.most; ++more) {
      State next = state;
      oneMore(next);
      State joined = state;
      join(joined, next, node);
      if (joined.isAs(state) && joined.clocks == state.clocks)
        break;
      state = std::move(joined);
    }
    leave(node, state);
  }

  /// The next trip begins: elements that the loop tells apart are other ones now.
  void passEnd(const Node &node, State &state) {
    rekey(state, [&](const Key &key) {
      bool left = std::binary_search(key.passed.begin(), key.passed.end(), ~node.id);
      return left ? key : marked(key, node.id, node.id);
    });
  }

  void leave(const Node &node, State &state) {
    rekey(state, [&](const Key &key) { return marked(key, node.id, ~node.id); });
  }

  /// With `mark` for a loop that tells the elements of the access apart.
  Key marked(const Key &key, int loop, int mark) const {
    const std::vector<int> &apart = accesses[key.access]->apart;
    if (std::find(apart.begin(), apart.end(), loop) == apart.end())
      return key;
    Key changed = key;
    std::erase(changed.passed, loop);
    std::erase(changed.passed, ~loop);
    changed.passed.push_back(mark);
    std::sort(changed.passed.begin(), changed.passed.end());
    return changed;
  }

  /// A trip has ended: the clock has advanced.
  void advance(const Node &node, State &state) {
    if (node.clock < 0)
      return;
    rekey(state, [&](const Key &key) {
      Key changed = key;
      const Access &access = *accesses[key.access];
      int buffers = kernel.regions[access.region].buffers;
      if (access.clock == node.clock && key.phase != kNone)
        changed.phase = wrap(key.phase - node.step, buffers);
      return changed;
    });
  }

  static int wrap(int value, int buffers) { return ((value % buffers) + buffers) % buffers; }

  template <typename Change>
  void rekey(State &state, Change change) {
    std::map<Key, Entry> renamed;
    for (auto &[key, entry] : state.accesses)
      add(renamed, change(key), entry);
    state.accesses = std::move(renamed);
  }

  static void add(std::map<Key, Entry> &accesses, const Key &key, const Entry &entry) {
    if (auto [at, isNew] = accesses.try_emplace(key, entry); !isNew)
      at->second.join(entry);
  }

  void join(State &state, const State &other, const Node &node) {
    if (state.ahead != other.ahead)
      hang(node, "groups of waves pass different numbers of barriers on different ways");
    state.keepClocksOf(other);
    for (const auto &[key, entry] : other.accesses)
      add(state.accesses, key, entry);
  }

  //===-- Steps ------------------------------------------------------------------------------------===//

  /// Larger numbers than any wait names are the same.
  void count(int &flight, int amount) const { flight = std::min(flight + amount, mostWaited + 1); }

  void tick(const Node &node, int counter, int amount, State &state) {
    for (auto &[key, entry] : state.accesses)
      if (accesses[key.access]->counter == counter)
        for (int g = 0; g < kernel.groups; ++g)
          if (executes(node, g) && entry.known[g].flight != kNone)
            count(entry.known[g].flight, amount);
  }

  void issue(const Node &node, State &state) {
    int first = firstOf.at(&node);
    for (size_t i = 0; i < node.accesses.size(); ++i)
      if (matters[numberOf[first + i]])
        for (const auto &[key, entry] : state.accesses)
          judge(key, entry, first + static_cast<int>(i), state.ahead);
    for (const Tick &each : node.ticks)
      if (kernel.counters[each.counter].kind != Retirement::Group)
        tick(node, each.counter, each.amount, state);
    for (size_t i = 0; i < node.accesses.size(); ++i)
      if (matters[numberOf[first + i]])
        begin(node, first + static_cast<int>(i), state);
  }

  void begin(const Node &node, int flat, State &state) {
    const Access &access = flats[flat].access();
    Key key;
    key.access = numberOf[flat];
    int buffers = kernel.regions[access.region].buffers;
    if (access.clock >= 0 && buffers > 1)
      key.phase = wrap(access.phase, buffers);
    Known now;
    if (access.counter < 0)
      now.done = now.clusters = now.teams = now.unheard = 0;
    else
      now.flight = kernel.counters[access.counter].kind == Retirement::Group ? kOpen : 0;
    Entry entry{std::vector<Known>(kernel.groups), flat};
    for (int g = 0; g < kernel.groups; ++g)
      if (executes(node, g))
        entry.known[g] = now;
    add(state.accesses, key, entry);
  }

  void retire(const Node &node, State &state) {
    const Counter &counter = kernel.counters[node.counter];
    if (node.value < 0 || (counter.limit > 0 && node.value > counter.limit))
      complain(node, DiagId::ScheduleWaitValue,
               "a wait leaves " + std::to_string(node.value) + " outstanding on `" + counter.name +
                   "`, which counts to " + std::to_string(counter.limit),
               "wait for " + std::to_string(node.value < 0 ? 0 : counter.limit) + " or fewer");
    if (counter.kind == Retirement::OutOfOrder && node.value != 0)
      return;
    for (auto &[key, entry] : state.accesses)
      if (accesses[key.access]->counter == node.counter)
        for (int g = 0; g < kernel.groups; ++g)
          if (Known &known = entry.known[g]; executes(node, g) && known.flight != kNone && known.flight >= node.value)
            known = {kNone, kNone, 0, 0, 0, 0};
  }

  void release(State &state) {
    forEachKnown(state, [&](Known &known) {
      if (known.unheard != kNone)
        known.unheard = std::min(known.unheard + 1, mostAwaited + 1);
    });
  }

  void await(const Node &node, State &state) {
    forEachKnown(state, [&](Known &known) {
      if (known.unheard > node.value)
        known.unheard = kNone;
    });
  }

  template <typename Visit>
  static void forEachKnown(State &state, Visit visit) {
    for (auto &[key, entry] : state.accesses)
      for (Known &known : entry.known)
        visit(known);
  }

  void meet(const Node &node, State &state) {
    if (node.team)
      return forEachKnown(state, [](Known &known) { known.teams = known.teams == kNone ? kNone : 1; });
    for (int g = 0; g < kernel.groups; ++g)
      state.ahead[g] += executes(node, g);
    for (int g = kernel.groups - 1; g >= 0; --g)
      state.ahead[g] -= state.ahead[0];
    for (auto it = state.accesses.begin(); it != state.accesses.end();) {
      for (int g = 0; g < kernel.groups; ++g)
        if (executes(node, g)) {
          Known &known = it->second.known[g];
          if (known.flight != kNone)
            known.atBarrier = known.flight;
          if (known.done != kNone)
            known.done = std::min(known.done + 1, enough);
          // With groups at different barriers this says nothing of when the first wave passes it.
          if (kernel.groups == 1)
            known.unheard = kNone;
          if (known.clusters != kNone && node.cluster)
            known.clusters = 1;
          if (known.teams != kNone)
            known.teams = 1;
        }
      // Behind so many barriers nothing can be before it any more.
      bool settled = std::all_of(it->second.known.begin(), it->second.known.end(), [&](const Known &known) {
        bool metAll = !hasRemote || known.clusters > 0;
        return known.flight == kNone && (known.done == kNone || (known.done >= enough && metAll));
      });
      it = settled ? state.accesses.erase(it) : std::next(it);
    }
  }

  //===-- Verdicts ---------------------------------------------------------------------------------===//

  void judge(const Key &key, const Entry &entry, int to, const std::vector<int> &ahead) {
    const Access &x = *accesses[key.access], &y = flats[to].access();
    std::optional<int> phase = key.phase == kNone ? std::nullopt : std::optional(key.phase);
    if (!mayConflict(kernel, x, y) || !mayMeet(kernel, x, phase, y))
      return;
    for (int loop : key.passed)
      if (loop >= 0 && isApartIn(x, y, loop))
        return;
    if (isOneWave(kernel, x, y) && isInOrder(kernel, x, y))
      return;
    bool oneWave = needsNoBarrier(x, y), byOneLane = isByOneLane(kernel, y);
    for (int u = 0; u < kernel.groups; ++u)
      for (int v = 0; v < kernel.groups; ++v) {
        if (!executes(*flats[to].node, v) || (oneWave && u != v))
          continue;
        const Known &known = entry.known[u];
        bool inFlight = known.flight != kNone;
        bool heard = byOneLane && known.unheard == kNone;
        bool haveMet = x.remote || y.remote ? known.clusters >= 1
                       : isOneTeam(x, y)    ? known.teams >= 1
                                            : known.done + ahead[v] - ahead[u] >= 1;
        bool unordered = !oneWave && !heard && known.done != kNone && !haveMet;
        if (inFlight || unordered)
          note(entry.last, to, oneWave, known);
      }
  }

  /// Nobody ends while others may still read its shared memory.
  void judgeEnd(const State &state) {
    for (const auto &[key, entry] : state.accesses)
      if (accesses[key.access]->remote && std::any_of(entry.known.begin(), entry.known.end(), [](const Known &known) {
            return known.flight != kNone || known.clusters < 1;
          })) {
        const Node &node = *flats[entry.last].node;
        complain(node, DiagId::ScheduleHazard,
                 "`" + node.name + "` touches shared memory of another workgroup, which may have ended",
                 "put a barrier of the cluster behind it");
      }
  }

  void note(int from, int to, bool oneWave, const Known &known) {
    if (!noted.insert({from, to}).second)
      return;
    const Flat &x = flats[from], &y = flats[to];
    verdict.unproven.push_back({x.node->id, y.node->id, x.index, y.index, kindOf(x.access(), y.access()), !oneWave,
                                fixFor(x, y, oneWave, known)});
    ends.push_back({&x, &y});
  }

  std::string fixFor(const Flat &x, const Flat &y, bool oneWave, const Known &known) const {
    std::string between = "between `" + x.node->name + "` and `" + y.node->name + "`";
    if (x.access().remote || y.access().remote)
      return "put a barrier of the cluster " + between;
    if (known.flight == kNone)
      return "put a barrier " + between;
    const Counter &counter = kernel.counters[x.access().counter];
    bool passed = known.atBarrier != kNone;
    int value = oneWave || !passed ? known.flight : known.atBarrier;
    std::string commit = value == kOpen ? "`commit " + counter.name + "` and " : "";
    value = counter.kind == Retirement::OutOfOrder ? 0 : std::max(0, value);
    if (counter.limit > 0)
      value = std::min(value, counter.limit);
    std::string wait = commit + "`wait " + counter.name + " " + std::to_string(value) + "`";
    if (oneWave)
      return "put " + wait + " in front of `" + y.node->name + "`";
    return passed ? "put " + wait + " in front of the last barrier " + between
                  : "put " + wait + " and a barrier " + between;
  }

  /// One error for each pair of nodes, however many of their accesses meet.
  void say() {
    std::set<std::pair<int, int>> said;
    for (size_t i = 0; i < ends.size(); ++i) {
      auto [x, y] = ends[i];
      const Unproven &found = verdict.unproven[i];
      if (!said.insert({found.from, found.to}).second)
        continue;
      const Region &region = kernel.regions[y->access().region];
      bool remote = x->access().remote || y->access().remote;
      std::string who = remote            ? "of different workgroups of the cluster "
                        : found.crossWave ? "of different waves "
                                          : "of one wave ";
      verdict.diagnostics.push_back({Severity::error,
                                     DiagId::ScheduleHazard,
                                     y->node->place,
                                     "`" + y->node->name + "` and `" + x->node->name + "` " + who + "touch " +
                                         std::string(nameOf(region.space)) + " `" + region.name + "` (" +
                                         std::string(nameOf(found.kind)) + ") and nothing keeps them apart",
                                     found.fix,
                                     {{x->node->place, "`" + x->node->name + "` must be complete first"}}});
    }
  }

  void complain(const Node &node, DiagId id, std::string message, std::string hint) {
    if (complained.insert({node.id, static_cast<int>(id)}).second)
      verdict.diagnostics.push_back({Severity::error, id, node.place, std::move(message), std::move(hint), {}});
  }
  void hang(const Node &node, std::string message) {
    complain(node, DiagId::ScheduleBarriers, std::move(message), "let every wave pass the same number on every way");
  }

  const Kernel &kernel;
  Verdict verdict;
  std::vector<Flat> flats;
  std::map<const Node *, int> firstOf;
  /// Equal accesses have one number.
  std::map<Access, int> numbers;
  std::vector<const Access *> accesses;
  std::vector<int> numberOf;
  std::vector<char> matters;
  bool hasRemote = false;
  int mostWaited = 0, mostAwaited = 0;
  /// Barriers behind which every group is, however far some are ahead.
  int enough = 1;
  std::set<std::pair<int, int>> noted;
  std::vector<std::pair<const Flat *, const Flat *>> ends;
  std::set<std::pair<int, int>> complained;
};
} // namespace

Verdict verify(const Kernel &kernel) {
  return Judge(kernel).run();
}

} // namespace soliton::sched::whole
