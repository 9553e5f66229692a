//===- ResourceTable.h - Which units are busy, modulo the interval ---------===//
//
// A table of interval x resources. Finding the first cycle in which an op fits jumps over runs of busy cycles 64 at a
// time, so filling a table with n ops costs little more than n. A reservation of length L at cycle c of interval II
// occupies (c + i) mod II for i < L, L counting the turns of all waves that share the unit (Problem::busyCycles); one
// that is longer than II folds onto itself and then needs several units.
//
//   mma busy 4 cycles on one unit, II = 8, one op at 0:   1111....   next fit from 1: cycle 4
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Problem.h"

namespace soliton::sched {

/// Reservations of one op folded onto the interval: runs of cycles with a constant number of units.
struct FoldedUse {
  int resource = 0;
  int start = 0;
  int length = 1;
  int units = 1;
};

class ResourceTable {
public:
  ResourceTable(const Problem &problem, int interval);

  int interval() const { return length; }
  /// False if `op` overlaps itself so much that no table of this interval can hold it.
  bool possible(int op) const { return feasible[shapeOf[op]]; }
  bool allPossible() const;
  /// True if `op` may start at `time` beside what is placed.
  bool fits(int op, int64_t time) const;
  /// The first time in [from, from + interval) at which `op` fits.
  std::optional<int64_t> firstFit(int op, int64_t from) const;
  /// The latest such time in [from, to], trying at most `tries` of them.
  std::optional<int64_t> lastFit(int op, int64_t from, int64_t to, int tries) const;
  void place(int op, int64_t time) { change(op, time, +1); }
  void remove(int op, int64_t time) { change(op, time, -1); }
  /// The first placed resource and cycle that keep `op` from starting at `time`.
  std::optional<std::pair<int, int>> conflict(int op, int64_t time) const;
  /// True if `a` at `timeA` and `b` at `timeB` use a common resource in a common cycle.
  bool collide(int a, int64_t timeA, int b, int64_t timeB) const;
  bool usesNothing(int op) const { return shapes[shapeOf[op]].empty(); }
  int used(int resource, int cycle) const { return count[resource][cycle]; }

private:
  using Bits = std::vector<uint64_t>;

  void change(int op, int64_t time, int sign);
  int modulo(int64_t time) const;
  void refresh(int resource, int cycle);
  /// The last busy cycle of [start, start + span) as an offset from start; -1 if all are free.
  int lastBusy(const Bits &bits, int start, int span) const;
  /// Cycles from `cycle` on until a free one; `length` if there is none.
  int untilFree(const Bits &bits, int cycle) const;

  int length;
  std::vector<int> units;
  std::vector<std::vector<int>> count;
  /// busy[resource][u - 1]: no room for u more units.
  std::vector<std::vector<Bits>> busy;
  std::vector<std::vector<FoldedUse>> shapes;
  std::vector<char> feasible;
  std::vector<int> shapeOf;
};

/// The folded uses of one op, or nothing if it cannot be placed at all at this interval.
std::optional<std::vector<FoldedUse>> foldReservations(const Problem &problem, int op, int interval);

} // namespace soliton::sched
