#include "soliton/schedule/Dependences.h"

#include <algorithm>
#include <tuple>

namespace soliton::sched {
namespace {
/// An access together with the op that makes it.
struct Touch {
  int op;
  const Access *access;
  GroupMask groups;
};

bool overlap(const Access &a, const Access &b) {
  return a.begin < b.end && b.begin < a.end;
}
bool covers(const Touch &outer, const Touch &inner) {
  return outer.access->begin <= inner.access->begin && outer.access->end >= inner.access->end &&
         (inner.groups & ~outer.groups) == 0;
}

/// Against source order inside one iteration, equal start times would be emitted the wrong way round.
void keepOrder(Dependence &dep) {
  if (dep.distance <= 0 && dep.from >= dep.to)
    dep.latency = std::max(dep.latency, 1);
}

class Derivation {
public:
  explicit Derivation(const Problem &problem) : problem(problem) {}

  std::vector<Dependence> run() {
    std::vector<std::vector<Touch>> touches(problem.regions.size());
    for (int op = 0; op < problem.numOps(); ++op)
      collect(op, touches);
    for (size_t region = 0; region < touches.size(); ++region)
      if (problem.regions[region].rotating)
        rotating(static_cast<int>(region), touches[region]);
      else
        sequential(static_cast<int>(region), touches[region]);
    for (int op = 0; op < problem.numOps(); ++op)
      if (problem.operations[op].pinned)
        pin(op);
    for (const Dependence &dep : problem.extra) {
      result.push_back(dep);
      result.back().reuse = false;
    }
    return unique();
  }

private:
  /// Reads of an op come before its writes: it reads its operands, then writes.
  void collect(int op, std::vector<std::vector<Touch>> &touches) {
    const Operation &operation = problem.operations[op];
    for (bool write : {false, true})
      for (const Access &access : operation.accesses)
        if (access.write == write)
          touches[access.region].push_back({op, &access, access.groups & operation.groups & problem.allGroups()});
  }

  void rotating(int region, const std::vector<Touch> &touches) {
    // Reads among themselves never conflict: pair each write with everything.
    for (const Touch &write : touches) {
      if (!write.access->write)
        continue;
      for (const Touch &other : touches) {
        if (!overlap(*write.access, *other.access))
          continue;
        sameInstance(region, write, other);
        if (!other.access->write)
          sameInstance(region, other, write);
        reuse(region, other, write);
      }
    }
  }

  void sameInstance(int region, const Touch &x, const Touch &y) {
    int distance = x.access->offset - y.access->offset;
    if (distance > 0 || (distance == 0 && x.op < y.op))
      emit(region, x, y, distance, false);
  }

  /// `y` overwrites the buffer that `x` touched.
  void reuse(int region, const Touch &x, const Touch &y) {
    emit(region, x, y, x.access->offset - y.access->offset, true);
  }

  void sequential(int region, const std::vector<Touch> &touches) {
    size_t count = touches.size();
    if (std::none_of(touches.begin(), touches.end(), [](const Touch &touch) { return touch.access->write; }))
      return;
    for (size_t x = 0; x < count; ++x)
      for (size_t step = 1; step <= count; ++step) {
        const Touch &y = touches[(x + step) % count];
        int distance = x + step >= count ? 1 : 0;
        bool conflict = (touches[x].access->write || y.access->write) && overlap(*touches[x].access, *y.access);
        bool self = touches[x].op == y.op;
        // Of one op with itself only the value that it carries to the next iteration matters.
        if (conflict && (!self || (touches[x].access->write && !y.access->write && distance == 1)))
          emit(region, touches[x], y, distance, false);
        if (y.access->write && covers(y, touches[x]))
          break;
      }
  }

  void emit(int region, const Touch &x, const Touch &y, int distance, bool reuse) {
    if (x.groups == 0 || y.groups == 0)
      return;
    const Region &storage = problem.regions[region];
    Dependence dep;
    dep.from = x.op;
    dep.to = y.op;
    dep.kind = !x.access->write ? DepKind::War : y.access->write ? DepKind::Waw : DepKind::Raw;
    dep.space = storage.space;
    dep.region = region;
    dep.distance = distance;
    dep.latency = latency(dep.kind, storage.space, problem.operations[x.op]);
    if (!reuse)
      keepOrder(dep);
    dep.crossWave = storage.space == Space::Shared && !storage.waveLocal && x.op != y.op;
    dep.counter = x.access->counter;
    dep.toCounter = y.access->counter;
    dep.fromGroups = x.groups;
    dep.toGroups = y.groups;
    dep.reuse = reuse;
    result.push_back(dep);
  }

  /// The pinned synchronisation `sync` stays between the ops it stands between.
  void pin(int sync) {
    OpKind kind = problem.operations[sync].kind;
    if (kind != OpKind::Barrier && kind != OpKind::Wait && kind != OpKind::Commit)
      return;
    for (int op = 0; op < problem.numOps(); ++op) {
      if (op == sync || !ordered(problem.operations[sync], problem.operations[op]))
        continue;
      Dependence dep;
      dep.from = std::min(op, sync);
      dep.to = std::max(op, sync);
      result.push_back(dep);
    }
  }

  bool ordered(const Operation &sync, const Operation &op) const {
    if (op.pinned && (op.kind == OpKind::Barrier || op.kind == OpKind::Wait || op.kind == OpKind::Commit))
      return true;
    if (sync.kind == OpKind::Barrier)
      return std::any_of(op.accesses.begin(), op.accesses.end(),
                         [&](const Access &access) { return problem.regions[access.region].space != Space::Register; });
    return std::any_of(op.ticks.begin(), op.ticks.end(),
                       [&](const Tick &tick) { return tick.counter == sync.counter; });
  }

  static int latency(DepKind kind, Space space, const Operation &from) {
    if (kind == DepKind::Raw)
      return from.latency;
    return kind == DepKind::War && space == Space::Register ? 0 : 1;
  }

  /// One op may touch a region several times; its dependences are one with the groups of all.
  std::vector<Dependence> unique() {
    auto key = [](const Dependence &d) {
      return std::tuple(d.from, d.to, d.region, d.kind, d.reuse, d.distance, d.counter, d.toCounter);
    };
    std::sort(result.begin(), result.end(), [&](const Dependence &a, const Dependence &b) { return key(a) < key(b); });
    std::vector<Dependence> merged;
    for (const Dependence &dep : result) {
      if (merged.empty() || key(merged.back()) != key(dep)) {
        merged.push_back(dep);
        continue;
      }
      merged.back().latency = std::max(merged.back().latency, dep.latency);
      merged.back().fromGroups |= dep.fromGroups;
      merged.back().toGroups |= dep.toGroups;
    }
    return merged;
  }

  const Problem &problem;
  std::vector<Dependence> result;
};
} // namespace

int effectiveBuffers(const Problem &problem, std::span<const int> buffers, int region) {
  if (region < static_cast<int>(buffers.size()) && buffers[region] > 0)
    return buffers[region];
  return problem.regions[region].buffers;
}

DependenceTable::DependenceTable(const Problem &problem) : problem(problem), table(Derivation(problem).run()) {}

bool DependenceTable::setBuffers(size_t i, int count, Dependence &dep) const {
  dep = table[i];
  if (!dep.reuse)
    return true;
  dep.distance += count;
  keepOrder(dep);
  // One op that reads an instance and then overwrites it is in order by itself unless the value was meant to live on.
  return count > 0 && (dep.from != dep.to || dep.distance < 0);
}

std::vector<Dependence> DependenceTable::with(std::span<const int> buffers) const {
  std::vector<Dependence> result;
  result.reserve(table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    int count = table[i].reuse ? effectiveBuffers(problem, buffers, table[i].region) : 0;
    if (!setBuffers(i, count, result.emplace_back()))
      result.pop_back();
  }
  return result;
}

std::vector<Dependence> deriveDependences(const Problem &problem, std::span<const int> buffers) {
  return DependenceTable(problem).with(buffers);
}

Graph::Graph(int numOps, std::span<const Dependence> dependences) : outStart(numOps + 1), inStart(numOps + 1) {
  std::vector<Edge> all;
  all.reserve(dependences.size());
  for (size_t i = 0; i < dependences.size(); ++i) {
    const Dependence &dep = dependences[i];
    all.push_back({dep.from, dep.to, dep.latency, dep.distance, static_cast<int>(i)});
  }
  std::sort(all.begin(), all.end(), [](const Edge &a, const Edge &b) {
    return std::tuple(a.from, a.to, a.distance, -a.latency, a.dependence) <
           std::tuple(b.from, b.to, b.distance, -b.latency, b.dependence);
  });
  for (const Edge &edge : all)
    if (out.empty() || out.back().from != edge.from || out.back().to != edge.to || out.back().distance != edge.distance)
      out.push_back(edge);
  for (const Edge &edge : out) {
    ++outStart[edge.from + 1];
    ++inStart[edge.to + 1];
  }
  for (int op = 0; op < numOps; ++op) {
    outStart[op + 1] += outStart[op];
    inStart[op + 1] += inStart[op];
  }
  in.resize(out.size());
  std::vector<int> next(inStart.begin(), inStart.end() - 1);
  for (const Edge &edge : out)
    in[next[edge.to]++] = edge;
}

std::string describe(const Problem &problem, const Dependence &dep) {
  std::string text = "`" + problem.operations[dep.from].key + "` -> `" + problem.operations[dep.to].key + "`, ";
  text += nameOf(dep.kind);
  if (dep.region >= 0)
    text += " on " + std::string(nameOf(dep.space)) + " `" + problem.regions[dep.region].name + "`";
  return text + ", distance " + std::to_string(dep.distance) + ", latency " + std::to_string(dep.latency);
}

} // namespace soliton::sched
