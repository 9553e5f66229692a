#include "soliton/schedule/Causes.h"

#include <algorithm>

namespace soliton::sched {
namespace {
constexpr size_t kMostNamed = 3;
}

/// The author's op; what nobody wrote is its own origin.
int Causes::originOf(int op) const {
  if (op < 0)
    return -1;
  const Origin &origin = problem.operations[op].origin;
  int kind = static_cast<int>(problem.operations[op].kind);
  return origin.op >= 0 ? origin.op * 32 + kind : -2 - op;
}

Cause Causes::of(DiagId id, int op, int other, int subject, int kind) const {
  return {id, originOf(op), originOf(other), subject, kind};
}

void Causes::add(const Cause &cause, int op, Diagnostic diagnostic) {
  auto [it, isNew] = indexOf.try_emplace(cause, list.size());
  if (isNew)
    list.push_back({std::move(diagnostic), op, 0, {}});
  Found &found = list[it->second];
  ++found.count;
  bool named = op == found.firstOp || std::find(found.also.begin(), found.also.end(), op) != found.also.end();
  if (!named && found.also.size() < kMostNamed)
    found.also.push_back(op);
}

std::vector<Diagnostic> Causes::take() {
  std::vector<Diagnostic> diagnostics;
  for (Found &found : list) {
    std::string names;
    for (int op : found.also)
      names += (names.empty() ? ": `" : ", `") + problem.operations[op].key + "`";
    bool all = static_cast<int>(found.also.size()) == found.count - 1;
    if (found.count > 1)
      found.first.notes.push_back(
          {found.also.empty() ? found.first.place : problem.operations[found.also.front()].place,
           "and " + std::to_string(found.count - 1) + " more like it" + names + (all || names.empty() ? "" : ", …")});
    diagnostics.push_back(std::move(found.first));
  }
  indexOf.clear();
  list.clear();
  return diagnostics;
}

} // namespace soliton::sched
