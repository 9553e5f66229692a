#include "test/attack/Mutate.h"

#include "soliton/schedule/Synchronize.h"

#include <algorithm>
#include <array>
#include <functional>
#include <random>

namespace soliton::sched {
namespace {
constexpr std::array<std::string_view, 11> kNames = {"drop-op",     "move-op",        "drop-barrier",   "move-barrier",
                                                     "drop-wait",   "move-wait",      "wrong-count",    "shrink-buffer",
                                                     "swap-stages", "wrong-distance", "missing-stagger"};

class Mutator {
public:
  Mutator(const Problem &problem, const Schedule &schedule, const Program &program, Mutation kind, uint32_t seed)
      : problem(problem), random(seed) {
    mutant.kind = kind;
    mutant.schedule = schedule;
    mutant.program = program;
  }

  std::optional<Mutant> run() {
    switch (mutant.kind) {
    case Mutation::DropOp:
      return done(drop(isOp));
    case Mutation::MoveOp:
      return done(move(isOp));
    case Mutation::DropBarrier:
      return done(drop(isBarrier));
    case Mutation::MoveBarrier:
      return done(move(isBarrier));
    case Mutation::DropWait:
      return done(drop(isWait));
    case Mutation::MoveWait:
      return done(move(isWait));
    case Mutation::WrongCount:
      return done(wrongCount());
    case Mutation::ShrinkBuffer:
      return done(shrinkBuffer());
    case Mutation::SwapStages:
      return done(swapStages());
    case Mutation::WrongDistance:
      return done(wrongDistance());
    case Mutation::MissingStagger:
      return done(drop([](const Entry &entry) { return entry.stagger; }));
    }
    return std::nullopt;
  }

private:
  using Predicate = std::function<bool(const Entry &)>;

  static bool isOp(const Entry &entry) { return entry.kind == EntryKind::Op; }
  /// Or half of one.
  static bool isBarrier(const Entry &entry) {
    return (entry.kind == EntryKind::Barrier && !entry.stagger) || entry.kind == EntryKind::Release;
  }
  static bool isWait(const Entry &entry) {
    return entry.kind == EntryKind::Wait || entry.kind == EntryKind::PhaseWait || entry.kind == EntryKind::Commit ||
           entry.kind == EntryKind::Await;
  }

  std::optional<Mutant> done(bool changed) { return changed ? std::optional(std::move(mutant)) : std::nullopt; }
  size_t pick(size_t count) { return random() % count; }

  /// Some entry with the property, in any phase.
  std::optional<Location> choose(const Predicate &matches) {
    std::vector<Location> found;
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue}) {
      const std::vector<Entry> &entries = mutant.program.list(phase);
      for (size_t i = 0; i < entries.size(); ++i)
        if (matches(entries[i]))
          found.push_back({phase, static_cast<int>(i)});
    }
    if (found.empty())
      return std::nullopt;
    return found[pick(found.size())];
  }

  Entry &at(const Location &where) { return mutant.program.list(where.phase)[where.index]; }
  std::string say(const Location &where) {
    return "`" + toString(problem, at(where)) + "` of the " + std::string(nameOf(where.phase));
  }

  bool drop(const Predicate &matches) {
    std::optional<Location> where = choose(matches);
    if (!where)
      return false;
    mutant.what = "dropped " + say(*where);
    std::vector<Entry> &entries = mutant.program.list(where->phase);
    entries.erase(entries.begin() + where->index);
    return true;
  }

  bool move(const Predicate &matches) {
    std::optional<Location> where = choose(matches);
    std::vector<Entry> *entries = where ? &mutant.program.list(where->phase) : nullptr;
    if (!where || entries->size() < 2)
      return false;
    size_t from = where->index, to = pick(entries->size());
    if (to == from)
      to = from > 0 ? from - 1 : from + 1;
    mutant.what = "moved " + say(*where) + " from " + std::to_string(from) + " to " + std::to_string(to);
    if (from < to)
      std::rotate(entries->begin() + from, entries->begin() + from + 1, entries->begin() + to + 1);
    else
      std::rotate(entries->begin() + to, entries->begin() + from, entries->begin() + from + 1);
    return true;
  }

  bool wrongCount() {
    std::optional<Location> where =
        choose([](const Entry &entry) { return entry.kind == EntryKind::Wait || entry.kind == EntryKind::Await; });
    if (!where)
      return false;
    int more = 1 + static_cast<int>(pick(4));
    mutant.what = "raised " + say(*where) + " by " + std::to_string(more);
    at(*where).value += more;
    return true;
  }

  bool shrinkBuffer() {
    std::vector<size_t> regions;
    for (size_t region = 0; region < mutant.schedule.buffers.size(); ++region)
      if (mutant.schedule.buffers[region] > 1)
        regions.push_back(region);
    if (regions.empty())
      return false;
    size_t region = regions[pick(regions.size())];
    --mutant.schedule.buffers[region];
    mutant.what = "took a buffer from `" + problem.regions[region].name + "`, which leaves " +
                  std::to_string(mutant.schedule.buffers[region]);
    return true;
  }

  bool swapStages() {
    std::vector<int> ops;
    for (int op = 0; op < problem.numOps(); ++op)
      if (mutant.schedule.slots[op].scheduled())
        ops.push_back(op);
    for (int attempt = 0; attempt < 32 && ops.size() > 1; ++attempt) {
      int a = ops[pick(ops.size())], b = ops[pick(ops.size())];
      Slot &x = mutant.schedule.slots[a], &y = mutant.schedule.slots[b];
      if (x.stage == y.stage)
        continue;
      std::swap(x.stage, y.stage);
      mutant.what = "swapped the stages of `" + problem.operations[a].key + "` and `" + problem.operations[b].key + "`";
      mutant.program = synchronize(problem, mutant.schedule).program;
      return true;
    }
    return false;
  }

  bool wrongDistance() {
    std::optional<Location> where = choose(isOp);
    if (!where)
      return false;
    int by = pick(2) == 0 ? 1 : -1;
    mutant.what = "shifted " + say(*where) + " by " + std::to_string(by) + " iteration";
    at(*where).iteration += by;
    return true;
  }

  const Problem &problem;
  std::mt19937 random;
  Mutant mutant;
};
} // namespace

std::string_view nameOf(Mutation mutation) {
  return kNames[static_cast<size_t>(mutation)];
}

const std::vector<Mutation> &allMutations() {
  static const std::vector<Mutation> all = [] {
    std::vector<Mutation> list;
    for (size_t i = 0; i < kNames.size(); ++i)
      list.push_back(static_cast<Mutation>(i));
    return list;
  }();
  return all;
}

std::optional<Mutant> mutate(const Problem &problem, const Schedule &schedule, const Program &program,
                             Mutation mutation, uint32_t seed) {
  return Mutator(problem, schedule, program, mutation, seed).run();
}

} // namespace soliton::sched
