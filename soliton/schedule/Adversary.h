//===- Adversary.h - Runs a program as unkindly as the rules allow ---------===//
//
// An oracle for the verifier that shares nothing with it: waves run in any order, asynchronous accesses take effect at
// any moment between issue and the wait that completes them, and every read checks that it sees what the source loop,
// executed one op after the other, would have shown it. A wrong value or a hang makes a program harmful.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

#include <deque>
#include <map>
#include <random>
#include <set>

namespace soliton::sched::testing {

class Adversary {
public:
  Adversary(const Problem &problem, const Schedule &schedule, const Program &program, int tripCount)
      : problem(problem), schedule(schedule), program(program), tripCount(tripCount) {
    expectSource();
  }

  /// What went wrong with this seed; empty if nothing did.
  std::string run(uint32_t seed) {
    random.seed(seed);
    habit = seed % 4;
    start();
    while (failure.empty() && !finished())
      if (!advanceSome())
        failure = "hang";
    return failure;
  }

private:
  /// (op, iteration) of a write; op -1: what was there before the loop.
  using Version = std::pair<int, int>;
  /// region, buffer (or instance for the source), first unit of the part, wave slice.
  using Cell = std::tuple<int, int, int64_t, int>;
  struct Pending {
    int op = 0;
    int iteration = 0;
    int access = 0;
    int64_t index = 0;
    bool done = false;
  };
  struct Wave {
    int group = 0;
    std::vector<Instance> run;
    size_t next = 0;
    int barriers = 0;
    bool arrived = false;
    std::vector<int64_t> issued;
    std::deque<Pending> pending;
  };

  static constexpr int kWavesPerGroup = 2;

  /// Parts of a region that writes distinguish.
  std::vector<int64_t> partsOf(const Access &access) const {
    std::vector<int64_t> parts;
    for (int64_t begin : partStarts[access.region])
      if (begin >= access.begin && begin < access.end)
        parts.push_back(begin);
    return parts;
  }

  bool isLocal(int region) const {
    return problem.regions[region].space == Space::Register || problem.regions[region].waveLocal;
  }

  int buffersOf(int region) const {
    if (!problem.regions[region].rotating)
      return 1;
    int count = region < static_cast<int>(schedule.buffers.size()) ? schedule.buffers[region] : 0;
    return count > 0 ? count : std::max(problem.regions[region].buffers, 1);
  }

  static int wrap(int instance, int buffers) { return ((instance % buffers) + buffers) % buffers; }

  /// Versions every read sees when iterations and ops run one after the other.
  void expectSource() {
    std::vector<std::set<int64_t>> starts(problem.regions.size());
    for (const Operation &op : problem.operations)
      for (const Access &access : op.accesses)
        starts[access.region].insert(access.begin);
    for (const auto &set : starts)
      partStarts.emplace_back(set.begin(), set.end());
    std::map<Cell, Version> memory;
    for (int n = 0; n < tripCount; ++n)
      for (int op = 0; op < problem.numOps(); ++op)
        for (bool write : {false, true})
          for (size_t a = 0; a < problem.operations[op].accesses.size(); ++a) {
            const Access &access = problem.operations[op].accesses[a];
            if (access.write != write || problem.regions[access.region].space == Space::Global)
              continue;
            int instance = problem.regions[access.region].rotating ? n + access.offset : 0;
            for (int64_t part : partsOf(access)) {
              Cell cell{access.region, instance, part, 0};
              if (write)
                memory[cell] = {op, n};
              else if (auto it = memory.find(cell); it != memory.end())
                expected[{op, n, static_cast<int>(a), part}] = it->second;
            }
          }
  }

  void start() {
    waves.clear();
    memory.clear();
    arrivals.clear();
    failure.clear();
    instances = unroll(program, std::max(0, tripCount - program.peeled) * (program.exactTrips ? 0 : 1));
    for (int group = 0; group < problem.groups; ++group)
      for (int i = 0; i < kWavesPerGroup; ++i) {
        Wave wave;
        wave.group = group;
        wave.issued.assign(problem.counters.size(), 0);
        for (const Instance &instance : instances)
          if (instance.entry->groups >> group & 1)
            wave.run.push_back(instance);
        waves.push_back(std::move(wave));
      }
  }

  bool finished() const {
    for (const Wave &wave : waves)
      if (wave.next < wave.run.size())
        return false;
    return true;
  }

  uint32_t roll(uint32_t sides) { return random() % sides; }

  /// Lets some wave run for a while; false if none can.
  bool advanceSome() {
    size_t first = roll(static_cast<uint32_t>(waves.size()));
    for (size_t i = 0; i < waves.size(); ++i) {
      size_t w = (first + i) % waves.size();
      int steps = 1 + static_cast<int>(roll(habit == 0 ? 200 : 12));
      bool moved = false;
      while (steps-- > 0 && waves[w].next < waves[w].run.size() && failure.empty() && step(static_cast<int>(w)))
        moved = true;
      if (moved)
        return true;
    }
    return completePhases();
  }

  bool step(int w) {
    Wave &wave = waves[w];
    const Instance &instance = wave.run[wave.next];
    const Entry &entry = *instance.entry;
    switch (entry.kind) {
    case EntryKind::Op:
      issue(w, entry.op, instance.iteration);
      break;
    case EntryKind::Barrier:
      if (!passBarrier(w))
        return false;
      break;
    case EntryKind::Wait:
      retire(w, entry.counter, wave.issued[entry.counter] - entry.value, entry.value);
      break;
    case EntryKind::Commit:
      ++wave.issued[entry.counter];
      break;
    case EntryKind::Arrive:
      ++arrivals[{entry.counter, entry.region, instance.iteration}];
      break;
    case EntryKind::PhaseWait:
      if (!phaseComplete(entry, instance.iteration))
        return false;
      break;
    }
    ++wave.next;
    if (habit != 1)
      completeSome(w);
    while (!wave.pending.empty() && wave.pending.front().done)
      wave.pending.pop_front();
    return true;
  }

  bool passBarrier(int w) {
    Wave &wave = waves[w];
    int mine = wave.barriers + 1;
    for (const Wave &other : waves) {
      int reached = other.barriers;
      bool there = other.next < other.run.size() && other.run[other.next].entry->kind == EntryKind::Barrier;
      if (reached < mine && !(there && reached + 1 == mine))
        return false;
    }
    wave.barriers = mine;
    return true;
  }

  void issue(int w, int op, int iteration) {
    Wave &wave = waves[w];
    const Operation &operation = problem.operations[op];
    // The back end waits for registers that plain loads write.
    for (const Access &access : operation.accesses)
      if (!access.write && problem.regions[access.region].space == Space::Register)
        for (Pending &pending : wave.pending)
          if (!pending.done && writesRegister(pending, access.region))
            retire(w, counterOf(pending), pending.index, 0);
    for (const Tick &tick : operation.ticks)
      if (simple(tick.counter))
        wave.issued[tick.counter] += tick.amount;
    for (bool write : {false, true})
      for (size_t a = 0; a < operation.accesses.size(); ++a) {
        const Access &access = operation.accesses[a];
        if (access.write != write || !(access.groups >> wave.group & 1) ||
            problem.regions[access.region].space == Space::Global)
          continue;
        if (access.counter < 0)
          effect(w, op, iteration, static_cast<int>(a));
        else
          wave.pending.push_back({op, iteration, static_cast<int>(a),
                                  wave.issued[access.counter] + (simple(access.counter) ? 0 : 1), false});
      }
  }

  bool simple(int counter) const {
    Retirement kind = problem.counters[counter].kind;
    return kind == Retirement::InOrder || kind == Retirement::OutOfOrder;
  }
  int counterOf(const Pending &pending) const {
    return problem.operations[pending.op].accesses[pending.access].counter;
  }
  bool writesRegister(const Pending &pending, int region) const {
    const Access &access = problem.operations[pending.op].accesses[pending.access];
    return access.write && access.region == region && simple(access.counter);
  }

  /// Everything of `counter` up to `index` takes effect, in order.
  void retire(int w, int counter, int64_t index, int value) {
    Retirement kind = problem.counters[counter].kind;
    if (kind == Retirement::Phase || (kind == Retirement::OutOfOrder && value != 0))
      return;
    for (size_t i = 0; i < waves[w].pending.size(); ++i) {
      Pending &pending = waves[w].pending[i];
      if (!pending.done && counterOf(pending) == counter && pending.index <= index)
        finish(w, pending);
    }
  }

  void finish(int w, Pending &pending) {
    pending.done = true;
    effect(w, pending.op, pending.iteration, pending.access);
    int counter = counterOf(pending);
    const Access &access = problem.operations[pending.op].accesses[pending.access];
    if (problem.counters[counter].kind == Retirement::Phase)
      ++arrivals[{counter, access.region, pending.iteration + access.offset}];
  }

  /// Early completion, oldest of a counter first.
  void completeSome(int w) {
    for (Pending &pending : waves[w].pending) {
      if (pending.done)
        continue;
      if (habit == 2 || roll(3) == 0)
        retire(w, counterOf(pending), pending.index, 0);
      if (problem.counters[counterOf(pending)].kind == Retirement::Phase && roll(4) == 0)
        finish(w, pending);
      break;
    }
  }

  /// Copies that nobody waits for by counter complete in the end.
  bool completePhases() {
    for (size_t w = 0; w < waves.size(); ++w)
      for (Pending &pending : waves[w].pending)
        if (!pending.done && problem.counters[counterOf(pending)].kind == Retirement::Phase) {
          finish(static_cast<int>(w), pending);
          return true;
        }
    return false;
  }

  bool phaseComplete(const Entry &entry, int instance) const {
    if (instance < 0)
      return true;
    int expectedArrivals = 0;
    for (const Operation &op : problem.operations)
      for (const Access &access : op.accesses) {
        bool full = access.write && access.counter == entry.counter;
        bool empty = !access.write && problem.regions[access.region].release == entry.counter;
        if (access.region != entry.region || !(full || empty))
          continue;
        GroupMask groups = op.groups & access.groups & problem.allGroups();
        // Each group of readers arrives once however many reads it has.
        int count = std::popcount(groups) * kWavesPerGroup;
        expectedArrivals = full ? expectedArrivals + count : std::max(expectedArrivals, count);
      }
    auto it = arrivals.find({entry.counter, entry.region, instance});
    return it != arrivals.end() && it->second >= expectedArrivals;
  }

  void effect(int w, int op, int iteration, int a) {
    const Access &access = problem.operations[op].accesses[a];
    int instance = problem.regions[access.region].rotating ? iteration + access.offset : 0;
    int buffer = wrap(instance, buffersOf(access.region));
    for (int64_t part : partsOf(access)) {
      if (access.write) {
        memory[{access.region, buffer, part, w}] = {op, iteration};
        continue;
      }
      auto wanted = expected.find({op, iteration, a, part});
      if (wanted == expected.end())
        continue;
      for (int slice = 0; slice < static_cast<int>(waves.size()); ++slice) {
        if (isLocal(access.region) && slice != w)
          continue;
        // Only waves that execute the writer have a slice.
        if (!(problem.operations[wanted->second.first].groups >> waves[slice].group & 1))
          continue;
        auto it = memory.find({access.region, buffer, part, slice});
        if (it == memory.end() || it->second != wanted->second)
          failure = "wave " + std::to_string(w) + " reads a wrong value in " + problem.operations[op].key +
                    " iteration " + std::to_string(iteration);
      }
    }
  }

  const Problem &problem;
  const Schedule &schedule;
  const Program &program;
  int tripCount;
  std::mt19937 random;
  uint32_t habit = 0;
  std::vector<std::vector<int64_t>> partStarts;
  std::map<std::tuple<int, int, int, int64_t>, Version> expected;
  std::map<Cell, Version> memory;
  std::map<std::tuple<int, int, int>, int> arrivals;
  std::vector<Instance> instances;
  std::vector<Wave> waves;
  std::string failure;
};

/// What goes wrong with one of `seeds` seeds; empty if the program is harmless at this trip count.
inline std::string attack(const Problem &problem, const Schedule &schedule, const Program &program, int tripCount,
                          int seeds = 64) {
  Adversary adversary(problem, schedule, program, tripCount);
  for (int seed = 0; seed < seeds; ++seed)
    if (std::string failure = adversary.run(static_cast<uint32_t>(seed)); !failure.empty())
      return failure;
  return {};
}

} // namespace soliton::sched::testing
