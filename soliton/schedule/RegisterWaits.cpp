#include "soliton/schedule/RegisterWaits.h"

#include <algorithm>
#include <map>

namespace soliton::sched {
namespace {
class Merger {
public:
  Merger(const Problem &problem, std::vector<Entry> &list) : problem(problem), list(list) {}

  void run() {
    for (size_t i = 0; i < list.size(); ++i) {
      if (startsRun(i))
        if (std::optional<Entry> wait = waitFor(i))
          result.push_back(*wait);
      result.push_back(list[i]);
      noteLoad(list[i]);
    }
    list = std::move(result);
  }

private:
  bool isA(const Entry &entry, OpKind kind) const {
    return entry.kind == EntryKind::Op && problem.operations[entry.op].kind == kind;
  }
  bool isStore(size_t i) const { return i < list.size() && isA(list[i], OpKind::SharedStore); }
  bool startsRun(size_t i) const { return isStore(i) && isStore(i + 1) && (i == 0 || !isStore(i - 1)); }

  int ticksOf(const Entry &entry, int counter) const {
    int ticks = 0;
    if (entry.kind == EntryKind::Op)
      for (const Tick &tick : problem.operations[entry.op].ticks)
        ticks += tick.counter == counter ? tick.amount : 0;
    return ticks;
  }

  void noteLoad(const Entry &entry) {
    if (!isA(entry, OpKind::GlobalLoad) || problem.operations[entry.op].ticks.empty())
      return;
    for (const Access &access : problem.operations[entry.op].accesses)
      if (access.write && problem.regions[access.region].space == Space::Register)
        loads[{access.region, entry.iteration + access.offset}] = result.size() - 1;
  }

  /// Place of the youngest load of the run that starts at `i`; nothing if one of them is not in this list.
  std::optional<size_t> youngestLoad(size_t i) const {
    std::optional<size_t> youngest;
    for (; isStore(i); ++i)
      for (const Access &access : problem.operations[list[i].op].accesses) {
        if (access.write || problem.regions[access.region].space != Space::Register)
          continue;
        auto load = loads.find({access.region, list[i].iteration + access.offset});
        if (load == loads.end())
          return std::nullopt;
        youngest = std::max(youngest.value_or(0), load->second);
      }
    return youngest;
  }

  std::optional<Entry> waitFor(size_t i) const {
    std::optional<size_t> youngest = youngestLoad(i);
    if (!youngest)
      return std::nullopt;
    Entry wait = list[i];
    wait.kind = EntryKind::Wait;
    wait.op = -1;
    wait.counter = problem.operations[result[*youngest].op].ticks.front().counter;
    wait.value = 0;
    for (size_t j = *youngest + 1; j < result.size(); ++j)
      wait.value += ticksOf(result[j], wait.counter);
    const Counter &counter = problem.counters[wait.counter];
    bool canSay = counter.kind == CounterKind::InOrder && wait.value <= counter.limit;
    return canSay ? std::optional(wait) : std::nullopt;
  }

  const Problem &problem;
  std::vector<Entry> &list;
  std::vector<Entry> result;
  /// Where in `result` a register region was loaded, by region and instance.
  std::map<std::pair<int, int>, size_t> loads;
};
} // namespace

void mergeRegisterWaits(const Problem &problem, Program &program) {
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
    Merger(problem, program.list(phase)).run();
}

} // namespace soliton::sched
