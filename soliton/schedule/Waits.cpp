#include "soliton/schedule/Waits.h"

#include "soliton/schedule/Paths.h"

#include <algorithm>
#include <tuple>

namespace soliton::sched {
namespace {
/// A wait that may be added: on `counter`, in front of the entry at `where`.
struct Candidate {
  Location where;
  int counter = 0;
  int64_t value = std::numeric_limits<int64_t>::max();
  GroupMask groups = 0;
  bool alive = true;
};

/// What one group does on one counter along one path: a need is met by any wait at or before it that leaves as little
/// outstanding as it asks for.
struct Track {
  struct Item {
    int position = 0;
    /// The candidate that stands here; -1: a need.
    int candidate = -1;
    /// What is known to be complete behind the wait; what must be for the need.
    int64_t index = 0;
  };
  std::vector<Item> items;
  /// Before items are made of them: by position what must be complete there, kNothing where nothing need.
  std::vector<int64_t> needs;
  static constexpr int64_t kNothing = std::numeric_limits<int64_t>::min();

  bool holds(const std::vector<Candidate> &candidates, int without) const {
    int64_t known = std::numeric_limits<int64_t>::min();
    for (const Item &item : items) {
      if (item.candidate < 0 && item.index > known)
        return false;
      if (item.candidate >= 0 && item.candidate != without && candidates[item.candidate].alive)
        known = std::max(known, item.index);
    }
    return true;
  }
};

class WaitDerivation {
public:
  WaitDerivation(const PathContext &context, Program &program, const WaitOptions &options)
      : context(context), problem(context.problem), program(program), options(options) {
    for (const Operation &op : problem.operations)
      uniform &= (op.groups & problem.allGroups()) == problem.allGroups();
    size_t entries = program.prologue.size() + program.kernel.size() + program.epilogue.size();
    candidateAt.assign(entries * problem.counters.size(), -1);
  }

  WaitResult run() {
    std::vector<Path> paths = pathsToCheck(context, program, options.tripCount);
    tracks.resize(paths.size() * problem.groups * problem.counters.size());
    for (size_t path = 0; path < paths.size(); ++path)
      forEachHazard(context, paths[path], [&](const HazardInstance &at) { look(at, path); });
    sortCandidates();
    dropSuperfluous(paths);
    insert();
    remark();
    return std::move(result);
  }

private:
  size_t slotOf(const Location &where, int counter) const {
    size_t first = where.phase == Phase::Prologue ? 0
                   : where.phase == Phase::Kernel ? program.prologue.size()
                                                  : program.prologue.size() + program.kernel.size();
    return (first + where.index) * problem.counters.size() + counter;
  }
  size_t trackOf(size_t path, int group, int counter) const {
    return (path * problem.groups + group) * problem.counters.size() + counter;
  }

  void look(const HazardInstance &at, size_t path) {
    if (isProven(context, at))
      return;
    result.open += !waitFor(at, path);
  }

  /// False if no wait helps.
  bool waitFor(const HazardInstance &at, size_t path) {
    if (at.hazard->counter < 0)
      return false;
    int before = at.toPosition;
    if (protectedByPhase(problem, *at.hazard))
      before = arrivalOf(at);
    else if (at.hazard->crossWave)
      before = at.from->barrierPosition(at.to->barriersBefore(at.toPosition));
    return before != kNever && before > at.fromPosition && need(at, before, path);
  }

  /// Readers wait for their reads before they announce that the buffer is empty.
  int arrivalOf(const HazardInstance &at) const {
    if (at.hazard->kind != DepKind::War)
      return kNever;
    return at.from->phaseEntry(EntryKind::Arrive, problem.regions[at.hazard->region].release, at.hazard->region,
                               instanceOf(problem, *at.hazard, at.iteration));
  }

  bool need(const HazardInstance &at, int before, size_t path) {
    int counter = at.hazard->counter;
    Retirement kind = problem.counters[counter].kind;
    if (kind == Retirement::Phase ||
        (kind == Retirement::Group && !at.from->committed(at.fromPosition, before, counter)))
      return false;
    int64_t since = at.from->issuedSince(at.fromPosition, before, counter);
    int64_t value = kind == Retirement::OutOfOrder ? 0 : since;
    if (int limit = problem.counters[counter].limit; limit > 0)
      value = std::min<int64_t>(value, limit);
    Location where = at.from->at(before).where;
    int &candidate = candidateAt[slotOf(where, counter)];
    if (candidate < 0) {
      candidate = static_cast<int>(candidates.size());
      candidates.push_back({where, counter});
    }
    candidates[candidate].value = std::min(candidates[candidate].value, value);
    candidates[candidate].groups |= uniform ? kAllGroups : GroupMask{1} << at.fromGroup;
    // How much was issued before the wait is counted from its own place, so that waits and needs compare.
    std::vector<int64_t> &list = tracks[trackOf(path, at.fromGroup, counter)].needs;
    if (list.empty())
      list.assign(at.from->size(), Track::kNothing);
    list[before] = std::max(list[before], at.from->issuedBefore(before, counter) - since);
    return true;
  }

  /// In the order of the program, so that superfluous ones are looked for from the front.
  void sortCandidates() {
    std::sort(candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) {
      return std::tie(a.where, a.counter) < std::tie(b.where, b.counter);
    });
    for (size_t i = 0; i < candidates.size(); ++i)
      candidateAt[slotOf(candidates[i].where, candidates[i].counter)] = static_cast<int>(i);
  }

  /// Leaves out each wait without which every need is still met.
  void dropSuperfluous(const std::vector<Path> &paths) {
    std::vector<std::vector<const Track *>> ofCounter(problem.counters.size());
    for (size_t path = 0; path < paths.size(); ++path)
      for (int group = 0; group < problem.groups; ++group)
        for (size_t counter = 0; counter < problem.counters.size(); ++counter) {
          Track &track = tracks[trackOf(path, group, static_cast<int>(counter))];
          if (track.needs.empty())
            continue;
          makeItems(track, paths[path].traces[group], group, static_cast<int>(counter));
          ofCounter[counter].push_back(&track);
        }
    for (size_t i = 0; i < candidates.size(); ++i) {
      const std::vector<const Track *> &mine = ofCounter[candidates[i].counter];
      candidates[i].alive = !std::all_of(
          mine.begin(), mine.end(), [&](const Track *track) { return track->holds(candidates, static_cast<int>(i)); });
    }
  }

  /// In the order of the run: a wait stands in front of the entry that needs it.
  void makeItems(Track &track, const Trace &trace, int group, int counter) const {
    int64_t most = Track::kNothing;
    for (int p = 0; p < trace.size(); ++p) {
      int candidate = candidateAt[slotOf(trace.at(p).where, counter)];
      if (candidate >= 0 && (candidates[candidate].groups >> group & 1))
        track.items.push_back({p, candidate, trace.issuedBefore(p, counter) - candidates[candidate].value});
      // A need that an earlier one exceeds says nothing new.
      if (track.needs[p] > most) {
        most = track.needs[p];
        track.items.push_back({p, -1, most});
      }
    }
  }

  void insert() {
    size_t next = 0;
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue}) {
      std::vector<Entry> &entries = program.list(phase), output;
      output.reserve(entries.size() + candidates.size());
      for (int i = 0; i < static_cast<int>(entries.size()); ++i) {
        for (; next < candidates.size() && candidates[next].where == Location{phase, i}; ++next)
          if (candidates[next].alive)
            output.push_back(waitOf(candidates[next], entries[i]));
        output.push_back(entries[i]);
      }
      entries = std::move(output);
    }
  }

  static Entry waitOf(const Candidate &candidate, const Entry &before) {
    Entry wait;
    wait.kind = EntryKind::Wait;
    wait.counter = candidate.counter;
    wait.value = static_cast<int>(candidate.value);
    wait.groups = candidate.groups;
    wait.position = before.position;
    wait.cluster = before.cluster;
    return wait;
  }

  void remark() {
    for (const Candidate &wait : candidates)
      if (wait.alive && options.remarks)
        result.remarks.push_back({Severity::remark,
                                  DiagId::ScheduleRemark,
                                  {},
                                  "`wait " + problem.counters[wait.counter].name + " " + std::to_string(wait.value) +
                                      "` was added to the " + std::string(nameOf(wait.where.phase)),
                                  {},
                                  {}});
  }

  const PathContext &context;
  const Problem &problem;
  Program &program;
  const WaitOptions &options;
  bool uniform = true;
  std::vector<Candidate> candidates;
  /// By place and counter.
  std::vector<int> candidateAt;
  std::vector<Track> tracks;
  WaitResult result;
};

bool joins(const Problem &problem, const Entry &entry, int counter) {
  if (entry.kind != EntryKind::Op)
    return false;
  const std::vector<Access> &accesses = problem.operations[entry.op].accesses;
  return std::any_of(accesses.begin(), accesses.end(), [&](const Access &access) { return access.counter == counter; });
}

/// Products of the kernel in front of which a group of theirs was closed and none is open: they begin one.
std::vector<char> beginsProducts(const Problem &problem, int counter, const std::vector<Entry> &kernel) {
  std::vector<char> begins(problem.operations.size(), 0);
  bool isOpen = false;
  for (const Entry &entry : kernel) {
    if (joins(problem, entry, counter)) {
      begins[entry.op] = !isOpen && problem.operations[entry.op].kind == OpKind::Mma;
      isOpen = true;
    } else if (entry.kind == EntryKind::Commit && entry.counter == counter) {
      isOpen = false;
    }
  }
  return begins;
}

/// Commits of one group counter in one list. Groups of products begin where those of the kernel do (`begins`): it is
/// entered with those under way that an iteration leaves.
void commitList(const PathContext &context, int counter, const std::vector<char> &usesInWave,
                const std::vector<char> &begins, std::vector<Entry> &entries) {
  const Problem &problem = context.problem;
  std::vector<Entry> output;
  int lastMember = -1;
  GroupMask groups = 0;
  auto close = [&] {
    if (lastMember < 0)
      return;
    Entry commit;
    commit.kind = EntryKind::Commit;
    commit.counter = counter;
    commit.groups = groups;
    commit.position = output[lastMember].position;
    commit.cluster = output[lastMember].cluster;
    output.insert(output.begin() + lastMember + 1, commit);
    lastMember = -1;
    groups = 0;
  };
  auto isOther = [&](const Entry &entry) {
    const Entry &last = output[lastMember];
    bool stages = last.op >= 0 && context.schedule.slots[last.op].stage != context.schedule.slots[entry.op].stage;
    return last.iteration != entry.iteration || stages;
  };
  for (const Entry &entry : entries) {
    // Groups of several iterations could only be waited for together; ops of two stages are of two in the kernel, and
    // outside of it their groups are counted with those.
    bool otherIteration = lastMember >= 0 && joins(problem, entry, counter) && isOther(entry);
    if (entry.kind == EntryKind::Barrier || entry.kind == EntryKind::Arrive || otherIteration ||
        (entry.kind == EntryKind::Op && (usesInWave[entry.op] || begins[entry.op])))
      close();
    output.push_back(entry);
    if (joins(problem, entry, counter)) {
      lastMember = static_cast<int>(output.size()) - 1;
      groups |= entry.groups;
    }
  }
  close();
  entries = std::move(output);
}
} // namespace

void deriveCommits(const PathContext &context, Program &program) {
  const Problem &problem = context.problem;
  for (size_t counter = 0; counter < problem.counters.size(); ++counter) {
    if (problem.counters[counter].kind != Retirement::Group)
      continue;
    bool written = false;
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
      for (const Entry &entry : program.list(phase))
        written |= entry.kind == EntryKind::Commit && entry.counter == static_cast<int>(counter);
    if (written)
      continue;
    std::vector<char> usesInWave(problem.operations.size(), 0);
    for (const Dependence &hazard : context.hazards)
      if (!hazard.crossWave && hazard.counter == static_cast<int>(counter))
        usesInWave[hazard.to] = 1;
    std::vector<char> begins(problem.operations.size(), 0);
    for (Phase phase : {Phase::Kernel, Phase::Prologue, Phase::Epilogue}) {
      commitList(context, static_cast<int>(counter), usesInWave, begins, program.list(phase));
      if (phase == Phase::Kernel)
        begins = beginsProducts(problem, static_cast<int>(counter), program.kernel);
    }
  }
}

void deriveCommits(const Problem &problem, const Schedule &schedule, Program &program) {
  deriveCommits(PathContext(problem, schedule), program);
}

WaitResult deriveWaits(const PathContext &context, Program &program, const WaitOptions &options) {
  return WaitDerivation(context, program, options).run();
}

WaitResult deriveWaits(const Problem &problem, const Schedule &schedule, Program &program, const WaitOptions &options) {
  return deriveWaits(PathContext(problem, schedule), program, options);
}

} // namespace soliton::sched
