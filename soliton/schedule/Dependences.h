//===- Dependences.h - Who must come before whom ---------------------------===//
//
// Derives every dependence of a Problem from the accesses of its operations; the one dependence graph that schedulers,
// the verifier, barrier and wait derivation and multi-buffering share.
//
// A rotating region (instance n + offset at iteration n, B buffers), accesses X and Y of it:
//
//   same instance     distance = offset(X) - offset(Y), if positive, or 0 with X first in the source
//   reuse of buffer   distance = B + offset(X) - offset(Y), Y being a write: Y overwrites what X touched
//
// so a tile written and read once per iteration has RAW distance 0 and WAR distance B. A region that does not rotate
// keeps sequential order: X -> the accesses that follow it cyclically, up to the first write that covers X.
//
// A pinned barrier of the source keeps its place among the shared accesses of its iteration, a pinned wait or commit
// among the ops of its counter (order dependences of latency 0).
//
// Latencies: RAW the producer's latency; WAR 0 between registers (an op reads at issue) and 1 in memory; WAW 1.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Problem.h"

#include <span>

namespace soliton::sched {

/// All dependences. `buffers[r]`, where given and positive, is the number of buffers of rotating region r; otherwise
/// the region's own number holds, and where that is 0 too reuse is not constrained (the schedule decides it later).
/// Sorted by (from, to, region, kind, reuse, distance), no duplicates.
std::vector<Dependence> deriveDependences(const Problem &problem, std::span<const int> buffers = {});

/// The dependences of a problem, derived once. Another number of buffers moves the distances of reuse and nothing else,
/// so asking again costs a copy.
class DependenceTable {
public:
  explicit DependenceTable(const Problem &problem);

  /// deriveDependences(problem, buffers).
  std::vector<Dependence> with(std::span<const int> buffers) const;

  /// All that there can be; `with` gives those of them that `setBuffers` keeps, in this order.
  std::span<const Dependence> all() const { return table; }
  /// Makes `dep`, which is table[i], what it is with `count` buffers; false if it is none then.
  bool setBuffers(size_t i, int count, Dependence &dep) const;

private:
  const Problem &problem;
  /// Those of reuse with the distance that they would have at no buffer.
  std::vector<Dependence> table;
};

/// The number of buffers that holds for `region`: the schedule's, else the problem's, else 0 (undecided).
int effectiveBuffers(const Problem &problem, std::span<const int> buffers, int region);

/// One edge of the scheduling graph: the strongest of all dependences between two ops at one distance.
struct Edge {
  int from = 0;
  int to = 0;
  int latency = 0;
  int distance = 0;
  /// Index into the dependences that it was built from.
  int dependence = 0;
};

/// Dependences as adjacency lists.
class Graph {
public:
  Graph(int numOps, std::span<const Dependence> dependences);

  int numOps() const { return static_cast<int>(outStart.size()) - 1; }
  std::span<const Edge> edges() const { return {out.data(), out.size()}; }
  /// Edges leaving and entering `op`.
  std::span<const Edge> from(int op) const { return slice(out, outStart[op], outStart[op + 1]); }
  std::span<const Edge> to(int op) const { return slice(in, inStart[op], inStart[op + 1]); }

private:
  static std::span<const Edge> slice(const std::vector<Edge> &list, int begin, int end) {
    return {list.data() + begin, static_cast<size_t>(end - begin)};
  }

  std::vector<Edge> out, in;
  std::vector<int> outStart, inStart;
};

/// "`load a` -> `store a`, RAW on register ra, distance 0, latency 500".
std::string describe(const Problem &problem, const Dependence &dependence);

} // namespace soliton::sched
