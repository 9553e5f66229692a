//===- ScheduleDomain.h - Schedules of a loop, and the moves between them --===//
//
// A point is the time of every operation of the loop, in steps of which an iteration has 16 for each op: what counts
// is the order of the kernel and the stage of each op (Timing::Order; the model of time knows the cycles).
//
//   load 0, store 16, shared load 32, mma 48       program order of four ops, 64 steps an iteration
//   load 0, store 16, shared load 64+32, mma 64+48 memory an iteration ahead: two stages
//
// Behind the times stand the buffers that each shared tile has beyond those that it needs.
//
// Moves: an op or all pieces of the author's op earlier or later, to another stage, beside another op; two ops change
// places; the loop begins elsewhere; iterations follow each other sooner or later (another interval cuts the same times
// into other stages); a tile gets or loses a buffer; a hint of the author's goes elsewhere. Who depends on a moved op
// and would come too early is pushed later, whom it depends on is pulled earlier, along the graph of dependences. So
// every point respects them; registers, shared memory, barriers and waits are the verifier's matter (LoopCost.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Schedule.h"
#include "soliton/tuner/Domain.h"

#include <string>

namespace soliton::tune {

class ScheduleDomain final : public Domain {
public:
  /// The problem must outlive the domain; `whyNot` must say nothing.
  ScheduleDomain(const sched::Problem &problem, const sched::Schedule &start);

  /// Nothing if a search may start from the schedule, otherwise what keeps it from that.
  static std::optional<std::string> whyNot(const sched::Problem &problem, const sched::Schedule &start);

  Point start() const override { return first; }
  Point anywhere(Random &random) const override;
  Point neighbour(const Point &point, Random &random) const override;
  Point between(const Point &one, const Point &other, Random &random) const override;
  std::vector<double> features(const Point &point) const override;

  sched::Schedule scheduleOf(const Point &point) const;
  /// By region: buffers beyond those that are needed, for LoopCost::of.
  std::vector<int> moreOf(const Point &point) const;
  Point pointOf(const sched::Schedule &schedule, const std::vector<int> &more = {}) const;
  /// The order and stages of a point, with the cycles in which the model issues the ops, for people to look at; of
  /// buffers those are said that are more than needed.
  sched::Schedule presentable(const Point &point) const;

private:
  /// Later (or earlier) ops follow until all dependences hold again.
  void push(Point &times, std::vector<int> moved, bool later) const;
  void settle(Point &times) const;
  /// The same order and stages in the one form that they have.
  Point normal(const Point &times) const;
  std::vector<int> orderOf(const Point &times) const;
  int floorStage(int32_t time) const;
  void shift(Point &times, const std::vector<int> &ops, int32_t by) const;
  void moveBeside(Point &times, int op, int other) const;
  void recut(Point &times, int32_t by) const;
  void widen(Point &times, Random &random) const;
  Point moved(const Point &point, Random &random) const;

  const sched::Problem &problem;
  sched::Graph graph;
  /// Steps of an iteration.
  int32_t span;
  /// Ops that have a time, and the pieces of the same author's op for each of them.
  std::vector<int> movable;
  std::vector<int> clusterOf;
  std::vector<std::vector<int>> clusters;
  std::vector<int> hints;
  /// Shared tiles that may have any number of buffers: what follows the times of a point is theirs.
  std::vector<int> tiles;
  Point first;
};

} // namespace soliton::tune
