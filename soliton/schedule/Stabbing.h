//===- Stabbing.h - The fewest points that hit every interval of a cycle ---===//
//
// Slots 0 .. n-1 lie on a cycle (the loop body, which repeats). Each interval [begin, end] of the unrolled axis must
// contain at least `demand` chosen slots; `end` may lie in a later lap. Solved exactly: with S(i) the number of chosen
// slots before i and m the number in all, the conditions
//
//   0 <= S(i+1) - S(i) <= capacity(i),   S(end+1) - S(begin) >= demand,   S(i + n) = S(i) + m
//
// are difference constraints, whose least solution is a longest path; m grows from a lower bound until there is one.
//
//   4 slots, intervals [0,1] [1,2] [2,3] [3,4]:  m = 2, {0, 2} or {1, 3}
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace soliton::sched {

struct Interval {
  int begin = 0;
  int end = 0;
  int demand = 1;
  /// How much it is worth that the last point lies late in it; decides only between equally few points.
  int weight = 1;
};

struct StabbingProblem {
  int slots = 0;
  std::vector<Interval> intervals;
  /// How many points a slot may hold; 0: it may not be chosen.
  std::vector<int> capacity;
  /// Points that are there already.
  std::vector<int> fixed;
  /// What a chosen slot costs, to decide between equally small solutions; may be empty.
  std::vector<int> cost;
};

/// Points per slot (fixed ones included) with the smallest sum; nothing if an interval cannot be hit often enough.
/// Among the smallest: least cost, then points as late in their intervals as possible, then the lowest slots.
std::optional<std::vector<int>> stabIntervals(const StabbingProblem &problem);

} // namespace soliton::sched
