//===- RandomLoops.h - Random loops and their optimum by exhaustive search -===//
//
// An oracle for the schedulers that shares nothing with them: it tries every start cycle of every op that uses units
// and decides the rest by difference constraints on stages.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "TestProblems.h"
#include "soliton/schedule/Bounds.h"

namespace soliton::sched::testing {

struct RandomLoop {
  Problem problem;
  bool recurrence = false;
  bool multiCycle = false;
};

/// A loop of at most `most` ops; dependences are said, not derived, so that every shape occurs.
inline RandomLoop randomLoop(uint32_t seed, int most = 14) {
  std::mt19937 random(seed);
  auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
  };
  RandomLoop loop;
  Problem &problem = loop.problem;
  // Some are short and crowded: there the optimum often exceeds both bounds.
  bool crowded = pick(0, 99) < 65;
  int resources = pick(1, 3);
  for (int r = 0; r < resources; ++r)
    problem.addResource("unit" + std::to_string(r), !crowded && pick(1, 3) == 3 ? 2 : 1);
  int count = pick(3, crowded ? std::min(most, 8) : most);
  bool longUses = crowded || pick(0, 99) < 35;
  for (int i = 0; i < count; ++i) {
    Operation op = makeOp("op" + std::to_string(i), OpKind::Valu, 0);
    if (pick(0, 9) > 0) {
      Reservation use{pick(0, resources - 1), 0, 1, 1};
      if (longUses && pick(0, crowded ? 1 : 2) == 0)
        use.length = pick(2, 3);
      op.reservations.push_back(use);
      // A second use some cycles later (a result bus): what makes packing hard.
      if (longUses && pick(0, crowded ? 1 : 2) == 0) {
        Reservation later{pick(0, resources - 1), use.length + pick(0, 3), 1, 1};
        op.reservations.push_back(later);
      }
    }
    loop.multiCycle |= op.reservations.size() > 1 || (!op.reservations.empty() && op.reservations[0].length > 1);
    problem.addOperation(op);
  }
  auto depend = [&](int from, int to, int latency, int distance) {
    Dependence dep;
    dep.from = from;
    dep.to = to;
    dep.latency = latency;
    dep.distance = distance;
    problem.extra.push_back(dep);
  };
  for (int to = 1; to < count; ++to)
    for (int k = pick(0, 2); k > 0; --k)
      depend(pick(0, to - 1), to, pick(0, 4), 0);
  if (pick(0, 99) < 70)
    for (int k = pick(1, 3); k > 0; --k) {
      int from = pick(0, count - 1), to = pick(std::max(0, from - 5), from);
      depend(from, to, pick(1, 4), pick(1, 2));
      loop.recurrence = true;
    }
  return loop;
}

/// Exhaustive search for the shortest interval.
class Exhaustive {
public:
  explicit Exhaustive(const Problem &problem) : problem(problem), count(problem.numOps()) {}

  /// The shortest interval below `known`, at which there is a schedule; `known` if there is none.
  int optimumBelow(int known) {
    for (interval = 1; interval < known; ++interval)
      if (enoughUnits() && feasible())
        return interval;
    return known;
  }

private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min() / 4;

  bool enoughUnits() const {
    std::vector<int64_t> busy(problem.resources.size(), 0);
    for (const Operation &op : problem.operations)
      for (const Reservation &use : op.reservations)
        busy[use.resource] += int64_t{use.length} * use.units;
    for (size_t r = 0; r < busy.size(); ++r)
      if (busy[r] > int64_t{interval} * problem.resources[r].units)
        return false;
    return true;
  }

  bool feasible() {
    path.assign(count, std::vector<int64_t>(count, kNone));
    for (const Dependence &dep : deriveDependences(problem))
      path[dep.from][dep.to] =
          std::max<int64_t>(path[dep.from][dep.to], dep.latency - int64_t{dep.distance} * interval);
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < count; ++i)
        for (int j = 0; j < count && path[i][k] > kNone; ++j)
          if (path[k][j] > kNone)
            path[i][j] = std::max(path[i][j], path[i][k] + path[k][j]);
    for (int i = 0; i < count; ++i)
      if (path[i][i] > 0)
        return false;
    used.assign(problem.resources.size(), std::vector<int>(interval, 0));
    stage.assign(count, std::vector<int64_t>(count, kNone));
    row.assign(count, -1);
    placed.clear();
    return place();
  }

  /// The op with units that has the fewest cycles left; -1 if all are placed.
  int hardest(std::vector<int> &rows) {
    int best = -1;
    for (int op = 0; op < count; ++op) {
      if (row[op] >= 0 || problem.operations[op].reservations.empty())
        continue;
      std::vector<int> free;
      for (int at = 0; at < (placed.empty() ? 1 : interval); ++at) {
        if (occupy(op, at, +1))
          free.push_back(at);
        occupy(op, at, -1);
      }
      if (best < 0 || free.size() < rows.size()) {
        best = op;
        rows = free;
      }
    }
    return best;
  }

  bool place() {
    std::vector<int> rows;
    int op = hardest(rows);
    if (op < 0)
      return true;
    for (int at : rows) {
      occupy(op, at, +1);
      auto saved = stage;
      row[op] = at;
      if (connect(op)) {
        placed.push_back(op);
        if (place())
          return true;
        placed.pop_back();
      }
      stage = std::move(saved);
      row[op] = -1;
      occupy(op, at, -1);
    }
    return false;
  }

  bool occupy(int op, int at, int sign) {
    bool fits = true;
    for (const Reservation &use : problem.operations[op].reservations)
      for (int i = 0; i < use.length; ++i) {
        int &cell = used[use.resource][(at + use.start + i) % interval];
        cell += sign * use.units;
        fits &= cell <= problem.resources[use.resource].units;
      }
    return fits;
  }

  /// Stages that `to` must be behind `from` at least.
  int64_t apart(int from, int to) const {
    if (path[from][to] == kNone)
      return kNone;
    int64_t cycles = path[from][to] + row[from] - row[to];
    return cycles > 0 ? (cycles + interval - 1) / interval : -(-cycles / interval);
  }

  bool connect(int op) {
    stage[op][op] = 0;
    if (apart(op, op) > 0)
      return false;
    for (int other : placed) {
      int64_t in = kNone, out = kNone;
      for (int via : placed) {
        if (stage[other][via] > kNone && apart(via, op) > kNone)
          in = std::max(in, stage[other][via] + apart(via, op));
        if (stage[via][other] > kNone && apart(op, via) > kNone)
          out = std::max(out, apart(op, via) + stage[via][other]);
      }
      stage[other][op] = in;
      stage[op][other] = out;
    }
    for (int a : placed)
      for (int b : placed)
        if (stage[a][op] > kNone && stage[op][b] > kNone) {
          stage[a][b] = std::max(stage[a][b], stage[a][op] + stage[op][b]);
          if (a == b && stage[a][b] > 0)
            return false;
        }
    for (int other : placed)
      if (stage[other][op] > kNone && stage[op][other] > kNone && stage[other][op] + stage[op][other] > 0)
        return false;
    return true;
  }

  const Problem &problem;
  int count;
  int interval = 1;
  std::vector<std::vector<int64_t>> path, stage;
  std::vector<std::vector<int>> used;
  std::vector<int> row, placed;
};

} // namespace soliton::sched::testing
