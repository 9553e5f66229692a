//===- EvaluateRoles.cpp - What a schedule says beside the order of its loop -----------------===//
//
// Waves of their own for copies, workgroups that walk tiles, and an order that is left to an algorithm.
//
//   s.order_by(loop, "ring");                    the loop in the order that `ring` finds
//   s.specialize({"read_a", "read_b"});          its copies by a wave of their own
//   s.persistent(132);
//
//===----------------------------------------------------------------------===//
#include "soliton/authoring/Evaluation.h"
#include "soliton/authoring/Request.h"

#include <algorithm>

namespace soliton::sched {

void Evaluation::orderBy(std::string_view algorithm, const Place &place) {
  if (!plan.orderedBy.empty())
    return error(DiagId::ScheduleStage, place, "the loop gets its order twice", "name one algorithm",
                 {{orderedPlace, "it has one here already"}});
  std::vector<std::string> known = algorithmNames();
  known.emplace_back(kFastest);
  if (std::find(known.begin(), known.end(), algorithm) == known.end())
    return error(DiagId::ScheduleUnknown, place, "there is no algorithm `" + std::string(algorithm) + "`",
                 "known are " + listOf(known));
  spoken = true;
  plan.orderedBy = algorithm;
  orderedPlace = place;
}

/// An algorithm orders what is in the loop: what an author puts in has no place in its order.
void Evaluation::settleOrderedBy() {
  bool saysMore = pipeline.begun || kernel.said || prologue.said || epilogue.said || !pending.empty() || plan.around ||
                  !plan.insertions.empty() || plan.problem.numOps() > numSource() || plan.groupStart.size() > 1;
  if (!plan.orderedBy.empty() && saysMore)
    error(DiagId::ScheduleStage, orderedPlace,
          "`order_by` leaves the order to `" + plan.orderedBy + "`, and the schedule says some of it too",
          "say the stages and orders yourself, or leave all of them to the algorithm");
}

void Evaluation::adoptRole(const std::vector<int> &ops, const RoleOptions &options, const Place &place) {
  if (plan.roles.copyingWaves > 0)
    return error(DiagId::ScheduleRoles, place, "a second role, and one is all there is beside waves that compute",
                 "name all copies in one `specialize`", {{plan.roles.copyingPlace, "the first is said here"}});
  // Of several loops this one may have nothing to copy, and another one has.
  if (ops.empty() && input.isOneOfSeveral && copiesOfBoxes(source).empty())
    return;
  std::vector<Diagnostic> wrong = checkRole(source, ops, options.waves, options.registers, place);
  if (ops.empty() && wrong.empty())
    return error(DiagId::ScheduleRoles, place, "a role that issues nothing: the loop has no copies of boxes",
                 "compile with direct copies; the remark `boxes-impossible` says why a tile is none");
  for (Diagnostic &each : wrong)
    error(each.id, each.place, each.message, each.hint, each.notes);
  plan.roles.copyingWaves = options.waves;
  plan.roles.copyingRegisters = options.registers;
  plan.roles.copyingPlace = place;
}

void Evaluation::specialize(const Nodes &ops, const RoleOptions &options, const Place &place) {
  if (checkNodes(ops, place))
    adoptRole(ops.ops(), options, place);
}

void Evaluation::specializeTags(const std::vector<std::string> &tags, const RoleOptions &options, const Place &place) {
  std::vector<int> copies;
  for (const std::string &tag : tags) {
    size_t mistakes = plan.diagnostics.size();
    Nodes nodes = byTag(tag, place);
    if (plan.diagnostics.size() > mistakes || !checkNodes(nodes, place))
      return;
    size_t before = copies.size();
    for (int op : nodes.ops())
      if (isCopyOfBox(source, source.operations[op]))
        copies.push_back(op);
    // An op that copies nothing is named by what it is.
    if (copies.size() == before)
      copies.insert(copies.end(), nodes.ops().begin(), nodes.ops().end());
  }
  adoptRole(copies, options, place);
}

void Evaluation::persistent(int64_t workgroups, const WalkOptions &options, const Place &place) {
  if (std::optional<Diagnostic> wrong = checkWorkgroups(workgroups, place))
    return error(wrong->id, place, wrong->message, wrong->hint);
  if (plan.roles.workgroups > 0 && plan.roles.workgroups != workgroups)
    return error(DiagId::ScheduleRoles, place,
                 std::to_string(workgroups) + " workgroups walk, and " + std::to_string(plan.roles.workgroups) +
                     " were said before",
                 "say one number", {{plan.roles.workgroupsPlace, "the first is said here"}});
  plan.roles.workgroups = static_cast<int>(workgroups);
  plan.roles.workgroupsPlace = place;
  plan.roles.overlapTiles |= options.overlap_tiles;
}

} // namespace soliton::sched
