#include "soliton/schedule/ResourceTable.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace soliton::sched {
namespace {
using ShapeKey = std::vector<std::tuple<int, int, int, int>>;

ShapeKey keyOf(const Problem &problem, const Operation &op) {
  ShapeKey key;
  for (const Reservation &use : op.reservations)
    key.emplace_back(use.resource, use.start, problem.busyCycles(op, use), use.units);
  return key;
}

/// Usage per cycle of one resource, as runs.
void appendRuns(std::vector<FoldedUse> &uses, int resource, const std::vector<int> &usage) {
  int interval = static_cast<int>(usage.size());
  for (int begin = 0; begin < interval;) {
    int end = begin + 1;
    while (end < interval && usage[end] == usage[begin])
      ++end;
    if (usage[begin] > 0)
      uses.push_back({resource, begin, end - begin, usage[begin]});
    begin = end;
  }
}
} // namespace

std::optional<std::vector<FoldedUse>> foldReservations(const Problem &problem, int op, int interval) {
  std::vector<FoldedUse> uses;
  std::vector<Reservation> reservations = problem.operations[op].reservations;
  for (Reservation &use : reservations)
    use.length = problem.busyCycles(problem.operations[op], use);
  // The common case: one short run per resource needs no folding.
  bool simple = true;
  for (size_t i = 0; i < reservations.size() && simple; ++i) {
    simple = reservations[i].length <= interval;
    for (size_t j = 0; j < i; ++j)
      simple &= reservations[j].resource != reservations[i].resource;
  }
  if (simple) {
    for (const Reservation &use : reservations)
      uses.push_back({use.resource, use.start % interval, use.length, use.units});
    return uses;
  }
  std::map<int, std::vector<int>> usage;
  for (const Reservation &use : reservations) {
    std::vector<int> &row = usage.try_emplace(use.resource, interval, 0).first->second;
    for (int i = 0; i < use.length; ++i)
      row[(use.start + i) % interval] += use.units;
  }
  for (const auto &[resource, row] : usage) {
    if (*std::max_element(row.begin(), row.end()) > problem.resources[resource].units)
      return std::nullopt;
    appendRuns(uses, resource, row);
  }
  return uses;
}

ResourceTable::ResourceTable(const Problem &problem, int interval) : length(interval) {
  std::map<ShapeKey, int> known;
  std::vector<int> mostUnits(problem.resources.size(), 1);
  for (int op = 0; op < problem.numOps(); ++op) {
    auto [it, isNew] = known.try_emplace(keyOf(problem, problem.operations[op]), static_cast<int>(shapes.size()));
    shapeOf.push_back(it->second);
    if (!isNew)
      continue;
    std::optional<std::vector<FoldedUse>> uses = foldReservations(problem, op, interval);
    feasible.push_back(uses.has_value());
    shapes.push_back(uses.value_or(std::vector<FoldedUse>{}));
    for (const FoldedUse &use : shapes.back())
      mostUnits[use.resource] = std::max(mostUnits[use.resource], use.units);
  }
  for (size_t r = 0; r < problem.resources.size(); ++r) {
    units.push_back(problem.resources[r].units);
    count.emplace_back(length, 0);
    busy.emplace_back(mostUnits[r], Bits((length + 63) / 64, 0));
  }
}

bool ResourceTable::allPossible() const {
  return std::all_of(feasible.begin(), feasible.end(), [](char ok) { return ok; });
}

int ResourceTable::modulo(int64_t time) const {
  int64_t rest = time % length;
  return static_cast<int>(rest < 0 ? rest + length : rest);
}

void ResourceTable::refresh(int resource, int cycle) {
  int free = units[resource] - count[resource][cycle];
  uint64_t bit = uint64_t{1} << (cycle % 64);
  for (size_t need = 1; need <= busy[resource].size(); ++need) {
    uint64_t &word = busy[resource][need - 1][cycle / 64];
    word = free < static_cast<int>(need) ? word | bit : word & ~bit;
  }
}

void ResourceTable::change(int op, int64_t time, int sign) {
  for (const FoldedUse &use : shapes[shapeOf[op]])
    for (int i = 0, cycle = modulo(time + use.start); i < use.length; ++i) {
      count[use.resource][cycle] += sign * use.units;
      refresh(use.resource, cycle);
      if (++cycle == length)
        cycle = 0;
    }
}

int ResourceTable::lastBusy(const Bits &bits, int start, int span) const {
  // At most two linear pieces; look at the later one first.
  auto search = [&](int begin, int end) {
    for (int word = (end - 1) / 64; end > begin && word >= begin / 64; --word) {
      uint64_t value = bits[word];
      if (word == (end - 1) / 64 && end % 64 != 0)
        value &= (uint64_t{1} << (end % 64)) - 1;
      if (word == begin / 64)
        value &= ~uint64_t{0} << (begin % 64);
      if (value != 0)
        return word * 64 + 63 - std::countl_zero(value);
    }
    return -1;
  };
  int end = start + span;
  if (end > length) {
    int wrapped = search(0, end - length);
    if (wrapped >= 0)
      return wrapped + length - start;
    end = length;
  }
  int found = search(start, end);
  return found < 0 ? -1 : found - start;
}

int ResourceTable::untilFree(const Bits &bits, int cycle) const {
  int steps = 0;
  while (steps < length) {
    uint64_t free = ~bits[cycle / 64] >> (cycle % 64);
    int inWord = std::min(64 - cycle % 64, length - cycle);
    int skip = free == 0 ? inWord : std::min(std::countr_zero(free), inWord);
    steps += skip;
    if (skip < inWord)
      return std::min(steps, length);
    cycle = cycle + inWord == length ? 0 : cycle + inWord;
  }
  return length;
}

bool ResourceTable::fits(int op, int64_t time) const {
  if (!possible(op))
    return false;
  for (const FoldedUse &use : shapes[shapeOf[op]])
    if (lastBusy(busy[use.resource][use.units - 1], modulo(time + use.start), use.length) >= 0)
      return false;
  return true;
}

std::optional<int64_t> ResourceTable::firstFit(int op, int64_t from) const {
  if (!possible(op))
    return std::nullopt;
  int64_t time = from;
  for (bool moved = true; moved;) {
    moved = false;
    for (const FoldedUse &use : shapes[shapeOf[op]]) {
      const Bits &bits = busy[use.resource][use.units - 1];
      int start = modulo(time + use.start);
      int last = lastBusy(bits, start, use.length);
      if (last < 0)
        continue;
      // The run of busy cycles that ends the reservation can be jumped as a whole.
      time += last + untilFree(bits, modulo(int64_t{start} + last));
      moved = true;
      if (time >= from + length)
        return std::nullopt;
    }
  }
  return time;
}

std::optional<int64_t> ResourceTable::lastFit(int op, int64_t from, int64_t to, int tries) const {
  for (int64_t time = to; time >= from && tries > 0; --time, --tries)
    if (fits(op, time))
      return time;
  return std::nullopt;
}

std::optional<std::pair<int, int>> ResourceTable::conflict(int op, int64_t time) const {
  for (const FoldedUse &use : shapes[shapeOf[op]]) {
    int start = modulo(time + use.start);
    int last = lastBusy(busy[use.resource][use.units - 1], start, use.length);
    if (last >= 0)
      return std::pair(use.resource, modulo(int64_t{start} + last));
  }
  return std::nullopt;
}

bool ResourceTable::collide(int a, int64_t timeA, int b, int64_t timeB) const {
  for (const FoldedUse &x : shapes[shapeOf[a]])
    for (const FoldedUse &y : shapes[shapeOf[b]]) {
      if (x.resource != y.resource)
        continue;
      int gap = modulo(timeB + y.start - timeA - x.start);
      if (gap < x.length || length - gap < y.length || (gap == 0))
        return true;
    }
  return false;
}

} // namespace soliton::sched
