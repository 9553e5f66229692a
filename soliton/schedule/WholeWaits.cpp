#include "soliton/schedule/WholeSync.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace soliton::sched::whole {
namespace {
constexpr int kComplete = std::numeric_limits<int>::max();
/// A group that no commit has closed yet.
constexpr int kOpen = -1;

/// A wait on `counter` in front of the node `before`, which is a barrier or the second of two accesses of a wave.
struct WaitPlace {
  int before = 0;
  int counter = 0;
  auto operator<=>(const WaitPlace &) const = default;
};
/// What it must leave outstanding at most, and an access that needs it.
struct Need {
  int value = kComplete;
  int access = -1;
};
using Needs = std::map<WaitPlace, Need>;

/// What is to be added; in front of one node commits come before waits.
struct Plan {
  std::set<WaitPlace> commits;
  std::map<WaitPlace, int> waits;
};

/// An access that was issued and may matter later.
struct Issued {
  /// Equal accesses have one number; those of a region are neighbours.
  int number = 0;
  const Access *access = nullptr;
  std::optional<int> phase;
  /// Of the loops that tell its elements apart: those that it has come round in, and, as ~id, those that it has left,
  /// which are out of the question.
  std::vector<int> marks;
  /// Ticks since, the fewest of all ways.
  int younger = 0;
  /// The last barriers that it may have passed while in flight, ascending, and how many ticks were younger there.
  using Passed = std::vector<std::pair<int, int>>;
  Passed barriers;
  /// The same with those of teams, for others that concern its team alone.
  Passed ofTeams;
  /// Releases since its completion, the fewest of all ways, while the first wave may not know of it.
  int unheard = 0;

  auto key() const { return std::tie(number, phase, marks); }
  bool operator==(const Issued &other) const {
    return key() == other.key() && younger == other.younger && barriers == other.barriers && ofTeams == other.ofTeams &&
           unheard == other.unheard;
  }
  bool isMarked(int mark) const { return std::find(marks.begin(), marks.end(), mark) != marks.end(); }
  void mark(int loop, int mark) {
    std::erase(marks, loop);
    std::erase(marks, ~loop);
    marks.insert(std::upper_bound(marks.begin(), marks.end(), mark), mark);
  }
  /// The worse of both.
  void join(const Issued &other) {
    younger = std::min(younger, other.younger);
    unheard = std::min(unheard, other.unheard);
    join(barriers, other.barriers);
    join(ofTeams, other.ofTeams);
  }
  static void join(Passed &passed, const Passed &others) {
    for (auto [barrier, ticks] : others) {
      auto at = std::lower_bound(passed.begin(), passed.end(), std::pair(barrier, std::numeric_limits<int>::min()));
      if (at != passed.end() && at->first == barrier)
        at->second = std::min(at->second, ticks);
      else
        passed.insert(at, {barrier, ticks});
    }
  }
};
/// Sorted by key, no two alike.
using Issues = std::vector<Issued>;

class WaitDerivation {
public:
  WaitDerivation(Kernel &kernel, const DeriveOptions &options, std::vector<Diagnostic> &remarks)
      : kernel(kernel), options(options), remarks(remarks) {
    std::map<Access, std::string> found;
    forEachNode(kernel.body, [&](const Node &node) {
      for (const Access &access : node.accesses)
        found.try_emplace(access, node.name);
      next = std::max(next, node.id + 1);
      most = std::max(most, node.value + 1);
    });
    for (const Counter &counter : kernel.counters)
      most = std::max(most, counter.limit + 1);
    for (const auto &[access, name] : found) {
      accesses.push_back(access);
      names.push_back(name);
    }
    numbers.resize(next);
    forEachNode(kernel.body, [&](const Node &node) {
      for (const Access &access : node.accesses)
        numbers[node.id].push_back(
            static_cast<int>(std::lower_bound(accesses.begin(), accesses.end(), access) - accesses.begin()));
    });
    findRelevant();
  }

  void run() {
    Plan plan;
    // A group that is waited for must be closed first.
    for (const auto &[place, need] : needed(plan))
      if (need.value == kOpen)
        plan.commits.insert(place);
    for (const auto &[place, need] : needed(plan)) {
      plan.waits[place] = valueOf(place, need);
      reasons[place] = need.access;
    }
    drop(plan, plan.waits);
    drop(plan, plan.commits);
    insert(kernel.body, plan);
  }

private:
  //===-- What matters -----------------------------------------------------------------------------===//

  /// Accesses that some other one, or another run of themselves, must wait for; by region, whose accesses they meet.
  void findRelevant() {
    regions.resize(kernel.regions.size());
    for (size_t r = 0; r < regions.size(); ++r) {
      auto ofRegion = [](const Access &access, size_t region) { return access.region < static_cast<int>(region); };
      auto first = std::lower_bound(accesses.begin(), accesses.end(), r, ofRegion);
      auto last = std::lower_bound(first, accesses.end(), r + 1, ofRegion);
      regions[r] = {static_cast<int>(first - accesses.begin()), static_cast<int>(last - accesses.begin()), {}};
    }
    Access x, y;
    x.write = true;
    for (x.region = 0; x.region < static_cast<int>(regions.size()); ++x.region)
      for (y.region = 0; y.region < static_cast<int>(regions.size()); ++y.region)
        if (mayConflict(kernel, x, y))
          regions[x.region].sharing.push_back(y.region);
    relevant.assign(accesses.size(), false);
    concern.assign(accesses.size(), std::vector<bool>(accesses.size(), false));
    for (size_t i = 0; i < accesses.size(); ++i)
      for (int other : regions[accesses[i].region].sharing)
        for (int k = regions[other].first; k < regions[other].last; ++k) {
          bool inOrder = isOneWave(kernel, accesses[k], accesses[i]) && isInOrder(kernel, accesses[k], accesses[i]);
          bool waits = mayConflict(kernel, accesses[k], accesses[i]) && !inOrder;
          concern[i][k] = waits;
          if (waits)
            relevant[i] = relevant[k] = true;
        }
  }

  //===-- Ways -------------------------------------------------------------------------------------===//

  /// One walk over all ways with what stands and what is planned.
  struct Walk {
    const Plan &plan;
    Needs needs;
  };

  Needs needed(const Plan &plan) {
    Walk walk{plan, {}};
    Issues issues;
    visit(kernel.body, issues, walk);
    return std::move(walk.needs);
  }

  /// The members of a plan's set or map that stand in front of `node`.
  template <typename Places, typename Visit>
  static void forPlacesAt(const Places &places, const Node &node, Visit visit) {
    for (auto it = places.lower_bound({node.id, 0}); it != places.end() && placeIn(*it).before == node.id; ++it)
      visit(*it);
  }
  static WaitPlace placeIn(const WaitPlace &place) { return place; }
  static const WaitPlace &placeIn(const std::pair<const WaitPlace, int> &wait) { return wait.first; }

  void visit(const Sequence &sequence, Issues &issues, Walk &walk) {
    for (const Node &node : sequence) {
      forPlacesAt(walk.plan.commits, node, [&](const WaitPlace &place) { tick(place.counter, 1, issues); });
      forPlacesAt(walk.plan.waits, node, [&](const auto &wait) { retire(wait.first.counter, wait.second, issues); });
      step(node, issues, walk);
    }
  }

  void step(const Node &node, Issues &issues, Walk &walk) {
    switch (node.kind) {
    case NodeKind::Instruction:
      return issue(node, issues, walk);
    case NodeKind::Barrier:
      return pass(node, issues);
    case NodeKind::Wait:
      return retire(node.counter, node.value, issues);
    case NodeKind::Commit:
      return tick(node.counter, 1, issues);
    case NodeKind::Release:
      for (Issued &issued : issues)
        if (issued.younger == kComplete && issued.unheard != kComplete)
          issued.unheard = std::min(issued.unheard + 1, most);
      return;
    case NodeKind::Await:
      for (Issued &issued : issues)
        if (issued.unheard > node.value)
          issued.unheard = kComplete;
      return;
    case NodeKind::Restart:
      return shift(node.clock, std::nullopt, issues);
    case NodeKind::Branch: {
      Issues other = issues;
      visit(node.bodies[0], issues, walk);
      visit(node.bodies[1], other, walk);
      return join(issues, other);
    }
    case NodeKind::Loop:
      return iterate(node, issues, walk);
    }
  }

  void iterate(const Node &node, Issues &issues, Walk &walk) {
    for (int64_t trip = 0; !node.most || trip < *node.most; ++trip) {
      Issues head = issues;
      if (trip > 0)
        change(issues, [&](Issued &issued) {
          bool fresh = isApart(issued, node.id) && !issued.isMarked(~node.id) && !issued.isMarked(node.id);
          if (fresh)
            issued.mark(node.id, node.id);
          return fresh;
        });
      visit(node.bodies[0], issues, walk);
      shift(node.clock, -node.step, issues);
      // Up to here the loop may have ended before this trip.
      if (trip >= node.least)
        join(issues, head);
      if (trip > 0 && issues == head)
        break;
    }
    change(issues, [&](Issued &issued) {
      bool inside = isApart(issued, node.id) && !issued.isMarked(~node.id);
      if (inside)
        issued.mark(node.id, ~node.id);
      return inside;
    });
  }

  static bool isApart(const Issued &issued, int loop) {
    return std::find(issued.access->apart.begin(), issued.access->apart.end(), loop) != issued.access->apart.end();
  }

  void shift(int clock, std::optional<int> by, Issues &issues) const {
    if (clock < 0)
      return;
    change(issues, [&](Issued &issued) {
      if (issued.access->clock != clock || !issued.phase)
        return false;
      int buffers = std::max(1, kernel.regions[issued.access->region].buffers);
      issued.phase = by ? std::optional(((*issued.phase + *by) % buffers + buffers) % buffers) : std::nullopt;
      return true;
    });
  }

  static bool isBefore(const Issued &a, const Issued &b) { return a.key() < b.key(); }

  /// Changes keys; `rename` says of each whether it did.
  template <typename Rename>
  static void change(Issues &issues, Rename rename) {
    bool changed = false;
    for (Issued &issued : issues)
      changed |= rename(issued);
    if (!changed)
      return;
    std::sort(issues.begin(), issues.end(), isBefore);
    unite(issues);
  }

  static void join(Issues &issues, const Issues &other) {
    Issues both;
    both.reserve(issues.size() + other.size());
    std::merge(std::make_move_iterator(issues.begin()), std::make_move_iterator(issues.end()), other.begin(),
               other.end(), std::back_inserter(both), isBefore);
    unite(both);
    issues = std::move(both);
  }

  /// Of neighbours with one key the worst of both.
  static void unite(Issues &issues) {
    size_t last = 0;
    for (size_t i = 1; i < issues.size(); ++i) {
      if (issues[i].key() == issues[last].key())
        issues[last].join(issues[i]);
      else if (++last != i)
        issues[last] = std::move(issues[i]);
    }
    if (!issues.empty())
      issues.resize(last + 1);
  }

  //===-- Steps ------------------------------------------------------------------------------------===//

  void issue(const Node &node, Issues &issues, Walk &walk) {
    for (int number : numbers[node.id])
      if (relevant[number])
        for (int region : regions[accesses[number].region].sharing)
          for (auto it = firstOf(region, issues); it != issues.end() && it->number < regions[region].last; ++it)
            if (concern[number][it->number])
              require(*it, node, accesses[number], walk);
    for (const Tick &each : node.ticks)
      if (kernel.counters[each.counter].kind != Retirement::Group)
        tick(each.counter, each.amount, issues);
    for (int number : numbers[node.id])
      if (relevant[number])
        begin(number, issues);
  }

  Issues::iterator firstOf(int region, Issues &issues) const {
    return std::lower_bound(issues.begin(), issues.end(), regions[region].first,
                            [](const Issued &issued, int number) { return issued.number < number; });
  }

  void begin(int number, Issues &issues) const {
    Issued now;
    now.number = number;
    now.access = &accesses[number];
    if (now.access->clock >= 0)
      now.phase = now.access->phase;
    int counter = now.access->counter;
    bool grouped = counter >= 0 && kernel.counters[counter].kind == Retirement::Group;
    now.younger = counter < 0 ? kComplete : grouped ? kOpen : 0;
    auto at = std::lower_bound(issues.begin(), issues.end(), now, isBefore);
    // The newest run of an access is the one that has waited least.
    if (at != issues.end() && at->key() == now.key())
      *at = std::move(now);
    else
      issues.insert(at, std::move(now));
  }

  void require(const Issued &x, const Node &node, const Access &y, Walk &walk) const {
    if (x.access->counter < 0 || !mayMeet(kernel, *x.access, x.phase, y))
      return;
    for (int loop : x.marks)
      if (loop >= 0 && isApartIn(*x.access, y, loop))
        return;
    if (isByOneLane(kernel, y) && x.unheard == kComplete)
      return;
    if (!isOneWave(kernel, *x.access, y) && !isSeenByWait(kernel, *x.access)) {
      for (auto [barrier, younger] : isOneTeam(*x.access, y) ? x.ofTeams : x.barriers)
        need({barrier, x.access->counter}, younger, x, walk);
      return;
    }
    if (x.younger != kComplete)
      need({node.id, x.access->counter}, x.younger, x, walk);
  }

  static void need(WaitPlace place, int younger, const Issued &x, Walk &walk) {
    Need &need = walk.needs[place];
    if (younger < need.value)
      need = {younger, x.number};
  }

  void tick(int counter, int amount, Issues &issues) const {
    for (Issued &issued : issues)
      if (issued.access->counter == counter && issued.younger != kComplete)
        issued.younger = std::min(issued.younger + amount, most);
  }

  void retire(int counter, int value, Issues &issues) const {
    if (kernel.counters[counter].kind == Retirement::OutOfOrder && value != 0)
      return;
    for (Issued &issued : issues)
      if (issued.access->counter == counter && issued.younger >= value)
        issued.younger = kComplete;
  }

  /// What is complete is ordered by this barrier; for the rest it is the last one so far.
  void pass(const Node &node, Issues &issues) const {
    if (!kernel.isForAll(node))
      return;
    if (!node.team)
      std::erase_if(issues, [](const Issued &issued) { return issued.younger == kComplete; });
    for (Issued &issued : issues) {
      if (!node.team)
        issued.barriers.assign(1, {node.id, issued.younger});
      if (issued.younger == kComplete)
        issued.ofTeams.clear();
      else if (issued.access->team >= 0)
        issued.ofTeams.assign(1, {node.id, issued.younger});
    }
  }

  //===-- Decisions --------------------------------------------------------------------------------===//

  /// What `need` says on its counter.
  int valueOf(const WaitPlace &place, const Need &need) const {
    const Counter &counter = kernel.counters[place.counter];
    if (counter.kind == Retirement::OutOfOrder || (counter.kind == Retirement::InOrder && !options.counted))
      return 0;
    int value = std::max(0, need.value);
    return counter.limit > 0 ? std::min(value, counter.limit) : value;
  }

  /// Leaves out of `places`, which are the plan's commits or waits, each without which nothing is missing.
  template <typename Places>
  void drop(const Plan &plan, Places &places) {
    for (auto it = places.begin(); it != places.end();) {
      auto candidate = *it;
      it = places.erase(it);
      if (!needed(plan).empty())
        places.insert(candidate);
    }
  }

  void insert(Sequence &sequence, const Plan &plan) {
    Sequence result;
    for (Node &node : sequence) {
      for (Sequence &body : node.bodies)
        insert(body, plan);
      forPlacesAt(plan.commits, node, [&](const WaitPlace &place) { put(result, node, place, commit(place.counter)); });
      forPlacesAt(plan.waits, node,
                  [&](const auto &each) { put(result, node, each.first, wait(each.first.counter, each.second)); });
      result.push_back(std::move(node));
    }
    sequence = std::move(result);
  }

  void put(Sequence &result, const Node &before, const WaitPlace &place, Node node) {
    node.id = next++;
    node.source = Source::Derived;
    // Said only of barriers that were written without what they need.
    if (before.kind == NodeKind::Barrier && before.source == Source::Said)
      remarks.push_back({Severity::remark,
                         DiagId::ScheduleRemark,
                         before.place,
                         "`" + toString(kernel, withoutSource(node)) + "` was added in front of a barrier that `" +
                             names[reasons.at(place)] + "` may reach in flight",
                         "write it there",
                         {}});
    result.push_back(std::move(node));
  }
  static Node withoutSource(Node node) {
    node.source = Source::Said;
    return node;
  }

  Kernel &kernel;
  const DeriveOptions &options;
  std::vector<Diagnostic> &remarks;
  /// Accesses by number, and who does the first of them; those of each node.
  std::vector<Access> accesses;
  std::vector<std::string> names;
  std::vector<std::vector<int>> numbers;
  /// Which numbers are a region's, and whose places overlap with it.
  struct Members {
    int first = 0;
    int last = 0;
    std::vector<int> sharing;
  };
  std::vector<Members> regions;
  std::vector<bool> relevant;
  /// By later and earlier access: the later one must wait for the earlier one, or for a barrier behind it.
  std::vector<std::vector<bool>> concern;
  /// An access that needs the wait.
  std::map<WaitPlace, int> reasons;
  /// Larger numbers of ticks are the same.
  int most = 1;
  int next = 0;
};
} // namespace

void deriveWaits(Kernel &kernel, const DeriveOptions &options, std::vector<Diagnostic> &remarks) {
  WaitDerivation(kernel, options, remarks).run();
}

} // namespace soliton::sched::whole
