#include "soliton/schedule/RegisterWaits.h"

#include <algorithm>

namespace soliton::sched {
namespace {
class Merger {
public:
  Merger(const Problem &problem, std::vector<Entry> &list) : problem(problem), list(list) {}

  void run() {
    for (size_t i = 0; i < list.size(); ++i) {
      if (isWait(i) && (i == 0 || !isInRun(i - 1, list[i].counter)))
        mergeFrom(i);
      if (!dropped(i))
        result.push_back(list[i]);
    }
    list = std::move(result);
  }

private:
  bool isWait(size_t i) const {
    const Entry &entry = list[i];
    return entry.kind == EntryKind::Wait && entry.op < 0 && !entry.said &&
           problem.counters[entry.counter].kind == Retirement::InOrder;
  }
  bool isStore(size_t i, int counter) const {
    if (list[i].kind != EntryKind::Op || problem.operations[list[i].op].kind != OpKind::SharedStore)
      return false;
    const std::vector<Tick> &ticks = problem.operations[list[i].op].ticks;
    return std::none_of(ticks.begin(), ticks.end(), [&](const Tick &tick) { return tick.counter == counter; });
  }
  bool isInRun(size_t i, int counter) const { return isStore(i, counter) || (isWait(i) && list[i].counter == counter); }
  bool dropped(size_t i) const { return std::binary_search(gone.begin(), gone.end(), i); }

  /// The wait at `first` takes the place of all further ones of its run.
  void mergeFrom(size_t first) {
    int counter = list[first].counter;
    for (size_t i = first + 1; i < list.size() && isInRun(i, counter); ++i)
      if (isWait(i)) {
        list[first].value = std::min(list[first].value, list[i].value);
        gone.push_back(i);
      }
  }

  const Problem &problem;
  std::vector<Entry> &list;
  std::vector<Entry> result;
  /// Waits that others have taken over, ascending.
  std::vector<size_t> gone;
};
} // namespace

void mergeRegisterWaits(const Problem &problem, Program &program) {
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
    Merger(problem, program.list(phase)).run();
}

} // namespace soliton::sched
