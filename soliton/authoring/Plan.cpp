#include "soliton/authoring/Plan.h"

#include <algorithm>

namespace soliton::sched {

bool LoopPlan::ok() const {
  return std::none_of(diagnostics.begin(), diagnostics.end(),
                      [](const Diagnostic &diag) { return diag.severity == Severity::error; });
}

VerifyOptions LoopPlan::verifyOptions(std::optional<int> tripCount) const {
  VerifyOptions options;
  options.waivers = waivers;
  options.tripCount = tripCount;
  return options;
}

bool isAdded(const Operation &op) {
  bool kind =
      op.kind == OpKind::Barrier || op.kind == OpKind::Wait || op.kind == OpKind::Commit || op.kind == OpKind::Hint;
  return kind && !op.pinned && op.origin.op < 0;
}

Operation makeAdded(OpKind kind, HintKind hint, std::vector<int64_t> arguments, int counter, int value,
                    GroupMask groups) {
  Operation op;
  op.kind = kind;
  op.latency = 0;
  op.groups = groups;
  op.counter = counter;
  op.value = value;
  op.pinned = false;
  op.origin.type = kind != OpKind::Hint             ? std::string(nameOf(kind))
                   : hint == HintKind::Priority     ? "set_wave_prio"
                   : hint == HintKind::SchedBarrier ? "scheduling_barrier"
                                                    : "scheduling_group";
  op.hint = hint;
  op.arguments = std::move(arguments);
  return op;
}

std::string wrongNumber(OpKind kind, HintKind hint, const std::vector<int64_t> &arguments, int value) {
  if (kind == OpKind::Wait && value < 0)
    return "a wait for " + std::to_string(value) + " outstanding accesses";
  if (hint == HintKind::Priority && (arguments[0] < 0 || arguments[0] > 3))
    return "wave priority " + std::to_string(arguments[0]) + ", expected 0 to 3";
  if (hint == HintKind::SchedGroup && arguments[1] < 1)
    return "a scheduling group of " + std::to_string(arguments[1]) + " instructions";
  return "";
}

} // namespace soliton::sched
