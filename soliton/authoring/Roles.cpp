#include "soliton/authoring/Roles.h"

#include <algorithm>

namespace soliton::sched {
namespace {
constexpr int kMostWaves = 32;
/// What a budget of registers can name (`setmaxnreg`), and its steps.
constexpr int kFewestRegisters = 24, kMostRegisters = 256, kRegisterStep = 8;
constexpr int64_t kMostWorkgroups = 1 << 24;

Diagnostic mistake(const Place &place, std::string message, std::string hint, std::vector<Note> notes = {}) {
  return {Severity::error, DiagId::ScheduleRoles, place, std::move(message), std::move(hint), std::move(notes)};
}

Note noteOf(const Operation &op) {
  return {op.place, "`" + op.key + "` stands here"};
}
} // namespace

bool Roles::hold(const Roles &said) const {
  bool copies = said.copyingWaves == 0 || (said.copyingWaves == copyingWaves &&
                                           (said.copyingRegisters == 0 || said.copyingRegisters == copyingRegisters));
  bool walks = said.workgroups == 0 || said.workgroups == workgroups;
  return copies && walks && (!said.overlapTiles || overlapTiles);
}

std::vector<int> copiesOfBoxes(const Problem &problem) {
  std::vector<int> copies;
  for (int op = 0; op < problem.numOps(); ++op)
    if (isCopyOfBox(problem, problem.operations[op]))
      copies.push_back(op);
  return copies;
}

std::vector<Diagnostic> checkRole(const Problem &problem, const std::vector<int> &ops, int waves, int registers,
                                  const Place &place) {
  std::vector<Diagnostic> wrong;
  if (waves < 1 || waves > kMostWaves)
    wrong.push_back(
        mistake(place, "a role of " + std::to_string(waves) + " waves, expected 1 to " + std::to_string(kMostWaves),
                "four, a group as wide as a compute unit, leave their registers to the others"));
  if (registers != 0 && (registers < kFewestRegisters || registers > kMostRegisters || registers % kRegisterStep != 0))
    wrong.push_back(mistake(place,
                            "a role whose lanes keep " + std::to_string(registers) +
                                " registers, expected a multiple of " + std::to_string(kRegisterStep) + " from " +
                                std::to_string(kFewestRegisters) + " to " + std::to_string(kMostRegisters),
                            "0 leaves it to the compiler"));
  for (int op : ops)
    if (!isCopyOfBox(problem, problem.operations[op])) {
      const Operation &other = problem.operations[op];
      bool isByLanes = other.kind == OpKind::CopyAsync;
      wrong.push_back(
          mistake(place,
                  "`" + other.key + "` is " + std::string(nameOf(other.kind)) + (isByLanes ? " by all lanes" : "") +
                      ", and waves beside those that compute can issue copies of boxes only",
                  isByLanes ? "the remark `boxes-impossible` says why it is no box; or leave `specialize` out"
                            : "name the copies: `get_node_by_tag_and_type(tag, NodeType::GatherToLDS)`",
                  {noteOf(other)}));
      return wrong; // the others are like it
    }
  std::vector<int> copies = copiesOfBoxes(problem);
  for (int copy : copies)
    if (std::find(ops.begin(), ops.end(), copy) == ops.end()) {
      const Operation &other = problem.operations[copy];
      wrong.push_back(mistake(place, "`" + other.key + "` is a copy of a box, and no part of the role",
                              "waves that copy issue all copies of boxes: name it too", {noteOf(other)}));
      return wrong;
    }
  return wrong;
}

std::optional<Diagnostic> checkWorkgroups(int64_t workgroups, const Place &place) {
  if (workgroups >= 1 && workgroups <= kMostWorkgroups)
    return std::nullopt;
  return mistake(place,
                 std::to_string(workgroups) + " workgroups that walk tiles, expected 1 to " +
                     std::to_string(kMostWorkgroups),
                 "give one for each compute unit");
}

} // namespace soliton::sched
