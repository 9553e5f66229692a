#include "soliton/schedule/Peel.h"

#include <algorithm>

namespace soliton::sched {
namespace {
class Peeler {
public:
  Peeler(const Problem &problem, const Schedule &schedule, std::span<const Dependence> dependences,
         const PeelOptions &options)
      : problem(problem), schedule(schedule), dependences(dependences), options(options),
        order(emissionOrder(schedule)), stages(schedule.stages()) {}

  Program whole() {
    Program program;
    int ended = firstEnded();
    for (int step = 0; step < stages - 1; ++step)
      for (size_t i = 0; i < order.size(); ++i)
        if (stageOf(i) <= step)
          program.prologue.push_back(entry(i, step - stageOf(i), options.eliminateEpilogue || stageOf(i) < ended));
    for (size_t i = 0; i < order.size(); ++i)
      program.kernel.push_back(entry(i, stages - 1 - stageOf(i), stageOf(i) < ended));
    program.peeled = stages - 1 - ended;
    for (int step = 0; step < program.peeled; ++step)
      for (size_t i = 0; i < order.size(); ++i)
        if (stageOf(i) > step + ended)
          program.epilogue.push_back(entry(i, step + ended - stageOf(i), false));
    return finish(std::move(program));
  }

  Program exact(int tripCount) {
    Program program;
    program.exactTrips = tripCount;
    for (int step = 0; step < tripCount + stages - 1; ++step)
      for (size_t i = 0; i < order.size(); ++i)
        if (step >= stageOf(i) && step - stageOf(i) < tripCount)
          program.prologue.push_back(entry(i, step - stageOf(i), false));
    return finish(std::move(program));
  }

private:
  /// The first stage that an epilogue brings to its end; those before it run past the end of the loop.
  int firstEnded() const {
    if (options.eliminateEpilogue)
      return stages - 1;
    int first = schedule.copiesRunOn ? stages - 1 : 0;
    for (int op : order)
      if (problem.operations[op].kind != OpKind::CopyAsync)
        first = std::min(first, schedule.slots[op].stage);
    return first;
  }

  int stageOf(size_t position) const { return schedule.slots[order[position]].stage; }

  Entry entry(size_t position, int iteration, bool overruns) const {
    const Operation &op = problem.operations[order[position]];
    Entry result;
    result.op = order[position];
    result.iteration = iteration;
    result.cluster = schedule.slots[result.op].cluster;
    result.position = static_cast<int>(position);
    result.groups = op.groups;
    result.overruns = overruns;
    result.counter = op.counter;
    result.value = op.value;
    result.kind = op.kind == OpKind::Barrier  ? EntryKind::Barrier
                  : op.kind == OpKind::Wait   ? EntryKind::Wait
                  : op.kind == OpKind::Commit ? EntryKind::Commit
                                              : EntryKind::Op;
    return result;
  }

  Program finish(Program program) {
    if (options.hoistCopies && !program.exactTrips)
      hoistCopies(program.prologue);
    addStagger(program);
    return program;
  }

  /// Moves each copy in front of everything that it does not depend on, keeping the order of copies.
  void hoistCopies(std::vector<Entry> &entries) {
    // By copy: whom it must not pass, sorted.
    std::vector<std::vector<std::pair<int, int>>> ordered(problem.operations.size());
    bool any = false;
    for (const Dependence &dep : dependences)
      if (problem.operations[dep.to].kind == OpKind::CopyAsync)
        ordered[dep.to].emplace_back(dep.from, dep.distance);
    for (int op = 0; op < problem.numOps(); ++op) {
      any |= problem.operations[op].kind == OpKind::CopyAsync;
      std::sort(ordered[op].begin(), ordered[op].end());
    }
    if (!any)
      return;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].kind != EntryKind::Op || problem.operations[entries[i].op].kind != OpKind::CopyAsync)
        continue;
      size_t to = i;
      while (to > 0 && mayPass(entries[to - 1], entries[i], ordered[entries[i].op]))
        --to;
      std::rotate(entries.begin() + to, entries.begin() + i, entries.begin() + i + 1);
    }
  }

  bool mayPass(const Entry &before, const Entry &copy, const std::vector<std::pair<int, int>> &ordered) const {
    if (before.kind != EntryKind::Op || problem.operations[before.op].kind == OpKind::CopyAsync)
      return false;
    return !std::binary_search(ordered.begin(), ordered.end(), std::pair(before.op, copy.iteration - before.iteration));
  }

  /// Group g passes staggerOf(g) barriers first; at the end the others catch up, so that all pass equally many.
  void addStagger(Program &program) {
    int highest = 0;
    for (int group = 0; group < problem.groups; ++group)
      highest = std::max(highest, problem.staggerOf(group));
    for (int level = highest; level >= 1; --level) {
      GroupMask behind = 0;
      for (int group = 0; group < problem.groups; ++group)
        if (problem.staggerOf(group) >= level)
          behind |= GroupMask{1} << group;
      Entry barrier;
      barrier.kind = EntryKind::Barrier;
      barrier.stagger = true;
      barrier.groups = behind;
      program.prologue.insert(program.prologue.begin(), barrier);
      barrier.groups = problem.allGroups() & ~behind;
      (program.exactTrips ? program.prologue : program.epilogue).push_back(barrier);
    }
  }

  const Problem &problem;
  const Schedule &schedule;
  std::span<const Dependence> dependences;
  const PeelOptions &options;
  std::vector<int> order;
  int stages;
};
} // namespace

Program peel(const Problem &problem, const Schedule &schedule, std::span<const Dependence> dependences,
             const PeelOptions &options) {
  return Peeler(problem, schedule, dependences, options).whole();
}

Program peel(const Problem &problem, const Schedule &schedule, const PeelOptions &options) {
  return peel(problem, schedule, deriveDependences(problem, schedule.buffers), options);
}

Program peelExact(const Problem &problem, const Schedule &schedule, int tripCount, const PeelOptions &options) {
  return Peeler(problem, schedule, {}, options).exact(tripCount);
}

} // namespace soliton::sched
