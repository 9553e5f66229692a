#include "soliton/schedule/VerifyPeeling.h"

#include <algorithm>
#include <cstdlib>

namespace soliton::sched {
namespace {
/// The instances of one op in one trace against those of the loop.
class Roll {
public:
  Roll(const PathContext &context, const Trace &trace, int op, int expected, bool mayOverrun)
      : context(context), trace(trace), op(op), expected(expected) {
    std::vector<int> seen(std::max(expected, 0), 0);
    for (int p = 0; p < trace.size(); ++p) {
      const Instance &at = trace.at(p);
      if (at.entry->kind != EntryKind::Op || at.entry->op != op)
        continue;
      bool outside = at.iteration < 0 || at.iteration >= expected;
      if (outside ? !(mayOverrun && at.iteration >= expected) : seen[at.iteration]++ > 0)
        surplus = p;
    }
    auto none = std::find(seen.begin(), seen.end(), 0);
    if (none != seen.end())
      missing = static_cast<int>(none - seen.begin());
  }

  bool ok() const { return missing < 0 && surplus < 0; }

  Diagnostic report() const {
    const Operation &lost = operation(op);
    std::string message = "`" + lost.key + "` " +
                          (missing >= 0 ? "does not run for iteration " + std::to_string(missing) : surplusText()) +
                          " of a loop of " + std::to_string(expected);
    return {Severity::error, DiagId::ScheduleMissingOp, lost.place, std::move(message), fix(), {sufferer()}};
  }

private:
  const Operation &operation(int index) const { return context.problem.operations[index]; }
  std::string phaseOf(int position) const { return std::string(nameOf(trace.at(position).where.phase)); }

  std::string surplusText() const {
    int iteration = trace.at(surplus).iteration;
    bool twice = iteration >= 0 && iteration < expected;
    return std::string("runs ") + (twice ? "twice " : "") + "for iteration " + std::to_string(iteration);
  }

  /// Who depends on the instance that is missing or comes once more.
  Note sufferer() const {
    int iteration = missing >= 0 ? missing : trace.at(surplus).iteration;
    const Dependence *found = nullptr;
    for (const Dependence &dep : context.dependences) {
      bool here = dep.from == op && dep.to != op && trace.position(dep.to, iteration + dep.distance) >= 0;
      if (here && (!found || (dep.kind == DepKind::Raw && found->kind != DepKind::Raw)))
        found = &dep;
    }
    if (!found)
      return {operation(op).place, "`" + operation(op).key + "` of the other iterations is here"};
    return {operation(found->to).place, "`" + operation(found->to).key + "` of iteration " +
                                            std::to_string(iteration + found->distance) + " comes after it (" +
                                            describe(context.problem, *found) + ")"};
  }

  /// By how much the entry of the surplus would have to be shifted for all to be well; 0: no shift does it.
  int shift() const {
    for (int by : {-1, 1, -2, 2, -3, 3})
      if (coveredIfShifted(by))
        return by;
    return 0;
  }

  bool coveredIfShifted(int by) const {
    std::vector<int> seen(expected, 0);
    for (int p = 0; p < trace.size(); ++p) {
      const Instance &at = trace.at(p);
      if (at.entry->kind != EntryKind::Op || at.entry->op != op)
        continue;
      int iteration = at.iteration + (at.where == trace.at(surplus).where ? by : 0);
      if (iteration < 0 || iteration >= expected || seen[iteration]++ > 0)
        return false;
    }
    return std::find(seen.begin(), seen.end(), 0) == seen.end();
  }

  std::string fix() const {
    std::string name = "`" + operation(op).key + "`";
    if (surplus < 0)
      return "put " + name + " of iteration " + std::to_string(missing) + " back where the peeled schedule has it";
    if (missing < 0)
      return "drop one of the two " + name + " from the " + phaseOf(surplus);
    int by = shift();
    if (by == 0)
      return "peel the schedule again: " + name + " in the " + phaseOf(surplus) + " " + surplusText();
    return "let " + name + " in the " + phaseOf(surplus) + " run " + std::to_string(std::abs(by)) + " iteration" +
           (std::abs(by) == 1 ? "" : "s") + (by < 0 ? " earlier" : " later") + " (it now " + surplusText() + ")";
  }

  const PathContext &context;
  const Trace &trace;
  int op, expected;
  /// An iteration that does not run; a position whose instance is one too many. -1: none.
  int missing = -1, surplus = -1;
};

/// Ops that do not run exactly once for each iteration, found in one pass over the trace.
std::vector<char> strays(const Problem &problem, const Trace &trace, int expected, bool mayOverrun) {
  std::vector<char> stray(problem.operations.size(), 0);
  std::vector<int> count(problem.operations.size(), 0);
  for (int p = 0; p < trace.size(); ++p) {
    const Instance &at = trace.at(p);
    if (at.entry->kind != EntryKind::Op)
      continue;
    bool outside = at.iteration < 0 || at.iteration >= expected;
    if (outside)
      stray[at.entry->op] |= !(mayOverrun && at.iteration >= expected);
    else
      // Of two that are one iteration, the trace knows the place of the last only.
      trace.position(at.entry->op, at.iteration) == p ? ++count[at.entry->op] : stray[at.entry->op] = 1;
  }
  for (size_t op = 0; op < stray.size(); ++op)
    stray[op] |= count[op] != std::max(expected, 0);
  return stray;
}

/// The op that stands in front of a position, or the first behind it; -1 if there is none.
int neighbour(const Problem &problem, const Trace &trace, int position) {
  auto isOp = [&](int p) {
    const Entry &entry = *trace.at(p).entry;
    return entry.kind == EntryKind::Op && problem.operations[entry.op].kind != OpKind::Hint;
  };
  for (int p = std::min(position, trace.size() - 1); p >= 0; --p)
    if (isOp(p))
      return trace.at(p).entry->op;
  for (int p = std::max(position, 0); p < trace.size(); ++p)
    if (isOp(p))
      return trace.at(p).entry->op;
  return -1;
}

/// The group that passes fewer lacks one before the loop if its stagger is not whole, behind the loop otherwise.
bool lacksStagger(const Problem &problem, const Program &program, int group) {
  int staggers = 0;
  for (const Entry &entry : program.prologue)
    staggers += entry.kind == EntryKind::Barrier && entry.stagger && (entry.groups >> group & 1);
  return staggers < problem.staggerOf(group);
}
} // namespace

std::optional<Diagnostic> findLostInstance(const PathContext &context, const Program &program, const Path &path) {
  const Problem &problem = context.problem;
  int expected = program.exactTrips.value_or(path.trips + program.peeled);
  bool mayOverrun =
      std::any_of(program.kernel.begin(), program.kernel.end(), [](const Entry &entry) { return entry.overruns; });
  std::vector<std::vector<char>> stray;
  for (const Trace &trace : path.traces)
    stray.push_back(strays(problem, trace, expected, mayOverrun));
  for (int i = 0; i < problem.numOps(); ++i) {
    OpKind kind = problem.operations[i].kind;
    bool sync = kind == OpKind::Barrier || kind == OpKind::Wait || kind == OpKind::Commit;
    // What a schedule asks of the machine for its kernel changes nothing where it is not asked.
    bool asked = kind == OpKind::Hint && !problem.operations[i].pinned;
    if (sync || asked || !context.schedule.slots[i].scheduled())
      continue;
    for (int group = 0; group < problem.groups; ++group) {
      if (!(problem.operations[i].groups >> group & 1) || !stray[group][i])
        continue;
      Roll roll(context, path.traces[group], i, expected, mayOverrun);
      if (!roll.ok())
        return roll.report();
    }
  }
  return std::nullopt;
}

std::optional<Diagnostic> findDivergence(const PathContext &context, const Program &program, const Path &path) {
  const Problem &problem = context.problem;
  for (int group = 1; group < problem.groups; ++group) {
    int first = path.traces[0].numBarriers(), other = path.traces[group].numBarriers();
    if (first == other)
      continue;
    int behind = first < other ? 0 : group, ahead = first < other ? group : 0;
    const Trace &waits = path.traces[ahead], &ends = path.traces[behind];
    bool before = lacksStagger(problem, program, behind);
    // The first barrier that nobody meets, and where the other group should pass one more.
    int blocked = neighbour(problem, waits, waits.barrierPosition(std::min(first, other) + 1));
    int repair = neighbour(problem, ends, before ? 0 : ends.size());
    std::string who = "wave group " + std::to_string(behind), more = std::to_string(std::abs(first - other));
    Diagnostic diagnostic{Severity::error,
                          DiagId::ScheduleBarriers,
                          blocked >= 0 ? problem.operations[blocked].place : Place{},
                          "wave group 0 passes " + std::to_string(first) + " barriers, wave group " +
                              std::to_string(group) + " passes " + std::to_string(other) + ", with " +
                              std::to_string(path.trips) + " trips of the kernel",
                          "let " + who + " pass " + more + " more " +
                              (before ? "at the start of the prologue (its stagger)" : "at the end of the epilogue") +
                              ", or drop the condition of the others",
                          {}};
    if (blocked >= 0 && repair >= 0) {
      diagnostic.message +=
          ": behind `" + problem.operations[blocked].key + "` wave group " + std::to_string(ahead) + " waits for ever";
      diagnostic.notes.push_back({problem.operations[repair].place, who + (before ? " begins with `" : " ends with `") +
                                                                        problem.operations[repair].key + "` here"});
    }
    return diagnostic;
  }
  return std::nullopt;
}

} // namespace soliton::sched
