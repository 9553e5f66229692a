//===- TestCandidates.h - Schedules near a schedule, one after the other ---===//
//
// What a search would try: one op some cycles earlier or later, in another stage, two ops that change places, an op
// that goes where its neighbour in the order is. From a seed; about half of them are wrong.
//
//   Candidates next(problem, schedule, 7);
//   Verdict verdict = judge.rejudge(next.propose(judge.schedule()));
//   judge.rejudge(next.settle(verdict.accepted));
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Judge.h"

#include <algorithm>
#include <random>

namespace soliton::sched::testing {

class Candidates {
public:
  Candidates(const Problem &problem, Schedule start, uint32_t seed) : made(std::move(start)), random(seed) {
    made.buffers.assign(problem.regions.size(), 0);
    good = made.slots;
  }

  /// The next one, as changes of `current`, whose buffers are not looked at.
  std::vector<Change> propose(const Schedule &current) {
    made.slots = current.slots;
    int count = static_cast<int>(made.slots.size()), a = pick(0, count - 1), b = pick(0, count - 1);
    std::vector<Change> changes = {{a, made.slots[a]}};
    Slot &slot = changes[0].slot;
    switch (pick(0, 4)) {
    case 0:
      slot.cycle = std::clamp(slot.cycle + pick(-8, 8), 0, made.interval - 1);
      break;
    case 1:
      slot.stage = std::max(0, slot.stage + pick(-1, 1));
      break;
    case 2:
      slot.rank += pick(-2, 2);
      break;
    case 3:
      slot.cycle = made.slots[b].cycle;
      slot.rank = made.slots[b].rank;
      break;
    default:
      slot = made.slots[b];
      changes.push_back({b, made.slots[a]});
    }
    for (const Change &change : changes)
      made.slots[change.op] = change.slot;
    return changes;
  }

  /// The schedule that was proposed last.
  const Schedule &schedule() const { return made; }
  /// Says what came of it. A right one is kept; most wrong ones are taken back (the changes that do so are returned),
  /// some stay for a while, so that wrong ones are changed too.
  std::vector<Change> settle(bool accepted) {
    std::vector<Change> changes;
    if (accepted)
      good = made.slots;
    if (accepted || pick(0, 5) == 0)
      return changes;
    for (size_t op = 0; op < good.size(); ++op)
      if (!(good[op] == made.slots[op]))
        changes.push_back({static_cast<int>(op), good[op]});
    return changes;
  }

private:
  int pick(int low, int high) { return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1)); }

  Schedule made;
  std::mt19937 random;
  std::vector<Slot> good;
};

} // namespace soliton::sched::testing
