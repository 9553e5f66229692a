#include "soliton/schedule/WholeFacts.h"

#include <algorithm>
#include <map>
#include <set>

namespace soliton::sched::whole {
namespace {
//===-- Lifetimes ----------------------------------------------------------------------------------===//

class LifetimeFinder {
public:
  LifetimeFinder(const Kernel &kernel, Order order) : kernel(kernel), order(order) {
    forEachNode(kernel.body, [&](const Node &node) { positions[&node] = static_cast<int>(positions.size()); });
  }

  Lifetime find(int region) {
    Lifetime lifetime{region, {}};
    descend(kernel.body, lifetime);
    std::sort(lifetime.intervals.begin(), lifetime.intervals.end(),
              [](const LiveInterval &a, const LiveInterval &b) { return a.begin < b.begin; });
    return lifetime;
  }

private:
  bool touches(const Node &node, int region) const {
    bool found = std::any_of(node.accesses.begin(), node.accesses.end(),
                             [&](const Access &access) { return access.region == region; });
    for (const Sequence &body : node.bodies)
      found = found || std::any_of(body.begin(), body.end(), [&](const Node &inner) { return touches(inner, region); });
    return found;
  }

  int lastPosition(const Node &node) const {
    int last = positions.at(&node);
    for (const Sequence &body : node.bodies)
      if (!body.empty())
        last = std::max(last, lastPosition(body.back()));
    return last;
  }

  void descend(const Sequence &sequence, Lifetime &lifetime) {
    const Node *first = nullptr, *last = nullptr;
    for (const Node &node : sequence)
      if (touches(node, lifetime.region)) {
        first = first ? first : &node;
        last = &node;
      }
    if (!first)
      return;
    bool inside = first == last &&
                  (first->kind == NodeKind::Branch ||
                   (first->kind == NodeKind::Loop && keepsOrder(*first) && isOfOneTrip(*first, lifetime.region)));
    if (!inside) {
      lifetime.intervals.push_back({positions.at(first), lastPosition(*last)});
      return;
    }
    for (const Sequence &body : first->bodies)
      descend(body, lifetime);
  }

  /// Nothing moves inside it, whatever the schedule.
  bool keepsOrder(const Node &loop) const {
    bool outer = false;
    forEachNode(loop.bodies[0], [&](const Node &node) { outer |= node.kind == NodeKind::Loop; });
    return outer || order == Order::Final;
  }

  /// Each trip writes the same elements, unconditionally, before it reads any.
  bool isOfOneTrip(const Node &loop, int region) const {
    bool hasRead = false;
    for (const Node &node : loop.bodies[0]) {
      bool always = node.kind == NodeKind::Instruction;
      for (const Access &access : node.accesses) {
        if (access.region != region)
          continue;
        if (access.write && (hasRead || !access.steady))
          return false;
        hasRead |= !access.write;
      }
      if (always || !touches(node, region))
        continue;
      if (writes(node, region))
        return false;
      hasRead = true;
    }
    return true;
  }

  bool writes(const Node &node, int region) const {
    bool found = false;
    for (const Sequence &body : node.bodies)
      forEachNode(body, [&](const Node &inner) {
        for (const Access &access : inner.accesses)
          found |= access.region == region && access.write;
      });
    return found;
  }

  const Kernel &kernel;
  Order order;
  std::map<const Node *, int> positions;
};

//===-- Aliasing -----------------------------------------------------------------------------------===//

/// The access without what aliasing does not look at, so that the many pieces of a tile are one.
Access withoutPlace(Access access) {
  access.begin = 0;
  access.end = kWholeEnd;
  access.steady = access.waived = access.ordered = false;
  access.clock = -1;
  access.phase = 0;
  return access;
}

/// A write that may have happened.
struct Written {
  Access access;
  /// Loops that have come round since, and those that were left since.
  std::set<int> round, left;

  auto operator<=>(const Written &) const = default;
};

class AliasFinder {
public:
  explicit AliasFinder(const Kernel &kernel) : kernel(kernel) {}

  std::vector<Aliasing> run() {
    std::map<int, std::set<Access>> reads, writes;
    forEachNode(kernel.body, [&](const Node &node) {
      for (const Access &access : node.accesses)
        if (kernel.regions[access.region].space == Space::Global)
          (access.write ? writes : reads)[access.region].insert(withoutPlace(access));
    });
    std::vector<Aliasing> result;
    bool any = false;
    for (const auto &[read, readers] : reads)
      for (const auto &[written, writers] : writes)
        if (read != written) {
          result.push_back({read, written, areAlike(readers, writers)});
          any |= result.back().inPlace;
        }
    // What no wave touches in both has no order to be looked at.
    if (any) {
      std::set<Written> none;
      walk(kernel.body, none);
    }
    for (Aliasing &pair : result)
      pair.inPlace = pair.inPlace && !late.count({pair.read, pair.written});
    return result;
  }

private:
  /// Whatever element one of each touches, one wave of one workgroup touches it, in order.
  bool areAlike(const std::set<Access> &readers, const std::set<Access> &writers) const {
    for (const Access &x : readers)
      for (const Access &y : writers) {
        bool sameWave = kernel.waves == 1 || (x.oneWave && y.oneWave);
        if (x.who < 0 || x.who != y.who || !sameWave || !x.oneWorkgroup || !y.oneWorkgroup || !isInOrder(kernel, x, y))
          return false;
      }
    return true;
  }

  void walk(const Sequence &sequence, std::set<Written> &written) {
    for (const Node &node : sequence)
      step(node, written);
  }

  void step(const Node &node, std::set<Written> &written) {
    if (node.kind == NodeKind::Branch) {
      std::set<Written> other = written;
      walk(node.bodies[0], written);
      walk(node.bodies[1], other);
      written.insert(other.begin(), other.end());
      return forgetWeaker(written);
    }
    if (node.kind == NodeKind::Loop)
      return iterate(node, written);
    for (const Access &access : node.accesses)
      if (!access.write)
        noteLate(access, written);
    for (const Access &access : node.accesses)
      if (access.write && kernel.regions[access.region].space == Space::Global)
        written.insert({withoutPlace(access), {}, {}});
  }

  /// Of two states of one write that differ by what came round and what was left, the one by which more is late is
  /// enough. Without this each branch doubles them.
  static void forgetWeaker(std::set<Written> &written) {
    auto isWeaker = [](const Written &a, const Written &b) {
      return std::ranges::includes(a.round, b.round) && std::ranges::includes(b.left, a.left);
    };
    for (auto each = written.begin(); each != written.end();) {
      bool isNeeded = true;
      for (auto other = written.lower_bound({each->access, {}, {}});
           isNeeded && other != written.end() && other->access == each->access; ++other)
        isNeeded = other == each || !isWeaker(*each, *other);
      each = isNeeded ? std::next(each) : written.erase(each);
    }
  }

  /// One write of a region is enough to know, so thousands of pieces cost no more than a few.
  void noteLate(const Access &read, const std::set<Written> &written) {
    for (auto before = written.begin(); before != written.end();) {
      std::pair<int, int> regions = {read.region, before->access.region};
      if (!late.count(regions) && isOther(*before, read)) {
        ++before;
        continue;
      }
      late.insert(regions);
      Access next;
      next.region = regions.second + 1;
      before = written.lower_bound({next, {}, {}});
    }
  }

  /// The write was of other elements: an iteration of a loop that tells them apart has ended since.
  static bool isOther(const Written &before, const Access &read) {
    Access there = before.access;
    there.region = read.region;
    return std::any_of(before.round.begin(), before.round.end(),
                       [&](int loop) { return isApartIn(there, read, loop); });
  }

  void iterate(const Node &node, std::set<Written> &written) {
    if (node.most && *node.most == 0)
      return;
    walk(node.bodies[0], written);
    if (!node.most || *node.most > 1) {
      std::set<Written> again;
      for (Written each : written) {
        if (!each.left.count(node.id))
          each.round.insert(node.id);
        again.insert(std::move(each));
      }
      walk(node.bodies[0], again);
      written.insert(again.begin(), again.end());
    }
    // Had it run no trip, less would be left, and whatever is late then is late now.
    std::set<Written> after;
    for (Written each : written) {
      each.round.erase(node.id);
      each.left.insert(node.id);
      after.insert(std::move(each));
    }
    written = std::move(after);
  }

  const Kernel &kernel;
  /// Pairs (read, written) of which a read may come after a write of the same element.
  std::set<std::pair<int, int>> late;
};
} // namespace

LiveInterval positionsOf(const Kernel &kernel, int id) {
  LiveInterval found{0, -1};
  int position = 0;
  const Node *wanted = nullptr;
  forEachNode(kernel.body, [&](const Node &node) {
    if (node.id == id) {
      wanted = &node;
      found.begin = position;
    }
    ++position;
  });
  if (!wanted)
    return found;
  int inside = 0;
  for (const Sequence &body : wanted->bodies)
    forEachNode(body, [&](const Node &) { ++inside; });
  found.end = found.begin + inside;
  return found;
}

std::vector<Lifetime> findLifetimes(const Kernel &kernel, Order order) {
  LifetimeFinder finder(kernel, order);
  std::vector<Lifetime> result;
  for (size_t region = 0; region < kernel.regions.size(); ++region)
    if (kernel.regions[region].space == Space::Shared)
      result.push_back(finder.find(static_cast<int>(region)));
  return result;
}

bool neverTogether(const Lifetime &a, const Lifetime &b) {
  for (const LiveInterval &x : a.intervals)
    for (const LiveInterval &y : b.intervals)
      if (x.begin <= y.end && y.begin <= x.end)
        return false;
  return true;
}

std::vector<Aliasing> findAliasing(const Kernel &kernel) {
  return AliasFinder(kernel).run();
}

} // namespace soliton::sched::whole
